"""Schedules in which certain buffers are never read and written in one cycle of a tile.

A rule names the messages that read one buffer and those that write another; where a
tile does both, it never does both in one cycle. So a tile is at least as long at it as
its words of both kinds together.

Method: first fit with two more ports a rule and tile. One holds the cycles in which
words of the second kind arrive, which sends of the first kind keep clear of; the other
holds the cycles of those sends, moved by the tile's latency to the starts of the
messages whose words would arrive in them. Several orders are tried, then those in
which late items come first. Where tiles send little of what they receive, groups of
tiles take turns to send to all others, and then to their own. Whole bundles first, then
messages, then pieces of half the least latency, so that a tile can send before what
others send at the same time arrives.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiledialect.schedule.bounds import (
    arrival,
    bound_of,
    loads,
    set_extremes,
    weighted_count,
)
from tiledialect.schedule.levels import Level, Sends, bundled, cut, expand, single
from tiledialect.schedule.solve import Schedule
from tiledialect.schedule.table import Index, Messages, endpoints, multicasts

Chosen = NDArray[np.bool_]

GOOD = 1.02
"""A ratio to the bound at which no other order is tried."""

WORTH = 0.97
"""Messages are taken apart, for more control words, where that leaves so much."""

PASSABLE = 1.05
"""A ratio at which messages are not cut."""

MOST_PIECES = 1 << 17
"""Nor are they where that makes more pieces."""

EFFORT = 25_000_000
"""Ports that are looked at or taken, after which nothing else is tried."""

GROUPS = 12
"""Groups of tiles that take turns; more wait more often for what is on its way."""

SPARSE = 8
"""Groups take turns where tiles receive so many times the words that they send."""

LATE = (0.95, 0.9, 0.75, 0.5)
"""Items that end after this part of the length come first in the next order."""


@dataclass(frozen=True)
class Rule:
    """(n,) which messages read the one buffer, and which write the other."""

    reads: Chosen
    writes: Chosen


@dataclass(frozen=True)
class Meeting:
    """What a rule is about: tiles that send and receive under it, their words."""

    tiles: Chosen
    words: Index
    """(tiles,) of both kinds together; 0 where a tile does one of them only."""


def words_under(messages: Messages, rule: Rule) -> tuple[Index, Index]:
    """(tiles,) words that each tile sends, and receives, of those that a rule names."""
    tiles, sets = messages.tiles, messages.set_start.size - 1
    read = np.where(rule.reads, messages.words, 0)
    written = np.where(rule.writes, messages.words, 0)
    of_set = weighted_count(messages.destinations, written, sets)
    of_member = np.repeat(of_set, np.diff(messages.set_start))
    sent = weighted_count(messages.source, read, tiles)
    return sent, weighted_count(messages.set_tiles, of_member, tiles)


def meeting(messages: Messages, rule: Rule) -> Meeting:
    """The tiles that a rule binds."""
    sent, received = words_under(messages, rule)
    both = (sent > 0) & (received > 0)
    return Meeting(both, np.where(both, sent + received, 0))


def serial_bound(messages: Messages, rules: Sequence[Rule]) -> int:
    """Cycles that every schedule under the rules takes, besides the phase's bound."""
    words = [meeting(messages, rule).words.max(initial=0) for rule in rules]
    return int(max(words, default=0))


def serialised(
    messages: Messages,
    latency: Index,
    rules: Sequence[Rule],
    usual: Index,
    *,
    control: Index | None = None,
) -> Schedule:
    """A schedule of the phase under all the rules.

    `usual` (n,) is about when each message would start without them. Arguments and
    result are those of `schedule`; `bound` does not know the rules.
    """
    messages, latency = messages.widened(), latency.astype(np.int64, copy=False)
    load = loads(messages, latency)
    bound = bound_of(load, control)
    least = max(bound.cycles, serial_bound(messages, rules))
    best: Schedule | None = None
    effort = EFFORT
    for level, turn in levels(messages, latency, rules):
        fit = Fit(level, turn, latency, rules, effort)
        orders = fit.orders(load.send_bound, load.receive_bound, usual)
        method, start = fit.best(orders, int(GOOD * least))
        length = max(arrival(level.items, latency, start), bound.control)
        if best is None or length < WORTH * best.length:
            sent = parts(level, start)
            best = Schedule(*sent, length, bound, f"serial first fit by {method}")
        effort = fit.effort
        if best.length <= PASSABLE * least or effort <= 0:
            break
    assert best is not None
    return best


