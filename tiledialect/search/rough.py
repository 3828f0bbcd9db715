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
from tiledialect.cost.group import Held, held_bytes, least_live
from tiledialect.machine import Machine
from tiledialect.program import Group, Program
from tiledialect.search.bounds import footprint
from tiledialect.search.grid_bounds import least_cycles
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
        found: list[list[Rough]] = []
        for at, group in enumerate(self.groups):
            others = sum(resident) - resident[at] + self.beside
            spare = None if cycles is None else cycles - sum(least) + least[at]
            found.append([])
            for one in group:
                fits = footprint(one.resident + one.live + others) <= tensor_bytes
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
        some = [
            one.take(np.isin(one.parts[:, dim], parts))
            for one in table
            if one.variant.rest != LINEAR
        ]
        found.append([one for one in some if len(one)])
    return found


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
    """The bounds of a group's candidates. Those that differ in the rest of their result
    alone have cycles and operands in common."""
    known: dict[object, tuple[Ints, Held]] = {}
    found: list[Rough] = []
    for one in tables:
        key = one.variant.paths, one.variant.steps, one.parts.tobytes()
        if key not in known:
            cycles = least_cycles(program, group, machine, one)
            known[key] = cycles, held_bytes(program, group, machine, one)
        cycles, operands = known[key]
        live = least_live(program, group, machine, one, operands)
        found.append(Rough(one, cycles, operands.resident, live))
    return found
