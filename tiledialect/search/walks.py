"""From stage to stage below the stairs of what is known: first few labels, then all.

A narrow walk keeps the most promising candidates and labels along the whole curve. What
it finds makes the stairs; these leave so few candidates that a walk over all of them is
short. The stairs are never steeper than plans that exist, so nothing on the curve is
lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tiledialect.search.bounds import ENDLESS, least_to_come, need
from tiledialect.search.fronts import undominated
from tiledialect.search.labels import Labels, extend, start
from tiledialect.search.pools import Pool
from tiledialect.search.problem import Problem
from tiledialect.search.stairs import (
    Points,
    Stairs,
    StairsLimits,
    points_of,
    reaching,
    sides,
    within_reach,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

NARROW = (64, 512)
"""Candidates, and labels, that each narrow walk keeps of a stage."""


def whole_walk(
    problem: Problem, pools: tuple[Pool, ...], stairs: Stairs, *, timed: bool = True
) -> tuple[tuple[Pool, ...], list[Labels]]:
    """Candidates of every stage, and the labels of every stage over them: the last ones
    are the front of cycles and bytes (not `timed`: the least bytes), of what no known
    plan beats."""
    some = pools
    for most in NARROW:
        narrow = tuple(_promising(problem, pool, most, timed=timed) for pool in some)
        last = _walk(problem, narrow, stairs, most, timed=timed)[-1]
        stairs = _with_found(problem, stairs, last, timed=timed)
        some = within_reach(problem, pools, stairs, timed=timed)
    return some, _walk(problem, some, stairs, None, timed=timed)


def needs_of(problem: Problem, labels: Labels) -> Ints:
    """The footprints of plans whose last labels these are."""
    return need(problem, labels.resident, labels.transient, labels.rows)


def _with_found(
    problem: Problem, stairs: Stairs, last: Labels, *, timed: bool
) -> Stairs:
    needs = needs_of(problem, last)
    if timed:
        return stairs.joined(needs, last.cycles)
    most = int(needs.min(initial=stairs.most))
    return Stairs(most, stairs.bytes[:0], stairs.cycles[:0])


def _walk(
    problem: Problem,
    pools: tuple[Pool, ...],
    stairs: Stairs,
    most: int | None,
    *,
    timed: bool,
) -> list[Labels]:
    """The labels of every stage, or the `most` promising ones."""
    least = least_to_come(pools)
    bound = StairsLimits(stairs.most, ENDLESS, least, timed, stairs=stairs)
    behind = sides(pools, timed=timed)[1]
    layers = [start()]
    for position in range(problem.count):
        labels = extend(problem, pools, position, layers[-1], bound)
        points = points_of(labels, timed=timed)
        labels = labels.take(reaching(problem, stairs, points, behind[position + 1]))
        if most is not None:
            labels = labels.take(_spread(problem, points_of(labels, timed=timed), most))
        layers.append(labels)
    return layers


def _promising(problem: Problem, pool: Pool, most: int, *, timed: bool) -> Pool:
    return pool.take(_spread(problem, points_of(pool, timed=timed), most))


def _spread(problem: Problem, points: Points, most: int) -> Ints:
    """Rows, ascending: at most so many along the front, whatever their class."""
    front = undominated(points.columns, points.cycles * 0)
    if len(front) <= most:
        return front
    some = points.take(front)
    needs = need(problem, some.resident, some.transient, some.rows)
    order = np.lexsort((needs, some.cycles))
    picked = np.arange(most, dtype=np.int64) * len(front) // most
    return np.sort(front[order[picked]])
