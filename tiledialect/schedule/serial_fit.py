"""The compiled first fit of `serial.py`: ports that are taken later than they are
looked at, or earlier, are bitmaps as in `ports.py`."""

import numpy as np

from tiledialect.schedule.compiled import compiled
from tiledialect.schedule.first_fit import LONGEST_BITMAP_SLOTS
from tiledialect.schedule.ports import Bits, earliest, take
from tiledialect.schedule.table import Index

Checked = tuple[Index, Index]
"""Where the ports of each item begin, and the ports: free during the item's cycles."""

Marked = tuple[Index, Index, Index]
"""The same for the ports that an item takes, and how much later it does, in cycles."""


@compiled
def _place(
    order: Index,
    position: int,
    slots: Index,
    quantum: int,
    busy: Bits,
    full: Index,
    check_first: Index,
    check_row: Index,
    mark_first: Index,
    mark_row: Index,
    mark_shift: Index,
    start: Index,
) -> int:
    """Place items order[position:]; the position at which the bitmaps ended.

    A port taken for some cycles of a slot is taken for all of the slot.
    """
    last = busy.shape[1] * 64
    while position < order.size:
        item = int(order[position])
        width = int(slots[item])
        first, end = int(check_first[item]), int(check_first[item + 1])
        slot = earliest(busy, full, check_row, first, end, width)
        if slot < 0:
            return position
        for i in range(int(mark_first[item]), int(mark_first[item + 1])):
            shift = int(mark_shift[i])
            if slot + width + shift // quantum + 1 > last:
                return position
        start[item] = slot
        for i in range(int(mark_first[item]), int(mark_first[item + 1])):
            shift = int(mark_shift[i])
            low = slot + shift // quantum
            high = slot + width - (-shift) // quantum
            low = max(low, 0)
            if high > low:
                take(busy, full, int(mark_row[i]), low, high - low)
        position += 1
    return position


def fitted(
    order: Index, words: Index, rows: int, checked: Checked, marked: Marked
) -> Index:
    """The start of each item, in cycles, by a first fit in the order given."""
    first, row = checked
    longest = int(np.bincount(row, np.repeat(words, np.diff(first))).max())
    quantum = -(-longest // LONGEST_BITMAP_SLOTS)
    slots = -(-words // quantum)
    busy = np.zeros((rows, longest // quantum // 48 + 4), np.uint64)
    full = np.zeros(rows, np.int64)
    start = np.zeros(words.size, np.int64)
    position = 0
    while True:
        position = _place(
            order, position, slots, quantum, busy, full, *checked, *marked, start
        )
        if position == order.size:
            return start * quantum
        busy = np.concatenate([busy, np.zeros_like(busy)], axis=1)
