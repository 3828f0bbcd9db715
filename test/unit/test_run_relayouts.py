"""Random relayouts from one end to the other: table, schedule, rows, package, SRAM.

What a layout says goes up, the phase and the copies of the compiler run, and every
replica of the other layout holds the same elements. Nothing is shared between the two
ends but the layouts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from handmade import package, tiles
from relayout_oracle import pairs

from tiledialect.backend.call_runs import copy_runs
from tiledialect.formats import FORMATS
from tiledialect.layout import Layout
from tiledialect.lowering.phase_messages import Move, Phase
from tiledialect.lowering.phase_schedule import schedule_phase
from tiledialect.machine import Machine
from tiledialect.relayout import element_places, relayout, replica_offsets
from tiledialect.rows import relocate, window_bases
from tiledialect.runtime.package import (
    Bind,
    Buffer,
    ComputeStep,
    ExchangeStep,
    Moves,
    Package,
    Rows,
    Support,
    from_bytes,
    to_bytes,
)
from tiledialect.runtime.simulator import Simulator

WIDE = Machine.from_fields(
    {"base": "mini16", "tiles": 2046, "memory": {"support_bytes": 8192}}
)
ELEMENTS = {1: "f8E4M3FNUZ", 2: "f16", 4: "i32"}
PAIRS = list(pairs(60))


def highest_tile(layout: Layout) -> int:
    tile, _ = element_places(layout)
    return int(tile.max(initial=0) + replica_offsets(layout).max())


def aligned(sizes: list[int]) -> list[int]:
    """Addresses for buffers of these sizes, each in memory elements of its own."""
    addresses: list[int] = []
    edges = [edge for edge in WIDE.element_edges() if edge >= 256 + 8192]
    for size in sizes:
        addresses.append(edges[0])
        edges = [edge for edge in edges if edge >= edges[0] + size]
    return addresses


def relayout_package(source: Layout, destination: Layout) -> Package:
    """x in one layout becomes y in the other by one phase and its copies."""
    staging = relayout(source, destination).staging_bytes
    sizes = [-(-layout.tile_bytes // 4) * 4 for layout in (source, destination)]
    sizes.append(max(staging, 8))
    phase = Phase((Move(0, 1, 2, source, destination, False),), tuple(sizes))
    found = schedule_phase(WIDE, phase)
    addresses = aligned(sizes)
    moved = relocate(
        found.rows, window_bases(sizes), np.array(sizes), np.array(addresses)
    )
    table = Rows(
        moved.tiles,
        moved.send,
        moved.receive,
        moved.receive_start,
        moved.start,
        moved.words,
    )
    runs = copy_runs(source, destination, False)
    base = np.where(runs.staged, addresses[2], addresses[0])
    copies = Moves(
        "copy",
        runs.tile,
        runs.source + base,
        runs.destination + addresses[1],
        runs.bytes,
    )
    every = tiles(*range(2046))
    buffers = [
        Buffer(name, address, size, every, ((0, 2),), "any", "x", "f:1:1")
        for name, address, size in zip("xyz", addresses, sizes, strict=True)
    ]
    steps = (
        ExchangeStep("E", "f:1:1", found.numbers["length"], (0, 0, 0), 1, None, table),
        ComputeStep("C", "f:1:1", None, (copies,)),
    )
    made = package(
        steps,
        [bind_of(source, "input", "x", addresses[0])]
        + [
            bind_of(one_replica(destination, more), "output", f"y{more}", addresses[1])
            for more in replica_offsets(destination).tolist()
        ],
        buffers,
    )
    row_bytes = found.numbers["row_bytes"]
    return replace(
        made,
        machine=dict(WIDE.fields),
        budget=WIDE.max_bytes,
        footprint=WIDE.max_bytes,
        support=Support(2048, row_bytes, 64, 64, 8192),
    )


def one_replica(layout: Layout, more: int) -> Layout:
    return replace(layout, first=layout.first + more, replicas=())


def bind_of(layout: Layout, kind: str, name: str, address: int) -> Bind:
    element = ELEMENTS[layout.element_bytes]
    shape = layout.shape
    return Bind(kind, 0, name, element, 0, shape, layout, address, layout.tile_bytes)


@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_a_relayout_arrives_on_every_replica(number: int) -> None:
    source, destination = PAIRS[number]
    if max(highest_tile(source), highest_tile(destination)) > 2045:
        pytest.skip("lies on more tiles than there are")
    made = from_bytes(to_bytes(relayout_package(source, destination)))
    bind = made.binds[0]
    generator = np.random.default_rng(number)
    count = int(np.prod(bind.shape)) * bind.layout.element_bytes
    data = generator.integers(0, 256, count).astype(np.uint8)
    x = data.view(FORMATS[bind.element].dtype).reshape(bind.shape)
    outputs = Simulator(made).run({"x": x}).outputs
    assert len(outputs) == len(replica_offsets(destination))
    for stored in outputs.values():
        assert stored.tobytes() == x.tobytes()
