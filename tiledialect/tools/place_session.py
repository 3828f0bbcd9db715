"""One run of `tile-place`: read the problem, place it, write what was found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiledialect.diagnostics import Infeasible, Refused, Stopped, TileError, Usage
from tiledialect.placement.csv_format import (
    CsvError,
    Table,
    read_problem,
    write_problem,
)
from tiledialect.placement.problem import Placement, PlacementError
from tiledialect.placement.solve import DEFAULT_EFFORT, place
from tiledialect.tools.place_arguments import Options
from tiledialect.tools.run_arrays import write_file

PLACED = ("minimal", "fits")
NOT_PLACED: dict[str, type[TileError]] = {"infeasible": Infeasible, "stopped": Stopped}


def run(options: Options) -> int:
    """The exit code. Raises Refused, Infeasible and Stopped, all with the line of the
    buffer that they are about."""
    table = _read(options)
    effort = DEFAULT_EFFORT if options.effort is None else options.effort
    try:
        found = place(table.problem, minimise=options.minimise, effort=effort)
    except PlacementError as error:
        place_of = _place_of(options, table, error.buffers)
        raise Refused(str(error), place_of) from error
    if options.json is not None:
        write_file(options.json, _json(options.capacity, table, found).encode())
    if found.status not in PLACED:
        message = f"{found.status}: {found.reason}"
        place_of = _place_of(options, table, found.buffers)
        raise NOT_PLACED[found.status](message, place_of)
    if options.output is not None:
        write_file(options.output, write_problem(table.problem, found).encode())
    print(
        f"{found.status}: peak {found.peak} of {options.capacity} bytes, "
        f"live peak {found.live_peak} in step {found.live_peak_step}, "
        f"largest hole there {found.largest_hole}, {found.effort} nodes; "
        f"{found.reason}"
    )
    return 0


def _read(options: Options) -> Table:
    """The problem; buffers without an alignment have that of the options."""
    path, edges = options.problem, _edges(options.machine)
    try:
        text = Path(path).read_text(encoding="utf-8")
        table = read_problem(text, options.capacity, edges)
    except CsvError as error:
        raise Refused(str(error), f"{path}:{error.line}:{error.column}") from error
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise Refused(reason, f"{path}:1:1") from error
    except UnicodeDecodeError as error:
        reason = "cannot be read: not UTF-8 text"
        raise Refused(reason, f"{path}:1:1") from error
    align = table.problem.align
    aligned = np.where(align == 1, options.alignment, align)
    return replace(table, problem=replace(table.problem, align=aligned))


def _edges(name: str | None) -> NDArray[np.int64] | None:
    """The borders of a machine's memory elements."""
    if name is None:
        return None
    from tiledialect.machine import Machine, MachineError

    try:
        return np.array(Machine.load(name).element_edges(), np.int64)
    except MachineError as error:
        raise Usage(str(error)) from error


def _place_of(options: Options, table: Table, buffers: tuple[int, ...]) -> str:
    """`file:line:col` of the first of these buffers."""
    line = table.lines[buffers[0]] if buffers else 1
    return f"{options.problem}:{line}:1"


def _json(capacity: int, table: Table, found: Placement) -> str:
    names = table.problem.names
    report = {
        "status": found.status,
        "capacity": capacity,
        "peak": found.peak,
        "footprint": found.footprint,
        "bound": found.bound,
        "live_peak": found.live_peak,
        "live_peak_step": found.live_peak_step,
        "largest_hole": found.largest_hole,
        "reason": found.reason,
        "effort": found.effort,
        "buffers": [names[buffer] for buffer in found.buffers],
        "addresses": dict(zip(names, found.addresses.tolist(), strict=True)),
    }
    return json.dumps(report, indent=1) + "\n"
