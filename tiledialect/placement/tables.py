"""Flat tables of a problem for the compiled search.

Rows are sets of boxes alive together on one class; only the largest sets count:
one at each last birth before a death. Rows stand in order of time, so that a
point in time which no box crosses is a border between rows.
"""

from __future__ import annotations

import numpy as np

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.problem import Bools, Ints
from tiledialect.placement.search import State, Tables


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


def make_tables(boxes: Boxes, conflicts: Bools) -> Tables:
    """The tables of a problem."""
    count = len(boxes)
    near = conflicts.copy()
    apart = np.zeros_like(conflicts)
    left, right = boxes.apart[:, 0], boxes.apart[:, 1]
    apart[left, right] = apart[right, left] = True
    near |= apart
    owner, neighbour = np.nonzero(near)
    box, row, _ = rows_of_boxes(boxes)
    low = np.full(count, np.iinfo(np.int64).max)
    high = np.zeros(count, np.int64)
    np.minimum.at(low, box, row)
    np.maximum.at(high, box, row + 1)
    span_low, span_high = low.copy(), high.copy()
    np.minimum.at(
        span_low, np.concatenate([left, right]), low[np.concatenate([right, left])]
    )
    np.maximum.at(
        span_high, np.concatenate([left, right]), high[np.concatenate([right, left])]
    )
    return Tables(
        size=boxes.bytes,
        align=boxes.align,
        phase=boxes.phase,
        first=boxes.first,
        last=boxes.last,
        width=np.bincount(box, minlength=count).astype(np.int64),
        near_at=np.searchsorted(owner, np.arange(count + 1)),
        near=neighbour.astype(np.int64),
        near_apart=apart[owner, neighbour].astype(np.int64),
        row_at=np.searchsorted(box, np.arange(count + 1)),
        row=row,
        span_low=span_low,
        span_high=span_high,
        paired=np.asarray(apart.any(axis=1), np.int64),
        edges=boxes.edges,
    )


def step_widths(boxes: Boxes) -> Ints:
    """Steps from the first birth to the last death."""
    born = np.full(len(boxes), np.iinfo(np.int64).max)
    dies = np.full(len(boxes), np.iinfo(np.int64).min)
    np.minimum.at(born, boxes.piece_box, boxes.steps[boxes.piece_start])
    np.maximum.at(dies, boxes.piece_box, boxes.steps[boxes.piece_end])
    return dies - born


def fresh_state(tables: Tables, limit: int) -> State:
    """A state with nothing placed."""
    count = len(tables.size)
    rows = int(tables.row.max()) + 1
    remaining = np.zeros(rows, np.int64)
    owner = np.repeat(np.arange(count), np.diff(tables.row_at))
    np.add.at(remaining, tables.row, tables.size[owner])
    pool = np.zeros(3 * (count + 2) ** 2, np.int64)
    pool[:count] = np.arange(count)
    return State(
        offset=tables.first.copy(),
        address=np.full(count, -1, np.int64),
        placed=np.zeros(count, np.int64),
        remaining=remaining,
        floor=np.zeros(rows, np.int64),
        part=np.zeros(rows, np.int64),
        keys=np.zeros((3, count), np.int64),
        trail=np.zeros((2, len(tables.near) + count), np.int64),
        pool=pool,
        frames=np.zeros((2 * count + 3, 10), np.int64),
        nodes=np.array([0, limit], np.int64),
    )
