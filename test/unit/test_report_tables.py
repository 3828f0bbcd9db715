"""The tables of a report, from folders whose every figure is known."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from report_cases import NO_PLAN, PLAIN, two_batches, write_json, write_sweep

from tiledialect.diagnostics import Refused
from tiledialect.report.comparison import comparison
from tiledialect.report.flat import COLUMNS, csv_text, report_fields
from tiledialect.report.folder import read_sweep, read_sweeps
from tiledialect.report.summary import (
    bytes_table,
    cell,
    cycles_table,
    error_table,
    estimate_table,
    failures_table,
    families,
    summary,
    times_table,
)
from tiledialect.report.table import Table, count, percent, ratio, share, small


def test_cycles_have_a_row_a_budget_and_a_column_a_batch(tmp_path: Path) -> None:
    sweep = read_sweep(two_batches(tmp_path), "s")
    ((family, cases),) = families(sweep).items()
    table = cycles_table(family, cases)
    assert table.title == "Simulated cycles: siglip-mlp, fp8, on ipu-c600"
    assert table.columns == ("Budget per tile", "Batch 1 cycles", "Batch 4 cycles")
    assert table.rows == (
        ("384KiB", "120,000", "300,000"),
        ("256KiB", "110,000", "-"),
        (
            "64KiB",
            "infeasible below 72,779 bytes",
            "infeasible here, 72,779 bytes work",
        ),
    )
    assert table.notes == (
        "More memory is slower: b1-fp8-384KiB takes +9.1 % over b1-fp8-256KiB.",
    )


def test_cycles_that_never_rise_are_said_so(tmp_path: Path) -> None:
    cases: dict[str, dict[str, Any] | None] = {
        "less": {"budget_bytes": 100, "cycles": 7},
        "more": {"budget_bytes": 200, "cycles": 7},
    }
    sweep = read_sweep(write_sweep(tmp_path, cases), "s")
    ((family, found),) = families(sweep).items()
    assert cycles_table(family, found).notes == ("Cycles never rise with memory.",)


def test_a_single_budget_says_nothing_of_memory(tmp_path: Path) -> None:
    sweep = read_sweep(write_sweep(tmp_path, {"a": {}, "b": {"batch": 2}}), "s")
    ((family, found),) = families(sweep).items()
    assert cycles_table(family, found).notes == ()


@pytest.mark.parametrize(
    ("own", "text"),
    [
        ({}, "100,000"),
        ({"status": "timeout", "cycles": None}, "timeout"),
        ({"status": "refused", "cycles": None}, "refused"),
        ({"status": "check-failed"}, "100,000 (check failed)"),
        ({**NO_PLAN, "smallest_budget": None}, "infeasible"),
    ],
)
def test_a_cell_says_why_it_has_no_cycles(
    tmp_path: Path, own: dict[str, Any], text: str
) -> None:
    sweep = read_sweep(write_sweep(tmp_path, {"one": own}), "s")
    assert cell(sweep.cases[0]) == text


def test_precisions_blocks_and_reserves_have_tables_of_their_own(
    tmp_path: Path,
) -> None:
    cases: dict[str, dict[str, Any] | None] = {
        "a": {},
        "b": {"precision": "fp16"},
        "c": {"blocks": 3, "reserve_bytes": 4096},
        "d": {"batch": 2},
    }
    sweep = read_sweep(write_sweep(tmp_path, cases), "s")
    names = {
        family.title(): [case.name for case in found]
        for family, found in families(sweep).items()
    }
    assert names == {
        "siglip-mlp, fp8, on ipu-c600": ["a", "d"],
        "siglip-mlp, fp16, on ipu-c600": ["b"],
        "siglip-mlp, fp8, 3 blocks, on ipu-c600, 4,096 bytes reserved": ["c"],
    }


def test_the_other_tables_hold_every_case_that_has_their_figure(
    tmp_path: Path,
) -> None:
    sweep = read_sweep(two_batches(tmp_path), "s")
    made = bytes_table(sweep, {"b1-fp8-384KiB": 50000})
    assert made.rows[0] == (
        "b1-fp8-384KiB",
        "393,216",
        "200,000",
        "180,000",
        "140,000",
        "190,000",
        "48.3 %",
    )
    assert made.rows[1][4] == "-"
    assert len(made.rows) == len(error_table(sweep).rows) == 3
    assert estimate_table(sweep).rows[0][1:] == (
        "101,000",
        "120,000",
        "-15.8 %",
        "optimal",
    )
    assert error_table(sweep).rows[0][1:] == (
        "0.00500",
        "0.00100",
        "0.250",
        "0.00400",
        "passed",
    )
    times = times_table(sweep)
    assert times.columns[1:3] == ("search-plan", "place-memory")
    assert times.rows[0][1:4] == ("2.50", "0.50", "2.50")
    assert times.rows[0][4:] == ("3.00", "4.00", "3.50", "8.00", "300 MB")
    assert times.rows[3][1:4] == ("1.50", "-", "1.50")
    assert times.rows[3][4:] == ("1.50", "4.00", "3.50", "-", "300 MB")
    assert [row[3] for row in failures_table(sweep).rows] == ["proven", "not proven"]
    assert failures_table(sweep).rows[0][2] == "72,779"


def test_a_stopped_sweep_is_reported(tmp_path: Path) -> None:
    sweep = read_sweep(write_sweep(tmp_path, {"done": {}, "missing": None}), "s")
    assert [case.status for case in sweep.cases] == ["ok", "unfinished"]
    titles = [table.title for table in summary(sweep, {})]
    assert titles[0] == "Simulated cycles: siglip-mlp, fp8, on ipu-c600"
    assert failures_table(sweep).rows == (
        ("missing", "unfinished", "-", "-", "the sweep was stopped before it"),
    )


def test_two_sweeps_are_compared_case_by_case(tmp_path: Path) -> None:
    base = write_sweep(tmp_path / "base", {"x": {}, "y": {"cycles": 200}, "z": {}})
    faster: dict[str, Any] = {"cycles": 50000, "placed_bytes": 95000}
    other = write_sweep(tmp_path / "other", {"y": NO_PLAN, "x": faster, "w": {}})
    cycles, placed, planning = comparison(*read_sweeps([base, other]))
    assert cycles.title == "Cycles: base and other"
    assert cycles.rows == (
        ("x", "100,000", "50,000", "0.500"),
        ("y", "200", "infeasible below 72,779 bytes", "-"),
    )
    assert cycles.notes == ("Geometric mean of 1 ratios: 0.500.",)
    assert placed.rows[0] == ("x", "190,000", "95,000", "0.500")
    assert planning.rows[1] == ("y", "2.50", "1.50", "0.600")


def test_sweeps_of_one_name_are_told_apart(tmp_path: Path) -> None:
    folders = [write_sweep(tmp_path / one / "s", {"x": {}}) for one in ("a", "b")]
    assert [sweep.label for sweep in read_sweeps(folders)] == [str(f) for f in folders]


def test_tables_are_text_and_markdown() -> None:
    table = Table(
        "T", ("Name", "N"), (False, True), (("a|b", "1"), ("c", "23")), ("n",)
    )
    assert table.text() == "T\n\nName   N\na|b    1\nc     23\nn\n"
    assert table.markdown() == (
        "## T\n\n| Name | N |\n| --- | ---: |\n| a\\|b | 1 |\n| c | 23 |\n\nn\n"
    )
    assert table.of("s").title == "s: T"


def test_figures_are_written_alike() -> None:
    assert (count(1234567), count(None)) == ("1,234,567", "-")
    assert (percent(3, 2), percent(1, None), percent(1, 0)) == ("+50.0 %", "-", "-")
    assert (ratio(3, 2), share(1, 4), small(0.00123456)) == (
        "1.500",
        "25.0 %",
        "0.00123",
    )


def test_csv_has_a_line_a_case_with_every_figure(tmp_path: Path) -> None:
    sweep = read_sweep(two_batches(tmp_path), "s")
    text = csv_text([sweep], {"s": {"b1-fp8-384KiB": 49152}})
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["name"] for row in rows] == [case.name for case in sweep.cases]
    for name in COLUMNS:
        if name not in ("name", "batch", "budget", "budget_bytes", "cycles"):
            expected = PLAIN[name]
            assert rows[0][name] == ("" if expected is None else str(expected)), name
    assert rows[0]["support_bytes"] == "49152"
    assert rows[0]["search_plan_seconds"] == "2.5"
    assert rows[0]["passes_seconds"] == "3.0"
    assert (rows[3]["cycles"], rows[3]["smallest_is_proven"]) == ("", "true")


def test_json_holds_cases_and_tables(tmp_path: Path) -> None:
    sweep = read_sweep(two_batches(tmp_path), "s")
    tables = summary(sweep, {})
    text = json.dumps(report_fields([sweep], tables, {"s": {}}), allow_nan=False)
    fields = json.loads(text)
    case = fields["sweeps"][0]["cases"][1]
    assert case["cycles"] == 110000
    assert case["certificate"] == PLAIN["certificate"]
    assert case["stage_seconds"] == PLAIN["stage_seconds"]
    assert fields["tables"][0]["rows"][0] == ["384KiB", "120,000", "300,000"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "is no JSON"),
        ("[NaN]", "NaN is no number"),
        ("[]", "must hold an object"),
        ('{"format": "other", "version": 1}', "is no tiledialect-sweep of version 1"),
        ('{"format": "tiledialect-sweep", "version": 2}', "of version 1"),
        ('{"format": "tiledialect-sweep", "version": 1}', "'cases' must list"),
        (
            '{"format": "tiledialect-sweep", "version": 1, "cases": ["../x"]}',
            "'cases' must list",
        ),
    ],
)
def test_what_is_no_sweep_is_refused(
    tmp_path: Path, content: str, problem: str
) -> None:
    (tmp_path / "sweep.json").write_text(content)
    with pytest.raises(Refused, match=problem) as caught:
        read_sweep(tmp_path, "s")
    assert caught.value.location == str(tmp_path / "sweep.json")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cycles", "many"),
        ("cycles", True),
        ("cycles", 1.5),
        ("reason", 3),
        ("rms_error", "small"),
        ("smallest_is_proven", 1),
        ("stage_seconds", [1]),
        ("stage_seconds", {"search-plan": "1"}),
        ("sha256", {"input": 1}),
    ],
)
def test_a_field_of_another_kind_is_refused(
    tmp_path: Path, name: str, value: object
) -> None:
    folder = write_sweep(tmp_path, {"one": {}})
    path = folder / "cases" / "one" / "case.json"
    write_json(path, {**PLAIN, name: value})
    with pytest.raises(Refused, match="must be") as caught:
        read_sweep(folder, "s")
    assert caught.value.location == str(path)


def test_a_folder_without_a_sweep_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read: No such file"):
        read_sweep(tmp_path, "s")
