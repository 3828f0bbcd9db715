"""The tables of one sweep: cycles, bytes, errors, times, and what did not work."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiledialect.report.folder import UNFINISHED, Case, Sweep
from tiledialect.report.table import (
    NOTHING,
    Table,
    count,
    percent,
    seconds,
    share,
    small,
)

PLAN_STAGES = ("expand-candidates", "search-plan", "select-plan")
"""The passes that plan; the others carry a plan out."""


@dataclass(frozen=True)
class Family:
    """Cases that differ in batch and budget alone."""

    workload: str
    precision: str
    blocks: int
    machine: str
    reserve_bytes: int

    @staticmethod
    def of(case: Case) -> Family:
        return Family(
            case.workload,
            case.precision,
            case.blocks,
            case.machine,
            case.reserve_bytes,
        )

    def title(self) -> str:
        """What the cases have in common, in words."""
        words = [self.workload, self.precision]
        words += [f"{self.blocks} blocks"] * (self.blocks > 1)
        words += [f"on {self.machine}"] * bool(self.machine)
        words += [f"{self.reserve_bytes:,} bytes reserved"] * bool(self.reserve_bytes)
        return ", ".join(word for word in words if word)


def families(sweep: Sweep) -> dict[Family, list[Case]]:
    """The cases of a sweep by family; unfinished ones, of which nothing is known, go
    without."""
    found: dict[Family, list[Case]] = {}
    for case in sweep.cases:
        if case.status != UNFINISHED:
            found.setdefault(Family.of(case), []).append(case)
    return found


def summary(sweep: Sweep, support_bytes: Mapping[str, int]) -> list[Table]:
    """All tables of a sweep. `support_bytes` has those of each case with a package."""
    tables = [cycles_table(family, cases) for family, cases in families(sweep).items()]
    tables.append(bytes_table(sweep, support_bytes))
    tables.append(estimate_table(sweep))
    tables.append(error_table(sweep))
    tables.append(times_table(sweep))
    tables.append(failures_table(sweep))
    return [table for table in tables if table.rows]


def cycles_table(family: Family, cases: Sequence[Case]) -> Table:
    """Simulated cycles, a row a budget and a column a batch."""
    batches = list(dict.fromkeys(case.batch for case in cases))
    budgets = list(dict.fromkeys(case.budget for case in cases))
    cells = {(case.budget, case.batch): cell(case) for case in cases}
    heads = ["Cycles" if b is None else f"Batch {b} cycles" for b in batches]
    rows = [
        (budget, *(cells.get((budget, batch), NOTHING) for batch in batches))
        for budget in budgets
    ]
    return Table(
        f"Simulated cycles: {family.title()}",
        ("Budget per tile", *heads),
        (False, *[True] * len(batches)),
        tuple(rows),
        tuple(_findings(cases)),
    )


def cell(case: Case) -> str:
    """The cycles of a case, or in words why there are none."""
    if case.status == "infeasible" and case.smallest_budget is not None:
        word = "below" if case.smallest_is_proven else "here,"
        works = "" if case.smallest_is_proven else " work"
        return f"infeasible {word} {case.smallest_budget:,} bytes{works}"
    if case.status == "check-failed":
        return f"{count(case.cycles)} (check failed)"
    return count(case.cycles) if case.status == "ok" else case.status


def _findings(cases: Sequence[Case]) -> Iterable[str]:
    """Where more memory gives a slower program: what a planner should never do."""
    worked = [
        (case.batch, case.budget_bytes, case.cycles, case.name)
        for case in cases
        if case.cycles is not None and case.budget_bytes is not None
    ]
    rises = compared = False
    for batch in dict.fromkeys(row[0] for row in worked):
        own = sorted((row for row in worked if row[0] == batch), key=lambda row: row[1])
        for less, more in itertools.pairwise(own):
            compared = True
            if more[2] > less[2]:
                rises = True
                gain = percent(more[2], less[2])
                yield f"More memory is slower: {more[3]} takes {gain} over {less[3]}."
    if compared and not rises:
        yield "Cycles never rise with memory."


def bytes_table(sweep: Sweep, support_bytes: Mapping[str, int]) -> Table:
    """Bytes of the fullest tile as estimated and as placed."""
    rows: list[tuple[str, ...]] = []
    for case in sweep.cases:
        if case.placed_bytes is None:
            continue
        support = support_bytes.get(case.name)
        tensors = None if support is None else case.placed_bytes - support
        rows.append(
            (
                case.name,
                count(case.budget_bytes),
                count(case.estimated_bytes),
                count(case.live_peak),
                count(tensors),
                count(case.placed_bytes),
                share(case.placed_bytes, case.budget_bytes),
            )
        )
    return Table(
        "Bytes of the fullest tile",
        (
            "Case",
            "Budget",
            "Estimated",
            "Live peak",
            "Placed tensors",
            "Placed, with support",
            "Of the budget",
        ),
        (False, *[True] * 6),
        tuple(rows),
    )


def estimate_table(sweep: Sweep) -> Table:
    """Estimated cycles beside simulated ones, and how the search ended."""
    rows = [
        (
            case.name,
            count(case.estimated_cycles),
            count(case.cycles),
            percent(case.estimated_cycles, case.cycles),
            ended(case),
        )
        for case in sweep.cases
        if case.cycles is not None
    ]
    return Table(
        "Estimate and simulation",
        ("Case", "Estimated cycles", "Simulated cycles", "Estimate is off", "Search"),
        (False, True, True, True, False),
        tuple(rows),
    )


def ended(case: Case) -> str:
    """The certificate's word."""
    status = None if case.certificate is None else case.certificate.get("status")
    return status if isinstance(status, str) else NOTHING


