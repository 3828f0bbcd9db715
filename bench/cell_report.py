"""What the measured cells are worth: verdicts, tables and the line that sums up."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.cell_runs import Compiled, Measured, Probed
from bench.cell_targets import (
    CANDIDATES_PER_SECOND,
    MEDIAN_ERROR,
    PASSES_SECONDS,
    PLAN_SECONDS,
    WORST_ERROR,
)

STATUSES = ("held", "refuted", "measured", "missed", "refused")


@dataclass(frozen=True)
class Verdict:
    """held; refuted, with proof, where that counts; measured: nothing was asked of it;
    missed; refused: no package. `reasons` say what is amiss, one phrase each."""

    status: str
    reasons: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.status in ("held", "refuted", "measured")


@dataclass(frozen=True)
class Judged:
    """A measured cell and its verdict."""

    measured: Measured
    verdict: Verdict


def plan_seconds(compiled: Compiled, clock: str) -> float:
    """Planning time by the clock on the wall or that of the processor."""
    return compiled.plan_cpu_seconds if clock == "cpu" else compiled.plan_seconds


def candidates_per_second(compiled: Compiled, clock: str) -> float | None:
    """Candidates evaluated a second, in full or as far as a bound that rules them out;
    None where the certificate does not count them."""
    if compiled.candidates is None:
        return None
    return compiled.candidates / max(plan_seconds(compiled, clock), 1e-9)


def judge(measured: Measured, clock: str) -> Verdict:
    """Compare a cell with what is asked of it."""
    cell, compiled, run = measured.cell, measured.compiled, measured.simulated
    if compiled.reason is not None:
        if cell.may_be_refuted and compiled.is_refuted:
            return Verdict("refuted", (compiled.reason,))
        return Verdict("refused", (compiled.reason,))
    if run is None:
        return Verdict("missed", (measured.run_reason or "tile-run gave no report",))
    reasons = list(_time_reasons(compiled, clock))
    target = cell.target_cycles
    if target is not None and run.cycles > target:
        over = (run.cycles - target) / target
        reasons.append(f"{run.cycles:,} cycles are {over:.1%} over {target:,}")
    if run.peak_tile_bytes > run.budget_bytes:
        reasons.append(f"{run.peak_tile_bytes:,} bytes exceed {run.budget_bytes:,}")
    if not run.check_passed or run.reason is not None:
        reasons.append(run.reason or "the check failed")
    if reasons:
        return Verdict("missed", tuple(reasons))
    return Verdict("measured" if target is None else "held")


def _time_reasons(compiled: Compiled, clock: str) -> Iterable[str]:
    plan = plan_seconds(compiled, clock)
    every = compiled.passes_cpu_seconds if clock == "cpu" else compiled.passes_seconds
    if plan > PLAN_SECONDS:
        yield f"planning took {plan:.1f} s of {PLAN_SECONDS:g}"
    if every > PASSES_SECONDS:
        yield f"all passes took {every:.1f} s of {PASSES_SECONDS:g}"
    rate = candidates_per_second(compiled, clock)
    if rate is not None and rate < CANDIDATES_PER_SECOND:
        yield f"{rate:,.0f} candidates a second of {CANDIDATES_PER_SECOND:,}"


def estimate_error(measured: Measured) -> float | None:
    """(estimate - simulated) / simulated; None where nothing was simulated."""
    run = measured.simulated
    if run is None or run.cycles == 0:
        return None
    return (run.estimated_cycles - run.cycles) / run.cycles


@dataclass(frozen=True)
class Findings:
    """What holds over the cells together; `missed` has a phrase a fault."""

    median_error: float | None
    worst_error: float | None
    rises: tuple[str, ...]
    missed: tuple[str, ...]


def findings(rows: Sequence[Judged]) -> Findings:
    """Errors of the estimate over the f8 cells, and whether cycles rise with memory."""
    sizes = [
        abs(error)
        for row in rows
        if row.measured.cell.precision == "f8"
        and (error := estimate_error(row.measured)) is not None
    ]
    median = statistics.median(sizes) if sizes else None
    worst = max(sizes, default=None)
    rises = tuple(_rises(rows))
    missed: list[str] = []
    if median is not None and median > MEDIAN_ERROR:
        missed.append(f"median error of the estimate {median:.1%}")
    if worst is not None and worst > WORST_ERROR:
        missed.append(f"worst error of the estimate {worst:.1%}")
    return Findings(median, worst, rises, (*missed, *rises))


def _rises(rows: Sequence[Judged]) -> Iterable[str]:
    """Cells with more memory and more cycles than the one before, batch by batch.

    The cells come with the largest budget first.
    """
    last: dict[tuple[str, int], Measured] = {}
    for row in rows:
        larger, cell = row.measured, row.measured.cell
        if larger.simulated is None:
            continue
        key = (cell.precision, cell.batch)
        before = last.get(key)
        last[key] = larger
        if before is None or before.simulated is None:
            continue
        for what in ("cycles", "estimated_cycles"):
            more: int = getattr(before.simulated, what)
            less: int = getattr(larger.simulated, what)
            if more > less:
                yield (
                    f"{what.replace('_', ' ')} rise with memory: {before.cell.name}"
                    f" {more:,}, {cell.name} {less:,}"
                )


HEADER = (
    f"{'cell':12} {'estimate':>9} {'cycles':>9} {'target':>9} {'error':>6} "
    f"{'reference':>9} {'peak bytes':>10} {'certificate':12} {'plan':>6} {'cpu':>6} "
    f"{'passes':>6} {'cpu':>6} {'run':>6} {'cpu':>6} {'cand./s':>9} {'max err':>8} "
    f"verdict"
)


def line(row: Judged, clock: str) -> str:
    """One row of the table."""
    cell, compiled = row.measured.cell, row.measured.compiled
    run, error = row.measured.simulated, estimate_error(row.measured)
    rate = candidates_per_second(compiled, clock)
    verdict = (
        row.verdict.status.upper() if not row.verdict.holds else row.verdict.status
    )
    reasons = "; ".join(row.verdict.reasons)
    return (
        f"{cell.name:12} {_count(run and run.estimated_cycles):>9} "
        f"{_count(run and run.cycles):>9} {_count(cell.target_cycles):>9} "
        f"{'-' if error is None else f'{error:+.1%}':>6} "
        f"{_count(cell.reference_cycles):>9} "
        f"{_count(run and run.peak_tile_bytes):>10} {compiled.certificate or '-':12} "
        f"{compiled.plan_seconds:6.2f} {compiled.plan_cpu_seconds:6.2f} "
        f"{compiled.passes_seconds:6.2f} {compiled.passes_cpu_seconds:6.2f} "
        f"{'-' if run is None else f'{run.seconds:.2f}':>6} "
        f"{'-' if run is None else f'{run.cpu_seconds:.2f}':>6} "
        f"{'-' if rate is None else f'{rate:,.0f}':>9} {_error(row.measured):>8} "
        f"{verdict}{': ' if reasons else ''}{reasons}"
    )


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _error(measured: Measured) -> str:
    run = measured.simulated
    if run is None or run.max_abs_error is None:
        return "-"
    return f"{run.max_abs_error:.6f}"


def probe_missed(probed: Probed, clock: str) -> str | None:
    """What a run of the planner alone missed; None: it holds."""
    seconds = probed.cpu_seconds if clock == "cpu" else probed.seconds
    if probed.reason is not None:
        return probed.reason
    if seconds > probed.probe.target_seconds:
        return f"took {seconds:.1f} s of {probed.probe.target_seconds:g}"
    return None


def probe_line(probed: Probed, clock: str) -> str:
    """One line of the planner's own runs."""
    probe, missed = probed.probe, probe_missed(probed, clock)
    return (
        f"{probe.kind} {probe.name}: {probed.seconds:.2f} s, {probed.cpu_seconds:.2f} s"
        f" of cpu, target {probe.target_seconds:g} s: "
        + ("held" if missed is None else f"MISSED: {missed}")
        + (
            f" ({probed.said})"
            if probed.said and probed.said not in str(missed)
            else ""
        )
    )


