"""check-memory: proof that every buffer lies where it may, and keeps what is in it.

Reads   placed buffers, binds, memory.apart pairs, the steps with their codelets and
        rows, the memory map; the module's budget and reserve.
Writes  nothing.
Holds   two buffers of a tile and step share no byte; alignment, regions and memory
        elements are as codelets and exchange need them; every read finds what was
        written for it; the map's figures are true, and within budget and machine; the
        footprint is no more than the certificate foretells. The phases of a program
        with serial pairs, which placement may have scheduled anew, are right.
Fails   on the first fault, with buffer, tile, step and addresses.

Method: pairs of buffers as tables of flags (`overlap`), uses in order of time
(`lifetimes`), codelets at the true bytes of their views (`calls`), bytes by a sweep
over addresses for each class of tiles with the same buffers (`footprint`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tiledialect.checkers.calls import check_call
from tiledialect.checkers.check_exchange import check_phase
from tiledialect.checkers.disproof import Disproof
from tiledialect.checkers.footprint import Occupied, occupied
from tiledialect.checkers.lifetimes import Lifetimes
from tiledialect.checkers.overlap import (
    Misplaced,
    check_addresses,
    check_apart,
    check_no_overlap,
    check_rows_apart,
)
from tiledialect.checkers.program_reader import PlacedProgram, read_placed
from tiledialect.checkers.row_reader import row_controls
from tiledialect.codelets import code_bytes
from tiledialect.diagnostics import fail
from tiledialect.dialects.codelet import ComputeOp, CopyOp, FillOp, RunOp
from tiledialect.dialects.exchange import PhaseOp
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.memory_map import MAP_FIELDS, MapOp
from tiledialect.dialects.module_attributes import (
    CERTIFICATE,
    budget_of,
    machine_of,
    require_rung,
    reserve_of,
    the_program,
)
from tiledialect.machine import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Support:
    """What a tile needs besides tensors, in bytes, as this checker finds it."""

    code: int
    program: int
    row_bytes: int
    profile: int
    reservation: int

    @property
    def bytes(self) -> int:
        need = self.code + self.program + self.row_bytes + self.profile
        return max(self.reservation, need)


def support_of(machine: Machine, program: ProgramOp) -> Support:
    """The code of all codelets used, and the rows of the tile that has most."""
    controls = np.zeros(machine.tiles, np.int64)
    families: set[str] = set()
    chains: set[object] = set()
    for step in program.steps:
        if isinstance(step, PhaseOp):
            tiles, issued = _phase_controls(machine, step)
            controls[tiles] += issued
        elif isinstance(step, ComputeOp):
            _note_code(step, families, chains)
    code = code_bytes(machine, families, len(chains), 0)
    with_steps = code_bytes(machine, families, len(chains), len(program.steps))
    return Support(
        code=code,
        program=with_steps - code,
        row_bytes=int(controls.max(initial=0)) * machine.exchange.control_word_bytes,
        profile=machine.code.profile_bytes,
        reservation=machine.memory.support_bytes,
    )


def _phase_controls(machine: Machine, phase: PhaseOp) -> tuple[Ints, Ints]:
    """Tiles that take part in a phase, and the control words of each."""
    if phase.rows is None:
        fail(phase, f'phase "{phase.phase_name.data}" has no rows')
    try:
        return phase.rows.data.tiles, row_controls(machine, phase.rows.data)
    except Disproof as fault:
        fail(phase, f'phase "{phase.phase_name.data}": {fault}')


def _note_code(step: ComputeOp, families: set[str], chains: set[object]) -> None:
    for call in step.body.block.ops:
        if isinstance(call, RunOp):
            families.add(call.family.data)
            if call.family.data == "map":
                chains.add(_chain(call))
        elif isinstance(call, CopyOp):
            families.add("copy")
        elif isinstance(call, FillOp):
            families.add("fill")


def _chain(call: RunOp) -> object:
    """What makes two maps the same code: their stages and the format they start in."""
    return call.parameters.data.get("stages"), call.views.data[0].format


def check_map(found: Occupied, support: Support, limit: int, map: MapOp) -> None:
    """The figures of the map are those of the buffers; all count the support in."""
    peaks = list(map.peaks.get_values())
    if len(peaks) > len(found.peaks):
        raise Disproof(f"the map has {len(peaks)} peaks, more than there are steps")
    live = found.peaks[: len(peaks)] + support.bytes
    truth = {
        "footprint": support.bytes + found.ever,
        "limit": limit,
        "support": support.bytes,
        "code": support.code,
        "program": support.program,
        "row_bytes": support.row_bytes,
        "profile": support.profile,
        "live_peak": int(live.max(initial=support.bytes)),
        "peak_step": int(np.argmax(live)) if len(live) else 0,
    }
    for name in MAP_FIELDS:
        if map.number(name) != truth[name]:
            raise Disproof(
                f"the map says that {name} is {map.number(name)}, it is {truth[name]}"
            )
    for step, (said, peak) in enumerate(zip(peaks, live, strict=True)):
        if said != peak:
            raise Disproof(
                f"the map says that step {step} has {said} live bytes, on tile"
                f" {found.peak_tiles[step]} it has {peak}"
            )


def check_budget(
    machine: Machine,
    found: Occupied,
    support: Support,
    budget: int | None,
    reserve: int,
) -> None:
    """The footprint is within the budget, and with the reserve within the machine."""
    footprint = support.bytes + found.ever
    parts = (
        f"{found.ever} bytes of buffers, {support.bytes} of support"
        f" (code {support.code}, program {support.program}, rows {support.row_bytes},"
        f" profile {support.profile}; reservation {support.reservation})"
    )
    if budget is not None and footprint > budget:
        raise Disproof(
            f"tile {found.ever_tile} takes {footprint} bytes, {footprint - budget} more"
            f" than the budget of {budget}: {parts}"
        )
    if footprint + reserve > machine.max_bytes:
        over = footprint + reserve - machine.max_bytes
        raise Disproof(
            f"tile {found.ever_tile} takes {footprint} bytes and {reserve} are in"
            f" reserve, {over} more than the {machine.max_bytes} there are: {parts}"
        )


def check_promise(footprint: int, foretold: int | None) -> None:
    """The planner's estimate was none too small."""
    if foretold is not None and footprint > foretold:
        raise Disproof(
            f"the footprint of {footprint} bytes is {footprint - foretold} more than"
            f" the {foretold} that the certificate foretells"
        )


