"""Split sending: a multicast goes out in turns, each to the receivers free just then.

For each message, in a given order: find the slot at which the sender and most of the
receivers are free, send to those, and go on with the rest. Receivers are closed after
their deadline. Pays where tiles receive much more than they send.
"""

import numpy as np

from tiledialect.schedule.compiled import compiled, inner
from tiledialect.schedule.first_fit import FirstFit
from tiledialect.schedule.levels import Sends
from tiledialect.schedule.ports import ALL, ONE, ZERO, Bits, low_zeros, take
from tiledialect.schedule.table import Index, Messages, multicasts

PLANES = 32
"""Bits of a count of receivers."""

MOST_LATE = 20
"""Turns tried in vain: at most one in this many."""


@inner
def _begins(busy: Bits, width: int, into: Bits) -> None:
    """Mark where `width` free slots begin in one row of `busy`."""
    for word in range(busy.size):
        into[word] = ~busy[word]
    have = 1
    while have < width:
        shift = min(have, width - have)
        words, bits = shift // 64, np.uint64(shift % 64)
        for word in range(into.size):
            later = ZERO
            if word + words < into.size:
                later = into[word + words] >> bits
            if bits > ZERO and word + words + 1 < into.size:
                later |= into[word + words + 1] << (np.uint64(64) - bits)
            into[word] &= later
        have += shift


@inner
def _most(sender: Bits, begins: Bits, waiting: Index, count: int, planes: Bits) -> int:
    """The first slot open to the sender and to most waiting receivers, or -1."""
    best = -1
    most = 0
    for word in range(sender.size):
        if sender[word] == ZERO:
            continue
        high = 0
        for i in range(count):
            carry = begins[waiting[i], word] & sender[word]
            plane = 0
            while carry != ZERO:
                if plane == high:
                    planes[plane] = ZERO
                    high += 1
                both = planes[plane] & carry
                planes[plane] ^= carry
                carry = both
                plane += 1
        slots = ALL
        number = 0
        for plane in range(high - 1, -1, -1):
            if slots & planes[plane] != ZERO:
                slots &= planes[plane]
                number |= 1 << plane
        if number > most:
            most = number
            best = word * 64 + low_zeros(slots)
            if most == count:
                break
    return best


@compiled
def _send_in_turns(
    order: Index,
    busy: Bits,
    full: Index,
    source: Index,
    slots: Index,
    destinations: Index,
    set_start: Index,
    set_tiles: Index,
    turn_message: Index,
    turn_start: Index,
    turn_size: Index,
    turn_tiles: Index,
) -> int:
    """Write each turn's message, start and receivers; a start of -1: none fits."""
    tiles = busy.shape[0] // 2
    begins = np.empty((tiles, busy.shape[1]), np.uint64)
    sender = np.empty(busy.shape[1], np.uint64)
    planes = np.empty(PLANES, np.uint64)
    waiting = np.empty(tiles, np.int64)
    turns = 0
    written = 0
    for message in order:
        first = int(set_start[destinations[message]])
        count = int(set_start[destinations[message] + 1]) - first
        width = int(slots[message])
        for i in range(count):
            waiting[i] = i
            _begins(busy[tiles + set_tiles[first + i]], width, begins[i])
        while count > 0:
            _begins(busy[source[message]], width, sender)
            slot = _most(sender, begins, waiting, count, planes)
            left = 0
            for i in range(count):
                tile = int(set_tiles[first + waiting[i]])
                served = slot < 0
                if slot >= 0:
                    word, bit = slot // 64, np.uint64(slot % 64)
                    served = (begins[waiting[i], word] >> bit) & ONE == ONE
                if served:
                    turn_tiles[written] = tile
                    written += 1
                    if slot >= 0:
                        take(busy, full, tiles + tile, slot, width)
                else:
                    waiting[left] = waiting[i]
                    left += 1
            turn_message[turns] = message
            turn_start[turns] = slot
            turn_size[turns] = count - left
            turns += 1
            count = left
            if slot >= 0:
                take(busy, full, int(source[message]), slot, width)
    return turns


def send_in_turns(
    messages: Messages, order: Index, latency: Index, target: int
) -> Sends | None:
    """The messages in turns, over by cycle `target` but for few; None if for many."""
    most = int(messages.fan_out.sum())
    turn_message, turn_start, turn_size, turn_tiles = np.zeros((4, most), np.int64)
    turns = _send_in_turns(
        order,
        _closed(messages.tiles, latency, target),
        np.zeros(2 * messages.tiles, np.int64),
        messages.source,
        messages.words,
        messages.destinations,
        messages.set_start,
        messages.set_tiles,
        turn_message,
        turn_start,
        turn_size,
        turn_tiles,
    )
    item, start = turn_message[:turns], turn_start[:turns]
    if np.count_nonzero(start < 0) * MOST_LATE > turns:
        return None
    sent = multicasts(
        messages.tiles,
        messages.source[item],
        messages.words[item],
        np.append(0, np.cumsum(turn_size[:turns])),
        turn_tiles,
    )
    if (start < 0).any():
        order = np.lexsort((-sent.words, start < 0))
        start = FirstFit(sent, target, 1).starts(order, start)
    return Sends(sent, item, start)


def _closed(tiles: int, latency: Index, target: int) -> Bits:
    """Bitmaps in which each port is taken from its deadline on."""
    slots = np.arange(-(-target // 64) * 64)
    closed = np.concatenate([np.full(tiles, target), target - latency])
    taken = slots >= closed[:, None]
    return np.packbits(taken, axis=1, bitorder="little").view(np.uint64)
