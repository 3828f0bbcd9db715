"""Inputs and results that the host packs and unpacks: as the plan has them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ladder import Checked, checked, compiled, parse, run_passes
from random_programs import random_program
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import VerifyException

from tiledialect.diagnostics import Refused
from tiledialect.dialects.memory import BindOp, buffer_of
from tiledialect.dialects.module_attributes import CERTIFICATE, plain_value
from tiledialect.dialects.tile import stored_flags
from tiledialect.tools.verify import verify

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAD = 'module attributes {tile.machine = "mini16"} {\n'


def tiny_mlp(mark: str) -> str:
    text = (EXAMPLES / "tiny_mlp.mlir").read_text(encoding="utf-8")
    assert text.count("%x: !x,") == 1
    return text.replace("%x: !x,", f"%x: !x {mark},")


def names(run: Checked) -> list[str]:
    return [step.name for step in run.result.steps]


def test_a_packed_input_needs_no_step_before_it_is_read() -> None:
    linear = checked(compiled(tiny_mlp(""), "8KiB"))
    packed = checked(compiled(tiny_mlp("{tile.packed}"), "8KiB"))
    assert linear.passed
    assert packed.passed
    assert names(linear)[0] == "h h.x"
    assert names(packed)[0] == "h"
    assert packed.result.cycles < linear.result.cycles
    assert linear.errors == packed.errors, "the same tensor is given to both"


def test_it_is_there_to_its_last_use_where_a_parameter_stays() -> None:
    module = run_passes(parse(tiny_mlp("{tile.packed}")), "8KiB")
    binds = {op.bind_name.data: op for op in module.walk() if isinstance(op, BindOp)}
    assert binds["x"].kind.data == "input"
    assert buffer_steps(binds["x"]) == ((0, 1),)
    assert buffer_steps(binds["w1"])[0][1] > 1


def buffer_steps(bind: BindOp) -> tuple[tuple[int, int], ...]:
    return tuple(buffer_of(bind.buffer).lifetime)


def test_it_is_planned_as_a_parameter_is() -> None:
    plans = [
        plain_value(
            run_passes(parse(tiny_mlp(mark)), "8KiB", last=2).attributes[CERTIFICATE]
        )
        for mark in ("{tile.packed}", "{tile.parameter}")
    ]
    assert plans[0] == plans[1]


SEVERAL = """
  func.func @main(%x: tensor<6x40xf16> {tile.packed}, %w: tensor<40x24xf16>
      {tile.parameter}, %z: tensor<3xf16> {tile.packed}) -> (RESULTS) {
    %a = tile.matmul %x, %w : (tensor<6x40xf16>, tensor<40x24xf16>) -> tensor<6x24xf16>
    %g = tile.relu %x : tensor<6x40xf16>
    %b = tile.matmul %g, %w : (tensor<6x40xf16>, tensor<40x24xf16>) -> tensor<6x24xf16>
    %c = tile.add %a, %b : tensor<6x24xf16>
    return %cRETURNED : RESULTS
  }
}
"""


@pytest.mark.parametrize("more", ["", "x"])
def test_it_may_have_several_readers_none_and_be_returned(more: str) -> None:
    """Depth 40 is no whole number of panels on mini16: the host packs zeros there."""
    results = "tensor<6x24xf16>" + (", tensor<6x40xf16>" if more else "")
    text = SEVERAL.replace("RESULTS", results)
    text = text.replace("RETURNED", f", %{more}" if more else "")
    assert checked(compiled(HEAD + text)).passed


def test_an_argument_is_packed_or_a_parameter() -> None:
    both = tiny_mlp("{tile.packed, tile.parameter}")
    with pytest.raises(VerifyException, match=r"'x' is marked tile\.parameter and"):
        run_passes(parse(both), last=1)
    (function,) = (
        op for op in parse(tiny_mlp("{tile.packed}")).walk() if isinstance(op, FuncOp)
    )
    assert stored_flags(function) == (True, True, True)


def test_a_packed_result_lies_as_it_was_made() -> None:
    text = tiny_mlp("{tile.packed}").replace("-> !y {", "-> (!y {tile.packed}) {")
    run = checked(compiled(text, "8KiB"))
    assert run.passed
    assert names(run) == ["h", "h map", "y y.h", "y"]
    assert verify(run_passes(parse(text), "8KiB", last=3)).startswith("proven")


@pytest.mark.parametrize(
    ("results", "returned"),
    [
        ("tensor<6x24xf16>, tensor<6x24xf16> {tile.packed}", ", %a"),
        ("tensor<6x24xf16> {tile.packed}, tensor<6x24xf16>", ", %c"),
    ],
)
def test_a_packed_result_is_the_last_and_returned_once(
    results: str, returned: str
) -> None:
    head, types = SEVERAL.split("(RESULTS)")
    types = types.replace("RESULTS", "tensor<6x24xf16>, tensor<6x24xf16>")
    text = f"{HEAD}{head}({results}){types.replace('RETURNED', returned)}"
    with pytest.raises(Refused, match="a packed result is what the last operation"):
        run_passes(parse(text), last=1)


ARGUMENT = re.compile(r"(%\w+: tensor<(?:[^<>]|<[^<>]*>)*>)(?=[,)])")


@pytest.mark.parametrize("first", [0, 4, 8])
def test_random_programs_agree_with_the_reference_when_inputs_are_packed(
    first: int,
) -> None:
    marked = 0
    for seed in range(first, first + 4):
        text = random_program(seed, '"mini16"' if seed % 2 else '"mini4"')
        head = next(line for line in text.splitlines() if "func.func" in line)
        packed, count = ARGUMENT.subn(r"\1 {tile.packed}", head)
        run = checked(compiled(text.replace(head, packed)))
        assert run.passed, packed
        result, package = run.result, run.package
        assert result.peak_tile_bytes <= result.placed_bytes <= package.footprint
        marked += count
    assert marked > 2
