"""The smallest footprint: the heuristic, then whatever can prove or repair.

Reads   Problem and Boxes.
Writes  an Outcome whose value is the footprint: distinct bytes ever occupied, the
        most over classes.
Holds   numba is loaded only where the heuristic finds no full placement.
"""

from __future__ import annotations

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.exact import Exact, least_footprint
from tiledialect.placement.first_fit import Room, first_fit, footprint_orders, orders
from tiledialect.placement.footprint import Best, fill_all, improve
from tiledialect.placement.live import conflict_matrix, footprint_bound
from tiledialect.placement.outcome import Outcome, found, unplaced
from tiledialect.placement.peaks import search
from tiledialect.placement.problem import Problem
from tiledialect.placement.range import Range

MOVES = 400  # boxes put in to improve what the orders gave


def solve_footprint(
    problem: Problem, boxes: Boxes, minimise: bool, effort: int
) -> Outcome:
    """A footprint within the limit, or the smallest found."""
    bound = footprint_bound(boxes)
    limit = problem.footprint_limit
    wanted = int(boxes.padded.sum()) if limit is None else limit
    best = Best(Room(boxes, conflict_matrix(boxes)))
    fill_all(best, footprint_orders(boxes), bound, effort)
    if best.address is None:
        top = int((boxes.last + boxes.bytes).max())
        span = Range(top, top + 1, top)
        search(boxes, span, effort, minimise=False)
        best.moves += span.nodes
        if span.address is None:
            tried = first_fit(boxes, best.room.conflicts, orders(boxes)[0]).address
            return unplaced(problem, boxes, tried, span, best.moves)
        best.take(span.address)
    goal = bound if minimise else max(wanted, bound)
    improve(best, goal, min(effort, best.moves + MOVES))
    assert best.address is not None
    exact = Exact(best.address, best.footprint)
    if best.footprint > goal:
        least_footprint(boxes, best.room.conflicts, exact, goal)
    spent = best.moves + exact.steps
    if exact.complete:
        bound = exact.footprint
    assert exact.address is not None
    if exact.footprint > wanted:
        return _over_limit(exact, wanted, bound, spent)
    return found(exact.address, exact.footprint, bound, spent)


def _over_limit(exact: Exact, limit: int, bound: int, spent: int) -> Outcome:
    """The smallest footprint found exceeds the limit."""
    over = exact.footprint - limit
    if exact.complete:
        reason = (
            f"fragmentation: the least footprint is {exact.footprint}, "
            f"{over} over the limit {limit}"
        )
        return Outcome(None, "infeasible", reason, spent, bound)
    reason = (
        f"footprint {exact.footprint} is {over} over the limit {limit}; at least "
        f"{bound} is needed; stopped after {spent} steps"
    )
    return Outcome(exact.address, "stopped", reason, spent, bound)
