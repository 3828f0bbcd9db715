"""What a search may spend, and the least that the stages to come will add."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.search.pools import Pool
from tiledialect.search.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

ENDLESS = np.iinfo(np.int64).max // 4


def footprint(tensor_bytes: Ints) -> Ints:
    """Bytes that placement may take for so many live ones: gaps between buffers of
    different alignment are allowed for by 1 part in 64."""
    return tensor_bytes + tensor_bytes // 64


def most_tensors(size: int) -> int:
    """The most live bytes of which the footprint is within so many; -1: none are."""
    low, high = -1, max(size, 0)
    while low < high:
        middle = (low + high + 1) // 2
        fits = int(footprint(np.array([middle]))[0]) <= size
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def need(problem: Problem, resident: Ints, transient: Ints, rows: Ints) -> Ints:
    """The footprint of a plan."""
    tensors = resident + transient + problem.interface_bytes
    return problem.support_bytes(rows) + footprint(tensors)


@dataclass(frozen=True)
class Least:
    """The least that the stages from some position on add: cycles, resident and row
    bytes; `transient` is their fullest step's, `both` resident and transient bytes
    together (a step that is small may hold much for good)."""

    cycles: int = 0
    resident: int = 0
    transient: int = 0
    both: int = 0
    rows: int = 0


@dataclass(frozen=True)
class Limits:
    """Bytes a tile and cycles that a plan may take; `timed`: cycles matter at all."""

    budget: int
    cycles: int
    least: tuple[Least, ...]
    timed: bool = True

    def room(self, position: int) -> int:
        """Cycles that may be spent before a stage."""
        return self.cycles - self.least[position].cycles

    def needs(
        self,
        problem: Problem,
        position: int,
        resident: Ints,
        transient: Ints,
        rows: Ints,
    ) -> Ints:
        """The footprint at least of what goes on from before a stage, where so much is
        held so far."""
        least = self.least[position]
        tensors = np.maximum(
            least.resident + np.maximum(transient, least.transient), least.both
        )
        support = problem.support_bytes(rows + least.rows)
        return support + footprint(resident + tensors + problem.interface_bytes)

    def allow(
        self,
        problem: Problem,
        position: int,
        cycles: Ints,
        resident: Ints,
        transient: Ints,
        rows: Ints,
    ) -> Mask:
        """Whether what was spent before a stage leaves enough for those to come."""
        needs = self.needs(problem, position, resident, transient, rows)
        return (needs <= self.budget) & (cycles <= self.room(position))


def least_to_come(pools: tuple[Pool, ...]) -> tuple[Least, ...]:
    """For each position, and for the end, what is still to come at least."""
    return tuple(accumulate(reversed(pools), _with_stage, initial=Least()))[::-1]


def _with_stage(after: Least, pool: Pool) -> Least:
    if not len(pool):
        return after
    resident = int(pool.resident.min())
    transient = int(pool.transient.min())
    both = int((pool.resident + pool.transient).min())
    return Least(
        cycles=after.cycles + int((pool.cycles + pool.least).min()),
        resident=after.resident + resident,
        transient=max(after.transient, transient),
        both=max(after.both + resident, both + after.resident),
        rows=after.rows + int(pool.rows.min()),
    )
