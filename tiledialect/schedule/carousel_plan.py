"""One carousel: which words of an item are on the air when, and who hears them.

The axis are the slots in which the item's sender is free. A word's slots on it are the
same modulo the carousel's length, but for words sent anew to those who miss them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiledialect.schedule.compiled import inlined
from tiledialect.schedule.table import Index

Flags = NDArray[np.bool_]

LENGTHS = 6
"""Lengths tried for each of them."""

STRETCHES = 5
"""In which a receiver hears a carousel, if it is never free for all of it."""


class Desk(NamedTuple):
    """Where one item is planned: r receivers, and those slots that its sender has."""

    axis: Index
    """(slots,) when they are."""
    run: Index
    """(r, slots) for how many slots on end the receiver is free, from each on."""
    most: Index
    """(r,) the greatest of them."""
    word: Index
    """(slots,) of the carousel, on the air there or to be."""
    sent: Flags
    """(slots,) it is on the air."""
    heard: Flags
    """(r, slots) the receiver hears it."""
    tuned: Flags
    """(r,) the receiver hears all words in one go."""
    edge: Flags
    """(slots,) some such receiver begins there, or has ended."""
    missing: Flags
    """(words,) what a receiver has not heard yet."""


def desk_for(receivers: int, slots: int) -> Desk:
    """Room for items of up to so many receivers."""
    of_slots, of_receivers = np.zeros((2, slots + 1), np.int64), (receivers, slots + 1)
    flags = np.zeros((3, slots + 1), np.bool_)
    return Desk(
        of_slots[0],
        np.zeros(of_receivers, np.int64),
        np.zeros(receivers, np.int64),
        of_slots[1],
        flags[0],
        np.zeros(of_receivers, np.bool_),
        np.zeros(receivers, np.bool_),
        flags[1],
        flags[2],
    )


@inlined
def sender_slots(busy: Flags, sender: int, last: int, desk: Desk) -> int:
    """Lay out the axis: the sender's free slots before `last`; how many."""
    count = 0
    for slot in range(last):
        if not busy[sender, slot]:
            desk.axis[count] = slot
            count += 1
    return count


@inlined
def free_runs(
    busy: Flags, row: int, end: int, desk: Desk, receiver: int, slots: int
) -> None:
    """Fill in when one receiver is free, which must have heard all before `end`."""
    length = 0
    most = 0
    for k in range(slots - 1, -1, -1):
        length += 1
        if desk.axis[k] >= end or busy[row, desk.axis[k]]:
            length = 0
        desk.run[receiver, k] = length
        most = max(most, length)
    desk.most[receiver] = most


@inlined
def _next_length(desk: Desk, size: int, left: int, tried: int, rising: bool) -> int:
    """Of the receivers' longest runs, cut to what is left, the one next to `tried` in
    rising or falling order, the first if that is 0; 0 if there is no more."""
    found = 0
    for i in range(size):
        length = min(int(desk.most[i]), left)
        due = length > 0 and (
            tried == 0 or (length != tried and (length > tried) == rising)
        )
        if due and (found == 0 or (length < found) == rising):
            found = length
    return found


@inlined
def _best_slot(desk: Desk, size: int, slots: int, length: int, base: int) -> int:
    """The slot at which most others can tune in for all words, or -1."""
    best = -1
    top = 0
    for k in range(slots - length + 1):
        score = 0
        for i in range(size):
            if not desk.tuned[i] and desk.run[i, k] >= length:
                score += 4
        if score > 0 and base >= 0:
            # words that begin or end where others do need no cut
            if (k - base) % length == 0:
                score += 2
            elif desk.edge[k]:
                score += 1
        if score > top:
            top = score
            best = k
    return best


@inlined
def _clear(desk: Desk, size: int, slots: int) -> None:
    """Nothing is on the air, and nobody listens."""
    for k in range(slots + 1):
        desk.sent[k] = False
        desk.edge[k] = False
    for i in range(size):
        desk.tuned[i] = False
        for k in range(slots):
            desk.heard[i, k] = False


