"""check-exchange: proof that every phase delivers what its moves ask for.

Reads   scheduled phases: moves with their layouts, rows, figures; memory.apart pairs.
Writes  nothing.
Holds   every word of the moves' transfers arrives once, from its source, and nothing
        else does; no port is used twice; figures are true; a tile never sends what it
        receives; buffers read and written in one cycle are apart, and no serial pair is
        read and written in one; items of two words keep the rules of pairs of tiles;
        copies that belong to a move are there.
Fails   on the first fault, with phase, tile, cycle and address.

Method: rows are decoded here (`row_reader`), moves are expanded by `relayout`, and
both are compared run by run (`deliveries`, `phase_proof`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tiledialect.checkers.deliveries import MoveTable
from tiledialect.checkers.disproof import Disproof
from tiledialect.checkers.moves import transfers_of
from tiledialect.checkers.phase_proof import Claims, prove_phase
from tiledialect.checkers.window import Window, WindowBuffer
from tiledialect.diagnostics import fail
from tiledialect.dialects.buffers import BufferOp, buffer_of
from tiledialect.dialects.codelet import ComputeOp, CopyOp
from tiledialect.dialects.exchange import MoveOp, PhaseOp
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import (
    machine_of,
    require_rung,
    the_program,
)
from tiledialect.dialects.relayout import RelayoutOp
from tiledialect.machine import Machine


def container(buffer: BufferOp) -> tuple[BufferOp, int]:
    """The buffer that nothing contains around this one, and the offset in it."""
    offset = 0
    while buffer.alias is not None and buffer.alias_offset is not None:
        offset += buffer.alias_offset.value.data
        buffer = buffer_of(buffer.alias)
    return buffer, offset


def containers(value: SSAValue) -> set[SSAValue]:
    """A buffer and all that contain it."""
    found = {value}
    around = buffer_of(value).alias
    return found if around is None else found | containers(around)


def window_values(phase: PhaseOp) -> list[SSAValue]:
    """The buffers of a phase in order of first mention."""
    values: dict[SSAValue, None] = {}
    for move in phase.moves:
        values.update(dict.fromkeys([move.source, move.destination]))
        if move.staging is not None:
            values[move.staging] = None
    return list(values)


def window_of(values: list[SSAValue]) -> Window:
    numbers: dict[BufferOp, int] = {}
    blocks: list[WindowBuffer] = []
    for value in values:
        buffer = buffer_of(value)
        outer, offset = container(buffer)
        blocks.append(
            WindowBuffer(
                name=buffer.buffer_name.data,
                bytes=buffer.size,
                tiles=buffer.tile_set.array(),
                storage=numbers.setdefault(outer, len(numbers)),
                storage_offset=offset,
                align=buffer.align.value.data,
            )
        )
    return Window(blocks)


def apart_pairs(
    program: ProgramOp, values: list[SSAValue]
) -> frozenset[tuple[int, int]]:
    """Pairs of these buffers (by position) that the program keeps apart: what keeps
    two buffers apart keeps apart all that they contain."""
    kept = {pair for op in program.aparts for pair in op.pairs}
    around = [containers(value) for value in values]
    return frozenset(
        (i, j)
        for i in range(len(values))
        for j in range(len(values))
        for left, right in kept
        if left in around[i] and right in around[j]
    )


def serial_pairs(
    phase: PhaseOp, numbers: dict[SSAValue, int]
) -> frozenset[tuple[int, int]]:
    """Pairs, either way round, that the phase says it never reads and writes in one
    cycle, whatever keeps them apart besides."""
    pairs = [pair for op in phase.serials for pair in op.pairs]
    ways = [way for left, right in pairs for way in ((left, right), (right, left))]
    return frozenset((numbers[one], numbers[other]) for one, other in ways)


def check_phase(machine: Machine, program: ProgramOp, phase: PhaseOp) -> None:
    if phase.rows is None:
        fail(phase, f'phase "{phase.phase_name.data}" has no rows')
    values = window_values(phase)
    numbers = {value: number for number, value in enumerate(values)}
    moves = [_move_table(move, numbers) for move in phase.moves]
    try:
        prove_phase(
            machine,
            window_of(values),
            moves,
            phase.rows.data,
            _claims(phase),
            apart_pairs(program, values) - serial_pairs(phase, numbers),
        )
    except Disproof as fault:
        step = phase.step.value.data
        fail(phase, f'phase "{phase.phase_name.data}" of step {step}: {fault}')


def _move_table(move: MoveOp, numbers: dict[SSAValue, int]) -> MoveTable:
    return MoveTable(
        source=numbers[move.source],
        destination=numbers[move.destination],
        staging=-1 if move.staging is None else numbers[move.staging],
        transfers=transfers_of(move),
    )


def _claims(phase: PhaseOp) -> Claims:
    return Claims(
        length=phase.number("length"),
        bound_receive=phase.number("bound_receive"),
        bound_send=phase.number("bound_send"),
        bound_control=phase.number("bound_control"),
        messages=phase.number("messages"),
        row_bytes=phase.number("row_bytes"),
    )


def check_copies(program: ProgramOp) -> None:
    """Refuses half a relayout: copies without their move, a move without its copies."""
    steps = program.steps
    moves = [move for op in steps if isinstance(op, PhaseOp) for move in op.moves]
    copies = [
        call
        for op in steps
        if isinstance(op, ComputeOp)
        for call in op.body.block.ops
        if isinstance(call, CopyOp)
    ]
    moved = Counter(_relayout_key(move) for move in moves)
    copied = Counter(_relayout_key(copy) for copy in copies)
    for move in moves:
        wants = transfers_of(move).copy_tile.size > 0
        if wants and copied[_relayout_key(move)] != moved[_relayout_key(move)]:
            _fail_half(move, "bytes that stay on their tile or wait in staging", copied)
    for copy in copies:
        wants = transfers_of(copy).source.size > 0
        if wants and copied[_relayout_key(copy)] != moved[_relayout_key(copy)]:
            _fail_half(copy, "words that change their tile", moved)


RelayoutKey = tuple[object, ...]


def _relayout_key(op: RelayoutOp) -> RelayoutKey:
    layouts = op.source_layout, op.destination_layout, op.stack is not None
    return op.source, op.destination, op.staging, *layouts


def _fail_half(op: RelayoutOp, what: str, others: Counter[RelayoutKey]) -> None:
    source = buffer_of(op.source).buffer_name.data
    destination = buffer_of(op.destination).buffer_name.data
    other = "codelet.copy" if isinstance(op, MoveOp) else "exchange.move"
    found = others[_relayout_key(op)]
    fail(
        op,
        f"the relayout of {source} to {destination} has {what},"
        f" for which there are {found} {other} operations",
    )


@dataclass(frozen=True)
class CheckExchangePass(ModulePass):
    """Refuses a module of which some phase does not do what its moves ask for."""

    name = "check-exchange"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_rung(op, self.name, 5)
        machine = machine_of(op)
        program = the_program(op, ProgramOp)
        check_copies(program)
        for step in program.steps:
            if isinstance(step, PhaseOp):
                check_phase(machine, program, step)
