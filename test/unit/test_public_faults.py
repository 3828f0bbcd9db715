"""Public cases of placement, layout and exchange, with the numbers that they tell.

`public_cases.toml` says which case is held where; those here have no input of ours.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from driver_runs import Driver
from handmade import shift_package
from test_package_fuzz import resealed

from tiledialect import select_plan
from tiledialect.checkers.blocks import Block, Blocks
from tiledialect.checkers.disproof import Disproof
from tiledialect.checkers.overlap import check_no_overlap
from tiledialect.diagnostics import Refused
from tiledialect.layout import Cut, Factor, Layout
from tiledialect.placement.problem import plain_problem
from tiledialect.placement.solve import place
from tiledialect.runtime.package import from_bytes
from tiledialect.runtime.package_writer import MANIFEST, members_of
from tiledialect.select_plan import Tried
from tiledialect.tools.place import main as tile_place

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_buffer_larger_than_any_bank_lies_across_several() -> None:
    """Case 101: 131,072 bytes over banks of 65,536."""
    problem = plain_problem(
        ("l2_in_0", "small"),
        np.array([131072, 4096], np.int64),
        (((0, 9),), ((0, 9),)),
        8 * 65536,
    )
    banks = np.arange(65536, 8 * 65536, 65536)
    answer = place(replace(problem, element_edges=banks), minimise=True)
    assert (answer.status, answer.peak) == ("minimal", 135168)
    # Where one bank is all there is, the error names the buffer and both sizes.
    answer = place(replace(problem, high=np.full(2, 65536)), minimise=False)
    assert answer.status == "infeasible"
    assert "l2_in_0 needs 131072 bytes" in answer.reason
    assert "65536" in answer.reason


def test_a_plan_that_cannot_be_placed_leaves_no_error_behind(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 104: the best plan is refused by placement, the next one is taken."""
    tried, asked = select_plan.tried, list[int]()

    def first_fails(*arguments: object, timed: bool) -> Tried:
        found = tried(*arguments, timed=timed)  # pyright: ignore[reportArgumentType]
        asked.append(found.index)
        return (
            replace(found, refused=Refused("y: 64 bytes too few"))
            if (found.index == 0)
            else found
        )

    monkeypatch.setattr(select_plan, "tried", first_fails)
    text = (EXAMPLES / "elementwise_chain.mlir").read_text()
    out = driver.folder / "out.tilepkg"
    options = ("--plan-budget=8KiB", "-t", "package", "-o", str(out))
    run = driver.run_text(text, *options)
    assert asked[0] == 0
    assert len(asked) > 1
    assert (run.code, run.out, run.err) == (0, "", "")
    assert from_bytes(out.read_bytes()).footprint <= 8192


def test_orders_that_do_not_fit_leave_no_error_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cases 98 and 104: in the order given 464 bytes are needed, 352 are enough."""
    path = tmp_path / "problem.csv"
    path.write_text(
        "id,lower,upper,size\nb0,0,3,128\nb1,5,6,16\nb2,5,8,128\nb3,2,6,96\n"
        "b4,0,4,96\nb5,1,2,128\n"
    )
    assert tile_place([str(path), "--capacity=352"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "error" not in said.out


def test_a_budget_below_the_support_is_refused_at_once(driver: Driver) -> None:
    """Case 105: 32 KiB where the support alone reserves 48."""
    text = (EXAMPLES / "siglip_mlp_f8_b1.mlir").read_text()
    run = driver.run_text(text, "--plan-budget=32KiB")
    assert run.code == 1
    assert (
        "budget 32768 bytes is below the support reservation of 49152 bytes"
        in run.error
    )
    assert max(int(number) for number in re.findall(r"\d+", run.error)) < 1 << 31


def test_sizes_near_two_to_the_63_do_not_wrap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case 108."""
    path = tmp_path / "problem.csv"
    path.write_text(
        "id,lower,upper,size\na,0,2,4294967296\nb,0,2,9223372036854775807\n"
    )
    assert tile_place([str(path), "--capacity=624KiB"]) == 3
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "a needs 4294967296 bytes" in error
    assert "-" not in re.sub(r"[a-z]-[a-z]", "", error.partition("error:")[2])


