"""`tile-sweep` from options to folder: files, rows, exit codes, going on later."""

from __future__ import annotations

import io
import json
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from small_sweep import BUDGETS, CASES, WORDS

import tiledialect
from tiledialect.sweep.folder import SweepFolder
from tiledialect.sweep.record import without_measures
from tiledialect.sweep.run_case import Finished
from tiledialect.sweep.versions import compiler_sha256, sha256
from tiledialect.tools.sweep import main
from tiledialect.tools.sweep_progress import progress

EXAMPLES = Path(__file__).parents[2] / "examples"
FASTEST, SMALLEST, IMPOSSIBLE = CASES
ALWAYS = {
    "case.json",
    "certificate.json",
    "command.txt",
    "input.mlir",
    "log.txt",
    "machine.json",
    "versions.json",
}
WITH_PACKAGE = {
    "case.tilepkg",
    "memory_map.json",
    "plan.mlir",
    "run.json",
    "trace.json",
}


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())


def record_of(folder: Path, name: str) -> dict[str, Any]:
    return read_json(folder / "cases" / name / "case.json")


def contents(folder: Path) -> dict[str, object]:
    """Every file of a sweep, but for what is measured anew each time."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.name == "case.json":
            found[name] = json.dumps(without_measures(read_json(path)), indent=1)
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def test_a_case_is_a_folder_of_all_that_it_was(small_sweep: Path) -> None:
    head = read_json(small_sweep / "sweep.json")
    assert head["cases"] == list(CASES)
    assert head["arguments"]["budgets"] == list(BUDGETS)
    assert {path.name for path in small_sweep.iterdir()} == {"sweep.json", "cases"}
    for name in CASES:
        files = {path.name for path in (small_sweep / "cases" / name).iterdir()}
        assert files == (ALWAYS if name == IMPOSSIBLE else ALWAYS | WITH_PACKAGE)


def test_a_row_has_the_figures_of_its_files(small_sweep: Path) -> None:
    for name in (FASTEST, SMALLEST):
        case = small_sweep / "cases" / name
        record, run = record_of(small_sweep, name), read_json(case / "run.json")
        assert (record["status"], record["reason"]) == ("ok", None)
        assert record["cycles"] == run["cycles"]
        assert record["placed_bytes"] == run["footprint_bytes"]
        assert record["max_abs_error"] == run["outputs"][0]["max_abs_error"]
        assert 0 < record["rms_error"] < record["max_abs_error"]
        assert record["certificate"]["status"] == "optimal"
        written = read_json(case / "certificate.json")
        said = dict(record["certificate"])  # placement may have raised the bytes
        said["bytes"] = said.pop("foretold", said["bytes"])
        assert written["certificate"] == said
        assert record["estimated_bytes"] == record["certificate"]["bytes"]
        assert {"search-plan", "place-memory"} <= record["stage_seconds"].keys()
        trace = read_json(case / "trace.json")
        assert trace["otherData"]["cycles"] == record["cycles"]


def test_hashes_and_versions_say_what_it_was_made_of(small_sweep: Path) -> None:
    case = small_sweep / "cases" / FASTEST
    hashes = record_of(small_sweep, FASTEST)["sha256"]
    assert hashes["input"] == sha256((case / "input.mlir").read_bytes())
    assert hashes["package"] == sha256((case / "case.tilepkg").read_bytes())
    assert hashes["machine"] == sha256((case / "machine.json").read_bytes())
    assert hashes["compiler"] == compiler_sha256()
    assert len(hashes["compiler"]) == 64
    versions = read_json(case / "versions.json")
    assert versions["tiledialect"] == tiledialect.__version__
    assert versions["xdsl"] == "0.75.0"


@pytest.mark.usefixtures("deep_recursion")
def test_the_package_is_the_one_of_a_single_command(
    small_sweep: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = small_sweep / "cases" / SMALLEST
    monkeypatch.chdir(case)
    package = tiledialect.compile("input.mlir", plan_budget=BUDGETS[1])
    tiledialect.write_package(package, tmp_path / "one.tilepkg")
    assert (tmp_path / "one.tilepkg").read_bytes() == Path("case.tilepkg").read_bytes()


def test_a_log_has_each_command_and_how_it_ended(small_sweep: Path) -> None:
    for name, codes in ((FASTEST, [0, 0, 0]), (IMPOSSIBLE, [3])):
        case = small_sweep / "cases" / name
        log = (case / "log.txt").read_text().splitlines()
        commands = (case / "command.txt").read_text().splitlines()
        assert [line[2:] for line in log if line.startswith("$ ")] == (
            commands[: len(codes)]
        )
        assert [line for line in log if line.startswith("exit code")] == (
            [f"exit code {code}" for code in codes]
        )
        assert shlex.split(commands[0])[0] == "tile-opt"
        assert record_of(small_sweep, name)["exit_codes"] == codes


def test_an_infeasible_case_is_a_row_with_its_reason(small_sweep: Path) -> None:
    record = record_of(small_sweep, IMPOSSIBLE)
    assert record["status"] == "infeasible"
    assert "error: no plan fits a budget of 4200 bytes" in record["reason"]
    assert f" {record['smallest_budget']} bytes" in record["reason"]
    assert record["smallest_is_proven"] is True
    assert record["certificate"]["status"] == "infeasible"
    assert record["cycles"] is None
    assert "search-plan" in record["stage_seconds"]


def test_the_map_adds_up_to_the_live_peak(small_sweep: Path) -> None:
    drawn = read_json(small_sweep / "cases" / FASTEST / "memory_map.json")
    record = record_of(small_sweep, FASTEST)
    tiles = [
        {first + sum(part) for part in _offsets(steps)}
        for buffer in drawn["buffers"]
        for first, steps in buffer["tiles"]
    ]
    owners = [buffer for buffer in drawn["buffers"] for _ in buffer["tiles"]]
    peak = max(
        sum(
            buffer["bytes"]
            for buffer, numbers in zip(owners, tiles, strict=True)
            if tile in numbers and any(a <= step < b for a, b in buffer["live"])
        )
        for tile in range(16)
        for step in range(drawn["steps"])
    )
    assert peak + drawn["support"]["bytes"] == record["live_peak"]


def _offsets(steps: list[list[int]]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for count, stride in steps:
        found = [(*one, i * stride) for one in found for i in range(count)]
    return found


def test_nothing_runs_again_when_all_is_there(
    small_sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "again"
    shutil.copytree(small_sweep, folder)
    for words in (["--quiet"], [*WORDS, "--quiet"], []):
        assert main([*words, "--resume", "-o", str(folder)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    lines = printed.out.splitlines()
    assert [line.split()[0] for line in lines] == ["case", *CASES]
    assert "no plan fits" in lines[-1]
    assert contents(folder) == contents(small_sweep)


def test_a_case_that_is_missing_is_made_as_it_was(
    small_sweep: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "part"
    shutil.copytree(small_sweep, folder)
    shutil.rmtree(folder / "cases" / IMPOSSIBLE)
    (folder / "cases" / ".unfinished-b1-fp8-4200").mkdir()
    (folder / ".work" / "b1-fp8-4200-x").mkdir(parents=True)
    assert main([*WORDS, "--resume", "-o", str(folder)]) == 0
    assert contents(folder) == contents(small_sweep)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([*WORDS], 2, "holds a sweep; --resume goes on with it"),
        (["tiny-mlp", "--resume"], 2, "budgets ['default', '5632', '4200'], not"),
        ([*WORDS, "--blocks=2", "--resume"], 2, "was begun with blocks 1, not 2"),
        (["siglip-mlp", *WORDS[1:], "--resume"], 2, "workload tiny-mlp, not siglip"),
    ],
)
def test_a_folder_is_of_one_sweep(
    words: list[str],
    code: int,
    message: str,
    small_sweep: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(small_sweep, tmp_path / "old")
    before = contents(tmp_path / "old")
    assert main([*words, "-o", str(tmp_path / "old")]) == code
    assert message in capsys.readouterr().err
    assert contents(tmp_path / "old") == before


@pytest.mark.parametrize("what", ["input", "compiler", "machine"])
def test_what_made_the_first_cases_makes_the_others(
    what: str, small_sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "old"
    shutil.copytree(small_sweep, folder)
    record = record_of(folder, SMALLEST)
    record["sha256"][what] = "another"
    (folder / "cases" / SMALLEST / "case.json").write_text(json.dumps(record))
    assert main([*WORDS, "--resume", "-o", str(folder)]) == 1
    assert f"{SMALLEST}: error: its {what} has changed" in capsys.readouterr().err


def test_other_folders_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    assert main([*WORDS, "-o", str(tmp_path)]) == 2
    assert "holds other files" in capsys.readouterr().err
    assert main([*WORDS, "-o", str(tmp_path / "file")]) == 2
    assert "is no folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_two_sweeps_do_not_write_one_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = SweepFolder(str(tmp_path / "new"))
    assert main([*WORDS, "-o", str(tmp_path / "new")]) == 1
    assert "another sweep is writing here" in capsys.readouterr().err
    first.close()


class Ended(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("moment", range(4))
def test_a_case_is_there_whole_or_not_at_all(
    moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer ends before its first file, between files, before the renaming."""
    calls = iter(range(100))
    write, rename = Path.write_bytes, Path.rename

    def may_write(self: Path, data: bytes) -> int:
        if next(calls) == moment:
            raise Ended
        return write(self, data)

    def may_rename(self: Path, target: Path) -> Path:
        if next(calls) == moment:
            raise Ended
        return rename(self, target)

    folder = SweepFolder(str(tmp_path / "sweep"))
    row = {"status": "ok", "exit_codes": [0]}
    done = Finished("one", row, {"a": b"a", "b": b"b"})
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", may_write)
        patch.setattr(Path, "rename", may_rename)
        with pytest.raises(Ended):
            folder.write(done)
    assert folder.kept(["one"]) == {}
    folder.remove_leftovers()
    assert list((tmp_path / "sweep" / "cases").iterdir()) == []
    folder.write(done)
    assert folder.kept(["one"]) == {"one": row}
    folder.close()


