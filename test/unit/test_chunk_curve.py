"""The curve over chunks is that of all candidates priced, and outlines are below them.

What is compared with here prices every candidate of every number of chunks.
"""

from __future__ import annotations

import random
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from planning_programs import random_machine, random_program, sampled, tables
from tile_programs import parse

from tiledialect.candidates import Candidates
from tiledialect.chunks import Chunking, chunkings
from tiledialect.machine import Machine
from tiledialect.program import Program, read_program
from tiledialect.search import chunk_curve, labels
from tiledialect.search.bounds import ENDLESS, Limits, least_to_come
from tiledialect.search.chunk_curve import ChunkCurve, ChunkSmallest
from tiledialect.search.curve import breakpoints, curve
from tiledialect.search.labels import Labels
from tiledialect.search.outlines import Outline, frame, outlines
from tiledialect.search.pools import Pool, make_pools, whole_pool
from tiledialect.search.problem import Problem, make_problem
from tiledialect.search.rough import chunk_tables
from tiledialect.search.solve import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

ROOMY = 1 << 20
EXAMPLES = Path(__file__).parents[2] / "examples"
Tables = list[list[Candidates]]

MLP = """
!x = tensor<{rows}x32xf8E4M3FNUZ>
func.func @main(%x: !x, %u: tensor<32x{wide}xf8E4M3FNUZ> {{tile.parameter}},
    %d: tensor<{wide}x24xf8E4M3FNUZ> {{tile.parameter}}) -> tensor<{rows}x24xf16> {{
  %h = tile.matmul %x, %u : (!x, tensor<32x{wide}xf8E4M3FNUZ>)
    -> tensor<{rows}x{wide}xf16>
  %g = tile.gelu tanh %h : tensor<{rows}x{wide}xf16>
  %q = tile.cast %g : tensor<{rows}x{wide}xf16> to tensor<{rows}x{wide}xf8E4M3FNUZ>
  %y = tile.matmul %q, %d : (tensor<{rows}x{wide}xf8E4M3FNUZ>,
    tensor<{wide}x24xf8E4M3FNUZ>) -> tensor<{rows}x24xf16>
  func.return %y : tensor<{rows}x24xf16>
}}"""


def case(seed: int, variants: int) -> tuple[Program, Machine, Tables]:
    """An MLP, which may run in chunks, or a random program; some of its candidates."""
    rng = random.Random(seed)
    some = random_machine(rng)
    if seed % 3:
        rows, wide = rng.choice((5, 16, 37, 96)), rng.choice((16, 40, 64))
        program = read_program(parse(MLP.format(rows=rows, wide=wide)), some)
    else:
        program = random_program(rng, some, 3)
    chosen = [sampled(t, rng, variants, 4) for t in tables(program, some)]
    return program, some, chosen


def naive(
    program: Program, some: Machine, chosen: Tables, ways: list[Chunking]
) -> tuple[Plan, ...]:
    """Every candidate priced, each number of chunks alone."""
    found: list[Plan] = []
    for chunking in ways:
        table = chunk_tables(program, some, chosen, chunking)
        if all(table):
            problem = make_problem(program, some, table, chunking)
            found += curve(problem, make_pools(problem), ROOMY)
    return breakpoints(found)


@pytest.mark.parametrize("seed", range(24))
def test_the_curve_is_that_of_all_candidates_priced(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_curve, "MANY", seed % 7)
    monkeypatch.setattr(chunk_curve, "FEW", 2 + seed % 20)
    monkeypatch.setattr(chunk_curve, "SAMPLE", 60)
    monkeypatch.setattr(chunk_curve, "ROUNDS", seed % 4)
    program, some, chosen = case(seed, 8)
    ways = chunkings(program)[:: 1 + seed % 4]
    found = ChunkCurve(program, some, chosen, ROOMY)
    for chunking in ways:
        found.add(chunking)
    expected = naive(program, some, chosen, ways)
    assert [(p.footprint, p.cycles) for p in found.plans] == [
        (p.footprint, p.cycles) for p in expected
    ]
    smallest = ChunkSmallest(program, some, chosen, ROOMY)
    for chunking in ways:
        smallest.add(chunking)
    assert smallest.plan is not None
    assert smallest.plan.footprint == expected[0].footprint
    less = ChunkSmallest(program, some, chosen, expected[0].footprint - 1)
    for chunking in ways:
        less.add(chunking)
    assert less.plan is None


