"""What each method of the scheduler promises alone, and phases of full size."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tiledialect.schedule.bounds import control_words
from tiledialect.schedule.coloring import recolor
from tiledialect.schedule.ejection import repair
from tiledialect.schedule.first_fit import LONGEST_BITMAP_SLOTS, FirstFit, first_fit
from tiledialect.schedule.levels import Sends, bundled, cut, expand, single
from tiledialect.schedule.multicast import send_in_turns
from tiledialect.schedule.open_shop import open_shop
from tiledialect.schedule.solve import Schedule, schedule
from tiledialect.schedule.table import Messages, multicasts, unicasts

Index = NDArray[np.int64]


def receptions(messages: Messages) -> tuple[Index, Index]:
    """Each (message, receiver), by a loop over sets."""
    begin, end = messages.set_start[:-1].tolist(), messages.set_start[1:].tolist()
    of_set = [messages.set_tiles[a:b].tolist() for a, b in zip(begin, end, strict=True)]
    pairs: list[tuple[int, int]] = [
        (message, tile)
        for message, index in enumerate(messages.destinations.tolist())
        for tile in of_set[index]
    ]
    message, tile = np.array(pairs, np.int64).reshape(-1, 2).T
    return message, tile


def assert_apart(port: Index, start: Index, words: Index) -> None:
    """No two intervals of a port overlap."""
    order = np.lexsort((start, port))
    port, start, end = port[order], start[order], (start + words)[order]
    assert start.min(initial=0) >= 0
    assert ((port[1:] != port[:-1]) | (start[1:] >= end[:-1])).all()


def assert_valid(messages: Messages, start: Index) -> None:
    message, tile = receptions(messages)
    assert_apart(messages.source, start, messages.words)
    assert_apart(tile, start[message], messages.words[message])


def assert_complete(asked: Messages, found: Schedule) -> None:
    """Every (message, word, receiver) comes once, counted by runs of words."""
    message, tile = receptions(found.messages)
    key = found.origin[message] * asked.tiles + tile
    order = np.lexsort((found.offset[message], key))
    key, begin = key[order], found.offset[message][order]
    end = begin + found.messages.words[message][order]
    same = key[1:] == key[:-1]
    assert (begin[1:][same] == end[:-1][same]).all()
    assert (begin[1:][~same] == 0).all()
    assert begin[:1].sum() == 0
    last = np.append(~same, [True] * min(key.size, 1)).astype(np.bool_)
    asked_message, asked_tile = receptions(asked)
    asked_key = asked_message * asked.tiles + asked_tile
    by_key = np.argsort(asked_key)
    assert np.array_equal(key[last], asked_key[by_key])
    assert np.array_equal(end[last], asked.words[asked_message][by_key])


def random_phase(
    seed: int, tiles: int, count: int, longest: int, widest: int = 1
) -> Messages:
    rng = np.random.default_rng(seed)
    source, words = rng.integers(tiles, size=count), rng.integers(1, longest + 1, count)
    if widest == 1:
        return unicasts(tiles, source, rng.integers(tiles, size=count), words)
    size = rng.integers(1, widest + 1, count)
    rank = np.argsort(rng.random((count, tiles)), axis=1)
    members = np.nonzero(rank < size[:, None])[1]
    return multicasts(tiles, source, words, np.append(0, np.cumsum(size)), members)


def regular(seed: int, tiles: int, degree: int, words: int) -> Messages:
    """Each tile sends and receives `degree` messages of equal length."""
    rng = np.random.default_rng(seed)
    target = np.concatenate([rng.permutation(tiles) for _ in range(degree)])
    source = np.tile(rng.permutation(tiles), degree)
    return unicasts(tiles, source, target, np.full(tiles * degree, words))


@pytest.mark.parametrize(
    "shape",
    [(1472, 20_000, 64, 1), (1472, 4000, 40, 12), (300, 5000, 3, 1), (64, 900, 200, 9)],
)
@pytest.mark.parametrize("split", [False, True])
def test_full_size_phases(shape: tuple[int, int, int, int], split: bool) -> None:
    messages = random_phase(7, *shape)
    latency = 52 + 2 * (np.arange(messages.tiles) // 64)
    found = schedule(messages, latency, split=split)
    assert_valid(found.messages, found.start)
    assert_complete(messages, found)
    sent, tile = receptions(found.messages)
    end = (found.start + found.messages.words)[sent] + latency[tile]
    assert found.length == end.max()
    assert (np.diff(found.origin) >= 0).all()
    assert found.ratio <= (1.01 if shape[3] == 1 else 1.06 if split else 1.6)


@pytest.mark.parametrize(("tiles", "degree"), [(2, 9), (9, 9), (40, 31), (300, 20)])
def test_edge_colouring_needs_the_greatest_degree(tiles: int, degree: int) -> None:
    messages = regular(degree, tiles, degree, 5)
    start = first_fit(messages, np.arange(messages.count), 5 * degree)
    better = recolor(messages, start)
    assert_valid(messages, better)
    assert (better + 5).max() == 5 * degree


def test_a_regular_phase_meets_the_bound() -> None:
    for tiles, degree in ((30, 30), (100, 50), (400, 40)):
        found = schedule(regular(3, tiles, degree, 7), np.zeros(tiles, np.int64))
        assert found.length == found.bound.cycles == 7 * degree


@pytest.mark.parametrize("seed", range(10))
def test_repair_shortens_and_keeps_the_rules(seed: int) -> None:
    messages = random_phase(seed, 50, 1500, 9, 1 + seed % 3)
    longest = int(np.bincount(messages.source, weights=messages.words).max())
    start = first_fit(messages, np.arange(messages.count), longest)
    assert_valid(messages, start)
    late = np.zeros(messages.count, np.int64)
    better, left = repair(messages, start, late, longest, longest, 20_000)
    assert_valid(messages, better)
    before, after = (start + messages.words).max(), (better + messages.words).max()
    assert after < before or seed % 3
    assert after <= before
    assert left < 20_000
    same, left = repair(messages, start, late, longest, longest, 0)
    assert np.array_equal(same, start)
    assert left == 0


@pytest.mark.parametrize("seed", range(20))
def test_in_an_open_shop_nobody_waits_who_could_send(seed: int) -> None:
    messages = random_phase(seed, 6, 40, 9)
    latency = np.random.default_rng(seed).integers(0, 30, 6)
    start = open_shop(messages, latency)
    assert start is not None
    assert_valid(messages, start)
    busy = np.zeros((2, 6, int((start + messages.words).max())), np.bool_)
    target = messages.targets()
    for i, (begin, words) in enumerate(zip(start, messages.words, strict=True)):
        for side, tile in enumerate((messages.source[i], target[i])):
            busy[side, tile, begin : begin + words] = True
    for source, to, begin in zip(messages.source, target, start, strict=True):
        assert (busy[0, source, :begin] | busy[1, to, :begin]).all()


def test_an_open_shop_leaves_fewer_gaps_than_first_fit() -> None:
    """Many lengths, all tiles as busy as each other: a fixed order leaves gaps."""
    messages = regular(1, 60, 20, 1)
    words = np.random.default_rng(1).integers(1, 33, messages.count) * 2
    messages = replace(messages, words=words)
    zero = np.zeros(60, np.int64)
    start = open_shop(messages, zero)
    assert start is not None
    assert_valid(messages, start)
    bound = schedule(messages, zero, effort=0).bound.cycles
    fitted = first_fit(messages, np.arange(messages.count), bound)
    assert (start + messages.words).max() <= 1.05 * bound
    assert (fitted + messages.words).max() > (start + messages.words).max()


def test_an_open_shop_of_very_many_messages_is_not_tried() -> None:
    target = np.arange(1, 40_000)
    messages = unicasts(40_000, 0 * target, target, target)
    assert open_shop(messages, np.zeros(40_000, np.int64)) is None


@pytest.mark.parametrize(("even", "tight"), [(False, 1460), (True, 1260)])
@pytest.mark.parametrize("target", [150, 0, 3000])
def test_turns_to_subsets_reach_everyone_once(
    target: int, even: bool, tight: int
) -> None:
    """At 150 hopeless, at the tight target some are late, at 3000 none is."""
    messages = random_phase(2, 40, 200, 1 if even else 70, 10)
    if even:
        messages = replace(messages, words=np.full(200, 36))
    target = target or tight
    latency = np.arange(40)
    sends = send_in_turns(messages, np.arange(200), latency, target)
    if target == 150:
        assert sends is None
        return
    assert sends is not None
    end = (sends.start + sends.messages.words).max()
    assert (end > target) == (target == tight)
    assert_valid(sends.messages, sends.start)
    asked, got = receptions(messages), receptions(sends.messages)
    assert sorted(zip(*asked, strict=True)) == sorted(
        zip(sends.item[got[0]], got[1], strict=True)
    )


def test_fixed_messages_stay_where_they_are() -> None:
    messages = random_phase(4, 10, 60, 20)
    start = first_fit(messages, np.arange(60), 200)
    fixed = np.where(np.arange(60) < 30, start + 1000, -1)
    again = FirstFit(messages, 200, 1).starts(np.arange(60), fixed)
    assert np.array_equal(again[:30], start[:30] + 1000)
    assert_valid(messages, again)


def test_very_long_phases_use_longer_slots() -> None:
    words = np.full(40, LONGEST_BITMAP_SLOTS) + np.arange(40)
    source, target = np.divmod(np.arange(40) * 7 % 16, 4)
    messages = unicasts(4, source, target, words)
    found = schedule(messages, np.zeros(4, np.int64))
    assert_valid(found.messages, found.start)
    assert found.ratio <= 1.001


def test_bundles_expand_to_their_messages_in_order() -> None:
    messages = random_phase(9, 4, 50, 9, 2)
    level = bundled(messages)
    assert level.items.count < 50
    begin = np.cumsum(level.items.words) - level.items.words
    sends = Sends(level.items, np.arange(level.items.count), begin)
    sent, origin, offset, start = expand(level, sends)
    assert np.array_equal(np.sort(origin), np.arange(50))
    assert not offset.any()
    assert np.array_equal(sent.words, messages.words[origin])
    assert np.array_equal(sent.source, messages.source[origin])
    assert np.array_equal(sent.destinations, messages.destinations[origin])
    key = sent.source * 1000 + sent.destinations
    for each in np.unique(key):
        mine = np.flatnonzero(key == each)
        assert (np.diff(origin[mine]) > 0).all()
        assert (start[mine][1:] == (start + sent.words)[mine][:-1]).all()


def test_pieces_cover_their_message() -> None:
    messages = unicasts(3, np.array([0, 1]), np.array([2, 2]), np.array([100, 7]))
    level = cut(messages, 30)
    assert level.origin.tolist() == [0, 0, 0, 0, 1]
    assert level.offset.tolist() == [0, 25, 50, 75, 0]
    assert level.items.words.tolist() == [25, 25, 25, 25, 7]
    assert single(messages).items is messages


def test_control_words_are_counted_by_hand() -> None:
    """Tile 0 sends 100 words (2), waits, sends 64 (1 + 1); tile 1 sends 3 at once."""
    messages = unicasts(
        3, np.array([0, 0, 1, 1]), np.array([2, 1, 2, 2]), np.array([100, 64, 3, 4])
    )
    start = np.array([0, 110, 100, 103])
    words = control_words(messages, start)
    assert words.tolist() == [4, 1 + 1 + 1 + 1, 2]


def test_like_messages_start_in_the_order_given() -> None:
    messages = random_phase(12, 6, 400, 3)
    found = schedule(messages, np.zeros(6, np.int64))
    key = (messages.source * 6 + messages.targets()) * 4 + messages.words
    for each in np.unique(key):
        assert (np.diff(found.start[key == each]) > 0).all()
