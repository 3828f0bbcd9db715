"""Measured kernel rows, and which of them the formulas of codelets speak of.

The table of rows is a CSV file; `calibration/applicable_rows.toml` says for each row
which kernel it is, with which arguments, or why it is none.

Rows that a later measurement replaces are told apart by one rule. A kernel's present
generation begins with the newest source that has a row of it whose note says
`before N`, the figure before that rewrite; its rows from older sources measure the
kernel before. Sources are ordered by the date in their name, and one without a date is
older than all with one. A row that repeats another of its source, call and value counts
once.
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tiledialect.codelets import Stage, stage_key
from tiledialect.diagnostics import Refused
from tiledialect.machine import Machine

TABLE = Path(__file__).parents[1] / "calibration" / "applicable_rows.toml"
COLUMNS = ("id", "op", "shape", "value", "unit", "kind", "source", "note")
KERNEL_ROW = "HWK"

Arguments = tuple[tuple[str, tuple[int, ...]], ...]
"""The arguments of a call by name; a lone number is a tuple of one."""


@dataclass(frozen=True)
class MeasuredRow:
    """A row of the table: what ran, and its cycles."""

    id: str
    op: str
    shape: str
    cycles: int
    source: str
    note: str

    @property
    def date(self) -> str:
        """The date in the source's name, or "", which sorts before all dates."""
        found = re.search(r"\d{4}-\d{2}-\d{2}", self.source)
        return found[0] if found else ""

    @property
    def replaces_older(self) -> bool:
        """Whether the note gives the figure before a rewrite."""
        return re.search(r"\bbefore \d", self.note) is not None

    @property
    def numbers(self) -> set[int]:
        """The whole numbers that the row states about its call."""
        return {int(n) for n in re.findall(r"\d+", f"{self.op} {self.shape}")}


@dataclass(frozen=True)
class Kernel:
    """A codelet with its formats. Fields that its family has no use for are empty."""

    name: str
    family: str
    operand: str = ""
    accumulate: str = ""
    format: str = ""
    align: int = 0
    stages: tuple[Stage, ...] = ()
    regroup: bool = False
    one_loop: bool = False


@dataclass(frozen=True)
class Call:
    """A row that is a call of one of the kernels."""

    row: MeasuredRow
    kernel: Kernel
    arguments: Arguments
    explained: str | None

    def argument(self, name: str) -> int:
        """The product of an argument's extents. Raises Refused where it has none."""
        for own, extents in self.arguments:
            if own == name:
                product = 1
                for extent in extents:
                    product *= extent
                return product
        raise Refused(f"row {self.row.id}: kernel '{self.kernel.name}' needs '{name}'")

    @property
    def text(self) -> str:
        """The arguments as one reads them."""
        return " ".join(
            f"{name} {'x'.join(map(str, extents))}" for name, extents in self.arguments
        )


@dataclass(frozen=True)
class LeftOut:
    """A row that counts for nothing, and why."""

    row: MeasuredRow
    kernel: str | None
    reason: str


@dataclass(frozen=True)
class Table:
    """What `applicable_rows.toml` says: kernels, calls by row, reasons by row."""

    kernels: Mapping[str, Kernel]
    calls: Mapping[str, Mapping[str, object]]
    reasons: Mapping[str, str]


