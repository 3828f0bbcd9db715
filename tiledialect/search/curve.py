"""The whole curve: the fewest cycles at every budget, each with its plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.search.pools import Pool
from tiledialect.search.problem import Problem
from tiledialect.search.solve import Plan, plan_of
from tiledialect.search.stairs import Stairs
from tiledialect.search.walks import whole_walk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def curve(
    problem: Problem,
    pools: tuple[Pool, ...],
    most_bytes: int,
    known: Sequence[Plan] = (),
) -> tuple[Plan, ...]:
    """Every budget up to `most_bytes` from which on there is a plan of fewer cycles,
    smallest first, with that plan; of these and the `known` plans together. The first
    one's footprint is the smallest budget that works. Nothing is left out."""
    stairs = stairs_of(known, most_bytes)
    some, layers = whole_walk(problem, pools, stairs)
    last = range(len(layers[-1]))
    return breakpoints((*known, *(plan_of(problem, some, layers, i) for i in last)))


def stairs_of(plans: Sequence[Plan], most_bytes: int) -> Stairs:
    """What plans rule out."""
    bytes = np.array([plan.footprint for plan in plans], dtype=np.int64)
    cycles = np.array([plan.cycles for plan in plans], dtype=np.int64)
    return Stairs.of(most_bytes, bytes, cycles)


def breakpoints(plans: Iterable[Plan]) -> tuple[Plan, ...]:
    """The plans that no other beats in bytes and cycles, the fewest bytes first; of
    equals the first."""
    found: list[Plan] = []
    for plan in sorted(plans, key=lambda plan: (plan.footprint, plan.cycles)):
        if not found or plan.cycles < found[-1].cycles:
            found.append(plan)
    return tuple(found)


def knee(plans: Sequence[Plan]) -> int:
    """The position of the curve's knee: the point furthest below the chord between the
    ends, in bytes and cycles scaled to equal lengths (Satopaa, Albrecht, Irwin and
    Raghavan, Finding a "Kneedle" in a Haystack, ICDCS workshops 2011, without
    smoothing). Of equals the one of fewest bytes; the last point where none is below
    the chord."""
    first, last = plans[0], plans[-1]
    width = last.footprint - first.footprint
    height = first.cycles - last.cycles
    gains = [
        (first.cycles - plan.cycles) * width
        - (plan.footprint - first.footprint) * height
        for plan in plans
    ]
    best = max(gains)
    return gains.index(best) if best > 0 else len(plans) - 1
