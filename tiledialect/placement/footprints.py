"""The smallest footprint: the heuristic, then whatever can prove or repair.

Reads   Problem and Boxes.
Writes  an Outcome whose value is the footprint: distinct bytes ever occupied, the
        most over classes.
Holds   numba is loaded only where the heuristic leaves something open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.exact import least_footprint
from tiledialect.placement.first_fit import Room, first_fit, footprint_orders, orders
from tiledialect.placement.footprint import STARTS, Best, fill_all, improve
from tiledialect.placement.live import conflict_matrix, footprint_bound
from tiledialect.placement.outcome import Outcome, found, unplaced
from tiledialect.placement.peaks import search
from tiledialect.placement.problem import Ints, Problem
from tiledialect.placement.range import Range

if TYPE_CHECKING:
    from tiledialect.placement.mend import Tables

FEW_MOVES = 800  # boxes put in to improve what the orders gave, without numba
MOVES = 20_000  # boxes put in to mend one fill
MORE_MOVES = 8  # times as many for the best one, where little is proven
FEWER, MORE = 4, 5  # boxes that a bound is proven by, and if that proves too little
MEND_WORK = 4_000_000  # and pairs of boxes looked at, in large problems
NEAR = 100  # a fit within its limit and goal is still improved to 1 part in so many
NEAR_BYTES = 64  # above the bound, or to so many bytes
WORTH_BYTES = 1 << 15  # but numba is not loaded for that where fewer are alive


def solve_footprint(
    problem: Problem, boxes: Boxes, minimise: bool, effort: int
) -> Outcome:
    """A footprint within the limit, or the smallest found."""
    bound = footprint_bound(boxes)
    limit = problem.footprint_limit
    wanted = int(boxes.padded.sum()) if limit is None else max(limit, bound)
    goal = wanted if problem.footprint_goal is None else problem.footprint_goal
    must = bound if minimise else max(bound, min(wanted, goal))
    near = min(must, bound + max(bound // NEAR, NEAR_BYTES))
    best = Best(Room(boxes, conflict_matrix(boxes)))
    fill_all(best, footprint_orders(boxes), near, effort)
    if best.address is None:
        top = int((boxes.last + boxes.bytes).max())
        span = Range(top, top + 1, top)
        search(boxes, span, effort, minimise=False)
        best.moves += span.nodes
        if span.address is None:
            tried = first_fit(boxes, best.room.conflicts, orders(boxes)[0]).address
            return unplaced(problem, boxes, tried, span, best.moves)
        best.take(span.address)
    if best.footprint > near:
        exact = least_footprint(boxes, best.room.conflicts, best.exact(), near)
        best.moves += exact.steps
        if exact.complete:
            bound = exact.footprint if exact.footprint > near else bound
            must = near = exact.footprint
        if exact.address is not None:
            best.take(exact.address)
    if best.footprint > must and not minimise:
        improve(best, must, min(effort, FEW_MOVES))
    if best.footprint > (near if minimise or bound >= WORTH_BYTES else must):
        bound = _mend(best, near, bound, effort)
    assert best.address is not None
    if best.footprint > wanted:
        return _over_limit(best, wanted, bound)
    return found(best.address, best.footprint, bound, best.moves)


def _mend(best: Best, goal: int, bound: int, effort: int) -> int:
    """Works on the best few fills, one after the other; the proven bound after it."""
    from tiledialect.placement.mend import tables
    from tiledialect.placement.prove import raised_bound

    boxes = best.room.boxes
    moves = min(effort, MOVES, MEND_WORK // len(boxes) ** 2)
    of_boxes = tables(boxes, best.room.conflicts, best.room.largest)
    if of_boxes is None:
        return bound
    for address in best.best_fills(STARTS):
        _mend_one(best, of_boxes, address, max(goal, bound), moves, 1)
    for count, share in ((FEWER, MORE_MOVES * moves), (MORE, 0)):
        if best.footprint <= max(goal, bound):
            break
        conflicts, least = best.room.conflicts, best.footprint
        bound, spent = raised_bound(boxes, conflicts, bound, least, count)
        best.moves += spent
        address = best.best_fills(1)[0]
        _mend_one(best, of_boxes, address, max(goal, bound), share, 2)
    return bound


def _mend_one(
    best: Best, of_boxes: Tables, address: Ints, goal: int, moves: int, seed: int
) -> None:
    """Works on one fill, unless the goal is reached already."""
    from tiledialect.placement.mend import mend

    if best.footprint > goal and moves > 0:
        mended, spent = mend(of_boxes, address, goal, moves, seed)
        best.moves += spent
        best.take(mended)


def _over_limit(best: Best, limit: int, bound: int) -> Outcome:
    """The smallest footprint found exceeds the limit."""
    over = best.footprint - limit
    if best.footprint <= bound:
        reason = (
            f"fragmentation: the least footprint is {best.footprint}, "
            f"{over} over the limit {limit}"
        )
        return Outcome(None, "infeasible", reason, best.moves, bound)
    reason = (
        f"footprint {best.footprint} is {over} over the limit {limit}; at least "
        f"{bound} is needed; stopped after {best.moves} steps"
    )
    return Outcome(best.address, "stopped", reason, best.moves, bound)