def read_rows(path: str) -> list[MeasuredRow]:
    """The kernel rows of a CSV file. Raises Refused."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise Refused(f"cannot read the rows: {reason}", path) from error
    reader = csv.DictReader(io.StringIO(text))
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise Refused(f"no column '{missing[0]}'", f"{path}:1:1")
    rows: list[MeasuredRow] = []
    for fields in reader:
        if fields["kind"] == KERNEL_ROW:
            rows.append(_row(fields, f"{path}:{reader.line_num}:1"))
    if not rows:
        raise Refused(f"no row of kind {KERNEL_ROW}", path)
    return rows


def _row(fields: Mapping[str, str | None], location: str) -> MeasuredRow:
    known = {name: (fields[name] or "").strip() for name in COLUMNS}
    value = known["value"].replace(",", "")
    if not value.isdecimal() or int(value) == 0 or known["unit"] != "cycles":
        raise Refused(
            f"row {known['id']}: needs cycles, is '{known['value']} {known['unit']}'",
            location,
        )
    return MeasuredRow(
        known["id"],
        known["op"],
        known["shape"],
        int(value),
        known["source"],
        known["note"],
    )


def read_table(path: Path = TABLE) -> Table:
    """The table of kernels, calls and reasons."""
    fields = tomllib.loads(path.read_text(encoding="utf-8"))
    kernels = {name: _kernel(name, own) for name, own in fields["kernel"].items()}
    reasons = {
        row: group["reason"]
        for group in fields.get("unsuitable", ())
        for row in group["rows"]
    }
    return Table(kernels, fields["call"], reasons)


def _kernel(name: str, fields: dict[str, Any]) -> Kernel:
    stages = tuple(Stage(**stage) for stage in fields.pop("stages", ()))
    return Kernel(name, stages=stages, **fields)


def sort_rows(
    rows: Sequence[MeasuredRow], table: Table, machine: Machine
) -> tuple[list[Call], list[LeftOut]]:
    """The calls to compare, and the rows left out. Raises Refused where a row does not
    state a figure that the table gives it."""
    calls: list[Call] = []
    left_out: list[LeftOut] = []
    for row in rows:
        if row.id in table.calls:
            calls.append(_call(row, table))
        else:
            reason = table.reasons.get(row.id, "not in the table of applicable rows")
            left_out.append(LeftOut(row, None, reason))
    return _present(calls, left_out, machine)


def _call(row: MeasuredRow, table: Table) -> Call:
    fields = dict(table.calls[row.id])
    kernel = table.kernels[cast(str, fields.pop("kernel"))]
    explained = cast("str | None", fields.pop("explained", None))
    arguments: list[tuple[str, tuple[int, ...]]] = []
    for name, value in fields.items():
        extents = cast("list[int]", value if isinstance(value, list) else [value])
        for extent in extents:
            if extent not in row.numbers:
                raise Refused(
                    f"row {row.id}: {name} {extent} does not stand in its op"
                    f" '{row.op}' or shape '{row.shape}'"
                )
        arguments.append((name, tuple(extents)))
    return Call(row, kernel, tuple(arguments), explained)


def _present(
    calls: Sequence[Call], left_out: Sequence[LeftOut], machine: Machine
) -> tuple[list[Call], list[LeftOut]]:
    """Those of the calls that the rule in the header keeps and the machine prices."""
    since: dict[str, str] = {}
    for call in calls:
        if call.row.replaces_older:
            name = call.kernel.name
            since[name] = max(since.get(name, ""), call.row.date)
    kept: list[Call] = []
    others = list(left_out)
    seen: dict[tuple[str, Arguments, str, int], str] = {}
    for call in calls:
        key = (call.kernel.name, call.arguments, call.row.source, call.row.cycles)
        reason = _unpriced(call.kernel, machine)
        if call.row.date < since.get(call.kernel.name, ""):
            reason = f"superseded: the kernel was rewritten {since[call.kernel.name]}"
        elif key in seen:
            reason = f"repeats row {seen[key]}"
        if reason is None:
            kept.append(call)
            seen[key] = call.row.id
        else:
            others.append(LeftOut(call.row, call.kernel.name, reason))
    return kept, others


def _unpriced(kernel: Kernel, machine: Machine) -> str | None:
    """Why the machine has no formula of its own for a kernel; None if it has."""
    if kernel.operand:
        mode = machine.matrix_mode(kernel.operand, kernel.accumulate)
        name = f"matrix mode of {kernel.operand} summed in {kernel.accumulate}"
        return None if mode else f"machine {machine.name} has no {name}"
    if kernel.family == "sum":
        known = any(timing.format == kernel.format for timing in machine.sum)
        return (
            None if known else f"machine {machine.name} prices no {kernel.format} sum"
        )
    chain = "+".join(stage_key(stage) for stage in kernel.stages)
    if not kernel.one_loop or any(timing.function == chain for timing in machine.map):
        return None
    return f"machine {machine.name} prices no loop '{chain}'"
