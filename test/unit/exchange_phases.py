"""Whole small phases for the tests of check-exchange: moves, rows and figures."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from phase_builder import Message, Table, encode, run_rows

from tiledialect.checkers.deliveries import MoveTable
from tiledialect.checkers.disproof import Disproof
from tiledialect.checkers.phase_proof import Claims, prove_phase
from tiledialect.checkers.window import Window, WindowBuffer
from tiledialect.machine import Machine
from tiledialect.relayout import Transfers

MINI4 = Machine.load("mini4")
MINI16 = Machine.load("mini16")
NONE = np.zeros(0, np.int64)


def transfers(rows: list[tuple[int, int, int, list[int], int]]) -> Transfers:
    """A table of (source, source offset, words, destinations, offset)."""
    ends = np.cumsum([0, *(len(row[3]) for row in rows)]).astype(np.int64)

    def column(number: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([row[number] for row in rows], np.int64)

    return Transfers(
        source=column(0),
        source_offset=column(1),
        words=column(2),
        destinations=np.arange(len(rows), dtype=np.int64),
        offset=column(4),
        to_staging=np.zeros(len(rows), np.bool_),
        set_start=ends,
        set_tiles=np.array([t for row in rows for t in row[3]], np.int64),
        copy_tile=NONE,
        copy_from=NONE,
        copy_to=NONE,
        copy_bytes=NONE,
        copy_staged=np.zeros(0, np.bool_),
        staging_bytes=0,
    )


def window(machine: Machine, sizes: dict[str, int]) -> Window:
    every = np.arange(machine.tiles, dtype=np.int64)
    return Window([WindowBuffer(n, sizes[n], every, i) for i, n in enumerate(sizes)])


@dataclass
class Phase:
    """A phase as the checker sees it."""

    machine: Machine
    window: Window
    moves: list[MoveTable]
    table: Table
    claims: Claims
    apart: frozenset[tuple[int, int]] = frozenset({(0, 1)})

    def prove(self) -> None:
        prove_phase(
            self.machine, self.window, self.moves, self.table, self.claims, self.apart
        )

    def accepts(self) -> bool:
        try:
            self.prove()
        except Disproof:
            return False
        return True


def claims_of(machine: Machine, messages: list[Message], table: Table) -> Claims:
    """A phase's figures, counted one message at a time."""
    outcome = run_rows(machine, table)
    most = machine.exchange.max_message_words
    words_in: dict[int, int] = {}
    words_out: dict[int, int] = {}
    least: dict[int, int] = {}
    for m in messages:
        words_out[m.source] = words_out.get(m.source, 0) + m.words
        for tile, _ in m.places:
            words_in[tile] = words_in.get(tile, 0) + m.words
            near = min(least.get(m.source, 1 << 30), machine.latency(tile))
            least[m.source] = near
    return Claims(
        length=outcome.length,
        bound_receive=max(
            (words_in[t] + machine.latency(t) for t in words_in), default=0
        ),
        bound_send=max((words_out[t] + least[t] for t in words_out), default=0),
        bound_control=outcome.controls,
        messages=sum(-(-m.words // most) for m in messages),
        row_bytes=outcome.controls * machine.exchange.control_word_bytes,
    )


def phase(
    machine: Machine,
    moved: list[tuple[int, int, int, list[int], int]],
    sizes: tuple[int, int] = (256, 1024),
) -> Phase:
    """A phase of one move between buffers `x` and `y`, with rows that are right."""
    view = window(machine, {"x": sizes[0], "y": sizes[1]})
    base = int(view.bases[1])
    messages = [
        Message(s, offset, words, tuple((t, base + to) for t in tiles))
        for s, offset, words, tiles, to in moved
    ]
    table = encode(machine, messages)
    move = MoveTable(0, 1, -1, transfers(moved))
    return Phase(machine, view, [move], table, claims_of(machine, messages, table))


def gather4() -> Phase:
    """Every tile of mini4 gets the 4 words of each other tile."""
    moved = [
        (tile, 0, 4, [t for t in range(4) if t != tile], 16 * tile) for tile in range(4)
    ]
    return phase(MINI4, moved)


def random_phase(rng: random.Random, machine: Machine) -> Phase:
    """Random multicasts, whose destinations do not overlap on any tile."""
    moved: list[tuple[int, int, int, list[int], int]] = []
    filled = 0
    for _ in range(rng.randint(1, 12)):
        words = rng.choice([1, 1, 2, 3, 5, 9])
        tiles = sorted(rng.sample(range(machine.tiles), rng.randint(1, 3)))
        source = rng.randrange(machine.tiles)
        moved.append((source, 4 * rng.randrange(64 - words), words, tiles, filled))
        filled += 4 * words + rng.choice([0, 0, 4])
    return phase(machine, moved)