@inlined
def _tune_in(desk: Desk, size: int, slots: int, length: int) -> bool:
    """Let those who are free for a whole carousel tune in, at as few slots as may be.

    False if nobody is. A word's slots are the same modulo `length`.
    """
    _clear(desk, size, slots)
    base = -1
    while True:
        best = _best_slot(desk, size, slots, length, base)
        if best < 0:
            break
        if base < 0:
            base = best
        desk.edge[best] = True
        desk.edge[best + length] = True
        for i in range(size):
            if not desk.tuned[i] and desk.run[i, best] >= length:
                desk.tuned[i] = True
                for k in range(best, best + length):
                    desk.heard[i, k] = True
        for k in range(best, best + length):
            desk.sent[k] = True
    for k in range(slots):
        desk.word[k] = (k - base) % length
    return base >= 0


@inlined
def _longest_gap(desk: Desk, length: int) -> tuple[int, int]:
    """The first of the longest stretch of missing words, and how many they are."""
    gap = 0
    first = 0
    many = 0
    for word in range(length):
        many = many + 1 if desk.missing[word] else 0
        if many > gap:
            gap = many
            first = word - many + 1
    return first, gap


@inlined
def _best_stretch(desk: Desk, receiver: int, slots: int, gap: int) -> tuple[int, int]:
    """Where a receiver hears most of what it misses: the first slot, and how many;
    these are counted below 0 if up to `gap` words are to be sent there anew."""
    run, heard = desk.run[receiver], desk.heard[receiver]
    top = 0
    begin = 0
    best = 0
    on_air = 0
    shared = 0
    silent = 0
    for k in range(slots):
        free = run[k] > 0 and not heard[k]
        follows = k > 0 and run[k - 1] > 1
        if not free or not desk.missing[desk.word[k]]:
            on_air = 0
        elif on_air > 0 and follows and desk.word[k] == desk.word[k - 1] + 1:
            on_air += 1
        else:
            on_air = 1
        shared = shared if on_air > 1 else 0
        if on_air > 0 and desk.sent[k]:
            # what others hear costs the sender nothing
            shared += 1
        if 2 * on_air + 4 * shared > top:
            top = 2 * on_air + 4 * shared
            begin = k - on_air + 1
            best = on_air
        if not free or desk.sent[k]:
            silent = 0
        else:
            silent = silent + 1 if follows and silent < gap else 1
        if 2 * silent - 1 > top:
            top = 2 * silent - 1
            begin = k - silent + 1
            best = -silent
    return begin, best


@inlined
def _catch_up(desk: Desk, receiver: int, slots: int, length: int) -> bool:
    """Let one receiver hear all words in a few stretches; False: it cannot."""
    for word in range(length):
        desk.missing[word] = True
    left = length
    for _ in range(STRETCHES):
        first, gap = _longest_gap(desk, length)
        begin, best = _best_stretch(desk, receiver, slots, gap)
        for k in range(begin, begin + abs(best)):
            if best < 0:
                desk.word[k] = first + k - begin
            desk.sent[k] = True
            desk.heard[receiver, k] = True
            desk.missing[desk.word[k]] = False
        left -= abs(best)
        if left == 0 or best == 0:
            break
    return left == 0


@inlined
def extra_slots(desk: Desk, slots: int, length: int) -> int:
    """Slots that the sender takes besides one for each word."""
    count = -length
    for k in range(slots):
        if desk.sent[k]:
            count += 1
    return count


@inlined
def _all_at_once(desk: Desk, size: int, slots: int, left: int) -> int:
    """The longest piece of what is left that all receivers can hear in one send."""
    length = 0
    begin = 0
    for k in range(slots):
        common = left
        for i in range(size):
            common = min(common, int(desk.run[i, k]))
        if common > length:
            length = common
            begin = k
    for k in range(slots):
        desk.word[k] = k - begin
        desk.sent[k] = begin <= k < begin + length
        for i in range(size):
            desk.heard[i, k] = desk.sent[k]
    return length


@inlined
def plan_carousel(
    desk: Desk, size: int, slots: int, left: int, spare: int, rising: bool
) -> int:
    """Plan one carousel for what is left of an item; its length, 0 if none goes."""
    length = 0
    for _ in range(LENGTHS):
        length = _next_length(desk, size, left, length, rising)
        if length == 0:
            break
        complete = _tune_in(desk, size, slots, length)
        for i in range(size):
            if complete and not desk.tuned[i]:
                complete = _catch_up(desk, i, slots, length)
        if complete and extra_slots(desk, slots, length) <= spare:
            return length
    return _all_at_once(desk, size, slots, left)
