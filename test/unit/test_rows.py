"""Rows say what they are asked to, word by word, and print so that they read back."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from row_words import Slot, items_received, items_sent, programs
from xdsl.parser import Parser
from xdsl.printer import Printer

from tiledialect import rows as r
from tiledialect.dialects.exchange import RowsAttr
from tiledialect.dialects.rows_text import READABLE_WORDS
from tiledialect.machine import Machine
from tiledialect.pipeline import make_context
from tiledialect.rows import Ints, Receives, Rows, RowsError, Sends

MINI16 = Machine.load("mini16")


def ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)


def sends(*runs: tuple[int, int, int, int]) -> Sends:
    """Runs as (tile, cycle, address, words)."""
    tile, cycle, address, words = (ints([run[i] for run in runs]) for i in range(4))
    return Sends(tile, cycle, address, words)


def doubled(*runs: tuple[int, int, int, int]) -> Sends:
    """Runs of 64-bit items."""
    return replace(sends(*runs), double=np.ones(len(runs), np.bool_))


def receives(*runs: tuple[int, int, int, int, int]) -> Receives:
    """Runs as (tile, cycle, source, address, words)."""
    tile, cycle, source, address, words = (
        ints([run[i] for run in runs]) for i in range(5)
    )
    return Receives(tile, cycle, source, address, words)


def random_phase(random: Random) -> tuple[Sends, Receives]:
    """Runs of some tiles with gaps of all sizes, shared between tiles at times; in one
    phase of two some are of 64-bit items."""
    gaps = [0, 0, 0, 1, 5, 254, 255, 256, 300, 1000]
    lengths = [1, 2, 7, 63, 64, 65, 128, 1024, 1025]
    pairs = random.random() < 0.5
    sent: list[tuple[int, int, int, int, int]] = []
    received: list[tuple[int, int, int, int, int, int]] = []
    for _ in range(random.randint(0, 3)):
        pattern: list[tuple[int, int, int, int]] = []  # gap, items, jump, words an item
        for _ in range(random.randint(1, 6)):
            jump = random.choice([0, 0, 4, 400])
            size = random.choice([1, 2]) if pairs else 1
            pattern.append((random.choice(gaps), random.choice(lengths), jump, size))
        for tile in random.sample(range(16), random.randint(1, 4)):
            clock, address = random.choice(gaps), random.choice([0, 64])
            source, taken = random.randrange(16), {run[0] for run in received}
            already = {run[0] for run in sent}
            for gap, items, jump, size in pattern:
                clock, address = clock + gap, address + jump
                address += address % (4 * size)
                words = items * size
                if tile not in already:
                    sent.append((tile, clock, address, words, size - 1))
                if tile not in taken:
                    received.append((tile, clock, source, address, words, size - 1))
                clock, address = clock + items, address + 4 * words
                source = random.choice([source, source, random.randrange(16)])
    random.shuffle(sent)
    random.shuffle(received)
    out, into = runs_of_64_bits(sent, received)
    if pairs:
        return out, into
    return replace(out, double=None), replace(into, double=None)


def runs_of_64_bits(
    sent: list[tuple[int, int, int, int, int]],
    received: list[tuple[int, int, int, int, int, int]],
) -> tuple[Sends, Receives]:
    """The runs, of which those whose last number is 1 are of 64-bit items."""
    double = np.array([run[4] > 0 for run in sent], np.bool_)
    twice = np.array([run[5] > 0 for run in received], np.bool_)
    out = sends(*((t, c, a, w) for t, c, a, w, _ in sent))
    into = receives(*((t, c, s, a, w) for t, c, s, a, w, _ in received))
    return replace(out, double=double), replace(into, double=twice)


def rows_of(runs: Sends | Receives) -> list[list[int]]:
    """The runs one by one, each with the words of an item last."""
    size = np.ones_like(runs.words) if runs.double is None else 1 + runs.double
    columns = [column for name, column in vars(runs).items() if name != "double"]
    return np.column_stack([*columns, size]).tolist()


Items = tuple[dict[Slot, tuple[int, int]], dict[Slot, tuple[int, int, int]]]


def expected(sent: Sends, received: Receives) -> Items:
    """What is sent and received in each cycle: where, and how many bytes."""
    out = {
        (tile, cycle + i): (address + 4 * size * i, 4 * size)
        for tile, cycle, address, words, size in rows_of(sent)
        for i in range(words // size)
    }
    into = {
        (tile, cycle + i): (source, address + 4 * size * i, 4 * size)
        for tile, cycle, source, address, words, size in rows_of(received)
        for i in range(words // size)
    }
    return out, into


@pytest.mark.parametrize("seed", range(60))
def test_rows_move_the_words_they_are_made_for(seed: int) -> None:
    sent, received = random_phase(Random(seed))
    rows = r.encode(sent, received)
    r.check_rows(rows)
    assert (items_sent(rows), items_received(rows)) == expected(sent, received)
    assert expected(*r.decode(rows)) == expected(sent, received)
    assert r.encode(*r.decode(rows)) == rows
    taking_part = {*sent.tile.tolist(), *received.tile.tolist()}
    assert rows.tiles.tolist() == sorted(taking_part)


@pytest.mark.parametrize("seed", range(20))
def test_equal_programs_are_stored_once(seed: int) -> None:
    rows = r.encode(*random_phase(Random(seed)))
    stored = [rows.words[a:b].tobytes() for a, b in pairwise(rows.start)]
    assert len(set(stored)) == len(stored)
    assert {*rows.send.tolist(), *rows.receive.tolist()} - {-1} == set(
        range(rows.programs)
    )


@pytest.mark.parametrize("seed", range(20))
def test_control_words_are_counted_by_kind(seed: int) -> None:
    rows = r.encode(*random_phase(Random(seed)))
    x = MINI16.exchange
    price = [0, x.send_controls, x.gap_controls, x.source_controls, x.pointer_controls]
    price += [1, x.send_controls, x.source_controls]
    totals = dict.fromkeys(rows.tiles.tolist(), x.phase_controls)
    for numbers in (rows.send, rows.receive):
        for tile, program in programs(rows, numbers).items():
            totals[tile] += sum(price[word >> 29] for word in program)
    assert r.control_words(rows, x).tolist() == list(totals.values())


def control(rows: Rows, numbers: Ints, tile: int = 0) -> list[str]:
    """A program's opcodes, with the number each carries."""
    said: list[str] = []
    for word in programs(rows, numbers)[tile]:
        opcode = word >> 29
        names = [
            "",
            "send",
            "wait",
            "receive",
            "point",
            "pause",
            "pairs",
            "receive pairs",
        ]
        number = {1: (word >> 19 & 63) + 1, 3: (word & 1023) + 1}
        number |= {6: number[1], 7: number[3]}
        said.append(f"{names[opcode]} {number.get(opcode, word & 0x7FFFF)}")
    return said


