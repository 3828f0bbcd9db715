"""The simulator: phases against a word-by-word machine, and all that it refuses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from handmade import (
    BASE,
    MINI4,
    bind,
    buffer,
    compute,
    package,
    pause,
    phase,
    point,
    receive,
    rows,
    send,
    wait,
)
from numpy.typing import NDArray

from tiledialect.diagnostics import Refused
from tiledialect.runtime.package import (
    ExchangeStep,
    Moves,
    Package,
    Rows,
    Step,
)
from tiledialect.runtime.simulator import Result, Simulator

X = np.arange(1, 9, dtype=np.float32)
A, B, C = BASE, BASE + 1024, BASE + 2048  # in different memory elements
UPPER = 8192  # interleaved memory


def run(made: Package) -> Result:
    return Simulator(made).run({"x": X})


def one_phase(length: int, table: Rows, *more: Step) -> Package:
    """x at A, y at B, a phase from one to the other."""
    return package(
        [phase(length, table), *more],
        [bind("input", "x", (8,), A), bind("output", "y", (8,), B)],
        [
            buffer("x", A, 1024, 0, 9),
            buffer("y", B, 1024, 0, 9),
            buffer("z", C, 1024, 0, 9),
        ],
    )


def refuse(made: Package, words: str) -> None:
    with pytest.raises(Refused, match=re.escape(words)) as caught:
        run(made)
    assert "\n" not in str(caught.value)


def shift(length: int = 14, **changes: Any) -> Package:
    """Every tile's pair to the next tile, with other programs for some tiles."""
    sends = {t: [send(A, 2)] for t in range(4)}
    receives = {
        t: (MINI4.latency(t), [point(B), receive((t - 1) % 4, 2)]) for t in range(4)
    }
    sends.update(changes.get("sends", {}))
    receives.update(changes.get("receives", {}))
    return one_phase(length, rows(sends, receives))


def test_every_word_is_the_one_sent_a_latency_ago() -> None:
    result = run(shift())
    assert result.outputs["y"].tolist() == [7, 8, 1, 2, 3, 4, 5, 6]
    assert [step.cycles for step in result.steps] == [14 + 40]
    # 8 bytes of x and 8 of y on every tile, and the support
    assert result.peak_tile_bytes == 2048 + 16
    assert result.placed_bytes == 2048 + 3 * 1024


def test_equal_programs_are_shared_by_tiles_with_shifted_clocks() -> None:
    table = rows(
        {0: [send(A, 2)]},
        {1: (10, [point(B), receive(0, 2)]), 2: (12, [point(B), receive(0, 2)])},
    )
    shared = replace(
        table,
        receive=np.array([-1, 1, 1]),
        start=table.start[:3],
        words=table.words[:3],
    )
    simulator = Simulator(one_phase(14, shared))
    with pytest.raises(Refused, match="nobody wrote its element 0"):  # of tile 0
        simulator.run({"x": X})
    for tile in (1, 2):
        there = simulator.memory.data[tile, B : B + 8].view(np.float32)
        assert there.tolist() == [1, 2]


def test_a_message_of_many_sends_is_one_receive() -> None:
    sends = {0: [send(A, 64), send(A + 256, 64), wait(3), send(A + 512, 1)]}
    receives = {
        1: (10, [point(B), receive(0, 128), pause(2), receive(0, 1, idle=1)]),
        3: (12 + 70, [point(C), receive(0, 50)]),
    }
    made = one_phase(142, rows(sends, receives))
    simulator = Simulator(made)
    data = np.arange(516, dtype=np.uint16).view(np.uint8)
    simulator.memory.data[0, A : A + 516] = data[:516]
    simulator.memory.written[0, A : A + 516] = 1
    with pytest.raises(Refused, match="nobody wrote its element"):
        simulator.run({"x": X})
    memory = simulator.memory.data
    assert np.array_equal(memory[1, B + 8 : B + 516], memory[0, A + 8 : A + 516])
    assert np.array_equal(memory[3, C : C + 200], memory[0, A + 280 : A + 480])
    assert simulator.memory.written[3].sum() == 200 + 8  # and its part of x


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        # a cycle early or late: the word of another cycle, or none
        (
            {"receives": {1: (11, [point(B), receive(0, 2)])}},
            "tile 1, cycle 11: receives 2 words of tile 0, which sent 1 of them",
        ),
        (
            {"receives": {1: (9, [point(B), receive(0, 2)])}},
            "tile 1, cycle 9: receives 2 words of tile 0, which sent 0 of them",
        ),
        (
            {"receives": {1: (10, [point(B), receive(0, 1)])}},
            "tile 0, cycle 0: sends 2 words, of which 1 are received by anybody",
        ),
        (
            {"receives": {1: (10, [point(B), receive(2047, 2)])}},
            "a receive from tile 2047, not there",
        ),
        (
            {"receives": {1: (10, [receive(0, 2)])}},
            "a receive has no address",
        ),
        (
            {"receives": {1: (10, [point(B), receive(0, 1), point(B), receive(0, 1)])}},
            f"receives to address {B}, where another word of the phase goes",
        ),
        (
            {"receives": {1: (10, [point(A + 4), receive(0, 2)])}},
            f"sends from address {A}, to which it receives",
        ),
        (
            {"sends": {0: [send(A + 512, 2)]}},
            f"sends the word at address {A + 512}, which nobody wrote",
        ),
        (
            {"sends": {0: [send(BASE - 4, 2)]}},
            f"sends from addresses {BASE - 4} to {BASE + 4}, outside {BASE} to",
        ),
        (
            {"receives": {1: (10, [point(C + 1020), receive(0, 2)])}},
            f"receives to addresses {C + 1020} to {C + 1028}, outside",
        ),
        ({"length": 15}, "its rows take 14 cycles, the package says 15"),
        ({"sends": {0: [6 << 29]}}, "a control word has an unknown operation"),
        ({"sends": {0: [point(A)]}}, "a send program holds words of the other kind"),
        ({"receives": {0: (0, [send(A)])}}, "a receive program holds words of the"),
    ],
)
def test_a_phase_that_the_machine_would_not_run_is_refused(
    changes: dict[str, Any], words: str
) -> None:
    made = shift(**changes)
    with pytest.raises(Refused) as caught:
        run(made)
    text = str(caught.value)
    assert text.startswith("f.mlir:1:1: error: step 0 'E': "), text
    assert words in text


