"""Which transfers of a phase may go as items of two words, and what that can save.

A transfer may reach a tile so when the whole pair of that tile is among its receivers
and is not the pair of its source, when its words make enough whole items, and when it
is read and written at multiples of an item. The bounds of a phase count such a
transfer at half of its cycles: at a receiver when it may reach that tile, at its
source when it may reach all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.checkers.deliveries import MoveTable
from tiledialect.checkers.row_reader import ragged
from tiledialect.checkers.window import PAIR_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.checkers.window import Window
    from tiledialect.machine import Machine

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Doubling:
    """What items of two words can save each tile of the machine."""

    saved_in: Ints  # cycles less in which it receives
    saved_out: Ints  # cycles less in which it sends
    takes: Flags  # whether some transfer may reach it so
    puts: Flags  # whether it is the source of such a one


def doubling_of(
    machine: Machine, window: Window, moves: Sequence[MoveTable]
) -> Doubling:
    """The savings of all moves of a phase; none on a machine without such items."""
    tiles = machine.tiles
    found = Doubling(
        np.zeros(tiles, np.int64),
        np.zeros(tiles, np.int64),
        np.zeros(tiles, np.bool_),
        np.zeros(tiles, np.bool_),
    )
    if machine.exchange.pair_tiles == 2:
        for move in moves:
            _add_move(machine, window, move, found)
    return found


def _add_move(
    machine: Machine, window: Window, move: MoveTable, found: Doubling
) -> None:
    table = move.transfers
    at = np.flatnonzero(_fitting(machine, window, move))
    if not len(at):
        return
    whole = _whole_pairs(machine.tiles, move, table.destinations[at])
    number, source = table.destinations[at], table.source[at]
    first = table.set_start[number]
    count = table.set_start[number + 1] - first
    entry = ragged(first, count)
    transfer = np.repeat(np.arange(len(at), dtype=np.int64), count)
    tile = table.set_tiles[entry]
    reached = whole[entry] & (tile // 2 != source[transfer] // 2)
    half = table.words[at] // 2
    np.add.at(found.saved_in, tile[reached], half[transfer[reached]])
    found.takes[tile[reached]] = True
    all_of_them = np.bincount(transfer[reached], minlength=len(at)) == count
    all_of_them &= count > 0
    np.add.at(found.saved_out, source[all_of_them], half[all_of_them])
    found.puts[source[transfer[reached]]] = True


def _fitting(machine: Machine, window: Window, move: MoveTable) -> Flags:
    """The transfers whose words and places suit items of two words."""
    table = move.transfers
    words, least = table.words, machine.exchange.pair_least_items
    into = np.where(table.to_staging, move.staging, move.destination)
    fits = (words % 2 == 0) & (words // 2 >= least)
    fits &= (table.source_offset % PAIR_BYTES == 0) & (table.offset % PAIR_BYTES == 0)
    source = np.array([move.source], np.int64)
    return fits & window.takes_pairs(source) & window.takes_pairs(into)


def _whole_pairs(tiles: int, move: MoveTable, used: Ints) -> Flags:
    """For each entry of the tables' sets whether the other tile of its pair is in its
    set too; looked up for the sets `used` only."""
    table = move.transfers
    sets = np.unique(used)
    first = table.set_start[sets]
    count = table.set_start[sets + 1] - first
    entry = ragged(first, count)
    key = np.repeat(sets, count) * (tiles + 2)
    mine, other = key + table.set_tiles[entry], key + (table.set_tiles[entry] ^ 1)
    whole = np.zeros(len(table.set_tiles), np.bool_)
    whole[entry] = np.isin(other, mine)
    return whole
