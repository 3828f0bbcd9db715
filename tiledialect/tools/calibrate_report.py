"""What `tile-calibrate` prints and writes: rows, kernels, reasons, refits."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from tiledialect.machine import Machine
from tiledialect.tools.calibrate_fit import Refit, predicted, refit
from tiledialect.tools.calibrate_rows import Call, LeftOut

MEDIAN_ERROR = 0.05
FAR_ERROR = 0.15
"""Rows that lie farther off than this need an explanation."""


@dataclass(frozen=True)
class Compared:
    """A call, its cycles by the formula, and (predicted - measured) / measured."""

    call: Call
    predicted: int

    @property
    def error(self) -> float:
        return (self.predicted - self.call.row.cycles) / self.call.row.cycles

    @property
    def is_far(self) -> bool:
        return abs(self.error) > FAR_ERROR


@dataclass(frozen=True)
class Spread:
    """Median and worst of the sizes of some errors."""

    median: float
    worst: float
    worst_row: str


@dataclass(frozen=True)
class Calibration:
    """A machine's formulas against measured rows."""

    machine: Machine
    rows: Sequence[Compared]
    left_out: Sequence[LeftOut]

    @property
    def spread(self) -> Spread:
        return spread(self.rows)

    @property
    def unexplained(self) -> list[Compared]:
        return [row for row in self.rows if row.is_far and not row.call.explained]

    @property
    def holds(self) -> bool:
        return self.spread.median <= MEDIAN_ERROR and not self.unexplained

    def kernels(self) -> dict[str, list[Compared]]:
        """The rows by kernel, in the order in which kernels first appear."""
        grouped: dict[str, list[Compared]] = {}
        for row in self.rows:
            grouped.setdefault(row.call.kernel.name, []).append(row)
        return grouped


def compare(
    machine: Machine, calls: Iterable[Call], left_out: Sequence[LeftOut]
) -> Calibration:
    """Predict every call."""
    rows = [Compared(call, predicted(machine, call)) for call in calls]
    return Calibration(machine, rows, left_out)


def spread(rows: Sequence[Compared]) -> Spread:
    """Median and worst size of the errors of at least one row."""
    worst = max(rows, key=lambda row: abs(row.error))
    median = statistics.median(abs(row.error) for row in rows)
    return Spread(median, abs(worst.error), worst.call.row.id)


def lines(done: Calibration) -> Iterable[str]:
    """Everything but refits and the line that sums up."""
    yield (
        f"{'kernel':25} {'row':>6}  {'call':34} {'measured':>8} {'predicted':>9}  error"
    )
    for name, rows in done.kernels().items():
        for row in rows:
            measured = row.call.row
            yield (
                f"{name:25} {measured.id:>6}  {row.call.text:34} {measured.cycles:8,}"
                f" {row.predicted:9,} {row.error:+6.1%}"
            )
    yield ""
    yield f"{'kernel':25} {'rows':>4} {'median':>7} {'worst':>7}  row"
    for name, rows in (*done.kernels().items(), ("all", done.rows)):
        own = spread(rows)
        yield (
            f"{name:25} {len(rows):4} {own.median:7.1%} {own.worst:7.1%}"
            f"  {own.worst_row}"
        )
    yield from _far_lines(done)
    yield from _left_out_lines(done.left_out)


def _far_lines(done: Calibration) -> Iterable[str]:
    far = [row for row in done.rows if row.is_far]
    if far:
        yield ""
        yield f"above {FAR_ERROR:.0%}:"
    for row in far:
        why = row.call.explained or "NOT EXPLAINED"
        yield f"  row {row.call.row.id}, {row.error:+.1%}: {why}"


def _left_out_lines(left_out: Sequence[LeftOut]) -> Iterable[str]:
    by_reason: dict[str, list[str]] = {}
    for row in left_out:
        reason = row.reason if row.kernel is None else f"{row.kernel}: {row.reason}"
        by_reason.setdefault(reason, []).append(row.row.id)
    if by_reason:
        yield ""
        yield "not compared:"
    for reason, rows in by_reason.items():
        yield f"  {reason} (row{'s' if len(rows) > 1 else ''} {', '.join(rows)})"


