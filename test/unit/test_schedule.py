"""Every schedule is verified here by a slow reading of the rules, word by word."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from tiledialect.schedule.solve import Schedule, schedule
from tiledialect.schedule.table import Messages, multicasts, unicasts

Index = NDArray[np.int64]
Sends = list[tuple[int, int, set[int]]]
"""(source, words, receivers) of each message."""


def table(tiles: int, sends: Sends) -> Messages:
    members = [sorted(receivers) for _, _, receivers in sends]
    return multicasts(
        tiles,
        np.array([source for source, _, _ in sends], np.int64),
        np.array([words for _, words, _ in sends], np.int64),
        np.cumsum([0, *map(len, members)]),
        np.array([tile for receivers in members for tile in receivers], np.int64),
    )


def random_sends(
    rng: np.random.Generator, tiles: int, count: int, longest: int, widest: int
) -> Sends:
    sends: Sends = []
    for _ in range(count):
        fan_out = int(rng.integers(1, min(widest, tiles) + 1))
        receivers = {int(t) for t in rng.choice(tiles, fan_out, replace=False)}
        words = int(rng.integers(1, longest + 1))
        sends.append((int(rng.integers(tiles)), words, receivers))
    return sends


def receivers_of(messages: Messages, message: int) -> list[int]:
    index = messages.destinations[message]
    begin, end = messages.set_start[index : index + 2]
    return [int(tile) for tile in messages.set_tiles[begin:end]]


def verify(sends: Sends, latency: Index, found: Schedule) -> None:
    """Ports, completeness and length."""
    sending: set[tuple[int, int]] = set()
    receiving: set[tuple[int, int]] = set()
    delivered: set[tuple[int, int, int]] = set()
    last = 0
    for i in range(found.messages.count):
        source = int(found.messages.source[i])
        origin, offset = int(found.origin[i]), int(found.offset[i])
        assert source == sends[origin][0]
        for word in range(int(found.messages.words[i])):
            cycle = int(found.start[i]) + word
            assert cycle >= 0
            assert (source, cycle) not in sending
            sending.add((source, cycle))
            for tile in receivers_of(found.messages, i):
                assert (tile, cycle) not in receiving
                receiving.add((tile, cycle))
                assert (origin, offset + word, tile) not in delivered
                delivered.add((origin, offset + word, tile))
                last = max(last, cycle + 1 + int(latency[tile]))
    assert delivered == {
        (i, word, tile)
        for i, (_, words, receivers) in enumerate(sends)
        for word in range(words)
        for tile in receivers
    }
    assert found.length == max(last, found.bound.control)


def slow_bound(tiles: int, sends: Sends, latency: Index) -> tuple[int, int]:
    """The receive and the send bound, from their definitions."""
    receive = send = 0
    for tile in range(tiles):
        words = sum(words for _, words, receivers in sends if tile in receivers)
        receive = max(receive, words + int(latency[tile]) if words else 0)
        mine = [
            (words, receivers) for source, words, receivers in sends if source == tile
        ]
        if mine:
            nearest = min(int(latency[tile]) for _, far in mine for tile in far)
            send = max(send, sum(words for words, _ in mine) + nearest)
    return receive, send


def shortest(sends: Sends, latency: Index) -> int:
    """The least length of any schedule that sends each message whole, once."""
    best = 1 << 30
    horizon = sum(words for _, words, _ in sends)
    ranges = [range(horizon - words + 1) for _, words, _ in sends]
    for starts in product(*ranges):
        used: set[tuple[str, int, int]] = set()
        size = last = 0
        for start, (source, words, receivers) in zip(starts, sends, strict=True):
            for cycle in range(start, start + words):
                used.add(("out", source, cycle))
                used |= {("in", tile, cycle) for tile in receivers}
            size += words * (1 + len(receivers))
            last = max(last, *(start + words + int(latency[t]) for t in receivers))
        if len(used) == size:
            best = min(best, last)
    return best


@pytest.mark.parametrize("seed", range(20))
def test_random_phases_hold_the_rules(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(100):
        tiles = int(rng.integers(1, 12))
        count, longest, widest = (int(rng.integers(1, most)) for most in (25, 30, 6))
        sends = random_sends(rng, tiles, count, longest, widest if seed % 2 else 1)
        latency = rng.integers(0, 9, tiles)
        found = schedule(table(tiles, sends), latency, split=seed % 4 > 1)
        verify(sends, latency, found)
        assert (found.bound.receive, found.bound.send) == slow_bound(
            tiles, sends, latency
        )
        assert found.length >= found.bound.cycles


def test_tiny_phases_reach_the_optimum_or_come_close() -> None:
    """Near-optimal on average, and never below what brute force proves."""
    total = least = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        tiles = int(rng.integers(2, 5))
        sends = random_sends(rng, tiles, int(rng.integers(2, 5)), 3, 1 + seed % 2)
        latency = rng.integers(0, 4, tiles)
        found = schedule(table(tiles, sends), latency, split=False)
        optimum = shortest(sends, latency)
        assert found.length >= optimum
        total, least = total + found.length, least + optimum
    assert total <= 1.03 * least


def test_rotation_meets_the_bound() -> None:
    tiles = 24
    source, target = np.divmod(np.arange(tiles * tiles), tiles)
    for same in (source != target, (source // 6 == target // 6) & (source != target)):
        messages = unicasts(
            tiles, source[same], target[same], np.full(int(same.sum()), 7)
        )
        found = schedule(messages, np.zeros(tiles, np.int64))
        assert found.method == "rotation"
        assert found.length == found.bound.cycles == 7 * (23 if same.sum() > 200 else 5)


def test_all_gather_meets_the_bound() -> None:
    sends: Sends = [
        (t, 5 + t % 3, set(range(t // 4 * 4, t // 4 * 4 + 4))) for t in range(16)
    ]
    latency = np.arange(16) // 4
    found = schedule(table(16, sends), latency)
    verify(sends, latency, found)
    assert found.method == "turns"
    assert found.length == found.bound.cycles


def test_no_messages() -> None:
    found = schedule(table(4, []), np.arange(4))
    assert (found.length, found.bound.cycles, found.ratio) == (0, 0, 1.0)
    control = np.array([0, 9, 0, 0])
    assert schedule(table(4, []), np.arange(4), control=control).length == 9


def test_one_long_message_to_the_sender_itself_and_others() -> None:
    latency = np.array([3, 5, 2])
    sends: Sends = [(0, 1000, {0, 1})]
    found = schedule(table(3, sends), latency)
    verify(sends, latency, found)
    assert found.length == found.bound.cycles == 1005
    assert found.bound.send == 1003


def test_control_words_raise_the_length() -> None:
    messages = table(3, [(0, 4, {1})])
    found = schedule(messages, np.zeros(3, np.int64), control=np.array([2, 11, 0]))
    assert (found.length, found.bound.control, found.ratio) == (11, 11, 1.0)


def test_equal_input_gives_equal_schedules() -> None:
    rng = np.random.default_rng(5)
    messages = table(20, random_sends(rng, 20, 200, 40, 5))
    one, two = (schedule(messages, np.arange(20)) for _ in range(2))
    assert np.array_equal(one.start, two.start)
    assert np.array_equal(one.messages.destinations, two.messages.destinations)


def test_narrow_tables_give_the_same_schedule() -> None:
    rng = np.random.default_rng(6)
    wide = table(20, random_sends(rng, 20, 100, 40, 5))
    columns = (
        wide.source,
        wide.words,
        wide.destinations,
        wide.set_start,
        wide.set_tiles,
    )
    narrow = Messages(20, *(column.astype(np.int32) for column in columns))  # pyright: ignore[reportArgumentType]
    one, two = (schedule(each, np.arange(20)) for each in (wide, narrow))
    assert np.array_equal(one.start, two.start)
    assert two.start.dtype == np.int64


def test_no_effort_still_gives_a_schedule() -> None:
    sends = random_sends(np.random.default_rng(8), 9, 60, 20, 4)
    found = schedule(table(9, sends), np.arange(9), effort=0)
    verify(sends, np.arange(9), found)
    assert found.method.startswith("first fit")
    assert found.length > schedule(table(9, sends), np.arange(9)).length


def test_equal_sets_share_an_index() -> None:
    messages = table(9, [(0, 1, {1, 2}), (3, 1, {4}), (5, 1, {1, 2}), (6, 1, {1})])
    assert messages.destinations.tolist() == [0, 1, 0, 2]
    assert messages.set_start.tolist() == [0, 2, 3, 4]
    assert messages.set_tiles.tolist() == [1, 2, 4, 1]
