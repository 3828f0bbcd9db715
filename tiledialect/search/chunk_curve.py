"""Searches over all numbers of chunks, most candidates of which are never priced.

For each number of chunks some candidates are priced for plans to beat; what their
outlines cannot bring onto or below the stairs of all plans known is dropped, until so
few are left that they are all priced.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from tiledialect.chunks import Chunking
from tiledialect.machine import Machine
from tiledialect.program import Program
from tiledialect.search.curve import curve, stairs_of
from tiledialect.search.outlines import Outline, frame, outlines, sharpened, within
from tiledialect.search.pools import Pool, make_pools
from tiledialect.search.problem import Problem, make_problem
from tiledialect.search.rough import Tables, chunk_tables
from tiledialect.search.smallest import least_plan
from tiledialect.search.solve import Plan
from tiledialect.search.stairs import Stairs
from tiledialect.search.walks import evenly, spread

FEW = 8192
"""Candidates of each group that are priced for plans to beat."""

VARIANTS = 64
"""Variants of each group that these are of."""

SAMPLE = 65_536
"""Candidates of each group that these are chosen from."""

MANY = 65_536
"""Candidates of all groups up to which all are priced."""

ROUNDS = 1
"""Times that some candidates are priced for plans to beat."""


class ChunkSearch(ABC):
    """A search of what has been added; `candidates` were priced for it."""

    timed = True

    def __init__(
        self, program: Program, machine: Machine, tables: Tables, most_bytes: int
    ) -> None:
        self.program, self.machine, self.tables = program, machine, tables
        self.most_bytes = most_bytes
        self.candidates = 0

    @abstractmethod
    def stairs(self) -> Stairs:
        """What is known."""

    @abstractmethod
    def join(self, problem: Problem, pools: tuple[Pool, ...]) -> None:
        """Find the plans of priced candidates that are on or below the stairs."""

    def add(self, chunking: Chunking) -> None:
        """Join the plans of so many chunks."""
        tables = chunk_tables(self.program, self.machine, self.tables, chunking)
        if not all(tables):
            return
        problem = frame(self.program, self.machine, tables, chunking)
        some = outlines(problem, tables, timed=self.timed)
        if self.candidates or not self.timed:  # else nothing is known yet
            some = within(problem, some, self.stairs())
        for _ in range(ROUNDS):
            if _count(some) <= MANY:
                break
            self._price([_few(problem, outline) for outline in some], chunking)
            some = within(problem, some, self.stairs())
        for at in sorted(range(len(some)), key=lambda at: len(some[at].table))[:-1]:
            if all(map(len, some)):
                some[at] = self._sharpened(some, at, chunking)
                some = within(problem, some, self.stairs())
        self._price(some, chunking)

    def _sharpened(
        self, some: Sequence[Outline], at: int, chunking: Chunking
    ) -> Outline:
        self.candidates += len(some[at])
        one = sharpened(self.program, self.machine, some, at, chunking)
        return one if self.timed else one.untimed()

    def _price(self, some: Sequence[Outline], chunking: Chunking) -> None:
        tables = [outline.table for outline in some]
        if not all(tables):
            return
        self.candidates += _count(some)
        problem = make_problem(self.program, self.machine, tables, chunking)
        self.join(problem, make_pools(problem))


class ChunkCurve(ChunkSearch):
    """The curve of all plans."""

    plans: tuple[Plan, ...] = ()

    def stairs(self) -> Stairs:
        return stairs_of(self.plans, self.most_bytes)

    def join(self, problem: Problem, pools: tuple[Pool, ...]) -> None:
        self.plans = curve(problem, pools, self.most_bytes, self.plans)


class ChunkSmallest(ChunkSearch):
    """The plan of the fewest bytes; None where there is none of `most_bytes`."""

    timed = False
    plan: Plan | None = None

    def stairs(self) -> Stairs:
        return stairs_of((), self.most_bytes)

    def join(self, problem: Problem, pools: tuple[Pool, ...]) -> None:
        better = least_plan(problem, pools, self.most_bytes)
        if better is not None:
            self.plan, self.most_bytes = better, better.footprint - 1


def _count(some: Sequence[Outline]) -> int:
    return sum(map(len, some))


def _few(problem: Problem, outline: Outline) -> Outline:
    """Some candidates of some variants, from here and there and along the front of what
    is known: pricing costs more for many variants than for many candidates."""
    sizes = np.array([len(one) for one in outline.table], dtype=np.int64)
    chosen = evenly(np.arange(len(sizes), dtype=np.int64), VARIANTS)
    among = np.isin(np.repeat(np.arange(len(sizes)), sizes), chosen)
    some = evenly(np.flatnonzero(among), SAMPLE)
    return outline.take(some[spread(problem, outline.points.take(some), some, FEW)])
