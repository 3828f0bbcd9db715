"""From stage to stage below the stairs of what is known: first few labels, then all.

A narrow walk keeps some candidates and labels, of every sort and along the whole curve.
What it finds makes the stairs; these leave fewer candidates to the next one, in the end
so few that a walk over all of them is short. The stairs are never steeper than plans
that exist, so nothing on the curve is lost.
"""

from __future__ import annotations

from itertools import pairwise
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

FEW = 512
"""Candidates, and labels, that a narrow walk keeps of a stage."""

ROUNDS = 8
"""Narrow walks at most; each goes over what the last one's stairs have left."""

ENOUGH = 1 << 21
"""Pairs of candidates of neighbouring stages, so few that they are all walked over."""


def whole_walk(
    problem: Problem, pools: tuple[Pool, ...], stairs: Stairs, *, timed: bool = True
) -> tuple[tuple[Pool, ...], list[Labels]]:
    """Candidates of every stage, and the labels of every stage over them: the last ones
    are the front of cycles and bytes (not `timed`: the least bytes), of what no known
    plan beats."""
    for _ in range(ROUNDS):
        narrow = tuple(_promising(problem, pool, timed=timed) for pool in pools)
        last = _walk(problem, narrow, stairs, FEW, timed=timed)[-1]
        stairs = _with_found(problem, stairs, last, timed=timed)
        pools = within_reach(problem, pools, stairs, timed=timed)
        if _most_pairs(pools) <= ENOUGH:
            break
    return pools, _walk(problem, pools, stairs, None, timed=timed)


def _most_pairs(pools: tuple[Pool, ...]) -> int:
    return max((len(a) * len(b) for a, b in pairwise(pools)), default=0)


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
    behind = sides([points_of(pool, timed=timed) for pool in pools])[1]
    layers = [start()]
    for position in range(problem.count):
        labels = extend(problem, pools, position, layers[-1], bound)
        points = points_of(labels, timed=timed)
        reach = reaching(problem, stairs, points, behind[position + 1])
        labels, points = labels.take(reach), points.take(reach)
        if most is not None:
            rest = pools[position].rest[labels.candidate]
            labels = labels.take(spread(problem, points, rest, most))
        layers.append(labels)
    return layers


def _promising(problem: Problem, pool: Pool, *, timed: bool) -> Pool:
    classes = pool.rest * (int(pool.entry.max(initial=0)) + 1) + pool.entry
    return pool.take(spread(problem, points_of(pool, timed=timed), classes, FEW))


def spread(problem: Problem, points: Points, classes: Ints, most: int) -> Ints:
    """At most so many rows, ascending: half of them along the front, whatever their
    class, half from here and there in all classes, as fronts know nothing of how well
    the layouts of two stages suit each other."""
    if len(points) <= most:
        return np.arange(len(points), dtype=np.int64)
    front = undominated(points.columns, points.cycles * 0)
    some = points.take(front)
    needs = need(problem, some.resident, some.transient, some.rows)
    along = front[evenly(np.lexsort((needs, some.cycles)), most // 2)]
    anywhere = evenly(np.argsort(classes, kind="stable"), most - most // 2)
    return np.union1d(along, anywhere)


def evenly(rows: Ints, most: int) -> Ints:
    """At most so many of some rows, in equal strides."""
    count = min(most, len(rows))
    return rows[np.arange(count, dtype=np.int64) * len(rows) // max(count, 1)]
