"""Why a problem has no placement, found by counting alone.

Reads   Problem and Boxes.
Writes  a Refusal with its proof in words, or nothing when counting proves nothing.
Fails   PlacementError for pins that overlap: that input contradicts itself.

Exhaustion means that too many bytes are alive at once for the space that they
are confined to. Fragmentation (enough bytes, no arrangement) needs a search.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.live import (
    LivePeak,
    alive_at,
    footprint_bound,
    granule,
    live_peak,
    live_table,
    peak_of,
)
from tiledialect.placement.problem import ADDRESS_LIMIT, PlacementError, Problem

WINDOWS = 64  # stretches of memory tried for exhaustion


@dataclass(frozen=True)
class Refusal:
    """A proof that nothing fits: words, the buffers named, the free bytes left."""

    reason: str
    buffers: tuple[int, ...]
    largest_hole: int = 0


def refuse(problem: Problem, boxes: Boxes) -> Refusal | None:
    """The first proof of infeasibility that counting gives."""
    _refuse_pins(problem, boxes)
    return (
        _too_large(problem, boxes)
        or _over_limit(problem, boxes)
        or _exhausted(problem, boxes)
    )


def name_of(problem: Problem, boxes: Boxes, box: int) -> str:
    """The names of a box's buffers, the first few."""
    members = [problem.names[member] for member in boxes.members[box]]
    if len(members) > 3:
        members[3:] = [f"{len(members) - 3} more"]
    return " = ".join(members)


def largest_at(
    problem: Problem, boxes: Boxes, peak: LivePeak, count: int = 3
) -> tuple[str, tuple[int, ...]]:
    """The largest boxes alive at a peak, as words and as buffers."""
    alive = alive_at(boxes, peak.coordinate) & boxes.classes[:, peak.tile_class]
    chosen = np.flatnonzero(alive)
    chosen = chosen[np.argsort(-boxes.bytes[chosen], kind="stable")][:count]
    found: list[int] = chosen.tolist()
    words = [f"{name_of(problem, boxes, box)} ({boxes.bytes[box]})" for box in found]
    return ", ".join(words), tuple(boxes.members[box][0] for box in found)


def _too_large(problem: Problem, boxes: Boxes) -> Refusal | None:
    """A box that fits nowhere in its own region."""
    for box in np.flatnonzero(boxes.first > boxes.last).tolist():
        members = boxes.members[box]
        low = max(int(problem.low[i] - boxes.offset[i]) for i in members)
        high = min(
            int(problem.high[i] - boxes.offset[i] - problem.bytes[i]) for i in members
        ) + int(boxes.bytes[box])
        name, size = name_of(problem, boxes, box), int(boxes.bytes[box])
        room = max(high - low, 0)
        pin = max(int(problem.pinned[i]) for i in members)
        reason = f"{name} needs {size} bytes, its region [{low}, {high}) has {room}"
        if pin >= 0:
            reason = (
                f"{name} is pinned at {pin} with {size} bytes, outside its region "
                f"[{low}, {high})"
            )
        elif size <= room:
            align = int(boxes.align[box])
            reason += f", with no multiple of {align} where it fits"
        return Refusal(reason, members, room)
    total = sum(boxes.bytes.tolist()) + int(boxes.first.max(initial=0))
    if total > ADDRESS_LIMIT:
        raise PlacementError(
            f"the sizes add up to {total} bytes; at most {ADDRESS_LIMIT} are handled"
        )
    return None


def _refuse_pins(problem: Problem, boxes: Boxes) -> None:
    """Two pinned boxes that meet in time, class and bytes."""
    pinned = [
        box
        for box in range(len(boxes))
        if any(problem.pinned[member] >= 0 for member in boxes.members[box])
        and boxes.first[box] == boxes.last[box]
    ]
    pinned.sort(key=lambda box: (int(boxes.first[box]), box))
    open_boxes: list[int] = []
    for box in pinned:
        start = int(boxes.first[box])
        open_boxes = [o for o in open_boxes if boxes.first[o] + boxes.bytes[o] > start]
        for other in open_boxes:
            meeting = _meeting(boxes, other, box)
            if meeting:
                _overlap_error(problem, boxes, (other, box), meeting)
        open_boxes.append(box)