def test_old_names_and_another_order_of_columns_are_the_same_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case 109."""
    for text in (
        "buffer,start,end,size\nb1,0,4,4\nb2,4,8,4\n",
        "size,id,upper,lower\n4,b1,4,0\n4,b2,8,4\n",
    ):
        path = tmp_path / "problem.csv"
        path.write_text(text)
        assert tile_place([str(path), "--capacity=100", "--minimise"]) == 0
        assert capsys.readouterr().out.startswith("minimal: peak 4 of 100 bytes")


# Case 115: a tensor of 32 rows goes from one tile to 32; its blocks have one row then.

SPREAD = """module attributes {{tile.machine = "ipu-c600", tile.rung = 4 : i64}} {{
  memory.program @main {{
    %s = memory.buffer input "s" 131072 bytes on <0> live [0, 2)
    %t = memory.buffer operand "t" {bytes} bytes on <0 [{tiles}:1]> live [0, 2)
    memory.bind input 0 "s" %s : tensor<32x4096xf8E4M3FNUZ>
      layout <[32, 4096] bytes 1>
    exchange.phase 0 "spread" {{
      exchange.move %s to %t : <[32, 4096] bytes 1> to <{layout}>
    }}
    codelet.compute 1 "own row" {{
      codelet.copy %s to %t : <[32, 4096] bytes 1> to <{layout}>
    }}
  }}
}}
"""
ROWS = "[32 / 32 step 1, 4096] bytes 1"
CHECKED = ("-p", "schedule-exchange,check-exchange")


def test_a_block_has_the_shape_that_follows_from_its_layout(driver: Driver) -> None:
    """No shape of a block is stored: with other tiles it is another one."""
    whole = Layout((32, 4096), 1, ((), ()), (Factor(0), Factor(1)))
    assert whole.tile_bytes == 131072
    assert replace(whole, cuts=((Cut(32, 1),), ())).tile_bytes == 4096
    text = SPREAD.format(bytes=4096, tiles=32, layout=ROWS)
    assert driver.run_text(text, *CHECKED).code == 0


@pytest.mark.parametrize(
    ("bytes", "tiles", "layout", "message"),
    [
        (4096, 32, "[32, 4096] bytes 1", "has 4096 bytes, its layout takes 131072"),
        (4096, 16, ROWS, "uses t on tile 16, which lacks it"),
        (4096, 32, "[32 / 32 step 1, 2048] bytes 1", "131072 elements, the dest"),
        (8192, 32, "[32 / 32 step 1, 4096] bytes 2", "of 1 bytes, the destination"),
    ],
)
def test_a_buffer_that_its_layout_contradicts_is_refused(
    driver: Driver, bytes: int, tiles: int, layout: str, message: str
) -> None:
    text = SPREAD.format(bytes=bytes, tiles=tiles, layout=layout)
    run = driver.run_text(text, *CHECKED)
    assert run.code == 1
    assert re.search(message, run.error), run.error


def test_a_package_whose_bytes_contradict_its_layout_is_refused() -> None:
    members = members_of(shift_package())
    manifest = json.loads(members[MANIFEST])
    manifest["binds"][0]["bytes"] *= 4
    with pytest.raises(Refused, match=r"binds\[0\] has 32 bytes, its layout takes 8"):
        from_bytes(resealed(members, manifest))


def test_scratch_and_tensors_that_grow_into_each_other_are_refused() -> None:
    """Case 116: 586,432 bytes in common; and a near miss, 3,488."""
    tile = np.array([7], np.int64)
    for scratch_end, tensor, end, shared in (
        (1143360, 556928, 1499136, 586432),
        (107936, 104448, 200000, 3488),
    ):
        scratch = Block("scratch", scratch_end, tile, 0, ((0, 1),))
        low = Block("tensor", end - tensor, tile, tensor, ((0, 1),))
        message = (
            rf"scratch \[0, {scratch_end}\) and tensor \[{tensor}, {end}\) share"
            rf" {shared} bytes \[{tensor}, {scratch_end}\) of tile 7 in step 0"
        )
        with pytest.raises(Disproof, match=message):
            check_no_overlap(Blocks([scratch, low], 8, 1))
        beside = replace(low, address=scratch_end)
        check_no_overlap(Blocks([scratch, beside], 8, 1))
