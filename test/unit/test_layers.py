"""The architecture: which part of tiledialect may import which other part.

A new arrow is a design decision, made in the table below.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tiledialect import pipeline

ROOT = Path(pipeline.__file__).parent
PLAIN = {
    "formats",
    "scalar_functions",
    "intervals",
    "sizes",
    "sorting",
    "diagnostics",
    "atomic",
}
"""Ideas with no idea of a machine, free to all."""

LAYOUTS = {
    "tiles",
    "layout",
    "layout_json",
    "blocks",
    "byte_runs",
    "padding",
    "own_piece",
    "relayout",
}
"""The idea of layouts, and of the transfers between two of them, one file a part."""

DATA = {"codelets", "row_sharing", "rows", *LAYOUTS}
"""The plain data that all rungs share."""

PLANNING = {
    "dimensions",
    "program",
    "chunks",
    "candidates",
    "group_layouts",
    "cost",
    "search",
}
"""What a program could be, what that costs, and which is best."""

SEES: dict[str, set[str]] = {
    "formats": set(),
    "scalar_functions": set(),
    "intervals": set(),
    "sizes": set(),
    "sorting": set(),
    "atomic": set(),
    "diagnostics": {"sizes"},
    "machine": set(),
    "tiles": {"machine", *PLAIN},
    "layout": {"machine", "tiles", *PLAIN},
    "layout_json": {"machine", "layout", "tiles", *PLAIN},
    "blocks": {"machine", "layout", "tiles", *PLAIN},
    "byte_runs": {"machine", "layout", "tiles", *PLAIN},
    "padding": {"machine", "layout", "tiles", "blocks", "byte_runs", *PLAIN},
    "own_piece": {"machine", *LAYOUTS - {"own_piece", "relayout"}, *PLAIN},
    "relayout": {"machine", *LAYOUTS - {"relayout"}, *PLAIN},
    "codelets": {"machine", *PLAIN},
    "row_sharing": set(),
    "rows": {"machine", "row_sharing", *PLAIN},
    "placement": {"machine", *PLAIN},
    "schedule": {"machine", *PLAIN},
    "dialects": {"machine", *DATA, *PLAIN},
    "text": {"diagnostics", "dialects"},
    "dimensions": {"dialects"},
    "program": {"machine", "dialects", "dimensions", *DATA, *PLAIN},
    "chunks": {"layout", "program"},
    "candidates": {"machine", "program", *DATA, *PLAIN},
    "group_layouts": {"machine", "program", "candidates", *DATA, *PLAIN},
    "constraints": {"machine", "program", "candidates", *DATA, *PLAIN},
    "constraint_text": {"program", "candidates", "constraints", *PLAIN},
    "json_places": set(),
    "plan_file": {
        "program",
        "constraints",
        "constraint_text",
        "json_places",
        *PLAIN,
    },
    "curve_file": {
        "program",
        "constraints",
        "constraint_text",
        "plan_file",
        "search",
        *PLAIN,
    },
    "forced_plans": {
        "machine",
        "dialects",
        "program",
        "constraints",
        "constraint_text",
        "plan_file",
        *PLAIN,
    },
    "cost": {"machine", *PLANNING - {"cost", "search"}, *DATA, *PLAIN},
    "search": {"machine", *PLANNING - {"search"}, *DATA, *PLAIN},
    "plan_terms": {
        "machine",
        "constraints",
        "constraint_text",
        *PLANNING,
        *DATA,
        *PLAIN,
    },
    "plan_steps": {"machine", "dialects", *PLANNING, *DATA, *PLAIN},
    "lowering": {"machine", "dialects", "schedule", "placement", *DATA, *PLAIN},
    "passes": {
        "lowering",
        "plan_steps",
        "plan_terms",
        "constraints",
        "constraint_text",
        "curve_file",
        "forced_plans",
        "machine",
        "dialects",
        "placement",
        "schedule",
        "text",
        *PLANNING,
        *DATA,
        *PLAIN,
    },
    "checkers": {"machine", "codelets", "dialects", *LAYOUTS, *PLAIN},
    "runtime": {"machine", "codelets", *LAYOUTS, *PLAIN},
    "report": {"machine", "dialects", "runtime", *LAYOUTS, *PLAIN},
    "reference": {"dialects", *PLAIN},
    "backend": {"machine", "dialects", "runtime.package", *DATA, *PLAIN},
    "select_plan": {
        "machine",
        "dialects",
        "cost",
        "lowering",
        "passes",
        "backend",
        "runtime.timing",
        *PLAIN,
    },
    "pipeline": {"dialects", "passes", "checkers", "select_plan", "backend"},
    "sweep": {"machine", "runtime.package", "tools.opt", "tools.run", *PLAIN},
    "scripting": {"*"},
    "tools": {"*"},
}

ALONE = {"passes"}
"""Folders whose files do not see each other: they speak through the IR."""


def part_of(path: Path) -> str:
    """The part a file belongs to: its folder's name, or its own."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def modules() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*.py")) if path.parent != ROOT] + [
        path for path in sorted(ROOT.glob("*.py")) if path.stem != "__init__"
    ]


def imports_of(path: Path) -> set[str]:
    """The modules of tiledialect that a file names, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            base = node.module or ""
            names.update(f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_name = node.value.replace(".", "").replace("_", "").isalnum()
            if is_name and node.value.startswith("tiledialect."):
                names.add(node.value)  # an entry of pipeline.py, loaded on use
    return {
        name.removeprefix("tiledialect.")
        for name in names
        if name.startswith("tiledialect.") and name != "tiledialect.__version__"
    }


def may_see(part: str, name: str) -> bool:
    """Whether `part` may import the module or member `name`."""
    sees = SEES[part]
    if "*" in sees or name.split(".")[0] in sees:
        return True
    return any(name == allowed or name.startswith(f"{allowed}.") for allowed in sees)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    part = part_of(path)
    assert part in SEES, f"{part} has no row in the table"
    for name in sorted(imports_of(path)):
        if name.split(".")[0] != part:
            assert may_see(part, name), f"{part} must not see {name}"


@pytest.mark.parametrize("folder", sorted(ALONE))
def test_files_of_a_folder_do_not_see_each_other(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert len(paths) > 2
    for path in paths:
        own = path.relative_to(ROOT / folder).with_suffix("").parts[0]
        others = [n for n in imports_of(path) if n.startswith(f"{folder}.")]
        wrong = [n for n in others if n.split(".")[1] != own]
        assert not wrong, f"{path.name} must not see {wrong}"


def test_the_table_has_no_circle() -> None:
    """Below `tools`, no part sees itself over others."""
    rows = {part: {n.split(".")[0] for n in sees} for part, sees in SEES.items()}
    done: set[str] = {"*"}
    while len(done) <= len(rows):
        ready = {p for p, sees in rows.items() if p not in done and sees <= done}
        assert ready, f"a circle among {sorted(set(rows) - done)}"
        done |= ready


def test_package_folders_have_empty_init_files() -> None:
    files = [path for path in ROOT.rglob("__init__.py") if path.parent != ROOT]
    assert {"passes", "runtime"} <= {path.parent.name for path in files}
    for path in files:
        assert not path.read_text().strip(), f"{path} is not empty"


def test_a_forbidden_import_is_found(tmp_path: Path) -> None:
    file = tmp_path / "pass.py"
    file.write_text("def f():\n    from tiledialect.runtime import timing\n")
    assert imports_of(file) == {"runtime.timing"}
    assert may_see("select_plan", "runtime.timing.Step")
    assert not may_see("select_plan", "runtime.simulator")
    assert not may_see("passes", "runtime.timing")