def _overlap_error(
    problem: Problem, boxes: Boxes, pair: tuple[int, int], meeting: str
) -> None:
    words = [
        f"{name_of(problem, boxes, box)} "
        f"[{boxes.first[box]}, {boxes.first[box] + boxes.bytes[box]})"
        for box in sorted(pair)
    ]
    raise PlacementError(
        f"pinned buffers {words[0]} and {words[1]} overlap at steps {meeting}",
        tuple(boxes.members[box][0] for box in sorted(pair)),
    )


def _meeting(boxes: Boxes, one: int, two: int) -> str:
    """The first steps in which two boxes meet, or nothing."""
    if not np.any(boxes.classes[one] & boxes.classes[two]):
        return ""
    for left in np.flatnonzero(boxes.piece_box == one).tolist():
        for right in np.flatnonzero(boxes.piece_box == two).tolist():
            start = max(boxes.piece_start[left], boxes.piece_start[right])
            end = min(boxes.piece_end[left], boxes.piece_end[right])
            if start < end:
                return f"[{boxes.steps[start]}, {boxes.steps[end]})"
    return ""


def _over_limit(problem: Problem, boxes: Boxes) -> Refusal | None:
    """More live bytes than the footprint may have."""
    limit = problem.footprint_limit
    if limit is None or footprint_bound(boxes) <= limit:
        return None
    unit = granule(boxes)
    table = live_table(boxes, boxes.bytes + (-boxes.bytes) % unit)
    return _exhaustion(problem, boxes, peak_of(boxes, table), limit, "the footprint")


def _exhausted(problem: Problem, boxes: Boxes) -> Refusal | None:
    """More live bytes than some stretch of memory that they are confined to."""
    unit = granule(boxes)
    weights = boxes.bytes + (-boxes.bytes) % unit
    for low, high in _windows(boxes):
        inside = (boxes.first >= low) & (boxes.last + boxes.bytes <= high)
        peak = peak_of(boxes, live_table(boxes, weights, inside))
        # The topmost box need not be rounded up.
        slack = int((weights - boxes.bytes)[inside].max(initial=0))
        if peak.bytes - slack > high - low:
            where = f"the region [{low}, {high})"
            return _exhaustion(problem, boxes, peak, high - low, where)
    return None


def _windows(boxes: Boxes) -> Iterable[tuple[int, int]]:
    """Stretches that regions name, the widest first."""
    free = boxes.first < boxes.last
    lows = np.unique(boxes.first[free])
    highs = np.unique((boxes.last + boxes.bytes)[free])
    pairs = {
        (int(low), int(high))
        for low in lows[:WINDOWS].tolist()
        for high in highs[-WINDOWS:].tolist()
        if low < high
    }
    if len(boxes):
        whole = (int(boxes.first.min()), int((boxes.last + boxes.bytes).max()))
        pairs.add(whole)
    return sorted(pairs, key=lambda pair: (pair[0] - pair[1], pair))[:WINDOWS]


def _exhaustion(
    problem: Problem, boxes: Boxes, peak: LivePeak, room: int, where: str
) -> Refusal:
    largest, buffers = largest_at(problem, boxes, peak)
    reason = (
        f"not enough bytes: {peak.bytes} are alive in step {peak.step} of class "
        f"{peak.tile_class}, {where} has {room} ({peak.bytes - room} too few); "
        f"largest there: {largest}"
    )
    if live_peak(boxes).bytes < peak.bytes:
        reason += f"; sizes count rounded up to {granule(boxes)}"
    return Refusal(reason, buffers)
