"""Doubled messages: cut by the rules, and no port taken twice, cycle by cycle."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from random import Random

import numpy as np
import pytest

from tiledialect.schedule.bounds import loads
from tiledialect.schedule.in_pairs import repaired, schedule_in_pairs
from tiledialect.schedule.pairs import Parts, cut_by_receivers
from tiledialect.schedule.solve import Schedule, schedule
from tiledialect.schedule.table import Flags, Index, Messages, multicasts

LEAST_ITEMS = 3
SEEDS = range(40)


def latencies(tiles: int) -> Index:
    return 10 + 2 * (np.arange(tiles) // 4)


def random_set(random: Random, tiles: int) -> list[int]:
    """Some pairs of tiles and some single ones, at least one tile."""
    pairs = random.sample(range(tiles // 2), random.randint(0, tiles // 3))
    chosen = {tile for pair in pairs for tile in (2 * pair, 2 * pair + 1)}
    for _ in range(random.choice([0, 0, 0, 1, 3])):
        chosen ^= {random.randrange(tiles)}
    return sorted(chosen) or [random.randrange(tiles)]


def phase(
    tiles: int, source: list[int], words: list[int], sets: list[list[int]]
) -> Messages:
    start = np.cumsum([0, *map(len, sets)])
    members = np.array([tile for each in sets for tile in each], np.int64)
    return multicasts(tiles, np.array(source), np.array(words), start, members)


def random_messages(random: Random) -> Messages:
    """Up to 60 messages of few lengths to few sets, or all of one kind."""
    tiles = random.choice([7, 12, 16])
    count = random.choice([1, 2, 10, 30, 60])
    sets = [random_set(random, tiles) for _ in range(random.choice([1, 4, count]))]
    lengths = random.choice([[8], [6, 7, 40], [2, 4, 6, 13, 64, 300]])
    return phase(
        tiles,
        [random.randrange(tiles) for _ in range(count)],
        [random.choice(lengths) for _ in range(count)],
        [random.choice(sets) for _ in range(count)],
    )


def random_may(random: Random, messages: Messages) -> Flags:
    """Messages of enough whole items, a few of which lie at odd words."""
    aligned = [random.random() < 0.9 for _ in range(messages.count)]
    enough = (messages.words % 2 == 0) & (messages.words >= 2 * LEAST_ITEMS)
    return enough & np.array(aligned)


def members(messages: Messages, i: int) -> list[int]:
    first, end = messages.set_start[messages.destinations[i] :][:2]
    return messages.set_tiles[first:end].tolist()


def is_doubled(messages: Messages, i: int) -> bool:
    return messages.double is not None and bool(messages.double[i])


def goes_doubled(messages: Messages, may: Flags, i: int, tile: int) -> bool:
    """The rule, said of one receiver."""
    pair = int(messages.source[i]) // 2
    has_partner = 2 * pair + 1 < messages.tiles
    both = {tile, tile ^ 1} <= set(members(messages, i))
    return bool(may[i]) and has_partner and both and tile // 2 != pair


def random_parts(seed: int) -> tuple[Messages, Flags, Parts | None]:
    random = Random(seed)
    messages = random_messages(random)
    may = random_may(random, messages)
    return messages, may, cut_by_receivers(messages, may)


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_are_those_of_the_rule(seed: int) -> None:
    messages, may, parts = random_parts(seed)
    wanted = {
        (i, tile): goes_doubled(messages, may, i, tile)
        for i in range(messages.count)
        for tile in members(messages, i)
    }
    assert (parts is None) == (True not in wanted.values())
    if parts is None:
        return
    cut, found = parts.messages, Counter[tuple[int, int, bool]]()
    assert np.array_equal(cut.source, messages.source[parts.origin])
    assert np.array_equal(cut.words, messages.words[parts.origin])
    assert np.unique(cut.destinations).size == cut.set_start.size - 1
    for part, origin in enumerate(parts.origin.tolist()):
        for tile in members(cut, part):
            found[origin, tile, is_doubled(cut, part)] += 1
    assert found == Counter((*key, double) for key, double in wanted.items())
    for i in range(messages.count):
        every = all(wanted[i, tile] for tile in members(messages, i))
        assert is_doubled(parts.asked, i) == every
    uncut = parts.uncut()
    if uncut is not None:
        assert uncut.messages is parts.asked
        assert uncut.messages.double is not None
        assert uncut.messages.double.any()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_is_that_of_the_fullest_ports(seed: int) -> None:
    messages, may, parts = random_parts(seed)
    if parts is None:
        return
    latency = latencies(messages.tiles)
    sent, received = Counter[int](), Counter[int]()
    nearest = dict.fromkeys(range(messages.tiles), 1 << 30)
    for i in range(messages.count):
        tiles, words = members(messages, i), int(messages.words[i])
        doubled = [goes_doubled(messages, may, i, tile) for tile in tiles]
        source = int(messages.source[i])
        sent[source] += words // 2 if all(doubled) else words
        nearest[source] = min(nearest[source], *(int(latency[t]) for t in tiles))
        for tile, double in zip(tiles, doubled, strict=True):
            received[tile] += words // 2 if double else words
    load = parts.loads(latency)
    for tile in range(messages.tiles):
        into, out = received[tile], sent[tile]
        assert load.receive_bound[tile] == (into + latency[tile] if into else 0)
        assert load.send_bound[tile] == (out + nearest[tile] if out else 0)


def check_ports(found: Schedule, latency: Index) -> int:
    """Whether no port is taken twice in a cycle; the last arrival."""
    sent, busy, last = found.messages, set[tuple[str, int, int]](), 0
    for i, start in enumerate(found.start.tolist()):
        double, source = is_doubled(sent, i), int(sent.source[i])
        tiles = members(sent, i)
        cycles = int(sent.words[i]) // (2 if double else 1)
        ports = [("out", source, 0)] + [("out", source ^ 1, 0)] * double
        ports += [("in", tile, int(latency[tile])) for tile in tiles]
        if double:
            assert cycles >= LEAST_ITEMS
            assert sent.words[i] % 2 == found.offset[i] % 2 == 0
            assert {tile ^ 1 for tile in tiles} == set(tiles)
            assert source not in tiles
            assert source ^ 1 not in tiles
            assert source ^ 1 < sent.tiles
        for side, tile, shift in ports:
            for cycle in range(start + shift, start + shift + cycles):
                assert (side, tile, cycle) not in busy
                busy.add((side, tile, cycle))
                last = max(last, cycle + 1 if side == "in" else 0)
    return last


def check_delivery(found: Schedule, asked: Messages) -> None:
    """Every word of every message asked for arrives once at every receiver."""
    arrived = Counter[tuple[int, int, int]]()
    for i, origin in enumerate(found.origin.tolist()):
        assert found.messages.source[i] == asked.source[origin]
        for tile in members(found.messages, i):
            first = int(found.offset[i])
            for word in range(first, first + int(found.messages.words[i])):
                arrived[origin, tile, word] += 1
    wanted = {
        (i, tile, word)
        for i in range(asked.count)
        for tile in members(asked, i)
        for word in range(int(asked.words[i]))
    }
    assert arrived.keys() == wanted
    assert set(arrived.values()) <= {1}


@pytest.mark.parametrize("seed", SEEDS)
def test_schedules_take_no_port_twice(seed: int) -> None:
    _, _, parts = random_parts(seed)
    if parts is None:
        return
    latency = latencies(parts.messages.tiles)
    for way in (parts, parts.in_ring(), parts.uncut()):
        if way is not None:
            found = schedule_in_pairs(way.messages, latency)
            assert found is not None
            better = repaired(found, latency)
            assert better.length <= found.length
            for one in (found, better):
                check_delivery(one, way.messages)
                assert check_ports(one, latency) == one.length
                assert parts.loads(latency).receive_bound.max() <= one.length
                assert loads(way.messages, latency).send_bound.max() <= one.length


def test_doubled_rows_and_columns_in_words_follow_each_other() -> None:
    """On a grid of 4 by 8 tiles a row gets 16 words doubled, from outside of it, and a
    column 8 words from its own first tile: 8 cycles each."""
    rows, columns = [[*range(8 * row, 8 * row + 8)] for row in range(4)], range(8)
    sets = [*rows, *([*range(column, 32, 8)] for column in columns)]
    messages = phase(
        40, [32, 34, 36, 38, *columns], [16] * 4 + [8] * 8, [*rows, *sets[4:]]
    )
    parts = cut_by_receivers(messages, np.arange(12) < 4)
    assert parts is not None
    assert parts.origin.size == 12
    found = schedule_in_pairs(parts.messages, latencies(40))
    assert found is not None
    assert check_ports(found, latencies(40)) == found.length
    assert found.length == found.bound.cycles == 16 + int(latencies(40)[31])


def gathers(random: Random) -> Messages:
    """Groups of pairs whose tiles send all to all, but for some."""
    tiles, size = 24, random.choice([4, 6, 8, 12, 24])
    groups = [list(range(first, first + size)) for first in range(0, tiles, size)]
    senders = [tile for tile in range(tiles) if random.random() < 0.9]
    return phase(
        tiles,
        senders,
        [random.choice([16, 16, 16, 10]) for _ in senders],
        [
            [t for t in groups[tile // size] if t != tile or random.random() < 0.5]
            for tile in senders
        ],
    )


def helped(parts: Parts, messages: Messages) -> dict[int, int]:
    """Of doubled parts the pair that each is sent to apart, one by one: in the line of
    those to a set, by sender, the last pair before it that hears itself, if that is no
    further behind than its own are long."""
    found: dict[int, int] = {}
    lines: dict[int, list[int]] = {}
    for i, origin in enumerate(parts.origin.tolist()):
        if is_doubled(parts.messages, i):
            lines.setdefault(int(messages.destinations[origin]), []).append(i)
    for group, line in lines.items():
        line.sort(key=lambda i: (int(parts.messages.source[i]), i))
        slots = [int(parts.messages.words[i]) // 2 for i in line]
        pairs = [int(parts.messages.source[i]) // 2 for i in line]
        ends = list(accumulate(slots))
        heard = {tile // 2 for tile in members_of(messages, group)} & set(pairs)
        for i, pair, end, size in zip(line, pairs, ends, slots, strict=True):
            behind: dict[int, int] = {}
            for one in heard:
                last = max(ends[j] for j, of in enumerate(pairs) if of == one)
                behind[one] = (end - size - last) % ends[-1]
            if not behind:
                continue
            one = min(behind, key=lambda pair: behind[pair])
            length = sum(s for s, of in zip(slots, pairs, strict=True) if of == one)
            if behind[one] < length and one != pair:
                found[i] = one
    return found


def members_of(messages: Messages, group: int) -> list[int]:
    return messages.set_tiles[
        messages.set_start[group] : messages.set_start[group + 1]
    ].tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_in_a_ring_a_pair_gets_apart_what_follows_its_own(seed: int) -> None:
    messages = gathers(Random(seed))
    parts = cut_by_receivers(messages, np.ones(messages.count, np.bool_))
    assert parts is not None
    ring, helps = parts.in_ring(), helped(parts, messages)
    wanted = Counter[tuple[int, bool, tuple[int, ...]]]()
    for i, origin in enumerate(parts.origin.tolist()):
        tiles, double = members(parts.messages, i), is_doubled(parts.messages, i)
        apart = [t for t in tiles if i in helps and t // 2 == helps[i]]
        if apart and len(tiles) > 4:
            wanted[origin, double, tuple(apart)] += 1
            tiles = [tile for tile in tiles if tile not in apart]
        wanted[origin, double, tuple(tiles)] += 1
    if ring is None:
        assert sum(wanted.values()) == parts.origin.size
        return
    found = Counter(
        (origin, is_doubled(ring.messages, i), tuple(members(ring.messages, i)))
        for i, origin in enumerate(ring.origin.tolist())
    )
    assert found == wanted
    assert np.array_equal(ring.messages.source, messages.source[ring.origin])
    assert np.array_equal(ring.messages.words, messages.words[ring.origin])
    scheduled = schedule_in_pairs(ring.messages, latencies(24))
    assert scheduled is not None
    assert check_ports(scheduled, latencies(24)) == scheduled.length


def test_a_group_gathers_in_half_the_time() -> None:
    """Eight tiles with 64 words each. Three pairs' words come doubled, 32 cycles each,
    those of the own pair one by one. A pair receives nothing while it sends: it takes
    4 * 64 cycles and 2 * 64 for all that goes inside of pairs, or in a ring 64 less."""
    everyone, latency = list(range(8)), latencies(8)
    messages = phase(8, everyone, [64] * 8, [everyone] * 8)
    assert schedule(messages, latency).length == 512 + 12
    parts = cut_by_receivers(messages, np.ones(8, np.bool_))
    assert parts is not None
    ring = parts.in_ring()
    assert ring is not None
    lengths: list[int] = []
    for way in (parts, ring):
        found = schedule_in_pairs(way.messages, latency)
        assert found is not None
        assert check_ports(found, latency) == found.length
        lengths.append(found.length)
    assert lengths == [6 * 64 + 12, 5 * 64 + 12]
    assert parts.loads(latency).receive_bound.max() == 5 * 64 + 12


def test_the_plain_scheduler_refuses_doubled_messages() -> None:
    parts = cut_by_receivers(phase(8, [0], [8], [[4, 5]]), np.ones(1, np.bool_))
    assert parts is not None
    with pytest.raises(ValueError, match="schedule_in_pairs"):
        schedule(parts.messages, latencies(8))
