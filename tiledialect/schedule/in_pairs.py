"""Doubled messages first: on a machine whose tiles are the pairs, as messages of words.

A doubled message takes both lanes of its sender's pair and the receive ports of whole
pairs. So doubled messages alone are a phase of plain multicasts between pairs, for
which every method of the search will do. All others are fitted in around them.
"""

import numpy as np

from tiledialect.schedule.bounds import arrival, bound_of, loads
from tiledialect.schedule.first_fit import LONGEST_BITMAP_SLOTS, FirstFit
from tiledialect.schedule.solve import Schedule, schedule
from tiledialect.schedule.table import Index, Messages, take_sets, used_sets


def schedule_in_pairs(messages: Messages, latency: Index) -> Schedule | None:
    """A schedule of a phase with doubled messages, none of which is split; None where
    the phase is too long."""
    messages = messages.widened()
    load = loads(messages, latency)
    longest = int(max(load.sent.max(initial=0), load.received.max(initial=0)))
    if longest > LONGEST_BITMAP_SLOTS:
        return None
    doubled, _ = messages.partners
    found = schedule(between_pairs(messages), latency[::2], split=False)
    origin = doubled[found.origin]
    first = sent_by_tiles(found.messages, messages.source[origin])
    rest = np.flatnonzero(np.isin(np.arange(messages.count), doubled, invert=True))
    sent = joined(first, messages.select(rest))
    size = sent.slots * (1 + sent.fan_out)
    order = np.append(
        np.arange(first.count),
        first.count + np.argsort(-size[first.count :], kind="stable"),
    )
    fixed = np.append(found.start, np.full(rest.size, -1))
    start = FirstFit(sent, longest, 1).starts(order, fixed)
    origin = np.append(origin, rest)
    offset = np.append(2 * found.offset, np.zeros(rest.size, np.int64))
    order = np.lexsort((start, offset, origin))
    return Schedule(
        sent.select(order),
        origin[order],
        offset[order],
        start[order],
        arrival(sent, latency, start),
        bound_of(load, None),
        f"in pairs: {found.method}",
    )


def between_pairs(messages: Messages) -> Messages:
    """The doubled messages between pairs of tiles, their items as words."""
    some = messages.select(messages.partners[0])
    used, number = np.unique(some.destinations, return_inverse=True)
    start, tiles = take_sets(messages.set_start, messages.set_tiles, used)
    return Messages(
        -(-messages.tiles // 2),
        some.source >> 1,
        some.slots,
        number.ravel(),
        start // 2,
        tiles[::2] >> 1,
    )


def sent_by_tiles(messages: Messages, source: Index) -> Messages:
    """Messages between pairs as doubled ones of these tiles."""
    tiles = np.repeat(2 * messages.set_tiles, 2)
    tiles[1::2] += 1
    return Messages(
        2 * messages.tiles,
        source,
        2 * messages.words,
        messages.destinations,
        2 * messages.set_start,
        tiles,
        np.ones(messages.count, np.bool_),
    )


def joined(doubled: Messages, plain: Messages) -> Messages:
    """Doubled messages, then others that are not, over the sets of either."""
    sets = doubled.set_start.size - 1
    numbers = np.append(doubled.destinations, plain.destinations + sets)
    start = np.append(doubled.set_start, doubled.set_start[-1] + plain.set_start[1:])
    members = np.append(doubled.set_tiles, plain.set_tiles)
    return Messages(
        plain.tiles,
        np.append(doubled.source, plain.source),
        np.append(doubled.words, plain.words),
        *used_sets(start, members, numbers),
        np.append(np.ones(doubled.count, np.bool_), np.zeros(plain.count, np.bool_)),
    )
