"""The search agrees with every plan written out, at any budget."""

from __future__ import annotations

import random
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest
from plan_oracle import Costed, every_plan
from planning_programs import random_machine, random_program, sampled, tables
from tile_programs import parse

from tiledialect.machine import Machine
from tiledialect.program import Program, read_program
from tiledialect.search import labels
from tiledialect.search.fronts import classes, expanded, undominated
from tiledialect.search.pools import make_pools
from tiledialect.search.problem import Problem, make_problem
from tiledialect.search.solve import search, smallest_budget

ROOMY = 1 << 20


def machine(rng: random.Random) -> Machine:
    """Four or sixteen tiles, with a support that rows may outgrow, or not."""
    base = random_machine(rng)
    support = rng.choice((base.memory.support_bytes, 1024))
    return replace(base, memory=replace(base.memory, support_bytes=support))


def cases(seed: int, groups: int) -> tuple[Program, Machine, Problem, list[Costed]]:
    rng = random.Random(seed)
    some = machine(rng)
    program = random_program(rng, some, groups)
    chosen = [sampled(t, rng, 3, 3) for t in tables(program, some)]
    problem = make_problem(program, some, chosen)
    return (
        program,
        some,
        problem,
        every_plan(program, some, chosen, problem.code_bytes, problem.interface_bytes),
    )


@pytest.mark.parametrize("seed", range(240))
def test_the_best_of_all_plans_is_found_at_any_budget(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 3 == 0:  # pieces of every size
        monkeypatch.setattr(labels, "CHUNK", 1 + seed % 7)
        monkeypatch.setattr(labels, "PILE", 5)
    _, some, problem, plans = cases(seed, 1 + seed % 4)
    needs = sorted({plan.need for plan in plans})
    budgets = [*random.Random(seed).sample(needs, min(3, len(needs))), ROOMY]
    slowest = None
    for budget in sorted({needs[0] - 1, needs[0], *budgets}):
        best = min((p.cycles for p in plans if p.need <= budget), default=None)
        outcome = search(problem, budget, 4)
        if best is None:
            assert (outcome.status, outcome.plans) == ("infeasible", ())
            known = needs[0] if needs[0] <= some.max_bytes else None
            assert outcome.smallest_budget == known
            continue
        assert outcome.status == "optimal"
        assert outcome.plans[0].cycles == best
        assert slowest is None or best <= slowest
        slowest = best
        by_choice = {plan.choices: plan for plan in plans}
        for plan in outcome.plans:
            known = by_choice[plan.choices]
            assert (plan.cycles, plan.footprint) == (known.cycles, known.need)
            assert plan.footprint <= budget
            assert plan.cycles <= best * 1.02
        fastest_first = [plan.cycles for plan in outcome.plans]
        assert fastest_first == sorted(fastest_first)


@pytest.mark.parametrize("seed", range(40))
def test_the_whole_space_of_small_programs_is_searched(seed: int) -> None:
    rng = random.Random(1000 + seed)
    some = Machine.load("mini4")
    while True:
        program = random_program(rng, some, 2)
        chosen = tables(program, some)
        if prod(sum(map(len, table)) for table in chosen) <= 4000:
            break
    problem = make_problem(program, some, chosen)
    plans = every_plan(
        program, some, chosen, problem.code_bytes, problem.interface_bytes
    )
    need = min(plan.need for plan in plans)
    least, smallest = smallest_budget(problem)
    assert least == need
    assert smallest is not None
    assert smallest.footprint == need
    assert search(problem, need - 1, 1).smallest == smallest
    best = min(plan.cycles for plan in plans if plan.need <= need)
    assert search(problem, need, 1).plans[0].cycles == best
    best = min(plan.cycles for plan in plans)
    assert search(problem, ROOMY, 1).plans[0].cycles == best


def test_more_memory_never_gives_a_slower_mlp() -> None:
    """The workload on all its tiles, from the budget that a refusal names."""
    path = Path(__file__).parents[2] / "examples" / "siglip_mlp_f8_b1.mlir"
    some = Machine.load("ipu-c600")
    program = read_program(parse(path.read_text()), some)
    problem = make_problem(program, some, tables(program, some))
    pools = make_pools(problem)
    refused = search(problem, some.memory.support_bytes, 1, pools=pools)
    assert refused.status == "infeasible"
    enough = refused.smallest_budget
    assert enough is not None
    budgets = [enough, *range(enough + 16384, 262144, 49152), some.max_bytes]
    cycles = [
        search(problem, budget, 1, pools=pools).plans[0].cycles for budget in budgets
    ]
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[0] > cycles[-1]


@pytest.mark.parametrize("seed", range(20))
def test_fronts_are_those_of_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 80))
    columns = list(rng.integers(0, 6, (3, count)))
    group = rng.integers(0, 4, count)

    def beats(i: int, j: int) -> bool:
        same = all(column[i] == column[j] for column in columns)
        worse = any(column[i] > column[j] for column in columns)
        return group[i] == group[j] and not worse and (not same or i < j)

    kept = [j for j in range(count) if not any(beats(i, j) for i in range(count))]
    assert undominated(columns, group).tolist() == kept


@pytest.mark.parametrize("wide", [False, True])
def test_rows_have_one_class_if_they_are_equal(wide: bool) -> None:
    rng = np.random.default_rng(1)
    factor = 1 << 40 if wide else 1
    columns = [rng.integers(0, 3, 200) * factor for _ in range(4)]
    number, first = classes(columns)
    rows = [tuple(int(c[i]) for c in columns) for i in range(200)]
    firsts: list[int] = first.tolist()
    for row, at in zip(rows, number.tolist(), strict=True):
        assert rows[int(first[at])] == row
    assert len(first) == len(set(rows))
    assert all(rows.index(rows[at]) == at for at in firsts)


def test_ragged_rows_are_expanded_in_pieces() -> None:
    counts = np.array([0, 3, 0, 7, 1, 2, 0], dtype=np.int64)
    whole = [(row, item) for row in range(7) for item in range(int(counts[row]))]
    for most in (1, 4, 100):
        pieces = list(expanded(counts, most))
        flat = [
            pair for rows, items in pieces for pair in zip(rows, items, strict=True)
        ]
        assert flat == whole
        assert all(len(rows) <= max(most, 7) for rows, _ in pieces)
