"""One cell measured: planned, compiled, simulated and checked by the commands.

The planner runs as one process up to rung 3, the rest continues from its text, so both
the seconds of the clock and those of the processor are known for planning alone. Those
of the processor include the start of Python.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import cast

from bench.cell_targets import Cell, Probe
from bench.commands import Ended, pass_seconds, run_tool
from tiledialect.runtime.package import read

PLAN_PASSES = ("expand-candidates", "search-plan")
INFEASIBLE_CODE, USAGE_CODE = 3, 2
PROOF_OPTION = "--verify-certificate"
RERANK = 4
"""Near ties of the estimate that are timed, all that a search keeps."""


@dataclass(frozen=True)
class Compiled:
    """What planning and compiling came to. None: it did not get that far."""

    reason: str | None  # why there is no package, in one line
    is_refuted: bool  # with a proof that the independent checker accepts
    certificate: str | None
    candidates: int | None
    plan_seconds: float
    plan_cpu_seconds: float
    passes_seconds: float
    passes_cpu_seconds: float
    peak_memory_bytes: int


@dataclass(frozen=True)
class Simulated:
    """What `tile-run --check` reported."""

    reason: str | None  # why it failed
    cycles: int
    estimated_cycles: int
    peak_tile_bytes: int
    budget_bytes: int
    max_abs_error: float | None
    check_passed: bool
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Measured:
    """A cell; `simulated` is None where there is no package or no report."""

    cell: Cell
    compiled: Compiled
    simulated: Simulated | None
    run_reason: str | None = None


@dataclass(frozen=True)
class Probed:
    """A run of the planner alone. `reason`: why it is not what was asked for."""

    probe: Probe
    seconds: float
    cpu_seconds: float
    reason: str | None
    said: str


def measure(cell: Cell, limit_seconds: float) -> Measured:
    """Plan, compile, simulate and check one cell."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiled = _compile(cell, folder, limit_seconds)
        if compiled.reason is not None:
            return Measured(cell, compiled, None)
        words = [str(folder / "cell.tilepkg"), "--check", "--quiet"]
        report = folder / "run.json"
        ended = run_tool("run", [*words, "--json", str(report)], limit_seconds)
        if not report.exists():
            return Measured(cell, compiled, None, ended.reason)
        return Measured(cell, compiled, simulated(report.read_text(), ended))


def planner_words(program: str, budget: str) -> list[str]:
    """The arguments of `tile-opt` that plan and no more."""
    return [
        f"--plan-budget={budget}",
        "--stop-after=search-plan",
        f"examples/{program}",
    ]


def _compile(cell: Cell, folder: Path, limit_seconds: float) -> Compiled:
    plan, package = folder / "plan.mlir", folder / "cell.tilepkg"
    words = planner_words(cell.program, cell.budget)
    first = run_tool("opt", [*words, "--time-passes", "-o", str(plan)], limit_seconds)
    if not plan.exists():
        doubt = refusal_of_proof(words, first, limit_seconds)
        unproven = first.code == INFEASIBLE_CODE and doubt is not None
        reason = f"{first.reason}; {doubt}" if unproven else first.reason
        return _compiled(first, None, reason, is_refuted=doubt is None)
    words = [f"--plan-budget={cell.budget}", "-t", "package", "-o", str(package)]
    words.append(f"--rerank={RERANK}")
    rest = run_tool("opt", [*words, "--time-passes", str(plan)], limit_seconds)
    if not package.exists():
        return _compiled(first, rest, rest.reason)
    fields = read(str(package)).certificate
    known = cast(dict[str, object], fields) if isinstance(fields, dict) else {}
    return _compiled(first, rest, None, certificate=known)


def _compiled(
    first: Ended,
    rest: Ended | None,
    reason: str | None,
    *,
    is_refuted: bool = False,
    certificate: dict[str, object] | None = None,
) -> Compiled:
    fields = certificate or {}
    planning = pass_seconds(first.errors)
    # a refused run prints no times: then the whole process counts
    plan = sum(planning.get(name, 0.0) for name in PLAN_PASSES) or first.wall_seconds
    others = pass_seconds("" if rest is None else rest.errors)
    status, count = fields.get("status"), fields.get("candidates")
    return Compiled(
        reason,
        is_refuted,
        status if isinstance(status, str) else None,
        count if isinstance(count, int) else None,
        plan,
        first.cpu_seconds,
        plan + sum(others.values()),
        first.cpu_seconds + (0.0 if rest is None else rest.cpu_seconds),
        max(first.peak_bytes, 0 if rest is None else rest.peak_bytes),
    )


def simulated(text: str, ended: Ended) -> Simulated:
    """The figures of a report that `tile-run --json` wrote."""
    report = cast(dict[str, object], json.loads(text))

    def number(name: str) -> int:
        value = report[name]
        assert isinstance(value, int), f"tile-run reports {name} = {value!r}"
        return value

    error = report["max_abs_error"]
    return Simulated(
        None if ended.code == 0 else ended.reason,
        number("cycles"),
        number("estimated_cycles"),
        number("peak_tile_bytes"),
        number("budget_bytes"),
        float(error) if isinstance(error, (int, float)) else None,
        report["passed"] is True,
        ended.wall_seconds,
        ended.cpu_seconds,
    )


def refusal_of_proof(
    words: list[str], ended: Ended, limit_seconds: float
) -> str | None:
    """Why a planner's "infeasible" is not proven; None where the checker accepts it."""
    if ended.code != INFEASIBLE_CODE:
        return f"not refuted: {ended.reason}" if ended.code else "not refuted: a plan"
    checked = run_tool("opt", [*words, PROOF_OPTION], limit_seconds)
    if checked.code == INFEASIBLE_CODE:
        return None
    return f"proof not accepted: {checked.reason}"


def run_probe(probe: Probe, limit_seconds: float) -> Probed:
    """Have the planner refute a budget, or write its whole curve."""
    words = planner_words(probe.program, probe.budget)
    with tempfile.TemporaryDirectory() as name:
        curve = Path(name) / "curve.json"
        extra = [f"--pareto={curve}"] if probe.kind == "curve" else []
        ended = run_tool("opt", [*words, *extra], limit_seconds)
        said = ended.reason if ended.code else ""
        if probe.kind != "curve":
            reason = refusal_of_proof(words, ended, limit_seconds)
        elif ended.code == 0 and curve.exists():
            reason, said = curve_facts(curve.read_text())
        else:
            reason = f"no curve: {ended.reason}"
    return Probed(probe, ended.wall_seconds, ended.cpu_seconds, reason, said)


def curve_facts(text: str) -> tuple[str | None, str]:
    """What is wrong with a curve that `--pareto` wrote, None: nothing; and what it
    says: at every breakpoint cycles are fewer than at any smaller budget."""
    curve = cast(dict[str, object], json.loads(text))
    points = cast(list[dict[str, int]], curve["breakpoints"])
    if not points:
        return "the curve has no breakpoint", ""
    first, last = points[0], points[-1]
    said = (
        f"{len(points)} breakpoints, {curve['status']},"
        f" {first['cycles']:,} cycles from {first['budget_bytes']:,} bytes"
        f" to {last['cycles']:,} from {last['budget_bytes']:,}"
    )
    for less, more in pairwise(points):
        smaller = less["budget_bytes"] < more["budget_bytes"]
        if not smaller or less["cycles"] <= more["cycles"]:
            at = f"{more['budget_bytes']:,} bytes"
            return f"estimated cycles do not fall at {at}", said
    if curve["status"] != "exact":
        return f"the curve is {curve['status']}, not exact", said
    return None, said
