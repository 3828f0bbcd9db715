"""The package of a placed program: translation only, every decision has been made.

Reads   a module at rung 6.
Writes  the bytes of a package.
Holds   every buffer, step, row and call of the module is in the package, with its
        address; window addresses in rows have become addresses of the SRAM.
Fails   when a buffer has no address or a phase no rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.arg_spec import ArgSpecConvertible

from tiledialect import __version__
from tiledialect.backend.call_runs import copy_runs, fill_runs
from tiledialect.diagnostics import UNKNOWN, fail
from tiledialect.dialects.buffers import BufferOp, buffer_of
from tiledialect.dialects.codelet import ComputeOp, CopyOp, FillOp, RunOp
from tiledialect.dialects.codelet import View as BufferView
from tiledialect.dialects.exchange import PhaseOp
from tiledialect.dialects.memory import BindOp, ProgramOp
from tiledialect.dialects.memory_map import MapOp
from tiledialect.dialects.module_attributes import (
    CERTIFICATE,
    ENTRY,
    SOURCE,
    budget_of,
    machine_of,
    plain_value,
    require_rung,
    reserve_of,
    text_of,
    the_program,
)
from tiledialect.dialects.syntax import carried_location
from tiledialect.dialects.tile_types import tensor_form
from tiledialect.layout_json import Json
from tiledialect.rows import relocate, window_bases
from tiledialect.runtime.package import (
    Bind,
    Buffer,
    Call,
    ComputeStep,
    ExchangeStep,
    Moves,
    Package,
    Rows,
    Step,
    Support,
    View,
    to_bytes,
)

Ints = NDArray[np.int64]


def address_of(value: SSAValue) -> int:
    """Where a buffer lies; it must have been placed."""
    buffer = buffer_of(value)
    if buffer.place is None:
        fail(buffer, f'"{buffer.buffer_name.data}" has no address')
    return buffer.place


def place_of(op: Operation) -> str:
    """The place on rung 1, never that in the text just read: rungs print anew."""
    return carried_location(op) or UNKNOWN


def package_of(module: ModuleOp) -> Package:
    """The package of a placed module, as plain data."""
    require_rung(module, "package", 6)
    machine, program = machine_of(module), the_program(module, ProgramOp)
    placed = program.map
    if placed is None:
        fail(program, "the program has no memory.map; place-memory writes it")
    budget = budget_of(module)
    steps = tuple(_step(step) for step in program.steps)
    certificate = module.attributes.get(CERTIFICATE)
    return Package(
        compiler=f"tiledialect {__version__}",
        source=text_of(module, SOURCE) or "",
        machine=cast("dict[str, Json]", dict(machine.fields)),
        budget=machine.max_bytes if budget is None else budget,
        reserve=reserve_of(module),
        entry=text_of(module, ENTRY) or program.sym_name.data,
        binds=tuple(_bind(bind) for bind in program.binds),
        buffers=tuple(_buffer(buffer) for buffer in program.buffers),
        support=_support(placed),
        footprint=placed.number("footprint"),
        live_peak=placed.number("live_peak"),
        estimated_cycles=sum(step.estimate or 0 for step in steps),
        certificate=None if certificate is None else plain_value(certificate),
        steps=steps,
    )


def package_bytes(module: ModuleOp) -> bytes:
    """The content of the package file of a placed module."""
    return to_bytes(package_of(module))


def _support(placed: MapOp) -> Support:
    return Support(
        code=placed.number("code"),
        rows=placed.number("row_bytes"),
        program=placed.number("program"),
        profile=placed.number("profile"),
        bytes=placed.number("support"),
    )


def _bind(bind: BindOp) -> Bind:
    form, layout = tensor_form(bind.type), bind.layout.data
    return Bind(
        kind=bind.kind.data,
        index=bind.index.value.data,
        name=bind.bind_name.data,
        element=form.format.name,
        scale=form.scale,
        shape=form.shape,
        layout=layout,
        address=address_of(bind.buffer),
        bytes=layout.tile_bytes,
        data=b"" if bind.value is None else bind.value.data.data,
    )


def _buffer(buffer: BufferOp) -> Buffer:
    return Buffer(
        name=buffer.buffer_name.data,
        address=address_of(buffer.result),
        bytes=buffer.size,
        tiles=buffer.tile_set,
        live=buffer.lifetime,
        region=buffer.region.data,
        purpose=buffer.purpose.data,
        location=place_of(buffer),
    )


def _step(step: Operation) -> Step:
    return _exchange(step) if isinstance(step, PhaseOp) else _compute(step)


def _exchange(phase: PhaseOp) -> ExchangeStep:
    if phase.rows is None:
        fail(phase, f'phase "{phase.phase_name.data}" has no rows')
    sizes = [buffer_of(value).size for value in phase.window]
    addresses = np.array([address_of(value) for value in phase.window], np.int64)
    rows = relocate(
        phase.rows.data, window_bases(sizes), np.array(sizes, np.int64), addresses
    )
    bounds = ("bound_receive", "bound_send", "bound_control")
    receive, send, control = (phase.number(field) for field in bounds)
    return ExchangeStep(
        name=phase.phase_name.data,
        location=place_of(phase),
        length=phase.number("length"),
        bound=(receive, send, control),
        messages=phase.number("messages"),
        estimate=None if phase.estimate is None else phase.estimate.value.data,
        rows=Rows(
            rows.tiles,
            rows.send,
            rows.receive,
            rows.receive_start,
            rows.start,
            rows.words,
        ),
    )


def _compute(step: Operation) -> ComputeStep:
    assert isinstance(step, ComputeOp), "a step is a phase or a compute set"
    return ComputeStep(
        name=step.set_name.data,
        location=place_of(step),
        estimate=None if step.estimate is None else step.estimate.value.data,
        calls=tuple(_call(op) for op in step.body.block.ops),
    )


def _call(op: Operation) -> Call | Moves:
    match op:
        case RunOp():
            return _run(op)
        case CopyOp():
            return _copy(op)
        case FillOp():
            return _fill(op)
        case _:
            fail(op, f"{op.name} has no place in a compute set")


def _run(op: RunOp) -> Call:
    views = [_view(value, view) for value, view in op.operand_views]
    inputs = len(op.inputs)
    return Call(
        family=op.family.data,
        tiles=op.tiles.data,
        dims=tuple(op.domain),
        extents=tuple(op.domain.values()),
        inputs=tuple(views[:inputs]),
        outputs=tuple(views[inputs:]),
        parameters=plain_value(op.parameters),
    )


def _view(value: SSAValue, view: BufferView) -> View:
    return View(address_of(value) + view.offset, view.format, view.scale, view.axes)


def _copy(op: CopyOp) -> Moves:
    runs = copy_runs(
        op.source_layout.data, op.destination_layout.data, op.stack is not None
    )
    staged = runs.staged.any()
    if staged and op.staging is None:
        fail(op, "the copy reads staging and names no buffer for it")
    staging = address_of(op.staging) if staged and op.staging is not None else 0
    source = np.where(runs.staged, staging, address_of(op.source)) + runs.source
    destination = runs.destination + address_of(op.destination)
    return Moves("copy", runs.tile, source, destination, runs.bytes)


def _fill(op: FillOp) -> Moves:
    tiles = op.tiles.data.array()
    axis = None if op.axis is None else op.axis.value.data
    runs = fill_runs(op.layout.data, tiles, whole=op.whole is not None, axis=axis)
    destination = runs.destination + address_of(op.buffer)
    return Moves("fill", runs.tile, runs.tile[:0], destination, runs.bytes)


@dataclass(frozen=True)
class PackageTarget(ArgSpecConvertible):
    """Writes the package of a placed module."""

    name = "package"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[bytes]) -> None:
        output.write(package_bytes(module))
