"""`tile-calibrate --plans`: forced plans stated, cut along two axes, and timed."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
from ladder import checked

from tiledialect.codelets import Stage, map_cycles, sum_cycles
from tiledialect.diagnostics import Refused
from tiledialect.machine import Machine
from tiledialect.runtime.package import Call, ComputeStep, to_bytes
from tiledialect.tools import calibrate_plans_report as report
from tiledialect.tools.calibrate_plans import (
    FOLDER,
    ForcedPlan,
    Kernels,
    PlanTable,
    Said,
    plan_package,
    read_plans,
    timed_rows,
    whole_programs,
)

PROGRAM = """
module attributes {tile.machine = "mini16"} {
  func.func @main(%x: tensor<10x64xf16> {tile.packed}, %w: tensor<64x32xf16>
      {tile.parameter}) -> (tensor<10x32xf16> {tile.packed}) {
    %h = tile.matmul %x, %w : (tensor<10x64xf16>, tensor<64x32xf16>)
      -> tensor<10x32xf16>
    %g = tile.gelu tanh %h : tensor<10x32xf16>
    return %g : tensor<10x32xf16>
  }
}
"""
ASKED = {"h": {"grid": {"m": 2, "n": 1, "k": 8}, "rest": "cut1", "order": "panel"}}
OLD = {"format": "f16", "call_cycles": 999}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.mlir").write_text(PROGRAM)
    (tmp_path / "asked.json").write_text(json.dumps(ASKED))
    return tmp_path


def plan(row: str, **cuts: tuple[int, int]) -> ForcedPlan:
    return ForcedPlan((row,), "a plan", "asked.json", cuts)


def table(*plans: ForcedPlan, kernels: tuple[Kernels, ...] = ()) -> PlanTable:
    said = (Said(("9",), "why"),)
    return PlanTable("program.mlir", ("all",), plans, said, said, kernels)


def test_a_result_may_be_cut_along_rows_and_columns(folder: Path) -> None:
    """5 rows of a block by 4 panels of 8 columns, shared by the 8 tiles of its sums."""
    cycles = set[int]()
    for cut in ((5, 1), (2, 4), (1, 4), (3, 2)):
        compiled = plan_package(plan("1", h=cut), folder / "program.mlir", "mini16")
        (bind,) = (bind for bind in compiled.binds if bind.kind == "output")
        layout = bind.layout
        assert layout.block_extent(1) == -(-5 // cut[0])
        assert layout.block_extent(2) == 32 // cut[1]
        run = checked(to_bytes(compiled))
        assert run.passed, cut
        cycles.add(run.result.cycles)
    assert len(cycles) > 1


@pytest.mark.parametrize(
    ("count", "slots"), [(2, [4, 4]), (3, [3, 3, 2]), (8, 8 * [1])]
)
def test_partial_sums_may_come_in_batches(
    folder: Path, count: int, slots: list[int]
) -> None:
    asked = ForcedPlan(("1",), "a plan", "asked.json", {"h": (5, 1)}, {"h": count})
    compiled = plan_package(asked, folder / "program.mlir", "mini16")
    calls = [
        call
        for step in compiled.steps
        if isinstance(step, ComputeStep) and step.name == "h sum"
        for call in step.calls[:1]
    ]
    assert [call.extents[0] for call in calls if isinstance(call, Call)] == slots
    assert checked(to_bytes(compiled)).passed


def test_more_batches_than_partial_sums_are_refused(folder: Path) -> None:
    asked = ForcedPlan(("1",), "a plan", "asked.json", {}, {"h": 9})
    with pytest.raises(Refused, match="'h' has 8 partial sums to batch"):
        plan_package(asked, folder / "program.mlir", "mini16")


def test_a_cut_into_more_pieces_than_partial_sums_is_refused(folder: Path) -> None:
    with pytest.raises(Refused, match="'h' has 8 partial sums to cut by"):
        plan_package(plan("1", h=(3, 3)), folder / "program.mlir", "mini16")


def test_rows_are_timed_by_number_and_with_their_kernels(folder: Path) -> None:
    kernels = Kernels(("2",), "of old", {"sum": [OLD]})
    both = table(plan("10", h=(2, 4)), plan("2"), kernels=(kernels,))
    rows = timed_rows(both, {"10": 3000, "2": 4000}, "mini16", folder)
    assert [row.row for row in rows] == ["2", "10"]
    own = Machine.load("mini16")
    (sums,) = (one for one in own.sum if one.format == "f16")
    assert rows[0].of_its_date - rows[0].simulated == 999 - sums.call_cycles
    assert rows[1].of_its_date == rows[1].simulated
    shown = "\n".join(report.lines(both, rows))
    assert "why (row 9)" in shown
    assert "measured with kernels of old (row 2)" in shown
    written = json.loads(json.dumps(report.report(both, rows)))
    assert [row["simulated_cycles"] for row in written["rows"]] == [
        row.simulated for row in rows
    ]
    with pytest.raises(Refused, match="no row 10 of a whole program"):
        timed_rows(both, {"2": 4000}, "mini16", folder)


def test_ranks_agree_with_their_definition() -> None:
    """Without ties it is 1 - 6 * sum of squared differences / (n * (n * n - 1))."""
    first = [10, 20, 30, 40]
    for ranks in permutations(range(4)):
        squares = sum((i - rank) ** 2 for i, rank in enumerate(ranks))
        found = report.rank_correlation(first, [7 * rank for rank in ranks])
        assert found == pytest.approx(1 - 6 * squares / 60)
    assert report.rank_correlation([1, 1, 2], [5, 5, 9]) == pytest.approx(1)
    assert report.rank_correlation([1, 2], [3, 3]) is None


def test_the_tables_rows_are_told_once_and_their_kernels_are_the_measured_ones() -> (
    None
):
    said = read_plans()
    stated = [row for one in said.plans for row in one.rows]
    every = [*stated, *(row for one in said.not_stated for row in one.rows)]
    asked = [*range(57, 60), *range(71, 77), *range(82, 89)]
    assert sorted(map(int, every)) == asked
    assert all((FOLDER / one.constraints).exists() for one in said.plans)
    machine = Machine.load("ipu-c600")
    gelu = Stage("gelu_tanh", "f16", "f16", 0)
    before, after = (kernels.on(machine) for kernels in said.kernels)
    assert [int(map_cycles(m, [gelu], 2208, False)) for m in (before, after)] == [
        13134,
        8718,
    ]
    for partials, elements, old, new in ((4, 2208, 7734, 4974), (15, 576, 6978, 3090)):
        cycles = [
            int(sum_cycles(m, "f16", partials, elements)) for m in (before, after)
        ]
        assert cycles == [old, new]


def test_only_cycles_of_whole_programs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "id,op,value,unit\n1,whole program,12,cycles\n2,whole program,1,ms\n3,GELU,5,"
        "cycles\n"
    )
    assert whole_programs(str(path)) == {"1": 12}
