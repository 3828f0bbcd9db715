"""schedule-exchange: every word of the moves arrives once, and the figures are true."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from layout_oracle import random_pair, random_reduce_scatter
from phase_builder import Outcome, Table, run_rows
from row_words import items_received, items_sent, words_received, words_sent

from tiledialect.dialects.exchange import PhaseOp
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import the_program
from tiledialect.layout import Cut, Factor, Group, Layout
from tiledialect.lowering import phase_schedule
from tiledialect.lowering.phase_messages import (
    MessageTable,
    Move,
    Phase,
    least_controls,
    shortened,
    transfer_table,
)
from tiledialect.lowering.phase_schedule import (
    Scheduled,
    least_lengths,
    schedule_phase,
    unordered,
)
from tiledialect.machine import Machine
from tiledialect.passes.schedule_exchange import ScheduleExchangePass
from tiledialect.pipeline import make_context
from tiledialect.rows import Ints, control_words, window_bases
from tiledialect.schedule.bounds import arrival, bound_of, loads
from tiledialect.schedule.solve import Schedule
from tiledialect.schedule.table import Messages
from tiledialect.text.parser import parse_module

Arrivals = dict[tuple[int, int], tuple[int, int]]


def machine(**exchange: int) -> Machine:
    """mini16 with tiles enough for any random layout."""
    return Machine.from_fields({"base": "mini16", "tiles": 300, "exchange": exchange})


BROAD = machine()
PAIRED = machine(pair_tiles=2, pair_least_items=3)


def message_table(on: Machine, phase: Phase) -> MessageTable:
    """The messages of a phase, none longer than the machine allows."""
    return shortened(transfer_table(on, phase), on.exchange.max_message_words)


NEAR = Machine.from_fields(
    {
        "base": "mini16",
        "tiles": 2000,
        "exchange": {"latency_cycles": 2, "row_latency_cycles": 1, "row_tiles": 7},
    }
)
"""Words arrive so soon that most phases read and write in one cycle."""


def random_phase(random: Random) -> Phase:
    """One to three moves that share their first source at times."""
    moves: list[Move] = []
    sizes: list[int] = []
    for _ in range(random.randint(1, 3)):
        stack = random.random() < 0.3
        pair = random_reduce_scatter(random) if stack else random_pair(random)
        move = Move(len(sizes), len(sizes) + 1, len(sizes) + 2, *pair, stack)
        slots = 1 if pair[0].partial is None else pair[0].partial.count
        staging = move.transfers().staging_bytes
        sizes += [pair[0].tile_bytes, slots * pair[1].tile_bytes, staging]
        moves.append(move)
    return Phase(tuple(moves), tuple(sizes))


def random_gather(random: Random) -> Phase:
    """Moves from tiles that each have a part, to groups of tiles that want it all."""
    moves: list[Move] = []
    sizes: list[int] = []
    for _ in range(random.randint(1, 2)):
        words = random.choice([24, 96, 200, 400])
        parts = random.choice([1, 2, 4, 8])
        copies = random.choice([2, 4, 6, 7, 8])
        one = Layout(
            (words,),
            4,
            ((),),
            (Factor(0),),
            spread=(Group(parts, random.choice([1, 2])),),
        )
        all_ = Layout(
            (words,),
            4,
            ((),),
            (Factor(0),),
            first=random.choice([0, 1, 4, 10, 32]),
            replicas=(Group(copies, random.choice([1, 1, 2])),),
        )
        moves.append(Move(len(sizes), len(sizes) + 1, -1, one, all_, False))
        sizes += [one.tile_bytes, all_.tile_bytes]
    aligned = tuple(random.random() < 0.9 for _ in sizes)
    return Phase(tuple(moves), tuple(sizes), aligned)


def expected(phase: Phase) -> Arrivals:
    """(tile, address) → (source, address) of every word of the transfers."""
    bases = window_bases(phase.buffer_bytes).tolist()
    words: Arrivals = {}
    for move in phase.moves:
        table = move.transfers()
        for i in range(table.source.size):
            into = move.staging if table.to_staging[i] else move.destination
            number = int(table.destinations[i])
            members = table.set_tiles[
                table.set_start[number] : table.set_start[number + 1]
            ]
            for tile in members.tolist():
                for word in range(int(table.words[i])):
                    to = bases[into] + int(table.offset[i]) + 4 * word
                    at = bases[move.source] + int(table.source_offset[i]) + 4 * word
                    assert (tile, to) not in words
                    words[tile, to] = (int(table.source[i]), at)
    return words


def run(on: Machine, found: Scheduled) -> Outcome:
    return run_rows(on, Table(*vars(found.rows).values()))


SEEDS = range(60)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_deliver_the_transfers(seed: int) -> None:
    phase = random_phase(Random(seed))
    found = schedule_phase(BROAD, phase)
    outcome = run(BROAD, found)
    assert outcome.arrived == expected(phase)
    assert found.numbers["length"] == outcome.length
    assert found.numbers["row_bytes"] == outcome.controls * 4
    for bound in ("bound_receive", "bound_send", "bound_control"):
        assert found.numbers[bound] <= outcome.length


@pytest.mark.parametrize("seed", range(20))
def test_messages_are_no_longer_than_the_machine_allows(seed: int) -> None:
    narrow = machine(max_message_words=3, send_chunk_words=2)
    phase = random_phase(Random(seed))
    table = message_table(narrow, phase)
    assert table.messages.words.max(initial=0) <= 3
    assert run(narrow, schedule_phase(narrow, phase)).arrived == expected(phase)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_schedule_has_fewer_control_words(seed: int) -> None:
    phase = random_phase(Random(seed))
    least = least_controls(BROAD, message_table(BROAD, phase))
    rows = schedule_phase(BROAD, phase).rows
    controls = control_words(rows, BROAD.exchange)
    assert np.array_equal(np.flatnonzero(least), rows.tiles)
    assert np.all(least[rows.tiles] <= controls)


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_are_those_used_in_one_cycle(seed: int) -> None:
    phase = random_phase(Random(seed))
    found = schedule_phase(BROAD, phase)
    assert list(found.together) == sorted(pairs_in_one_cycle(phase, found))


def pairs_in_one_cycle(phase: Phase, found: Scheduled) -> set[tuple[int, int]]:
    """(read, written) of all words that a tile sends and receives at once."""
    bases = window_bases(phase.buffer_bytes)
    reads, writes = words_sent(found.rows), words_received(found.rows)
    pairs: set[tuple[int, int]] = set()
    for slot in reads.keys() & writes.keys():
        both = (reads[slot], writes[slot][1])
        one, other = np.searchsorted(bases, both, side="right") - 1
        pairs.add((int(one), int(other)))
    return pairs


def test_serial_pairs_are_never_read_and_written_in_one_cycle() -> None:
    """Of random phases one pair that meets, then all of them: the words arrive as
    before, the pairs never meet, and nothing else about the phase is untrue."""
    changed = 0
    for seed in range(150):
        random = Random(seed)
        phase = random_phase(random)
        plain = schedule_phase(NEAR, phase)
        if not plain.together:
            continue
        one = unordered([random.choice(plain.together)])
        for serial in (one, unordered(plain.together)):
            found = schedule_phase(NEAR, phase, serial)
            outcome = run(NEAR, found)
            assert outcome.arrived == expected(phase)
            pairs = pairs_in_one_cycle(phase, found)
            assert not set(serial) & set(unordered(pairs))
            assert list(found.together) == sorted(pairs)
            assert found.numbers["length"] == outcome.length
            assert found.numbers["row_bytes"] == outcome.controls * 4
            assert outcome.length >= max(least_lengths(NEAR, phase, serial))
            changed += 1
    assert changed > 100


def test_what_is_serial_anyway_stays_as_it_is() -> None:
    phase = random_phase(Random(3))
    never = unordered([(0, 0)])
    assert schedule_phase(BROAD, phase, never) is schedule_phase(BROAD, phase)


def test_equal_phases_have_equal_schedules() -> None:
    phase = random_phase(Random(3))
    again = random_phase(Random(3))
    assert schedule_phase(BROAD, phase) is schedule_phase(BROAD, again)
    anew = schedule_phase.__wrapped__(BROAD, phase)
    assert anew == schedule_phase(BROAD, phase)


def test_an_all_gather_takes_its_bound() -> None:
    """Four tiles with a quarter each: 12 words in, and the latency of row 1."""
    spread = Layout((16,), 4, ((),), (Factor(0),), spread=(Group(4, 1),))
    whole = Layout((16,), 4, ((),), (Factor(0),), replicas=(Group(4, 1),))
    mini4 = Machine.load("mini4")
    phase = Phase((Move(0, 1, -1, spread, whole, False),), (16, 64))
    numbers = schedule_phase(mini4, phase).numbers
    assert numbers["length"] == numbers["bound_receive"] == 16 + 12


def test_layouts_of_ragged_blocks_are_packed_by_delivery() -> None:
    rows = Layout((7, 5), 4, ((Cut(3, 1),), ()), (Factor(0), Factor(1)))
    columns = Layout((7, 5), 4, ((), (Cut(2, 4),)), (Factor(1), Factor(0)))
    phase = Phase((Move(0, 1, -1, rows, columns, False),), (60, 84))
    assert run(BROAD, schedule_phase(BROAD, phase)).arrived == expected(phase)


def run_items(on: Machine, found: Scheduled) -> tuple[Arrivals, int, int]:
    """What arrives, the last arrival, and how many 64-bit items are sent, where no rule
    of them is broken: lanes, whole pairs, long runs."""
    out, arrived, last = items_sent(found.rows), Arrivals(), 0
    heard: dict[tuple[int, int], set[int]] = {slot: set() for slot in out}
    for (tile, cycle), (source, to, size) in items_received(found.rows).items():
        slot = source, cycle - on.latency(tile)
        address, sent_size = out[slot]
        assert sent_size == size
        heard[slot].add(tile)
        last = max(last, cycle + 1)
        for word in range(0, size, 4):
            assert (tile, to + word) not in arrived
            arrived[tile, to + word] = (source, address + word)
    double = {slot: address for slot, (address, size) in out.items() if size == 8}
    for (source, cycle), address in double.items():
        assert (source ^ 1, cycle) not in out
        tiles = heard[source, cycle]
        assert tiles == {tile ^ 1 for tile in tiles}
        assert source not in tiles
        assert address % 8 == 0
        run = 1
        for step in (-1, 1):
            at = 1
            while double.get((source, cycle + step * at)) == address + 8 * step * at:
                run, at = run + 1, at + 1
        assert run >= on.exchange.pair_least_items
    assert all(heard.values())
    return arrived, last, len(double)


PAIR_SEEDS = range(60)


@pytest.mark.parametrize("seed", PAIR_SEEDS)
def test_rows_with_doubled_messages_deliver_the_transfers(seed: int) -> None:
    random = Random(seed)
    phase = random_gather(random) if seed % 3 else random_phase(random)
    found, plain = schedule_phase(PAIRED, phase), schedule_phase(BROAD, phase)
    arrived, last, items = run_items(PAIRED, found)
    assert arrived == expected(phase)
    numbers = found.numbers
    assert numbers["length"] == max(last, numbers["row_bytes"] // 4)
    costs = [[n[k] for k in ("length", "row_bytes")] for n in (numbers, plain.numbers)]
    assert items == 0 or costs[0] < costs[1]
    assert items > 0 or found.rows == plain.rows
    for bound in ("bound_receive", "bound_send", "bound_control"):
        assert numbers[bound] <= numbers["length"]
        assert numbers[bound] <= plain.numbers[bound]
    odd = replace(phase, aligned=(False,) * len(phase.buffer_bytes))
    assert schedule_phase(PAIRED, odd) == plain


def word_by_word(
    messages: Messages, latency: Ints, *, control: Ints | None, split: bool = True
) -> Schedule:
    """All messages one after the other, each whole or in as many as it has words."""
    number = np.arange(messages.count)
    origin = np.repeat(number, messages.words) if split else number
    ahead = np.searchsorted(origin, origin) if split else number
    words = np.ones_like(origin) if split else messages.words
    sent = replace(messages.select(origin), words=words)
    start = 3 * np.cumsum(words)
    bound = bound_of(loads(messages, latency), control)
    offset, last = np.arange(origin.size) - ahead, arrival(sent, latency, start)
    return Schedule(sent, origin, offset, start, last, bound, "apart")


def test_rows_have_no_more_words_than_messages_sent_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the planner counts with: a schedule that splits messages beyond that is not
    used, however short."""
    phase = random_gather(Random(1))
    monkeypatch.setattr(phase_schedule, "schedule", word_by_word)
    phase_schedule.schedule_phase.cache_clear()
    found = schedule_phase(BROAD, phase)
    phase_schedule.schedule_phase.cache_clear()
    assert run(BROAD, found).arrived == expected(phase)
    assert found.numbers["messages"] == transfer_table(BROAD, phase).messages.count


