"""The reference report's tables beside a sweep's: `python -m bench.reference DIR`.

DIR is what `tile-sweep` left. Theirs are the figures of osmarks/ipu-stack's planner
memory sweep of 22 September 2026, measured on a C600; ours are simulated. The tables
are Markdown, as `docs/reference-report.md` has them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tiledialect.report.folder import Case, Sweep, read_sweep
from tiledialect.report.summary import cell, plan_seconds
from tiledialect.report.table import NOTHING, Table, count
from tiledialect.runtime.package import read
from tiledialect.tools.report import guarded

BATCHES = (1, 2, 4)
REJECTED = "rejected"

CYCLES: dict[str, tuple[int | str | None, ...]] = {
    "fp8-default": (222180, 333738, 608454),
    "fp8-384KiB": (222180, 333738, 571104),
    "fp8-256KiB": (200520, 333738, 820914),
    "fp8-128KiB": (REJECTED, REJECTED, REJECTED),
    "fp8-64KiB": (REJECTED, REJECTED, REJECTED),
    "fp16-default": (246186, None, None),
}
"""Renderer cycles, by precision and budget, for each batch."""

BYTES: dict[str, tuple[int, int, int]] = {
    "b1-fp8-default": (388352, 334208, 377316),
    "b1-fp8-256KiB": (154624, 93640, 136304),
    "b2-fp8-default": (235008, 154824, 213868),
    "b2-fp8-256KiB": (235008, 154824, 213868),
    "b4-fp8-default": (320512, 249192, 309600),
    "b4-fp8-384KiB": (320512, 249192, 309520),
    "b4-fp8-256KiB": (262048, 203144, 263804),
}
"""Tensors and support as estimated; tensors as placed; all as placed."""

SECONDS: dict[str, tuple[float, float]] = {
    "b1-fp8-default": (119.5, 71.6),
    "b2-fp8-default": (267.3, 175.0),
    "b4-fp8-default": (411.9, 291.0),
    "b1-fp8-128KiB": (47.9, 47.9),
    "b2-fp8-128KiB": (73.7, 73.7),
    "b4-fp8-128KiB": (67.6, 67.6),
    "b1-fp8-64KiB": (21.5, 21.5),
    "b2-fp8-64KiB": (25.3, 25.3),
    "b4-fp8-64KiB": (22.7, 22.7),
    "b1-fp16-default": (118.2, 80.8),
}
"""Wall seconds of a build, and of its planning; a rejection is planning alone."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables. The exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) != 1 or words[0].startswith("-"):
        print("usage: python -m bench.reference DIR", file=sys.stderr)
        return 2
    return guarded(lambda: _print(Path(words[0])), verbose=False)


def _print(folder: Path) -> int:
    sweep = read_sweep(folder, folder.name)
    for table in tables(sweep):
        print(table.markdown())
    return 0


def tables(sweep: Sweep) -> list[Table]:
    """Cycles, bytes and seconds, theirs beside ours."""
    cases = {case.name: case for case in sweep.cases}
    return [cycles_table(cases), bytes_table(cases), seconds_table(cases)]


def cycles_table(cases: dict[str, Case]) -> Table:
    heads = [
        head
        for batch in BATCHES
        for head in (f"b = {batch}: theirs", f"b = {batch}: ours")
    ]
    rows: list[tuple[str, ...]] = []
    for name, figures in CYCLES.items():
        row = [name.replace("-", ", ")]
        for batch, theirs in zip(BATCHES, figures, strict=True):
            case = cases.get(f"b{batch}-{name}")
            row.append(theirs if isinstance(theirs, str) else count(theirs))
            row.append(NOTHING if case is None else cell(case))
        rows.append(tuple(row))
    figures = (False, *[True] * len(heads))
    return Table("Cycles", ("Budget per tile", *heads), figures, tuple(rows))


def bytes_table(cases: dict[str, Case]) -> Table:
    rows: list[tuple[str, ...]] = []
    for name, (estimated, tensors, every) in BYTES.items():
        case = cases.get(name)
        row = [name, count(estimated), _ours(case, lambda one: one.estimated_bytes)]
        row += [count(tensors), _ours(case, tensor_bytes)]
        row += [count(every), _ours(case, lambda one: one.placed_bytes)]
        rows.append(tuple(row))
    columns = (
        "Case",
        "Estimated: theirs",
        "ours",
        "Placed tensors: theirs",
        "ours",
        "Placed, all: theirs",
        "ours",
    )
    return Table(
        "Bytes of the fullest tile", columns, (False, *[True] * 6), tuple(rows)
    )


def tensor_bytes(case: Case) -> int | None:
    """Placed bytes less the support; None where there is no program."""
    if case.placed_bytes is None or not case.package.exists():
        return None
    return case.placed_bytes - read(str(case.package)).support.bytes


def _ours(case: Case | None, figure: Callable[[Case], int | None]) -> str:
    return NOTHING if case is None else count(figure(case))


def seconds_table(cases: dict[str, Case]) -> Table:
    rows = [
        (
            name,
            f"{build:.1f}",
            _seconds(cases.get(name), lambda case: case.build_seconds),
            _seconds(cases.get(name), lambda case: case.build_cpu_seconds),
            f"{plan:.1f}",
            _seconds(cases.get(name), plan_seconds),
        )
        for name, (build, plan) in SECONDS.items()
    ]
    columns = (
        "Case",
        "Build: theirs",
        "ours",
        "ours, of CPU",
        "Planning: theirs",
        "ours",
    )
    return Table("Seconds", columns, (False, *[True] * 5), tuple(rows))


def _seconds(case: Case | None, figure: Callable[[Case], float | None]) -> str:
    value = None if case is None else figure(case)
    return NOTHING if value is None else f"{value:.1f}"


if __name__ == "__main__":
    sys.exit(main())
