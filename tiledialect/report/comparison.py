"""Two sweeps side by side: the cases that both have, with ratios."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

from tiledialect.report.folder import Case, Sweep
from tiledialect.report.summary import cell, plan_seconds
from tiledialect.report.table import Table, count, ratio, seconds

Figure = Callable[[Case], int | float | None]


def comparison(base: Sweep, other: Sweep) -> list[Table]:
    """Cycles, bytes and planning times of two sweeps. Ratios are of the second to the
    first: below 1 the second is better."""
    pairs = _pairs(base, other)
    tables = [
        _table("Cycles", base, other, pairs, lambda c: c.cycles, cell),
        _table("Placed bytes", base, other, pairs, _placed, _placed_text),
        _table("Seconds of planning", base, other, pairs, plan_seconds, _plan_text),
    ]
    return [table for table in tables if table.rows]


def _placed(case: Case) -> int | None:
    return case.placed_bytes


def _placed_text(case: Case) -> str:
    return count(case.placed_bytes)


def _plan_text(case: Case) -> str:
    return seconds(plan_seconds(case))


def _pairs(base: Sweep, other: Sweep) -> list[tuple[Case, Case]]:
    """Cases of one name, in the first sweep's order."""
    named = {case.name: case for case in other.cases}
    return [(case, named[case.name]) for case in base.cases if case.name in named]


def _table(
    what: str,
    base: Sweep,
    other: Sweep,
    pairs: list[tuple[Case, Case]],
    figure: Figure,
    text: Callable[[Case], str],
) -> Table:
    rows = [
        (one.name, text(one), text(two), ratio(figure(two), figure(one)))
        for one, two in pairs
        if figure(one) is not None or figure(two) is not None
    ]
    return Table(
        f"{what}: {base.label} and {other.label}",
        ("Case", base.label, other.label, "Ratio"),
        (False, True, True, True),
        tuple(rows),
        tuple(_mean(pairs, figure)),
    )


def _mean(pairs: list[tuple[Case, Case]], figure: Figure) -> list[str]:
    """The geometric mean of the ratios."""
    ratios: list[float] = []
    for one, two in pairs:
        before, after = figure(one), figure(two)
        if before and after:
            ratios.append(after / before)
    if not ratios:
        return []
    mean = exp(sum(map(log, ratios)) / len(ratios))
    return [f"Geometric mean of {len(ratios)} ratios: {mean:.3f}."]
