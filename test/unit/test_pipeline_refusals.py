"""Bad input to the whole ladder: one located line, the right code, no file left."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver_runs import Driver

GOOD = """module attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<8x16xf16>) -> tensor<8x16xf16> {
    %y = tile.neg %x : tensor<8x16xf16>
    return %y : tensor<8x16xf16>
  }
}
"""

LADDER = ("--plan-budget=default", "-t", "package", "-o", "out.tilepkg")


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("tile.neg", "tile.nag", "3:10: error: "),
        ("tile.neg", "nothing.neg", "3:10: error: "),
        ("tensor<8x16xf16> {", "tensor<8x16xf17> {", "2:56: error: "),
        ("tensor<8x16xf16> {", "tensor<8x16xf64> {", "error: "),
        ("func.func @main", "func.func @main(", "error: "),
        ("return %y", "return %z", "error: "),
        ('"mini4"', '"mini5"', "no machine is called 'mini5'; did you mean"),
        ('"mini4"', '{base = "mini4", tils = 3 : i64}', "no field 'tils'"),
        ("tensor<8x16xf16>)", "tensor<?x16xf16>)", "error: "),
    ],
)
def test_bad_programs(driver: Driver, old: str, new: str, error: str) -> None:
    assert old in GOOD
    run = driver.run_text(GOOD.replace(old, new, 1), *LADDER)
    assert run.code == 1
    assert run.error.startswith("in.mlir:")
    assert error in run.error
    assert not Path("out.tilepkg").exists()
    assert sorted(path.name for path in Path().iterdir()) == ["in.mlir"]


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("--plan-budget=2047",), 1, "below the support reservation of 2048 bytes"),
        (("--plan-budget=2048",), 3, "the smallest budget that works is"),
        (("--plan-budget=17KiB",), 1, "together more than the 16256 bytes"),
        (("--plan-budget=17QiB",), 2, "17QiB"),
        (("-p", "expand-candidats"), 2, "did you mean"),
        (("-p", "search-plan"), 1, "search-plan reads rung 2"),
        (("-p", "expand-candidates{depth=3}"), 2, "has no option 'depth'"),
        (("-p", "expand-candidates,search-plan{budget=2048}"), 3, "smallest budget"),
        (("-p", "expand-candidates,search-plan{plans=0}"), 2, "at least 1 plan"),
        (("-p", "expand-candidates,search-plan{plans=-1}"), 2, "at least 1 plan"),
        (("--plan-budgt=1KiB",), 2, "did you mean"),
        (("--plan-budget=default", "--machine=mini40"), 2, "did you mean"),
        (("-p", "expand-candidates", "-t", "package"), 1, "package reads rung 6"),
    ],
)
def test_bad_requests(
    driver: Driver, arguments: tuple[str, ...], code: int, error: str
) -> None:
    run = driver.run_text(GOOD, *arguments, "-o", "out.tilepkg")
    assert run.code == code, run.err
    assert error in run.error
    assert sorted(path.name for path in Path().iterdir()) == ["in.mlir"]


def test_a_program_of_no_steps_has_to_fit(driver: Driver) -> None:
    """x and a 64th of it lie beside 2048 bytes of support: 64 + 1 bytes a tile."""
    text = GOOD.replace("    %y = tile.neg %x : tensor<8x16xf16>\n", "")
    text = text.replace("return %y", "return %x")
    passes = "expand-candidates,search-plan{{budget={}}}"
    run = driver.run_text(text, "-p", passes.format(2112))
    assert run.code == 3
    assert "the smallest budget that works is 2113 bytes" in run.error
    assert driver.run_text(text, "-p", passes.format(2113)).code == 0


def test_a_tensor_that_no_tiles_can_hold_is_proven_infeasible(driver: Driver) -> None:
    text = GOOD.replace("8x16", "800x160")
    run = driver.run_text(text, *LADDER)
    assert run.code == 3
    assert run.error.startswith("in.mlir:2:3: error: no plan fits")
    assert "no plan fits the 16256 bytes of a tile either" in run.error
    assert not Path("out.tilepkg").exists()


def test_a_refusal_keeps_an_older_package(driver: Driver) -> None:
    Path("out.tilepkg").write_bytes(b"older")
    run = driver.run_text(GOOD.replace("tile.neg", "tile.nag"), *LADDER)
    assert run.code == 1
    assert Path("out.tilepkg").read_bytes() == b"older"


def test_numbers_that_a_machine_lacks_are_refused(driver: Driver) -> None:
    machine = '{base = "mini4", formats = {supported = ["f32"]}}'
    run = driver.run_text(GOOD.replace('"mini4"', machine), *LADDER)
    assert run.code == 1
    assert "'x' is f16, machine mini4 computes with f32" in run.error