@pytest.mark.parametrize(
    ("row", "stays"),
    [
        ({"status": "infeasible", "exit_codes": [3]}, True),
        ({"status": "check-failed", "exit_codes": [0, 0, 1]}, True),
        ({"status": "timeout", "exit_codes": [-9]}, False),
        ({"status": "refused", "exit_codes": [0, -9]}, False),
    ],
)
def test_what_time_or_a_signal_ended_runs_again(
    row: Mapping[str, Any], stays: bool, tmp_path: Path
) -> None:
    folder = SweepFolder(str(tmp_path))
    folder.write(Finished("one", dict(row), {}))
    assert bool(folder.kept(["one"])) is stays
    folder.close()


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, quiet, is_shown in (
        (Terminal(), False, True),
        (Terminal(), True, False),
        (io.StringIO(), False, False),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress(3, 1, quiet=quiet) as ended:
            ended("b1-fp8-default", "ok")
        assert ("2/3" in stream.getvalue()) is is_shown


def test_a_file_on_a_machine_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / "matmul_ragged.mlir", "in.mlir")
    Path("below.toml").write_text('name = "below"\nbase = "mini16"\ntiles = 8\n')
    Path("mine.toml").write_text('name = "mine"\nbase = "below.toml"\n')
    words = ["in.mlir", "--budgets=4200,4300", "--machine=mine.toml", "--jobs=2"]
    assert main([*words, "--reserve=1KiB", "-o", "sweep"]) == 0
    for name in ("in-4200", "in-4300"):
        record = record_of(tmp_path / "sweep", name)
        assert (record["status"], record["machine"]) == ("infeasible", "mine")
        assert record["reserve_bytes"] == 1024
        assert (record["batch"], record["precision"], record["blocks"]) == (
            (None, None, None)
        )
        case = tmp_path / "sweep" / "cases" / name
        assert (case / "input.mlir").read_text() == Path("in.mlir").read_text()
        assert read_json(case / "machine.json")["tiles"] == 8
        assert "--machine=machine.toml" in (case / "command.txt").read_text()
        assert '"below.toml"' not in (case / "machine.toml").read_text()
