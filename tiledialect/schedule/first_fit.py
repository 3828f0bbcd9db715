"""First fit: each message, in a given order, at the first slot free on all its ports.

Gaps left by earlier messages are filled. Ports are bitmaps (`ports.py`); a slot is
`quantum` cycles.
"""

import numpy as np

from tiledialect.schedule.compiled import compiled
from tiledialect.schedule.ports import Bits, earliest, take
from tiledialect.schedule.table import Index, Messages, port_rows

LONGEST_BITMAP_SLOTS = 1 << 19
"""Above this many slots a phase is scheduled in slots of several cycles."""


@compiled
def _place(
    order: Index,
    position: int,
    busy: Bits,
    full: Index,
    first_row: Index,
    rows: Index,
    slots: Index,
    start: Index,
) -> int:
    """Place messages order[position:]; the position at which the bitmaps ended."""
    while position < order.size:
        message = int(order[position])
        first, end = int(first_row[message]), int(first_row[message + 1])
        width = int(slots[message])
        slot = int(start[message])
        if slot < 0:
            slot = earliest(busy, full, rows, first, end, width)
            if slot < 0:
                break
        start[message] = slot
        for i in range(first, end):
            take(busy, full, int(rows[i]), slot, width)
        position += 1
    return position


def quantum_of(words: Index, longest: int) -> int:
    """Cycles a slot: the common divisor of all lengths, more if the phase is long."""
    quantum = int(np.gcd.reduce(words))
    while longest // quantum > LONGEST_BITMAP_SLOTS:
        quantum *= 2
    return quantum


def first_fit(
    messages: Messages, order: Index, longest: int, fixed: Index | None = None
) -> Index:
    """The start of each message; `longest` is the greatest load of a port in words.

    Where `fixed` (n,) is not negative, it is the message's start; such messages come
    first in `order`.
    """
    quantum = quantum_of(messages.words, longest) if fixed is None else 1
    slots = -(-messages.words // quantum)
    width = (longest // quantum * 9 // 8 + int(slots.max())) // 64 + 2
    if fixed is not None:
        width += int((fixed + slots).max()) // 64
    start = np.full(messages.count, -1) if fixed is None else fixed.copy()
    busy = np.zeros((2 * messages.tiles, width), np.uint64)
    full = np.zeros(2 * messages.tiles, np.int64)
    first_row, rows = port_rows(messages)
    position = 0
    while True:
        position = _place(
            order,
            position,
            busy,
            full,
            first_row,
            rows,
            slots,
            start,
        )
        if position == order.size:
            return start * quantum
        more = busy.shape[1] + int(slots.max()) // 64 + 1
        busy = np.concatenate(
            [busy, np.zeros((2 * messages.tiles, more), np.uint64)], axis=1
        )