def test_limits_of_words() -> None:
    none = receives()
    at = r.encode(sends((0, 0, 0, 64)), none)
    past = r.encode(sends((0, 0, 0, 65)), none)
    assert control(at, at.send) == ["send 64"]
    assert control(past, past.send) == ["send 64", "send 1"]
    narrow = r.encode(sends((0, 3, 0, 5)), none, 4)
    assert control(narrow, narrow.send) == ["wait 3", "send 4", "send 1"]
    at = r.encode(sends(), receives((0, 9, 1, 0, 512), (0, 521, 1, 2048, 512)))
    past = r.encode(sends(), receives((0, 9, 1, 0, 512), (0, 521, 1, 2048, 513)))
    assert control(at, at.receive) == ["point 0", "receive 1024"]
    assert control(past, past.receive) == ["point 0", "receive 1024", "receive 1"]
    near = r.encode(sends(), receives((0, 9, 1, 0, 1), (0, 265, 1, 4, 1)))
    far = r.encode(sends(), receives((0, 9, 1, 0, 1), (0, 266, 1, 4, 1)))
    assert control(near, near.receive) == ["point 0", "receive 1", "receive 1"]
    assert control(far, far.receive) == [
        "point 0",
        "receive 1",
        "pause 256",
        "receive 1",
    ]
    assert near.receive_start.tolist() == [9]
    twice = np.array([True])
    pair = Sends(ints([0]), ints([2]), ints([8]), ints([130]), twice)
    assert control(r.encode(pair, none), ints([0])) == ["wait 2", "pairs 64", "pairs 1"]
    one = ints([1])
    pair = Receives(ints([0]), one, one, ints([8]), ints([2050]), twice)
    rows = r.encode(sends(), pair)
    assert control(rows, rows.receive) == [
        "point 2",
        "receive pairs 1024",
        "receive pairs 1",
    ]


