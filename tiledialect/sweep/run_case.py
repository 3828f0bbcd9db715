"""One case: planned, compiled, simulated and checked, each by a command of its own.

`run_case` is all that an executor runs. It takes and gives plain data, works in a
folder that it makes and removes, and shares nothing with other cases, so it may run in
a thread here or on a worker of a cluster.
"""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiledialect.sweep.cases import Case
from tiledialect.sweep.commands import Ended, Processes
from tiledialect.sweep.record import Outcome, case_record
from tiledialect.sweep.versions import versions

PLAN, PACKAGE, INPUT = "plan.mlir", "case.tilepkg", "input.mlir"
RUN, TRACE, MACHINE = "run.json", "trace.json", "machine.toml"
CERTIFICATE = "certificate.json"
MADE = (CERTIFICATE, PLAN, PACKAGE, RUN, TRACE)  # by the commands, as far as they come
WITH_PLAN = (0, 4)  # exit codes of tile-opt that leave a plan: done, stopped by effort


@dataclass(frozen=True)
class Job:
    """A case to run. `work_folder`: where its folder is made; None: where the system
    keeps temporary files. The limit is one build's, and one simulation's."""

    case: Case
    limit_seconds: float
    work_folder: str | None


@dataclass(frozen=True)
class Finished:
    """What a case left: its record, and files by name."""

    name: str
    record: dict[str, Any]
    files: Mapping[str, bytes]


def run_case(job: Job, processes: Processes | None = None) -> Finished:
    """Run a case to its row. Raises Interrupted when `processes` are stopped."""
    with tempfile.TemporaryDirectory(
        prefix=f"{job.case.name}-", dir=job.work_folder, ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        files = _inputs(job.case)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        outcome = _run(job, folder, processes or Processes())
        for file in MADE:
            if (folder / file).exists():
                files[file] = (folder / file).read_bytes()
    commands = plan_words(job.case), package_words(job.case), run_words()
    files["command.txt"] = _lines(shlex.join(words) for words in commands)
    files["log.txt"] = _log(outcome.commands).encode()
    record, memory_map = case_record(job.case, outcome, files)
    if memory_map is not None:
        files["memory_map.json"] = to_json(memory_map)
    return Finished(job.case.name, record, files)


def to_json(value: object) -> bytes:
    """A JSON file, always the same for the same value."""
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()


def plan_words(case: Case) -> tuple[str, ...]:
    """The command that plans."""
    words = ["tile-opt", f"--plan-budget={case.budget}"]
    if case.machine_file is not None:
        is_file = case.machine_file.text is not None
        words.append(f"--machine={MACHINE if is_file else case.machine_file.word}")
    if case.reserve is not None:
        words.append(f"--reserve={case.reserve}")
    words += ["--stop-after=select-plan", f"--certificate={CERTIFICATE}"]
    return (*words, "--time-passes", "-o", PLAN, INPUT)


def package_words(case: Case) -> tuple[str, ...]:
    """The command that goes on from the plan to a package."""
    budget = f"--plan-budget={case.budget}"
    return ("tile-opt", budget, "-t", "package", "--time-passes", "-o", PACKAGE, PLAN)


def run_words() -> tuple[str, ...]:
    """The command that simulates, checks and profiles."""
    return ("tile-run", PACKAGE, "--check", "--json", RUN, "--profile", TRACE)


def _inputs(case: Case) -> dict[str, bytes]:
    """The files that are there before anything runs."""
    machine = case.setting.machine
    files = {
        INPUT: case.program.text.encode(),
        "machine.json": to_json(machine.fields),
        "versions.json": to_json(versions()),
    }
    if case.machine_file is not None and case.machine_file.text is not None:
        files[MACHINE] = case.machine_file.text.encode()
    return files


def _run(job: Job, folder: Path, processes: Processes) -> Outcome:
    case, limit = job.case, job.limit_seconds
    plan = processes.run(plan_words(case), folder, limit)
    if plan.code not in WITH_PLAN or not (folder / PLAN).exists():
        return Outcome(limit, plan)
    left = max(limit - plan.wall_seconds, 0.0)
    package = processes.run(package_words(case), folder, left)
    if package.code not in WITH_PLAN or not (folder / PACKAGE).exists():
        return Outcome(limit, plan, package)
    return Outcome(limit, plan, package, processes.run(run_words(), folder, limit))


def _lines(texts: Iterable[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def _log(commands: tuple[Ended, ...]) -> str:
    """Each command that ran, what it printed and its exit code."""
    return "".join(
        f"$ {shlex.join(ended.words)}\n{ended.output}exit code {ended.code}\n"
        for ended in commands
    )
