"""Placement where the optimum is known by construction, and of many boxes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from placement_oracle import faults

from tiledialect.placement.boxes import make_boxes
from tiledialect.placement.first_fit import first_fit
from tiledialect.placement.live import conflict_matrix
from tiledialect.placement.problem import Problem, plain_problem
from tiledialect.placement.solve import place
from tiledialect.placement.sweep import Sweep

Rectangle = tuple[int, int, int, int]  # first step, end step, low byte, high byte


def cut(random: np.random.Generator, whole: Rectangle, pieces: int) -> list[Rectangle]:
    """A rectangle of steps and bytes cut by straight cuts, always the largest piece."""
    found = [whole]
    while len(found) < pieces:
        area = [(b - a) * (d - c) for a, b, c, d in found]
        first, end, low, high = found.pop(int(np.argmax(area)))
        in_time = random.random() < 0.5
        if (in_time and end - first < 2) or high - low < 2:
            in_time = True
        if in_time:
            at = int(random.integers(first + 1, end))
            found += [(first, at, low, high), (at, end, low, high)]
        else:
            at = int(random.integers(low + 1, high))
            found += [(first, end, low, at), (first, end, at, high)]
    return found


def guillotine(seed: int, pieces: int, capacity: int, steps: int) -> Problem:
    """A problem that fills its memory in every step: the optimum is `capacity`."""
    random = np.random.default_rng(seed)
    boxes = cut(random, (0, steps, 0, capacity), pieces)
    random.shuffle(boxes)
    return plain_problem(
        tuple(f"b{i}" for i in range(pieces)),
        np.array([high - low for _, _, low, high in boxes], np.int64),
        tuple(((int(first), int(end)),) for first, end, _, _ in boxes),
        capacity,
    )


def overlaps(problem: Problem, address: NDArray[np.int64]) -> int:
    """Pairs of one class and no gaps that share a byte in a step."""
    first = np.array([life[0][0] for life in problem.lifetimes])
    end = np.array([life[-1][1] for life in problem.lifetimes])
    top = address + problem.bytes
    in_time = (first[:, None] < end) & (first < end[:, None])
    in_space = (address[:, None] < top) & (address < top[:, None])
    return int((in_time & in_space).sum() - len(address)) // 2


@pytest.mark.parametrize("seed", range(8))
def test_small_guillotine_cuts_are_solved_exactly(seed: int) -> None:
    """No slack anywhere: every step is full, and the search still finds it."""
    problem = guillotine(seed, 24, 4096, 40)
    answer = place(problem, minimise=False)
    assert (answer.status, answer.peak) == ("minimal", 4096)
    assert faults(problem, answer.addresses.tolist()) == []


def test_a_byte_less_than_needed_is_refused() -> None:
    problem = guillotine(1, 24, 4096, 40)
    less = replace(problem, high=problem.high - 1)
    answer = place(less, minimise=False)
    assert answer.status == "infeasible"
    assert "(1 too few)" in answer.reason


@pytest.mark.parametrize("seed", range(3))
def test_guillotine_cuts_of_128_stay_within_five_percent(seed: int) -> None:
    problem = guillotine(seed, 128, 1 << 20, 400)
    roomy = replace(problem, high=problem.high * 2)
    answer = place(roomy, minimise=True, effort=60_000)
    assert overlaps(problem, answer.addresses) == 0
    assert answer.live_peak == 1 << 20
    assert answer.peak <= 1.05 * (1 << 20)


def test_fragmentation_is_proven_and_told() -> None:
    """Two pins leave 20 bytes free, ten and ten; a buffer of twenty has no place."""
    problem = plain_problem(
        ("left", "right", "wide"),
        np.array([10, 10, 20], np.int64),
        (((0, 2),),) * 3,
        40,
    )
    problem = replace(problem, pinned=np.array([10, 30, -1]))
    answer = place(problem, minimise=False)
    assert answer.status == "infeasible"
    assert "fragmentation: enough bytes (40 alive" in answer.reason
    assert "wide needs 20 in one piece and the largest hole left for it has 10" in (
        answer.reason
    )
    assert answer.largest_hole == 10
    assert answer.buffers == (2,)


def many(seed: int, count: int) -> Problem:
    """Boxes with alignment, some with gaps, on two classes."""
    random = np.random.default_rng(seed)
    first = random.integers(0, 500, count)
    length = random.integers(2, 60, count)
    gaps = random.random(count) < 0.3
    lifetimes = tuple(
        ((f, f + n // 2), (f + n // 2 + 1, f + n + 1)) if gap else ((f, f + n),)
        for f, n, gap in zip(
            first.tolist(), length.tolist(), gaps.tolist(), strict=True
        )
    )
    problem = plain_problem(
        tuple(f"b{i}" for i in range(count)),
        random.integers(1, 4000, count),
        lifetimes,
        1 << 30,
    )
    classes = random.random((count, 2)) < 0.7
    classes[~classes.any(axis=1), 0] = True
    return replace(problem, align=random.choice([1, 8, 64], count), classes=classes)


def test_the_sweep_places_as_first_fit_does() -> None:
    """Two first fits, one compiled: the same addresses for the same order."""
    for seed in range(5):
        boxes = make_boxes(many(seed, 120))
        order = np.random.default_rng(seed).permutation(len(boxes))
        plain = first_fit(boxes, conflict_matrix(boxes), order)
        assert Sweep(boxes).place(order).tolist() == plain.address.tolist()


def test_a_thousand_boxes_with_every_rule_of_the_sweep() -> None:
    problem = many(0, 1000)
    answer = place(problem, minimise=True, effort=5_000)
    assert answer.status in ("fits", "minimal")
    assert faults(problem, answer.addresses.tolist()) == []
    assert answer.peak <= 1.1 * answer.live_peak


def test_answers_do_not_depend_on_the_run() -> None:
    problem = guillotine(5, 60, 1 << 16, 90)
    one, two = (place(problem, minimise=True, effort=3000) for _ in range(2))
    assert one.addresses.tolist() == two.addresses.tolist()
    assert (one.status, one.effort, one.reason) == (two.status, two.effort, two.reason)


# Name, bytes, first step, end step, whether it must lie in interleaved memory: two
# matmuls, each with its partial results, the stack that they are summed from, the sum.
TWO_MATMULS = (
    ("x", 1144, 0, 1, False),
    ("left", 52704, 0, 2, False),
    ("w1", 27648, 0, 12, True),
    ("partial", 35136, 1, 4, True),
    ("stack", 26496, 2, 4, False),
    ("sum", 8832, 3, 5, False),
    ("gelu", 4416, 4, 7, False),
    ("left2", 77760, 5, 8, False),
    ("w2", 30720, 0, 12, True),
    ("partial2", 20736, 7, 10, True),
    ("stack2", 18432, 8, 10, False),
    ("sum2", 2304, 9, 12, False),
    ("y", 2288, 10, 12, False),
)


def two_matmuls() -> Problem:
    """Two split matmuls on a tile of the C600: elements of 16 KiB below 212,992 bytes
    and of 32 KiB above, where the matrix unit's second operand and result lie."""
    count = len(TWO_MATMULS)
    interleaved = np.array([row[4] for row in TWO_MATMULS])
    problem = plain_problem(
        tuple(row[0] for row in TWO_MATMULS),
        np.array([row[1] for row in TWO_MATMULS], np.int64),
        tuple(((row[2], row[3]),) for row in TWO_MATMULS),
        637_872,
        objective="footprint",
    )
    pairs = [(0, 1), (1, 3), (3, 4), (5, 6), (6, 7), (7, 9), (9, 10), (11, 12)]
    edges = [*range(0, 212_992, 16_384), *range(212_992, 638_977, 32_768)]
    return replace(
        problem,
        align=np.where(interleaved, 16, 8),
        low=np.where(interleaved, 212_992, 85_724),
        classes=np.ones((count, 1), np.bool_),
        apart=np.array(pairs),
        element_edges=np.array(edges),
    )


