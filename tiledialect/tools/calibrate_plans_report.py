"""What `tile-calibrate --plans` prints and writes of forced plans."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tiledialect.tools.calibrate_plans import PlanTable, Said, TimedRow

Clock = Callable[[TimedRow], int]


@dataclass(frozen=True)
class Agreement:
    """How simulated cycles agree with measured ones: sizes of the errors, and
    Spearman's correlation of the ranks (None where all are equal)."""

    median: float
    worst: float
    worst_row: str
    rank_correlation: float | None


CLOCKS: dict[str, Clock] = {
    "simulated": lambda row: row.simulated,
    "with kernels of the date": lambda row: row.of_its_date,
}


def error(row: TimedRow, clock: Clock) -> float:
    """(simulated - measured) / measured."""
    return (clock(row) - row.measured) / row.measured


def agreement(rows: Sequence[TimedRow], clock: Clock) -> Agreement:
    """Over at least one row."""
    worst = max(rows, key=lambda row: abs(error(row, clock)))
    return Agreement(
        statistics.median(abs(error(row, clock)) for row in rows),
        abs(error(worst, clock)),
        worst.row,
        rank_correlation([row.measured for row in rows], [clock(row) for row in rows]),
    )


def rank_correlation(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Spearman's: the correlation of ranks, equal numbers at the mean of theirs."""
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return statistics.correlation(_ranks(first), _ranks(second))


def _ranks(numbers: Sequence[int]) -> list[float]:
    return [
        sum(other < number for other in numbers)
        + (sum(other == number for other in numbers) + 1) / 2
        for number in numbers
    ]


def lines(table: PlanTable, rows: Sequence[TimedRow]) -> Iterable[str]:
    """The table, how it agrees, and what had to be settled."""
    width = max(len(row.plan.name) for row in rows)
    yield (
        f"{'row':>4}  {'forced plan':{width}} {'measured':>8} {'simulated':>9}  error"
        "  with kernels of the date"
    )
    for row in rows:
        own, then = (error(row, clock) for clock in CLOCKS.values())
        yield (
            f"{row.row:>4}  {row.plan.name:{width}} {row.measured:8,}"
            f" {row.simulated:9,} {own:+6.1%}  {row.of_its_date:9,} {then:+6.1%}"
        )
    yield ""
    for name, clock in CLOCKS.items():
        yield f"{name}: {_agreement_text(len(rows), agreement(rows, clock))}"
    yield ""
    yield "left open by the rows, and settled so for all:"
    yield from (f"  {text}" for text in table.open)
    for said in table.remarks:
        yield f"  {said.text} ({_row_words(said)})"
    for kernels in table.kernels:
        word = Said(kernels.rows, kernels.name)
        yield f"  measured with kernels {kernels.name} ({_row_words(word)})"
    if table.not_stated:
        yield "not stated:"
    for said in table.not_stated:
        yield f"  {said.text} ({_row_words(said)})"


def _row_words(said: Said) -> str:
    return f"row{'s' if len(said.rows) > 1 else ''} {', '.join(said.rows)}"


def _agreement_text(count: int, own: Agreement) -> str:
    ranks = own.rank_correlation
    shown = "undefined" if ranks is None else f"{ranks:.3f}"
    return (
        f"{count} rows, rank correlation {shown}, median error {own.median:.1%},"
        f" worst {own.worst:.1%} (row {own.worst_row})"
    )


def report(table: PlanTable, rows: Sequence[TimedRow]) -> dict[str, object]:
    """What `--json` writes."""
    return {
        "rows": [
            {
                "row": row.row,
                "plan": row.plan.name,
                "constraints": row.plan.constraints,
                "cuts": {group: list(cut) for group, cut in row.plan.cuts.items()},
                "batches": dict(row.plan.batches),
                "measured_cycles": row.measured,
                "simulated_cycles": row.simulated,
                "error": error(row, CLOCKS["simulated"]),
                "kernels": row.kernels,
                "simulated_cycles_with_kernels": row.of_its_date,
                "remarks": [s.text for s in table.remarks if row.row in s.rows],
            }
            for row in rows
        ],
        "agreement": {
            name: vars(agreement(rows, clock)) for name, clock in CLOCKS.items()
        },
        "open": list(table.open),
        "not_stated": [
            {"rows": list(said.rows), "reason": said.text} for said in table.not_stated
        ],
    }