def test_many_of_these_phases_have_doubled_messages() -> None:
    doubled = 0
    for seed in PAIR_SEEDS:
        if seed % 3:
            found = schedule_phase(PAIRED, random_gather(Random(seed)))
            doubled += run_items(PAIRED, found)[2] > 0
    assert doubled > 10


Asked = tuple[int, int, set[int], set[int]]
"""Source and words of a message, its receivers, and those that it may reach doubled."""


def asked(on: Machine, phase: Phase) -> list[Asked]:
    """The messages of a phase, one by one."""
    table, bases = transfer_table(on, phase), window_bases(phase.buffer_bytes)
    messages, found = table.messages, list[Asked]()
    aligned = [*phase.aligned] or [True] * bases.size
    for i in range(messages.count):
        source, words = int(messages.source[i]), int(messages.words[i])
        first, end = messages.set_start[messages.destinations[i] :][:2]
        tiles = set(messages.set_tiles[first:end].tolist())
        fits = words % 2 == 0 and words // 2 >= on.exchange.pair_least_items
        for place in (int(table.read[i]), int(table.written[i])):
            buffer = sum(int(base) <= place for base in bases) - 1
            fits &= place % 8 == 0 and aligned[buffer]
        doubled = {tile for tile in tiles if fits and tile ^ 1 in tiles}
        found.append((source, words, tiles, doubled - {source, source ^ 1}))
    return found