@pytest.mark.parametrize("minimise", [True, False])
def test_two_matmuls_lie_in_as_many_bytes_as_are_alive(minimise: bool) -> None:
    """Element pairs push buffers apart, and holes cost nothing."""
    problem = two_matmuls()
    answer = place(problem, minimise=minimise)
    assert faults(problem, answer.addresses.tolist()) == []
    assert answer.live_peak == 156_864
    assert answer.footprint <= 1.01 * answer.live_peak


NARROW = (
    *(576, 31104, 30720, 12960, 8640, 4320, 2160),
    *(38880, 30720, 10368, 9216, 1152, 1144),
)
"""Bytes of the same on another grid: the first result is larger than the second, and
neither operand may share an element with the result beside it."""


def test_a_footprint_limit_that_only_elements_forbid_is_proven_impossible() -> None:
    """The second operand leaves too little beside its result for the first result, and
    pairs of elements leave nothing to overlap otherwise."""
    problem = replace(two_matmuls(), bytes=np.array(NARROW, np.int64))
    least = place(problem, minimise=True)
    assert faults(problem, least.addresses.tolist()) == []
    assert (least.status, least.footprint) == ("minimal", 113_280)
    assert (least.bound, least.live_peak) == (113_280, 110_688)
    free = replace(problem, apart=np.zeros((0, 2), np.int64))
    assert place(free, minimise=True).footprint == 110_688
    answer = place(replace(problem, footprint_limit=113_279), minimise=False)
    assert answer.status == "infeasible"
    assert "fragmentation: the least footprint is 113280, 1 over" in answer.reason


def test_a_goal_is_reached_where_a_limit_asks_for_less() -> None:
    """What was found first would do for the limit, but not for the goal."""
    problem = replace(two_matmuls(), footprint_limit=500_000)
    goal = 156_864
    answer = place(replace(problem, footprint_goal=goal), minimise=False)
    assert faults(problem, answer.addresses.tolist()) == []
    assert answer.footprint == goal
    beyond = place(replace(problem, footprint_goal=goal - 8), minimise=False)
    assert beyond.footprint == goal
