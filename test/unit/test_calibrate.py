"""`tile-calibrate`: rows, the rule for older ones, formulas, refits, exit codes.

The figures of the rows here are made up.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tiledialect.diagnostics import Refused, Usage
from tiledialect.machine import Machine, MapTiming, MatrixMode
from tiledialect.tools.calibrate import default_rows, main
from tiledialect.tools.calibrate_fit import coefficients, predicted, refit
from tiledialect.tools.calibrate_report import compare, lines, refit_lines, summary
from tiledialect.tools.calibrate_rows import (
    Call,
    MeasuredRow,
    Table,
    read_rows,
    read_table,
    sort_rows,
)

C600 = Machine.load("ipu-c600")
TABLE = read_table()
HEADER = "id,op,shape,value,unit,kind,source,note"
OLD, NEW = "LOOPS 2026-01-02", "LOOPS 2026-03-04"


def row(
    id: str, cycles: int, shape: str = "", source: str = NEW, note: str = ""
) -> MeasuredRow:
    return MeasuredRow(id, "made up", shape, cycles, source, note)


def call(kernel: str, cycles: int = 1, **arguments: int) -> Call:
    pairs = tuple((name, (value,)) for name, value in arguments.items())
    return Call(row("1", cycles), TABLE.kernels[kernel], pairs, None)


def table(calls: Mapping[str, Mapping[str, object]], **reasons: str) -> Table:
    return replace(TABLE, calls=calls, reasons=reasons)


def gelus(*ids: str) -> Table:
    return table({id: {"kernel": "gelu", "shape": [96]} for id in ids})


def written(folder: Path, *rows: str, header: str = HEADER) -> str:
    path = folder / "rows.csv"
    path.write_text("\n".join((header, *rows)) + "\n")
    return str(path)


def test_only_kernel_rows_are_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '1,op,3x5,"1,200",cycles,HWK,S 2026-01-02,"before 7; and more"',
        "2,op,3x5,1.5,ms,HW,S,",
    )
    (only,) = read_rows(path)
    assert (only.id, only.cycles, only.date) == ("1", 1200, "2026-01-02")
    assert only.replaces_older
    assert only.numbers == {3, 5}
    assert not row("1", 1, note="beforehand 7").replaces_older
    assert row("1", 1, source="UNDATED").date == ""


@pytest.mark.parametrize(
    ("text", "header", "message"),
    [
        ("1,op,3,7,cycles,HWK,S", HEADER[:-5], "rows.csv:1:1: error: no column 'note'"),
        ("1,op,3,7,ms,HWK,S,", HEADER, "rows.csv:2:1: error: row 1: needs cycles"),
        ("1,op,3,x,cycles,HWK,S,", HEADER, "needs cycles, is 'x cycles'"),
        ("1,op,3,0,cycles,HWK,S,", HEADER, "needs cycles, is '0 cycles'"),
        ("1,op,3,7,cycles,HW,S,", HEADER, "error: no row of kind HWK"),
    ],
)
def test_rows_that_cannot_be_used_are_refused(
    tmp_path: Path, text: str, header: str, message: str
) -> None:
    with pytest.raises(Refused) as refused:
        read_rows(written(tmp_path, text, header=header))
    assert message in str(refused.value)


def test_rows_of_the_kernel_before_its_rewrite_are_superseded() -> None:
    rows = [
        row("undated", 1, "96", "LOOPS"),
        row("old", 2, "96", OLD),
        row("rewrite", 3, "96", NEW, "before 9"),
        row("newer", 4, "96", "LOOPS 2026-05-06"),
    ]
    calls, left_out = sort_rows(rows, gelus(*(r.id for r in rows)), C600)
    assert [call.row.id for call in calls] == ["rewrite", "newer"]
    reason = "superseded: the kernel was rewritten 2026-03-04"
    assert [(r.row.id, r.reason) for r in left_out] == [
        ("undated", reason),
        ("old", reason),
    ]


def test_a_rewrite_is_that_of_its_own_kernel() -> None:
    rows = [row("old", 2, "96", OLD), row("sum", 3, "96 2", NEW, "before 9")]
    calls: dict[str, dict[str, object]] = {
        "old": {"kernel": "gelu", "shape": [96]},
        "sum": {"kernel": "sum", "elements": 96, "partials": 2},
    }
    kept, left_out = sort_rows(rows, table(calls), C600)
    assert [call.row.id for call in kept] == ["old", "sum"]
    assert left_out == []


def test_a_repeated_row_counts_once_and_a_second_measurement_twice() -> None:
    rows = [row("a", 5, "96"), row("b", 5, "96"), row("c", 6, "96"), row("d", 5, "96")]
    rows[3] = replace(rows[3], source=OLD)
    calls, left_out = sort_rows(rows, gelus("a", "b", "c", "d"), C600)
    assert [call.row.id for call in calls] == ["a", "c", "d"]
    assert [(r.row.id, r.reason) for r in left_out] == [("b", "repeats row a")]


def test_rows_left_out_have_a_reason() -> None:
    _, left_out = sort_rows([row("x", 1), row("y", 1)], table({}, x="of no use"), C600)
    assert [r.reason for r in left_out] == [
        "of no use",
        "not in the table of applicable rows",
    ]


def test_an_argument_must_stand_in_its_row() -> None:
    message = "row a: shape 96 does not stand in its op 'made up' or shape '4x95'"
    with pytest.raises(Refused, match=message):
        sort_rows([row("a", 5, "4x95")], gelus("a"), C600)


def test_a_machine_without_a_kernel_leaves_its_rows_out() -> None:
    known = {
        "gemm": {"kernel": "matmul f8", "rows": 1, "depth": 2, "columns": 3},
        "sum": {"kernel": "sum", "elements": 1, "partials": 2},
        "both": {"kernel": "gelu to f8", "shape": [1]},
        "bias": {"kernel": "bias and gelu", "shape": [1]},
    }
    rows = [row(id, 5, "1 2 3") for id in known]
    bare = replace(C600, name="bare", matrix=(), sum=(), map=())
    calls, left_out = sort_rows(rows, table(known), bare)
    assert calls == []
    assert [r.reason.removeprefix("machine bare ") for r in left_out] == [
        "has no matrix mode of f8 summed in f16",
        "prices no f16 sum",
        "prices no loop 'gelu_tanh+cast_f8'",
        "prices no loop 'binary+gelu_tanh'",
    ]


def test_one_loop_counts_where_the_machine_prices_it() -> None:
    loop = MapTiming("binary+gelu_tanh", "f16", 450, 24, 90)
    machine = replace(C600, map=(*C600.map, loop))
    known = {"bias": {"kernel": "bias and gelu", "shape": [1, 50]}}
    (only,), _ = sort_rows([row("bias", 5, "1x50")], table(known), machine)
    assert predicted(machine, only) == 450 + 3 * 90


def test_calls_are_priced_by_the_formulas_of_codelets() -> None:
    gemm = call("matmul f8", rows=13, depth=65, columns=17)
    assert predicted(C600, gemm) == 294 + 3 * 2 * (24 * 3 + 150)
    assert predicted(C600, call("sum", elements=49, partials=5)) == 282 + 2 * 114
    assert predicted(C600, call("gelu", shape=97)) == 330 + 2 * 462
    assert predicted(C600, call("cast to f8, regrouped", shape=96)) == 288 + 28 + 24
    pack = call("pack", rows=10, columns=33)
    assert predicted(C600, pack) == 587 + 20 * 77 + 146  # 330 bytes at 0.44
    with pytest.raises(Refused, match="row 1: kernel 'sum' needs 'partials'"):
        predicted(C600, call("sum", elements=1))


def test_every_coefficient_comes_back_from_rows_made_with_it() -> None:
    made: dict[str, list[dict[str, int]]] = {
        "matmul f8": [
            {"rows": r, "depth": d, "columns": 16}
            for r, d in ((6, 32), (60, 32), (120, 320), (6, 960))
        ],
        "sum": [
            {"elements": n, "partials": p} for n, p in ((48, 2), (480, 2), (960, 9))
        ],
        "gelu": [{"shape": n} for n in (96, 960)],
        "pack": [{"rows": r, "columns": 32} for r in (8, 80)],
        "cast to f8, regrouped": [{"shape": n} for n in (96, 9600)],
    }
    for kernel, arguments in made.items():
        own = coefficients(C600, TABLE.kernels[kernel])
        wanted = {name: value + 7 for name, value in own.values.items()}
        machine = own.on(C600, wanted)
        calls = [call(kernel, **each) for each in arguments]
        cycles = [predicted(machine, each) for each in calls]
        calls = [
            replace(each, row=replace(each.row, cycles=c))
            for each, c in zip(calls, cycles, strict=True)
        ]
        found = refit(C600, calls)
        assert (found.fitted, found.kept, found.raised) == (wanted, (), ())


def test_rows_too_few_to_tell_leave_the_cost_of_a_call() -> None:
    found = refit(C600, [call("gelu", 330 + 500, shape=96)])
    assert found.fitted == {"group_cycles": 500, "call_cycles": 330}
    assert found.kept == ("call_cycles",)


def test_no_coefficient_lies_below_its_best_measured_row() -> None:
    plain = 288 + 3 * 28  # three groups that ask 10/3 and 31/3 cycles of regrouping
    rows = [
        call("cast to f8, regrouped", plain + more, shape=288) for more in (10, 10, 10)
    ]
    found = refit(C600, rows)
    assert found.fitted == {"regroup_cycles": 4}
    assert found.raised == ("regroup_cycles",)
    cheap = refit(C600, [call("cast to f8, regrouped", 1, shape=288)])
    assert cheap.fitted["regroup_cycles"] == 24, "nothing below 0: it stays"


def test_a_negative_coefficient_stays_as_it_was() -> None:
    calls = [call("gelu", cycles, shape=n) for n, cycles in ((96, 400), (960, 9000))]
    found = refit(C600, calls)
    assert found.fitted["call_cycles"] == 330
    assert found.fitted["group_cycles"] >= 400 - 330
    assert found.kept == ()


def test_refits_are_entries_of_a_machine_file() -> None:
    calls = [
        call("matmul f8", 700, rows=6, depth=32, columns=16),
        call("gelu", shape=9),
    ]
    text = "\n".join(refit_lines(compare(C600, calls, [])))
    assert "No coefficient lies below" in text
    fields = tomllib.loads(text)
    (mode,) = fields["matrix"]
    assert MatrixMode(**mode) == replace(C600.matrix[0], block_cycles=382)
    assert "block_cycles = 382 # was 150" in text
    assert "call_cycles = 294 # kept: too few rows to tell" in text


def test_far_rows_need_an_explanation_and_the_median_a_bound() -> None:
    exact = call("gelu", 330 + 462, shape=96)
    far = replace(exact, row=row("far", 500))
    for calls, holds in (
        ([exact, exact, far], False),
        ([exact, exact, replace(far, explained="too short")], True),
        ([exact, replace(far, explained="too short")], False),
    ):
        done = compare(C600, calls, [])
        assert done.holds == holds
        assert summary(done).endswith("held" if holds else "MISSED")
    assert "  row far, +58.4%: NOT EXPLAINED" in lines(compare(C600, [far], []))


def test_the_table_of_applicable_rows_is_sound() -> None:
    assert not TABLE.calls.keys() & TABLE.reasons.keys()
    assert all(TABLE.reasons.values())
    for fields in TABLE.calls.values():
        assert fields["kernel"] in TABLE.kernels


GEMM = "404,GEMM,R/K/C 244/128/64,18438,cycles,HWK,S 2026-01-02,before 3"


def test_the_command_prints_writes_and_ends_by_its_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    path = written(tmp_path, GEMM, "148,softmax,8,5,cycles,HWK,S,")
    assert main(["--rows", path, "--json", str(report), "--refit"]) == 0
    out = capsys.readouterr().out
    assert "softmax is no codelet" in out
    assert "[[matrix]]" in out
    assert out.splitlines()[-1] == (
        "1 row: median error 0.0% (<= 5%), worst 0.0% (row 404); 0 above 15%, 0 of"
        " them explained; 1 not compared, 0 of them superseded: held"
    )
    figures = json.loads(report.read_text())
    assert figures["rows"][0]["predicted_cycles"] == 18438
    assert figures["refit"]["matmul f8"]["row_cycles"] == 24
    path = written(tmp_path, GEMM.replace("18438", "9000"))
    assert main(["--rows", path, "--json", str(report)]) == 1
    assert json.loads(report.read_text())["held"] is False
    assert capsys.readouterr().out.endswith("MISSED\n")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--rows", "none.csv"], 1, "none.csv: error: cannot read the rows: No such"),
        (["--machine=ipu"], 2, "error: no machine is called 'ipu'"),
        (["--refitt"], 2, "unknown option '--refitt'; did you mean --refit?"),
        (["--rows"], 2, "expected one argument"),
    ],
)
def test_wrong_usage_is_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    assert main(words) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_the_rows_lie_in_a_data_folder_beside_the_checkout(tmp_path: Path) -> None:
    checkout = tmp_path / "main"
    with pytest.raises(Usage, match="name a table of measured rows with --rows CSV"):
        default_rows(checkout)
    data = tmp_path / "measured" / "data"
    data.mkdir(parents=True)
    (data / "hardware_rows_c600.csv").write_text(HEADER)
    assert default_rows(checkout) == str(data / "hardware_rows_c600.csv")
