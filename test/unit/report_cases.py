"""Sweep folders written by hand, with the figures of the reference report's kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PLAIN: dict[str, Any] = {
    "workload": "siglip-mlp",
    "batch": 1,
    "precision": "fp8",
    "budget": "256KiB",
    "budget_bytes": 262144,
    "machine": "ipu-c600",
    "reserve_bytes": 0,
    "blocks": 1,
    "status": "ok",
    "reason": None,
    "smallest_budget": None,
    "smallest_is_proven": None,
    "cycles": 100000,
    "estimated_cycles": 101000,
    "estimated_bytes": 200000,
    "placed_bytes": 190000,
    "live_peak": 180000,
    "max_abs_error": 0.005,
    "rms_error": 0.001,
    "output_rms": 0.25,
    "stage_seconds": {"search-plan": 2.5, "place-memory": 0.5},
    "build_seconds": 4.0,
    "build_cpu_seconds": 3.5,
    "simulate_seconds": 8.0,
    "peak_memory_bytes": 300000000,
    "certificate": {"status": "optimal", "cycles": 101000},
    "sha256": {"input": "ab", "package": None},
}

NO_PLAN: dict[str, Any] = {
    "status": "infeasible",
    "reason": "no plan fits",
    "smallest_budget": 72779,
    "smallest_is_proven": True,
    "stage_seconds": {"search-plan": 1.5},
    **dict.fromkeys(
        [
            "cycles",
            "estimated_cycles",
            "estimated_bytes",
            "placed_bytes",
            "live_peak",
            "max_abs_error",
            "rms_error",
            "output_rms",
            "simulate_seconds",
            "certificate",
        ]
    ),
}


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def write_sweep(folder: Path, cases: dict[str, dict[str, Any] | None]) -> Path:
    """A sweep with these cases: what is not as in PLAIN; None: not finished."""
    fields = {"format": "tiledialect-sweep", "version": 1, "workload": "siglip-mlp"}
    fields |= {"arguments": {"jobs": 2}, "cases": list(cases)}
    write_json(folder / "sweep.json", fields)
    for name, own in cases.items():
        if own is not None:
            path = folder / "cases" / name / "case.json"
            write_json(path, {**PLAIN, "name": name, **own})
    return folder


def two_batches(folder: Path) -> Path:
    """Two batches at three budgets; one pair rises with memory, one cell is missing."""
    large, middle = ("384KiB", 393216), ("256KiB", 262144)
    cells = [(1, large, 120000), (1, middle, 110000), (4, large, 300000)]
    cases: dict[str, dict[str, Any] | None] = {}
    for batch, (budget, size), cycles in cells:
        own = {"batch": batch, "budget": budget, "budget_bytes": size, "cycles": cycles}
        cases[f"b{batch}-fp8-{budget}"] = own
    small = {"budget": "64KiB", "budget_bytes": 65536}
    cases["b1-fp8-64KiB"] = {**small, **NO_PLAN}
    cases["b4-fp8-64KiB"] = {
        **small,
        **NO_PLAN,
        "batch": 4,
        "smallest_is_proven": False,
    }
    return write_sweep(folder, cases)
