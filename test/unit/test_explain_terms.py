"""The terms of plans add up to what the search says of them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from planning_programs import random_program, sampled, tables
from tile_programs import parse

from tiledialect.chunks import chunkings
from tiledialect.machine import Machine
from tiledialect.plan_terms import PlanTerms, plan_terms
from tiledialect.program import read_program
from tiledialect.search.problem import make_problem
from tiledialect.search.rough import chunk_tables
from tiledialect.search.solve import Plan, search

MACHINES = [Machine.load("mini4"), Machine.load("mini16")]
ROOMY = 1 << 20

CHAIN = """
func.func @main(%x: tensor<9x16xf16>, %w: tensor<16x24xf16> {tile.parameter},
    %v: tensor<24x8xf16> {tile.parameter}) -> tensor<9x8xf16> {
  %h = tile.matmul %x, %w : (tensor<9x16xf16>, tensor<16x24xf16>) -> tensor<9x24xf16>
  %g = tile.gelu tanh %h : tensor<9x24xf16>
  %y = tile.matmul %g, %v : (tensor<9x24xf16>, tensor<24x8xf16>) -> tensor<9x8xf16>
  func.return %y : tensor<9x8xf16>
}
"""


def check(terms: PlanTerms, plan: Plan) -> None:
    assert terms.cycles == plan.cycles
    assert terms.bytes == plan.footprint
    assert terms.chunks == plan.chunks
    assert terms.fullest == plan.fullest


@pytest.mark.parametrize("seed", range(60))
def test_terms_add_up_to_the_plan(seed: int) -> None:
    rng = random.Random(seed)
    machine = MACHINES[seed % 2]
    program = random_program(rng, machine, 1 + seed % 4)
    chosen = [sampled(table, rng, 6, 4) for table in tables(program, machine)]
    problem = make_problem(program, machine, chosen)
    for plan in search(problem, ROOMY, 4, slack=1.0).plans:
        check(plan_terms(program, machine, plan), plan)


def test_terms_of_chunks_add_up_too() -> None:
    machine = MACHINES[1]
    program = read_program(parse(CHAIN), machine)
    counts: set[int] = set()
    for chunking in chunkings(program):
        some = chunk_tables(program, machine, tables(program, machine), chunking)
        problem = make_problem(program, machine, some, chunking)
        for plan in search(problem, ROOMY, 4, slack=0.5).plans:
            check(plan_terms(program, machine, plan), plan)
            counts.add(plan.chunks)
    assert len(counts) > 2


def test_terms_say_what_they_are_of() -> None:
    """A product whose depth is cut: partial sums move, and are added."""
    machine = MACHINES[1]
    program = read_program(parse(CHAIN), machine)
    some = tables(program, machine)
    split = [one.take(one.parts[:, 3] == 2) for one in some[0]]
    some[0] = [one for one in split if len(one)]
    (plan,) = search(make_problem(program, machine, some), ROOMY, 1).plans
    first, second = plan_terms(program, machine, plan).groups
    assert (first.name, second.name) == ("h", "y")
    assert first.choice["grid"] == dict(
        zip("bmnk", (int(n) for n in plan.choices[0][1]), strict=True)
    )
    assert {"compute", "reduction exchange", "sum", "stages"} <= set(first.cycles)
    assert not any(term.startswith("settling") for term in first.cycles)
    assert "settling exchange" in second.cycles
    assert "g exchange" in second.cycles
    assert first.cycles["sum"] > 0
    assert first.fullest in first.live
    assert first.live[first.fullest] == max(first.live.values())
    assert np.sum(list(first.cycles.values())) == first.total
