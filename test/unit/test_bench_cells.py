"""`bench.cells`: names, verdicts, the table, and exit codes, on stand-ins."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from bench import cell_runs
from bench.cell_report import Judged, findings, judge, line, plan_seconds, summary
from bench.cell_runs import (
    Compiled,
    Measured,
    Probed,
    Simulated,
    curve_facts,
    refusal_of_proof,
    run_probe,
)
from bench.cell_targets import CELLS, PROBES, Cell, Probe, UnknownCell, chosen
from bench.cells import main
from bench.commands import STOPPED_CODE, Ended, pass_seconds, run_tool

COMPILED = Compiled(None, False, "optimal", 400_000, 2.0, 1.5, 20.0, 8.0, 1 << 28)
SIMULATED = Simulated(None, 100_000, 101_000, 60_000, 65_536, 0.005, True, 9.0, 8.0)
REFUSED = replace(COMPILED, reason="no plan fits", certificate=None, candidates=None)
BIG, SMALL = (
    Cell("f8", 1, "256KiB", 100_000, 200_520),
    Cell("f8", 1, "64KiB", 230_000, None, may_be_refuted=True),
)


def measured(cell: Cell = BIG, **changes: object) -> Measured:
    return Measured(cell, COMPILED, replace(SIMULATED, **changes))


def status(row: Measured, clock: str = "wall") -> str:
    return judge(row, clock).status


def judged(*rows: Measured) -> list[Judged]:
    return [Judged(row, judge(row, "wall")) for row in rows]


def shown(row: Measured) -> str:
    return line(judged(row)[0], "wall")


def test_the_cells_are_those_of_the_reference_sweep() -> None:
    assert Counter(cell.precision for cell in CELLS) == {"f8": 15, "f16": 3}
    assert len({cell.name for cell in CELLS}) == 18
    by_name = {cell.name: cell for cell in CELLS}
    assert by_name["b4:256KiB"].target_cycles == 350_000
    assert by_name["b4:256KiB"].reference_cycles == 820_914
    assert by_name["f16-b1:default"].target_cycles == 182_000
    assert by_name["f16-b4:default"].target_cycles is None
    refutable = [cell.name for cell in CELLS if cell.may_be_refuted]
    assert refutable == ["b1:64KiB", "b2:64KiB", "b4:64KiB"]


def test_every_program_is_an_example() -> None:
    examples = Path(cell_runs.__file__).parents[1] / "examples"
    for item in (*CELLS, *PROBES):
        assert (examples / item.program).is_file()


def test_cells_are_chosen_by_name_and_keep_their_order() -> None:
    cells, probes = chosen("b2:default, b1:default,b4:52KiB")
    assert [cell.name for cell in cells] == ["b1:default", "b2:default"]
    assert [probe.name for probe in probes] == ["b4:52KiB"]
    assert chosen("") == (list(CELLS), list(PROBES))
    with pytest.raises(UnknownCell, match="'b1:256Kib'; did you mean b1:256KiB"):
        chosen("b1:256Kib")


def test_a_target_is_met_at_the_limit_and_missed_one_past_it() -> None:
    assert status(measured()) == "held"
    assert status(measured(cycles=100_001)) == "missed"
    assert status(measured(cycles=100_001, peak_tile_bytes=1)) == "missed"
    assert status(measured(peak_tile_bytes=65_536)) == "held"
    assert status(measured(peak_tile_bytes=65_537)) == "missed"
    assert status(measured(check_passed=False)) == "missed"
    assert status(measured(reason="error: too far")) == "missed"
    assert status(measured(replace(BIG, target_cycles=None))) == "measured"


def test_times_are_compared_by_either_clock() -> None:
    for slow in (
        {"plan_seconds": 10.01, "candidates": None},
        {"passes_seconds": 30.01},
        {"plan_seconds": 4.01},  # 400,000 candidates: below 100,000 a second
    ):
        row = replace(measured(), compiled=replace(COMPILED, **slow))
        assert status(row) == "missed"
        assert status(row, "cpu") == "held"
    at_limit = replace(COMPILED, plan_seconds=4.0, passes_seconds=30.0)
    assert status(replace(measured(), compiled=at_limit)) == "held"
    assert plan_seconds(COMPILED, "cpu") == 1.5


def test_a_cell_without_a_plan_counts_only_where_that_is_proven_and_allowed() -> None:
    for cell, proven, expected in (
        (SMALL, True, "refuted"),
        (SMALL, False, "refused"),
        (BIG, True, "refused"),
    ):
        row = Measured(cell, replace(REFUSED, is_refuted=proven), None)
        assert status(row) == expected
        assert judge(row, "wall").holds == (expected == "refuted")
        assert "no plan fits" in shown(row)
    lost = Measured(BIG, COMPILED, None, "error: refused by the simulator")
    assert judge(lost, "wall").reasons == ("error: refused by the simulator",)


def test_a_row_shows_its_figures() -> None:
    words = shown(measured(cycles=104_000)).split()
    assert words[:7] == (
        ["b1:256KiB", "101,000", "104,000", "100,000", "-2.9%", "200,520", "60,000"]
    )
    assert words[7:14] == ["optimal", "2.00", "1.50", "20.00", "8.00", "9.00", "8.00"]
    assert words[14:17] == ["200,000", "0.005000", "MISSED:"]


def test_cycles_that_rise_with_memory_are_found() -> None:
    first, second = measured(), measured(SMALL, cycles=100_000)
    assert findings(judged(first, second)).rises == ()
    worse = measured(SMALL, cycles=99_999)
    assert findings(judged(first, worse)).rises == (
        "cycles rise with memory: b1:256KiB 100,000, b1:64KiB 99,999",
    )
    other = measured(replace(SMALL, batch=2), cycles=1)
    assert findings(judged(first, other)).rises == ()
    guess = measured(SMALL, estimated_cycles=100_999)
    assert "estimated cycles rise" in findings(judged(first, guess)).missed[0]


def test_the_estimate_is_held_to_its_median_and_worst_error() -> None:
    good = [
        measured(replace(BIG, batch=n), estimated_cycles=100_000 + 1000 * n)
        for n in (3, 2, 10)
    ]
    found = findings(judged(*good))
    assert (found.median_error, found.worst_error) == (0.03, 0.1)
    assert found.missed == ()
    bad = findings(judged(measured(estimated_cycles=89_000)))
    assert bad.missed == (
        "median error of the estimate 11.0%",
        "worst error of the estimate 11.0%",
    )
    half = replace(BIG, precision="f16")
    assert findings(judged(measured(half, estimated_cycles=1))).missed == ()


def test_the_last_line_counts_each_kind() -> None:
    rows = judged(
        measured(),
        measured(cycles=100_001),
        Measured(BIG, REFUSED, None),
        measured(replace(BIG, precision="f16", target_cycles=None)),
    )
    probes = [Probed(probe, 5.0, 1.0, None, "no plan fits") for probe in PROBES[:2]] + [
        Probed(PROBES[2], 5.1, 1.0, None, "")
    ]
    found = findings([])
    assert summary(rows, probes, found, "wall") == (
        "3 cells: 1 held, 1 missed, 1 refused; 1 f16 cell: 1 measured;"
        " 3 refutations: 2 held"
    )
    assert summary([], probes, found, "cpu") == "3 refutations: 3 held"


@pytest.mark.parametrize(
    ("cycles", "proof", "code"),
    [(100_000, None, 0), (900_000, None, 1), (100_000, "no proof", 1)],
)
def test_the_exit_code_is_0_only_when_every_target_holds(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    cycles: int,
    proof: str | None,
    code: int,
) -> None:
    def measure(cell: Cell, limit: float) -> Measured:
        assert limit == 7
        return measured(cell, cycles=cycles, estimated_cycles=cycles)

    def probe(probe: Probe, limit: float) -> Probed:
        return Probed(probe, 1.0, 1.0, proof, "said")

    path = tmp_path / "cells.json"
    words = ["--json", str(path), "--cells=b1:256KiB,b1:52KiB", "--limit=7"]
    assert main(words, measure, probe) == code
    written = json.loads(path.read_text())
    assert written["cells"][0]["simulated"]["cycles"] == cycles
    assert written["cells"][0]["status"] == ("held" if cycles < 112_000 else "missed")
    assert written["probes"][0]["missed"] == proof
    assert capsys.readouterr().out.splitlines()[-1] == written["summary"]


def test_an_unknown_cell_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--cells=b3:default"])
    assert ended.value.code == 2
    assert "no cell is called 'b3:default'" in capsys.readouterr().err


TIMES = """    0.422 s  expand-candidates
    1.099 s  search-plan
    1.521 s  total