def test_a_phase_that_never_ends_is_refused() -> None:
    forever = [wait((1 << 29) - 1)] * 1100 + [send(UPPER, 2)]
    receives = {1: (10, [point(UPPER + 2048), receive(0, 2)])}
    made = package(
        [phase(1103, rows({0: forever}, receives))],
        [],
        [buffer("x", UPPER, 4096, 0, 1)],
    )
    support = replace(made.support, rows=5000, bytes=7000)
    refuse(replace(made, support=support), "a phase of 590558002100 cycles never ends")


def test_tables_of_rows_are_checked() -> None:
    good = shift().steps[0]
    assert isinstance(good, ExchangeStep)
    table = good.rows

    def broken(**changes: Any) -> Package:
        return one_phase(14, replace(table, **changes))

    refuse(broken(tiles=table.tiles[::-1]), "not in ascending order")
    refuse(broken(tiles=table.tiles + 1), "a tile is not one of 4")
    refuse(broken(send=table.send[1:]), "differ in length")
    refuse(broken(send=table.send + 7), "a program that is not there")
    refuse(broken(send=table.send - 2), "a program that is not there")
    refuse(broken(start=table.start + 1), "do not cover the words")
    refuse(broken(start=table.start[[0, 2, 1, *range(3, 9)]]), "begins before the last")
    refuse(broken(send=np.full(4, -1)), "a program is run by no tile")
    refuse(broken(receive_start=table.receive_start - 20), "before cycle 0")


def conflict_package(start: int, address: int, words: int, target: int) -> Package:
    """Tile 0 sends words from `address` in cycles from `start` on, and receives two at
    `target` in cycles 15 and 16."""
    sends = {
        0: [wait(start), send(address, words)] if start else [send(address, words)],
        1: [wait(5), send(C + 64, 2)],
    }
    receives = {
        0: (15, [point(target), receive(1, 2)]),
        1: (start + 10, [point(A), receive(0, words)]),
    }
    both = np.array([0, 1])
    written = Moves("fill", both, both[:0], both * 0 + C, both * 0 + 1408)
    length = max(start + 10 + words, 17)
    steps = [compute(written), phase(length, rows(sends, receives))]
    return package(steps, [], [buffer("x", BASE, 4096, 0, 9)])


@pytest.mark.parametrize("start", range(0, 30))
def test_one_element_is_not_read_and_written_in_one_cycle(start: int) -> None:
    edge = 5120  # a memory element ends here, inside the bytes that are written
    for address, words, target in (
        (edge, 3, edge + 64),  # in one element all the time
        (edge - 8, 4, edge + 64),  # from the third word on
        (edge - 8, 4, edge - 64),  # in its first two words
        (edge + 64, 3, edge - 4),  # with the second word received
        (edge, 3, B + 64),  # never
    ):
        conflict = any(
            start + i == 15 + j
            and (address + 4 * i) // 1024 == (target + 4 * j) // 1024
            for i in range(words)
            for j in range(2)
        )
        simulator = Simulator(conflict_package(start, address, words, target))
        if conflict:
            with pytest.raises(Refused, match=r"tile 0, cycle 1[56]: sends from and"):
                simulator.run({})
        else:
            simulator.run({})


