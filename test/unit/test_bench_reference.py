"""The tables of the reference report beside a sweep's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from report_cases import NO_PLAN, write_sweep

from bench.reference import main, tables
from tiledialect.report.folder import read_sweep


def test_ours_stand_beside_theirs(tmp_path: Path, small_sweep: Path) -> None:
    folder = write_sweep(
        tmp_path / "mlp",
        {"b1-fp8-default": {"build_cpu_seconds": 12.34}, "b4-fp8-64KiB": NO_PLAN},
    )
    package = small_sweep / "cases" / "b1-fp8-default" / "case.tilepkg"
    shutil.copy(package, folder / "cases" / "b1-fp8-default" / "case.tilepkg")
    cycles, placed, seconds = tables(read_sweep(folder, "mlp"))
    assert cycles.rows[0][:4] == ("fp8, default", "222,180", "100,000", "333,738")
    assert cycles.rows[0][4] == "-"
    assert cycles.rows[4][5:] == ("rejected", "infeasible below 72,779 bytes")
    assert placed.rows[0] == (
        "b1-fp8-default",
        "388,352",
        "200,000",
        "334,208",
        "185,904",  # less the support of 4,096 bytes
        "377,316",
        "190,000",
    )
    assert placed.rows[1][2::2] == ("-", "-", "-")
    assert seconds.rows[0] == ("b1-fp8-default", "119.5", "4.0", "12.3", "71.6", "2.5")


def test_the_command_prints_the_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_sweep(tmp_path, {"b1-fp8-default": {}})
    assert main([str(folder)]) == 0
    assert "| fp8, 256KiB | 200,520 | - |" in capsys.readouterr().out
    assert main([]) == 2
    assert main([str(tmp_path / "absent")]) == 1
    assert "absent/sweep.json: error: cannot be read" in capsys.readouterr().err
