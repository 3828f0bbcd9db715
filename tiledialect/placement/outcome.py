"""What a solver says of its boxes, before it is told of the buffers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.live import live_peak
from tiledialect.placement.problem import Ints, Problem, Status
from tiledialect.placement.range import Range
from tiledialect.placement.refuse import name_of


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


def found(address: Ints, value: int, bound: int, spent: int) -> Outcome:
    """A full placement: minimal when its value is the bound."""
    if value <= bound:
        return Outcome(address, "minimal", f"{value} is the bound", spent, bound)
    gap = 100 * (value - bound) / max(bound, 1)
    reason = f"{value} is {gap:.2f} % above the bound {bound}"
    return Outcome(address, "fits", reason, spent, bound)


def unplaced(
    problem: Problem, boxes: Boxes, tried: Ints, span: Range, spent: int
) -> Outcome:
    """No full placement: none exists where the search came to its end."""
    box = int(np.flatnonzero(tried < 0)[0])
    hole = _hole_for(boxes, tried, box)
    peak = live_peak(boxes)
    reason = (
        f"fragmentation: enough bytes ({peak.bytes} alive at the peak, step "
        f"{peak.step}), but {name_of(problem, boxes, box)} needs {boxes.bytes[box]} "
        f"in one piece and the largest hole left for it has {hole}; "
    )
    members = boxes.members[box]
    if span.closed:
        reason += f"no arrangement exists ({spent} nodes searched)"
        return Outcome(None, "infeasible", reason, spent, peak.bytes, members, hole)
    reason += f"none found in {spent} nodes, none ruled out"
    return Outcome(tried, "stopped", reason, spent, peak.bytes, members, hole)


def _hole_for(boxes: Boxes, address: Ints, box: int) -> int:
    """Bytes of the largest stretch that nothing in the way of the box takes."""
    meets = np.zeros(len(boxes), np.bool_)
    for piece in np.flatnonzero(boxes.piece_box == box).tolist():
        start, end = boxes.piece_start[piece], boxes.piece_end[piece]
        over = (boxes.piece_start < end) & (start < boxes.piece_end)
        meets[boxes.piece_box[over]] = True
    meets &= (boxes.classes & boxes.classes[box]).any(axis=1) & (address >= 0)
    low, high = int(boxes.first[box]), int(boxes.last[box] + boxes.bytes[box])
    return largest_hole(address[meets], boxes.bytes[meets], low, high)


def largest_hole(address: Ints, sizes: Ints, low: int, high: int) -> int:
    """The longest free stretch of [low, high) beside the blocks given."""
    order = np.argsort(address)
    ends = np.maximum.accumulate(
        np.concatenate([[low], (address + sizes)[order]]), dtype=np.int64
    )
    starts = np.minimum(np.concatenate([address[order], [high]]), high)
    return max(int((starts - ends).max()), 0)
