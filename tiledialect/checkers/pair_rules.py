"""The rules of items of two words, on decoded rows.

A tile puts out two words in a cycle by borrowing the send lane of its partner, the
other tile of its pair {2i, 2i + 1}. Both lanes end at whole pairs: the two tiles of one
take the same item in the same cycle. The pair of the sender is none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tiledialect.checkers.deliveries import TILE_SPAN
from tiledialect.checkers.disproof import Disproof
from tiledialect.checkers.window import PAIR_BYTES
from tiledialect.layout import WORD_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.checkers.row_reader import Receives, Rows, Sends
    from tiledialect.checkers.window import Window
    from tiledialect.machine import Machine

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


def check_pairs(machine: Machine, window: Window, rows: Rows) -> None:
    """Raises Disproof where a run of items of two words breaks a rule of pairs."""
    _check_places(window, "sends from", rows.sends)
    _check_places(window, "receives to", rows.receives)
    _check_lengths(machine, rows.sends)
    _check_lanes(machine, rows.sends)
    _check_whole_pairs(rows.receives)


def _check_places(window: Window, verb: str, runs: Sends | Receives) -> None:
    """Items of two words lie at multiples of their size, wherever buffers are put."""
    even = (runs.address % PAIR_BYTES == 0) & window.takes_pairs(
        window.buffer_at(runs.address)
    )
    odd = runs.doubled & ~even
    if odd.any():
        at = int(np.argmax(odd))
        raise Disproof(
            f"tile {runs.tile[at]} {verb} {window.name(int(runs.address[at]))} items"
            f" of two words in cycle {runs.cycle[at]}, which need a multiple of"
            f" {PAIR_BYTES}"
        )


def _check_lengths(machine: Machine, sends: Sends) -> None:
    """What leaves in one go, from addresses in a row, is no less than the least."""
    at = np.flatnonzero(sends.doubled)
    tile, cycle, address = sends.tile[at], sends.cycle[at], sends.address[at]
    goes_on = (tile[1:] == tile[:-1]) & (cycle[1:] == (cycle + sends.cycles[at])[:-1])
    goes_on &= address[1:] == (address + sends.words[at] * WORD_BYTES)[:-1]
    starts = np.flatnonzero(np.append(True, ~goes_on)[: len(at)])
    items = np.add.reduceat(sends.cycles[at], starts) if len(at) else at
    least = machine.exchange.pair_least_items
    if (items < least).any():
        run = int(np.argmax(items < least))
        first = starts[run]
        raise Disproof(
            f"tile {tile[first]} sends {items[run]} items of two words from cycle"
            f" {cycle[first]} on, fewer than {least}"
        )


def _check_lanes(machine: Machine, sends: Sends) -> None:
    """A partner puts out nothing while its lane is borrowed."""
    at = np.flatnonzero(sends.doubled)
    partner = sends.tile[at] ^ 1
    if (partner >= machine.tiles).any():
        run = at[int(np.argmax(partner >= machine.tiles))]
        raise Disproof(
            f"tile {sends.tile[run]} sends items of two words in cycle"
            f" {sends.cycle[run]}, but has no partner"
        )
    begin = sends.tile * TILE_SPAN + sends.cycle
    end = begin + sends.cycles
    borrowed = partner * TILE_SPAN + sends.cycle[at]
    returned = borrowed + sends.cycles[at]
    # The sends are in order and apart: the first that ends later is the one to meet.
    next_send = np.searchsorted(end, borrowed, side="right")
    clash = np.append(begin, np.iinfo(np.int64).max)[next_send] < returned
    if clash.any():
        run, other = at[int(np.argmax(clash))], next_send[int(np.argmax(clash))]
        cycle = max(int(sends.cycle[run]), int(sends.cycle[other]))
        raise Disproof(
            f"tile {sends.tile[other]} sends in cycle {cycle}, in which its partner"
            f" {sends.tile[run]} borrows its lane"
        )


def _check_whole_pairs(receives: Receives) -> None:
    """The tiles of a pair take the same items in the same cycles, from another pair."""
    at = np.flatnonzero(receives.doubled)
    tile, source = receives.tile[at], receives.source[at]
    own = tile // 2 == source // 2
    if own.any():
        run = at[int(np.argmax(own))]
        raise Disproof(
            f"tile {receives.tile[run]} takes items of two words from tile"
            f" {receives.source[run]}, which is of its own pair, in cycle"
            f" {receives.cycle[run]}"
        )
    first, second = (_streams(receives, at[tile % 2 == side]) for side in (0, 1))
    _check_equal(first, second)


Streams = tuple["Ints", "Ints", "Ints", "Ints"]
"""Pair, first cycle, cycle behind the last, source of stretches of items that come
without a gap, in order of pair and cycle."""


def _streams(receives: Receives, at: Ints) -> Streams:
    """The stretches of these receives, as long as can be."""
    pair, source = receives.tile[at] // 2, receives.source[at]
    begin = receives.cycle[at]
    end = begin + receives.cycles[at]
    goes_on = (pair[1:] == pair[:-1]) & (source[1:] == source[:-1])
    goes_on &= begin[1:] == end[:-1]
    starts = np.flatnonzero(np.append(True, ~goes_on)[: len(at)])
    lasts = np.append(starts[1:] - 1, len(at) - 1)[: len(starts)]
    return pair[starts], begin[starts], end[lasts], source[starts]


def _check_equal(first: Streams, second: Streams) -> None:
    """Raises Disproof where one tile of a pair takes what the other does not."""
    shared = min(len(first[0]), len(second[0]))
    columns = zip(first, second, strict=True)
    differs = np.any([one[:shared] != other[:shared] for one, other in columns], axis=0)
    at = int(np.argmax(differs)) if differs.any() else shared
    sides = [(side, s) for side, s in enumerate((first, second)) if at < len(s[0])]
    if not sides:
        return
    # Of the two that differ the earlier one has no match.
    side, (pair, begin, _, source) = min(
        sides, key=lambda item: (item[1][0][at], item[1][1][at])
    )
    tile = 2 * int(pair[at]) + side
    raise Disproof(
        f"tile {tile} takes items of two words from tile {source[at]} from cycle"
        f" {begin[at]} on, its partner {tile ^ 1} does not take the same"
    )
