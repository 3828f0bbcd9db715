"""What `case.json` says of a case: how it ended, its figures, and where from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tiledialect.diagnostics import Refused
from tiledialect.runtime.package import Package, from_bytes
from tiledialect.sweep.cases import Case
from tiledialect.sweep.commands import Ended
from tiledialect.sweep.versions import compiler_sha256, sha256

OK, INFEASIBLE, REFUSED, TIMEOUT, CHECK_FAILED = (
    "ok",
    "infeasible",
    "refused",
    "timeout",
    "check-failed",
)
"""How a case ends."""

ROWS = (OK, INFEASIBLE)
"""The ends that a sweep is content with."""

MEASURED_FIELDS = (
    "stage_seconds",
    "build_seconds",
    "build_cpu_seconds",
    "simulate_seconds",
    "simulate_cpu_seconds",
    "peak_memory_bytes",
)
"""Fields that differ from one run to the next; all others never do."""

INFEASIBLE_CODE = 3
SMALLEST = re.compile(r"the smallest budget that works is (\d+) bytes")
ENOUGH = re.compile(r"a budget of (\d+) bytes works")

Json = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The commands of a case, as far as it came."""

    limit_seconds: float
    plan: Ended
    package: Ended | None = None
    run: Ended | None = None

    @property
    def commands(self) -> tuple[Ended, ...]:
        every = (self.plan, self.package, self.run)
        return tuple(ended for ended in every if ended is not None)

    @property
    def builds(self) -> tuple[Ended, ...]:
        return tuple(e for e in (self.plan, self.package) if e is not None)


def case_record(
    case: Case, outcome: Outcome, files: Mapping[str, bytes]
) -> tuple[Json, Json | None]:
    """The fields of `case.json`, and those of `memory_map.json`, if there is one."""
    data, report = files.get("case.tilepkg"), files.get("run.json")
    package = None if data is None else _package(data)
    run: Json = {} if report is None else json.loads(report)
    status, reason = _end(outcome, run)
    smallest, is_proven = _smallest(outcome.plan.output)
    record: Json = {
        "name": case.name,
        "workload": case.program.workload,
        "batch": case.program.batch,
        "precision": case.program.precision,
        "budget": case.budget,
        "budget_bytes": case.budget_bytes,
        "machine": case.setting.machine.name,
        "reserve_bytes": case.setting.reserve_bytes,
        "blocks": case.program.blocks,
        "status": status,
        "reason": reason,
        "smallest_budget": smallest,
        "smallest_is_proven": is_proven,
        **_figures(package, run),
        "certificate": _certificate(package, files.get("certificate.json")),
        **_measured(outcome),
        "exit_codes": [ended.code for ended in outcome.commands],
        "sha256": {
            "input": sha256(files["input.mlir"]),
            "package": None if data is None else sha256(data),
            "compiler": compiler_sha256(),
            "machine": sha256(files["machine.json"]),
        },
    }
    return record, None if package is None else memory_map(package)


def _package(data: bytes) -> Package | None:
    """The package in these bytes; None if they are none, which `tile-run` says too."""
    try:
        return from_bytes(data)
    except Refused:
        return None


def _end(outcome: Outcome, run: Json) -> tuple[str, str | None]:
    """How the case ended, and why in one line."""
    last = outcome.commands[-1]
    if last.timed_out:
        doing = "simulating" if outcome.run is last else "building"
        return TIMEOUT, f"stopped after {outcome.limit_seconds:g} s of {doing}"
    if outcome.package is None and last.code == INFEASIBLE_CODE:
        return INFEASIBLE, last.error
    if outcome.run is None or not run:
        return REFUSED, last.error
    if run["passed"] is not True:
        return CHECK_FAILED, last.error
    return (OK, None) if last.code == 0 else (REFUSED, last.error)


def _smallest(text: str) -> tuple[int | None, bool | None]:
    """The budget that a refusal names, and whether nothing below it works."""
    for pattern, is_proven in ((SMALLEST, True), (ENOUGH, False)):
        match = pattern.search(text)
        if match is not None:
            return int(match[1]), is_proven
    return None, None


def _figures(package: Package | None, run: Json) -> Json:
    known = _certificate(package, None) or {}
    outputs: list[Json] = run.get("outputs", [])
    # the output that lies farthest from the reference; null means infinitely far
    worst = max(outputs, key=_error) if outputs else Json()
    return {
        "cycles": run.get("cycles"),
        "estimated_cycles": None if package is None else package.estimated_cycles,
        "estimated_bytes": known.get("bytes"),
        "placed_bytes": None if package is None else package.footprint,
        "live_peak": None if package is None else package.live_peak,
        "max_abs_error": run.get("max_abs_error"),
        "rms_error": worst.get("rms_error"),
        "output_rms": worst.get("rms"),
    }


def _certificate(package: Package | None, file: bytes | None) -> Json | None:
    """What the search says of its plan, or of there being none."""
    if package is not None:
        return package.certificate if isinstance(package.certificate, dict) else None
    if file is None:
        return None
    written: Json = json.loads(file)
    return written["certificate"]


def _error(output: Json) -> float:
    error = output["max_abs_error"]
    return float("inf") if error is None else float(error)


def _measured(outcome: Outcome) -> Json:
    """Seconds and memory of this very run."""
    stages: dict[str, float] = {}
    for ended in outcome.builds:
        for name, seconds in ended.pass_seconds.items():
            stages[name] = round(stages.get(name, 0.0) + seconds, 3)
    run = outcome.run
    return {
        "stage_seconds": stages,
        "build_seconds": round(sum(e.wall_seconds for e in outcome.builds), 3),
        "build_cpu_seconds": round(sum(e.cpu_seconds for e in outcome.builds), 3),
        "simulate_seconds": None if run is None else round(run.wall_seconds, 3),
        "simulate_cpu_seconds": None if run is None else round(run.cpu_seconds, 3),
        "peak_memory_bytes": max(e.peak_memory_bytes for e in outcome.commands),
    }


def memory_map(package: Package) -> Json:
    """Where everything lies on a tile, and when. Tiles are boxes: a first tile, and
    (count, stride) of nested steps."""
    return {
        "budget_bytes": package.budget,
        "reserve_bytes": package.reserve,
        "footprint_bytes": package.footprint,
        "live_peak_bytes": package.live_peak,
        "steps": len(package.steps),
        "support": asdict(package.support),
        "buffers": [
            {
                "name": buffer.name,
                "address": buffer.address,
                "bytes": buffer.bytes,
                "tiles": [[box.first, box.steps] for box in buffer.tiles.boxes],
                "live": buffer.live,
                "region": buffer.region,
                "purpose": buffer.purpose,
                "location": buffer.location,
            }
            for buffer in package.buffers
        ],
    }


def without_measures(record: Mapping[str, Any]) -> Json:
    """A record without the fields that differ from one run to the next."""
    return {k: v for k, v in record.items() if k not in MEASURED_FIELDS}
