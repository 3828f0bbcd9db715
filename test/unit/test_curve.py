"""The curve is that of all plans, and its knee lies furthest below its chord."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from plan_oracle import Costed, every_plan
from planning_programs import random_machine, random_program, sampled, tables

from tiledialect.candidates import Candidates
from tiledialect.machine import Machine
from tiledialect.program import Program
from tiledialect.search import stairs, walks
from tiledialect.search.curve import breakpoints, curve, knee
from tiledialect.search.pools import Pool, make_pools
from tiledialect.search.problem import Problem, make_problem
from tiledialect.search.smallest import least_plan
from tiledialect.search.solve import Plan, search
from tiledialect.search.stairs import Points, Stairs

ROOMY = 1 << 20
Case = tuple[Problem, tuple[Pool, ...], list[Costed]]


@cache
def drawn(seed: int) -> tuple[Program, Machine, list[list[Candidates]], list[Costed]]:
    """A random program of 1 to 4 groups, some of its candidates, and every plan."""
    rng = random.Random(seed)
    base = random_machine(rng)
    support = rng.choice((base.memory.support_bytes, 1024))
    some = replace(base, memory=replace(base.memory, support_bytes=support))
    program = random_program(rng, some, 1 + seed % 4)
    chosen = [sampled(table, rng, 3, 3) for table in tables(program, some)]
    problem = make_problem(program, some, chosen)
    plans = every_plan(
        program, some, chosen, problem.code_bytes, problem.interface_bytes
    )
    return program, some, chosen, plans


def case(seed: int) -> Case:
    """What the search knows of a program, anew, and every plan of it."""
    program, some, chosen, plans = drawn(seed)
    problem = make_problem(program, some, chosen)
    return problem, make_pools(problem), plans


def front(plans: list[Costed], most: int) -> list[tuple[int, int]]:
    """Bytes and cycles of the plans that no other beats, by trying every pair."""
    points = {(plan.need, plan.cycles) for plan in plans if plan.need <= most}
    return sorted(
        (bytes, cycles)
        for bytes, cycles in points
        if not any(
            b <= bytes and c <= cycles and (b, c) != (bytes, cycles) for b, c in points
        )
    )


def shape(plans: tuple[Plan, ...]) -> list[tuple[int, int]]:
    return [(plan.footprint, plan.cycles) for plan in plans]


@pytest.mark.parametrize("seed", range(120))
def test_the_curve_is_the_front_of_all_plans(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 2:  # few points and labels, in small pieces, change nothing
        monkeypatch.setattr(walks, "FEW", 1 + seed % 4)
        monkeypatch.setattr(walks, "ENOUGH", 0)
        monkeypatch.setattr(stairs, "POINTS", 1 + seed % 5)
        monkeypatch.setattr(stairs, "PIECE", 7)
    if seed % 5 == 0:
        monkeypatch.setattr(stairs, "MOST_PAIRS", 20)
    problem, pools, plans = case(seed)
    found = curve(problem, pools, ROOMY)
    assert shape(found) == front(plans, ROOMY)
    costs = {plan.choices: (plan.need, plan.cycles) for plan in plans}
    assert all(costs[p.choices] == (p.footprint, p.cycles) for p in found)
    middle = found[len(found) // 2].footprint
    for most in (middle, middle - 1, found[0].footprint - 1):
        assert shape(curve(problem, pools, most)) == front(plans, most)


@pytest.mark.parametrize("seed", range(0, 120, 8))
def test_known_plans_are_of_the_curve_where_they_are_not_beaten(seed: int) -> None:
    problem, pools, plans = case(seed)
    found = curve(problem, pools, ROOMY)
    known = tuple(
        replace(plan, cycles=plan.cycles + more)
        for plan, more in zip(found, (-1, 0, 1) * len(found), strict=False)
    )
    both = curve(problem, pools, ROOMY, known)
    assert both == breakpoints((*known, *found))
    assert set(shape(both)) <= set(front(plans, ROOMY)) | set(shape(known))


@pytest.mark.parametrize("seed", range(0, 120, 3))
def test_the_smallest_budget_is_the_least_of_all_plans(seed: int) -> None:
    problem, pools, plans = case(seed)
    least = min(plan.need for plan in plans)
    for most, enough in ((ROOMY, True), (least, True), (least - 1, False)):
        found = least_plan(problem, pools, most)
        assert (None if found is None else found.footprint) == (
            least if enough else None
        )


@pytest.mark.parametrize("seed", range(0, 120, 6))
def test_cycles_never_rise_with_the_budget(seed: int) -> None:
    """A search for a breakpoint's budget finds it, and for a byte less the next."""
    problem, pools, _ = case(seed)
    slower: int | None = None
    for plan in curve(problem, pools, ROOMY):
        best = search(problem, plan.footprint, 1, pools=pools).plans[0]
        assert (best.footprint, best.cycles) == (plan.footprint, plan.cycles)
        assert slower is None or plan.cycles < slower
        less = search(problem, plan.footprint - 1, 1, pools=pools).plans
        assert [one.cycles for one in less] == ([] if slower is None else [slower])
        slower = plan.cycles


def plan(footprint: int, cycles: int) -> Plan:
    return Plan((), cycles, footprint - 100, 100, 0)


@pytest.mark.parametrize(
    ("points", "position"),
    [
        ([(500, 90)], 0),
        ([(500, 90), (700, 20)], 1),  # no point lies below the chord: the fastest
        ([(500, 90), (600, 80), (700, 20)], 2),
        ([(500, 90), (550, 40), (600, 30), (900, 20)], 2),
        ([(500, 90), (550, 40), (600, 32), (900, 20)], 1),
        ([(500, 40), (510, 20), (520, 10), (540, 0)], 1),  # of equals the smaller
    ],
)
def test_the_knee_lies_furthest_below_the_chord(
    points: list[tuple[int, int]], position: int
) -> None:
    assert knee([plan(*point) for point in points]) == position


def test_coarse_points_are_at_most_all_of_theirs() -> None:
    rng = np.random.default_rng(3)
    points = Points(*rng.integers(0, 100, (4, 50)))
    for most in (1, 7, 49, 50):
        coarse = points.coarse(most)
        assert len(coarse) == most
        below = (
            np.array(coarse.columns)[:, :, None] <= np.array(points.columns)[:, None, :]
        )
        assert below.all(axis=0).any(axis=0).all()


def test_stairs_admit_what_no_known_plan_beats() -> None:
    known = [(10, 50), (20, 30), (20, 40), (25, 35), (40, 10)]
    bytes, cycles = np.array(known, dtype=np.int64).T
    steps = Stairs.of(30, bytes, cycles)
    assert list(zip(steps.bytes.tolist(), steps.cycles.tolist(), strict=True)) == [
        (10, 50),
        (20, 30),
    ]
    tried = [(b, c) for b in range(5, 35) for c in range(20, 60)]
    at, take = np.array(tried, dtype=np.int64).T
    expected = [
        b <= 30 and not any(n <= b and k < c for n, k in known if n <= 30)
        for b, c in tried
    ]
    assert steps.admit(at, take).tolist() == expected
