"""Doubled messages: two words a cycle, on the lanes of a pair of tiles, to whole pairs.

Tiles 2i and 2i + 1 are a pair. A message that may be doubled is cut by receivers: the
whole pairs of its set but the sender's own get it doubled, the others as it was. What
each receiver gets at best bounds the phase, whoever is sent what in the end.

Where tiles gather what they all have, a pair receives nothing while it sends to all
others, and then has to send inside of itself. In a ring the next pair is sent to apart:
that has time to do so then, and gets its words while it sends itself.
"""

from dataclasses import dataclass, replace

import numpy as np

from tiledialect.schedule.bounds import Loads, loads
from tiledialect.schedule.table import (
    Flags,
    Index,
    Messages,
    endpoints,
    take_sets,
    used_sets,
)


@dataclass(frozen=True)
class Parts:
    """Messages cut by receivers. Part i has all words of message `origin[i]`; `asked`
    are the messages, marked as doubled where every receiver gets them so."""

    messages: Messages
    origin: Index
    asked: Messages

    def uncut(self) -> "Parts | None":
        """Only those messages doubled that need no cut; None if none or all are."""
        double = self.asked.double
        assert double is not None
        if self.origin.size == self.asked.count or not double.any():
            return None
        return Parts(self.asked, np.arange(self.asked.count), self.asked)

    def in_ring(self) -> "Parts | None":
        """Doubled messages whose senders hear of them too are sent to the next pair
        apart, if there are two others; None if there is no such message."""
        parts = self.messages
        number = parts.destinations
        chosen = np.flatnonzero(self._heard_at_home())
        begin, end = (
            parts.set_start[number[chosen]],
            parts.set_start[number[chosen] + 1],
        )
        chosen, begin, end = (c[end - begin > 4] for c in (chosen, begin, end))
        if not chosen.size:
            return None
        sets = parts.set_start.size - 1
        keys = np.repeat(np.arange(sets), np.diff(parts.set_start)) * parts.tiles
        wanted = number[chosen] * parts.tiles + (parts.source[chosen] | 1)
        place = np.searchsorted(keys + parts.set_tiles, wanted)
        place = np.where(place == end, begin, place)
        case, at = np.unique(place, return_inverse=True)
        paired, lonely = _without(parts, case)
        doubled, cut = parts.double, np.zeros(parts.count, np.bool_)
        assert doubled is not None
        cut[chosen] = True
        cases = np.full(parts.count, -1)
        cases[chosen] = at.ravel()
        ring = _parts(parts, cut, cut, cases, paired, lonely)
        double = doubled[ring.origin]
        return Parts(
            replace(ring.messages, double=double), self.origin[ring.origin], self.asked
        )

    def _heard_at_home(self) -> Flags:
        """(n,) which doubled parts are of messages that the sender's pair hears too."""
        double = self.messages.double
        assert double is not None
        rest = np.flatnonzero(~double)
        message, tile = endpoints(self.messages.select(rest))
        home = tile >> 1 == self.messages.source[rest[message]] >> 1
        heard = np.zeros(self.asked.count, np.bool_)
        heard[self.origin[rest[message[home]]]] = True
        return double & heard[self.origin]

    def loads(self, latency: Index) -> Loads:
        """What no schedule of the messages can beat, doubled or not: the cycles that
        each tile receives at best, and sends without what it lends."""
        alone = replace(self.asked, words=self.asked.slots, double=None)
        sent, heard = loads(alone, latency), loads(self.messages, latency)
        return Loads(sent.sent, heard.received, sent.send_bound, heard.receive_bound)