def least_bounds(on: Machine, phase: Phase) -> tuple[int, int]:
    """The receive and the send bound, message by message."""
    heard, sent = Counter[int](), Counter[int]()
    nearest = dict.fromkeys(range(on.tiles), 1 << 30)
    for source, words, tiles, doubled in asked(on, phase):
        for tile in tiles:
            heard[tile] += words // 2 if tile in doubled else words
            nearest[source] = min(nearest[source], on.latency(tile))
        sent[source] += words // 2 if doubled == tiles else words
    return (
        max((n + on.latency(t) for t, n in heard.items()), default=0),
        max((n + nearest[t] for t, n in sent.items()), default=0),
    )


def controls_one_by_one(on: Machine, phase: Phase) -> int:
    """Control words of the fullest tile, were messages cut by receivers and no more,
    and each sent after a gap and received for itself."""
    words_of = Counter[int]()
    for source, words, tiles, doubled in asked(on, phase):
        for part, slots in ((doubled, words // 2), (tiles - doubled, words)):
            words_of[source] += (-(-slots // 64) + 1) * bool(part)
            words_of.update(dict.fromkeys(part, 2))
    return max(words_of.values(), default=0) + on.exchange.phase_controls


@pytest.mark.parametrize("seed", PAIR_SEEDS)
def test_doubled_phases_have_no_more_rows_than_is_planned_for(seed: int) -> None:
    phase = random_gather(Random(seed))
    found = schedule_phase(PAIRED, phase)
    if run_items(PAIRED, found)[2]:
        most = controls_one_by_one(PAIRED, phase)
        assert found.numbers["row_bytes"] // 4 <= most


@pytest.mark.parametrize("seed", PAIR_SEEDS)
def test_bounds_count_each_receiver_at_its_best(seed: int) -> None:
    phase = random_gather(Random(seed)) if seed % 3 else random_phase(Random(seed))
    numbers = schedule_phase(PAIRED, phase).numbers
    bounds = (numbers["bound_receive"], numbers["bound_send"])
    assert bounds == least_bounds(PAIRED, phase)


TWICE = """
module attributes {tile.machine = "mini4", tile.rung = 4} {
  memory.program @main {
    %x = memory.buffer operand "x" 16 bytes on <0 [4:1]> live [0, 4)
    %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> live [0, 4)
    exchange.phase 0 "first" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]> to <[16] bytes 4 replicas [4 step 1]>
    }
    exchange.phase 3 "second" {
      exchange.move %x to %y
        : <[16] bytes 4 spread [4 step 1]> to <[16] bytes 4 replicas [4 step 1]>
    }
  }
}
"""


def test_a_pair_is_written_once_for_all_phases() -> None:
    module = parse_module(make_context(), TWICE, "t.mlir")
    ScheduleExchangePass().apply(make_context(), module)
    module.verify()
    program = the_program(module, ProgramOp)
    assert [len(apart.pairs) for apart in program.aparts] == [1]
    first, second = (step for step in program.steps if isinstance(step, PhaseOp))
    assert first.rows == second.rows
    assert first.rows is not None
