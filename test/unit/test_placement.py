"""Placement: answers keep every rule, and proven words are true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from placement_oracle import (
    brute_force,
    faults,
    footprint,
    highest_end,
    live_peak,
    peak,
    random_problem,
)

from tiledialect.placement.problem import (
    PlacementError,
    Problem,
    plain_problem,
    within,
)
from tiledialect.placement.solve import place

Spans = tuple[tuple[int, int], ...]


def make(*buffers: tuple[int, int, int], capacity: int = 1000) -> Problem:
    """One class, one region; buffers as (first step, end step, bytes)."""
    return plain_problem(
        tuple(f"b{i}" for i in range(len(buffers))),
        np.array([size for _, _, size in buffers], np.int64),
        tuple(((first, end),) if first < end else () for first, end, _ in buffers),
        capacity,
    )


def two_classes(problem: Problem, *rows: tuple[bool, bool]) -> Problem:
    return replace(problem, classes=np.array(rows, np.bool_))


@pytest.mark.parametrize("objective", ["peak", "footprint"])
@pytest.mark.parametrize("minimise", [True, False])
def test_answers_keep_every_rule(objective: str, minimise: bool) -> None:
    """450 random problems, others in each case and every third of up to 10 buffers:
    whatever is placed is valid, its figures exact."""
    placed = 0
    first = 1000 * (2 * minimise + (objective == "peak"))
    for seed in range(first, first + 450):
        buffers, capacity = (4, 8) if seed % 3 else (10, 20)
        problem = random_problem(seed, buffers=buffers, capacity=capacity)
        problem = replace(problem, objective=objective)
        try:
            answer = place(problem, minimise=minimise)
        except PlacementError:
            pinned_twice = (problem.pinned >= 0).sum() > 1
            if pinned_twice:
                continue
            raise
        assert answer.live_peak == live_peak(problem), seed
        if answer.status in ("minimal", "fits"):
            placed += 1
            addresses = answer.addresses.tolist()
            assert faults(problem, addresses) == [], seed
            assert answer.footprint == footprint(problem, addresses), seed
            assert answer.peak == peak(problem, addresses), seed
    assert placed > 300


def test_proven_words_hold_against_brute_force() -> None:
    """Every one of 300 small problems is settled twice, and settled rightly."""
    words = {"minimal": 0, "infeasible": 0}
    for seed in range(300):
        problem = random_problem(seed)
        truth = brute_force(problem)
        for objective, least in (
            ("peak", truth.highest_end),
            ("footprint", truth.footprint),
        ):
            try:
                answer = place(replace(problem, objective=objective), minimise=True)
            except PlacementError:
                assert not truth.feasible, seed
                continue
            words[answer.status] += 1
            assert (answer.status == "minimal") == truth.feasible, seed
            if truth.feasible:
                addresses = answer.addresses.tolist()
                end = highest_end(problem, addresses)
                assert (end if objective == "peak" else answer.footprint) == least
    assert min(words.values()) > 10


def test_buffers_that_touch_in_time_share_an_address() -> None:
    answer = place(make((0, 3, 100), (3, 6, 100), (6, 9, 100)), minimise=True)
    assert (answer.status, answer.peak) == ("minimal", 100)
    assert answer.addresses.tolist() == [0, 0, 0]


def test_no_space_for_nothing() -> None:
    """A size of zero and an empty lifetime take no byte."""
    answer = place(make((0, 5, 0), (3, 3, 64), (0, 5, 16)), minimise=True)
    assert (answer.status, answer.peak, answer.footprint) == ("minimal", 16, 16)


def test_no_buffers_at_all() -> None:
    answer = place(make(), minimise=True)
    assert (answer.status, answer.peak, answer.live_peak) == ("minimal", 0, 0)


def test_odd_sizes_under_alignment_are_proven_minimal() -> None:
    problem = make((0, 2, 33), (0, 2, 31), (0, 2, 1))
    problem = replace(problem, align=np.full(3, 32))
    answer = place(problem, minimise=True)
    assert (answer.status, answer.peak, answer.footprint) == ("minimal", 97, 128)


def test_overlapping_pins_are_named() -> None:
    problem = make((0, 4, 800), (0, 4, 400), (0, 4, 4096), capacity=1 << 20)
    problem = replace(problem, pinned=np.array([0, -1, 512]))
    message = r"b0 \[0, 800\) and b2 \[512, 4608\) overlap at steps \[0, 4\)"
    with pytest.raises(PlacementError, match=message) as caught:
        place(problem, minimise=False)
    assert caught.value.buffers == (0, 2)


def test_sizes_near_two_to_the_63() -> None:
    """The first buffer that exceeds its region is named; no sum wraps."""
    sizes = (1 << 32, (1 << 63) - 1)
    answer = place(make((0, 2, sizes[0]), (0, 2, sizes[1])), minimise=False)
    assert answer.status == "infeasible"
    assert "b0 needs 4294967296 bytes" in answer.reason
    assert answer.live_peak == sum(sizes)


def test_sizes_whose_sum_leaves_64_bits() -> None:
    problem = make(*[(0, 2, 1 << 61)] * 4, capacity=1 << 63)
    with pytest.raises(PlacementError, match=str(1 << 63)):
        place(problem, minimise=False)


def test_exhaustion_names_step_bytes_and_buffers() -> None:
    problem = make((0, 9, 200_000), (0, 9, 40_000), (3, 5, 24_000), capacity=262_144)
    answer = place(problem, minimise=False)
    assert answer.status == "infeasible"
    assert "264000 are alive in step 3" in answer.reason
    assert "1856 too few" in answer.reason
    assert answer.buffers == (0, 1, 2)


def test_footprint_limit_below_the_live_peak() -> None:
    problem = make((0, 2, 60), (0, 2, 50))
    problem = replace(problem, objective="footprint", footprint_limit=109)
    answer = place(problem, minimise=False)
    assert answer.status == "infeasible"
    assert "the footprint has 109 (1 too few)" in answer.reason
    at_limit = place(replace(problem, footprint_limit=110), minimise=False)
    assert (at_limit.status, at_limit.footprint) == ("minimal", 110)


def test_classes_share_addresses_without_meeting() -> None:
    problem = make((0, 4, 100), (0, 4, 100), capacity=100)
    assert place(problem, minimise=False).status == "infeasible"
    problem = two_classes(problem, (True, False), (False, True))
    assert place(problem, minimise=False).addresses.tolist() == [0, 0]


def test_element_pairs_leave_holes_that_cost_nothing() -> None:
    """Two buffers of one element each, 10 bytes, with 90 free between them."""
    problem = make((0, 1, 10), (5, 6, 10), capacity=200)
    problem = replace(
        problem,
        apart=np.array([[0, 1]]),
        element_edges=np.array([0, 100, 200]),
        objective="footprint",
    )
    answer = place(problem, minimise=True)
    one, two = sorted(answer.addresses.tolist())
    assert one + 10 <= 100 <= two
    assert answer.footprint == 20
    squeezed = place(within(problem, 100), minimise=True)
    assert squeezed.status != "minimal"


def test_aliases_are_one_buffer() -> None:
    """A view inside its parent costs nothing and keeps its own alignment."""
    problem = make((0, 3, 64), (3, 9, 16), (3, 9, 64), capacity=136)
    problem = replace(problem, align=np.array([1, 16, 1]), aliases=((1, 0, 24),))
    answer = place(problem, minimise=True)
    assert faults(problem, answer.addresses.tolist()) == []
    assert answer.addresses[1] == answer.addresses[0] + 24
    assert answer.live_peak == 128


def test_contradicting_aliases_are_refused() -> None:
    problem = make((0, 3, 64), (3, 9, 16))
    twice = replace(problem, aliases=((1, 0, 24), (1, 0, 32)))
    with pytest.raises(PlacementError, match="b1 of b0 at byte 32 contradicts"):
        place(twice, minimise=True)
    crooked = replace(problem, aliases=((1, 0, 1),), align=np.array([2, 2]))
    with pytest.raises(PlacementError, match="its alignment 2 contradicts"):
        place(crooked, minimise=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bytes": np.array([-1, 1])}, "b0: size -1 is negative"),
        ({"align": np.array([1, 0])}, "b1: alignment 0 is not positive"),
        ({"low": np.zeros(3, np.int64)}, "low has 3 rows for 2 buffers"),
        ({"lifetimes": (((3, 2),), ())}, "b0: lifetime"),
        ({"apart": np.array([[0, 2]])}, "an element pair names no buffer"),
        ({"element_edges": np.array([3, 3])}, "element edges must grow"),
        (
            {"pinned": np.array([6, -1]), "align": np.array([4, 1])},
            "b0: pinned at 6, which is no multiple of its alignment 4",
        ),
    ],
)
def test_crooked_problems_are_refused(
    change: dict[str, np.ndarray], message: str
) -> None:
    problem = replace(make((0, 2, 8), (0, 2, 8)), **change)
    with pytest.raises(PlacementError, match=message):
        place(problem, minimise=False)
