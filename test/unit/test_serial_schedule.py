"""Schedules under rules: every word once, and never a read and a write in one cycle."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tiledialect.schedule.bounds import arrival
from tiledialect.schedule.serial import Rule, serial_bound, serialised
from tiledialect.schedule.serial_fit import fitted
from tiledialect.schedule.solve import Schedule, schedule
from tiledialect.schedule.table import Index, Messages, multicasts, unicasts

Words = list[tuple[int, int, int, int, frozenset[int]]]
"""Cycle, sender, message, word, receivers: of every word sent."""


def random_messages(random: Random) -> Messages:
    """A few multicasts of a few tiles, some to their own sender."""
    tiles, count = random.randint(2, 7), random.randint(1, 12)
    members: list[int] = []
    start = [0]
    for _ in range(count):
        members += sorted(random.sample(range(tiles), random.randint(1, min(3, tiles))))
        start.append(len(members))
    source = np.array([random.randrange(tiles) for _ in range(count)], np.int64)
    words = np.array([random.choice([1, 2, 5, 9, 30]) for _ in range(count)], np.int64)
    return multicasts(tiles, source, words, np.array(start), np.array(members))


def random_rules(random: Random, count: int) -> list[Rule]:
    """Messages of three buffers each way, and one to three pairs of these."""
    read = np.array([random.randrange(3) for _ in range(count)])
    written = np.array([random.randrange(3) for _ in range(count)])
    pairs = {(random.randrange(3), random.randrange(3)) for _ in range(3)}
    return [Rule(read == one, written == other) for one, other in sorted(pairs)]


def members_of(messages: Messages, i: int) -> list[int]:
    number = messages.destinations[i]
    first, end = messages.set_start[number : number + 2]
    return messages.set_tiles[first:end].tolist()


def sent_words(found: Schedule) -> Words:
    sent, words = found.messages, Words()
    for i in range(sent.count):
        members = members_of(sent, i)
        for word in range(int(sent.words[i])):
            cycle, number = int(found.start[i]) + word, int(found.offset[i]) + word
            receivers = frozenset(members)
            origin = int(found.origin[i])
            words.append((cycle, int(sent.source[i]), origin, number, receivers))
    return words


def usual_of(messages: Messages, latency: Index) -> Index:
    usual = np.zeros(messages.count, np.int64)
    found = schedule(messages, latency, split=False)
    usual[found.origin] = found.start
    return usual


@pytest.mark.parametrize("seed", range(120))
def test_rules_hold_cycle_by_cycle(seed: int) -> None:
    random = Random(seed)
    messages = random_messages(random)
    latency = np.array([random.choice([1, 4, 10, 11]) for _ in range(messages.tiles)])
    rules = random_rules(random, messages.count)
    found = serialised(messages, latency, rules, usual_of(messages, latency))
    words = sent_words(found)
    wanted = {
        (i, word, tile)
        for i in range(messages.count)
        for tile in members_of(messages, i)
        for word in range(int(messages.words[i]))
    }
    got = [(message, word, tile) for *_, message, word, to in words for tile in to]
    assert len(got) == len(wanted)
    assert set(got) == wanted
    reads = {(sender, cycle): message for cycle, sender, message, _, _ in words}
    assert len(reads) == len(words)
    writes = {
        (tile, cycle + int(latency[tile])): message
        for cycle, _, message, _, to in words
        for tile in to
    }
    assert len(writes) == len(got)
    for slot in reads.keys() & writes.keys():
        for rule in rules:
            assert not (rule.reads[reads[slot]] and rule.writes[writes[slot]])
    last = max(cycle for _, cycle in writes) + 1
    assert found.length == last == arrival(found.messages, latency, found.start)
    assert found.length >= max(found.bound.cycles, serial_bound(messages, rules))
    assert np.all(np.diff(found.origin) >= 0)


@pytest.mark.parametrize("seed", range(40))
def test_no_rule_is_no_hindrance(seed: int) -> None:
    """A rule that no tile is bound by leaves a plain first fit, and so the bound is
    that of the phase."""
    random = Random(seed)
    messages = random_messages(random)
    latency = np.full(messages.tiles, 7)
    none = np.zeros(messages.count, np.bool_)
    rules = [Rule(~none, none)]
    assert serial_bound(messages, rules) == 0
    found = serialised(messages, latency, rules, usual_of(messages, latency))
    longest = int((messages.words + 7).sum())
    assert found.bound.cycles <= found.length <= longest


def swap(words: int) -> tuple[Messages, list[Rule]]:
    """Two tiles that send each other so many words, under one rule."""
    there, back = np.array([0, 1]), np.array([1, 0])
    both = np.ones(2, np.bool_)
    return unicasts(2, there, back, np.full(2, words)), [Rule(both, both)]


@pytest.mark.parametrize(
    ("words", "length"),
    [
        (10, 20),  # all leave before any arrives
        (16, 36),  # two rounds: 4 and 4 leave, then 4 and 4 arrive, in 18 cycles
        (100, 200),  # ten rounds of 20, half of it out and half in
        (200, 420),  # one after the other is within 5 % of 400: nothing is cut
    ],
)
def test_a_swap_is_cut_where_that_pays(words: int, length: int) -> None:
    messages, rules = swap(words)
    latency = np.full(2, 10)
    found = serialised(messages, latency, rules, np.zeros(2, np.int64))
    assert found.length == length
    assert serial_bound(messages, rules) == 2 * words


def test_tiles_that_send_little_take_turns() -> None:
    """Each of 240 tiles sends 8 words to each of 4 groups of 60 tiles: 1920 words to
    receive and 32 to send. Half of each first fit would be waiting."""
    tiles, groups = 240, 4
    source = np.repeat(np.arange(tiles), groups)
    group = np.tile(np.arange(groups), tiles)
    members = (np.arange(60) * groups)[None, :] + group[:, None]
    start = np.arange(source.size + 1) * 60
    words = np.full(source.size, 8)
    messages = multicasts(tiles, source, words, start, members.ravel())
    every = np.ones(source.size, np.bool_)
    latency = np.full(tiles, 10)
    rules = [Rule(every, every)]
    found = serialised(messages, latency, rules, usual_of(messages, latency))
    assert serial_bound(messages, rules) == 1952
    assert found.method.startswith("serial first fit by turns")
    assert found.length < 1.2 * 1952


def all_to_all(tiles: int, words: int) -> Messages:
    source, target = np.divmod(np.arange(tiles * tiles), tiles)
    other = source != target
    number = np.full(int(other.sum()), words)
    return unicasts(tiles, source[other], target[other], number)


@pytest.mark.parametrize(
    ("tiles", "words", "ratio"), [(2, 300, 1.05), (3, 500, 1.25), (6, 1120, 1.25)]
)
def test_groups_that_exchange_are_near_the_bound(
    tiles: int, words: int, ratio: float
) -> None:
    """What a tile sends and receives in turn, at the latencies of a C600."""
    messages = all_to_all(tiles, words)
    latency = 52 + 2 * np.arange(tiles)
    every = np.ones(messages.count, np.bool_)
    usual = usual_of(messages, latency)
    found = serialised(messages, latency, [Rule(every, every)], usual)
    least = 2 * (tiles - 1) * words
    assert serial_bound(messages, [Rule(every, every)]) == least
    assert least < found.length <= ratio * least


def test_long_phases_are_placed_in_slots_of_several_cycles() -> None:
    """A million words each, in slots of 2 cycles: one taken in part is taken."""
    words = np.array([1_000_000, 1_000_000])
    # Item 0 looks at row 0 and takes row 1 seven cycles later, item 1 looks at row 1.
    checked = np.array([0, 1, 2]), np.array([0, 1])
    marked = np.array([0, 1, 1]), np.array([1]), np.array([7])
    start = fitted(np.arange(2), words, 2, checked, marked)
    assert start.tolist() == [0, -(-1_000_007 // 2) * 2]


def test_a_bundle_that_reaches_its_sender_is_taken_apart() -> None:
    """Three messages of 4 words to their own sender: each leaves before it arrives at
    a latency of 5, all three in one would not."""
    source = np.zeros(3, np.int64)
    messages = unicasts(1, source, source, np.full(3, 4))
    every = np.ones(3, np.bool_)
    latency = np.full(1, 5)
    found = serialised(messages, latency, [Rule(every, every)], np.arange(3))
    sends = {int(start) + i for start in found.start for i in range(4)}
    assert found.messages.count == 3
    assert not sends & {cycle + 5 for cycle in sends}


def test_messages_of_one_set_go_out_in_one() -> None:
    """Ten messages of one tile to another are one bundle: no gap between them."""
    source, target = np.repeat([0, 1], 10), np.repeat([1, 2], 10)
    messages = unicasts(3, source, target, np.full(20, 30))
    both = np.ones(20, np.bool_)
    latency = np.full(3, 5)
    found = serialised(messages, latency, [Rule(both, both)], np.arange(20))
    assert found.messages.count == 20
    assert np.all(np.diff(found.start.reshape(2, 10)) == 30)
    assert found.length == 305 + 305
