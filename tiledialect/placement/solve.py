"""place: addresses for a problem, with what is proven about them.

Reads   a Problem.
Writes  a Placement: minimal, fits, infeasible or stopped, with its numbers.
Holds   addresses keep every rule of the problem; the two proven words are proven.
Fails   PlacementError for a problem that contradicts itself.

Method: counting refuses what cannot fit; cheap orders place most of the rest;
what they leave open goes to the complete search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiledialect.placement.boxes import Boxes, align_up, make_boxes
from tiledialect.placement.exact import Exact, least_footprint
from tiledialect.placement.first_fit import Room, first_fit, orders
from tiledialect.placement.footprint import Cover, improve, smallest_footprint
from tiledialect.placement.live import (
    alive_at,
    conflict_matrix,
    footprint_bound,
    live_peak,
    peak_bound,
)
from tiledialect.placement.problem import (
    Bools,
    Ints,
    Placement,
    Problem,
    Status,
    check_problem,
)
from tiledialect.placement.range import Range
from tiledialect.placement.refuse import Refusal, name_of, refuse

DEFAULT_EFFORT = 400_000  # search nodes
FOOTPRINT_MOVES = 400  # boxes put in by the footprint heuristic
SEARCHED = 1500  # boxes up to which the complete search runs


@dataclass(frozen=True)
class Outcome:
    """What a solver found: an address for each box or none, and in which word."""

    address: Ints | None
    status: Status
    reason: str
    effort: int
    bound: int
    buffers: tuple[int, ...] = ()
    largest_hole: int = -1  # -1: still to be measured


def place(
    problem: Problem, *, minimise: bool, effort: int = DEFAULT_EFFORT
) -> Placement:
    """Addresses for all buffers; `effort` bounds the search in nodes and moves."""
    check_problem(problem)
    boxes = make_boxes(problem)
    refusal = refuse(problem, boxes)
    if refusal is not None:
        return _answer(problem, boxes, _refused(boxes, refusal))
    if not len(boxes):
        nothing = Outcome(np.zeros(0, np.int64), "minimal", "nothing to place", 0, 0)
        return _answer(problem, boxes, nothing)
    if problem.objective == "peak":
        return _answer(problem, boxes, _solve_peak(problem, boxes, minimise, effort))
    return _answer(problem, boxes, _solve_footprint(problem, boxes, minimise, effort))


def _refused(boxes: Boxes, refusal: Refusal) -> Outcome:
    return Outcome(
        None,
        "infeasible",
        refusal.reason,
        0,
        live_peak(boxes).bytes,
        refusal.buffers,
        refusal.largest_hole,
    )


def _solve_peak(problem: Problem, boxes: Boxes, minimise: bool, effort: int) -> Outcome:
    """The lowest peak, or any placement inside the regions."""
    base = int(boxes.first.min())
    bound = peak_bound(boxes)
    conflicts = conflict_matrix(boxes)
    room, spent = _cheap_peak(boxes, conflicts, bound, minimise)
    top = int((boxes.last + boxes.bytes).max())
    address = room.address if room.placed.all() else None
    high = top + 1 if address is None else int((address + boxes.bytes).max())
    span = Range(base + bound, high, top, address)
    if len(boxes) <= SEARCHED and (minimise or address is None):
        _race(boxes, conflicts, span, effort, minimise)
    spent += span.nodes
    if span.address is None:
        if span.closed:
            return _fragmented(problem, boxes, room, spent, bound)
        return _unplaced(problem, boxes, room, spent, bound)
    return _found(boxes, span.address, span.high - base, span.low - base, spent)


def _race(
    boxes: Boxes, conflicts: Bools, span: Range, effort: int, minimise: bool
) -> None:
    """The complete search; numba is loaded only where it is needed."""
    if span.closed:
        return
    from tiledialect.placement.race import race

    race(boxes, conflicts, span, effort, minimise=minimise)


def _cheap_peak(
    boxes: Boxes, conflicts: Bools, bound: int, minimise: bool
) -> tuple[Room, int]:
    """The best of the cheap orders, and the boxes placed; a failed one if all fail."""
    best: Room | None = None
    spent = 0
    for order in orders(boxes):
        room = first_fit(boxes, conflicts, order)
        spent += len(boxes)
        best = room if best is None or _better(boxes, room, best) else best
        if best.placed.all() and (not minimise or _peak(boxes, best.address) <= bound):
            break
    assert best is not None
    return best, spent


def _better(boxes: Boxes, one: Room, two: Room) -> bool:
    """Whether a placement is more complete than another, or lower."""
    counts = int(one.placed.sum()), int(two.placed.sum())
    if counts[0] != counts[1]:
        return counts[0] > counts[1]
    if not one.placed.all():
        return False
    return _peak(boxes, one.address) < _peak(boxes, two.address)


def _solve_footprint(
    problem: Problem, boxes: Boxes, minimise: bool, effort: int
) -> Outcome:
    """A footprint within the limit, or the smallest found."""
    bound = footprint_bound(boxes)
    limit = problem.footprint_limit
    wanted = int(boxes.padded.sum()) if limit is None else limit
    goal = bound if minimise else wanted
    conflicts = conflict_matrix(boxes)
    moves = min(effort, max(FOOTPRINT_MOVES, 4 * len(boxes)))
    tries = orders(boxes)
    best = smallest_footprint(boxes, conflicts, tries, goal, moves)
    if best.address is None:
        top = int((boxes.last + boxes.bytes).max())
        span = Range(top, top + 1, top)
        if len(boxes) <= SEARCHED:
            _race(boxes, conflicts, span, effort, minimise=False)
        best.moves += span.nodes
        if span.address is None:
            room = first_fit(boxes, conflicts, tries[0])
            tell = _fragmented if span.closed else _unplaced
            return tell(problem, boxes, room, best.moves, bound)
        best.take(boxes, conflicts, span.address)
        improve(boxes, conflicts, best, goal, best.moves + moves)
    assert best.address is not None
    exact = Exact(best.address, best.footprint)
    if best.footprint > goal:
        least_footprint(boxes, conflicts, exact, goal)
    spent = best.moves + exact.steps
    if exact.complete:
        bound = exact.footprint
    assert exact.address is not None
    if exact.footprint > wanted:
        return _over_limit(exact, wanted, bound, spent)
    return _found(boxes, exact.address, exact.footprint, bound, spent)


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


def _found(boxes: Boxes, address: Ints, value: int, bound: int, spent: int) -> Outcome:
    """A full placement: minimal when its value is the bound."""
    if value <= bound:
        return Outcome(address, "minimal", f"{value} is the bound", spent, bound)
    gap = 100 * (value - bound) / max(bound, 1)
    reason = f"{value} is {gap:.2f} % above the bound {bound}"
    return Outcome(address, "fits", reason, spent, bound)


def _fragmented(
    problem: Problem, boxes: Boxes, room: Room, spent: int, bound: int
) -> Outcome:
    """No arrangement exists, though counting bytes does not show it."""
    words, box, hole = _fragmentation(problem, boxes, room)
    reason = f"{words}; no arrangement exists ({spent} nodes searched)"
    return Outcome(None, "infeasible", reason, spent, bound, boxes.members[box], hole)


def _unplaced(
    problem: Problem, boxes: Boxes, room: Room, spent: int, bound: int
) -> Outcome:
    """No full placement was found, and none is ruled out."""
    words, box, hole = _fragmentation(problem, boxes, room)
    reason = f"{words}; none found in {spent} nodes, none ruled out"
    address = room.address
    return Outcome(address, "stopped", reason, spent, bound, boxes.members[box], hole)


def _fragmentation(problem: Problem, boxes: Boxes, room: Room) -> tuple[str, int, int]:
    """The first box without a place in words, the box, the largest hole for it."""
    box = int(np.flatnonzero(~room.placed)[0])
    hole = _largest_gap(room, box)
    peak = live_peak(boxes)
    words = (
        f"fragmentation: enough bytes ({peak.bytes} alive at the peak, step "
        f"{peak.step}), but {name_of(problem, boxes, box)} needs {boxes.bytes[box]} "
        f"in one piece and the largest hole left for it has {hole}"
    )
    return words, box, hole


def _largest_gap(room: Room, box: int) -> int:
    """Bytes of the largest stretch that nothing in the way of the box takes."""
    boxes = room.boxes
    in_way = np.flatnonzero(room.conflicts[box] & room.placed)
    low, high = int(boxes.first[box]), int(boxes.last[box] + boxes.bytes[box])
    return largest_hole(room.address[in_way], boxes.bytes[in_way], low, high)


def largest_hole(address: Ints, sizes: Ints, low: int, high: int) -> int:
    """The longest free stretch of [low, high) beside the blocks given."""
    order = np.argsort(address)
    ends = np.maximum.accumulate(
        np.concatenate([[low], (address + sizes)[order]]), dtype=np.int64
    )
    starts = np.minimum(np.concatenate([address[order], [high]]), high)
    return max(int((starts - ends).max()), 0)


def _peak(boxes: Boxes, address: Ints) -> int:
    """The highest end above the lowest address that any rule allows."""
    return int((address + boxes.bytes).max() - boxes.first.min())


def _answer(problem: Problem, boxes: Boxes, outcome: Outcome) -> Placement:
    """The outcome in terms of the problem's buffers."""
    peak = live_peak(boxes)
    placed = np.zeros(len(boxes), np.bool_)
    address = np.full(len(boxes), -1, np.int64)
    if outcome.address is not None:
        address = outcome.address
        placed = address >= 0
    hole = outcome.largest_hole
    if hole < 0:
        hole = _hole_at_peak(boxes, address, placed, peak.coordinate, peak.tile_class)
    return Placement(
        addresses=_addresses(problem, boxes, address),
        status=outcome.status,
        peak=_peak_of(boxes, address, placed),
        footprint=_footprint(boxes, address, placed),
        live_peak=peak.bytes,
        live_peak_step=peak.step,
        live_peak_class=peak.tile_class,
        largest_hole=hole,
        reason=outcome.reason,
        effort=outcome.effort,
        buffers=outcome.buffers,
        bound=outcome.bound,
    )


