"""Phases of `paired_rows` in front of both readers, and what they should then find."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from exchange_phases import transfers
from numpy.typing import NDArray
from paired_rows import LEAST, PAIRED, Outcome, Part, encoded, run_rows, scheduled

from tiledialect.checkers.deliveries import MoveTable
from tiledialect.checkers.phase_proof import Claims, prove_phase
from tiledialect.checkers.window import Window, WindowBuffer
from tiledialect.machine import Machine
from tiledialect.runtime.exchange import Room, check_phase, move
from tiledialect.runtime.memory import Memory
from tiledialect.runtime.package import Rows
from tiledialect.runtime.rows_decoder import decode

X_BYTES, Y_BYTES = 16384, 65536
X, Y = 24576, 40960  # of the simulator, in other memory elements
Transfer = tuple[int, int, int, list[int], int]
"""Source, read offset, words, tiles, written offset."""


@dataclass(frozen=True)
class Case:
    """Transfers that a move asks for, and the parts in which they are sent."""

    asked: Sequence[Transfer]
    parts: Sequence[Part]
    machine: Machine = PAIRED
    align: tuple[int, int] = (8, 8)
    changes: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def window(self) -> Window:
        every = np.arange(self.machine.tiles, dtype=np.int64)
        x, y = self.align
        return Window(
            [
                WindowBuffer("x", X_BYTES, every, 0, align=x),
                WindowBuffer("y", Y_BYTES, every, 1, align=y),
            ]
        )

    def rows(self, x: int, y: int) -> Rows:
        return encoded(self.machine, scheduled(self.machine, self.parts), x, y)

    def window_rows(self) -> Rows:
        return self.rows(0, int(self.window.bases[1]))

    def claims(self, outcome: Outcome | None) -> Claims:
        """The figures of a phase; of one that cannot be run a length beyond all."""
        bounds = np.array(
            [
                [bound(self.machine, self.asked, tile, role) for role in (True, False)]
                for tile in range(self.machine.tiles)
            ]
        )
        controls = 0 if outcome is None else max(outcome.controls.values(), default=0)
        longest = self.machine.exchange.max_message_words
        claims = Claims(
            length=1 << 20 if outcome is None else outcome.length,
            bound_receive=int(bounds[:, 0].max()),
            bound_send=int(bounds[:, 1].max()),
            bound_control=controls,
            messages=sum(-(-part.words // longest) for part in self.parts),
            row_bytes=4 * controls,
        )
        return replace(claims, **self.changes)

    def prove(self, table: Rows | None = None, outcome: Outcome | None = None) -> None:
        """Show it to the checker. Raises Disproof."""
        table = self.window_rows() if table is None else table
        moves = [MoveTable(0, 1, -1, transfers(list(self.asked)))]
        apart = frozenset({(0, 1)})
        claims = self.claims(outcome)
        prove_phase(self.machine, self.window, moves, table, claims, apart)

    def accept(self) -> None:
        """Show what is right to the checker with its true figures."""
        table = self.window_rows()
        self.prove(table, run_rows(self.machine, table))


def bound(machine: Machine, asked: Sequence[Transfer], tile: int, into: bool) -> int:
    """The receive bound of a tile, or its send bound, message by message."""
    least = machine.exchange.pair_least_items
    cycles, latency = 0, machine.latency(tile) if into else 1 << 20
    for source, read, words, tiles, written in asked:
        if tile not in (tiles if into else [source]):
            continue
        fits = machine.exchange.pair_tiles == 2 and words % 2 == 0
        fits = fits and words // 2 >= least and read % 8 == 0 and written % 8 == 0
        for other in [tile] if into else tiles:
            fits = fits and other ^ 1 in tiles and other // 2 != source // 2
            if not into:
                latency = min(latency, machine.latency(other))
        cycles += words // 2 if fits else words
    return cycles + latency if cycles else 0


Bytes = NDArray[np.uint8]


def simulate(machine: Machine, table: Rows, seed: int = 0) -> tuple[Bytes, Bytes]:
    """All memory before and after a phase. Raises ExchangeError or RowsError."""
    memory = Memory(machine.tiles, machine.memory.bytes)
    generator = np.random.default_rng(seed)
    memory.data[:, X : X + X_BYTES] = generator.integers(
        0, 256, (machine.tiles, X_BYTES), dtype=np.uint8
    )
    memory.written[:, X : X + X_BYTES] = 1
    before = memory.data.copy()
    phase = decode(table, machine.exchange, machine.tiles)
    room = Room(X, machine.memory.bytes, X)
    move(memory, check_phase(machine, phase, room))
    return before, memory.data


def modelled(asked: Sequence[Transfer], before: Bytes) -> Bytes:
    """Memory after the transfers, one after the other."""
    after = before.copy()
    for source, read, words, tiles, written in asked:
        for tile in tiles:
            sent = before[source, X + read : X + read + 4 * words]
            after[tile, Y + written : Y + written + 4 * words] = sent
    return after


def whole(source: int, words: int, *tiles: int, double: bool = True) -> Case:
    """One transfer from the start of `x` to that of `y`, sent as one part."""
    part = Part(source, 0, words, tiles, 0, double)
    return Case([(source, 0, words, list(tiles), 0)], [part])


def random_case(rng: random.Random, machine: Machine = PAIRED) -> Case:
    """Transfers to random sets. Many that may go doubled go so to the whole pairs of
    their set, and in single words to the rest of it."""
    asked: list[Transfer] = []
    parts: list[Part] = []
    filled = 0
    for _ in range(rng.randint(1, 6)):
        source, words = rng.randrange(16), rng.choice([2, 8, 8, 9, 10, 24, 130])
        pairs = rng.sample(range(8), rng.randint(1, 3))
        tiles = {2 * pair + side for pair in pairs for side in (0, 1)}
        tiles |= {t for t in range(16) if rng.random() < 0.1}
        read = 4 * rng.choice([0, 2, 20, 200, rng.randrange(400)])
        tiles -= {rng.randrange(16)} if rng.random() < 0.3 else set()
        order = sorted(tiles) or [5]
        asked.append((source, read, words, order, filled))
        pair = [t for t in order if t ^ 1 in tiles and t // 2 != source // 2]
        fits = words % 2 == 0 and words // 2 >= LEAST
        fits = fits and read % 8 == filled % 8 == 0 and rng.random() < 0.8
        double = pair if fits else []
        for chosen, flag in (
            (double, True),
            ([t for t in order if t not in double], False),
        ):
            if chosen:
                parts.append(Part(source, read, words, tuple(chosen), filled, flag))
        filled += 4 * words + rng.choice([0, 0, 4, 8])
    rng.shuffle(parts)
    return Case(asked, parts, machine)
