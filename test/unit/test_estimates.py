"""The bytes that a certificate foretells: what is placed is never more."""

from __future__ import annotations

import re

import pytest
from ladder import parse, run_passes
from random_programs import random_program
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp

from tiledialect.diagnostics import Infeasible, Refused
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import CERTIFICATE, the_program
from tiledialect.dialects.syntax import integer
from tiledialect.lowering.memory_problem import estimate_of

MACHINES = (
    '"mini4"',
    '"mini16"',
    '{base = "mini16", tiles = 7 : i64}',
)
PROGRAM = """
module attributes {tile.machine = "mini16"} {
  func.func @product(%x: tensor<8x64xf16>, %w: tensor<64x32xf16> {tile.parameter})
      -> tensor<8x32xf16> {
    %y = tile.matmul %x, %w
      : (tensor<8x64xf16>, tensor<64x32xf16>) -> tensor<8x32xf16>
    return %y : tensor<8x32xf16>
  }
}
"""


def placed_bytes(module: ModuleOp) -> int:
    map = the_program(module, ProgramOp).map
    assert map is not None
    return map.number("footprint")


def check_promise(text: str, budget: str) -> None:
    """What select-plan foretold stands as it was, and what is placed is no more."""
    module = run_passes(parse(text), budget, last=3)
    foretold = estimate_of(module)
    run_passes(module, budget, first=3)
    assert estimate_of(module) == foretold, text
    assert foretold is not None
    assert placed_bytes(module) <= foretold, text


def least_budget(text: str) -> int:
    """The smallest budget that works, as a refusal tells it."""
    for support in (2048, 4096):
        try:
            run_passes(parse(text), str(support), last=2)
        except Infeasible as refused:
            found = re.search(r"works is (\d+)", str(refused))
            assert found is not None
            return int(found[1])
        except Refused:
            continue
    raise AssertionError(text)


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_a_generous_budget_leaves_the_estimate_a_promise(first: int) -> None:
    """Nothing but the estimate asks placement for few bytes."""
    for seed in range(first, first + 10):
        check_promise(random_program(seed, MACHINES[seed % 3]), "default")


@pytest.mark.parametrize("first", range(160, 172, 4))
def test_the_smallest_budget_is_enough_to_place(first: int) -> None:
    for seed in range(first, first + 4):
        text = random_program(seed, MACHINES[seed % 3])
        check_promise(text, str(least_budget(text)))


def with_bytes(module: ModuleOp, bytes: int) -> None:
    """Let the certificate foretell so many bytes."""
    certificate = module.attributes[CERTIFICATE]
    assert isinstance(certificate, DictionaryAttr)
    fields = {**certificate.data, "bytes": integer(bytes)}
    module.attributes[CERTIFICATE] = DictionaryAttr(fields)


def test_an_estimate_that_cannot_be_kept_becomes_what_is_true() -> None:
    module = run_passes(parse(PROGRAM), last=5)
    with_bytes(module, 4097)
    run_passes(module, first=6)
    assert 4097 < placed_bytes(module) == estimate_of(module)
    certificate = module.attributes[CERTIFICATE]
    assert isinstance(certificate, DictionaryAttr)
    assert isinstance(certificate.data["cycles"], IntegerAttr)


def test_a_program_larger_than_foretold_is_refused() -> None:
    module = run_passes(parse(PROGRAM))
    placed = placed_bytes(module)
    with_bytes(module, placed)
    run_passes(module, first=7)
    with_bytes(module, placed - 1)
    with pytest.raises(
        Refused, match=f"{placed} bytes is 1 more than the {placed - 1}"
    ):
        run_passes(module, first=7)


def test_without_a_certificate_nothing_is_foretold() -> None:
    module = run_passes(parse(PROGRAM), last=5)
    del module.attributes[CERTIFICATE]
    run_passes(module, first=6)
    assert estimate_of(module) is None
