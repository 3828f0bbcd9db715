"""The documents: their commands run, what they show is printed, their links lead.

A block marked `sh` is run from its document's folder of work, blocks of one document in
order; `sh no-test` is not. A block marked `output` shows, shortened by `…`, what the
commands just before it print. Figures in it may be those of another day: every run of
digits is compared as one digit. So words and forms stay true, and a better plan of the
same form breaks no document.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CUT = "…"


@dataclass(frozen=True)
class Block:
    """A fenced block: the words behind the fence, and the line it begins on."""

    words: tuple[str, ...]
    text: str
    line: int

    @property
    def runs(self) -> bool:
        return self.words[:1] == ("sh",) and "no-test" not in self.words

    @property
    def shows_output(self) -> bool:
        return "output" in self.words


def blocks_of(text: str) -> list[Block]:
    return [
        Block(
            tuple(match["info"].split()),
            match["text"],
            text.count("\n", 0, match.start()) + 1,
        )
        for match in FENCE.finditer(text)
    ]


def plain(line: str) -> str:
    """A line with its figures and its spacing made alike."""
    return re.sub(r"\d+", "0", " ".join(line.split()))


def shows(shown: str, line: str) -> bool:
    """Whether the parts of `shown` between cuts are in `line`, in order."""
    at = 0
    for part in (plain(piece) for piece in shown.split(CUT)):
        found = line.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def missing_line(shown: str, printed: str) -> str | None:
    """The first line shown that no line printed is, behind those shown before it."""
    lines = iter([plain(line) for line in printed.splitlines()])
    for line in shown.splitlines():
        if line.strip(f" {CUT}") and not any(shows(line, each) for each in lines):
            return line
    return None


def run_block(block: Block, folder: Path) -> str:
    """All that a block of commands prints; it must end with 0."""
    scripts = str(Path(sys.executable).parent)
    paths = os.pathsep.join([scripts, os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-eu", "-c", block.text],
        cwd=folder,
        env={**os.environ, "PATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"line {block.line}: {done.stdout}"
    return done.stdout


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_commands_run_and_print_what_is_shown(path: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    printed: str | None = None
    for block in blocks_of(path.read_text()):
        if block.runs:
            printed = run_block(block, tmp_path)
        elif block.shows_output:
            assert printed is not None, f"line {block.line} shows output of nothing"
            missing = missing_line(block.text, printed)
            assert missing is None, f"line {block.line}: not printed: {missing}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    for target in LINK.findall(FENCE.sub("", path.read_text())):
        if "://" not in target:
            assert (path.parent / target.split("#")[0]).exists(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_files_that_a_document_names_are_there(path: Path) -> None:
    """Names in backticks that begin with a folder of this repository."""
    names = re.findall(r"`([\w./-]+/[\w.*/-]*)`", FENCE.sub("", path.read_text()))
    tops = {"tiledialect", "test", "examples", "bench", "docs"}
    for name in names:
        if name.split("/")[0] in tops:
            assert list(ROOT.glob(name.rstrip("/"))), f"{name} is not there"


def scripts() -> dict[str, str]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return project["project"]["scripts"]


def table_commands() -> list[str]:
    """The first column of the README's table of commands."""
    section = (ROOT / "README.md").read_text().split("## Commands")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)`", section, re.M)


def test_commands_of_the_table_exist() -> None:
    commands = table_commands()
    assert commands
    for command in commands:
        words = command.split()
        if words[:2] == ["python", "-m"]:
            assert (ROOT / f"{words[2].replace('.', '/')}.py").is_file(), command
        else:
            assert words[0] in scripts(), command


def test_every_command_is_in_the_table() -> None:
    assert set(scripts()) <= {command.split()[0] for command in table_commands()}


def test_options_of_the_table_are_options(tmp_path: Path) -> None:
    rows = (ROOT / "README.md").read_text().split("## Commands")[1].splitlines()
    for row in rows:
        match = re.match(r"\| `(tile-\w+)", row)
        if match is None:
            continue
        text = run_block(Block(("sh",), f"{match[1]} --help", 0), tmp_path)
        known = set(re.findall(r"(?<!\S)--?[\w-]+", text.replace(",", " ")))
        options = set(re.findall(r"`(--?[a-z][\w-]*)", row))
        assert options <= known, f"{match[1]}: {options - known}"


def test_blocks_are_read() -> None:
    blocks = blocks_of(
        "a\n```sh no-test\nx\n```\n```sh\ny\n```\n```text output\n…\n```\n"
    )
    assert [block.runs for block in blocks] == [False, True, False]
    assert [block.shows_output for block in blocks] == [False, False, True]
    assert [block.line for block in blocks] == [2, 5, 8]


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        ("a 1 … d\ne", None),
        ("a 5 b", None),
        ("…\ne", None),
        ("e\na", "a"),
        ("a … c … b", "a … c … b"),
        ("a 1 b\na 1 b", "a 1 b"),
        ("f", "f"),
    ],
)
def test_what_is_not_printed_is_found(shown: str, missing: str | None) -> None:
    assert missing_line(shown, "a  27 b c d\ne\n") == missing
