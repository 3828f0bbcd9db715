"""Doubled messages: two words a cycle, on the lanes of a pair of tiles, to whole pairs.

Tiles 2i and 2i + 1 are a pair. A message that may be doubled is cut by receivers: the
whole pairs of its set but the sender's own get it doubled, the others as it was. What
each receiver gets at best bounds the phase, whoever is sent what in the end.

Where a pair gathers what it has too, it receives nothing while it sends to all others,
and then has to send inside of itself. In a ring what comes after its own is sent to it
apart: it sends inside of itself while that goes to all others, and hears it while it
sends to them.
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
        """A pair that sends to itself as well has some of what it hears of others sent
        to it apart, if there are two others; None if there is no such pair."""
        parts = self.messages
        chosen, pair = self._helpers()
        number = parts.destinations[chosen]
        sets = parts.set_start.size - 1
        keys = np.repeat(np.arange(sets), np.diff(parts.set_start)) * parts.tiles
        place = np.searchsorted(keys + parts.set_tiles, number * parts.tiles + 2 * pair)
        begin, end = parts.set_start[number], parts.set_start[number + 1]
        # a pair of which one tile alone hears is not in any set of doubled messages
        there = (end - begin > 4) & (place < end)
        there[there] = parts.set_tiles[place[there]] == 2 * pair[there]
        chosen, place = chosen[there], place[there]
        if not chosen.size:
            return None
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

    def _helpers(self) -> tuple[Index, Index]:
        """Doubled messages, and the pair that each is sent to apart.

        Where the messages to a set go out sender by sender, those after the ones of a
        pair that hears itself, and as long as them, are for that pair: it hears itself
        while they go to all others, and them while it sends.
        """
        parts, double = self.messages, self.messages.double
        assert double is not None
        line = np.flatnonzero(double)
        group = self.asked.destinations[self.origin[line]]
        order = np.lexsort((line, parts.source[line], group))
        line, group = line[order], group[order]
        pair, slots = parts.source[line] >> 1, parts.slots[line]
        home = self._heard_at_home()[line]
        helped = _followed(group, pair, slots, home)
        some = helped >= 0
        return line[some], helped[some]

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


def _followed(group: Index, pair: Index, slots: Index, home: Flags) -> Index:
    """(n,) the pair that each message helps, or -1; messages of a group and of a pair
    in it follow each other.

    A pair at `home` in a group is helped by the messages after its own, around the end
    of the group, up to the length of these, and each message helps the last such pair
    before it.
    """
    fresh = np.append(True, group[1:] != group[:-1])
    number, first = np.cumsum(fresh) - 1, np.flatnonzero(fresh)
    end = np.cumsum(slots)
    begin = end - slots
    total = np.append(begin[first][1:], end[-1]) - begin[first]
    begin, end = begin - begin[first][number], end - begin[first][number]
    fresh |= np.append(True, pair[1:] != pair[:-1])
    runs = np.flatnonzero(fresh)
    last = np.append(runs[1:], pair.size) - 1
    runs, last = runs[home[runs]], last[home[runs]]
    if not runs.size:
        return np.full(pair.size, -1)
    span = int(total.max()) + 1
    ends = number[last] * span + end[last]
    before = np.searchsorted(ends, number * span + begin, side="right") - 1
    around = (before < 0) | (number[last[before]] != number)
    before[around] = np.searchsorted(ends, (number[around] + 1) * span) - 1
    at, length = last[before], (end[last] - begin[runs])[before]
    behind = begin - end[at] + around * total[number]
    helps = (number[at] == number) & (behind < length) & (pair[at] != pair)
    return np.where((before >= 0) & helps, pair[at], -1)


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
