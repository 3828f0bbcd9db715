"""Schedule: who sends what to whom at which cycle, for every exchange phase.

Reads   exchange.phase operations of rung 4: their moves, the buffers these name.
Writes  each phase's rows, length, bounds and counts; memory.apart pairs.
Holds   the rows deliver every word of the moves' transfers once and nothing else; a
        buffer that a tile reads and one that it writes in the same cycle are apart.
Fails   when a tile would read and write one buffer in the same cycle.

Method: the transfers of all moves are one table of messages over the phase's window of
addresses; the scheduler gives each its cycle, and the rows say so. Where messages may
go in 64-bit items, that is tried too and kept if the phase gets shorter. Phases that
are equal in all this share one schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tiledialect.diagnostics import fail
from tiledialect.dialects.buffers import buffer_of, storage_of
from tiledialect.dialects.exchange import PhaseOp
from tiledialect.dialects.memory import ApartOp, ProgramOp
from tiledialect.dialects.module_attributes import (
    machine_of,
    require_rung,
    set_rung,
    the_program,
)
from tiledialect.dialects.syntax import carried_location
from tiledialect.machine import Machine
from tiledialect.phase_messages import (
    MessageTable,
    Move,
    NoStaging,
    Phase,
    least_controls,
    may_double,
    most_controls,
    parts_table,
    shortened,
    transfer_table,
)
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
from tiledialect.schedule.in_pairs import schedule_in_pairs
from tiledialect.schedule.pairs import Parts, cut_by_receivers
from tiledialect.schedule.receivers import heard_in_order, leaders
from tiledialect.schedule.search import GOOD
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
    machine: Machine, asked: MessageTable, parts: Parts, latency: Ints, best: Timed
) -> Timed:
    """The schedule of messages cut in parts, or `best` where that is no longer."""
    bound = bound_of(loads(parts.messages, latency), None)
    most = most_controls(machine, parts_table(asked, parts))
    for way in (parts.in_ring(), parts):
        if way is None or best.length <= bound.cycles * GOOD:
            continue
        longest = machine.exchange.max_message_words
        table = shortened(parts_table(asked, way), longest)
        found = schedule_in_pairs(table.messages, latency)
        if found is None or found.length >= best.length:
            continue
        other = timed(machine, table, latency, found)
        if other.length < best.length and other.controls <= most:
            best = other
    return best


@lru_cache(maxsize=KEPT_SCHEDULES)
def schedule_phase(machine: Machine, phase: Phase) -> Scheduled:
    """The schedule of a phase. Raises NoStaging, and ValueError as relayout does."""
    asked = transfer_table(machine, phase)
    latency = np.array([machine.latency(tile) for tile in range(machine.tiles)])
    table = shortened(asked, machine.exchange.max_message_words)
    control = least_controls(machine, table)
    found = schedule(table.messages, latency, control=control)
    best, bound = timed(machine, table, latency, found), found.bound
    may = may_double(machine, phase, asked)
    parts = cut_by_receivers(asked.messages, may)
    if parts is not None:
        bound = bound_in_pairs(machine, asked, parts, latency)
    while parts is not None and best.length > bound.cycles * GOOD:
        best = doubled(machine, asked, parts, latency, best)
        parts = parts.uncut()
    numbers = {
        "length": best.length,
        "bound_receive": bound.receive,
        "bound_send": bound.send,
        "bound_control": bound.control,
        "messages": best.sent.messages.count,
        "row_bytes": best.controls * machine.exchange.control_word_bytes,
    }
    together = best.sent.together(latency, window_bases(phase.buffer_bytes))
    return Scheduled(numbers, best.rows, tuple(together))


def phase_of(op: PhaseOp) -> tuple[Phase, list[SSAValue]]:
    """The plain phase of an operation, and the buffers of its window in order."""
    values = op.window
    window = {value: i for i, value in enumerate(values)}
    moves = tuple(
        Move(
            window[move.source],
            window[move.destination],
            -1 if move.staging is None else window[move.staging],
            move.source_layout.data,
            move.destination_layout.data,
            move.stack is not None,
        )
        for move in op.moves
    )
    buffers = [buffer_of(value) for value in values]
    sizes = tuple(buffer.size for buffer in buffers)
    aligned = tuple(buffer.align.value.data % 8 == 0 for buffer in buffers)
    return Phase(moves, sizes, aligned), values


def write_schedule(machine: Machine, op: PhaseOp) -> list[tuple[SSAValue, SSAValue]]:
    """Schedule a phase; returns the pairs of buffers that it needs apart."""
    phase, window = phase_of(op)
    try:
        found = schedule_phase(machine, phase)
    except NoStaging as error:
        fail(op.moves[error.position], str(error))
    except ValueError as error:
        fail(op, f'phase "{op.phase_name.data}": {error}')
    op.set_schedule(found.numbers, found.rows)
    pairs = [(window[read], window[written]) for read, written in found.together]
    for read, written in pairs:
        if storage_of(read) is storage_of(written):
            fail(
                op,
                f'phase "{op.phase_name.data}" reads'
                f' "{buffer_of(read).buffer_name.data}" and writes'
                f' "{buffer_of(written).buffer_name.data}" in one cycle, and both'
                " are the same bytes",
            )
    return pairs


@dataclass(frozen=True)
class ScheduleExchangePass(ModulePass):
    """Gives every exchange phase its rows."""

    name = "schedule-exchange"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_rung(op, self.name, 4)
        machine, program = machine_of(op), the_program(op, ProgramOp)
        known = {frozenset(pair) for apart in program.aparts for pair in apart.pairs}
        for phase in program.steps:
            if not isinstance(phase, PhaseOp):
                continue
            pairs = write_schedule(machine, phase)
            new = [pair for pair in pairs if frozenset(pair) not in known]
            known.update(frozenset(pair) for pair in new)
            if new:
                reason = f"{phase.phase_name.data} reads one and writes the other"
                apart = ApartOp(new, reason, location=carried_location(phase))
                program.declare(apart)
        set_rung(op, 5)
