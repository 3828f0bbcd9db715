"""What no schedule of a phase can beat, and what a schedule costs.

A tile takes one word a cycle in and one out, or two where a message is doubled. So a
phase is at least as long as, for every tile: the cycles in which it receives, and its
latency; those in which its lane is taken, and the least latency among the receivers of
what takes it; its control words.
"""

from dataclasses import dataclass

import numpy as np

from tiledialect.schedule.table import Index, Messages, blocks, endpoints


@dataclass(frozen=True)
class Bound:
    """Three lower bounds on the length of a phase, in cycles."""

    receive: int
    send: int
    control: int

    @property
    def cycles(self) -> int:
        return max(self.receive, self.send, self.control)


@dataclass(frozen=True)
class Loads:
    """(tiles,) cycles that each tile's ports are taken, and its bounds in cycles.

    A tile that does not send (receive) has bound 0 on that side.
    """

    sent: Index
    received: Index
    send_bound: Index
    receive_bound: Index


def weighted_count(index: Index, weight: Index, size: int) -> Index:
    """The sum of weights at each index; exact below 2**53."""
    if weight.size and weight.min() == weight.max():
        return np.bincount(index, minlength=size) * weight[0]
    return np.bincount(index, weights=weight, minlength=size).astype(np.int64)


def set_extremes(messages: Messages, latency: Index) -> tuple[Index, Index]:
    """The least and the greatest latency within each destination set."""
    if messages.set_start.size == 1:
        return messages.set_start[:0], messages.set_start[:0]
    of_member = latency[messages.set_tiles]
    if messages.unicast:
        return of_member, of_member
    starts = messages.set_start[:-1]
    return np.minimum.reduceat(of_member, starts), np.maximum.reduceat(
        of_member, starts
    )


def loads(messages: Messages, latency: Index) -> Loads:
    """What each tile sends and receives, and how long that takes at least."""
    tiles, slots = messages.tiles, messages.slots
    sets = messages.set_start.size - 1
    sent = weighted_count(messages.source, slots, tiles)
    of_set = weighted_count(messages.destinations, slots, sets)
    of_member = np.repeat(of_set, np.diff(messages.set_start))
    received = weighted_count(messages.set_tiles, of_member, tiles)
    nearest, _ = set_extremes(messages, latency)
    least = np.full(tiles, np.iinfo(np.int64).max)
    for part in blocks(messages.count):
        received_by = nearest[messages.destinations[part]]
        np.minimum.at(least, messages.source[part], received_by)
    doubled, partner = messages.partners
    if doubled.size:
        sent += weighted_count(partner, slots[doubled], tiles)
        np.minimum.at(least, partner, nearest[messages.destinations[doubled]])
    return Loads(
        sent,
        received,
        np.where(sent > 0, sent + np.where(sent > 0, least, 0), 0),
        np.where(received > 0, received + latency, 0),
    )


def bound_of(load: Loads, control: Index | None) -> Bound:
    """The bounds of a phase from its loads and control words a tile."""
    return Bound(
        int(load.receive_bound.max(initial=0)),
        int(load.send_bound.max(initial=0)),
        0 if control is None else int(control.max(initial=0)),
    )


def arrival(messages: Messages, latency: Index, start: Index) -> int:
    """The cycle by which every word has arrived."""
    last, slots = 0, messages.slots
    _, farthest = set_extremes(messages, latency)
    for part in blocks(messages.count):
        end = start[part] + slots[part]
        end += farthest[messages.destinations[part]]
        last = max(last, int(end.max()))
    return last


def control_words(messages: Messages, start: Index, words_a_send: int = 64) -> Index:
    """(tiles,) control words of a schedule, were no address to jump.

    A sender issues one for each `words_a_send` cycles of sending and one for each idle
    gap before a message; a receiver one a message, unless it continues the one before
    from the same source.
    """
    end = start + messages.slots
    sends = -(-messages.slots // words_a_send)
    total = weighted_count(messages.source, sends, messages.tiles)
    order = np.lexsort((start, messages.source))
    port, begin = messages.source[order], start[order]
    gap = begin > 0
    gap[1:] &= (port[1:] != port[:-1]) | (begin[1:] != end[order][:-1])
    total += np.bincount(port[gap], minlength=messages.tiles)
    message, tile = endpoints(messages)
    order = np.lexsort((start[message], tile))
    message, tile = message[order], tile[order]
    change = np.ones(tile.size, np.bool_)
    change[1:] = (
        (tile[1:] != tile[:-1])
        | (start[message][1:] != end[message][:-1])
        | (messages.source[message][1:] != messages.source[message][:-1])
    )
    return total + np.bincount(tile[change], minlength=messages.tiles)
