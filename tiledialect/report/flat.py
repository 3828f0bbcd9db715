"""The same figures for other programs: CSV, a row a case, and JSON."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from tiledialect.layout_json import Json
from tiledialect.report.folder import Case, Sweep
from tiledialect.report.summary import passes_seconds, plan_seconds, stages
from tiledialect.report.table import Table

FORMAT = "tiledialect-report"
VERSION = 1

COLUMNS = (
    "name",
    "workload",
    "batch",
    "precision",
    "blocks",
    "machine",
    "budget",
    "budget_bytes",
    "reserve_bytes",
    "status",
    "reason",
    "smallest_budget",
    "smallest_is_proven",
    "cycles",
    "estimated_cycles",
    "estimated_bytes",
    "live_peak",
    "placed_bytes",
    "max_abs_error",
    "rms_error",
    "output_rms",
    "build_seconds",
    "build_cpu_seconds",
    "simulate_seconds",
    "peak_memory_bytes",
)
"""Fields of a case that are one value each."""

Support = Mapping[str, Mapping[str, int]]
"""By sweep and case the bytes of the support, where there is a package."""


def case_fields(case: Case) -> dict[str, Json]:
    """A case as JSON: what its `case.json` says, and sums of its times."""
    fields = dataclasses.asdict(case)
    del fields["folder"]
    sums = {
        "plan_seconds": plan_seconds(case),
        "passes_seconds": passes_seconds(case),
    }
    return cast(dict[str, Json], fields | sums)


def csv_text(sweeps: Sequence[Sweep], support: Support) -> str:
    """One line a case, all sweeps below each other; empty where there is no figure."""
    names = stages(sweeps)
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    heads = [f"{name}_seconds".replace("-", "_") for name in names]
    sums = ["plan_seconds", "passes_seconds"]
    writer.writerow(["sweep", *COLUMNS, "support_bytes", *heads, *sums])
    for sweep in sweeps:
        for case in sweep.cases:
            fields = case_fields(case)
            row: list[object] = [sweep.label, *(fields[name] for name in COLUMNS)]
            row.append(support[sweep.label].get(case.name))
            row += [case.stage_seconds.get(name) for name in names]
            row += [fields[name] for name in sums]
            writer.writerow([_plain(value) for value in row])
    return output.getvalue()


def _plain(value: object) -> object:
    """True and false as JSON spells them; None as nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def report_fields(
    sweeps: Sequence[Sweep], tables: Sequence[Table], support: Support
) -> dict[str, Json]:
    """The content of `report.json`."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "sweeps": [_sweep_fields(sweep, support[sweep.label]) for sweep in sweeps],
        "tables": cast(list[Json], [table.data() for table in tables]),
    }


def _sweep_fields(sweep: Sweep, support: Mapping[str, int]) -> dict[str, Json]:
    return {
        "label": sweep.label,
        "folder": str(Path(sweep.folder)),
        "workload": sweep.workload,
        "arguments": dict(sweep.arguments),
        "cases": [
            {**case_fields(case), "support_bytes": support.get(case.name)}
            for case in sweep.cases
        ],
    }
