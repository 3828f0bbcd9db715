"""Carousels: every word arrives in time; tiny phases against an exact search."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray
from test_schedule import Sends, random_sends, receivers_of, shortest, table, verify

from tiledialect.schedule.bounds import arrival, bound_of, loads
from tiledialect.schedule.carousel import Carousels
from tiledialect.schedule.levels import Sends as Sent
from tiledialect.schedule.levels import bundled, expand, pieces
from tiledialect.schedule.solve import Schedule, schedule

Index = NDArray[np.int64]
Wanted = frozenset[tuple[int, int, int]]
"""(message, word, receiver) of what has not arrived."""


def grid(rows: int, columns: int, row_words: int, run: int, parts: list[int]) -> Sends:
    """Windows gathered on a grid: the rows' words lie one after the other in runs of a
    tile each, so that a row hears parts of two or three runs; each column hears `parts`
    from a tile of its own each."""
    tiles = rows * columns
    sends: Sends = []
    for begin in sorted({*range(0, rows * row_words, row_words)}):
        cuts = [begin, *range(-(-begin // run) * run, begin + row_words, run)]
        for first, last in pairwise([*cuts, begin + row_words]):
            if first < last:
                row = set(range(columns * (begin // row_words), tiles)[:columns])
                sends.append((first // run * (columns + 3), last - first, row))
    for column, (part, words) in product(range(columns), enumerate(parts)):
        everywhere = set(range(column, tiles, columns))
        sends.append((part * columns + column, words, everywhere))
    return sends


def arrivals(items: Sends, found: list[tuple[int, int, int, int, list[int]]]) -> int:
    """How many words arrive, once it is clear that no port does two things at once and
    no word arrives twice. Of each send: item, offset, words, start, receivers."""
    used: set[tuple[str, int, int]] = set()
    heard: set[tuple[int, int, int]] = set()
    for item, offset, words, start, receivers in found:
        for word in range(words):
            ports = [("out", items[item][0], start + word)]
            ports += [("in", tile, start + word) for tile in receivers]
            assert not used.intersection(ports)
            used.update(ports)
            news = [(item, offset + word, tile) for tile in receivers]
            assert not heard.intersection(news)
            assert set(receivers) <= items[item][2]
            assert offset + words <= items[item][1]
            heard.update(news)
    return len(heard)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_on_the_air_arrives_by_the_target(seed: int) -> None:
    rng = np.random.default_rng(seed)
    aired = repeated = 0
    for _ in range(40):
        tiles = int(rng.integers(4, 12))
        sends = random_sends(rng, tiles, int(rng.integers(3, 12)), 9, 6)
        quantum = int(rng.integers(1, 4))
        sends = [(source, quantum * words, set_) for source, words, set_ in sends]
        latency = rng.integers(0, 5, tiles)
        items = table(tiles, sends)
        load = loads(items, latency)
        target = int(bound_of(load, None).cycles * rng.uniform(1.0, 1.6))
        airing = Carousels(items, latency, load).within(target)
        if airing is None:
            continue
        messages = airing.messages
        found = [
            (
                int(airing.item[i]),
                int(airing.offset[i]),
                int(messages.words[i]),
                int(airing.start[i]),
                receivers_of(messages, i),
            )
            for i in range(messages.count)
        ]
        assert arrivals(sends, found) == sum(w * len(s) for _, w, s in sends)
        for _, _, words, start, receivers in found:
            assert start >= 0
            assert all(start + words + latency[t] <= target for t in receivers)
        aired += 1
        repeated += sum(f[2] for f in found) > sum(words for _, words, _ in sends)
    assert aired >= 15
    assert repeated >= 3


@pytest.mark.parametrize(
    ("rows", "row_words", "run", "parts", "once", "length"),
    [
        (13, 57, 73, [15, 17], 121, 108),
        (13, 57, 73, [11, 21], 120, 115),
        (10, 57, 73, [15, 17], 119, 104),
        (8, 64, 80, [16, 16], 125, 109),
    ],
)
def test_windows_gathered_on_a_grid(
    rows: int, row_words: int, run: int, parts: list[int], once: int, length: int
) -> None:
    """Rows fill the time of their senders; columns go out again and again beside."""
    sends = grid(rows, 12, row_words, run, parts)
    latency = 10 + np.arange(rows * 12) // 24
    messages = table(rows * 12, sends)
    assert schedule(messages, latency, split=False).length == once
    found = schedule(messages, latency)
    verify(sends, latency, found)
    assert (found.length, found.method) == (length, "carousels")


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_bundles(seed: int) -> None:
    """Sends of items made of several messages carry the right words of each."""
    rng = np.random.default_rng(seed)
    sends: Sends = []
    for source, words, receivers in grid(8, 12, 64, 80, [16, 16]):
        cuts = {0, words, *rng.integers(0, words, 3).tolist()}
        for begin, end in pairwise(sorted(cuts)):
            sends.append((source, end - begin, receivers))
    sends = [sends[i] for i in rng.permutation(len(sends))]
    latency = 10 + np.arange(96) // 24
    messages = table(96, sends)
    level, load = bundled(messages), loads(messages, latency)
    assert level.items.count < messages.count
    bound = bound_of(load, None)
    carousels = Carousels(level.items, latency, load)
    targets = range(bound.cycles, 2 * bound.cycles)
    airing = next(a for t in targets if (a := carousels.within(t)) is not None)
    finer = pieces(level, airing.messages, airing.item, airing.offset)
    every = np.arange(airing.start.size)
    parts = expand(finer, Sent(airing.messages, every, airing.start))
    length = arrival(airing.messages, latency, airing.start)
    verify(sends, latency, Schedule(*parts, length, bound, "carousels"))


def test_pieces_of_bundles() -> None:
    level = bundled(table(4, [(0, 5, {1, 2}), (3, 4, {1}), (0, 7, {1, 2})]))
    assert level.items.words.tolist() == [12, 4]
    sent = table(4, [(0, 3, {1}), (0, 4, {1}), (0, 5, {1}), (3, 4, {1})])
    finer = pieces(level, sent, np.array([0, 0, 0, 1]), np.array([0, 3, 7, 0]))
    assert finer.first_part.tolist() == [0, 1, 3, 4, 5]
    assert finer.origin.tolist() == [0, 0, 2, 2, 1]
    assert finer.offset.tolist() == [0, 3, 0, 2, 0]
    assert finer.words.tolist() == [3, 2, 2, 5, 4]
    assert finer.shift.tolist() == [0, 0, 2, 0, 0]


def one_cycle_later(sends: Sends, wanted: Wanted, open_to: set[int]) -> set[Wanted]:
    """All that may still be wanted after one cycle, in which some tiles can hear. To
    hear less than one could never helps."""
    words = {
        source: sorted({(m, w) for m, w, _ in wanted if sends[m][0] == source})
        for source in {sends[m][0] for m, _, _ in wanted}
    }
    after: set[Wanted] = set()
    for on_air in product(*words.values()):
        offers = [
            [news for word in on_air if (news := (*word, tile)) in wanted]
            for tile in sorted(open_to)
        ]
        choices = product(*[offer for offer in offers if offer])
        after |= {wanted - set(choice) for choice in choices}
    return after


def shortest_split(sends: Sends, latency: Index) -> int:
    """The least length of any schedule at all: a tile may send any word at any cycle,
    as often as it likes, and every receiver hears what it likes of it."""
    all_wanted = frozenset(
        (m, word, tile)
        for m, (_, words, receivers) in enumerate(sends)
        for word in range(words)
        for tile in receivers
    )
    length = max(words + int(latency[t]) for _, words, set_ in sends for t in set_)
    while True:
        states: set[Wanted] = {all_wanted}
        for cycle in range(length):
            open_to = {t for t in range(latency.size) if cycle + latency[t] < length}
            states = {s for w in states for s in one_cycle_later(sends, w, open_to)}
            if frozenset() in states:
                return length
        length += 1


def pair_bound(sends: Sends, latency: Index) -> int:
    """No schedule is shorter, however it splits.

    Sender a sends m words to both t and u, and b sends n words to t or u. If the end
    is T, a has time for T - near - load sends besides one of each word. So all but so
    many of the m words reach t and u in one cycle, when b reaches neither:
    m - (T - near - load) + n <= T - the lesser latency of t and u.
    """
    least = 0
    for source, words, receivers in sends:
        mine = [(n, tiles) for sender, n, tiles in sends if sender == source]
        near = min(int(latency[tile]) for _, tiles in mine for tile in tiles)
        spent = sum(n for n, _ in mine) + near
        others = {sender for sender, _, _ in sends if sender != source}
        for other, t, u in product(others, receivers, receivers):
            theirs = [(n, tiles & {t, u}) for b, n, tiles in sends if b == other]
            told = sum(n for n, tiles in theirs if tiles)
            late = min(int(latency[t]), int(latency[u]))
            least = max(least, -(-(words + spent + told + late) // 2))
    return least


@pytest.mark.parametrize("seed", range(3))
def test_tiny_phases_against_every_schedule(seed: int) -> None:
    """Near the optimum of all schedules, and never below it or its bounds."""
    rng = np.random.default_rng(seed)
    total = least = 0
    for _ in range(25):
        tiles = int(rng.integers(4, 6))
        sends = random_sends(rng, tiles, int(rng.integers(2, 5)), 3, 3)
        if sum(words * len(set_) for _, words, set_ in sends) > 16:
            continue
        latency = rng.integers(0, 3, tiles)
        found = schedule(table(tiles, sends), latency)
        verify(sends, latency, found)
        optimum = shortest_split(sends, latency)
        assert pair_bound(sends, latency) <= optimum
        assert found.bound.cycles <= optimum <= found.length
        total, least = total + found.length, least + optimum
    assert total <= 1.05 * least


def test_a_sender_without_time_holds_up_another() -> None:
    """Beyond the ports' bounds: all that 0 tells both 2 and 3 keeps 1 from them."""
    sends: Sends = [(0, 2, {2, 3}), (0, 2, {4}), (1, 2, {2}), (1, 2, {3})]
    latency = np.zeros(5, np.int64)
    found = schedule(table(5, sends), latency)
    verify(sends, latency, found)
    assert found.bound.cycles == 4
    assert pair_bound(sends, latency) == shortest_split(sends, latency) == 5


def test_sending_twice_beats_sending_once() -> None:
    """Three messages that meet two by two take all their words' time, unless the one
    whose sender has time goes out to each receiver when that is free."""
    sends: Sends = [(0, 2, {2, 3}), (1, 2, {2}), (1, 2, {3})]
    latency = np.zeros(4, np.int64)
    assert shortest(sends, latency) == 6
    assert shortest_split(sends, latency) == 4
    found = schedule(table(4, sends), latency)
    verify(sends, latency, found)
    assert found.length == 4
