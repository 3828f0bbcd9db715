"""The schedule of a phase: plain data, from moves and buffers to rows.

The transfers of all moves are one table of messages over the phase's window of
addresses; the scheduler gives each its cycle, and the rows say so. Phases that are
equal in all this share one schedule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tiledialect.layout import Layout
from tiledialect.machine import Machine
from tiledialect.relayout import Transfers, relayout, stack_partials
from tiledialect.rows import (
    RECEIVE_WORDS,
    Ints,
    Receives,
    Rows,
    Sends,
    control_words,
    encode,
    spread,
    window_bases,
)
from tiledialect.schedule.bounds import arrival
from tiledialect.schedule.receivers import heard_in_order, leaders
from tiledialect.schedule.serial import Rule, serial_bound, serialised
from tiledialect.schedule.solve import Schedule, schedule
from tiledialect.schedule.table import Messages, blocks, endpoints, intern_sets
from tiledialect.sorting import order_of

KEPT_SCHEDULES = 128
"""Phases whose schedule is kept for phases equal to them, also of other programs."""


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
    """All that the schedule of a phase depends on: its moves, its buffers' bytes."""

    moves: tuple[Move, ...]
    buffer_bytes: tuple[int, ...]


@dataclass(frozen=True)
class Scheduled:
    """A phase's schedule: numbers by the names of the phase's properties, rows, and
    pairs of buffers (read, written) that some tile uses in one cycle."""

    numbers: dict[str, int]
    rows: Rows
    together: tuple[tuple[int, int], ...]


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


