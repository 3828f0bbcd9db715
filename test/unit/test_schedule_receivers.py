"""Receivers that hear the same, and the order in which each hears what it hears."""

from __future__ import annotations

import numpy as np
import pytest

from tiledialect.schedule.receivers import heard_in_order, leaders
from tiledialect.schedule.table import Messages, multicasts
from tiledialect.sorting import order_of

SEEDS = range(300)


def random_phase(seed: int) -> tuple[Messages, list[tuple[int, ...]]]:
    """Messages to random sets of tiles, some sets often, and the sets in plain."""
    random = np.random.default_rng(seed)
    tiles = int(random.integers(2, 12))
    known: list[tuple[int, ...]] = []
    for _ in range(int(random.integers(1, 5))):
        chosen: list[int] = np.flatnonzero(random.random(tiles) < 0.4).tolist()
        known.append(tuple(chosen) or (0,))
    count = int(random.integers(1, 20))
    sets = [known[int(random.integers(len(known)))] for _ in range(count)]
    source = random.integers(0, tiles, count)
    words = random.integers(1, 5, count)
    start = np.cumsum([0, *map(len, sets)])
    members = np.array([tile for one in sets for tile in one], np.int64)
    return multicasts(tiles, source, words, start, members), sets


@pytest.mark.parametrize("seed", SEEDS)
def test_a_leader_is_the_first_tile_that_hears_the_same(seed: int) -> None:
    messages, sets = random_phase(seed)
    heard = [
        [i for i, one in enumerate(sets) if tile in one]
        for tile in range(messages.tiles)
    ]
    assert leaders(messages).tolist() == [
        heard.index(mine) if mine else -1 for mine in heard
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_messages_are_heard_tile_after_tile_as_they_start(seed: int) -> None:
    messages, sets = random_phase(seed)
    random = np.random.default_rng(seed)
    start = random.permutation(messages.count) * int(random.integers(1, 1 << 14))
    by = random.random(messages.tiles) < 0.7
    message, tile = heard_in_order(messages, start, by)
    assert list(zip(message.tolist(), tile.tolist(), strict=True)) == [
        (i, one)
        for one in range(messages.tiles)
        if by[one]
        for i in np.argsort(start).tolist()
        if one in sets[i]
    ]


@pytest.mark.parametrize("most", [1, 3, 0xFFFF, 0x10000, (1 << 32) - 1])
def test_orders_are_those_of_a_stable_sort(most: int) -> None:
    random = np.random.default_rng(most)
    for count in (0, 1, 2, 500):
        keys = random.integers(0, most + 1, (2, count))
        assert order_of(*keys).tolist() == np.lexsort(keys[::-1]).tolist()