def test_control_words_keep_their_memory_element_and_their_size() -> None:
    made = shift()
    low = replace(made.support, rows=256, bytes=256, code=0, program=0, profile=0)
    free = {name: 0 for name in vars(MINI4.code)}  # a machine whose code takes nothing
    memory = {**MINI4.fields["memory"], "support_bytes": 256}
    near = 128 + 256  # right behind the support, in the element of the rows
    receives = {1: (10, [point(B), receive(0, 2)])}
    moved = replace(
        made,
        support=low,
        machine={**MINI4.fields, "code": free, "memory": memory},
        binds=(bind("input", "x", (8,), near), made.binds[1]),
        buffers=(buffer("x", near, 8, 0, 9), made.buffers[1]),
        steps=(phase(12, rows({0: [send(near, 2)]}, receives)),),
    )
    refuse(moved, "in the memory element of its control words, which end at 1024")
    # phase_controls 2, a send, a pointer, a receive: 5 words of 4 bytes
    enough = replace(made, support=replace(made.support, rows=20))
    assert run(enough).cycles == 54
    refuse(replace(made, support=replace(made.support, rows=19)), "need 20 bytes")
    for name, least in (("code", 1024), ("program", 8), ("profile", 64)):
        enough_of_it = replace(made.support, code=1024, program=8, profile=64)
        assert run(replace(made, support=enough_of_it)).cycles == 54
        short = replace(enough_of_it, **{name: least - 1})
        words = f"support.{name} is {least - 1} bytes, {least} are needed"
        refuse(replace(made, support=short), words)
    refuse(replace(made, support=replace(made.support, bytes=2047)), "2048 are needed")
    large = replace(made.support, bytes=8065)
    refuse(replace(made, support=large), "support ends at 8193, executable memory at")
    twice = replace(enough, steps=(*made.steps, *made.steps))
    refuse(twice, "step 1 'E': tile 0: control words up to this phase need 40 bytes")


# Phases word by word


class Wrong(Exception):
    """The slow machine refuses."""


def program_of(table: Rows, number: int) -> list[int]:
    if number < 0:
        return []
    words = table.words[table.start[number] : table.start[number + 1]]
    return [int(word) for word in words]


def slow_sends(program: list[int]) -> dict[int, int]:
    """The address that goes out in each cycle."""
    out: dict[int, int] = {}
    cycle = 0
    for word in program:
        if word >> 29 == 1:
            for i in range((word >> 19 & 63) + 1):
                out[cycle] = (word & (1 << 19) - 1) * 4 + 4 * i
                cycle += 1
        elif word >> 29 == 2:
            cycle += word & (1 << 29) - 1
        else:
            raise Wrong
    return out


def slow_receives(program: list[int], cycle: int) -> list[tuple[int, int, int]]:
    """Cycle, source and address of each word that arrives."""
    arrivals: list[tuple[int, int, int]] = []
    address = -1
    for word in program:
        if word >> 29 == 3:
            cycle += word >> 10 & 255
            for _ in range((word & 1023) + 1):
                if address < 0:
                    raise Wrong
                arrivals.append((cycle, word >> 18 & 2047, address))
                cycle, address = cycle + 1, address + 4
        elif word >> 29 == 4:
            address = (word & (1 << 19) - 1) * 4
        elif word >> 29 == 5:
            cycle += word & (1 << 29) - 1
        else:
            raise Wrong
    return arrivals


def slow_programs(
    table: Rows,
) -> tuple[dict[tuple[int, int], int], list[tuple[int, int, int, int]]]:
    """What each tile puts out, (tile, cycle) to address, and what arrives: tuples of
    tile, cycle, source, address."""
    out: dict[tuple[int, int], int] = {}
    arrivals: list[tuple[int, int, int, int]] = []
    for i in range(len(table.tiles)):
        tile = int(table.tiles[i])
        sends = slow_sends(program_of(table, int(table.send[i])))
        out |= {(tile, cycle): address for cycle, address in sends.items()}
        program = program_of(table, int(table.receive[i]))
        for arrival in slow_receives(program, int(table.receive_start[i])):
            arrivals.append((tile, *arrival))
    return out, arrivals


