"""The curve of a program as a file: every breakpoint with its plan.

    {"format": "tiledialect-curve", "version": 1, "source_sha256": "…",
     "machine": "mini16", "reserve_bytes": 0, "most_bytes": 65280, "status": "exact",
     "knee": 2, "breakpoints": [{"budget_bytes": 5461, "cycles": 2890, …,
       "plan": {"chunks": 1, "h": {"grid": {"b": 1, "m": 2, …}, "steps": 1, …}}}]}

Breakpoints come with the smallest budget first. A plan alone in a file is one that
`search-plan{constraints=FILE}` takes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tiledialect.constraint_text import plain
from tiledialect.constraints import exact
from tiledialect.plan_file import digest
from tiledialect.program import Program
from tiledialect.search.curve import knee

if TYPE_CHECKING:
    from tiledialect.search.solve import Plan

FORMAT, VERSION = "tiledialect-curve", 1


def curve_text(
    program: Program,
    plans: Sequence[Plan],
    *,
    source: str,
    machine: str,
    reserve_bytes: int,
    most_bytes: int,
) -> str:
    """The file of a curve up to `most_bytes`, whose breakpoints are all there."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "source_sha256": digest(source),
        "machine": machine,
        "reserve_bytes": reserve_bytes,
        "most_bytes": most_bytes,
        "status": "exact",
        "knee": knee(plans) if plans else None,
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    points = [f"  {json.dumps(_breakpoint(program, plan))}" for plan in plans]
    lines.append(' "breakpoints": [\n' + ",\n".join(points) + "\n ]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _breakpoint(program: Program, plan: Plan) -> dict[str, object]:
    return {
        "budget_bytes": plan.footprint,
        "cycles": plan.cycles,
        "footprint_bytes": plan.footprint,
        "tensor_bytes": plan.tensor_bytes,
        "support_bytes": plan.support_bytes,
        "fullest": program.groups[plan.fullest].name if program.groups else None,
        "chunks": plan.chunks,
        "plan": plain(program, exact(program, plan.choices, plan.chunks)),
    }
