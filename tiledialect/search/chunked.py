"""The search over all numbers of chunks: each is a problem of its own.

The whole program goes first; the others have only to be searched for plans that beat
the best one known, and those of whose grids none can are not priced at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import (
    BLOCK,
    LINEAR,
    ROW_MAJOR,
    STORED,
    Candidates,
    Variant,
    block_choices,
    grains,
)
from tiledialect.chunks import Chunking, chunked, chunkings
from tiledialect.machine import Machine
from tiledialect.program import Program
from tiledialect.search.grid_bounds import least_cycles
from tiledialect.search.pools import make_pools
from tiledialect.search.problem import make_problem
from tiledialect.search.solve import (
    SLACK,
    Outcome,
    Plan,
    Space,
    refusal,
    search,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

Tables = list[list[Candidates]]

FEW = 50_000
"""Candidates of each group that are priced first, for a plan to beat."""

MANY = 200_000
"""Candidates up to which none are priced first."""


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


def search_chunked(
    program: Program,
    machine: Machine,
    tables: Tables,
    budget: int,
    count: int,
    ways: Sequence[Chunking] | None = None,
) -> Outcome:
    """The best plans within a budget over all numbers of chunks, or over these."""
    run = _Run(program, machine, tables, budget, count)
    for chunking in chunkings(program) if ways is None else ways:
        run.search(chunking)
    return replace(run.outcome(), candidates=run.candidates)


class _Run:
    """One search: the plans found so far, of all chunkings. `spaces`: what was found to
    hold no plan within the budget."""

    def __init__(
        self,
        program: Program,
        machine: Machine,
        tables: Tables,
        budget: int,
        count: int,
    ) -> None:
        self.program, self.machine, self.tables = program, machine, tables
        self.budget, self.count = budget, count
        self.plans: list[Plan] = []
        self.spaces: list[Space] = []
        self.labels = 0
        self.candidates = 0
        self.known: int | None = None

    def search(self, chunking: Chunking) -> None:
        """Look for plans of these chunks that are not much worse than the best."""
        if self.known is not None and self._least(chunking) > self._most(chunking):
            return
        tables = chunk_tables(self.program, self.machine, self.tables, chunking)
        if not all(tables):
            return
        bounds = _bounds(self.program, self.machine, tables, chunking)
        if self.known is not None:
            tables, bounds = _within(tables, bounds, self._most(chunking))
        if all(tables) and sum(map(_rows, tables)) > MANY:
            self._search(_fewest(tables, bounds), chunking, few=True)
            if self.known is not None:
                tables, bounds = _within(tables, bounds, self._most(chunking))
        if all(tables):
            self._search(tables, chunking, few=False)

    @cached_property
    def grids(self) -> list[Candidates]:
        """Of each group every grid of some candidate, its operands there already."""
        return [_grids(table) for table in self.tables]

    def _least(self, chunking: Chunking) -> int:
        """Cycles of one chunk that every plan takes at least."""
        part = chunked(self.program, chunking)
        return sum(
            int(least_cycles(part, group, self.machine, grids).min())
            for group, grids in zip(part.groups, self.grids, strict=True)
        )

    def _most(self, chunking: Chunking) -> int:
        """Cycles of one chunk that a plan may take."""
        return int((self.known or 0) * (1 + SLACK)) // chunking.count

    def _search(self, tables: Tables, chunking: Chunking, *, few: bool) -> None:
        problem = make_problem(self.program, self.machine, tables, chunking)
        self.candidates += sum(map(_rows, tables))
        pools = make_pools(problem)
        outcome = search(
            problem,
            self.budget,
            self.count,
            pools=pools,
            known=self.known,
            refuse=False,
        )
        self.labels += outcome.labels
        if outcome.plans:
            best = outcome.plans[0].cycles
            self.known = best if self.known is None else min(self.known, best)
        elif self.known is None and not few:
            light = tuple(pool.best(timed=False) for pool in pools)
            self.spaces.append(Space(problem, light))
        if not few:
            self.plans += outcome.plans

    def outcome(self) -> Outcome:
        """The best plans of all chunkings, or the smallest budget that works."""
        if not self.plans:
            return refusal(self.spaces)
        most = int(min(plan.cycles for plan in self.plans) * (1 + SLACK))
        order = sorted(self.plans, key=lambda p: (p.cycles, p.footprint, p.chunks))
        plans: list[Plan] = []
        for plan in order:
            smaller = not plans or plan.footprint < plans[-1].footprint
            if smaller and plan.cycles <= most:
                plans.append(plan)
        return Outcome("optimal", tuple(plans[: self.count]), self.labels)


def _grids(table: list[Candidates]) -> Candidates:
    """Every grid of a table once, with the ways that cost the least whatever it is."""
    parts = np.concatenate([one.parts for one in table])
    code = np.zeros(len(parts), dtype=np.int64)
    for column in parts.T:
        code = code * (int(column.max(initial=0)) + 1) + column
    _, first = np.unique(code, return_index=True)
    ways = (STORED,) * len(table[0].variant.paths)
    return Candidates(Variant(ways, BLOCK, ROW_MAJOR), parts[first])


def _rows(table: list[Candidates]) -> int:
    return sum(map(len, table))


def _bounds(
    program: Program, machine: Machine, tables: Tables, chunking: Chunking
) -> list[list[Ints]]:
    """The least cycles of every candidate, for one chunk."""
    part = chunked(program, chunking)
    return [
        [least_cycles(part, part.groups[position], machine, one) for one in table]
        for position, table in enumerate(tables)
    ]


def _fewest(tables: Tables, bounds: list[list[Ints]]) -> Tables:
    """The candidates of the least bounds."""
    found: Tables = []
    for table, least in zip(tables, bounds, strict=True):
        every = np.concatenate(least)
        at = min(FEW, len(every)) - 1
        limit = np.partition(every, at)[at]
        some = zip(table, least, strict=True)
        chosen = [one.take(bound <= limit) for one, bound in some]
        found.append([one for one in chosen if len(one)])
    return found


def _within(
    tables: Tables, bounds: list[list[Ints]], most: int
) -> tuple[Tables, list[list[Ints]]]:
    """The candidates with which a plan of at most so many cycles is not ruled out."""
    least = [min(int(bound.min()) for bound in table) for table in bounds]
    spare = most - sum(least)
    found: Tables = []
    kept: list[list[Ints]] = []
    for table, some, low in zip(tables, bounds, least, strict=True):
        masks = [bound <= low + spare for bound in some]
        pairs = [
            (o, b, m) for o, b, m in zip(table, some, masks, strict=True) if m.any()
        ]
        found.append([one.take(mask) for one, _, mask in pairs])
        kept.append([bound[mask] for _, bound, mask in pairs])
    return found, kept
