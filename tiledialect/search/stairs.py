"""Known plans as a staircase of cycles over bytes, and what it rules out.

What a stage's candidate, or a label, can still become is bounded by *points*: tables of
costs that the stages before or behind it add at least, each the least of some choices
for them. What no point brings onto or below the stairs is of no plan on the curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.search.bounds import ENDLESS, Limits, need
from tiledialect.search.fronts import undominated
from tiledialect.search.labels import Labels
from tiledialect.search.pools import Pool
from tiledialect.search.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

POINTS = 64
"""Points that stand for the stages on one side: neighbours by cycles share one."""

PIECE = 1 << 18
"""Pairs of rows and points that are compared at once."""

MOST_PAIRS = 1 << 24
"""Pairs up to which rows are compared with so many points, not with fewer."""


@dataclass(frozen=True)
class Stairs:
    """Plans that are known: the fewest `cycles` within so many `bytes`; bytes ascend,
    cycles fall. Nothing above `most` bytes is asked for."""

    most: int
    bytes: Ints
    cycles: Ints

    @staticmethod
    def of(most: int, bytes: Ints, cycles: Ints) -> Stairs:
        """The stairs of some plans within `most` bytes."""
        within = bytes <= most
        bytes, cycles = bytes[within], cycles[within]
        steps = undominated([bytes, cycles], bytes * 0)
        steps = steps[np.argsort(bytes[steps])]
        return Stairs(most, bytes[steps], cycles[steps])

    def joined(self, bytes: Ints, cycles: Ints) -> Stairs:
        """With some more plans."""
        return Stairs.of(
            self.most,
            np.append(self.bytes, bytes),
            np.append(self.cycles, cycles),
        )

    def admit(self, bytes: Ints, cycles: Ints) -> Mask:
        """Whether no known plan within these bytes has fewer cycles."""
        limit = np.append(np.int64(ENDLESS), self.cycles)
        known = np.searchsorted(self.bytes, bytes, side="right")
        return (bytes <= self.most) & (cycles <= limit[known])


@dataclass(frozen=True, kw_only=True)
class StairsLimits(Limits):
    """Limits of a search for the whole curve: a known plan at every budget."""

    stairs: Stairs

    def allow(
        self,
        problem: Problem,
        position: int,
        cycles: Ints,
        resident: Ints,
        transient: Ints,
        rows: Ints,
    ) -> Mask:
        """Whether what was spent before a stage may become a plan on the curve."""
        needs = self.needs(problem, position, resident, transient, rows)
        return self.stairs.admit(needs, cycles + self.least[position].cycles)


@dataclass(frozen=True)
class Points:
    """Costs, a row each; the bytes of `transient` are those of the fullest step."""

    cycles: Ints
    resident: Ints
    transient: Ints
    rows: Ints

    def __len__(self) -> int:
        return len(self.cycles)

    @property
    def columns(self) -> list[Ints]:
        return [self.cycles, self.resident, self.transient, self.rows]

    def take(self, chosen: Ints | Mask) -> Points:
        return Points(*(column[chosen] for column in self.columns))

    def front(self) -> Points:
        """Those that no other equals or beats."""
        return self.take(undominated(self.columns, self.cycles * 0))

    def coarse(self, most: int) -> Points:
        """At most so many, each the least of some of these, and all have theirs."""
        if len(self) <= most:
            return self
        if most == 1:
            return Points(*(c.min(keepdims=True) for c in self.columns))
        order = np.lexsort((self.resident, self.cycles))
        begin = np.arange(most, dtype=np.int64) * len(self) // most
        return Points(*(np.minimum.reduceat(c[order], begin) for c in self.columns))

    def with_each(self, other: Points) -> Points:
        """Every row of these with every row of the other, on the same way."""
        mine = self.take(np.repeat(np.arange(len(self)), len(other)))
        others = other.take(np.tile(np.arange(len(other)), len(self)))
        return Points(
            mine.cycles + others.cycles,
            mine.resident + others.resident,
            np.maximum(mine.transient, others.transient),
            mine.rows + others.rows,
        )


NOTHING = Points(*(np.zeros((4, 1), dtype=np.int64)))
"""What no stage adds."""


def points_of(table: Pool | Labels, *, timed: bool) -> Points:
    """The least that candidates add, or what labels have taken; not `timed`: cycles
    do not count."""
    cycles = table.cycles * timed
    if isinstance(table, Pool):
        cycles = cycles + table.least * timed
    return Points(cycles, table.resident, table.transient, table.rows)


def sides(
    stages: Sequence[Points], most: int | None = None
) -> tuple[tuple[Points, ...], tuple[Points, ...]]:
    """For each position the points of all stages before it, and of it and those behind
    it; both have an entry for the end. At most so many each."""
    most = POINTS if most is None else most
    own = [points.front() if most > 1 else points.coarse(1) for points in stages]

    def beside(done: Points, more: Points) -> Points:
        return done.with_each(more.coarse(most)).front().coarse(most)

    before = tuple(accumulate(own, beside, initial=NOTHING))
    behind = tuple(accumulate(reversed(own), beside, initial=NOTHING))[::-1]
    return before, behind


def reaching(problem: Problem, stairs: Stairs, rows: Points, others: Points) -> Ints:
    """The rows, ascending, that some point brings onto or below the stairs; where very
    many rows are left, some others too."""
    kept = np.arange(len(rows) * (len(others) > 0), dtype=np.int64)
    # The least of many points rules most rows out at once.
    for count in (1, 16, POINTS):
        some = others.coarse(count)
        if len(kept) * len(some) > MOST_PAIRS or not len(kept):
            break
        step = PIECE // len(some)
        parts = [
            part[_reaches(problem, stairs, rows.take(part), some)]
            for part in np.split(kept, range(step, len(kept), step))
        ]
        kept = np.concatenate(parts)
    return kept


def _reaches(problem: Problem, stairs: Stairs, rows: Points, others: Points) -> Mask:
    both = rows.with_each(others)
    needs = need(problem, both.resident, both.transient, both.rows)
    admitted: Mask = stairs.admit(needs, both.cycles).reshape(len(rows), len(others))
    return admitted.max(axis=1)


def reach(
    problem: Problem, stages: Sequence[Points], stairs: Stairs
) -> tuple[Ints, ...]:
    """The rows of each stage, ascending, that may be of a plan on or below the
    stairs."""
    rows = tuple(np.arange(len(points), dtype=np.int64) for points in stages)
    for most in (1, None):  # fronts are only made of what the least costs leave
        left = [points.take(row) for points, row in zip(stages, rows, strict=True)]
        before, behind = sides(left, most)
        rows = tuple(
            row[_around(problem, stairs, points, before[at], behind[at + 1])]
            for at, (points, row) in enumerate(zip(left, rows, strict=True))
        )
    return rows


def _around(
    problem: Problem, stairs: Stairs, rows: Points, before: Points, behind: Points
) -> Ints:
    others = before.with_each(behind).front().coarse(POINTS)
    return reaching(problem, stairs, rows, others)


def within_reach(
    problem: Problem, pools: Sequence[Pool], stairs: Stairs, *, timed: bool
) -> tuple[Pool, ...]:
    """Candidates of each stage that may be of a plan on or below the stairs."""
    rows = reach(problem, [points_of(pool, timed=timed) for pool in pools], stairs)
    return tuple(pool.take(row) for pool, row in zip(pools, rows, strict=True))