@pytest.mark.parametrize(
    ("sent", "received", "message"),
    [
        (sends((0, 0, 0, 4), (0, 3, 0, 1)), receives(), "sends two words at cycle 3"),
        (sends(), receives((2, 5, 0, 0, 2), (2, 6, 0, 8, 1)), "tile 2 receives two"),
        (sends((0, 0, 2, 1)), receives(), "no word of a tile's memory"),
        (sends((0, 0, 1 << 21, 1)), receives(), "no word of a tile's memory"),
        (sends((2047, 0, 0, 1)), receives(), "no number below 2047"),
        (sends(), receives((0, 0, 2048, 0, 1)), "no number below 2048"),
        (sends((0, 0, 0, 0)), receives(), "no words or no cycle"),
        (sends((0, -1, 0, 1)), receives(), "no words or no cycle"),
        (doubled((0, 0, 4, 2)), receives(), "no whole number of 8-byte words"),
        (doubled((0, 0, 8, 3)), receives(), "no whole number of 8-byte words"),
        (doubled((0, 0, 0, 4), (0, 1, 16, 2)), receives(), "two words at cycle 1"),
    ],
)
def test_impossible_phases_are_refused(
    sent: Sends, received: Receives, message: str
) -> None:
    with pytest.raises(RowsError, match=message):
        r.encode(sent, received)


def table(**changes: Ints) -> Rows:
    """A send program of tile 1 and a receive program of tile 2, with changes."""
    words = np.array([1 << 29, 4 << 29, 3 << 29], np.uint32)
    fields = {
        "tiles": ints([1, 2]),
        "send": ints([0, -1]),
        "receive": ints([-1, 1]),
        "receive_start": ints([0, 10]),
        "start": ints([0, 1, 3]),
    }
    return Rows(**{**fields, **changes}, words=words)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"send": ints([0])}, "need as many program numbers"),
        ({"tiles": ints([2, 1])}, "must grow"),
        ({"start": ints([0, 1, 2])}, "must cover the 3 words"),
        ({"start": ints([0, 0, 3])}, "at least one word"),
        ({"send": ints([2, -1])}, "none of the 2 programs"),
        ({"receive_start": ints([0, -1])}, "impossible cycle"),
        ({"send": ints([0, 1])}, "mixes sending and receiving"),
    ],
)
def test_tables_that_contradict_themselves_are_refused(
    changes: dict[str, Ints], message: str
) -> None:
    r.check_rows(table())
    with pytest.raises(RowsError, match=message):
        r.check_rows(table(**changes))


def read_back(rows: Rows) -> tuple[str, Rows]:
    """The text of rows, and what it reads as."""
    output = io.StringIO()
    Printer(output).print_attribute(RowsAttr(rows))
    text = output.getvalue()
    attribute = Parser(make_context(), text).parse_attribute()
    assert isinstance(attribute, RowsAttr)
    return text, attribute.data


@pytest.mark.parametrize("seed", range(30))
def test_the_text_reads_back(seed: int) -> None:
    rows = r.encode(*random_phase(Random(seed)))
    text, again = read_back(rows)
    assert again == rows
    followed = sum(
        len(program)
        for numbers in (rows.send, rows.receive)
        for program in programs(rows, numbers).values()
    )
    assert ("words" in text) == (followed > READABLE_WORDS)


