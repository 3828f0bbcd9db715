"""Phases that the compiler doubles: both readers accept them, and bytes arrive."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from ladder import checked, compiled
from paired_phases import Bytes

from tiledialect.checkers.deliveries import MoveTable
from tiledialect.checkers.phase_proof import Claims, prove_phase
from tiledialect.checkers.row_reader import RowTable
from tiledialect.checkers.window import Window, WindowBuffer
from tiledialect.layout import Cut, Group, Layout
from tiledialect.lowering.phase_messages import Move, Phase
from tiledialect.lowering.phase_schedule import schedule_phase
from tiledialect.machine import Machine
from tiledialect.relayout import relayout
from tiledialect.rows import relocate, window_bases
from tiledialect.runtime.exchange import Room, check_phase, move
from tiledialect.runtime.memory import Memory
from tiledialect.runtime.package import ExchangeStep, Rows
from tiledialect.runtime.rows_decoder import decode

READ, WRITTEN = 8192, 40960
"""Where buffers that are read lie, and those that are written."""


def paired(rng: random.Random) -> Machine:
    """Sometimes with messages so short that many must be cut."""
    least = rng.choice([1, 2, 4])
    longest = rng.choice([17, 30, 33, 1024, 1024, 1024])
    exchange = {"pair_tiles": 2, "pair_least_items": least}
    exchange["max_message_words"] = longest
    return Machine.from_fields({"base": "mini16", "exchange": exchange})


def layout(rng: random.Random, shape: tuple[int, int], spread: bool) -> Layout:
    """Blocks along one axis, each of them whole on a group of tiles or spread there."""
    parts = rng.choice([1, 2, 4, 8])
    near = rng.random() < 0.6
    group = Group(16 // parts, 1 if near else parts)
    cut = () if parts == 1 else (Cut(parts, 16 // parts if near else 1),)
    cuts = (cut, ()) if rng.random() < 0.5 else ((), cut)
    order = Layout.row_major(2)
    if not spread:
        return Layout(shape, 4, cuts, order, replicas=(group,))
    run = rng.choice([8, 16, 32, 64])
    return Layout(shape, 4, cuts, order, spread=(group,), spread_bytes=run)


@dataclass
class Moved:
    """The moves of a phase with their buffers: source, destination, staging of each."""

    moves: list[Move] = field(default_factory=list[Move])
    tables: list[MoveTable] = field(default_factory=list[MoveTable])
    sizes: list[int] = field(default_factory=list[int])

    def add(self, source: Layout, destination: Layout) -> None:
        table = relayout(source, destination)
        at = len(self.sizes)
        self.moves.append(Move(at, at + 1, at + 2, source, destination, False))
        self.tables.append(MoveTable(at, at + 1, at + 2, table))
        self.sizes += [-(-x.tile_bytes // 4) * 4 for x in (source, destination)]
        self.sizes.append(max(table.staging_bytes, 8))

    def addresses(self) -> list[int]:
        """What is read and what is written in regions of their own."""
        free = [READ, WRITTEN]
        found: list[int] = []
        for number, size in enumerate(self.sizes):
            side = int(number % 3 > 0)
            found.append(free[side])
            free[side] += -(-size // 16) * 16
        return found

    def prove(self, machine: Machine, table: RowTable, claims: Claims) -> None:
        every = np.arange(16, dtype=np.int64)
        window = [
            WindowBuffer(f"b{number}", size, every, number, align=8)
            for number, size in enumerate(self.sizes)
        ]
        numbers = range(len(self.sizes))
        apart = frozenset((one, other) for one in numbers for other in numbers)
        prove_phase(machine, Window(window), self.tables, table, claims, apart)

    def modelled(self, before: Bytes) -> Bytes:
        """Memory after all transfers, one after the other."""
        after, base = before.copy(), self.addresses()
        for one in self.tables:
            table = one.transfers
            for i in range(len(table.source)):
                into = one.staging if table.to_staging[i] else one.destination
                to = base[into] + int(table.offset[i])
                at = base[one.source] + int(table.source_offset[i])
                count = 4 * int(table.words[i])
                number = int(table.destinations[i])
                first, end = table.set_start[number : number + 2].tolist()
                sent = before[table.source[i], at : at + count]
                after[table.set_tiles[first:end], to : to + count] = sent
        return after


def random_moves(rng: random.Random) -> Moved:
    moved = Moved()
    for _ in range(rng.choice([1, 1, 2])):
        shape = (rng.choice([1, 6, 16, 32, 40]), rng.choice([4, 8, 16, 24, 36, 64]))
        moved.add(layout(rng, shape, rng.random() < 0.7), layout(rng, shape, False))
    return moved


def simulated(machine: Machine, placed: RowTable) -> tuple[Bytes, Bytes]:
    """All memory before and after the phase."""
    memory = Memory(16, machine.memory.bytes)
    generator = np.random.default_rng(0)
    memory.data[:, READ:WRITTEN] = generator.integers(
        0, 256, (16, WRITTEN - READ), dtype=np.uint8
    )
    memory.written[:, READ:WRITTEN] = 1
    before = memory.data.copy()
    table = Rows(
        placed.tiles,
        placed.send,
        placed.receive,
        placed.receive_start,
        placed.start,
        placed.words,
    )
    phase = decode(table, machine.exchange, 16)
    room = Room(READ, machine.memory.bytes, READ)
    move(memory, check_phase(machine, phase, room))
    return before, memory.data


def test_scheduled_phases_are_accepted_and_arrive() -> None:
    """80 phases of gathers to groups of tiles, a quarter of them doubled."""
    doubled = 0
    for seed in range(80):
        rng = random.Random(seed)
        machine, moved = paired(rng), random_moves(rng)
        sizes = tuple(moved.sizes)
        found = schedule_phase(machine, Phase(tuple(moved.moves), sizes))
        doubled += int((found.rows.words >> 29 >= 6).any())
        moved.prove(machine, found.rows, Claims(**found.numbers))
        addresses = np.array(moved.addresses())
        placed = relocate(found.rows, window_bases(sizes), np.array(sizes), addresses)
        before, after = simulated(machine, placed)
        assert np.array_equal(after, moved.modelled(before))
    assert doubled > 15


EXAMPLES = Path(__file__).parents[2] / "examples"
PAIRS = (
    '{base = "mini16", exchange = {pair_tiles = 2 : i64, pair_least_items = 4 : i64}}'
)


@pytest.mark.parametrize(
    ("name", "budget"), [("tiny_mlp", "5632"), ("residual_mlp", "28672")]
)
def test_whole_programs_that_double(name: str, budget: str) -> None:
    """From text to results within the reference's error, through both readers."""
    text = (EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8")
    data = compiled(text.replace('"mini16"', PAIRS), budget)
    run = checked(data)
    assert run.passed, run.errors
    assert any(
        (step.rows.words >> 29 >= 6).any()
        for step in run.package.steps
        if isinstance(step, ExchangeStep)
    )