def every_combination(problem: Problem, pools: tuple[Pool, ...]) -> list[Labels]:
    """Labels of all stages for all combinations of candidates."""
    bound = Limits(ENDLESS, ENDLESS, least_to_come(pools))
    layers = [labels.start()]
    for position in range(problem.count):
        layers.append(labels.extend(problem, pools, position, layers[-1], bound))
    return layers


def least_of_plans(
    made: list[Outline], pools: tuple[Pool, ...], layers: list[Labels]
) -> list[Ints]:
    """What the outlines of each plan's candidates add up to."""
    at = np.arange(len(layers[-1]), dtype=np.int64)
    total = [at * 0 for _ in range(4)]
    for outline, pool, layer in reversed(
        list(zip(made, pools, layers[1:], strict=True))
    ):
        ends = np.cumsum([0, *(len(one) for one in outline.table)])
        candidate = layer.candidate[at]
        row = ends[pool.variant[candidate]] + pool.row[candidate]
        for number, column in enumerate(outline.points.columns):
            join = np.maximum if number == 2 else np.add
            total[number] = join(total[number], column[row])
        at = layer.before[at]
    return total


def assert_below(
    program: Program, some: Machine, chosen: Tables, chunking: Chunking
) -> bool:
    """Outlines are below all plans, where there are some, and not far below."""
    table = chunk_tables(program, some, chosen, chunking)
    if not all(table):
        return False
    made = outlines(frame(program, some, table, chunking), table)
    problem = make_problem(program, some, table, chunking)
    pools = tuple(whole_pool(problem, at) for at in range(problem.count))
    layers = every_combination(problem, pools)
    plans = layers[-1]
    assert len(plans) == prod(len(outline) for outline in made)
    costs = (plans.cycles, plans.resident, plans.transient, plans.rows)
    below = least_of_plans(made, pools, layers)
    for least, cost in zip(below, costs, strict=True):
        assert (least <= cost).all()
    for number in (0, 2):
        assert 4 * below[number].sum() >= costs[number].sum()
    return True


@pytest.fixture
def undominated_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def front(self: object, made: Labels) -> Labels:
        return made

    step = labels._Step  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(step, "front", front)


@pytest.mark.usefixtures("undominated_stay")
@pytest.mark.parametrize("seed", range(16))
def test_outlines_are_below_all_plans(seed: int) -> None:
    program, some, chosen = case(1000 + seed, 10 if seed % 3 else 3)
    ways = chunkings(program)[:: 1 + seed % 4]
    assert any([assert_below(program, some, chosen, chunking) for chunking in ways])


@pytest.mark.usefixtures("undominated_stay")
def test_outlines_of_the_workload_are_below_all_plans() -> None:
    some = Machine.load("ipu-c600")
    text = (EXAMPLES / "siglip_mlp_f8_b2.mlir").read_text()
    program = read_program(parse(text), some)
    rng = random.Random(5)
    chosen = [sampled(t, rng, 60, 3) for t in tables(program, some)]
    ways = chunkings(program)[::5]
    assert any([assert_below(program, some, chosen, chunking) for chunking in ways])


def test_rows_are_taken_from_every_variant() -> None:
    program, some, chosen = case(1, 16)
    chunking = chunkings(program)[0]
    made = outlines(frame(program, some, chosen, chunking), chosen)
    for outline in made:
        rows = np.arange(0, len(outline), 5, dtype=np.int64)
        taken = outline.take(rows)
        assert len(taken) == len(rows)
        whole = [
            (one.variant, tuple(parts)) for one in outline.table for parts in one.parts
        ]
        kept = [
            (one.variant, tuple(parts)) for one in taken.table for parts in one.parts
        ]
        assert kept == [whole[int(row)] for row in rows]
