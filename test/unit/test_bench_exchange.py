"""`bench.exchange`: what it reads from a scheduled program, verdicts, the lines."""

from __future__ import annotations

import pytest
from ladder import parse, run_passes

from bench import exchange_cells
from bench.cell_targets import CELLS, Cell
from bench.commands import Ended
from bench.exchange_cells import CellRow, PhaseRow, lines, measure_cell, phases_of
from tiledialect.dialects.exchange import PhaseOp

PROGRAM = """
module attributes {tile.machine = "mini4"} {
  func.func @product(%x: tensor<8x64xf16>, %w: tensor<64x32xf16>)
      -> tensor<8x32xf16> {
    %y = tile.matmul %x, %w
      : (tensor<8x64xf16>, tensor<64x32xf16>) -> tensor<8x32xf16>
    return %y : tensor<8x32xf16>
  }
}
"""
BIG = next(cell for cell in CELLS if cell.name == "b1:256KiB")
SMALL = next(cell for cell in CELLS if cell.may_be_refuted)
TIMES = "    0.500 s  schedule-exchange\n"


def scheduled(length: int) -> str:
    """A program at rung 5 with one phase, as far as it is read."""
    return (
        f"""
    exchange.phase 0 "y x" estimate 90 {{
    }} scheduled length {length} bound_receive 100 bound_send 80 bound_control 7
""".rstrip()
        + " messages 3 row_bytes 28 ratio 1.0000 rows <4 tiles>\n"
    )


def test_phases_are_read_as_the_ir_prints_them() -> None:
    module = run_passes(parse(PROGRAM), last=5)
    phases = [op for op in module.walk() if isinstance(op, PhaseOp)]
    found = phases_of(str(module))
    assert len(found) == len(phases) > 0
    for row, op in zip(found, phases, strict=True):
        assert row.name.split(" ", 1)[1] == op.phase_name.data
        assert row.length == op.number("length")
        assert row.bound_send == op.number("bound_send")
        assert row.row_bytes == op.number("row_bytes")


def test_the_greatest_bound_counts() -> None:
    assert PhaseRow("0 x", 120, 100, 80, 7, 3, 28).ratio == 1.2
    assert PhaseRow("0 x", 90, 10, 80, 90, 3, 28).ratio == 1.0
    assert PhaseRow("0 x", 0, 0, 0, 0, 0, 0).ratio == 1.0


def measured(
    monkeypatch: pytest.MonkeyPatch, cell: Cell, *ended: tuple[int, str, str]
) -> CellRow:
    """A cell whose commands end so, one after the other."""
    runs = iter(ended)

    def run_tool(_: str, arguments: list[str], __: float) -> Ended:
        code, output, errors = next(runs)
        return Ended(code, output, errors, 4.0, 2.0, 0)

    monkeypatch.setattr(exchange_cells, "run_tool", run_tool)
    return measure_cell(cell)


@pytest.mark.parametrize(("length", "holds"), [(115, True), (116, False)])
def test_a_phase_too_long_is_missed(
    monkeypatch: pytest.MonkeyPatch, length: int, holds: bool
) -> None:
    row = measured(monkeypatch, BIG, (0, "", ""), (0, scheduled(length), TIMES))
    assert (row.holds, row.seconds, row.processor_seconds) == (holds, 0.5, 0.25)
    first, last = lines(row)
    assert ("MISSED" in first) == (not holds) == ("MISSED" in last)
    assert "b1:256KiB 0 y x" in first
    assert "0.50 s <= 5 s" in last


def test_a_slow_program_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = TIMES.replace("0.500", "5.001")
    row = measured(monkeypatch, BIG, (0, "", ""), (0, scheduled(100), slow))
    assert not row.holds


def test_no_plan_is_right_only_where_none_need_exist(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusal = (3, "", "a.mlir:1:1: error: no plan fits")
    assert measured(monkeypatch, SMALL, refusal).holds
    assert not measured(monkeypatch, BIG, refusal).holds
    assert not measured(monkeypatch, SMALL, (1, "", "error: broken")).holds
    (line,) = lines(measured(monkeypatch, SMALL, refusal))
    assert "holds no plan: a.mlir:1:1: error: no plan fits" in line
