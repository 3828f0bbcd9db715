"""The command `tile-report`: what it prints and writes, and how it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from report_cases import two_batches, write_sweep

from tiledialect.tools.report_tool import main

FILES = {"report.md", "report.csv", "report.json", "report.html"}


def test_tables_are_printed_and_four_files_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = two_batches(tmp_path / "sweep")
    assert main([str(folder)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "Budget per tile" in printed.out
    assert printed.out.endswith(f"report: {folder / 'report.html'}\n")
    assert {path.name for path in folder.glob("report.*")} == FILES
    markdown = (folder / "report.md").read_text()
    assert markdown.startswith("# sweep\n\n## Simulated cycles: siglip-mlp, fp8")
    assert "| 384KiB | 120,000 | 300,000 |" in markdown
    fields = json.loads((folder / "report.json").read_text())
    assert fields["format"] == "tiledialect-report"
    assert [table["title"] for table in fields["tables"]] == [
        line.removeprefix("## ") for line in markdown.splitlines() if line[:3] == "## "
    ]


def test_the_same_sweep_gives_the_same_files(tmp_path: Path) -> None:
    folder = two_batches(tmp_path / "sweep")
    for name in ("a", "b"):
        assert main([str(folder), "-o", str(tmp_path / name), "--quiet"]) == 0
    for name in FILES:
        one, other = (tmp_path / part / name for part in ("a", "b"))
        assert one.read_bytes() == other.read_bytes()
    assert not list(folder.glob("report.*"))


def test_two_sweeps_go_into_the_first_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [write_sweep(tmp_path / name, {"x": {}}) for name in ("one", "two")]
    assert main([str(folder) for folder in folders]) == 0
    printed = capsys.readouterr().out
    assert "one: Bytes of the fullest tile" in printed
    assert "two: Bytes of the fullest tile" in printed
    assert "Cycles: one and two" in printed
    assert (folders[0] / "report.html").exists()
    assert not (folders[1] / "report.html").exists()


def test_a_sweep_without_a_finished_case_has_a_report(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, {"x": None})
    assert main([str(folder), "--quiet"]) == 0
    assert "unfinished" in (folder / "report.md").read_text()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "error: the following arguments are required: DIR"),
        (["s", "--ouput=x"], 2, "error: unknown option '--ouput'; did you mean"),
        (["s", "./s"], 2, "error: a sweep is named twice"),
        (["absent"], 1, "absent/sweep.json: error: cannot be read: No such file"),
        (["s", "-o", "s/sweep.json/x"], 1, "error: cannot be written: Not a directory"),
    ],
)
def test_errors_are_one_line_and_a_code(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_sweep(Path("s"), {"x": {}})
    assert main(words) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not list(tmp_path.rglob("report.*"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("case.tilepkg", b"nothing", "case.tilepkg: error: "),
        ("plan.mlir", b"func.func", "plan.mlir:1:"),
        ("pareto.json", b"{", "pareto.json: error: is no JSON"),
    ],
)
def test_a_damaged_file_of_a_case_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: bytes,
    message: str,
) -> None:
    folder = write_sweep(tmp_path, {"x": {}})
    (folder / "cases" / "x" / name).write_bytes(content)
    assert main([str(folder)]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "Exit codes: 0 done; 1" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tile-report ")
