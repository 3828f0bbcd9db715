"""Chunks: the same results part by part, and a search that finds the best of all."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from ladder import checked, compiled, parse
from planning_programs import random_machine, random_program, sampled, tables

from tiledialect.chunks import (
    WHOLE,
    Chunking,
    chunked,
    chunking_of,
    chunkings,
    shared_dimension,
)
from tiledialect.machine import Machine
from tiledialect.program import Program, read_program
from tiledialect.search import chunked as chunked_search
from tiledialect.search.chunked import search_chunked
from tiledialect.search.pools import whole_pool
from tiledialect.search.problem import make_problem
from tiledialect.search.rough import chunk_tables, rough_space
from tiledialect.search.solve import search

TEXT = """
module attributes {tile.machine = "mini16"} {
  func.func @main(%x: tensor<29x44xf16>, %w: tensor<44x52xf16> {tile.parameter},
      %v: tensor<52x24xf16> {tile.parameter}) -> tensor<29x24xf16> CHUNKS {
    %h = tile.matmul %x, %w : (tensor<29x44xf16>, tensor<44x52xf16>)
      -> tensor<29x52xf16>
    %g = tile.gelu tanh %h : tensor<29x52xf16>
    %y = tile.matmul %g, %v : (tensor<29x52xf16>, tensor<52x24xf16>)
      -> tensor<29x24xf16>
    func.return %y : tensor<29x24xf16>
  }
}
"""


def chain() -> Program:
    return read_program(parse(TEXT.replace("CHUNKS", "")), Machine.load("mini16"))


def test_a_chain_shares_its_rows() -> None:
    program = chain()
    assert shared_dimension(program) == (1, 1)  # m of both products
    counts = [chunking.count for chunking in chunkings(program)]
    assert counts == [1, 2, 3, 4, 5, 6, 8, 10]  # 12 chunks of 3 rows would be 10


def test_the_last_chunk_may_be_short() -> None:
    chunking = chunking_of(chain(), 4)
    parts = [chunking.part(1, number) for number in range(4)]
    assert [(p.start, p.count) for p in parts if p] == [
        (0, 8),
        (8, 8),
        (16, 8),
        (24, 5),
    ]
    rows = [chunked(chain(), chunking, n).groups[0].dims[1].extent for n in range(4)]
    assert rows == [8, 8, 8, 5]


def test_chunks_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be run in 9 chunks"):
        chunking_of(chain(), 9)  # chunks of 4 rows are 8


@pytest.mark.parametrize(
    "line",
    [
        "%y = tile.reduce sum %x over [0] : tensor<8x6xf32> -> tensor<6xf32>",
        "%y = tile.transpose %x [1, 0] : tensor<8x6xf32> -> tensor<6x8xf32>",
    ],
)
def test_what_every_result_has_not_is_not_shared(line: str) -> None:
    result = line.split("->")[1].strip()
    text = (
        f"func.func @main(%x: tensor<8x6xf32>) -> {result} {{\n {line}\n"
        f" func.return %y : {result}\n}}"
    )
    program = read_program(parse(text), Machine.load("mini4"))
    dims = shared_dimension(program)
    # the columns of a transpose's operand are rows of its result, not of its operand
    assert dims is None


@pytest.mark.parametrize("chunks", [2, 3, 4, 10])
def test_chunks_pass_the_check(chunks: int) -> None:
    asked = f"attributes {{tile.plan = {{chunks = {chunks} : i64}}}}"
    done = checked(compiled(TEXT.replace("CHUNKS", asked)))
    assert done.passed
    steps = done.package.steps
    assert sum(step.name == "y" for step in steps) >= chunks
    assert done.package.certificate["chunks"] == chunks  # pyright: ignore


def some_cases(seed: int) -> tuple[Program, Machine, list[Chunking], list[int]]:
    rng = random.Random(seed)
    base = random_machine(rng)
    support = rng.choice((base.memory.support_bytes, 1024))
    machine = replace(base, memory=replace(base.memory, support_bytes=support))
    program = random_program(rng, machine, 3)
    ways = chunkings(program)
    budgets = [support + rng.randrange(64, 12000) for _ in range(3)]
    return program, machine, ways, [*budgets, machine.max_bytes]


@pytest.mark.parametrize("seed", range(60))
def test_the_best_plan_of_all_chunks_is_found(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunked_search, "FEW", 5)
    monkeypatch.setattr(chunked_search, "MANY", 10)
    program, machine, ways, budgets = some_cases(seed)
    rng = random.Random(seed)
    chosen = [sampled(t, rng, 8, 6) for t in tables(program, machine)]
    for budget in budgets:
        best: int | None = None
        for way in ways:
            part = chunk_tables(program, machine, chosen, way)
            if not all(part):
                continue
            problem = make_problem(program, machine, part, way)
            found = search(problem, budget, 1).plans
            if found and (best is None or found[0].cycles < best):
                best = found[0].cycles
        outcome = search_chunked(program, machine, chosen, budget, 1, ways)
        assert (outcome.plans[0].cycles if outcome.plans else None) == best
        if best is not None:
            assert outcome.plans[0].footprint <= budget


@pytest.mark.parametrize("seed", range(60))
def test_rough_bounds_are_bounds(seed: int) -> None:
    program, machine, ways, _ = some_cases(seed)
    rng = random.Random(seed)
    for way in (WHOLE, rng.choice(ways)):
        chosen = chunk_tables(
            program,
            machine,
            [sampled(t, rng, 6, 20) for t in tables(program, machine)],
            way,
        )
        problem = make_problem(program, machine, chosen, way)
        space = rough_space(program, machine, chosen, way)
        for at, (stage, rough) in enumerate(
            zip(problem.stages, space.groups, strict=True)
        ):
            for priced, bound in zip(stage.variants, rough, strict=True):
                assert (bound.resident == priced.cost.resident_bytes).all()
                assert (bound.live <= priced.cost.transient_bytes).all()
            pool = whole_pool(problem, at)
            number = pool.variant * 100 + pool.row  # fewer than 100 rows a variant
            known = {
                v * 100 + r: cycles
                for v, one in enumerate(rough)
                for r, cycles in enumerate(one.cycles.tolist())
            }
            exact = pool.cycles + pool.least
            bounds = [known[int(key)] * way.count for key in number]
            assert (bounds <= exact).all()
            assert 16 * sum(bounds) >= exact.sum(), "a bound that says little"
