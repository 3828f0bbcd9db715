"""Phases and the pairs of buffers that they read and write in one cycle.

A pair is kept in different memory elements (`memory.apart`, placement's part) or is
never read and written in one cycle (`exchange.serial`, the scheduler's part).
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import SSAValue

from tiledialect.diagnostics import fail
from tiledialect.dialects.buffers import buffer_of, storage_of
from tiledialect.dialects.exchange import PhaseOp, SerialOp
from tiledialect.dialects.memory import ApartOp, ProgramOp
from tiledialect.dialects.syntax import carried_location, integer
from tiledialect.lowering.phase_messages import Move, NoStaging, Phase
from tiledialect.lowering.phase_schedule import (
    Pairs,
    Scheduled,
    least_lengths,
    schedule_phase,
    unordered,
)
from tiledialect.machine import Machine

Pair = tuple[SSAValue, SSAValue]


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


def phases_of(program: ProgramOp) -> list[PhaseOp]:
    return [step for step in program.steps if isinstance(step, PhaseOp)]


def scheduled(machine: Machine, op: PhaseOp, serial: Pairs) -> Scheduled:
    """The schedule of an operation's phase; refuses what has none."""
    try:
        return schedule_phase(machine, phase_of(op)[0], serial)
    except NoStaging as error:
        fail(op.moves[error.position], str(error))
    except ValueError as error:
        fail(op, f'phase "{op.phase_name.data}": {error}')


def serialised(machine: Machine, op: PhaseOp) -> Scheduled:
    """The schedule of a phase with all its serial pairs; each gets its cost."""
    numbers = {value: i for i, value in enumerate(op.window)}
    found, taken = scheduled(machine, op, ()), list[tuple[int, int]]()
    for serial in op.serials:
        before = found.numbers["length"]
        taken += [(numbers[left], numbers[right]) for left, right in serial.pairs]
        found = scheduled(machine, op, unordered(taken))
        serial.cost = integer(max(found.numbers["length"] - before, 0))
    return found


def write_schedule(machine: Machine, op: PhaseOp) -> list[Pair]:
    """Schedule a phase; returns the pairs of buffers that it needs apart.

    Pairs that lie in one buffer, which nothing keeps apart, become serial.
    """
    window = op.window
    while True:
        found = serialised(machine, op)
        pairs = [(window[read], window[written]) for read, written in found.together]
        for pair in pairs:
            if storage_of(pair[0]) is storage_of(pair[1]):
                name = storage_of(pair[0]).buffer_name.data
                serialise(op, [pair], f"both lie in {name}")
                break
        else:
            op.set_schedule(found.numbers, found.rows)
            return pairs


def serialise(op: PhaseOp, pairs: list[Pair], reason: str) -> None:
    """Ask for pairs of a phase to be serial; `write_schedule` does it."""
    op.body.block.add_op(SerialOp(pairs, reason, location=carried_location(op)))


def reason_of(op: PhaseOp) -> str:
    """Why the pairs of a phase are kept apart."""
    return f"{op.phase_name.data} reads one and writes the other"


def keep_apart(program: ProgramOp, op: PhaseOp, pairs: list[Pair]) -> None:
    """Declare those of a phase's pairs that are not yet kept apart."""
    known = {frozenset(pair) for apart in program.aparts for pair in apart.pairs}
    new: list[Pair] = []
    for pair in pairs:
        if frozenset(pair) not in known:
            known.add(frozenset(pair))
            new.append(pair)
    if new:
        location = carried_location(op)
        program.declare(ApartOp(new, reason_of(op), location=location))


def of_the_exchange(program: ProgramOp) -> list[ApartOp]:
    """What keeps pairs apart for a phase's sake, which may be serial instead."""
    reasons = {reason_of(op) for op in phases_of(program)}
    return [apart for apart in program.aparts if apart.reason.data in reasons]


def exchange_pairs(program: ProgramOp) -> list[Pair]:
    """The pairs that phases alone need apart, in the program's order."""
    return [pair for apart in of_the_exchange(program) for pair in apart.pairs]


def cycles_lost(machine: Machine, program: ProgramOp, pairs: list[Pair]) -> list[int]:
    """For each pair the least cycles by which phases become longer if it is serial."""
    lost = dict.fromkeys(map(frozenset, pairs), 0)
    for op in phases_of(program):
        phase, window = phase_of(op)
        number = {value: i for i, value in enumerate(window)}
        inside = {
            unordered([(number[left], number[right])])[0]: frozenset((left, right))
            for left, right in pairs
            if left in number and right in number
        }
        least = least_lengths(machine, phase, tuple(inside))
        for pair, cycles in zip(inside.values(), least, strict=True):
            lost[pair] += max(cycles - op.number("length"), 0)
    return [lost[frozenset(pair)] for pair in pairs]


def give_up(
    machine: Machine, program: ProgramOp, pairs: Collection[Pair], reason: str
) -> None:
    """Make pairs serial that were kept apart, in all phases that they meet in."""
    gone = {frozenset(pair) for pair in pairs}
    forget(program, gone)
    for op in phases_of(program):
        window = set(op.window)
        if not any(pair <= window for pair in gone):
            continue
        needed = write_schedule(machine, op)
        meeting = [pair for pair in needed if frozenset(pair) in gone]
        if meeting:
            serialise(op, meeting, reason)
            needed = write_schedule(machine, op)
        keep_apart(program, op, needed)


def forget(program: ProgramOp, gone: set[frozenset[SSAValue]]) -> None:
    """Take pairs from those that the exchange needs apart."""
    for apart in of_the_exchange(program):
        left = [pair for pair in apart.pairs if frozenset(pair) not in gone]
        if len(left) == len(apart.pairs):
            continue
        if left:
            location = carried_location(apart)
            fewer = ApartOp(left, apart.reason.data, location=location)
            program.body.block.insert_op_before(fewer, apart)
        apart.detach()
        apart.erase()
