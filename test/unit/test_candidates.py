"""The plan space: every distinct way to cut a domain, and nothing twice."""

from __future__ import annotations

import itertools
import random
from math import prod

import numpy as np
import pytest
from planning_programs import random_program, tables
from tile_programs import parse

from tiledialect.candidates import (
    BLOCK,
    CUT,
    all_grids,
    all_variants,
    block_choices,
    grains,
    part_choices,
    splittable_reduction,
)
from tiledialect.cost.spec import block_extent
from tiledialect.layout import Cut
from tiledialect.machine import Machine
from tiledialect.program import read_program
from tiledialect.search.problem import make_problem
from tiledialect.search.solve import search, smallest_budget


@pytest.mark.parametrize("grain", [1, 4, 16])
def test_each_block_size_is_made_by_the_fewest_parts(grain: int) -> None:
    for extent in (*range(0, 70), 97, 729, 1152):
        for tiles in (1, 4, 16, 1472):
            whole = max(1, -(-extent // grain))
            fewest: dict[int, int] = {}
            for parts in range(1, min(whole, tiles) + 1):
                fewest.setdefault(Cut(parts, 1, grain).block(extent), parts)
            chosen = block_choices(extent, grain, tiles)
            assert chosen == sorted(fewest.values())


@pytest.mark.parametrize("seed", range(60))
def test_grids_are_all_distinct_cuts_on_the_tiles(seed: int) -> None:
    rng = random.Random(seed)
    machine = Machine.load(rng.choice(("mini4", "mini16")))
    program = random_program(rng, machine, 3)
    for group in program.groups:
        grids = all_grids(program, group, machine)
        rows = [tuple(row) for row in grids.tolist()]
        every = itertools.product(*part_choices(program, group, machine))
        assert rows == [row for row in every if prod(row) <= machine.tiles]
        grain = grains(program, group, machine)
        blocks = [
            block_extent(dim.extent, grain[i], grids[:, i])
            for i, dim in enumerate(group.dims)
        ]
        assert len(set(zip(*(b.tolist() for b in blocks), strict=True))) == len(rows)
        split = splittable_reduction(group)
        for i, dim in enumerate(group.dims):
            assert not dim.reduced or i == split or (grids[:, i] == 1).all()


@pytest.mark.parametrize("seed", range(60))
def test_candidates_are_listed_once_and_rest_somewhere(seed: int) -> None:
    rng = random.Random(seed)
    machine = Machine.load(rng.choice(("mini4", "mini16")))
    program = random_program(rng, machine, 3)
    for group, table in zip(program.groups, tables(program, machine), strict=True):
        split = splittable_reduction(group)
        variants = [some.variant for some in table]
        assert len(set(variants)) == len(variants)
        assert set(variants) <= set(all_variants(program, group, machine))
        grids: set[tuple[int, ...]] = {
            tuple(row) for row in all_grids(program, group, machine).tolist()
        }
        seen: set[tuple[int, ...]] = set()
        for some in table:
            rows = [tuple(row) for row in some.parts.tolist()]
            assert len(set(rows)) == len(rows)
            seen |= set(rows)
            whole = some.parts[:, split] == 1 if split >= 0 else np.ones(len(some)) > 0
            assert whole.all() if some.variant.rest == BLOCK else not whole.any()
            if some.variant.rest >= CUT:
                assert some.variant.rest - CUT < len(group.result.axes)
        assert seen == grids  # no grid is left without a way to run it


SHAPES = (
    *((0, 16, 16), (16, 0, 16), (16, 16, 0), (0, 0, 0), (1, 1, 1)),
    *((7, 53, 101), (2, 16, 16), (1, 64, 1), (97, 1, 3)),
)


def product(rows: int, depth: int, columns: int) -> str:
    left, right = f"tensor<{rows}x{depth}xf16>", f"tensor<{depth}x{columns}xf16>"
    made = f"tensor<{rows}x{columns}xf16>"
    return (
        f"func.func @main(%a: {left}, %w: {right} {{tile.parameter}}) -> {made} {{\n"
        f"  %r = tile.matmul %a, %w : ({left}, {right}) -> {made}\n"
        f"  func.return %r : {made}\n}}"
    )


def plain(operation: str, operands: str, result: str) -> str:
    return (
        f"func.func @main({operands}) -> {result} {{\n  %r = {operation}\n"
        f"  func.return %r : {result}\n}}"
    )


ODD = [product(*shape) for shape in SHAPES] + [
    plain("tile.neg %a : tensor<f16>", "%a: tensor<f16>", "tensor<f16>"),
    plain("tile.neg %a : tensor<0x9xf16>", "%a: tensor<0x9xf16>", "tensor<0x9xf16>"),
    plain(
        "tile.mul %a, %s : (tensor<5x7xf16>, tensor<f16>) -> tensor<5x7xf16>",
        "%a: tensor<5x7xf16>, %s: tensor<f16>",
        "tensor<5x7xf16>",
    ),
    plain(
        "tile.reduce sum %a over [1] : tensor<5x0xf16> -> tensor<5xf16>",
        "%a: tensor<5x0xf16>",
        "tensor<5xf16>",
    ),
    plain(
        "tile.reduce sum %a over [0, 1] : tensor<5x9xf16> -> tensor<f16>",
        "%a: tensor<5x9xf16>",
        "tensor<f16>",
    ),
    plain(
        "tile.transpose %a [1, 0] : tensor<0x9xf16> -> tensor<9x0xf16>",
        "%a: tensor<0x9xf16>",
        "tensor<9x0xf16>",
    ),
    "func.func @main(%a: tensor<4x9xf16>) -> tensor<4x9xf16> {\n"
    "  func.return %a : tensor<4x9xf16>\n}",
]


@pytest.mark.parametrize("name", ["mini4", "mini16", "ipu-c600", "one"])
@pytest.mark.parametrize("text", ODD)
def test_odd_shapes_have_plans_and_exact_smallest_budgets(name: str, text: str) -> None:
    """Nothing at all, one element, primes, more tiles than rows, one tile."""
    fields = {"base": "mini16", "name": "one", "tiles": 1}
    machine = Machine.from_fields(fields) if name == "one" else Machine.load(name)
    program = read_program(parse(text), machine)
    problem = make_problem(program, machine, tables(program, machine))
    least, plan = smallest_budget(problem)
    assert least is not None
    assert plan is not None
    assert plan.footprint == least
    assert search(problem, least, 1).status == "optimal"
    assert search(problem, least - 1, 1).status == "infeasible"
    if "0x" in text and "9" in text:  # nothing to do costs no bytes
        assert least == machine.memory.support_bytes
