"""One run of `tile-report`: read the sweeps, make tables and page, write the files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tiledialect.atomic import write_atomically
from tiledialect.diagnostics import Refused, Usage
from tiledialect.report.comparison import comparison
from tiledialect.report.flat import csv_text, report_fields
from tiledialect.report.folder import Sweep, read_sweeps
from tiledialect.report.gather import case_data
from tiledialect.report.page import CaseData, PageData, render
from tiledialect.report.summary import summary
from tiledialect.report.table import Table
from tiledialect.tools.report_explain import explain_cases, find_curves

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tiledialect.tools.report_arguments import Options


def run(options: Options) -> int:
    """Do what the options ask for. The exit code."""
    folders = [Path(folder) for folder in options.folders]
    output = folders[0] if options.output is None else Path(options.output)
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise Usage("a sweep is named twice")
    sweeps = read_sweeps(folders)
    if options.explain:
        explain_cases(sweeps)
    if options.curves:
        find_curves(sweeps)
    cases = [
        case_data(sweep.label, case, parse_plan)
        for sweep in sweeps
        for case in sweep.cases
    ]
    support = support_bytes(sweeps, cases)
    tables = report_tables(sweeps, support)
    title = " and ".join(sweep.label for sweep in sweeps)
    page: PageData = {
        "title": title,
        "sweeps": [sweep.label for sweep in sweeps],
        "tables": [table.data() for table in tables],
        "cases": cases,
    }
    fields = report_fields(sweeps, tables, support)
    markdown = "\n".join([f"# {title}\n", *(table.markdown() for table in tables)])
    written = {
        "report.md": markdown,
        "report.csv": csv_text(sweeps, support),
        "report.json": json.dumps(fields, indent=1, allow_nan=False) + "\n",
        "report.html": render(page),
    }
    if not options.quiet:
        print("\n".join(table.text() for table in tables))
    for name, text in written.items():
        _write(output / name, text)
    print(f"report: {output / 'report.html'}")
    return 0


def parse_plan(text: str, name: str) -> ModuleOp:
    """The module of a plan. Raises Refused."""
    from tiledialect.pipeline import make_context
    from tiledialect.text.parser import parse_module
    from tiledialect.text.verify import verify_module

    module = parse_module(make_context(), text, name)
    verify_module(module)
    return module


def support_bytes(
    sweeps: Sequence[Sweep], cases: Sequence[CaseData]
) -> dict[str, dict[str, int]]:
    """The support of every case with a package, by sweep and name."""
    found: dict[str, dict[str, int]] = {sweep.label: {} for sweep in sweeps}
    for case in cases:
        program = case["program"]
        if program is not None:
            name = str(case["fields"]["name"])
            found[case["sweep"]][name] = program["support"]["bytes"]
    return found


def report_tables(
    sweeps: Sequence[Sweep], support: dict[str, dict[str, int]]
) -> list[Table]:
    """The tables of each sweep, then each later one beside the first."""
    tables: list[Table] = []
    for sweep in sweeps:
        for table in summary(sweep, support[sweep.label]):
            tables.append(table if len(sweeps) == 1 else table.of(sweep.label))
    for other in sweeps[1:]:
        tables += comparison(sweeps[0], other)
    return tables


def _write(path: Path, text: str) -> None:
    """Write a file whole; an error of the system names it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
    except OSError as error:
        raise Refused(f"cannot be written: {error.strerror}", str(path)) from error
