"""Predicted cycles of measured calls, and coefficients refitted to them.

Formulas are those of `tiledialect.codelets`. They are linear in their coefficients, so
what a coefficient is multiplied with in a call is what the formula gives on a machine
where it is 1 and its fellows are 0; no formula is written twice.

A refit is least squares, rounded to whole cycles. As many coefficients are free as the
rows determine, the rates first and the cost of a call last; the others stay. The best
measured row bounds each from below: none is set under the least value that any one row
asks of it with the others as fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tiledialect.codelets import (
    chain_timings,
    copy_cycles,
    map_cycles,
    matmul_cycles,
    sum_cycles,
)
from tiledialect.diagnostics import Refused
from tiledialect.machine import Machine
from tiledialect.tools.calibrate_rows import Call, Kernel

FREE_FIRST: Mapping[str, tuple[str, ...]] = {
    "matrix": ("block_cycles", "row_cycles", "call_cycles"),
    "sum": ("group_cycles", "partial_cycles", "call_cycles"),
    "map": ("group_cycles", "call_cycles"),
    "copy": ("run_cycles", "call_cycles"),
    "regroup": ("regroup_cycles",),
}
"""The coefficients of each table of the machine's file, those freed first in front."""


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of a kernel: the table they stand in, the entry, and values."""

    table: str  # "matrix", "sum", "map" or "copy", as in the machine's file
    entry: int  # its place among the table's entries; -1: the table is one entry
    values: Mapping[str, int]

    def on(self, machine: Machine, values: Mapping[str, int]) -> Machine:
        """The machine with other values of these coefficients."""
        if self.entry < 0:
            return replace(machine, copy=replace(machine.copy, **dict(values)))
        entries = list(getattr(machine, self.table))
        entries[self.entry] = replace(entries[self.entry], **dict(values))
        return replace(machine, **{self.table: tuple(entries)})


@dataclass(frozen=True)
class Refit:
    """New values of a kernel's coefficients, and what held them."""

    coefficients: Coefficients
    fitted: Mapping[str, int]
    kept: tuple[str, ...]  # too few rows to tell
    raised: tuple[str, ...]  # to what the best measured row asks

    @property
    def changed(self) -> bool:
        return dict(self.fitted) != dict(self.coefficients.values)


def predicted(machine: Machine, call: Call) -> int:
    """Cycles of a call by the formula of its codelet."""
    kernel = call.kernel
    if kernel.family == "sum":
        partials, elements = call.argument("partials"), call.argument("elements")
        return sum_cycles(machine, kernel.format, partials, elements)
    if kernel.family == "map":
        elements = call.argument("shape")
        return map_cycles(machine, kernel.stages, elements, kernel.regroup)
    rows, columns = call.argument("rows"), call.argument("columns")
    if kernel.family == "matmul":
        depth = call.argument("depth")
        return matmul_cycles(
            machine, kernel.operand, kernel.accumulate, rows, columns, depth
        )
    mode = machine.matrix_mode(kernel.operand, kernel.accumulate)
    if kernel.family != "copy" or mode is None:
        raise Refused(f"kernel '{kernel.name}' has no formula on {machine.name}")
    # bytes of f8: each row of each panel is a run
    runs = rows * -(-columns // mode.k_block)
    return copy_cycles(machine, rows * columns, runs, kernel.align)


def coefficients(machine: Machine, kernel: Kernel) -> Coefficients:
    """What prices a kernel on a machine."""
    if kernel.family == "copy" or kernel.regroup:
        names = FREE_FIRST["regroup" if kernel.regroup else "copy"]
        return Coefficients("copy", -1, _values(machine.copy, names))
    if kernel.family == "matmul":
        mode = machine.matrix_mode(kernel.operand, kernel.accumulate)
        table, entry = "matrix", machine.matrix.index(mode) if mode else -1
    elif kernel.family == "sum":
        formats = [timing.format for timing in machine.sum]
        table, entry = "sum", formats.index(kernel.format)
    else:
        (timing,) = chain_timings(machine, kernel.stages)
        table, entry = "map", machine.map.index(timing)
    own = getattr(machine, table)[entry]
    return Coefficients(table, entry, _values(own, FREE_FIRST[table]))


def _values(entry: object, names: Sequence[str]) -> dict[str, int]:
    return {name: getattr(entry, name) for name in names}


def refit(machine: Machine, calls: Sequence[Call]) -> Refit:
    """Fit the coefficients of one kernel to its calls."""
    own = coefficients(machine, calls[0].kernel)
    names = list(own.values)
    base = own.on(machine, dict.fromkeys(names, 0))
    nothing = _cycles(base, calls)
    columns = [_cycles(own.on(base, {name: 1}), calls) - nothing for name in names]
    measured = _measured(calls) - nothing
    free = _determined(columns)
    values = {name: float(own.values[name]) for name in names}
    _solve(values, names, free, columns, measured)
    fitted, raised = _whole(values, names, free, columns, measured)
    kept = tuple(name for i, name in enumerate(names) if i not in free)
    return Refit(own, fitted, kept, raised)


def _cycles(machine: Machine, calls: Sequence[Call]) -> NDArray[np.float64]:
    return np.array([predicted(machine, call) for call in calls], np.float64)


def _measured(calls: Sequence[Call]) -> NDArray[np.float64]:
    return np.array([call.row.cycles for call in calls], np.float64)


def _determined(columns: Sequence[NDArray[np.float64]]) -> list[int]:
    """Positions of the coefficients that the rows tell apart, in the order of names."""
    free: list[int] = []
    for position in range(len(columns)):
        design = np.stack([columns[i] for i in (*free, position)], axis=1)
        if np.linalg.matrix_rank(design) == len(free) + 1:
            free.append(position)
    return free


def _solve(
    values: dict[str, float],
    names: Sequence[str],
    free: Sequence[int],
    columns: Sequence[NDArray[np.float64]],
    measured: NDArray[np.float64],
) -> None:
    """Least squares of the free coefficients; those that would be negative stay."""
    chosen = list(free)
    while chosen:
        fixed = [i for i in range(len(names)) if i not in chosen]
        rest = measured - sum(values[names[i]] * columns[i] for i in fixed)
        design = np.stack([columns[i] for i in chosen], axis=1)
        found = np.linalg.lstsq(design, rest)[0]
        least = int(np.argmin(found))
        if found[least] >= 0:
            values.update(zip((names[i] for i in chosen), found.tolist(), strict=True))
            return
        del chosen[least]


def _whole(
    values: Mapping[str, float],
    names: Sequence[str],
    free: Sequence[int],
    columns: Sequence[NDArray[np.float64]],
    measured: NDArray[np.float64],
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Whole cycles, none below what the best measured row asks; and those raised."""
    whole = {name: round(value) for name, value in values.items()}
    raised: list[str] = []
    for position in free:
        others = sum(
            whole[name] * columns[i] for i, name in enumerate(names) if i != position
        )
        used = columns[position] > 0
        asked = ((measured - others)[used] / columns[position][used]).min()
        bound = max(0, ceil(asked - 1e-9))
        if whole[names[position]] < bound:
            whole[names[position]] = bound
            raised.append(names[position])
    return whole, tuple(raised)
