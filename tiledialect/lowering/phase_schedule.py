"""The schedule of a phase: plain data, from moves and buffers to rows.

The transfers of all moves are one table of messages over the phase's window of
addresses; the scheduler gives each its cycle, and the rows say so. Where messages may
go in 64-bit items, that is tried too and kept if the phase gets shorter. Phases that
are equal in all this share one schedule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tiledialect.lowering.phase_messages import (
    MessageTable,
    Phase,
    control_limit,
    least_controls,
    may_double,
    parts_table,
    shortened,
    transfer_table,
)
from tiledialect.machine import Machine
from tiledialect.rows import (
    Ints,
    Receives,
    Rows,
    Sends,
    control_words,
    encode,
    spread,
    window_bases,
)
from tiledialect.schedule.bounds import Bound, arrival, bound_of, loads
from tiledialect.schedule.in_pairs import repaired, schedule_in_pairs
from tiledialect.schedule.pairs import Parts, cut_by_receivers
from tiledialect.schedule.receivers import heard_in_order, leaders
from tiledialect.schedule.search import GOOD
from tiledialect.schedule.serial import Rule, serial_bound, serialised
from tiledialect.schedule.solve import Schedule, schedule
from tiledialect.schedule.table import Messages, blocks, endpoints
from tiledialect.sorting import order_of

KEPT_SCHEDULES = 128
"""Phases whose schedule is kept for phases equal to them, also of other programs."""


@dataclass(frozen=True)
class Scheduled:
    """A phase's schedule: numbers by the names of the phase's properties, rows, and
    pairs of buffers (read, written) that some tile uses in one cycle."""

    numbers: dict[str, int]
    rows: Rows
    together: tuple[tuple[int, int], ...]


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
        double = messages.double
        receives = Receives(
            tile,
            self.start[message] + latency[tile],
            messages.source[message],
            self.written[message],
            messages.words[message],
            None if double is None else double[message],
        )
        sends = Sends(messages.source, self.start, self.read, messages.words, double)
        rows = encode(sends, receives, machine.exchange.send_chunk_words)
        return spread(rows, first, latency - latency[first])

    def together(self, latency: Ints, bases: Ints) -> list[tuple[int, int]]:
        """Pairs of window buffers that a tile reads and writes in one cycle, sorted."""
        messages = self.messages
        span = 1 << 40
        key = messages.source * span + self.start
        order = order_of(messages.source, self.start)
        slots = messages.slots
        begin, end = key[order], (key + slots)[order]
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
            last = np.searchsorted(begin, arrives + slots[message])
            last = np.maximum(first, last)
            for one, count in zip(buffers.tolist(), before, strict=True):
                meets = count[last] > count[first]
                pairs.update(
                    (one, int(to)) for to in np.unique(written[message[meets]])
                )
        return sorted(pairs)


@dataclass(frozen=True)
class Timed:
    """Messages as they are sent and their rows; cycles and control words of both."""

    sent: Sent
    rows: Rows
    length: int
    controls: int

    @property
    def cost(self) -> tuple[int, int]:
        """What is least in the best of several."""
        return self.length, self.controls


def timed(
    machine: Machine, table: MessageTable, latency: Ints, found: Schedule
) -> Timed:
    """A schedule of a table with its rows."""
    sent = Sent(
        found.messages,
        found.start,
        table.read[found.origin] + 4 * found.offset,
        table.written[found.origin] + 4 * found.offset,
    )
    rows = sent.rows(machine, latency)
    controls = int(control_words(rows, machine.exchange).max(initial=0))
    length = max(arrival(found.messages, latency, found.start), controls)
    return Timed(sent, rows, length, controls)


def bound_in_pairs(
    machine: Machine, asked: MessageTable, parts: Parts, latency: Ints
) -> Bound:
    """The bound of a phase some of whose messages may be doubled."""
    control = least_controls(machine, parts_table(asked, parts), parts.asked)
    return bound_of(parts.loads(latency), control)


def doubled(
    machine: Machine,
    asked: MessageTable,
    parts: Parts,
    latency: Ints,
    good: float,
    most: int,
) -> Timed | None:
    """The shortest schedule found of messages cut in parts, or one of at most `good`
    cycles; None if each has more than `most` control words on a tile."""
    ways: list[tuple[int, MessageTable]] = []
    for way in (parts, parts.in_ring(), parts.uncut()):
        if way is not None:
            longest = machine.exchange.max_message_words
            table = shortened(parts_table(asked, way), longest)
            ways.append((bound_of(loads(table.messages, latency), None).cycles, table))
    best: tuple[MessageTable, Schedule, Timed] | None = None
    for bound, table in sorted(ways, key=lambda way: way[0]):
        if best is not None and best[1].length <= max(bound, good):
            break
        found = schedule_in_pairs(table.messages, latency)
        if found is None or (best is not None and found.length >= best[1].length):
            continue
        fit = timed(machine, table, latency, found)
        if fit.controls <= most:
            best = table, found, fit
    if best is None:
        return None
    table, found, fit = best
    other = repaired(found, latency)
    if other.length < found.length:
        last = timed(machine, table, latency, other)
        return last if last.controls <= most else fit
    return fit


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
    asked, latency = transfer_table(machine, phase), latencies(machine)
    table = shortened(asked, machine.exchange.max_message_words)
    control = least_controls(machine, table)
    plain = bound = bound_of(loads(table.messages, latency), control)
    parts = cut_by_receivers(asked.messages, may_double(machine, phase, asked))
    most = control_limit(machine, asked, parts)
    best: Timed | None = None
    if parts is not None:
        bound = bound_in_pairs(machine, asked, parts, latency)
    if parts is not None and not serial:
        # serial: items of two words would have to keep the rules as well
        good = bound.cycles * GOOD
        best = doubled(machine, asked, parts, latency, good, most)
    if best is None or best.length >= plain.cycles:
        other = in_words(machine, phase, table, control, serial, most)
        best = other if best is None or other.cost <= best.cost else best
    made = as_scheduled(machine, phase, best, bound)
    assert not meets(made, serial), "the scheduler keeps its rules"
    return made


def in_words(
    machine: Machine,
    phase: Phase,
    table: MessageTable,
    control: Ints,
    serial: Pairs,
    most: int,
) -> Timed:
    """The schedule in 32-bit mode; of whole messages if others have more than `most`
    control words on a tile."""
    latency = latencies(machine)
    found = schedule(table.messages, latency, control=control)
    if serial:
        rules, first = rules_of(phase, table, serial), first_starts(found)
        found = serialised(table.messages, latency, rules, first, control=control)
        return timed(machine, table, latency, found)
    best = timed(machine, table, latency, found)
    if best.controls <= most:
        return best
    found = schedule(table.messages, latency, control=control, split=False)
    return timed(machine, table, latency, found)


def first_starts(found: Schedule) -> Ints:
    """When each message asked for is sent first."""
    order = np.lexsort((found.start, found.origin))
    first = np.diff(found.origin[order], prepend=-1) > 0
    return found.start[order][first]


def as_scheduled(
    machine: Machine, phase: Phase, best: Timed, bound: Bound
) -> Scheduled:
    """The rows and the numbers of a schedule."""
    numbers = {
        "length": best.length,
        "bound_receive": bound.receive,
        "bound_send": bound.send,
        "bound_control": bound.control,
        "messages": best.sent.messages.count,
        "row_bytes": best.controls * machine.exchange.control_word_bytes,
    }
    latency, bases = latencies(machine), window_bases(phase.buffer_bytes)
    together = best.sent.together(latency, bases)
    return Scheduled(numbers, best.rows, tuple(together))


def meets(found: Scheduled, pairs: Pairs) -> bool:
    """Some pair is read and written in one cycle."""
    return any(pair in pairs for pair in unordered(found.together))


@lru_cache(maxsize=KEPT_SCHEDULES)
def least_lengths(machine: Machine, phase: Phase, pairs: Pairs) -> tuple[int, ...]:
    """For each pair the cycles that its words take on a tile that never reads the one
    while it writes the other."""
    most = machine.exchange.max_message_words
    table = shortened(transfer_table(machine, phase), most)
    return tuple(
        serial_bound(table.messages, rules_of(phase, table, (pair,))) for pair in pairs
    )
