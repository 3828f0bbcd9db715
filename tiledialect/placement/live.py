"""What is alive when: live bytes by class and step, and the bounds they prove.

Reads   Boxes.
Writes  tables over (class, coordinate), a conflict matrix, lower bounds.
Holds   no placement has a smaller footprint or peak than its bound here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.problem import ADDRESS_LIMIT, Bools, Ints


@dataclass(frozen=True)
class LivePeak:
    """The largest sum of live bytes, and where it is."""

    bytes: int
    step: int
    tile_class: int
    coordinate: int


def live_table(boxes: Boxes, weights: Ints, chosen: Bools | None = None) -> Ints:
    """Sum of `weights` over the boxes alive, by class and coordinate.

    Sums that might leave 64 bits are kept as Python's integers.
    """
    keep = np.ones(len(boxes), np.bool_) if chosen is None else chosen
    pieces = keep[boxes.piece_box]
    owner = boxes.piece_box[pieces]
    shape = (boxes.classes.shape[1], max(len(boxes.steps), 1))
    exact = sum(weights.tolist()) <= ADDRESS_LIMIT
    table = np.zeros(shape, np.int64)
    if not exact:
        table = cast(Ints, table.astype(np.object_))
    for tile_class in range(len(table)):
        weight = np.where(boxes.classes[owner, tile_class], weights[owner], 0)
        np.add.at(table[tile_class], boxes.piece_start[pieces], weight)
        np.add.at(table[tile_class], boxes.piece_end[pieces], -weight)
    return np.cumsum(table, axis=1)


def live_peak(boxes: Boxes) -> LivePeak:
    """The live peak of all boxes; the first class and step that has it."""
    if not len(boxes):
        return LivePeak(0, 0, 0, 0)
    return peak_of(boxes, live_table(boxes, boxes.bytes))


def peak_of(boxes: Boxes, table: Ints) -> LivePeak:
    """Where a live table is largest."""
    tile_class, coordinate = divmod(int(np.argmax(table)), table.shape[1])
    step = int(boxes.steps[coordinate]) if len(boxes.steps) else 0
    return LivePeak(int(table.max()), step, tile_class, coordinate)


def granule(boxes: Boxes) -> int:
    """A step that every box's address is a multiple of."""
    values = np.concatenate([boxes.align, boxes.phase])
    return max(int(np.gcd.reduce(values)), 1) if len(values) else 1


def footprint_bound(boxes: Boxes) -> int:
    """No footprint is smaller: live bytes, each rounded up to the granule."""
    if not len(boxes):
        return 0
    unit = granule(boxes)
    return int(live_table(boxes, boxes.bytes + (-boxes.bytes) % unit).max())


def peak_bound(boxes: Boxes) -> int:
    """No peak is smaller: as above, but the topmost box keeps its own end."""
    if not len(boxes):
        return 0
    unit = granule(boxes)
    slack = (-boxes.bytes) % unit
    return int(live_table(boxes, boxes.bytes + slack).max()) - int(slack.max())


def alive_at(boxes: Boxes, coordinate: int) -> Bools:
    """The boxes that are alive in a coordinate."""
    pieces = (boxes.piece_start <= coordinate) & (coordinate < boxes.piece_end)
    alive = np.zeros(len(boxes), np.bool_)
    alive[boxes.piece_box[pieces]] = True
    return alive


def conflict_matrix(boxes: Boxes) -> Bools:
    """(m, m): which two boxes share a class and a step; the diagonal is False."""
    start, end = boxes.piece_start, boxes.piece_end
    meet = (start[:, None] < end[None, :]) & (start[None, :] < end[:, None])
    if len(boxes.piece_box) > len(boxes):
        order = np.argsort(boxes.piece_box, kind="stable")
        borders = np.searchsorted(boxes.piece_box[order], np.arange(len(boxes)))
        meet = np.logical_or.reduceat(meet[order][:, order], borders, axis=0)
        meet = np.logical_or.reduceat(meet, borders, axis=1)
    if boxes.classes.shape[1] > 1:
        shared = boxes.classes.astype(np.float32)
        meet &= (shared @ shared.T) > 0
    np.fill_diagonal(meet, val=False)
    return meet


def widths(boxes: Boxes) -> Ints:
    """Coordinates in which each box is alive."""
    width = np.zeros(len(boxes), np.int64)
    np.add.at(width, boxes.piece_box, boxes.piece_end - boxes.piece_start)
    return width


def crowding(boxes: Boxes) -> Ints:
    """For each box the most live bytes in any step that it is alive in."""
    table = live_table(boxes, boxes.bytes)
    most = np.zeros(len(boxes), np.int64)
    order = np.argsort(boxes.piece_start, kind="stable")
    for tile_class in range(len(table)):
        best = _range_maxima(
            table[tile_class], boxes.piece_start[order], boxes.piece_end[order]
        )
        owner = boxes.piece_box[order]
        inside = boxes.classes[owner, tile_class]
        np.maximum.at(most, owner[inside], best[inside])
    return most


def _range_maxima(values: Ints, start: Ints, end: Ints) -> Ints:
    """The maximum of values[start:end] for each range, by doubling tables."""
    level = np.maximum(np.frexp(np.maximum(end - start, 1))[1] - 1, 0)
    result = np.zeros(len(start), np.int64)
    table = values
    for power in range(int(level.max(initial=0)) + 1):
        chosen = level == power
        left = table[start[chosen]]
        right = table[np.maximum(end[chosen] - (1 << power), start[chosen])]
        result[chosen] = np.maximum(left, right)
        half = 1 << power
        if len(table) > half:
            table = np.maximum(table[:-half], table[half:])
    return result


def largest_classes(boxes: Boxes) -> Bools:
    """(classes, m): which boxes exist on those classes whose boxes are not all on
    another class too. Only these can have the largest footprint."""
    held = boxes.classes.T.astype(np.int64)
    inside = held @ (1 - held.T) == 0  # [i, j]: all boxes of i are in j
    equal = inside & inside.T
    before = np.arange(len(held))[:, None] > np.arange(len(held))[None, :]
    hidden = (inside & ~equal) | (equal & before)
    return boxes.classes.T[~hidden.any(axis=1)]
