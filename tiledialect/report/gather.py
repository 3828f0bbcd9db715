"""From the folder of a case to what the page shows of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tiledialect.diagnostics import Refused, TileError
from tiledialect.layout_json import Json
from tiledialect.report.flat import case_fields
from tiledialect.report.folder import read_json
from tiledialect.report.page import CaseData
from tiledialect.report.plan_view import plan_groups
from tiledialect.report.program_view import ProgramData, program_data
from tiledialect.runtime.package import read
from tiledialect.runtime.rows_decoder import RowsError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tiledialect.report.folder import Case

ParseModule = Callable[[str, str], "ModuleOp"]
"""From a text and its name to a module."""

LONGEST_LIST = 8
LOCATION = re.compile(r"(.*):(\d+):(\d+)")


def case_data(sweep: str, case: Case, parse: ParseModule) -> CaseData:
    """All that there is of a case. Raises Refused for a damaged package or plan."""
    program = program_of(case)
    plan_path = case.folder / "plan.mlir"
    plan = None
    if plan_path.exists():
        text = plan_path.read_text(encoding="utf-8")
        plan = plan_groups(parse(text, str(plan_path)))
    places = [step["location"] for step in program["steps"]] if program else []
    places += [group["location"] for group in plan or []]
    fields = case_fields(case)
    fields["certificate"] = shortened(fields["certificate"])
    return {
        "sweep": sweep,
        "fields": fields,
        "program": program,
        "plan": plan,
        "curve": curve_points(case.folder / "pareto.json"),
        "explain": _optional_json(case.folder / "explain.json"),
        "source": source_lines(case.folder / "input.mlir", places),
    }


def program_of(case: Case) -> ProgramData | None:
    """The views of a case's package, or None where it has none."""
    if not case.package.exists():
        return None
    package = read(str(case.package))
    try:
        return program_data(package)
    except TileError:
        raise
    except (RowsError, ValueError, IndexError, KeyError, ArithmeticError) as error:
        raise Refused(f"cannot be shown: {error}", str(case.package)) from error


def curve_points(path: Path) -> list[list[int]]:
    """Budget and cycles of every breakpoint in a file of `tile-opt --pareto`."""
    fields = _optional_json(path)
    if fields is None:
        return []
    points = fields.get("breakpoints") if isinstance(fields, dict) else None
    if not isinstance(points, list):
        raise Refused("has no breakpoints", str(path))
    found: list[list[int]] = []
    for point in points:
        pair = point if isinstance(point, dict) else {}
        bytes, cycles = pair.get("budget_bytes"), pair.get("cycles")
        if not isinstance(bytes, int) or not isinstance(cycles, int):
            raise Refused("has a breakpoint without bytes and cycles", str(path))
        found.append([bytes, cycles])
    return found


def shortened(value: Json) -> Json:
    """JSON with long lists given by their lengths: proofs are not for reading."""
    if isinstance(value, dict):
        return {name: shortened(inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > LONGEST_LIST or any(isinstance(one, list | dict) for one in value):
        return f"{len(value)} entries"
    return value


def _optional_json(path: Path) -> Json:
    """The content of a JSON file, or None where there is no such file."""
    return read_json(path) if path.exists() else None


def source_lines(path: Path, places: list[str]) -> dict[str, str]:
    """The line of the input that each location names; the file may have another name
    there, as a sweep compiles a copy."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    found: dict[str, str] = {}
    for place in places:
        match = LOCATION.fullmatch(place)
        if match is not None and int(match[2]) <= len(lines):
            found[place] = lines[int(match[2]) - 1].strip()
    return found
