"""Small packages written by hand, and an assembler for rows of their phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from tiledialect.layout import Layout
from tiledialect.machine import Machine
from tiledialect.runtime.package import (
    Bind,
    Buffer,
    Call,
    ComputeStep,
    ExchangeStep,
    Moves,
    Package,
    Rows,
    Step,
    Support,
    View,
)
from tiledialect.tiles import Box, TileSet

MINI4 = Machine.load("mini4")
Receives: TypeAlias = tuple[int, Sequence[int]]  # cycle of the start, words
BASE = 128 + 2048  # of tensors on mini4: fixed state and support lie below


def send(address: int, words: int = 1) -> int:
    return 1 << 29 | words - 1 << 19 | address // 4


def wait(cycles: int) -> int:
    return 2 << 29 | cycles


def receive(source: int, words: int = 1, idle: int = 0) -> int:
    return 3 << 29 | source << 18 | idle << 10 | words - 1


def point(address: int) -> int:
    return 4 << 29 | address // 4


def pause(cycles: int) -> int:
    return 5 << 29 | cycles


def rows(sends: Mapping[int, Sequence[int]], receives: Mapping[int, Receives]) -> Rows:
    """Rows of these programs by tile; a receive program comes with its start cycle."""
    programs: list[Sequence[int]] = []
    tiles = sorted({*sends, *receives})
    number: dict[str, list[int]] = {"send": [], "receive": [], "start": []}
    for tile in tiles:
        start, program = receives.get(tile, (0, ()))
        number["start"].append(start)
        for kind, words in (("send", sends.get(tile, ())), ("receive", program)):
            number[kind].append(len(programs) if words else -1)
            if words:
                programs.append(words)
    edges = np.cumsum([0, *(len(words) for words in programs)])
    return Rows(
        np.array(tiles, np.int64),
        np.array(number["send"], np.int64),
        np.array(number["receive"], np.int64),
        np.array(number["start"], np.int64),
        edges.astype(np.int64),
        np.array([word for words in programs for word in words], np.uint32),
    )


def phase(length: int, table: Rows, name: str = "E") -> ExchangeStep:
    return ExchangeStep(name, "f.mlir:1:1", length, (0, 0, 0), 1, None, table)


def tiles(*numbers: int) -> TileSet:
    return TileSet.of(np.array(numbers, np.int64))


def compute(*calls: Call | Moves, name: str = "C") -> ComputeStep:
    return ComputeStep(name, "f.mlir:2:3", None, calls)


def view(address: int, format: str, *axes: Sequence[tuple[int, int]]) -> View:
    return View(address, format, 0, tuple(tuple(axis) for axis in axes))


def bind(kind: str, name: str, shape: tuple[int, ...], address: int) -> Bind:
    """An f32 tensor, linear over all four tiles, in that place of them all."""
    layout = Layout.linear(shape, 4, 4)
    return Bind(kind, 0, name, "f32", 0, shape, layout, address, layout.tile_bytes)


def buffer(name: str, address: int, bytes: int, first: int, end: int) -> Buffer:
    """A buffer on all four tiles."""
    everywhere = TileSet((Box(0, ((4, 1),)),))
    live = ((first, end),)
    return Buffer(name, address, bytes, everywhere, live, "any", "input", "f.mlir:1:1")


def package(
    steps: Sequence[Step], binds: Sequence[Bind], buffers: Sequence[Buffer]
) -> Package:
    """A package for mini4 with all its memory as budget and support for few rows."""
    made = Package(
        compiler="0",
        source="builtin.module {\n}\n",
        machine=dict(MINI4.fields),
        budget=MINI4.max_bytes,
        reserve=0,
        entry="main",
        binds=tuple(binds),
        buffers=tuple(buffers),
        support=Support(1664, 256, 64, 64, 2048),
        footprint=MINI4.max_bytes,
        live_peak=0,
        estimated_cycles=0,
        certificate=None,
        steps=tuple(steps),
    )
    return made


def shift_package() -> Package:
    """x of 8 floats, two a tile; every tile's pair moves to the next tile."""
    sends = {t: [send(BASE, 2)] for t in range(4)}
    # a word sent at cycle 0 arrives at the latency of the tile: 10 or 12
    receives = {
        t: (MINI4.latency(t), [point(BASE + 1024), receive((t - 1) % 4, 2)])
        for t in range(4)
    }
    return package(
        [phase(14, rows(sends, receives))],
        [bind("input", "x", (8,), BASE), bind("output", "y", (8,), BASE + 1024)],
        [buffer("x", BASE, 8, 0, 1), buffer("y", BASE + 1024, 8, 0, 1)],
    )


def with_steps(made: Package, *steps: Step) -> Package:
    return replace(made, steps=steps)
