"""The messages of an exchange phase: its moves' transfers in one table of messages.

The buffers of a phase lie side by side in a window of addresses (`rows.window_bases`),
and messages name addresses there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tiledialect.layout import Layout
from tiledialect.machine import Machine
from tiledialect.relayout import Transfers, relayout, stack_partials
from tiledialect.rows import RECEIVE_WORDS, Flags, Ints, window_bases
from tiledialect.schedule.bounds import weighted_count
from tiledialect.schedule.pairs import Parts
from tiledialect.schedule.receivers import heard_in_order, leaders
from tiledialect.schedule.table import Messages, intern_sets


@dataclass(frozen=True)
class Move:
    """From one buffer of the window to another, by their numbers; staging may be -1."""

    source: int
    destination: int
    staging: int
    source_layout: Layout
    destination_layout: Layout
    stack: bool

    def transfers(self) -> Transfers:
        if self.stack:
            return stack_partials(self.source_layout, self.destination_layout)[0]
        return relayout(self.source_layout, self.destination_layout)


@dataclass(frozen=True)
class Phase:
    """All that the schedule of a phase depends on: its moves, its buffers' bytes, and
    which buffers will lie at multiples of 8 (empty: all)."""

    moves: tuple[Move, ...]
    buffer_bytes: tuple[int, ...]
    aligned: tuple[bool, ...] = ()


@dataclass(frozen=True)
class MessageTable:
    """The messages of a phase with the window addresses that they go from and to."""

    messages: Messages
    read: Ints
    written: Ints


class NoStaging(Exception):
    """A move needs staging and has none; `position` is its place in the phase."""

    def __init__(self, position: int, bytes: int) -> None:
        super().__init__(f"the move needs {bytes} bytes of staging and names no buffer")
        self.position = position


def transfer_table(machine: Machine, phase: Phase) -> MessageTable:
    """The transfers of all moves in one table."""
    bases = window_bases(phase.buffer_bytes)
    parts: list[Transfers] = []
    read: list[Ints] = []
    written: list[Ints] = []
    for position, move in enumerate(phase.moves):
        part = move.transfers()
        if move.staging < 0 and part.to_staging.any():
            raise NoStaging(position, part.staging_bytes)
        into = bases[np.where(part.to_staging, move.staging, move.destination)]
        parts.append(part)
        read.append(bases[move.source] + part.source_offset)
        written.append(into + part.offset)
    messages = joined(machine.tiles, parts)
    last = int(max(messages.source.max(initial=0), messages.set_tiles.max(initial=0)))
    if last >= machine.tiles:
        raise ValueError(f"{machine.name} has no tile {last}")
    return MessageTable(messages, flat(read), flat(written))


def flat(parts: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def joined(tiles: int, parts: list[Transfers]) -> Messages:
    """The messages of several tables, over sets that are all different."""
    sizes = flat([np.diff(part.set_start) for part in parts])
    start = np.append(0, np.cumsum(sizes))
    number, set_start, set_tiles = intern_sets(
        start, flat([part.set_tiles for part in parts])
    )
    sets = np.cumsum([0, *(part.set_start.size - 1 for part in parts)])
    destinations = flat([part.destinations + sets[i] for i, part in enumerate(parts)])
    return Messages(
        tiles,
        flat([part.source for part in parts]),
        flat([part.words for part in parts]),
        number[destinations],
        set_start,
        set_tiles,
    )


def shortened(table: MessageTable, most: int) -> MessageTable:
    """Messages of more than `most` words cut into several, doubled ones into equal
    pieces of whole items."""
    words = table.messages.words
    if not np.any(words > most):
        return table
    count = -(-words // most)
    if table.messages.double is not None:
        count = np.where(table.messages.double, -(-words // (most & ~1)), count)
    of = np.repeat(np.arange(words.size), count)
    number = np.arange(of.size) - np.repeat(np.cumsum(count) - count, count)
    before, after = number * most, np.minimum((number + 1) * most, words[of])
    if table.messages.double is not None:
        even, items = table.messages.double[of], words[of] // 2
        before = np.where(even, number * items // count[of] * 2, before)
        after = np.where(even, (number + 1) * items // count[of] * 2, after)
    messages = replace(table.messages.select(of), words=after - before)
    return MessageTable(
        messages, table.read[of] + 4 * before, table.written[of] + 4 * before
    )


def least_controls(
    machine: Machine, table: MessageTable, asked: Messages | None = None
) -> Ints:
    """(tiles,) control words that no schedule of these messages can save.

    A receiver selects a source for each stretch of addresses that one source fills
    (again and again where it is long), and points at each stretch that is filled at
    all. Senders send `asked`, if that is given, which may be fewer.
    """
    x, messages, tiles = machine.exchange, table.messages, machine.tiles
    sent = messages if asked is None else asked
    sends = -(-sent.slots // x.send_chunk_words)
    first = leaders(messages)
    # in the order of their addresses, on each tile
    message, tile = heard_in_order(messages, table.written, first == np.arange(tiles))
    source, begin = messages.source[message], table.written[message]
    end = begin + 4 * messages.words[message]
    follows = np.zeros(tile.size, np.bool_)
    follows[1:] = (tile[1:] == tile[:-1]) & (begin[1:] == end[:-1])
    same = follows.copy()
    same[1:] &= source[1:] == source[:-1]
    heard = np.bincount(tile[~follows], minlength=tiles + 1) * x.pointer_controls
    starts = np.flatnonzero(~same)
    if starts.size:
        items = np.add.reduceat(messages.slots[message], starts)
        receives = -(-items // RECEIVE_WORDS) * x.source_controls
        heard = heard + np.bincount(tile[starts], receives, tiles + 1)
    total = np.bincount(sent.source, sends * x.send_controls, tiles) + heard[first]
    return np.where(total > 0, total + x.phase_controls, 0).astype(np.int64)


def most_controls(machine: Machine, table: MessageTable) -> int:
    """Control words of the fullest tile if each message came on its own, which is what
    the planner counts with."""
    x, messages = machine.exchange, table.messages
    chunks = -(-messages.slots // x.send_chunk_words)
    total = weighted_count(
        messages.source, chunks * x.send_controls + x.gap_controls, machine.tiles
    )
    sets = messages.set_start.size - 1
    of_set = np.bincount(messages.destinations, minlength=sets)
    heard = np.repeat(of_set, np.diff(messages.set_start))
    total += weighted_count(messages.set_tiles, heard, machine.tiles) * (
        x.source_controls + x.pointer_controls
    )
    return int(total.max(initial=0)) + x.phase_controls


def control_limit(machine: Machine, asked: MessageTable, parts: Parts | None) -> int:
    """Control words that a tile may have at most in the schedule of a phase: those of
    the fullest one in the mode that takes most of them one by one."""
    ways = (parts, None if parts is None else parts.in_ring())
    tables = [asked, *(parts_table(asked, way) for way in ways if way is not None)]
    return max(most_controls(machine, table) for table in tables)


def may_double(machine: Machine, phase: Phase, table: MessageTable) -> Flags:
    """(n,) which messages may go in 64-bit items, were all receivers whole pairs."""
    x, words = machine.exchange, table.messages.words
    if x.pair_tiles != 2:
        return np.zeros(words.size, np.bool_)
    may = (words % 2 == 0) & (words >= 2 * x.pair_least_items)
    bases = window_bases(phase.buffer_bytes)
    aligned = np.array(phase.aligned or [True] * bases.size, np.bool_)
    for place in (table.read, table.written):
        may &= (place % 8 == 0) & aligned[np.searchsorted(bases, place, "right") - 1]
    return may


def parts_table(asked: MessageTable, parts: Parts) -> MessageTable:
    """The parts of the messages asked for, which go from and to the same places."""
    origin = parts.origin
    return MessageTable(parts.messages, asked.read[origin], asked.written[origin])
