"""The raised bound is the least footprint of few boxes, by brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from placement_oracle import brute_force

from tiledialect.placement.boxes import make_boxes
from tiledialect.placement.live import conflict_matrix, footprint_bound
from tiledialect.placement.problem import Problem, plain_problem
from tiledialect.placement.prove import raised_bound

CAPACITY = 10


def small_problem(seed: int, count: int) -> Problem:
    """Boxes in steps of 0 to 4, element borders anywhere, some pairs apart, some
    boxes only in the upper half."""
    random = np.random.default_rng(seed)
    born = random.integers(0, 4, count)
    dies = random.integers(born + 1, 5)
    problem = plain_problem(
        tuple(f"b{i}" for i in range(count)),
        random.integers(1, 5, count),
        tuple(((int(a), int(b)),) for a, b in zip(born, dies, strict=True)),
        CAPACITY,
        objective="footprint",
    )
    pairs = [(i, j) for i in range(count) for j in range(i)]
    chosen = [pair for pair in pairs if random.random() < 0.4]
    edges = np.flatnonzero(random.random(CAPACITY) < 0.4)
    return replace(
        problem,
        low=np.where(random.random(count) < 0.3, CAPACITY // 2, 0),
        apart=np.array(chosen, np.int64).reshape(-1, 2),
        element_edges=edges.astype(np.int64),
    )


def proven(problem: Problem, footprint: int) -> tuple[int, int]:
    """The bound that lives prove, and the one that is raised up to a footprint."""
    boxes = make_boxes(problem)
    conflicts, bound = conflict_matrix(boxes), footprint_bound(boxes)
    raised = bound
    for count in (4, 5):
        raised = raised_bound(boxes, conflicts, bound, footprint, count)[0]
        if raised == footprint:
            break
    return bound, raised


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_four_boxes_are_proven_exactly(first: int) -> None:
    """Whatever the footprint that is to be beaten, the least one is found."""
    above = 0
    for seed in range(first, first + 25):
        problem = small_problem(seed, 4)
        truth = brute_force(problem)
        if not truth.feasible:
            continue
        assert proven(problem, truth.footprint)[1] == truth.footprint, seed
        bound, least = proven(problem, truth.footprint + 3)
        assert least == truth.footprint, seed
        above += truth.footprint > bound
    assert above > 2


def test_of_more_boxes_the_bound_is_one() -> None:
    """The largest five of six decide, or fewer."""
    above = 0
    for seed in range(12):
        problem = small_problem(seed, 6)
        tight = np.minimum(problem.high, 8)
        small = np.minimum(problem.bytes, 3)
        problem = replace(problem, bytes=small, high=tight, low=problem.low // 2)
        truth = brute_force(problem)
        if not truth.feasible:
            continue
        bound, least = proven(problem, truth.footprint)
        assert bound <= least <= truth.footprint, seed
        above += least > bound
    assert above > 0


def test_alignment_only_makes_the_bound_smaller() -> None:
    feasible = raised = 0
    for seed in range(20):
        problem = small_problem(seed, 4)
        aligned = replace(problem, align=np.array([2, 1, 2, 1]))
        truth = brute_force(aligned)
        if truth.feasible:
            bound, least = proven(aligned, truth.footprint)
            assert least <= truth.footprint, seed
            feasible += 1
            raised += least > bound
    assert feasible > 10
    assert raised > 2
