"""Claims about check-exchange: it accepts what is right, and nothing else."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from exchange_phases import (
    MINI4,
    MINI16,
    Phase,
    gather4,
    phase,
    random_phase,
    transfers,
)
from phase_builder import Message, Table, encode
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from tiledialect.checkers.check_exchange import CheckExchangePass
from tiledialect.checkers.deliveries import MoveTable
from tiledialect.checkers.disproof import Disproof
from tiledialect.checkers.row_reader import decode_rows
from tiledialect.checkers.window import Window
from tiledialect.diagnostics import Refused
from tiledialect.machine import Machine
from tiledialect.pipeline import make_context

# What is right is accepted


def test_accepts_a_gather_by_hand() -> None:
    gather4().prove()


def test_accepts_an_empty_phase() -> None:
    phase(MINI4, []).prove()


@pytest.mark.parametrize("words", [63, 64, 65, 1023, 1024, 1025, 2500])
def test_accepts_messages_of_many_control_words(words: int) -> None:
    size = 4 * words
    phase(MINI16, [(0, 0, words, [5, 9], 0)], (size, size)).prove()


def test_accepts_random_phases() -> None:
    rng = random.Random(1)
    for _ in range(200):
        random_phase(rng, rng.choice([MINI4, MINI16])).prove()


def test_decodes_by_hand() -> None:
    """SEND, WAIT, SEND on tile 1; POINT, RECEIVE, PAUSE, RECEIVE on tile 3."""
    words = [
        0x20000002,
        0x40000005,
        0x20080003,
        0x8000000A,
        0x60040000,
        0xA0000003,
        0x60040801,
    ]
    table = Table(
        np.array([1, 3]),
        np.array([0, -1]),
        np.array([-1, 1]),
        np.array([0, 12]),
        np.array([0, 3, 7]),
        np.array(words, np.uint32),
    )
    rows = decode_rows(MINI4, table)
    assert rows.sends.cycle.tolist() == [0, 6]
    assert rows.sends.address.tolist() == [8, 12]
    assert rows.sends.words.tolist() == [1, 2]
    assert rows.receives.cycle.tolist() == [12, 18]
    assert rows.receives.address.tolist() == [40, 44]
    assert rows.receives.source.tolist() == [1, 1]
    assert rows.controls.tolist() == [5, 6]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"length": 1}, "length is"),
        ({"bound_receive": 1}, "receive bound is 1, it is"),
        ({"bound_send": 1}, "send bound is 1, it is"),
        (
            {"bound_control": 10_000},
            "control bound is 10000; its transfers need 7 control words",
        ),
        ({"messages": 3}, "has 3 messages"),
        ({"messages": 5}, "has 5 messages"),
        ({"row_bytes": 4}, "row bytes is 4, it is"),
        ({"length": -1}, "length is -1"),
        ({"length": 1 << 40}, "length is"),
    ],
)
def test_refuses_wrong_figures(change: dict[str, int], message: str) -> None:
    p = gather4()
    p.claims = replace(p.claims, **change)
    with pytest.raises(Disproof, match=message):
        p.prove()


@pytest.mark.parametrize("extra", [1, 100])
def test_refuses_a_length_that_is_too_long(extra: int) -> None:
    p = gather4()
    p.claims = replace(p.claims, length=p.claims.length + extra)
    with pytest.raises(Disproof, match="length"):
        p.prove()


# Each rule, by hand


def refuses(p: Phase, message: str) -> None:
    with pytest.raises(Disproof, match=message):
        p.prove()


def test_refuses_a_receive_without_a_send() -> None:
    p = gather4()
    p.table.receive_start[0] += 40
    p.claims = replace(p.claims, length=p.claims.length + 40)
    refuses(p, r"tile 0 takes 4 words for y \+ 16 from tile 1 from cycle 54 on")


def test_refuses_a_word_that_nobody_receives() -> None:
    p = phase(MINI4, [(0, 0, 2, [1], 0)])
    p.table = encode(
        MINI4, [Message(0, 0, 2, ((1, int(p.window.bases[1])),)), Message(0, 8, 1, ())]
    )
    refuses(p, r"tile 0 sends x \+ 8 in cycle 2, which no tile receives")


def test_refuses_a_missing_run() -> None:
    """Case 139: what a move asks for and no row does."""
    p = gather4()
    p.moves.append(MoveTable(0, 1, -1, transfers([(0, 0, 1, [1], 512)])))
    refuses(p, r"do not deliver 1 words of x \+ 0 of tile 0 to y \+ 512 of tile 1")


def test_refuses_a_run_that_no_move_asks_for() -> None:
    p = gather4()
    p.moves = [MoveTable(0, 1, -1, transfers([]))]
    refuses(p, r"no move asks for 4 words of x \+ 0 of tile 1 to y \+ 16 of tile 0")


def test_refuses_the_wrong_source() -> None:
    """Case 140: rows that put the second half where the first one belongs."""
    p = gather4()
    moved = [
        (tile, 0, 4, [t for t in range(4) if t != tile], 16 * (tile ^ 1))
        for tile in range(4)
    ]
    p.moves = [MoveTable(0, 1, -1, transfers(moved))]
    refuses(p, "the moves ask for|no move asks for|do not deliver")


def test_refuses_two_writers_of_one_word() -> None:
    """Case 137: two moves write one range; disjoint halves are accepted."""
    halves = phase(MINI4, [(0, 0, 4, [3], 0), (1, 0, 4, [3], 16)])
    halves.prove()
    halves.moves = [
        MoveTable(0, 1, -1, transfers([(0, 0, 4, [3], 0), (1, 0, 4, [3], 12)]))
    ]
    refuses(halves, r"the moves write y \+ 12 of tile 3 twice")


def test_refuses_a_window_address_beyond_the_buffer() -> None:
    p = phase(MINI4, [(0, 0, 4, [1], 0)])
    p.moves = [MoveTable(0, 1, -1, transfers([(0, 0, 4, [1], 1012)]))]
    refuses(p, "needs bytes up to 1028 of y, which has 1024")


def test_refuses_a_tile_without_the_buffer() -> None:
    p = gather4()
    x = p.window.buffers[0]
    p.window = Window([replace(x, tiles=np.array([0, 1, 2])), p.window.buffers[1]])
    refuses(p, "uses x on tile 3, which lacks it")


def test_refuses_reads_and_writes_that_nothing_keeps_apart() -> None:
    p = gather4()
    p.apart = frozenset({(1, 0)})
    p.prove()
    p.apart = frozenset()
    p.claims = replace(p.claims)
    late = phase(MINI4, [(0, 0, 4, [1], 0), (1, 0, 20, [2], 64)])
    late.apart = frozenset()
    refuses(late, "tile 1 reads x and writes y in cycle 10, but nothing keeps them")


def test_accepts_unprotected_buffers_that_are_never_touched_together() -> None:
    p = phase(MINI4, [(0, 0, 4, [1], 0), (1, 0, 4, [2], 64)])
    p.apart = frozenset()
    p.prove()


def test_refuses_sending_what_the_phase_receives() -> None:
    """`y` is an alias of `x`: a tile must not send the bytes that it receives."""
    p = gather4()
    x, y = p.window.buffers
    p.window = Window([x, replace(y, storage=0, storage_offset=-16)])
    refuses(p, r"tile 0 sends x \+ 0 in cycle 0, where it receives")


def test_accepts_an_alias_of_other_bytes() -> None:
    p = gather4()
    x, y = p.window.buffers
    p.window = Window([x, replace(y, storage=0, storage_offset=64)])
    p.prove()


GATHER, HALVES, _ = (
    (Path(__file__).parent.parent / "lit" / "passes" / "check-exchange.mlir")
    .read_text(encoding="utf-8")
    .split("// -----")
)


def text_edits(text: str) -> list[str]:
    """The module with one line of its schedule dropped, or one number of it changed."""
    lines = text.splitlines()
    edits: list[str] = []
    for number, line in enumerate(lines):
        if not line.lstrip().startswith("tile "):
            continue
        tail = line[line.index(">") :] if ">" in line else ""
        changed = [tail]
        rows = line.partition(">")[0]
        for found in re.finditer(r"(?<=at )\d+|(?<=from )\d+|\d+:\d+", rows):
            first, end = line[: found.start()], line[found.end() :]
            if ":" in found[0]:
                low, high = (int(n) for n in found[0].split(":"))
                new = [(low + 4, high + 4), (low + 4, high), (low, high - 4)]
                changed += [f"{first}{a}:{b}{end}" for a, b in new]
            else:
                steps = [int(found[0]) + 1, max(0, int(found[0]) - 1)]
                changed += [f"{first}{n}{end}" for n in steps if n != int(found[0])]
        edits += [
            "\n".join([*lines[:number], c, *lines[number + 1 :]]) for c in changed
        ]
    return edits


@pytest.mark.parametrize("text", [GATHER, HALVES])
def test_refuses_every_small_edit_of_a_schedule(text: str) -> None:
    """Dropped lines, ranges a word shorter or aside, cycles and sources one off: 169
    edits, none of them equivalent. Some are no schedule and fail to parse already."""
    check(text)
    edits = text_edits(text)
    for edit in edits:
        with pytest.raises((Refused, ParseError)):
            check(edit)
    assert len(edits) in (131, 38)


def check(text: str) -> None:
    module = Parser(make_context(), text).parse_module()
    CheckExchangePass().apply(make_context(), module)


def test_the_longest_message_counts() -> None:
    """2,500 words are at least 3 messages where a message has at most 1,024."""
    p = phase(MINI16, [(0, 0, 2500, [5], 0)], (10_000, 10_000))
    p.claims = replace(p.claims, messages=2)
    refuses(p, "has 2 messages; its rows hold 40 sends in 3 runs of at most 1024")


def test_the_machine_decides_the_chunk() -> None:
    fields = {"base": "mini4", "exchange": {"send_chunk_words": 2}}
    p = gather4()
    p.machine = Machine.from_fields(fields)
    refuses(p, "more than 2 words")


def test_the_machine_decides_the_latency() -> None:
    p = gather4()
    fields = {"base": "mini4", "exchange": {"latency_cycles": 11}}
    p.machine = Machine.from_fields(fields)
    refuses(p, "is not always sending")
