"""Bytes that a tile of a program needs, foretold from its buffers and phases.

The search compares plans by closed forms that hold for whole tables of candidates. Of
one plan that is lowered more is known: which buffers there are, on which tiles and in
which steps, what codelets are used, and the transfers of every phase. What is not known
is taken at its worst: where a schedule is long to make, each message costs all control
words that it may; and whatever a phase reads and writes lies in different elements. So
the buffers' addresses are those of a problem that is no easier than the real one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tiledialect.dialects.exchange import PhaseOp
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import machine_of, reserve_of, the_program
from tiledialect.dialects.support import Support, support_of
from tiledialect.lowering.demands import Demands, demands_of
from tiledialect.lowering.memory_problem import (
    limit_of,
    placement_problem,
    tile_classes,
)
from tiledialect.lowering.phase_messages import (
    MessageTable,
    NoStaging,
    Phase,
    control_limit,
    may_double,
    transfer_table,
)
from tiledialect.lowering.phase_schedule import KEPT_SCHEDULES, schedule_phase
from tiledialect.lowering.placed import placed
from tiledialect.lowering.serial_pairs import phase_of, phases_of
from tiledialect.machine import Machine
from tiledialect.placement.boxes import make_boxes
from tiledialect.placement.live import live_peak
from tiledialect.placement.problem import Placement, PlacementError, Problem
from tiledialect.rows import RECEIVE_WORDS, control_words
from tiledialect.schedule.bounds import weighted_count
from tiledialect.schedule.pairs import cut_by_receivers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

PLACED = ("minimal", "fits")

GAPS = 64
"""The search allows for 1 part in so many of gaps between buffers."""

NEAR = 128
"""Addresses are good enough that take 1 part in so many more than is live at once."""

FEW_MESSAGES = 1 << 14
"""The rows of a phase of so many messages are those of its schedule."""


@dataclass(frozen=True)
class Foretold:
    """Addresses for the buffers of a program whose support is at most this."""

    support: Support
    problem: Problem
    found: Placement

    @property
    def bytes(self) -> int:
        """The footprint, support included."""
        return self.support.bytes + self.found.footprint

    def holds_for(self, support: Support, problem: Problem) -> bool:
        """Whether the addresses keep the rules of the real problem."""
        pairs = {(min(pair), max(pair)) for pair in problem.apart.tolist()}
        mine = {(one, other) for one, other in self.problem.apart.tolist()}
        return (
            support.bytes <= self.support.bytes
            and bool((problem.low <= self.problem.low).all())
            and pairs <= mine
        )


def foretold(module: ModuleOp, searched: int) -> Foretold | None:
    """What a module on rung 4 or 5 will need, by buffers and transfers alone: its rows
    and pairs apart are not looked at. `searched`: bytes of its plan by the search. None
    where no addresses are found for all that may have to lie apart."""
    machine, program = machine_of(module), the_program(module, ProgramOp)
    demands = demands_of(machine, program)
    pairs = {*demands.apart, *phase_pairs(program, demands)}
    demands.apart = sorted({(min(pair), max(pair)) for pair in pairs})
    classes, _ = tile_classes(machine, demands.buffers)
    limit, reserve = limit_of(module, machine), reserve_of(module)

    def problem(support: Support, goal: int | None) -> Problem:
        return placement_problem(
            machine, demands, support, classes, limit, reserve, goal
        )

    support = support_of(machine, program)
    try:
        live = live_peak(make_boxes(problem(support, None))).bytes
        # what is left of the search's bytes without tensors and gaps is its support
        support = with_rows(machine, program, support, searched - live - live // GAPS)
        near = support.bytes + live
        asked = problem(support, near + near // NEAR)
        found = placed(asked, minimise=False)
    except (PlacementError, NoStaging, ValueError):
        return None
    return Foretold(support, asked, found) if found.status in PLACED else None


def foretold_bytes(module: ModuleOp, searched: int) -> int:
    """The footprint of a module on rung 4, support included, within its budget: as it
    is foretold, or else `searched`."""
    made = foretold(module, searched)
    size = searched if made is None else made.bytes
    return min(size, limit_of(module, machine_of(module)))


def with_rows(
    machine: Machine, program: ProgramOp, bare: Support, planned: int
) -> Support:
    """The support with rows: those that the search `planned` it with, or those that
    the transfers may take, if that is less."""
    fixed = bare.code + bare.program + bare.profile
    reserved = machine.memory.support_bytes
    total = planned
    if planned > reserved:
        total = min(planned, fixed + most_row_bytes(machine, program))
    total = max(total, reserved, fixed)
    return replace(bare, rows=total - fixed, bytes=total)


def most_row_bytes(machine: Machine, program: ProgramOp) -> int:
    """Bytes of control words of the fullest tile, over all phases."""
    phases = phases_of(program)
    # schedules of more phases than are kept would be made twice
    few = FEW_MESSAGES if len(phases) <= KEPT_SCHEDULES else -1
    total = np.zeros(machine.tiles, np.int64)
    for op in phases:
        total += controls_at_most(machine, phase_of(op)[0], few)
    return int(total.max(initial=0)) * machine.exchange.control_word_bytes


def controls_at_most(machine: Machine, phase: Phase, few: int) -> Ints:
    """(tiles,) control words that a phase may take: those of its schedule, where it has
    up to `few` messages, and all that its messages may take elsewhere."""
    table = transfer_table(machine, phase)
    if table.messages.count > few:
        return counted_controls(machine, phase, table)
    rows = schedule_phase(machine, phase).rows  # kept for the pass that needs it
    total = np.zeros(machine.tiles, np.int64)
    total[rows.tiles] = control_words(rows, machine.exchange)
    return total


def counted_controls(machine: Machine, phase: Phase, table: MessageTable) -> Ints:
    """(tiles,) control words of a phase at most, by the rules of the planner: a pause
    before each message; in a stack one for each set of tiles that it goes to, as all
    that goes to one leaves in one go."""
    parts = cut_by_receivers(table.messages, may_double(machine, phase, table))
    if parts is not None:  # the scheduler's own limit, on whichever tile
        return np.full(machine.tiles, control_limit(machine, table, parts))
    x, tiles, messages = machine.exchange, machine.tiles, table.messages
    chunks = -(-messages.words // x.send_chunk_words)
    pauses = np.ones_like(chunks)
    if all(move.stack for move in phase.moves):
        ways = messages.source * messages.set_start.size + messages.destinations
        pauses[:] = 0
        pauses[np.unique(ways, return_index=True)[1]] = 1
    sends = chunks * x.send_controls + pauses * x.gap_controls
    total = weighted_count(messages.source, sends, tiles)
    pieces = -(-messages.words // min(RECEIVE_WORDS, x.max_message_words))
    sets = messages.set_start.size - 1
    of_set = weighted_count(messages.destinations, pieces, sets)
    heard = np.repeat(of_set, np.diff(messages.set_start))
    controls = x.source_controls + x.pointer_controls
    total += weighted_count(messages.set_tiles, heard, tiles) * controls
    return np.where(total > 0, total + x.phase_controls, 0)


def phase_pairs(program: ProgramOp, demands: Demands) -> list[tuple[int, int]]:
    """Buffers that a phase reads and writes, maybe in one cycle of a tile."""
    pairs: dict[tuple[int, int], None] = {}
    for phase in phases_of(program):
        read, written = _buffers_of(phase, demands)
        pairs |= dict.fromkeys((i, j) for i in read for j in written if i != j)
    return list(pairs)


def _buffers_of(phase: PhaseOp, demands: Demands) -> tuple[list[int], list[int]]:
    """The buffers that a phase sends from, and those that it fills."""
    moves = phase.moves
    read = [demands.number(move.source) for move in moves]
    written = [demands.number(move.destination) for move in moves]
    staged = [move.staging for move in moves if move.staging is not None]
    return read, written + [demands.number(value) for value in staged]
