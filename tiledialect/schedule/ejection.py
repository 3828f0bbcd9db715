"""Repair: fit late messages before a deadline by moving others out of their way.

Each late message takes the slots before its deadline that put out the least weight of
others; those are late then and wait their turn. A message grows heavier each time it
is put out, so that no cycle lasts.
"""

import numpy as np
from numpy.typing import NDArray

from tiledialect.schedule.compiled import compiled, inner
from tiledialect.schedule.table import Index, Messages, port_rows

Owner = NDArray[np.int32]
"""(2 * tiles, slots) the message that holds a slot of a port, or -1."""

LARGEST_TABLE = 48 << 20
"""Slots of all ports together, above which a phase is not repaired."""

SLOTS_A_MOVE = 1024
"""A move that looks at more slots of ports than this counts as several."""

ATTEMPTS = 4
"""The moves are enough for so many attempts that fail."""

SMALLEST_STEP = 256
"""No attempt is made to gain less than the bound over this."""


@inner
def _add_price(
    owner: Owner, row: int, width: int, last: int, weight: Index, price: Index
) -> None:
    """Add, for each start up to `last`, the weight of those who hold its slots."""
    total = 0
    before = -1
    for slot in range(last + width):
        holder = int(owner[row, slot])
        if holder >= 0 and holder != before:
            total += weight[holder]
        before = holder
        begin = slot - width + 1
        if begin >= 0:
            price[begin] += total
            leaver = int(owner[row, begin])
            following = -1 if begin == slot else int(owner[row, begin + 1])
            if leaver >= 0 and leaver != following:
                total -= weight[leaver]
                before = following if width == 1 else before


@inner
def _cheapest(price: Index, last: int, seed: int) -> int:
    """The first free start up to `last`, or any one of the cheapest."""
    best = 0
    ties = 1
    for begin in range(last + 1):
        if price[begin] < price[best]:
            best = begin
            ties = 1
        elif price[begin] == price[best] and price[best] > 0:
            ties += 1
            seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
            if (seed >> 8) % ties == 0:
                best = begin
    return best


@compiled
def _settle(
    owner: Owner,
    late: Index,
    count: int,
    start: Index,
    slots: Index,
    latest: Index,
    weight: Index,
    first_row: Index,
    rows: Index,
    moves: int,
) -> tuple[int, int]:
    """Place late messages until none is left or the moves are spent.

    `late` is a ring that holds `count` messages. One that has a start already is only
    entered in the table. The ports of a message are rows[first_row[message]:] up to
    those of the next. Returns how many are still late, their start being -1, and the
    moves left.
    """
    price = np.empty(owner.shape[1], np.int64)
    head = 0
    while count > 0 and moves > 0:
        message = int(late[head])
        head = (head + 1) % late.size
        count -= 1
        width = int(slots[message])
        ports = range(first_row[message], first_row[message + 1])
        begin = int(start[message])
        if begin < 0:
            last = int(latest[message])
            moves -= 1 + last * len(ports) // SLOTS_A_MOVE
            for slot in range(last + 1):
                price[slot] = 0
            for port in ports:
                _add_price(owner, int(rows[port]), width, last, weight, price)
            begin = _cheapest(price, last, moves)
        for port in ports:
            for slot in range(begin, begin + width):
                other = int(owner[rows[port], slot])
                if other >= 0:
                    _put_out(owner, other, start, slots, first_row, rows)
                    weight[other] += slots[other]
                    late[(head + count) % late.size] = other
                    count += 1
                owner[rows[port], slot] = message
        start[message] = begin
    return count, moves


@inner
def _put_out(
    owner: Owner,
    message: int,
    start: Index,
    slots: Index,
    first_row: Index,
    rows: Index,
) -> None:
    """Take a message out of the table."""
    begin = int(start[message])
    for port in range(first_row[message], first_row[message + 1]):
        for slot in range(begin, begin + slots[message]):
            owner[rows[port], slot] = -1
    start[message] = -1


def repair(
    messages: Messages,
    start: Index,
    farthest: Index,
    bound: int,
    good: int,
    moves: int,
) -> tuple[Index, int]:
    """Starts of a schedule no longer than the one given, and the moves left.

    `start` are multiples of the common divisor of all lengths, and `farthest` (n,) is
    the greatest latency among a message's receivers. The length is
    brought towards the bound by halves, a failure counting as a bound; the end is when
    it is at most `good` or the halves are small.
    """
    share = moves // ATTEMPTS
    length = messages.slots
    end = start + length + farthest
    quantum = int(np.gcd.reduce(length))
    horizon = int(end.max()) // quantum + 1
    if 2 * messages.tiles * horizon > LARGEST_TABLE:
        return start, moves
    table = np.empty((2 * messages.tiles, horizon), np.int32)
    ports = port_rows(messages)
    slots = length // quantum
    low = bound
    while moves > 0 and end.max() > max(good, low + bound // SMALLEST_STEP):
        target = max(good, (low + int(end.max())) // 2)
        placed = np.where(end <= target, start // quantum, -1)
        table[:] = -1
        late, rest = _settle(
            table,
            np.argsort(placed < 0, kind="stable"),
            messages.count,
            placed,
            slots,
            (target - farthest - length) // quantum,
            slots.copy(),
            *ports,
            min(share, moves),
        )
        moves -= min(share, moves) - rest
        if late:
            low = target
        else:
            start = placed * quantum
            end = start + length + farthest
    return start, moves