def refit_lines(done: Calibration) -> Iterable[str]:
    """Refitted entries of the machine's file, kernel by kernel, as TOML."""
    yield "# Least squares over the applicable rows. No coefficient lies below what its"
    yield "# best measured row asks of it with the others as they stand here."
    for name, rows in done.kernels().items():
        found = refit(done.machine, [row.call for row in rows])
        machine = found.coefficients.on(done.machine, found.fitted)
        again = [Compared(row.call, predicted(machine, row.call)) for row in rows]
        yield ""
        yield f"# {name}: {_errors(rows)} -> {_errors(again)}"
        yield from _fragment(found, machine)


def _errors(rows: Sequence[Compared]) -> str:
    own = spread(rows)
    return f"median {own.median:.1%}, worst {own.worst:.1%} (row {own.worst_row})"


def _fragment(found: Refit, machine: Machine) -> Iterable[str]:
    own = found.coefficients
    if own.entry < 0:
        yield f"[{own.table}]"
        shown = dict(found.fitted)
    else:
        yield f"[[{own.table}]]"
        entry = getattr(machine, own.table)[own.entry]
        shown = {field.name: getattr(entry, field.name) for field in fields(entry)}
    for name, value in shown.items():
        text = f'"{value}"' if isinstance(value, str) else str(value)
        yield f"{name} = {text}{_remark(name, found)}"


def _remark(name: str, found: Refit) -> str:
    before = found.coefficients.values.get(name)
    if before is None:
        return ""
    if name in found.kept:
        return " # kept: too few rows to tell"
    held = "; raised to its best measured row" if name in found.raised else ""
    return (
        f" # {'as before' if before == found.fitted[name] else f'was {before}'}{held}"
    )


def summary(done: Calibration) -> str:
    """The last line."""
    own = done.spread
    far = sum(row.is_far for row in done.rows)
    left = len(done.left_out)
    old = sum(row.reason.startswith("superseded") for row in done.left_out)
    count = f"{len(done.rows)} row{'s' if len(done.rows) > 1 else ''}"
    return (
        f"{count}: median error {own.median:.1%} (<= {MEDIAN_ERROR:.0%}),"
        f" worst {own.worst:.1%} (row {own.worst_row}); {far} above {FAR_ERROR:.0%},"
        f" {far - len(done.unexplained)} of them explained; {left} not compared, {old}"
        f" of them superseded: {'held' if done.holds else 'MISSED'}"
    )


def report(done: Calibration, *, with_refit: bool) -> dict[str, object]:
    """What `--json` writes."""
    kernels: dict[str, object] = {}
    for name, rows in (*done.kernels().items(), ("all", done.rows)):
        own = spread(rows)
        kernels[name] = {
            "rows": len(rows),
            "median_error": own.median,
            "worst_error": own.worst,
            "worst_row": own.worst_row,
        }
    written: dict[str, object] = {
        "machine": done.machine.name,
        "held": done.holds,
        "kernels": kernels,
        "rows": [_row_report(row) for row in done.rows],
        "not_compared": [
            {"row": row.row.id, "kernel": row.kernel, "reason": row.reason}
            for row in done.left_out
        ],
    }
    if with_refit:
        written["refit"] = {
            name: dict(refit(done.machine, [row.call for row in rows]).fitted)
            for name, rows in done.kernels().items()
        }
    return written


def _row_report(row: Compared) -> dict[str, object]:
    return {
        "row": row.call.row.id,
        "kernel": row.call.kernel.name,
        "call": row.call.text,
        "measured_cycles": row.call.row.cycles,
        "predicted_cycles": row.predicted,
        "error": row.error,
        "explained": row.call.explained,
    }
