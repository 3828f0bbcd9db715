"""Carousels: a sender repeats its words in a circle, and receivers tune in when free.

For phases of few long multicasts, whose receivers have less time than their senders.
A carousel of m words may go on for as long as the sender has time; a receiver that is
free for m cycles on end hears all of them, wherever it begins. One that never is hears
what is on the air in its longest free times, and the rest on its own. Where not even
that does, the message goes out in shorter carousels one after the other, or, if its
sender has no time for more, once in pieces that all receivers are free for.

Senders that have no time to send all twice come first, as nothing can mend what is in
their way. Every send that results is one stretch of words to those who hear it.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from tiledialect.schedule.bounds import Loads
from tiledialect.schedule.carousel_plan import (
    Desk,
    Flags,
    desk_for,
    extra_slots,
    free_runs,
    plan_carousel,
    sender_slots,
)
from tiledialect.schedule.compiled import compiled, inlined
from tiledialect.schedule.table import Index, Messages, endpoints, multicasts

PARTS = 4
"""Carousels of a message one after the other, at most."""


@inlined
def _continues(desk: Desk, size: int, k: int) -> bool:
    """The slot goes on with the send of the one before, to the same receivers."""
    same = desk.sent[k] and desk.word[k] == desk.word[k - 1] + 1
    same = same and desk.axis[k] == desk.axis[k - 1] + 1
    for i in range(size):
        same = same and desk.heard[i, k] == desk.heard[i, k - 1]
    return bool(same)


@inlined
def _book(
    desk: Desk,
    slots: int,
    busy: Flags,
    sender: int,
    receivers: Index,
    sends: Index,
    members: Index,
    count: int,
) -> int:
    """Enter what is on the air as sends (offset, length, start, end of members) and
    mark its ports; how many sends there are then."""
    tiles = busy.shape[0] // 2
    k = 0
    while k < slots:
        if not desk.sent[k]:
            k += 1
            continue
        begin = k
        k += 1
        while k < slots and _continues(desk, receivers.size, k):
            k += 1
        written = int(sends[4, count - 1]) if count > 0 else 0
        for i in range(receivers.size):
            if desk.heard[i, begin]:
                members[written] = receivers[i]
                written += 1
                for slot in range(begin, k):
                    busy[tiles + receivers[i], desk.axis[slot]] = True
        for slot in range(begin, k):
            busy[sender, desk.axis[slot]] = True
        sends[1, count] = desk.word[begin]
        sends[2, count] = k - begin
        sends[3, count] = desk.axis[begin]
        sends[4, count] = written
        count += 1
    return count


@compiled
def _send_all(
    order: Index,
    rising: bool,
    busy: Flags,
    spare: Index,
    source: Index,
    words: Index,
    first: Index,
    tile: Index,
    end: Index,
    desk: Desk,
    sends: Index,
    members: Index,
) -> int:
    """Send all items; how many sends that is, or -1 if one of them finds no time.

    The receivers of an item are tile[first[item]:], until those of the next; `end` is
    the slot by which each must have heard it. Columns of `sends`: item, offset,
    length, start, end of its receivers in `members`.
    """
    count = 0
    for item in order:
        sender = int(source[item])
        begin, size = int(first[item]), int(first[item + 1] - first[item])
        receivers = tile[begin : begin + size]
        left = int(words[item])
        for _ in range(PARTS):
            last = 0
            for i in range(size):
                last = max(last, int(end[begin + i]))
            slots = sender_slots(busy, sender, last, desk)
            for i in range(size):
                row = busy.shape[0] // 2 + receivers[i]
                free_runs(busy, row, int(end[begin + i]), desk, i, slots)
            length = plan_carousel(desk, size, slots, left, int(spare[sender]), rising)
            spare[sender] -= extra_slots(desk, slots, length)
            done = count
            count = _book(desk, slots, busy, sender, receivers, sends, members, count)
            for i in range(done, count):
                sends[0, i] = item
                sends[1, i] += words[item] - left
            left -= length
            if left == 0 or length == 0:
                break
        if left > 0:
            return -1
    return count


@dataclass(frozen=True)
class Airing:
    """Sends of parts of items: words [offset, offset + words) of an item each."""

    messages: Messages
    item: Index
    offset: Index
    start: Index


class Carousels:
    """The multicasts of a phase, to be sent as carousels within a target."""

    def __init__(self, items: Messages, latency: Index, load: Loads) -> None:
        self.items = items
        self.latency = latency
        self.load = load
        self.quantum = int(np.gcd.reduce(items.words))
        self.slots = items.words // self.quantum
        self.first = np.append(0, np.cumsum(items.fan_out))
        _, self.tile = endpoints(items)

    def within(self, target: int) -> Airing | None:
        """The one with the fewest sends of a few that are over by a cycle, or None."""
        found = [
            airing
            for backward, rising in product((False, True), repeat=2)
            if (airing := self._send(target, self._order(target, backward), rising))
        ]
        return min(found, key=lambda airing: airing.start.size, default=None)

    def _order(self, target: int, backward: bool) -> Index:
        """First what its sender has no time to send twice, then long items."""
        items, load = self.items, self.load
        place = np.arange(items.count)
        twice = (load.sent + load.send_bound <= target)[items.source]
        return np.lexsort(
            (
                -place if backward else place,
                np.where(twice, -items.words, -items.fan_out),
                twice,
            )
        )

    def _send(self, target: int, order: Index, rising: bool) -> Airing | None:
        """What that order gives, or None if some item finds no time."""
        items = self.items
        end = (target - self.latency[self.tile]) // self.quantum
        if end.min() <= 0:
            return None
        spare = (target - self.load.send_bound) // self.quantum
        words = int((self.slots * items.fan_out).sum())
        sends = np.zeros((5, words), np.int64)
        members = np.zeros(words, np.int64)
        count = _send_all(
            order,
            rising,
            np.zeros((2 * items.tiles, int(end.max())), np.bool_),
            spare,
            items.source,
            self.slots,
            self.first,
            self.tile,
            end,
            desk_for(int(items.fan_out.max()), int(end.max())),
            sends,
            members,
        )
        if count < 0:
            return None
        item, offset, length, start, last = sends[:, :count]
        messages = multicasts(
            items.tiles,
            items.source[item],
            length * self.quantum,
            np.append(0, last),
            members[: last[-1]],
        )
        return Airing(messages, item, offset * self.quantum, start * self.quantum)