def levels(
    messages: Messages, latency: Index, rules: Sequence[Rule]
) -> Iterator[tuple[Level, Index | None]]:
    """What may be sent in one go, the coarsest first, and in which turn if in turns."""
    least = least_latency(messages, latency, rules)
    if hears_itself(messages, latency, rules):
        yield cut(messages, least), None
    else:
        if not messages.unicast and sends_little(messages, rules):
            yield in_turns(messages)
        whole = bundled(tagged(messages, rules))
        of_bundles = rules_of_items(whole, rules)
        if not whole.whole and not hears_itself(whole.items, latency, of_bundles):
            yield whole, None
        yield single(messages), None
    half = max(least // 2, 1)
    pieces = int((-(-messages.words // half)).sum())
    if messages.count < pieces <= MOST_PIECES:
        yield cut(messages, half), None


def sends_little(messages: Messages, rules: Sequence[Rule]) -> bool:
    """Under every rule a tile has far fewer words to send than others to receive."""
    totals = (words_under(messages, rule) for rule in rules)
    return all(
        received.max(initial=0) >= SPARSE * sent.max(initial=0)
        for sent, received in totals
    )


def in_turns(messages: Messages) -> tuple[Level, Index]:
    """Each message to those outside its sender's group, in the turn of that, and to
    those inside, when all turns are over.

    The groups are spread over the tiles without a pattern (multiplicative hashing), as
    programs lay tiles out in grids: receivers of a set are then in all groups.
    """
    group = (np.arange(messages.tiles) * 2654435761 >> 16) % GROUPS
    message, tile = endpoints(messages)
    inside = group[tile] == group[messages.source[message]]
    order = np.argsort(2 * message + inside, kind="stable")
    part = (2 * message + inside)[order]
    first = np.flatnonzero(np.diff(part, prepend=-1))
    origin, is_inside = part[first] // 2, part[first] % 2 == 1
    source, words = messages.source[origin], messages.words[origin]
    ends = np.append(first, part.size)
    items = multicasts(messages.tiles, source, words, ends, tile[order])
    level = replace(single(items), origin=origin, words=words, plain=False)
    return level, np.where(is_inside, GROUPS, group[source])


def least_latency(messages: Messages, latency: Index, rules: Sequence[Rule]) -> int:
    """Of the tiles that a rule binds, but at least one cycle."""
    bound = np.zeros(messages.tiles, np.bool_)
    for rule in rules:
        bound |= meeting(messages, rule).tiles
    return max(int(latency[bound].min(initial=np.iinfo(np.int64).max)), 1)


def rules_of_items(level: Level, rules: Sequence[Rule]) -> list[Rule]:
    """The rules on items, each made of messages of one kind."""
    first = level.origin[level.first_part[:-1]]
    return [Rule(rule.reads[first], rule.writes[first]) for rule in rules]


def hears_itself(messages: Messages, latency: Index, rules: Sequence[Rule]) -> bool:
    """Some message reaches its own sender while that still reads it."""
    message, tile = endpoints(messages)
    own = message[messages.source[message] == tile]
    long = messages.words[own] > latency[messages.source[own]]
    return any(bool((rule.reads & rule.writes)[own[long]].any()) for rule in rules)


def tagged(messages: Messages, rules: Sequence[Rule]) -> Messages:
    """The messages over sets that differ where rules bind them differently, so that no
    bundle has messages of two kinds."""
    columns = [column for rule in rules for column in (rule.reads, rule.writes)]
    _, kind = np.unique(np.stack(columns), axis=1, return_inverse=True)
    kinds, sets = int(kind.max(initial=0)) + 1, messages.set_start.size - 1
    ends = np.arange(kinds)[:, None] * messages.set_tiles.size + messages.set_start[1:]
    return replace(
        messages,
        destinations=messages.destinations + kind.ravel() * sets,
        set_start=np.append(0, ends),
        set_tiles=np.tile(messages.set_tiles, kinds),
    )


def parts(level: Level, start: Index) -> tuple[Messages, Index, Index, Index]:
    """The messages that items carry, in the order asked for: origin, offset, start."""
    sends = Sends(level.items, np.arange(start.size), start)
    sent, origin, offset, start = expand(level, sends)
    order = np.lexsort((start, offset, origin))
    return sent.select(order), origin[order], offset[order], start[order]


class Fit:
    """First fits of a level's items under rules; `effort` is what is left of it."""

    def __init__(
        self,
        level: Level,
        turn: Index | None,
        latency: Index,
        rules: Sequence[Rule],
        effort: int,
    ) -> None:
        self.items, self.level, self.latency = level.items, level, latency
        self.turn, self.effort = turn, effort
        kinds = rules_of_items(level, rules)
        self.checked, self.marked = ports(self.items, latency, kinds)
        self.rows = 2 * self.items.tiles * (1 + len(kinds))

    def starts(self, order: Index) -> Index:
        """The start of each item by a first fit in this order."""
        from tiledialect.schedule.serial_fit import fitted

        check, mark = self.checked, self.marked
        self.effort -= check.row.size + mark.row.size
        return fitted(
            order,
            self.items.words,
            self.rows,
            (check.first, check.row),
            (mark.first, mark.row, mark.shift),
        )

    def best(
        self, orders: Iterable[tuple[str, Index]], enough: int
    ) -> tuple[str, Index]:
        """How the shortest schedule was found, and its starts: of one of the orders,
        or of that one with late items first. One of `enough` cycles ends it."""
        method, best, least = "", self.items.words, np.iinfo(np.int64).max
        for name, order in orders:
            start = self.starts(order)
            if (length := self.length(start)) < least:
                method, best, least = name, start, length
            if least <= enough or self.effort <= 0:
                return method, best
        start, late_method = best, f"{method}, late ones first"
        for part in LATE:
            late = self.ends(start) > part * self.length(start)
            start = self.starts(np.lexsort((start, ~late)))
            if (length := self.length(start)) < least:
                method, best, least = late_method, start, length
            if self.effort <= 0:
                break
        return method, best

    def ends(self, start: Index) -> Index:
        """When the last word of each item arrives."""
        _, farthest = set_extremes(self.items, self.latency)
        return start + self.items.words + farthest[self.items.destinations]

    def length(self, start: Index) -> int:
        return int(self.ends(start).max())

    def orders(
        self, send_bound: Index, receive_bound: Index, usual: Index
    ) -> Iterator[tuple[str, Index]]:
        """Orders to try, the best for most phases first."""
        items, fan_out = self.items, self.items.fan_out
        first = self.level.first_part[:-1]
        start = usual[self.level.origin[first]] + self.level.offset[first]
        if self.turn is not None:
            yield "turns", np.lexsort((start, self.turn))
            return
        yield "usual start", np.argsort(start, kind="stable")
        _, farthest = set_extremes(items, receive_bound)
        pressure = np.maximum(send_bound[items.source], farthest[items.destinations])
        yield "pressure", np.lexsort((start, -items.words, -pressure))
        yield "length", np.lexsort((-pressure, -fan_out, -items.words))
        if not items.unicast:
            yield "fan-out", np.lexsort((-items.words, -fan_out))


@dataclass(frozen=True)
class Ports:
    """The ports of each item, one item after the other, and when it takes them."""

    first: Index
    """(n + 1,) where the ports of each item begin."""
    row: Index
    shift: Index
    """Cycles after the item's start."""


def ports(
    items: Messages, latency: Index, rules: Sequence[Rule]
) -> tuple[Ports, Ports]:
    """The ports that must be free for each item's cycles, and those that it takes.

    Tile t sends through port t and receives, by starts, through port tiles + t. Rule
    number q has two more: what arrives at t under it is at 2 (q + 1) tiles + t, and
    what t sends under it, by starts of what would arrive then, `tiles` further on.
    """
    tiles = items.tiles
    message, tile = endpoints(items)
    every, none = np.arange(items.count), np.zeros(items.count, np.int64)
    still = np.zeros(message.size, np.int64)
    checked = [(every, items.source, none), (message, tile + tiles, still)]
    marked = list(checked)
    for number, rule in enumerate(rules):
        arriving, leaving = 2 * (number + 1) * tiles, (2 * number + 3) * tiles
        bound = meeting(items, rule).tiles
        reads = np.flatnonzero(rule.reads & bound[items.source])
        writes = rule.writes[message] & bound[tile]
        item, taker, sender = message[writes], tile[writes], items.source[reads]
        checked += [
            (reads, arriving + sender, none[reads]),
            (item, leaving + taker, still[writes]),
        ]
        marked += [
            (reads, leaving + sender, -latency[sender]),
            (item, arriving + taker, latency[taker]),
        ]
    return joined(items.count, checked), joined(items.count, marked)


def joined(count: int, tables: list[tuple[Index, Index, Index]]) -> Ports:
    """Tables of (item, row, shift) as one, by item."""
    item, row, shift = (np.concatenate(column) for column in zip(*tables, strict=True))
    order = np.argsort(item, kind="stable")
    first = np.append(0, np.cumsum(np.bincount(item, minlength=count)))
    return Ports(first, row[order], shift[order])
