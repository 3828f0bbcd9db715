"""What the machine asks of items of two words, beyond what it asks of words.

Tiles 2i and 2i + 1 are a pair. To put out two words in a cycle a tile uses the send
lane of the other one too; such items can only be taken by whole pairs, not by its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tiledialect.runtime.intervals import LATEST, ExchangeError, meeting
from tiledialect.runtime.rows_decoder import WORD_BYTES, Receives, Sends

if TYPE_CHECKING:
    from tiledialect.machine import Machine
    from tiledialect.runtime.package import Ints

ITEM_BYTES = 2 * WORD_BYTES


def check_pairs(machine: Machine, sends: Sends, receives: Receives) -> None:
    """Raises ExchangeError for the first rule of doubled runs that a phase breaks."""
    sent, received = np.flatnonzero(sends.doubled), np.flatnonzero(receives.doubled)
    if not len(sent) and not len(received):
        return
    _check_aligned("sends from", sends, sent)
    _check_aligned("receives to", receives, received)
    _check_lanes(machine, sends, sent)
    _check_long(machine, sends, sent)
    _check_other_pair(receives, received)
    _check_both_receive(receives, received)


def _check_aligned(what: str, runs: Sends | Receives, which: Ints) -> None:
    odd = runs.address[which] % ITEM_BYTES != 0
    if odd.any():
        at = which[odd.argmax()]
        raise ExchangeError(
            f"tile {runs.tile[at]}, cycle {runs.cycle[at]}: {what} address"
            f" {runs.address[at]} items of {ITEM_BYTES} bytes, but it is no multiple"
        )


def _check_lanes(machine: Machine, sends: Sends, which: Ints) -> None:
    """Refuse a send of a tile whose lane is lent to its partner, or a lane that is not
    there."""
    lender = sends.tile[which] ^ 1
    key = sends.tile * LATEST + sends.cycle
    lent = lender * LATEST + sends.cycle[which]
    first, count = meeting(key, key + sends.cycles, lent, lent + sends.cycles[which])
    for bad, why in (
        (lender >= machine.tiles, "which this machine does not have"),
        (count > 0, "which sends"),
    ):
        if bad.any():
            at = int(bad.argmax())
            cycle = sends.cycle[which[at]]
            if count[at]:
                cycle = max(cycle, sends.cycle[first[at]])
            raise ExchangeError(
                f"tile {sends.tile[which[at]]}, cycle {cycle}: sends with the lane of"
                f" tile {lender[at]}, {why}"
            )


def _check_long(machine: Machine, sends: Sends, which: Ints) -> None:
    """Refuse streams of items, cycle by cycle and address by address, of too few."""
    tile, cycle = sends.tile[which], sends.cycle[which]
    address, items = sends.address[which], sends.cycles[which]
    steady = np.zeros(len(which), dtype=np.bool_)
    steady[1:] = (
        (np.diff(tile) == 0)
        & (np.diff(cycle) == items[:-1])
        & (np.diff(address) == items[:-1] * ITEM_BYTES)
    )
    stream = np.cumsum(~steady) - 1
    total = np.bincount(stream, items).astype(np.int64)
    short = (total < machine.exchange.pair_least_items)[stream]
    if short.any():
        at = int(short.argmax())
        raise ExchangeError(
            f"tile {tile[at]}, cycle {cycle[at]}: sends {total[stream[at]]} items of"
            f" {ITEM_BYTES} bytes in one stream, the least is"
            f" {machine.exchange.pair_least_items}"
        )


def _check_other_pair(receives: Receives, which: Ints) -> None:
    near = receives.tile[which] >> 1 == receives.source[which] >> 1
    if near.any():
        at = which[near.argmax()]
        raise ExchangeError(
            f"tile {receives.tile[at]}, cycle {receives.cycle[at]}: receives items of"
            f" {ITEM_BYTES} bytes from tile {receives.source[at]} of its own pair"
        )


def _check_both_receive(receives: Receives, which: Ints) -> None:
    """Refuse items of which the partner does not take the same in the same cycle."""
    source, cycles = receives.source[which], receives.cycles[which]
    begin = receives.tile[which] * LATEST + receives.cycle[which]
    end = begin + cycles
    low = (receives.tile[which] ^ 1) * LATEST + receives.cycle[which]
    first, count = meeting(begin, end, low, low + cycles)
    mine = np.repeat(np.arange(len(which)), count)
    theirs = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(mine))
    both = np.minimum(end[theirs], (low + cycles)[mine])
    both -= np.maximum(begin[theirs], low[mine])
    both *= source[mine] == source[theirs]
    shared = np.bincount(mine, both, minlength=len(which)).astype(np.int64)
    alone = shared < cycles
    if alone.any():
        at = which[alone.argmax()]
        raise ExchangeError(
            f"tile {receives.tile[at]}, cycle {receives.cycle[at]}: receives"
            f" {receives.cycles[at]} items of {ITEM_BYTES} bytes from tile"
            f" {receives.source[at]}, of which tile {receives.tile[at] ^ 1} receives"
            f" {shared[alone.argmax()]}"
        )
