"""Repair: fit late messages before a deadline by moving others out of their way.

Each late message takes the slots before its deadline that put out the least weight of
others; those are late then and wait their turn. A message grows heavier each time it
is put out, so that no cycle lasts.
"""

import numpy as np
from numpy.typing import NDArray

from tiledialect.schedule.compiled import compiled
from tiledialect.schedule.table import Index, Messages

Owner = NDArray[np.int32]
"""(2 * tiles, slots) the message that holds a slot of a port, or -1."""

LARGEST_TABLE = 48 << 20
"""Slots of all ports together, above which a phase is not repaired."""

SLOTS_A_MOVE = 512
"""A move that looks at more slots than this counts as several."""

ROUNDS = 8
"""Targets tried, each twice as far above the bound as the one before."""


@compiled
def _ports(
    message: int,
    source: Index,
    destinations: Index,
    set_start: Index,
    set_tiles: Index,
    rows: Index,
) -> int:
    """Write the rows of a message's ports; how many there are."""
    tiles = rows.size - 1
    index = int(destinations[message])
    begin = int(set_start[index])
    count = int(set_start[index + 1]) - begin
    rows[0] = source[message]
    for i in range(count):
        rows[i + 1] = tiles + set_tiles[begin + i]
    return count + 1


@compiled
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


@compiled
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
    source: Index,
    destinations: Index,
    set_start: Index,
    set_tiles: Index,
    moves: int,
) -> tuple[int, int]:
    """Place late messages until none is left or the moves are spent.

    `late` is a ring that holds `count` messages. One that has a start already is only
    entered in the table. Returns how many are still late, their start being -1, and
    the moves left.
    """
    rows = np.empty(owner.shape[0] // 2 + 1, np.int64)
    others = np.empty(owner.shape[0] // 2 + 1, np.int64)
    price = np.empty(owner.shape[1], np.int64)
    head = 0
    while count > 0 and moves > 0:
        message = int(late[head])
        head = (head + 1) % late.size
        count -= 1
        width = int(slots[message])
        ports = _ports(message, source, destinations, set_start, set_tiles, rows)
        begin = int(start[message])
        if begin < 0:
            last = int(latest[message])
            moves -= 1 + last * ports // (2 * SLOTS_A_MOVE)
            for slot in range(last + 1):
                price[slot] = 0
            for i in range(ports):
                _add_price(owner, int(rows[i]), width, last, weight, price)
            begin = _cheapest(price, last, moves)
        for i in range(ports):
            for slot in range(begin, begin + width):
                other = int(owner[rows[i], slot])
                if other >= 0:
                    size = _ports(
                        other, source, destinations, set_start, set_tiles, others
                    )
                    first = int(start[other])
                    for j in range(size):
                        for place in range(first, first + slots[other]):
                            owner[others[j], place] = -1
                    start[other] = -1
                    weight[other] += slots[other]
                    late[(head + count) % late.size] = other
                    count += 1
                owner[rows[i], slot] = message
        start[message] = begin
    return count, moves


def repair(
    messages: Messages,
    start: Index,
    farthest: Index,
    bound: int,
    gap: int,
    moves: int,
) -> tuple[Index, int]:
    """Starts of a schedule no longer than the one given, and the moves left.

    `farthest` (n,) is the greatest latency among a message's receivers. The first
    target is `gap` above the bound; when a round's share of the moves does not do, the
    gap doubles.
    """
    quantum = int(np.gcd.reduce(messages.words))
    slots = messages.words // quantum
    end = start + messages.words + farthest
    length = int(end.max())
    horizon = length // quantum + 1
    share = moves // ROUNDS
    if share < 1 or 2 * messages.tiles * horizon > LARGEST_TABLE:
        return start, moves
    target = bound + gap
    owner = np.full((2 * messages.tiles, horizon), -1, np.int32)
    weight = slots.copy()
    placed = np.where(end <= target, start // quantum, -1)
    late = np.argsort(placed < 0, kind="stable")
    count = messages.count
    for _ in range(ROUNDS):
        latest = (target - farthest - messages.words) // quantum
        count, rest = _settle(
            owner,
            late,
            count,
            placed,
            slots,
            latest,
            weight,
            messages.source,
            messages.destinations,
            messages.set_start,
            messages.set_tiles,
            share,
        )
        moves -= share - rest
        if count == 0:
            return placed * quantum, moves
        late[:count] = np.flatnonzero(placed < 0)
        gap += max(gap, 1)
        target = bound + gap
        if target >= length:
            break
    return start, moves
