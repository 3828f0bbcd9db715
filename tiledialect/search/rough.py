"""Candidates with what they need at least, before they are priced: most are ruled out.

A plan within the budget and no slower than one that is known has only candidates whose
bound, with the least of all other groups, is within both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import LINEAR, Candidates, block_choices, grains
from tiledialect.chunks import Chunking, chunked
from tiledialect.machine import Machine
from tiledialect.program import Group, Program
from tiledialect.search.bounds import most_tensors
from tiledialect.search.grid_floors import GridFloors
from tiledialect.search.grids import Grids
from tiledialect.search.problem import beside_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

Tables = list[list[Candidates]]


@dataclass(frozen=True)
class Rough:
    """The candidates of one variant with lower bounds of what one chunk takes: cycles,
    bytes held for good, and live bytes of the fullest step."""

    table: Candidates
    cycles: Ints
    resident: Ints
    live: Ints

    def __len__(self) -> int:
        return len(self.table)

    def take(self, rows: Mask) -> Rough:
        return Rough(
            self.table.take(rows),
            self.cycles[rows],
            self.resident[rows],
            self.live[rows],
        )


@dataclass(frozen=True)
class RoughSpace:
    """All candidates of every group, and bytes that lie beside them all along."""

    groups: list[list[Rough]]
    beside: int

    def __len__(self) -> int:
        return sum(len(one) for group in self.groups for one in group)

    def __bool__(self) -> bool:
        """Whether every group has a candidate."""
        return all(self.groups)

    @property
    def tables(self) -> Tables:
        return [[one.table for one in group] for group in self.groups]

    def within(self, tensor_bytes: int, cycles: int | None) -> RoughSpace:
        """Those that a plan of so many bytes of tensors, and cycles of a chunk, may
        have."""
        if not self:
            return self
        resident = [min(int(one.resident.min()) for one in g) for g in self.groups]
        least = [min(int(one.cycles.min()) for one in g) for g in self.groups]
        most = most_tensors(tensor_bytes)
        found: list[list[Rough]] = []
        for at, group in enumerate(self.groups):
            others = sum(resident) - resident[at] + self.beside
            spare = None if cycles is None else cycles - sum(least) + least[at]
            found.append([])
            for one in group:
                fits = one.resident + one.live <= most - others
                if spare is not None:
                    fits &= one.cycles <= spare
                if fits.any():
                    found[-1].append(one.take(fits))
        return RoughSpace(found, self.beside)

    def fewest(self, count: int) -> RoughSpace:
        """So many candidates of each group, those of the fewest cycles."""
        found: list[list[Rough]] = []
        for group in self.groups:
            every = np.concatenate([one.cycles for one in group])
            at = min(count, len(every)) - 1
            limit = np.partition(every, at)[at]
            chosen = [one.take(one.cycles <= limit) for one in group]
            found.append([one for one in chosen if len(one)])
        return RoughSpace(found, self.beside)


def chunk_tables(
    program: Program, machine: Machine, tables: Tables, chunking: Chunking
) -> Tables:
    """The candidates of a program that make sense in chunks: results of one are not
    summed straight into linear ownership, and parts that cut a chunk alike are one."""
    if chunking.count == 1:
        return tables
    part = chunked(program, chunking)
    found: Tables = []
    for position, table in enumerate(tables):
        group, dim = part.groups[position], chunking.dims[position]
        grain = grains(part, group, machine)[dim]
        parts = block_choices(group.dims[dim].extent, grain, machine.tiles)
        some = [one for one in table if one.variant.rest != LINEAR]
        found.append(_with_parts(some, dim, parts))
    return found


def _with_parts(
    tables: list[Candidates], dim: int, choices: list[int]
) -> list[Candidates]:
    """The candidates that cut a dimension into one of these numbers of parts."""
    known: dict[int, Candidates] = {}
    for one in tables:
        if id(one.parts) not in known:
            known[id(one.parts)] = one.take(np.isin(one.parts[:, dim], choices))
    some = [(one.variant, known[id(one.parts)]) for one in tables]
    return [Candidates(v, one.parts, one.grid) for v, one in some if len(one)]


def rough_space(
    program: Program, machine: Machine, tables: Tables, chunking: Chunking
) -> RoughSpace:
    """The bounds of all candidates."""
    part = chunked(program, chunking)
    groups = [
        _bounded(part, group, machine, table)
        for group, table in zip(part.groups, tables, strict=True)
    ]
    return RoughSpace(groups, beside_chunks(program, machine, chunking))


def _bounded(
    program: Program, group: Group, machine: Machine, tables: list[Candidates]
) -> list[Rough]:
    """The bounds of a group's candidates."""
    if not tables:
        return []
    grids = Grids.of(tables)
    floor = GridFloors(program, group, machine, grids.parts)
    known: dict[tuple[object, int], tuple[Ints, Ints, Ints]] = {}
    found: list[Rough] = []
    for one, rows in zip(tables, grids.rows, strict=True):
        key = (one.variant.paths, one.variant.steps), id(rows)
        if key not in known:
            resident, running = floor.bytes(*key[0])
            cycles = floor.cycles(one.variant.paths).of(one.variant.steps)
            known[key] = cycles[rows], resident[rows], running[rows]
        cycles, resident, running = known[key]
        live = np.maximum(running, floor.live(one.variant)[rows])
        found.append(Rough(one, cycles, resident, live))
    return found
