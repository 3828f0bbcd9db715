"""First fit for many boxes, compiled: a scan of what is placed, by address.

Reads   arrays of boxes with lifetimes as pieces, an order.
Writes  addresses, -1 where a box found no place. Element pairs are not handled.

The placed boxes lie in one table sorted by address, so that a box looks at them in
a straight line and stops at the first gap: some seconds for 60,000 boxes, where a
table of neighbours would take gigabytes.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, int64, types, void

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.compiled import inner, outer
from tiledialect.placement.problem import Bools, Ints

BORN, DIES, SIZE, ALIGN, PHASE, FIRST, LAST, PATTERN, PIECE_AT, PIECE_END = range(10)
START, END, FROM, UNTIL, WHO = range(5)  # of a placed box: address, end, life

_LIST, _TABLE = types.Array(int64, 1, "C"), types.Array(int64, 2, "C")
_FLAGS = types.Array(boolean, 2, "C")


@inner(boolean(_TABLE, _TABLE, _FLAGS, int64, int64))
def _meet(box: Ints, pieces: Ints, shared: Bools, one: int, two: int) -> bool:
    """Whether two boxes whose first and last steps overlap are in the way."""
    if not shared[box[one, PATTERN], box[two, PATTERN]]:
        return False
    i, j = box[one, PIECE_AT], box[two, PIECE_AT]
    while i < box[one, PIECE_END] and j < box[two, PIECE_END]:
        if pieces[i, 1] <= pieces[j, 0]:
            i += 1
        elif pieces[j, 1] <= pieces[i, 0]:
            j += 1
        else:
            return True
    return False


@inner(void(_TABLE, int64, int64, int64, int64, int64, int64))
def _insert(
    placed: Ints, count: int, start: int, end: int, born: int, dies: int, who: int
) -> None:
    """Adds a row to the table sorted by address."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if placed[START, middle] <= start:
            low = middle + 1
        else:
            high = middle
    for column in placed:
        for k in range(count, low, -1):
            column[k] = column[k - 1]
    placed[START, low], placed[END, low] = start, end
    placed[FROM, low], placed[UNTIL, low], placed[WHO, low] = born, dies, who


@inner(int64(_TABLE, _TABLE, _FLAGS, _TABLE, int64, int64, boolean, boolean))
def _place_for(
    box: Ints,
    pieces: Ints,
    shared: Bools,
    placed: Ints,
    count: int,
    one: int,
    simple: bool,
    tightest: bool,
) -> int:
    """The lowest place of a box, or that in the tightest gap; -1 where none is."""
    born, dies, size = box[one, BORN], box[one, DIES], box[one, SIZE]
    align, phase, limit = box[one, ALIGN], box[one, PHASE], box[one, LAST]
    where = box[one, FIRST]
    best, spare = -1, np.int64(1) << 62
    for k in range(count):
        # One test instead of three: the branches would be guessed wrong.
        early = (placed[UNTIL, k] <= born) | (placed[FROM, k] >= dies)
        if early | (placed[END, k] <= where):
            continue
        if not simple and not _meet(box, pieces, shared, one, placed[WHO, k]):
            continue
        room = placed[START, k] - where - size
        if 0 <= room < spare and where <= limit:
            best, spare = where, room
            if not tightest:
                return best
        where = placed[END, k]
        if align > 1:
            where += (phase - where) % align
    return where if best < 0 and where <= limit else best


@outer(void(_TABLE, _TABLE, _FLAGS, _LIST, boolean, boolean, _LIST, _TABLE))
def _place_all(
    box: Ints,
    pieces: Ints,
    shared: Bools,
    order: Ints,
    simple: bool,
    tightest: bool,
    address: Ints,
    placed: Ints,
) -> None:
    """Fills `address`; `simple`: one class and no gaps, first and last steps decide.
    `placed` (5, boxes) is for the table."""
    count = 0
    for one in order:
        where = _place_for(box, pieces, shared, placed, count, one, simple, tightest)
        address[one] = where
        if where >= 0:
            end = where + box[one, SIZE]
            _insert(placed, count, where, end, box[one, BORN], box[one, DIES], one)
            count += 1


class Sweep:
    """First fit over any order of one problem's boxes."""

    def __init__(self, boxes: Boxes) -> None:
        order = np.lexsort([boxes.piece_start, boxes.piece_box])
        owner = boxes.piece_box[order]
        self.pieces: Ints = np.stack(
            [boxes.piece_start[order], boxes.piece_end[order]], axis=1
        )
        count = len(boxes)
        at = np.searchsorted(owner, np.arange(count))
        end = np.searchsorted(owner, np.arange(count), side="right")
        kinds, pattern = np.unique(boxes.classes, axis=0, return_inverse=True)
        weights = kinds.astype(np.int64)
        self.shared: Bools = (weights @ weights.T) > 0
        self.simple: bool = len(kinds) == 1 and len(owner) == count
        self.box: Ints = np.stack(
            [
                self.pieces[at, 0],
                self.pieces[end - 1, 1],
                boxes.bytes,
                boxes.align,
                boxes.phase,
                boxes.first,
                boxes.last,
                pattern.astype(np.int64),
                at,
                end,
            ],
            axis=1,
        )

    def place(self, order: Ints, *, tightest: bool = False) -> Ints:
        """The address of each box, -1 where it found no place."""
        address = np.full(len(self.box), -1, np.int64)
        placed = np.empty((5, len(self.box)), np.int64)
        tables = self.box, self.pieces, self.shared
        _place_all(*tables, order, self.simple, tightest, address, placed)
        return address
