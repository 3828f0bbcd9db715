"""Bytes of pairs that share no memory element: what placement may take for them."""

from __future__ import annotations

import random
from itertools import product

import pytest

from bench.placement import foretold_bytes
from tiledialect.search.apart import live_apart, two_sides
from tiledialect.search.solve import Plan, kept_plans


@pytest.mark.parametrize("seed", range(60))
def test_the_two_sides_are_the_least_of_all_ways_to_turn_pairs(seed: int) -> None:
    rng = random.Random(seed)
    pairs = [(rng.randrange(9), rng.randrange(9)) for _ in range(rng.randrange(1, 7))]
    least = min(
        sum(max(side) for side in zip(*turned, strict=True))
        for turned in product(*(((a, b), (b, a)) for a, b in pairs))
    )
    assert two_sides(pairs) == least


def test_no_side_is_longer_than_its_longest_buffer() -> None:
    """The MLP with b = 1: 2,592 bytes more than the 49,248 of its second product."""
    assert two_sides([(31104, 12960), (38880, 10368)]) == 38880 + 12960
    assert two_sides([(10, 80), (40, 10)]) == 90
    assert two_sides([]) == 0


def test_other_values_count_where_the_longest_pair_lies() -> None:
    assert live_apart([([(10, 80)], 5), ([(40, 10), (1, 2)], 300)]) == 90 + 5
    assert live_apart([([], 7)]) == 0


def plan(tensor_bytes: int, apart_bytes: int) -> Plan:
    return Plan((), 1, tensor_bytes, 100, 0, 1, apart_bytes)


def test_one_of_the_plans_kept_has_room_for_all_pairs() -> None:
    tight, roomy = [plan(90 - i, 101) for i in range(5)], plan(80, 100)
    assert kept_plans([*tight, roomy], 3, 200) == (tight[0], tight[1], roomy)
    assert kept_plans(tight, 3, 200) == tuple(tight[:3])
    assert kept_plans([roomy, *tight], 3, 200) == (roomy, tight[0], tight[1])


def test_the_bench_reads_what_was_foretold_and_not_what_that_became() -> None:
    bound = "bound = {cycles = 4 : i64, cases = [{chunks = array<i64: 1, 1>}]}"
    said = f"tile.certificate = {{cycles = 5 : i64, bytes = 70 : i64, {bound}"
    assert foretold_bytes(said + "}} {") == 70
    assert foretold_bytes(said + ", foretold = 68 : i64}} {") == 68
    assert foretold_bytes("module {}") == 0
