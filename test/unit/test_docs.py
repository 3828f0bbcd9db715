"""The documents: their commands run, what they show is printed, their links lead.

A block marked `sh` is run from its document's folder of work, blocks of one document in
order; `sh no-test` is not. A block marked `output` shows, shortened by `…`, what the
commands just before it print. Figures in it may be those of another day: every run of
digits is compared as one digit. So words and forms stay true, and a better plan of the
same form breaks no document.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HERE = re.compile(r"<<'?(\w+)'?")
SHELL = re.compile(r"[|&;<>$]")
CUT = "…"


def scripts() -> dict[str, str]:
    """The commands of the project: module and function by name."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return project["project"]["scripts"]


TOOLS = scripts()


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
    """All that a block of commands prints; each must end with 0."""
    printed = ""
    for command in commands_of(block.text):
        code, out = run_command(command, folder)
        assert code == 0, f"line {block.line}: {command}: {out}"
        printed += out
    return printed


def commands_of(text: str) -> list[str]:
    """The lines of a block, each with the text that is written behind it."""
    found: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        behind = HERE.search(line)
        command = [line]
        while behind is not None and command[-1] != behind[1]:
            command.append(next(lines))
        found.append("\n".join(command))
    return found


def run_command(command: str, folder: Path) -> tuple[int, str]:
    """A command by a shell, but one of ours without; what is to be done where that
    fails, behind ||, by a shell again."""
    first, fails, otherwise = command.partition(" || ")
    words = [] if SHELL.search(first) else shlex.split(first, comments=True)
    if not words or words[0] not in TOOLS:
        return run_in_shell(command, folder)
    code, out = run_here(words)
    if code and fails:
        code, more = run_in_shell(f"(exit {code}) || {otherwise}", folder)
        out += more
    return code, out


def run_here(words: list[str]) -> tuple[int, str]:
    """A command of ours in this process, in its current folder."""
    module, _, name = TOOLS[words[0]].partition(":")
    main: Callable[[list[str]], int] = getattr(importlib.import_module(module), name)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = main(words[1:])
    return code, printed.getvalue()


def run_in_shell(text: str, folder: Path) -> tuple[int, str]:
    binaries = str(Path(sys.executable).parent)
    done = subprocess.run(
        ["bash", "-eu", "-c", text],
        cwd=folder,
        env={**os.environ, "PATH": os.pathsep.join([binaries, os.environ["PATH"]])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
@pytest.mark.usefixtures("deep_recursion")
def test_commands_run_and_print_what_is_shown(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    printed: str | None = None
    for block in blocks_of(path.read_text()):
        if block.runs:
            printed = run_block(block, tmp_path)
        elif block.shows_output:
            assert printed is not None, f"line {block.line} shows output of nothing"
            missing = missing_line(block.text, printed)
            assert missing is None, f"line {block.line}: not printed: {missing}"


def links_of(text: str) -> list[str]:
    """Where the links of a document lead, but for those to other hosts."""
    return [link for link in LINK.findall(FENCE.sub("", text)) if "://" not in link]


def files_in(text: str) -> list[str]:
    """Names in backticks that begin with a folder of this repository."""
    names = re.findall(r"`([\w./-]+/[\w.*/-]*)`", FENCE.sub("", text))
    tops = {"tiledialect", "test", "examples", "bench", "docs"}
    return [name for name in names if name.split("/")[0] in tops]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_links_lead_somewhere(path: Path) -> None:
    for target in links_of(path.read_text()):
        assert (path.parent / target.split("#")[0]).exists(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_files_that_a_document_names_are_there(path: Path) -> None:
    for name in files_in(path.read_text()):
        assert list(ROOT.glob(name.rstrip("/"))), f"{name} is not there"


def test_links_and_names_of_files_are_found() -> None:
    text = "a [b](c.md#d) `test/unit/` [e](http://f) `g/h`\n```sh\n[i](j)\n```\n"
    assert (links_of(text), files_in(text)) == (["c.md#d"], ["test/unit/"])
    readme = (ROOT / "README.md").read_text()
    assert "docs/budget.md" in links_of(readme)
    assert "tiledialect/pipeline.py" in files_in(readme)


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
            assert words[0] in TOOLS, command


def test_every_command_is_in_the_table() -> None:
    assert set(TOOLS) <= {command.split()[0] for command in table_commands()}


def test_options_of_the_table_are_options(tmp_path: Path) -> None:
    rows = (ROOT / "README.md").read_text().split("## Commands")[1].splitlines()
    seen: set[str] = set()
    for row in rows:
        match = re.match(r"\| `(tile-\w+)", row)
        if match is None:
            continue
        seen.add(match[1])
        module, _, name = TOOLS[match[1]].partition(":")
        code = f"import {module} as tool; tool.{name}(['--help'])"
        _, text = run_in_shell(f'python -c "{code}"', tmp_path)
        known = set(re.findall(r"(?<!\S)--?[\w-]+", text.replace(",", " ")))
        options = set(re.findall(r"`(--?[a-z][\w-]*)", row))
        assert options <= known, f"{match[1]}: {options - known}"
    assert seen == set(TOOLS)


def test_blocks_are_read() -> None:
    blocks = blocks_of(
        "a\n```sh no-test\nx\n```\n```sh\ny\n```\n```text output\n…\n```\n"
    )
    assert [block.runs for block in blocks] == [False, True, False]
    assert [block.shows_output for block in blocks] == [False, False, True]
    assert [block.line for block in blocks] == [2, 5, 8]


def test_commands_of_a_block_keep_their_text() -> None:
    text = "a b\ncat > c <<'END'\nx y\nEND\nd || e\n"
    assert commands_of(text) == ["a b", "cat > c <<'END'\nx y\nEND", "d || e"]


def test_what_fails_goes_on_behind_its_bars(tmp_path: Path) -> None:
    words = f"tile-run {tmp_path}/none.tilepkg"
    code, out = run_command(f'{words} || echo "code $?"', tmp_path)
    assert code == 0
    assert out.splitlines()[-1] == "code 1"
    assert "error" in out.splitlines()[0]
    assert run_command(words, tmp_path)[0] == 1
    assert run_command("false || exit 3", tmp_path)[0] == 3


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
