"""Flat tables of a problem for the compiled search.

Rows are sets of boxes alive together on one class; only the largest sets count:
one at each last birth before a death. Rows stand in order of time, so that a
point in time which no box crosses is a border between rows.
"""

from __future__ import annotations

import numpy as np

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.problem import Bools, Ints
from tiledialect.placement.search import (
    ALIGN,
    BOX_COLUMNS,
    CROWD,
    LAST,
    NEAR_AT,
    NEAR_END,
    OFFSET,
    PAIRED,
    PARTS,
    PHASE,
    REMAINING,
    ROW_AT,
    ROW_END,
    SIZE,
    SPAN_HIGH,
    SPAN_LOW,
    WIDTH,
    Space,
)


def section_starts(boxes: Boxes) -> Ints:
    """Coordinates whose live sets are not contained in the next one's."""
    births = np.zeros(len(boxes.steps) + 1, np.int64)
    deaths = np.zeros(len(boxes.steps) + 1, np.int64)
    births[boxes.piece_start] = 1
    deaths[boxes.piece_end] = 1
    ends = np.flatnonzero(deaths)
    return np.unique(
        [int(np.flatnonzero(births[:end])[-1]) for end in ends.tolist()]
    ).astype(np.int64)


def rows_of_boxes(boxes: Boxes) -> tuple[Ints, Ints, int]:
    """(box, row) pairs sorted by box, and the number of rows."""
    starts = section_starts(boxes)
    classes = boxes.classes.shape[1]
    first = np.searchsorted(starts, boxes.piece_start)
    after = np.searchsorted(starts, boxes.piece_end)
    lengths = after - first
    piece = np.repeat(np.arange(len(first)), lengths)
    section = np.arange(len(piece)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    section += first[piece]
    box = boxes.piece_box[piece]
    member, tile_class = np.nonzero(boxes.classes[box])
    pairs = np.stack([box[member], section[member] * classes + tile_class], axis=1)
    pairs = np.unique(pairs, axis=0)
    used, row = np.unique(pairs[:, 1], return_inverse=True)
    return pairs[:, 0], row.astype(np.int64), len(used)


def make_space(boxes: Boxes, conflicts: Bools) -> Space:
    """The tables of a problem with nothing placed."""
    count = len(boxes)
    left, right = boxes.apart[:, 0], boxes.apart[:, 1]
    apart = np.zeros_like(conflicts)
    apart[left, right] = apart[right, left] = True
    owner, neighbour = np.nonzero(conflicts | apart)
    box, row, rows = rows_of_boxes(boxes)
    table = np.zeros((count, BOX_COLUMNS), np.int64)
    table[:, SIZE], table[:, ALIGN], table[:, PHASE] = (
        boxes.bytes,
        boxes.align,
        boxes.phase,
    )
    table[:, OFFSET], table[:, LAST] = boxes.first, boxes.last
    table[:, WIDTH] = np.bincount(box, minlength=count)
    table[:, PAIRED] = apart.any(axis=1)
    table[:, NEAR_AT] = np.searchsorted(owner, np.arange(count))
    table[:, NEAR_END] = np.searchsorted(owner, np.arange(count), side="right")
    table[:, ROW_AT] = np.searchsorted(box, np.arange(count))
    table[:, ROW_END] = np.searchsorted(box, np.arange(count), side="right")
    low, high = row[table[:, ROW_AT]], row[table[:, ROW_END] - 1] + 1
    table[:, SPAN_LOW], table[:, SPAN_HIGH] = low, high
    for one, two in ((left, right), (right, left)):
        np.minimum.at(table[:, SPAN_LOW], one, low[two])
        np.maximum.at(table[:, SPAN_HIGH], one, high[two])
    row_table = np.zeros((rows, CROWD + 1), np.int64)
    np.add.at(row_table[:, REMAINING], row, boxes.bytes[box])
    return Space(
        box=table,
        near=np.stack([neighbour, apart[owner, neighbour]], axis=1).astype(np.int64),
        row=row,
        rows=row_table,
        trail=np.zeros((len(owner) + count, 2), np.int64),
        pool=np.zeros(3 * (count + 2) ** 2, np.int64),
        frames=np.zeros((2 * count + 3, PARTS + 1), np.int64),
        edges=boxes.edges,
        nodes=np.zeros(2, np.int64),
    )


def fresh(space: Space, width: Ints, limit: int) -> Space:
    """The same problem for a new search: the tables that it changes are copies."""
    box = space.box.copy()
    box[:, WIDTH] = width
    space.pool[: len(box)] = np.arange(len(box))
    nodes = np.array([0, limit], np.int64)
    return space._replace(box=box, rows=space.rows.copy(), nodes=nodes)


def step_widths(boxes: Boxes) -> Ints:
    """Steps from the first birth to the last death."""
    born = np.full(len(boxes), np.iinfo(np.int64).max)
    dies = np.full(len(boxes), np.iinfo(np.int64).min)
    np.minimum.at(born, boxes.piece_box, boxes.steps[boxes.piece_start])
    np.maximum.at(dies, boxes.piece_box, boxes.steps[boxes.piece_end])
    return dies - born
