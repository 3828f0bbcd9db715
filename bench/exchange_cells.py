"""Phases of our programs against their bounds: one compile a cell, by the commands.

A cell is planned and lowered by one command; a second, which knows no schedule yet,
schedules all of its phases and is the one that is timed. Ratio is the length over the
greatest of the three bounds that stand in the IR beside it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.cell_targets import CELLS, Cell
from bench.commands import ROOT, Ended, pass_seconds, run_tool

LIMIT_SECONDS = 300.0
MEDIAN_RATIO = 1.03
WORST_RATIO = 1.15
PROGRAM_SECONDS = 5.0

PHASE = re.compile(r'exchange\.phase (\d+) "([^"]*)"')
SCHEDULED = re.compile(r"\} scheduled ([a-z_ 0-9]+) ratio [0-9.]+ rows")
INFEASIBLE = 3


@dataclass(frozen=True)
class PhaseRow:
    """One phase as the IR says it: cycles, messages, bytes."""

    name: str
    length: int
    bound_receive: int
    bound_send: int
    bound_control: int
    messages: int
    row_bytes: int

    @property
    def bound(self) -> int:
        return max(self.bound_receive, self.bound_send, self.bound_control)

    @property
    def ratio(self) -> float:
        """Length over bound; 1 for a phase in which nothing moves."""
        return self.length / self.bound if self.bound else 1.0


@dataclass(frozen=True)
class CellRow:
    """One cell: its phases, and the seconds that scheduling all of them took."""

    name: str
    phases: tuple[PhaseRow, ...]
    seconds: float
    processor_seconds: float
    """The share of `seconds` that the command as a whole was worked at."""
    reason: str
    holds: bool


def phases_of(text: str) -> tuple[PhaseRow, ...]:
    """The phases of a program at rung 5, in order."""
    names = [f"{found[1]} {found[2]}" for found in PHASE.finditer(text)]
    numbers = [
        {name: int(value) for name, value in re.findall(r"(\w+) (\d+)", found[1])}
        for found in SCHEDULED.finditer(text)
    ]
    return tuple(
        PhaseRow(name, **fields) for name, fields in zip(names, numbers, strict=True)
    )


def measure_cell(cell: Cell) -> CellRow:
    """Plan, lower, then schedule and check one cell."""
    with tempfile.TemporaryDirectory() as folder:
        lowered = str(Path(folder) / "lowered.mlir")
        program = str(ROOT / "examples" / cell.program)
        planned = run_tool(
            "opt",
            [
                f"--plan-budget={cell.budget}",
                "--stop-after=lower-plan",
                "-o",
                lowered,
                program,
            ],
            LIMIT_SECONDS,
        )
        if planned.code:
            return refused(cell, planned)
        passes = "schedule-exchange,check-exchange"
        ended = run_tool("opt", ["-p", passes, "--time-passes", lowered], LIMIT_SECONDS)
    if ended.code:
        return refused(cell, ended)
    phases = phases_of(ended.output)
    seconds = pass_seconds(ended.errors)["schedule-exchange"]
    worst = max((phase.ratio for phase in phases), default=1.0)
    holds = bool(phases) and worst <= WORST_RATIO and seconds <= PROGRAM_SECONDS
    worked = seconds * min(1.0, ended.cpu_seconds / ended.wall_seconds)
    return CellRow(cell.name, phases, seconds, worked, "", holds)


def refused(cell: Cell, ended: Ended) -> CellRow:
    """A cell without a schedule: as it should be only where no plan need exist."""
    holds = cell.may_be_refuted and ended.code == INFEASIBLE
    return CellRow(cell.name, (), 0.0, 0.0, ended.reason, holds)


HEADER = (
    f"{'phase':36} {'messages':>8} {'length':>7} {'receive':>7} {'send':>7} "
    f"{'control':>7} {'row B':>7} {'ratio':>7} {'target':8}"
)


def lines(row: CellRow) -> Iterator[str]:
    """What is printed of one cell: its phases, then itself."""
    verdict = "holds" if row.holds else "MISSED"
    if not row.phases:
        yield f"{row.name:36} {verdict} no plan: {row.reason}"
        return
    for phase in row.phases:
        yield (
            f"{row.name + ' ' + phase.name:36.36} {phase.messages:8} "
            f"{phase.length:7} {phase.bound_receive:7} {phase.bound_send:7} "
            f"{phase.bound_control:7} {phase.row_bytes:7} {phase.ratio:7.4f} "
            f"<= {WORST_RATIO:<5g} "
            f"{'holds' if phase.ratio <= WORST_RATIO else 'MISSED'}"
        )
    middle = median(phase.ratio for phase in row.phases)
    yield (
        f"{row.name + ', all phases':36} {row.seconds:.2f} s <= {PROGRAM_SECONDS:g} s "
        f"{verdict}, of these {row.processor_seconds:.2f} s worked; "
        f"median {middle:.4f}"
    )


def report_cells(names: str = "") -> tuple[list[CellRow], list[str]]:
    """Measure and print the f8 cells whose name holds `names`; and what missed."""
    print(HEADER)
    rows: list[CellRow] = []
    for cell in CELLS:
        if cell.precision == "f8" and names in cell.name:
            rows.append(measure_cell(cell))
            print("\n".join(lines(rows[-1])), flush=True)
    ratios = [phase.ratio for row in rows for phase in row.phases]
    missed = [row.name for row in rows if not row.holds]
    if not ratios:
        return rows, [*missed, "no phase measured"]
    middle = median(ratios)
    if middle > MEDIAN_RATIO:
        missed.append(f"median {middle:.4f}")
    print(
        f"cells: {len(ratios)} phases, median ratio {middle:.4f} <= {MEDIAN_RATIO:g}, "
        f"worst {max(ratios):.4f} <= {WORST_RATIO:g}; "
        f"{sum(row.holds for row in rows)} of {len(rows)} cells hold"
        + "".join(f"; missed: {name}" for name in missed)
    )
    return rows, missed