def error_table(sweep: Sweep) -> Table:
    """How far results lie from the reference."""
    rows: list[tuple[str, ...]] = []
    for case in sweep.cases:
        if case.max_abs_error is None:
            continue
        over = None
        if case.rms_error is not None and case.output_rms:
            over = case.rms_error / case.output_rms
        rows.append(
            (
                case.name,
                small(case.max_abs_error),
                small(case.rms_error),
                small(case.output_rms),
                small(over),
                "passed" if case.status == "ok" else case.status,
            )
        )
    return Table(
        "Errors against the reference",
        (
            "Case",
            "Max abs error",
            "RMS error",
            "Output RMS",
            "RMS error / output RMS",
            "Check",
        ),
        (False, True, True, True, True, False),
        tuple(rows),
    )


def stages(sweeps: Iterable[Sweep]) -> list[str]:
    """The passes that any case ran, in the order in which they first appear."""
    cases = [case for sweep in sweeps for case in sweep.cases]
    return list(dict.fromkeys(name for case in cases for name in case.stage_seconds))


def plan_seconds(case: Case) -> float | None:
    """What planning took; None where no stage is known."""
    if not case.stage_seconds:
        return None
    return sum(case.stage_seconds.get(name, 0.0) for name in PLAN_STAGES)


def passes_seconds(case: Case) -> float | None:
    """What all passes took."""
    return sum(case.stage_seconds.values()) if case.stage_seconds else None


def times_table(sweep: Sweep) -> Table:
    """Seconds of each stage; of cases without a plan as well."""
    names = stages([sweep])
    rows = [
        (
            case.name,
            *(seconds(case.stage_seconds.get(name)) for name in names),
            seconds(plan_seconds(case)),
            seconds(passes_seconds(case)),
            seconds(case.build_seconds),
            seconds(case.build_cpu_seconds),
            seconds(case.simulate_seconds),
            NOTHING if memory is None else f"{memory / 1e6:,.0f} MB",
        )
        for case in sweep.cases
        for memory in [case.peak_memory_bytes]
        if case.stage_seconds or case.simulate_seconds is not None
    ]
    columns = (
        "Case",
        *names,
        "planning",
        "all passes",
        "building",
        "of CPU",
        "simulating",
        "Peak memory",
    )
    figures = (False, *[True] * (len(columns) - 1))
    notes = (
        "Building is the command from start to end, simulating with its comparison.",
    )
    return Table("Seconds of each stage", columns, figures, tuple(rows), notes)


def failures_table(sweep: Sweep) -> Table:
    """Every case that gave no checked program, and what would work."""
    rows = [
        (
            case.name,
            case.status,
            count(case.smallest_budget),
            {True: "proven", False: "not proven", None: NOTHING}[
                case.smallest_is_proven
            ],
            case.reason or NOTHING,
        )
        for case in sweep.cases
        if case.status != "ok"
    ]
    return Table(
        "Cells without a checked program",
        ("Case", "Status", "Smallest working budget", "Proof", "Reason"),
        (False, False, True, False, False),
        tuple(rows),
    )
