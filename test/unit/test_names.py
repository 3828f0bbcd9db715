"""Names and files agree: passes, dialects, their tests, check lines, sources."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tiledialect import pipeline
from tiledialect.pipeline import Entry, PassEntry

PACKAGE = Path(pipeline.__file__).parent
LIT = Path(__file__).parents[1] / "lit"
OURS = [entry for entry in pipeline.DIALECTS if entry.module.startswith("tiledialect.")]
LIT_FILES = sorted(p for p in LIT.rglob("*.mlir") if "Output" not in p.parts)
MACHINES = sorted((PACKAGE / "machines").glob("*.toml"))

SUFFIX = re.compile(r"NEXT|SAME|DAG|NOT|LABEL|EMPTY|COUNT-[1-9][0-9]*")
LINE = re.compile(r"\s*(?://|#)\s*([A-Z][A-Z0-9_-]*)(?:\{LITERAL\})?:(?!:)")
BARE = re.compile(r"\s*(?://|#)\s*(CHECK[A-Z0-9_-]*)\s*[^:{\sA-Z0-9_-]")
OTHER_LINES = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "ALLOW_RETRIES", "END"}


def camel_case(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))


def shown(entry: Entry) -> str:
    return entry.name


@pytest.mark.parametrize("entry", pipeline.PASSES, ids=shown)
def test_a_pass_is_named_as_its_file_and_class(entry: PassEntry) -> None:
    assert entry.module.split(".")[-1] == entry.name.replace("-", "_")
    assert entry.class_name == camel_case(entry.name) + "Pass"
    assert entry.load().name == entry.name


@pytest.mark.parametrize("entry", pipeline.PASSES, ids=shown)
def test_a_pass_has_its_tests(entry: PassEntry) -> None:
    assert (LIT / "passes" / f"{entry.name}.mlir").is_file()
    assert (LIT / "passes" / f"{entry.name}-errors.mlir").is_file()


def test_every_pass_class_is_in_the_pipeline() -> None:
    listed = {entry.class_name for entry in pipeline.PASSES}
    seen: set[str] = set()
    for folder in ("passes", "checkers"):
        for path in (PACKAGE / folder).rglob("*.py"):
            tree = ast.parse(path.read_text())
            classes = {n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
            found = {name for name in classes if name.endswith("Pass")}
            assert found <= listed, f"{path}: {found - listed}"
            seen |= found
    assert listed - seen == {"SelectPlanPass"}  # which runs passes, so is none of them


def test_passes_follow_each_other_on_the_ladder() -> None:
    rung = 1
    for entry in pipeline.PASSES:
        assert entry.rung_in == rung
        assert entry.rung_out - rung in (0, 1)
        rung = entry.rung_out
    assert rung == 6


@pytest.mark.parametrize("entry", OURS, ids=shown)
def test_a_dialect_is_named_as_its_file_and_has_its_tests(entry: Entry) -> None:
    assert entry.module == f"tiledialect.dialects.{entry.name}"
    assert entry.class_name == camel_case(entry.name)
    assert entry.load().name == entry.name
    assert (LIT / "dialects" / f"{entry.name}.mlir").is_file()
    assert (LIT / "dialects" / f"{entry.name}-errors.mlir").is_file()


@pytest.mark.parametrize("entry", pipeline.TARGETS, ids=shown)
def test_a_target_is_named_as_its_class(entry: Entry) -> None:
    assert entry.class_name == camel_case(entry.name) + "Target"
    assert entry.load().name == entry.name


def prefixes(text: str) -> set[str]:
    """The check prefixes that the RUN lines of a lit file name."""
    named = re.findall(r"--check-prefix(?:es)?[= ]([\w,-]+)", text)
    found = {prefix for group in named for prefix in group.split(",")}
    plain = [line for line in text.splitlines() if "filecheck" in line]
    if any("--check-prefix" not in line for line in plain):
        found.add("CHECK")
    return found


def wrong_lines(text: str) -> list[str]:
    """The lines of a lit file that look like checks and that filecheck ignores."""
    known = prefixes(text)
    wrong = [line for line in text.splitlines() if BARE.match(line)]
    for line in text.splitlines():
        match = LINE.match(line)
        if match is None or match[1] in known | OTHER_LINES:
            continue
        owners = [p for p in known if match[1].startswith(f"{p}-")]
        if not any(SUFFIX.fullmatch(match[1][len(p) + 1 :]) for p in owners):
            wrong.append(line)
    return wrong


@pytest.mark.parametrize("path", LIT_FILES, ids=lambda p: str(p.relative_to(LIT)))
def test_lit_files_check_what_they_seem_to(path: Path) -> None:
    text = path.read_text()
    assert "RUN:" in text
    assert not wrong_lines(text)
    for prefix in prefixes(text):
        assert re.search(rf"(?://|#)\s*{prefix}\b", text), f"{prefix} checks nothing"


@pytest.mark.parametrize(
    "line",
    [
        "// CHECK-NXT: x",
        "// CHECK-NOTE: x",
        "// CHEK: x",
        "// CHECK-COUNT: x",
        "// CHECK %x",
        "  // RUNG-NEXT: x",
        "// R2-NEXTT: x",
    ],
)
def test_a_misspelt_check_is_found(line: str) -> None:
    run = "// RUN: a | filecheck %s\n// RUN: a | filecheck %s --check-prefix=R2\n"
    assert wrong_lines(run + line) == [line]


@pytest.mark.parametrize(
    "line",
    [
        "// CHECK: x",
        "// CHECK-NEXT: x",
        "// CHECK-COUNT-3: x",
        "// R2-LABEL: x",
        "// R2-SAME{LITERAL}: [[x]]",
        "// Checks that: a sentence",
        "%a = memory.alloc // CHECK of nothing",
    ],
)
def test_a_right_check_is_let_through(line: str) -> None:
    run = "// RUN: a | filecheck %s\n// RUN: a | filecheck %s --check-prefix=R2\n"
    assert wrong_lines(run + line) == []


def figures_without_source(text: str) -> list[str]:
    """The lines of a machine file with a figure and no `#` saying where it is from."""
    wrong: list[str] = []
    for line in text.splitlines():
        value, _, source = re.sub(r'"[^"]*"', '""', line).partition("#")
        has_figure = re.search(r"=.*(\d|true|false)", value) is not None
        if has_figure and not source.strip():
            wrong.append(line)
    return wrong


@pytest.mark.parametrize("path", MACHINES, ids=lambda p: p.stem)
def test_every_figure_of_a_machine_has_its_source(path: Path) -> None:
    assert not figures_without_source(path.read_text())


def test_a_figure_without_source_is_found() -> None:
    text = 'name = "x-600"\ntiles = 4\nbytes = 8 # row 1\nok = true #\na = [1, 2]\n'
    assert figures_without_source(text) == ["tiles = 4", "ok = true #", "a = [1, 2]"]