def findings_lines(found: Findings) -> Iterable[str]:
    """What holds over the cells together, a line each."""
    if found.median_error is not None and found.worst_error is not None:
        yield (
            f"estimate against simulation, f8: median {found.median_error:.2%}"
            f" (<= {MEDIAN_ERROR:.0%}), worst {found.worst_error:.2%}"
            f" (<= {WORST_ERROR:.0%})"
        )
    yield from found.rises
    if not found.rises:
        yield "cycles never rise with memory over these cells"


def summary(
    rows: Sequence[Judged], probes: Sequence[Probed], found: Findings, clock: str
) -> str:
    """The last line: how many cells and planner runs hold, and what else does not."""
    parts: list[str] = []
    for title, precision in (("cell", "f8"), ("f16 cell", "f16")):
        own = [row for row in rows if row.measured.cell.precision == precision]
        if own:
            plural = "s" if len(own) > 1 else ""
            parts.append(f"{len(own)} {title}{plural}: {_tally(own)}")
    for kind in ("refutation", "curve"):
        own_probes = [probed for probed in probes if probed.probe.kind == kind]
        held = sum(probe_missed(probed, clock) is None for probed in own_probes)
        if own_probes:
            plural = "s" if len(own_probes) > 1 else ""
            parts.append(f"{len(own_probes)} {kind}{plural}: {held} held")
    parts.extend(found.missed)
    return "; ".join(parts) or "nothing was measured"


def _tally(rows: Sequence[Judged]) -> str:
    counts = Counter(row.verdict.status for row in rows)
    shown = [(status, counts[status]) for status in STATUSES]
    return ", ".join(f"{count} {status}" for status, count in shown if count)
