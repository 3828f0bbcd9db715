"""Open shop: whoever is free sends to the free receiver that has most left to receive.

Unicasts of many lengths are an open shop. Serving the ports with most work left first,
cycle by cycle, lets no port idle that need not, where first fit in a fixed order leaves
gaps at the end for those that had to wait for each other.
"""

import numpy as np
from numpy.typing import NDArray

from tiledialect.schedule.compiled import compiled, inner
from tiledialect.schedule.table import Index, Messages

MOST_LOOKS = 1 << 30
"""Messages looked at in the worst case, above which that takes too long."""


@inner
def _sort(tiles: Index, left: Index) -> None:
    """Sort tiles by what they have left, most first; they nearly are."""
    for place in range(1, tiles.size):
        tile = tiles[place]
        while place > 0 and left[tiles[place - 1]] < left[tile]:
            tiles[place] = tiles[place - 1]
            place -= 1
        tiles[place] = tile


@inner
def _choose(
    lines: Index,
    head: Index,
    target: Index,
    slots: Index,
    free: Index,
    left: NDArray[np.float64],
    now: int,
) -> int:
    """The place of the line whose receiver has most left, of equals the one with the
    longest message ahead; -1 if no receiver is free."""
    best = -1
    for place in range(lines.size):
        message = head[lines[place]]
        if free[target[message]] > now:
            continue
        if best >= 0:
            other = head[lines[best]]
            ahead = left[target[message]] - left[target[other]]
            if ahead < 0 or (ahead == 0 and slots[message] <= slots[other]):
                continue
        best = place
    return best


@inner
def _next(free: Index, now: int) -> int:
    """The first time after now at which a port becomes free, or the latest of all."""
    first = np.iinfo(np.int64).max
    for time in free:
        if now < time < first:
            first = time
    return first


@compiled
def _serve(
    source: Index,
    target: Index,
    slots: Index,
    head: Index,
    stop: Index,
    first: Index,
    send_left: Index,
    receive_left: NDArray[np.float64],
    start: Index,
) -> None:
    """Write the start of each message, in slots.

    Messages are sorted by sender, then receiver: those of both are a line, messages
    head[line]:stop[line], and lines first[tile]:first[tile + 1] are those of a tile.
    """
    size = first.size - 1
    tiles, lines = np.arange(size), np.arange(head.size)
    end = first[1:].copy()
    send_free, receive_free = np.zeros(size, np.int64), np.zeros(size, np.int64)
    left = source.size
    now = 0
    while left > 0:
        _sort(tiles, send_left)
        for tile in tiles:
            if send_free[tile] > now or end[tile] == first[tile]:
                continue
            some = lines[first[tile] : end[tile]]
            place = _choose(some, head, target, slots, receive_free, receive_left, now)
            if place < 0:
                continue
            line = some[place]
            message = head[line]
            head[line] += 1
            if head[line] == stop[line]:
                end[tile] -= 1
                some[place] = lines[end[tile]]
            start[message] = now
            until = now + slots[message]
            send_free[tile] = receive_free[target[message]] = until
            send_left[tile] -= slots[message]
            receive_left[target[message]] -= slots[message]
            left -= 1
        now = min(_next(send_free, now), _next(receive_free, now))


def open_shop(messages: Messages, latency: Index) -> Index | None:
    """(n,) starts of unicasts; None where that would take too long. A receiver's
    latency counts as work that it has left."""
    tiles = messages.tiles
    quantum = int(np.gcd.reduce(messages.words))
    # of those with one sender and one receiver the longest first
    order = np.lexsort((-messages.words, messages.targets(), messages.source))
    source, target = messages.source[order], messages.targets()[order]
    slots = messages.words[order] // quantum
    fresh = np.append(True, (source[1:] != source[:-1]) | (target[1:] != target[:-1]))
    head = np.flatnonzero(fresh)
    lines = np.bincount(source[head], minlength=tiles)
    if int((np.bincount(source, minlength=tiles) * lines).sum()) > MOST_LOOKS:
        return None
    found = np.zeros(slots.size, np.int64)
    _serve(
        source,
        target,
        slots,
        head.copy(),
        np.append(head[1:], source.size),
        np.append(0, np.cumsum(lines)),
        np.bincount(source, slots, tiles).astype(np.int64),
        np.bincount(target, slots, tiles) + latency / quantum,
        found,
    )
    start = np.empty_like(found)
    start[order] = found * quantum
    return start
