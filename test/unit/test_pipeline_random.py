"""Whole compiles of random programs agree with the reference, within their budget."""

from __future__ import annotations

import pytest
from ladder import checked, compiled
from random_programs import random_program

MACHINES = (
    '"mini4"',
    '"mini16"',
    '{base = "mini16", tiles = 1 : i64}',
    '{base = "mini16", tiles = 7 : i64}',
)
"""Few tiles, more tiles than rows, one tile, a prime number of them."""

PROGRAMS_A_CASE = 10


@pytest.mark.parametrize("first", range(0, 160, PROGRAMS_A_CASE))
def test_random_programs_agree_with_the_reference(first: int) -> None:
    for seed in range(first, first + PROGRAMS_A_CASE):
        text = random_program(seed, MACHINES[seed % len(MACHINES)])
        run = checked(compiled(text))
        assert run.passed, (text, run.errors)
        result, package = run.result, run.package
        assert result.peak_tile_bytes <= result.placed_bytes <= package.footprint, text
        assert package.footprint <= package.budget, text


def test_random_programs_have_every_kind_of_operation() -> None:
    texts = [random_program(seed, '"mini4"') for seed in range(160)]
    everything = "\n".join(texts)
    for word in (
        *("matmul", "reduce sum", "reduce max", "transpose", "reshape", "cast"),
        *("gelu tanh", "gelu erf", "exp", "div", "transpose_a", "transpose_b"),
        *("accumulate f32", "splat", "dense", "parameter", "f8E5M2FNUZ", "bf16"),
        *("i32", "tensor<f", "0x"),
    ):
        assert word in everything, word
