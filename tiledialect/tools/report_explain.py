"""`tile-report --explain --curves`: what other commands can say of a sweep's cases.

`--explain` runs `tile-explain` on every case with a program, `--curves` runs
`tile-opt --pareto` once for every program. Both take budget, machine and reserve from
the case's `command.txt`, and keep what they find in its folder.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tiledialect.diagnostics import Refused
from tiledialect.report.folder import Case, Sweep

EXPLAIN, CURVE = "explain.json", "pareto.json"
SHARED = ("--plan-budget", "--machine", "--reserve")
"""Options that the commands share."""


def explain_cases(sweeps: Iterable[Sweep]) -> None:
    """Give every case with a program its explanation. Raises Refused if one fails."""
    for case in _worked(sweeps):
        if not (case.folder / EXPLAIN).exists():
            words = ["explain", *shared_words(case), "--json", EXPLAIN, "input.mlir"]
            _run(case, words)


def find_curves(sweeps: Iterable[Sweep]) -> None:
    """Give one case of every program the curve of its plans, which is the same at all
    budgets. Raises Refused if one fails."""
    programs: dict[tuple[str, str, int], list[Case]] = {}
    for case in _worked(sweeps):
        key = (case.sha256.get("input", case.name), case.machine, case.reserve_bytes)
        programs.setdefault(key, []).append(case)
    for cases in programs.values():
        if not any((case.folder / CURVE).exists() for case in cases):
            words = ["opt", *shared_words(cases[0]), "--stop-after=search-plan"]
            words += [f"--pareto={CURVE}", "-o=/dev/null", "input.mlir"]
            _run(cases[0], words)


def _worked(sweeps: Iterable[Sweep]) -> Iterable[Case]:
    """The cases that have a program."""
    for sweep in sweeps:
        yield from (case for case in sweep.cases if case.package.exists())


def _run(case: Case, words: list[str]) -> None:
    """Run a command of ours in a case's folder."""
    done = subprocess.run(
        [sys.executable, "-m", f"tiledialect.tools.{words[0]}", *words[1:]],
        cwd=case.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise Refused(f"tile-{words[0]} failed: {lines[-1]}", str(case.folder))


def shared_words(case: Case) -> list[str]:
    """Budget, machine and reserve as the case's first command has them."""
    path: Path = case.folder / "command.txt"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}", str(path)) from error
    words = shlex.split(lines[0]) if lines else []
    if words[:1] != ["tile-opt"] or words[-1] != "input.mlir":
        raise Refused("must begin with the tile-opt command of the case", str(path))
    return [word for word in words if word.split("=")[0] in SHARED and "=" in word]