def cut_by_receivers(messages: Messages, may: Flags) -> Parts | None:
    """The messages that `may` (n,) go doubled cut by receivers; None if none does."""
    may = may & (messages.source ^ 1 < messages.tiles)
    if not may.any():
        return None
    sets, case = _cases(messages, may)
    paired, lonely = _split(sets, messages.tiles)
    some, lone = np.diff(paired.start) > 0, np.diff(lonely.start) > 0
    doubled, cut = np.zeros((2, messages.count), np.bool_)
    doubled[may] = some[case]
    if not doubled.any():
        return None
    cut[may] = (some & lone)[case]
    number = np.full(messages.count, -1)
    number[may] = case
    return _parts(messages, doubled, cut, number, paired, lonely)


@dataclass(frozen=True)
class _Sets:
    """Sets of tiles one after the other; `sender` (s,) is the pair that sends to each,
    or empty."""

    start: Index
    tiles: Index
    sender: Index


def _cases(messages: Messages, may: Flags) -> tuple[_Sets, Index]:
    """The distinct cases of set and sending pair, and that of each message that may."""
    pair = messages.source[may] >> 1
    key = messages.destinations[may] * messages.tiles + pair
    distinct, case = np.unique(key, return_inverse=True)
    chosen, sender = np.divmod(distinct, messages.tiles)
    start, tiles = take_sets(messages.set_start, messages.set_tiles, chosen)
    return _Sets(start, tiles, sender), case.ravel()


def _split(sets: _Sets, tiles: int) -> tuple[_Sets, _Sets]:
    """Of each set the whole pairs that do not send to it, and its other tiles."""
    case = np.repeat(np.arange(sets.start.size - 1), np.diff(sets.start))
    pair = case * tiles + (sets.tiles >> 1)
    whole = np.zeros(pair.size, np.bool_)
    twins = pair[1:] == pair[:-1]
    whole[1:] |= twins
    whole[:-1] |= twins
    whole &= sets.tiles >> 1 != sets.sender[case]

    def kept(flags: Flags) -> _Sets:
        size = np.bincount(case[flags], minlength=sets.start.size - 1)
        return _Sets(np.append(0, np.cumsum(size)), sets.tiles[flags], sets.sender)

    return kept(whole), kept(~whole)


def _without(messages: Messages, pairs: Index) -> tuple[_Sets, _Sets]:
    """Of the sets that have a pair at these places all others, and the pair."""
    number = np.searchsorted(messages.set_start, pairs, side="right") - 1
    start, tiles = take_sets(messages.set_start, messages.set_tiles, number)
    at = start[:-1] + pairs - messages.set_start[number]
    others = np.ones(tiles.size, np.bool_)
    others[at] = others[at + 1] = False
    most = start - 2 * np.arange(start.size)
    two = np.column_stack([tiles[at], tiles[at + 1]]).reshape(-1)
    sender = np.zeros(pairs.size, np.int64)
    return (
        _Sets(most, tiles[others], sender),
        _Sets(2 * np.arange(start.size), two, sender),
    )


def _parts(
    messages: Messages,
    doubled: Flags,
    cut: Flags,
    case: Index,
    paired: _Sets,
    lonely: _Sets,
) -> Parts:
    """The doubled messages to the paired tiles of their case, then, where they are cut,
    to its lonely ones; the others as they are."""
    origin = np.repeat(np.arange(messages.count), 1 + cut)
    rest = np.append(False, origin[1:] == origin[:-1])
    double = doubled[origin] & ~rest
    sets = messages.set_start.size - 1
    cases = paired.start.size - 1
    number = np.where(
        double,
        sets + case[origin],
        np.where(rest, sets + cases + case[origin], messages.destinations[origin]),
    )
    start = np.concatenate(
        [
            messages.set_start,
            messages.set_start[-1] + paired.start[1:],
            messages.set_start[-1] + paired.start[-1] + lonely.start[1:],
        ]
    )
    members = np.concatenate([messages.set_tiles, paired.tiles, lonely.tiles])
    parts = Messages(
        messages.tiles,
        messages.source[origin],
        messages.words[origin],
        *used_sets(start, members, number),
        double,
    )
    return Parts(parts, origin, replace(messages, double=doubled & ~cut))
