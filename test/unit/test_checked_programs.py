"""Random relayouts, scheduled and placed by the compiler: both checkers agree."""

from __future__ import annotations

import random

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Operation, SSAValue

from tiledialect.dialects.buffers import BufferOp
from tiledialect.dialects.codelet import ComputeOp, CopyOp
from tiledialect.dialects.exchange import MoveOp, PhaseOp
from tiledialect.dialects.memory import ApartOp, BindOp, ProgramOp
from tiledialect.dialects.tile_types import TensorForm
from tiledialect.formats import format_named
from tiledialect.layout import Cut, Factor, Group, Layout
from tiledialect.machine import Machine
from tiledialect.pipeline import PASSES, make_context
from tiledialect.relayout import relayout
from tiledialect.tiles import TileSet

FORMATS = {1: "f8E4M3FNUZ", 2: "f16", 4: "f32"}
BACK_END = ("schedule-exchange", "check-exchange", "place-memory", "check-memory")


def random_layout(
    rng: random.Random, shape: tuple[int, int], element_bytes: int, tiles: int
) -> Layout:
    if rng.random() < 0.3:
        return Layout.linear(shape, element_bytes, tiles)
    rows, columns = rng.choice([(1, 1), (2, 2), (1, 4), (4, 1), (3, 1), (4, 4), (3, 4)])
    if rows * columns > tiles:
        rows, columns = 2, 2
    order = (Factor(0), Factor(1))
    if rng.random() < 0.4:
        order = (Factor(1), Factor(0), Factor(1, rng.choice([4, 8])))
    twice = 2 * rows * columns <= tiles and rng.random() < 0.4
    cut = Cut(columns, 1, grain=rng.choice([1, 4]), balanced=rng.random() < 0.3)
    return Layout(
        shape,
        element_bytes,
        ((Cut(rows, columns),), (cut,)),
        order,
        replicas=(Group(2, rows * columns),) if twice else (),
    )


class Builder:
    """A module at rung 4 with one phase of random moves, and their copies."""

    def __init__(self, rng: random.Random, machine: str) -> None:
        self.rng, self.machine = rng, machine
        self.tiles = Machine.load(machine).tiles
        self.buffers: list[BufferOp] = []
        self.binds: list[BindOp] = []
        self.moves: list[MoveOp] = []
        self.copies: list[CopyOp] = []

    def buffer(self, name: str, bytes: int, purpose: str) -> SSAValue:
        every = TileSet.of(np.arange(self.tiles, dtype=np.int64))
        op = BufferOp(name, bytes, every, purpose=purpose, live=((0, 2),), align=8)
        self.buffers.append(op)
        return op.result

    def source(self, number: int) -> tuple[SSAValue, Layout]:
        rng = self.rng
        shape = (rng.randint(1, 40), rng.randint(1, 40))
        element_bytes = rng.choice([1, 2, 4])
        layout = random_layout(rng, shape, element_bytes, self.tiles)
        value = self.buffer(f"s{number}", layout.tile_bytes, "input")
        type = TensorForm(shape, format_named(FORMATS[element_bytes])).type
        self.binds.append(BindOp("input", number, f"s{number}", value, layout, type))
        return value, layout

    def move(self, number: int, source: SSAValue, old: Layout) -> None:
        last = self.binds[-1]
        assert last.buffer is source
        form = [int(n) for n in str(last.type).split("<")[1].split("x")[:2]]
        shape = (form[0], form[1])
        new = random_layout(self.rng, shape, old.element_bytes, self.tiles)
        table = relayout(old, new)
        destination = self.buffer(f"d{number}", new.tile_bytes, "operand")
        staging = None
        if table.staging_bytes:
            staging = self.buffer(f"t{number}", table.staging_bytes, "staging")
        self.moves.append(MoveOp(source, destination, old, new, staging=staging))
        if table.copy_tile.size:
            self.copies.append(CopyOp(source, destination, old, new, staging=staging))

    def module(self) -> ModuleOp:
        for number in range(self.rng.randint(1, 2)):
            source = self.source(number)
            for again in range(self.rng.randint(1, 2)):
                self.move(2 * number + again, *source)
        read = {move.source for move in self.moves}
        pairs = [(a, op.result) for a in read for op in self.buffers]
        apart = [(a, b) for a, b in pairs if b not in read]
        steps = [PhaseOp(0, "moves", self.moves), ComputeOp(1, "copies", self.copies)]
        body: list[Operation] = [*self.buffers, *self.binds]
        body += [ApartOp(apart, "sent while received"), *steps]
        attributes = {
            "tile.machine": StringAttr(self.machine),
            "tile.rung": IntegerAttr(4, i64),
        }
        return ModuleOp([ProgramOp("main", body)], attributes)


@pytest.mark.parametrize("machine", ["mini4", "mini16"])
def test_what_the_compiler_makes_of_random_moves_is_proved(machine: str) -> None:
    """40 programs of 1 to 4 moves that share a phase, and sources among them."""
    passes = {entry.name: entry for entry in PASSES}
    for seed in range(40):
        module = Builder(random.Random(seed), machine).module()
        module.verify()
        for name in BACK_END:
            passes[name].load()().apply(make_context(), module)