def test_rows_that_a_table_cannot_say_are_compressed() -> None:
    waits = np.array([2 << 29 | 1, 2 << 29 | 1, 1 << 29], np.uint32)
    rows = Rows(ints([0]), ints([0]), ints([-1]), ints([0]), ints([0, 3]), waits)
    text, again = read_back(rows)
    assert "1 tiles 1 programs 3 words" in text
    assert again == rows


def test_a_large_phase_is_a_small_text() -> None:
    """1472 tiles that send to the next one: alike programs, few characters."""
    tile = np.arange(1472)
    zero = np.zeros_like(tile)
    sent = Sends(tile, tile % 7, zero, zero + 90)
    received = Receives((tile + 1) % 1472, tile % 7 + 60, tile, zero + 512, zero + 90)
    text, again = read_back(r.encode(sent, received))
    assert again == r.encode(sent, received)
    assert len(text) < 20_000


@pytest.mark.parametrize("seed", range(20))
def test_window_addresses_become_addresses(seed: int) -> None:
    random = Random(seed)
    sent, received = random_phase(random)
    top = int(
        max(
            (sent.address + 4 * sent.words).max(initial=4),
            (received.address + 4 * received.words).max(initial=4),
        )
    )
    sizes = [top, top + 2, 5]
    bases = r.window_bases(sizes)
    second = next(at for at in range(0, 1 << 21, 16) if at >= top + 4)
    third = next(at for at in range(second, 1 << 21, 16) if at >= second + top + 8)
    assert bases.tolist() == [0, second, third]
    elsewhere = replace(received, address=received.address + bases[1])
    rows = r.encode(sent, elsewhere)
    places = ints([4096, 1 << 20, 0])
    moved = r.relocate(rows, bases, ints(sizes), places)
    out, into = expected(sent, received)
    assert items_sent(moved) == {
        slot: (at + 4096, size) for slot, (at, size) in out.items()
    }
    assert items_received(moved) == {
        slot: (source, at + (1 << 20), size)
        for slot, (source, at, size) in into.items()
    }


def test_64_bit_items_that_are_moved_to_odd_words_are_refused() -> None:
    yes, no = np.array([True]), np.array([False])
    for double, other in ((yes, no), (no, yes)):
        rows = r.encode(
            Sends(ints([0]), ints([0]), ints([0]), ints([4]), double),
            Receives(ints([2]), ints([9]), ints([0]), ints([32]), ints([4]), other),
        )
        bases, sizes = r.window_bases([16, 16]), ints([16, 16])
        assert r.relocate(rows, bases, sizes, ints([8, 264])) != rows
        into = [(8, 260), (12, 264)]
        one, two = into if double[0] else into[::-1]
        assert r.relocate(rows, bases, sizes, ints(list(one))) != rows
        with pytest.raises(RowsError, match="no multiple of 8"):
            r.relocate(rows, bases, sizes, ints(list(two)))


def test_64_bit_items_behind_words_of_4_bytes_have_their_own_place() -> None:
    """One POINT is for 3 words and the 2 items behind them: these lie at 16 mod 8."""
    rows = r.encode(
        sends(),
        Receives(
            ints([2, 2]),
            ints([9, 12]),
            ints([0, 0]),
            ints([4, 16]),
            ints([3, 4]),
            np.array([False, True]),
        ),
    )
    assert control(rows, rows.receive, 2) == ["point 1", "receive 3", "receive pairs 2"]
    bases, sizes = r.window_bases([64]), ints([64])
    assert items_received(r.relocate(rows, bases, sizes, ints([8])))[2, 12] == (
        0,
        24,
        8,
    )
    with pytest.raises(RowsError, match="no multiple of 8"):
        r.relocate(rows, bases, sizes, ints([4]))


def test_an_address_behind_its_buffer_is_refused() -> None:
    rows = r.encode(sends((0, 0, 8, 1)), receives())
    bases, place = r.window_bases([8, 8]), ints([64, 128])
    with pytest.raises(RowsError, match="lies in no buffer"):
        r.relocate(rows, bases, ints([8, 8]), place)
