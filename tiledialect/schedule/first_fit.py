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


def quantum_of(cycles: Index, longest: int) -> int:
    """Cycles a slot: the common divisor of all lengths, more if the phase is long."""
    quantum = int(np.gcd.reduce(cycles))
    while longest // quantum > LONGEST_BITMAP_SLOTS:
        quantum *= 2
    return quantum


class FirstFit:
    """First fits of one phase, whose bitmaps serve for one order after the other."""

    def __init__(self, messages: Messages, longest: int, quantum: int = 0) -> None:
        """`longest` is about the length to expect; both in cycles, 0: not known."""
        self.quantum = quantum or quantum_of(messages.slots, longest)
        self.slots = -(-messages.slots // self.quantum)
        self.ports = port_rows(messages)
        width = (longest // self.quantum * 9 // 8 + int(self.slots.max())) // 64 + 2
        self.busy = np.zeros((2 * messages.tiles, width), np.uint64)
        self.clean = True

    def starts(self, order: Index, fixed: Index | None = None) -> Index:
        """The start of each message.

        Where `fixed` (n,) is not negative, it is the message's start, a multiple of the
        quantum; such messages come first in `order`.
        """
        if not self.clean:
            self.busy[:] = 0
        self.clean = False
        start = np.full(self.slots.size, -1)
        if fixed is not None:
            start = fixed // self.quantum
            assert not (fixed[start >= 0] % self.quantum).any()
            self._widen(int((start + self.slots).max()))
        full = np.zeros(self.busy.shape[0], np.int64)
        position = 0
        while True:
            position = _place(
                order, position, self.busy, full, *self.ports, self.slots, start
            )
            if position == order.size:
                return start * self.quantum
            self._widen(self.busy.shape[1] * 128 + int(self.slots.max()))

    def _widen(self, slots: int) -> None:
        """Let the bitmaps have at least so many slots."""
        more = slots // 64 + 1 - self.busy.shape[1]
        if more > 0:
            empty = np.zeros((self.busy.shape[0], more), np.uint64)
            self.busy = np.concatenate([self.busy, empty], axis=1)


def first_fit(messages: Messages, order: Index, longest: int) -> Index:
    """The start of each message by one first fit."""
    return FirstFit(messages, longest).starts(order)