def _addresses(problem: Problem, boxes: Boxes, address: Ints) -> Ints:
    """Buffers without a box go to the first address that their rules allow."""
    count = len(problem.names)
    result = np.full(count, -1, np.int64)
    for index in range(count):
        box = int(boxes.box_of[index])
        if box >= 0:
            if address[box] >= 0:
                result[index] = address[box] + boxes.offset[index]
        elif problem.pinned[index] >= 0:
            result[index] = problem.pinned[index]
        else:
            low, align = int(problem.low[index]), int(problem.align[index])
            result[index] = align_up(low, align, 0)
    return result


def _peak_of(boxes: Boxes, address: Ints, placed: Bools) -> int:
    if not placed.any():
        return 0
    return int((address + boxes.bytes)[placed].max() - address[placed].min())


def _footprint(boxes: Boxes, address: Ints, placed: Bools) -> int:
    totals = [0]
    for tile_class in range(boxes.classes.shape[1]):
        chosen = placed & boxes.classes[:, tile_class]
        start = address[chosen]
        totals.append(Cover(start, start + boxes.padded[chosen]).total)
    return max(totals)


def _hole_at_peak(
    boxes: Boxes, address: Ints, placed: Bools, coordinate: int, tile_class: int
) -> int:
    """The largest hole where most bytes are alive, inside all regions together."""
    if not len(boxes):
        return 0
    chosen = alive_at(boxes, coordinate) & placed & boxes.classes[:, tile_class]
    low = int(boxes.first.min())
    high = int((boxes.last + boxes.bytes).max())
    return largest_hole(address[chosen], boxes.bytes[chosen], low, high)