def slow_phase(table: Rows, data: Any, written: Any, high: int) -> tuple[Any, Any]:
    """Memory after a phase on mini4, one word at a time."""
    out, arrivals = slow_programs(table)
    data, written, before, known = data.copy(), written.copy(), data, written
    received: set[tuple[int, int]] = set()
    used: set[tuple[int, int]] = set()
    busy: dict[tuple[int, int], int] = {}
    for (tile, cycle), address in out.items():
        if not BASE <= address <= high - 4:
            raise Wrong
        busy[tile, cycle] = element_of(address)
    for tile, cycle, source, address in arrivals:
        left = cycle - 10 - 2 * (tile // 2)
        there = (tile, address)
        if (source, left) not in out or there in received:
            raise Wrong
        if not BASE <= address <= high - 4 or busy.get((tile, cycle)) == element_of(
            address
        ):
            raise Wrong
        origin = out[source, left]
        if not known[source, origin : origin + 4].any():
            raise Wrong
        received.add(there)
        used.add((source, left))
        data[tile, address : address + 4] = before[source, origin : origin + 4]
        written[tile, address : address + 4] = known[source, origin : origin + 4]
    if used != set(out) or any((tile, out[tile, c]) in received for tile, c in out):
        raise Wrong
    return data, written


def element_of(address: int) -> int:
    return address // 1024 if address < 8192 else 8 + (address - 8192) // 2048


def random_phase(generator: np.random.Generator) -> Rows:
    """Messages of 1 to 69 words to random sets, as early as ports allow."""
    taken: set[tuple[str, int, int]] = set()
    messages: list[tuple[int, int, int, int, list[int]]] = []
    for number in range(int(generator.integers(1, 9))):
        source, words = int(generator.integers(4)), int(generator.integers(1, 70))
        others = [t for t in range(4) if t != source]
        count = int(generator.integers(1, 4))
        to = sorted(int(t) for t in generator.choice(others, count, replace=False))
        cycle = int(generator.integers(0, 20))
        while True:
            ports = {("s", source, cycle + i) for i in range(words)}
            ports |= {
                ("r", t, cycle + MINI4.latency(t) + i) for t in to for i in range(words)
            }
            if not ports & taken:
                break
            cycle += 1
        taken |= ports
        messages.append((cycle, source, number, words, to))
    return assembled(sorted(messages))


def assembled(messages: Sequence[tuple[int, int, int, int, list[int]]]) -> Rows:
    """Rows of messages in the order of their cycles, from below B to above B."""
    sends: dict[int, list[int]] = {}
    receives: dict[int, tuple[int, list[int]]] = {}
    ends: dict[tuple[str, int], int] = {}
    for cycle, source, number, words, to in messages:
        gap = cycle - ends.get(("s", source), 0)
        program = sends.setdefault(source, [])
        program += [wait(gap)] if gap else []
        for begin in range(0, words, 64):
            program.append(send(A + 280 * number + 4 * begin, min(64, words - begin)))
        ends["s", source] = cycle + words
        for tile in to:
            arrival = cycle + MINI4.latency(tile)
            first, program = receives.setdefault(tile, (arrival, []))
            gap = arrival - ends.get(("r", tile), first)
            program += [pause(gap - 255)] if gap > 255 else []
            program.append(point(UPPER + 280 * number))
            program.append(receive(source, words, min(gap, 255)))
            ends["r", tile] = arrival + words
    return rows(sends, receives)


@pytest.mark.parametrize("seed", range(60))
def test_phases_do_what_a_word_by_word_machine_does(seed: int) -> None:
    generator = np.random.default_rng(seed)
    table = random_phase(generator)
    outcomes = {"done": 0, "refused": 0}
    for attempt in range(12):
        words = table.words.copy()
        if attempt:  # one bit of one control word is wrong
            words[generator.integers(len(words))] ^= 1 << int(generator.integers(32))
        outcomes[compare_with_slow(replace(table, words=words), generator)] += 1
    assert outcomes["done"] >= 1
    assert outcomes["refused"] >= 1


def compare_with_slow(table: Rows, generator: np.random.Generator) -> str:
    from tiledialect.runtime.exchange import ExchangeError, Room, check_phase, move
    from tiledialect.runtime.memory import Memory
    from tiledialect.runtime.rows_decoder import RowsError, decode

    memory = Memory(4, 11008)
    memory.data[:] = generator.integers(0, 256, memory.data.shape)
    memory.written[:] = generator.random(memory.written.shape) < 0.9
    memory.written[:, : 9 * 280 + A] = 1
    expected: tuple[NDArray[Any], NDArray[Any]] | None = None
    try:
        if longest(table) < 1 << 20:
            expected = slow_phase(table, memory.data, memory.written, memory.span)
    except Wrong:
        pass
    try:
        decoded = decode(table, MINI4.exchange, 4)
        move(memory, check_phase(MINI4, decoded, Room(BASE, memory.span, 1024)))
    except (ExchangeError, RowsError):
        assert expected is None
        return "refused"
    assert expected is not None
    assert np.array_equal(memory.data, expected[0])
    assert np.array_equal(memory.written, expected[1])
    return "done"


def longest(table: Rows) -> int:
    """The longest idle time in rows: what the slow machine cannot walk through."""
    idle = table.words[np.isin(table.words >> 29, (2, 5))]
    return int((idle & (1 << 29) - 1).max(initial=0))
