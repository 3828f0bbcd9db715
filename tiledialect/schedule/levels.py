"""Grain: what is sent in one go may be several messages, one, or a piece of one.

Messages of one sender to one set are bundled, since the sender then issues no gap
between them and the receivers change source once. Where bundles are too coarse they
are taken apart; where messages are, they are cut.
"""

from dataclasses import dataclass

import numpy as np

from tiledialect.schedule.table import Index, Messages


@dataclass(frozen=True)
class Level:
    """Items to schedule, each made of consecutive parts of messages.

    Parts are sorted by item. Part i is words [offset[i], offset[i] + words[i]) of
    message origin[i] and follows `shift[i]` words of its item.
    """

    items: Messages
    origin: Index
    offset: Index
    words: Index
    shift: Index
    first_part: Index
    """(items + 1,) where the parts of each item begin."""

    plain: bool = False
    """Item i is message i."""

    @property
    def whole(self) -> bool:
        """Every item is one part."""
        return self.origin.size == self.items.count


@dataclass(frozen=True)
class Sends:
    """A schedule of a level's items, each sent once or to parts of its set in turn."""

    messages: Messages
    item: Index
    start: Index


def single(messages: Messages) -> Level:
    """Each message an item."""
    every = np.arange(messages.count + 1)
    none = np.zeros(messages.count, np.int64)
    return Level(messages, every[:-1], none, messages.words, none, every, True)


def bundled(messages: Messages) -> Level:
    """All messages of a sender to a set one item, in the order given."""
    sets = messages.set_start.size - 1
    key = messages.source * sets + messages.destinations
    order = np.argsort(key, kind="stable")
    key, words = key[order], messages.words[order]
    fresh = np.ones(order.size, np.bool_)
    fresh[1:] = key[1:] != key[:-1]
    if fresh.all():
        return single(messages)
    first = np.flatnonzero(fresh)
    total = np.add.reduceat(words, first)
    ahead = np.cumsum(words) - words
    size = np.diff(np.append(first, order.size))
    leader = messages.select(order[first])
    items = Messages(
        messages.tiles,
        leader.source,
        total,
        leader.destinations,
        messages.set_start,
        messages.set_tiles,
    )
    return Level(
        items,
        order,
        np.zeros(order.size, np.int64),
        words,
        ahead - np.repeat(ahead[first], size),
        np.append(first, order.size),
    )


def cut(messages: Messages, longest: int) -> Level:
    """Each message in equal pieces of up to `longest` words."""
    pieces = -(-messages.words // longest)
    origin = np.repeat(np.arange(messages.count), pieces)
    number = np.arange(origin.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    whole, count = messages.words[origin], pieces[origin]
    offset = number * whole // count
    words = (number + 1) * whole // count - offset
    items = Messages(
        messages.tiles,
        messages.source[origin],
        words,
        messages.destinations[origin],
        messages.set_start,
        messages.set_tiles,
    )
    none = np.zeros(origin.size, np.int64)
    return Level(items, origin, offset, words, none, np.arange(origin.size + 1))


def expand(level: Level, sends: Sends) -> tuple[Messages, Index, Index, Index]:
    """The messages that the sends carry; their origin, offset in it, and start."""
    if level.plain and sends.messages is level.items:
        return level.items, level.origin, level.offset, sends.start
    if level.whole:
        part, send = sends.item, np.arange(sends.item.size)
    else:
        parts = np.diff(level.first_part)[sends.item]
        send = np.repeat(np.arange(sends.item.size), parts)
        ahead = np.cumsum(parts) - parts
        part = np.arange(send.size) + (level.first_part[sends.item] - ahead)[send]
    messages = Messages(
        sends.messages.tiles,
        sends.messages.source[send],
        level.words[part],
        sends.messages.destinations[send],
        sends.messages.set_start,
        sends.messages.set_tiles,
    )
    start = sends.start[send] + level.shift[part]
    return messages, level.origin[part], level.offset[part], start


def in_order(messages: Messages, start: Index) -> Index:
    """The starts with those of like messages exchanged to rise as the messages do.

    Messages are alike that have the same sender, receivers and length.
    """
    key = messages.source * (messages.set_start.size - 1) + messages.destinations
    key = key * (int(messages.words.max()) + 1) + messages.words
    ordered = np.empty_like(start)
    ordered[np.argsort(key, kind="stable")] = start[np.lexsort((start, key))]
    return ordered
