"""How sweeps and their cases end before their time: killed, stopped, out of time."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from small_sweep import BUDGETS, CASES
from test_sweep import contents, record_of

from tiledialect.diagnostics import Refused
from tiledialect.machine import Machine
from tiledialect.sweep.cases import Case, Program, Setting
from tiledialect.sweep.commands import Ended, Interrupted, Processes
from tiledialect.sweep.pool import run_all
from tiledialect.sweep.record import Outcome, case_record
from tiledialect.sweep.run_case import Finished, Job, plan_words, to_json
from tiledialect.tools.sweep import main

COMMAND = (sys.executable, "-m", "tiledialect.tools.sweep", "--resume", "-o")
PATIENCE_SECONDS = 60.0


def wait_until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def begin(
    done: Path, folder: Path
) -> tuple[subprocess.Popen[bytes], list[psutil.Process]]:
    """A sweep that has all but its second case, and is busy with that: the process, and
    those of the case."""
    shutil.copytree(done, folder)
    shutil.rmtree(folder / "cases" / CASES[1])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sweep = subprocess.Popen([*COMMAND, str(folder)], stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, before)
    seen = psutil.Process(sweep.pid)
    wait_until(lambda: bool(seen.children()), "the second case")
    wait_until(lambda: any((folder / ".work").glob("*/input.mlir")), "its files")
    return sweep, seen.children()


def end(
    sweep: subprocess.Popen[bytes], children: list[psutil.Process], number: int
) -> tuple[int, bytes]:
    """End a sweep by a signal: exit code and stderr, when its children are gone too."""
    with sweep:
        sweep.send_signal(number)
        code = sweep.wait()
        assert sweep.stderr is not None
        said = sweep.stderr.read()
    _, alive = psutil.wait_procs(children, timeout=PATIENCE_SECONDS)
    assert not alive
    return code, said


def test_a_killed_sweep_goes_on_to_the_same_result(
    small_sweep: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    sweep, children = begin(small_sweep, folder)
    assert end(sweep, children, signal.SIGKILL) == (-9, b"")
    assert not (folder / "cases" / CASES[1]).exists()
    assert main(["--resume", "--quiet", "-o", str(folder)]) == 0
    assert contents(folder) == contents(small_sweep)


def test_an_interrupted_sweep_leaves_nothing_half_done(
    small_sweep: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    sweep, children = begin(small_sweep, folder)
    assert end(sweep, children, signal.SIGINT) == (130, b"error: interrupted\n")
    shutil.copytree(small_sweep / "cases" / CASES[1], folder / "cases" / CASES[1])
    assert contents(folder) == contents(small_sweep)


def test_a_case_out_of_time_is_a_row_and_runs_again(
    small_sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["tiny-mlp", f"--budgets={BUDGETS[2]}", "-o", str(tmp_path / "short")]
    assert main([*words, "--timeout=0.05"]) == 1
    printed = capsys.readouterr()
    assert "timeout" in printed.out
    assert printed.err == ""
    record = record_of(tmp_path / "short", CASES[2])
    assert record["reason"] == "stopped after 0.05 s of building"
    assert record["exit_codes"] == [-9]
    assert main([*words, "--resume"]) == 0
    case, same = (f / "cases" / CASES[2] for f in (tmp_path / "short", small_sweep))
    assert contents(case) == contents(same)


def test_stopped_processes_end_and_no_other_begins(tmp_path: Path) -> None:
    processes = Processes()
    processes.stop()
    with pytest.raises(Interrupted):
        processes.run(("tile-opt", "--version"), tmp_path, 1.0)


def test_a_command_is_told_apart_from_its_times(tmp_path: Path) -> None:
    (tmp_path / "in.mlir").write_text(
        'module attributes {tile.machine = "mini16"} {}\n'
    )
    words = ("tile-opt", "--time-passes", "-p", "expand-candidates", "in.mlir")
    ended = Processes().run(words, tmp_path, PATIENCE_SECONDS)
    assert list(ended.pass_seconds) == ["expand-candidates"]
    assert " s  " not in ended.output
    assert ended.error.startswith("error: expand-candidates: a program needs one")
    assert (ended.code, ended.timed_out) == (1, False)
    assert 0 < ended.cpu_seconds < PATIENCE_SECONDS
    assert ended.peak_memory_bytes > 1 << 20


CASE = Case(
    "one", Program("w", "text"), "8KiB", Setting(Machine.load("mini16"), 0), None, None
)
DONE = Ended((), 0, "", {"search-plan": 1.5}, 2.0, 1.0, 3, False)


def outcome_record(outcome: Outcome, report: dict[str, Any] | None = None) -> Any:
    files = {"input.mlir": b"text", "machine.json": b"{}"}
    if report is not None:
        files["run.json"] = json.dumps(report).encode()
    return case_record(CASE, outcome, files)[0]


REPORT: dict[str, Any] = {
    "cycles": 7,
    "max_abs_error": None,
    "passed": False,
    "outputs": [
        {"max_abs_error": 1.0, "rms_error": 0.5, "rms": 2.0},
        {"max_abs_error": None, "rms_error": None, "rms": 3.0},
    ],
}


def test_ends_of_cases() -> None:
    refused = replace(DONE, code=1, output="in.mlir:1:1: error: no\nhint\n")
    killed = replace(DONE, code=-9)
    for outcome, report, status, reason in (
        (Outcome(9, refused), None, "refused", "in.mlir:1:1: error: no"),
        (Outcome(9, killed), None, "refused", "ended by signal 9"),
        (Outcome(9, DONE, refused), None, "refused", "in.mlir:1:1: error: no"),
        (
            Outcome(9, replace(killed, timed_out=True)),
            None,
            "timeout",
            "stopped after 9 s of building",
        ),
        (
            Outcome(9, DONE, DONE, replace(killed, timed_out=True)),
            None,
            "timeout",
            "stopped after 9 s of simulating",
        ),
        (Outcome(9, DONE, DONE, refused), None, "refused", "in.mlir:1:1: error: no"),
        (
            Outcome(9, DONE, DONE, refused),
            REPORT,
            "check-failed",
            "in.mlir:1:1: error: no",
        ),
        (Outcome(9, DONE, DONE, DONE), {**REPORT, "passed": True}, "ok", None),
        # an effort limit leaves a plan and a package
        (
            Outcome(9, replace(DONE, code=4), DONE, DONE),
            {**REPORT, "passed": True},
            "ok",
            None,
        ),
    ):
        record = outcome_record(outcome, report)
        assert (record["status"], record["reason"]) == (status, reason)


def test_the_row_has_the_worst_output_and_sums_of_seconds() -> None:
    record = outcome_record(Outcome(9, DONE, DONE, DONE), REPORT)
    assert (record["max_abs_error"], record["rms_error"]) == (None, None)
    assert record["output_rms"] == 3.0
    assert record["stage_seconds"] == {"search-plan": 3.0}
    assert (record["build_seconds"], record["simulate_seconds"]) == (4.0, 2.0)
    assert to_json(record)


@pytest.mark.parametrize(
    ("said", "smallest", "is_proven"),
    [
        ("error: …; the smallest budget that works is 5461 bytes, fullest", 5461, True),
        ("error: …; a budget of 72779 bytes works, fullest in", 72779, False),
        ("error: …; no plan fits the 65280 bytes of a tile either", None, None),
    ],
)
def test_a_refusal_names_a_budget(
    said: str, smallest: int | None, is_proven: bool | None
) -> None:
    ended = replace(DONE, code=3, output=said)
    record = outcome_record(Outcome(9, ended))
    assert record["status"] == "infeasible"
    assert (record["smallest_budget"], record["smallest_is_proven"]) == (
        (smallest, is_proven)
    )


def test_the_words_of_a_command_carry_machine_and_reserve() -> None:
    from tiledialect.sweep.cases import MachineFile

    named = replace(CASE, machine_file=MachineFile("mini4", None), reserve="1KiB")
    assert plan_words(named)[1:4] == (
        ("--plan-budget=8KiB", "--machine=mini4", "--reserve=1KiB")
    )
    own = replace(CASE, machine_file=MachineFile("x/y.toml", "text"))
    assert plan_words(own)[2] == "--machine=machine.toml"
    assert not any("--machine" in word for word in plan_words(CASE))
    assert os.sep not in "".join(plan_words(own))


def test_a_job_without_an_end_holds_up_no_other() -> None:
    """As when the worker of a cluster dies."""
    jobs = [Job(replace(CASE, name=name), 1.0, None) for name in ("a", "b", "c")]

    def run(job: Job) -> Finished:
        if job.case.name == "b":
            raise MemoryError("worker died")
        return Finished(job.case.name, {}, {})

    found: list[str] = []
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(Refused, match=r"no result of b \(MemoryError: worker died\)"),
    ):
        found.extend(done.name for done in run_all(executor, run, jobs))
    assert sorted(found) == ["a", "c"]


def test_a_damaged_package_is_a_row_without_its_figures() -> None:
    files = {"input.mlir": b"", "machine.json": b"", "case.tilepkg": b"no package"}
    refused = replace(DONE, code=1, output="case.tilepkg: error: is no package")
    record, drawn = case_record(CASE, Outcome(9, DONE, DONE, refused), files)
    assert (record["status"], record["placed_bytes"], drawn) == ("refused", None, None)