"""


def test_times_are_read_without_their_sum() -> None:
    expected = {"expand-candidates": 0.422, "search-plan": 1.099}
    assert pass_seconds(TIMES + "error: 3 s  lost in words\n") == expected
    assert pass_seconds("") == {}


def ended(code: int, errors: str = "") -> Ended:
    return Ended(code, "", errors, 1.0, 1.0, 1)


def test_the_reason_of_a_command_is_its_last_error() -> None:
    said = "x.mlir:1:1: error: no plan fits\n" + TIMES
    assert ended(3, said).reason == "x.mlir:1:1: error: no plan fits"
    assert ended(4).reason == "exit code 4"
    assert "ran past" in ended(STOPPED_CODE, said).reason


def test_a_refutation_needs_a_proof_that_the_checker_accepts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = {3: None, 2: "proof not accepted: error: no", 1: "proof not accepted"}
    for code, reason in answers.items():

        def answer(
            tool: str, words: list[str], limit: float, code: int = code
        ) -> Ended:
            assert (tool, words, limit) == ("opt", ["x", "--verify-certificate"], 5.0)
            return ended(code, "error: no")

        monkeypatch.setattr(cell_runs, "run_tool", answer)
        doubt = refusal_of_proof(["x"], ended(3), 5.0)
        assert doubt is None if reason is None else str(doubt).startswith(reason)
    assert refusal_of_proof(["x"], ended(0), 5.0) == "not refuted: a plan"
    assert refusal_of_proof(["x"], ended(1, "error: bad"), 5.0) == (
        "not refuted: error: bad"
    )


def points(*pairs: tuple[int, int], status: str = "exact") -> str:
    breakpoints = [{"budget_bytes": b, "cycles": c} for b, c in pairs]
    return json.dumps({"status": status, "breakpoints": breakpoints})


def test_a_curve_falls_at_every_breakpoint() -> None:
    assert curve_facts(points((60_000, 900), (61_000, 899))) == (
        None,
        "2 breakpoints, exact, 900 cycles from 60,000 bytes to 899 from 61,000",
    )
    for wrong in ((61_000, 900), (61_000, 901), (60_000, 899)):
        reason, _ = curve_facts(points((60_000, 900), wrong, (62_000, 800)))
        assert reason == f"estimated cycles do not fall at {wrong[0]:,} bytes"
    assert curve_facts(points())[0] == "the curve has no breakpoint"
    part = curve_facts(points((60_000, 900), status="stopped"))
    assert part[0] == "the curve is stopped, not exact"


@pytest.mark.parametrize("writes", [True, False])
def test_a_probe_reads_the_curve_that_is_written(
    monkeypatch: pytest.MonkeyPatch, writes: bool
) -> None:
    curve = next(probe for probe in PROBES if probe.kind == "curve")

    def answer(tool: str, words: list[str], limit: float) -> Ended:
        path = next(w for w in words if w.startswith("--pareto=")).split("=")[1]
        if writes:
            Path(path).write_text(points((60_000, 900)))
        return ended(0 if writes else 1, "" if writes else "error: no room")

    monkeypatch.setattr(cell_runs, "run_tool", answer)
    probed = run_probe(curve, 5.0)
    assert probed.reason == (None if writes else "no curve: error: no room")
    assert probed.said.startswith("1 breakpoints, exact" if writes else "error")


def test_a_command_is_run_measured_and_ended_at_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run_tool("opt", ["--version"], 60.0)
    assert (done.code, done.output[:9], done.errors) == (0, "tile-opt ", "")
    assert done.cpu_seconds > 0
    assert done.wall_seconds > 0
    sleeper = tmp_path / "python"
    sleeper.write_text("#!/bin/sh\nexec sleep 60\n")
    sleeper.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(sleeper))
    assert run_tool("opt", [], 0.2).code == STOPPED_CODE
