"""The table of cells: `python -m bench.cells --json FILE`.

Every cell of the reference sweep (f8, batches 1, 2 and 4 under five budgets) and f16 at
the default budget: planned, packaged, simulated and checked by the commands, each in a
process of its own. Beside them the planner alone: budgets that it must refute, and the
whole curve. Seconds are those of the clock and, as `cpu`, those that the processor
worked, Python's start included; they differ where others use the machine too. A cell
without a plan is a row with its reason. Exit code 0 when every target holds, else 1;
2 for a cell that does not exist.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from bench.cell_report import (
    HEADER,
    Findings,
    Judged,
    estimate_error,
    findings,
    findings_lines,
    judge,
    line,
    probe_line,
    probe_missed,
    summary,
)
from bench.cell_runs import Measured, Probed, measure, run_probe
from bench.cell_targets import Cell, Probe, UnknownCell, chosen
from tiledialect.atomic import write_atomically

LIMIT_SECONDS = 1200.0

Measure = Callable[[Cell, float], Measured]
RunProbe = Callable[[Probe, float], Probed]


def measured_rows(
    cells: Iterable[Cell], options: argparse.Namespace, measure_cell: Measure
) -> list[Judged]:
    """Measure and print the cells, in their order."""

    def one(cell: Cell) -> Measured:
        return measure_cell(cell, options.limit)

    rows: list[Judged] = []
    print(HEADER, flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in pool.map(one, cells):
            rows.append(Judged(done, judge(done, options.clock)))
            print(line(rows[-1], options.clock), flush=True)
    return rows


def probe_rows(
    probes: Iterable[Probe], options: argparse.Namespace, run: RunProbe
) -> list[Probed]:
    """Run and print the planner's own runs, one at a time."""
    rows: list[Probed] = []
    for probe in probes:
        rows.append(run(probe, options.limit))
        print(probe_line(rows[-1], options.clock), flush=True)
    return rows


def report(
    rows: Sequence[Judged], probes: Sequence[Probed], found: Findings, clock: str
) -> dict[str, object]:
    """What goes to the JSON file."""
    return {
        "clock": clock,
        "cells": [
            {
                "name": row.measured.cell.name,
                **asdict(row.measured),
                "estimate_error": estimate_error(row.measured),
                **asdict(row.verdict),
            }
            for row in rows
        ],
        "probes": [
            {
                "name": probed.probe.name,
                **asdict(probed),
                "missed": probe_missed(probed, clock),
            }
            for probed in probes
        ],
        "over_cells": asdict(found),
        "summary": summary(rows, probes, found, clock),
    }


def positive(text: str) -> int:
    """A positive whole number."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no positive whole number")
    return int(text)


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="bench.cells", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument(
        "--cells",
        default="",
        metavar="b1:256KiB,…",
        help="these only; also f16-b1:default, b1:52KiB (refuted), b1:curve",
    )
    parser.add_argument(
        "--jobs", type=positive, default=1, help="cells at a time; more blurs seconds"
    )
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="the seconds that targets are compared with",
    )
    parser.add_argument(
        "--limit",
        type=positive,
        default=LIMIT_SECONDS,
        metavar="SECONDS",
        help="a command that takes longer is ended",
    )
    return parser


def main(
    arguments: Sequence[str] | None = None,
    measure_cell: Measure = measure,
    run: RunProbe = run_probe,
) -> int:
    """Measure, print, write; the exit code."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        cells, probes = chosen(options.cells)
    except UnknownCell as error:
        parser.error(str(error))
    rows = measured_rows(cells, options, measure_cell) if cells else []
    probed = probe_rows(probes, options, run)
    found = findings(rows)
    for text in findings_lines(found) if rows else ():
        print(text)
    figures = report(rows, probed, found, options.clock)
    if options.json is not None:
        text = json.dumps(figures, indent=1, allow_nan=False) + "\n"
        write_atomically(options.json, text.encode())
    print(figures["summary"])
    held = all(row.verdict.holds for row in rows)
    quick = all(probe_missed(item, options.clock) is None for item in probed)
    return 0 if held and quick and not found.missed else 1


if __name__ == "__main__":
    sys.exit(main())
