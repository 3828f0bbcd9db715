"""Receivers of a phase: which hear the same messages, and when each hears what.

A message lies at one address on all its receivers. So tiles that hear the same
messages run the same program, each after its own latency, and one stands for all.
"""

import numpy as np
from numpy.typing import NDArray

from tiledialect.schedule.table import Index, Messages, endpoints, intern_sets
from tiledialect.sorting import order_of

Chosen = NDArray[np.bool_]


def leaders(messages: Messages) -> Index:
    """(tiles,) the first tile that receives the same messages; -1: receives none."""
    order = np.argsort(messages.set_tiles, kind="stable")
    tile = messages.set_tiles[order]
    sets = np.repeat(
        np.arange(messages.set_start.size - 1), np.diff(messages.set_start)
    )
    begin = np.flatnonzero(np.diff(tile, prepend=-1))
    number, _, _ = intern_sets(np.append(begin, tile.size), sets[order])
    _, first = np.unique(number, return_index=True)
    found = np.full(messages.tiles, -1, np.int64)
    found[tile[begin]] = tile[begin][first[number]]
    return found


def heard_in_order(messages: Messages, start: Index, by: Chosen) -> tuple[Index, Index]:
    """Each (message, receiver) pair of the chosen receivers, tile after tile, and on
    each tile as the messages start. `by` (tiles,) is true for those chosen."""
    keep = by[messages.set_tiles]
    ahead = np.append(0, np.cumsum(keep))
    rank = order_of(start)
    some = Messages(
        messages.tiles,
        messages.source[rank],
        messages.words[rank],
        messages.destinations[rank],
        ahead[messages.set_start],
        messages.set_tiles[keep],
    )
    message, tile = endpoints(some)
    order = order_of(tile)
    return rank[message[order]], tile[order]