def message_table(machine: Machine, phase: Phase) -> MessageTable:
    """The transfers of all moves in one table, none longer than a message may be."""
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
    return shortened(
        MessageTable(messages, flat(read), flat(written)),
        machine.exchange.max_message_words,
    )


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
    """Messages of more than `most` words cut into several."""
    words = table.messages.words
    if not np.any(words > most):
        return table
    count = -(-words // most)
    of = np.repeat(np.arange(words.size), count)
    before = (np.arange(of.size) - np.repeat(np.cumsum(count) - count, count)) * most
    chosen = table.messages.select(of)
    messages = Messages(
        chosen.tiles,
        chosen.source,
        np.minimum(words[of] - before, most),
        chosen.destinations,
        chosen.set_start,
        chosen.set_tiles,
    )
    return MessageTable(
        messages, table.read[of] + 4 * before, table.written[of] + 4 * before
    )


def least_controls(machine: Machine, table: MessageTable) -> Ints:
    """(tiles,) control words that no schedule of these messages can save.

    A receiver selects a source for each stretch of addresses that one source fills
    (again and again where it is long), and points at each stretch that is filled at
    all.
    """
    x, messages, tiles = machine.exchange, table.messages, machine.tiles
    sends = -(-messages.words // x.send_chunk_words)
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
        words = np.add.reduceat(messages.words[message], starts)
        receives = -(-words // RECEIVE_WORDS) * x.source_controls
        heard = heard + np.bincount(tile[starts], receives, tiles + 1)
    total = np.bincount(messages.source, sends * x.send_controls, tiles) + heard[first]
    return np.where(total > 0, total + x.phase_controls, 0).astype(np.int64)


@dataclass(frozen=True)
class Sent:
    """The messages as they are sent, each with its start and its window addresses."""

    messages: Messages
    start: Ints
    read: Ints
    written: Ints

    def rows(self, machine: Machine, latency: Ints) -> Rows:
        """The programs of all tiles; tiles that hear the same have one program."""
        messages = self.messages
        first = leaders(messages)
        by = first == np.arange(messages.tiles)
        message, tile = heard_in_order(messages, self.start, by)
        receives = Receives(
            tile,
            self.start[message] + latency[tile],
            messages.source[message],
            self.written[message],
            messages.words[message],
        )
        sends = Sends(messages.source, self.start, self.read, messages.words)
        rows = encode(sends, receives, machine.exchange.send_chunk_words)
        return spread(rows, first, latency - latency[first])

    def together(self, latency: Ints, bases: Ints) -> list[tuple[int, int]]:
        """Pairs of window buffers that a tile reads and writes in one cycle, sorted."""
        messages = self.messages
        span = 1 << 40
        key = messages.source * span + self.start
        order = order_of(messages.source, self.start)
        begin, end = key[order], (key + messages.words)[order]
        read = np.searchsorted(bases, self.read[order], side="right") - 1
        written = np.searchsorted(bases, self.written, side="right") - 1
        buffers = np.unique(read)
        before = np.array([np.append(0, np.cumsum(read == one)) for one in buffers])
        possible = buffers.size * np.unique(written).size
        pairs: set[tuple[int, int]] = set()
        for part in blocks(messages.count):
            if len(pairs) == possible:
                break
            message, tile = endpoints(messages.select(part))
            message += part.start
            arrives = tile * span + self.start[message] + latency[tile]
            first = np.searchsorted(end, arrives, side="right")
            last = np.searchsorted(begin, arrives + messages.words[message])
            last = np.maximum(first, last)
            for one, count in zip(buffers.tolist(), before, strict=True):
                meets = count[last] > count[first]
                pairs.update(
                    (one, int(to)) for to in np.unique(written[message[meets]])
                )
        return sorted(pairs)


Pairs = tuple[tuple[int, int], ...]
"""Pairs of window buffers, ascending, the smaller number of each first."""


def unordered(pairs: Iterable[tuple[int, int]]) -> Pairs:
    """The pairs with those that differ in their order alone once."""
    return tuple(sorted({(min(pair), max(pair)) for pair in pairs}))


def rules_of(phase: Phase, table: MessageTable, pairs: Pairs) -> list[Rule]:
    """What the scheduler must know of pairs that are not read and written at once."""
    bases = window_bases(phase.buffer_bytes)
    read = np.searchsorted(bases, table.read, side="right") - 1
    written = np.searchsorted(bases, table.written, side="right") - 1
    both = dict.fromkeys(way for pair in pairs for way in (pair, pair[::-1]))
    rules = [Rule(read == one, written == other) for one, other in both]
    return [rule for rule in rules if rule.reads.any() and rule.writes.any()]


def latencies(machine: Machine) -> Ints:
    return np.array([machine.latency(tile) for tile in range(machine.tiles)], np.int64)


@lru_cache(maxsize=KEPT_SCHEDULES)
def schedule_phase(machine: Machine, phase: Phase, serial: Pairs = ()) -> Scheduled:
    """The schedule of a phase, in which no pair of `serial` is read and written in one
    cycle of a tile. Raises NoStaging, and ValueError as relayout does."""
    if serial and not meets(schedule_phase(machine, phase), serial):
        return schedule_phase(machine, phase)
    table, latency = message_table(machine, phase), latencies(machine)
    control = least_controls(machine, table)
    found = schedule(table.messages, latency, control=control)
    if serial:
        found = serialised(
            table.messages,
            latency,
            rules_of(phase, table, serial),
            first_starts(found),
            control=control,
        )
    made = as_scheduled(machine, phase, table, found)
    assert not meets(made, serial), "the scheduler keeps its rules"
    return made


def first_starts(found: Schedule) -> Ints:
    """When each message asked for is sent first."""
    order = np.lexsort((found.start, found.origin))
    first = np.diff(found.origin[order], prepend=-1) > 0
    return found.start[order][first]


def as_scheduled(
    machine: Machine, phase: Phase, table: MessageTable, found: Schedule
) -> Scheduled:
    """The rows and the numbers of a schedule."""
    latency = latencies(machine)
    sent = Sent(
        found.messages,
        found.start,
        table.read[found.origin] + 4 * found.offset,
        table.written[found.origin] + 4 * found.offset,
    )
    rows = sent.rows(machine, latency)
    controls = int(control_words(rows, machine.exchange).max(initial=0))
    numbers = {
        "length": max(arrival(found.messages, latency, found.start), controls),
        "bound_receive": found.bound.receive,
        "bound_send": found.bound.send,
        "bound_control": found.bound.control,
        "messages": found.messages.count,
        "row_bytes": controls * machine.exchange.control_word_bytes,
    }
    together = sent.together(latency, window_bases(phase.buffer_bytes))
    return Scheduled(numbers, rows, tuple(together))


def meets(found: Scheduled, pairs: Pairs) -> bool:
    """Some pair is read and written in one cycle."""
    return any(pair in pairs for pair in unordered(found.together))


@lru_cache(maxsize=KEPT_SCHEDULES)
def least_lengths(machine: Machine, phase: Phase, pairs: Pairs) -> tuple[int, ...]:
    """For each pair the cycles that its words take on a tile that never reads the one
    while it writes the other."""
    table = message_table(machine, phase)
    return tuple(
        serial_bound(table.messages, rules_of(phase, table, (pair,))) for pair in pairs
    )
