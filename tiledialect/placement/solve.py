"""place: addresses for a problem, with what is proven about them.

Reads   a Problem.
Writes  a Placement: minimal, fits, infeasible or stopped, with its numbers.
Holds   addresses keep every rule of the problem; the two proven words are proven.
Fails   PlacementError for a problem that contradicts itself.

Method: counting refuses what cannot fit; cheap orders place most of the rest;
what they leave open goes to the complete search.
"""

from __future__ import annotations

import numpy as np

from tiledialect.placement.boxes import Boxes, align_up, make_boxes
from tiledialect.placement.footprint import Cover
from tiledialect.placement.footprints import solve_footprint
from tiledialect.placement.live import alive_at, live_peak
from tiledialect.placement.outcome import Outcome, largest_hole
from tiledialect.placement.peaks import solve_peak
from tiledialect.placement.problem import (
    Bools,
    Ints,
    Placement,
    Problem,
    check_problem,
)
from tiledialect.placement.refuse import Refusal, refuse

DEFAULT_EFFORT = 300_000  # search nodes


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
        return _answer(problem, boxes, solve_peak(problem, boxes, minimise, effort))
    return _answer(problem, boxes, solve_footprint(problem, boxes, minimise, effort))


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