def prove_memory(
    machine: Machine,
    program: ProgramOp,
    map: MapOp,
    budget: int | None,
    reserve: int,
    foretold: int | None = None,
) -> None:
    """Refuses a program whose memory is not as it should be."""
    check_serial(machine, program)
    placed = read_placed(program, machine)
    support = support_of(machine, program)
    try:
        check_addresses(machine, placed.blocks, support.bytes, reserve)
        check_no_overlap(placed.blocks)
        check_rows_apart(machine, placed.blocks, placed.exchanged, support.row_bytes)
        Lifetimes(placed.blocks, placed.uses).check()
        _check_calls(machine, placed)
        _check_apart_pairs(machine, program, placed)
        found = occupied(placed.blocks)
        check_budget(machine, found, support, budget, reserve)
    except Misplaced as fault:
        fail(placed.operations[fault.number], str(fault))
    except Disproof as fault:
        fail(program, str(fault))
    try:
        room = machine.max_bytes - reserve
        limit = room if budget is None else min(budget, room)
        check_map(found, support, limit, map)
        check_promise(found.ever + support.bytes, foretold)
    except Disproof as fault:
        fail(map, str(fault))


def check_serial(machine: Machine, program: ProgramOp) -> None:
    """All phases are right, where some pair is serial for want of a placement."""
    phases = [step for step in program.steps if isinstance(step, PhaseOp)]
    if any(phase.serials for phase in phases):
        for phase in phases:
            check_phase(machine, program, phase)


def _check_calls(machine: Machine, placed: PlacedProgram) -> None:
    for op, call in placed.calls:
        try:
            check_call(machine, placed.blocks, call)
        except Disproof as fault:
            fail(op, str(fault))


def _check_apart_pairs(
    machine: Machine, program: ProgramOp, placed: PlacedProgram
) -> None:
    numbers: dict[SSAValue, int] = {
        op.result: number for number, op in enumerate(placed.operations)
    }
    for op in program.aparts:
        pairs = [(numbers[left], numbers[right]) for left, right in op.pairs]
        check_apart(machine, placed.blocks, pairs)


@dataclass(frozen=True)
class CheckMemoryPass(ModulePass):
    """Refuses a module in which some buffer does not lie where it may."""

    name = "check-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_rung(op, self.name, 6)
        program = the_program(op, ProgramOp)
        if program.map is None:
            fail(program, "a placed program has a memory.map, this one has none")
        machine = machine_of(op)
        budget, reserve = budget_of(op), reserve_of(op)
        foretold = _foretold(op)
        prove_memory(machine, program, program.map, budget, reserve, foretold)


def _foretold(module: ModuleOp) -> int | None:
    """Bytes a tile by the certificate; None where there is none."""
    certificate = module.attributes.get(CERTIFICATE)
    if not isinstance(certificate, DictionaryAttr):
        return None
    bytes = certificate.data.get("bytes")
    return bytes.value.data if isinstance(bytes, IntegerAttr) else None
