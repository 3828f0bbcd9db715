"""Relayouts by brute force: messages moved and runs joined one by one."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from random import Random

import numpy as np
from layout_oracle import (
    group_tiles,
    places,
    random_pair,
    random_reduce_scatter,
    sizes,
    whole,
)
from numpy.typing import NDArray

from tiledialect.layout import Layout
from tiledialect.relayout import Transfers

Bytes = NDArray[np.uint8]
Run = tuple[int, int, int, int, int]  # source tile, offset, first target, offset, bytes


def pairs(count: int, partial: bool = False) -> Iterator[tuple[Layout, Layout]]:
    random = Random(11)
    for i in range(count):
        if partial and i % 2:
            yield random_reduce_scatter(random)
        else:
            yield random_pair(random, partial)


POOL = np.random.default_rng(5).integers(0, 256, 1 << 18, dtype=np.uint8)


def random_bytes(seed: int, *shape: int) -> Bytes:
    """A stretch of the pool, at another place for each seed."""
    begin = seed * 7919 % (1 << 17)
    return POOL[begin : begin + prod(shape)].reshape(shape).copy()


class Memory:
    """Buffers of random bytes, one a tile, and how often each byte was written."""

    def __init__(self, buffer_bytes: int, seed: int) -> None:
        self.bytes: dict[int, Bytes] = {}
        self.writes: dict[int, Bytes] = {}
        self.size = buffer_bytes
        self.seed = seed

    def of(self, tile: int) -> Bytes:
        if tile not in self.bytes:
            self.bytes[tile] = random_bytes(self.seed + tile, self.size)
            self.writes[tile] = np.zeros(self.size, np.uint8)
        return self.bytes[tile]

    def read(self, tile: int, offset: int, count: int) -> Bytes:
        assert 0 <= offset <= offset + count <= self.size
        return self.of(tile)[offset : offset + count]

    def write(self, tile: int, offset: int, data: Bytes) -> None:
        assert 0 <= offset <= offset + data.size <= self.size
        self.of(tile)[offset : offset + data.size] = data
        self.writes[tile][offset : offset + data.size] += 1


def filled(layout: Layout, values: Bytes) -> Memory:
    """Each tile's buffer where values[q, e] are the bytes of element e of partial q."""
    memory = Memory(whole(sizes(layout)[1], 4), 1000)
    partials = group_tiles((layout.partial,) if layout.partial else ())
    for element, place in enumerate(places(layout)):
        for q, partial in enumerate(partials):
            for replica in group_tiles(layout.replicas):
                tile = place.tile + partial + replica
                memory.write(tile, place.offset, values[q, element])
    assert all((writes <= 1).all() for writes in memory.writes.values())
    return memory


def moved(table: Transfers, source: Memory, buffer_bytes: int) -> Memory:
    """The destination's buffers after the messages and then the copies."""
    result, staging = Memory(buffer_bytes, 5000), Memory(table.staging_bytes, 9000)
    for i in range(table.source.size):
        data = source.read(
            int(table.source[i]), int(table.source_offset[i]), int(table.words[i]) * 4
        )
        assert data.size
        assert table.source_offset[i] % 4 == table.offset[i] % 4 == 0
        into = staging if table.to_staging[i] else result
        for tile in set_of(table, int(table.destinations[i])):
            into.write(tile, int(table.offset[i]), data)
    for i in range(table.copy_tile.size):
        tile, begin = int(table.copy_tile[i]), int(table.copy_from[i])
        count = int(table.copy_bytes[i])
        assert count > 0
        if table.copy_staged[i]:
            staging.of(tile)
            assert (staging.writes[tile][begin : begin + count] == 1).all()
        data = (staging if table.copy_staged[i] else source).read(tile, begin, count)
        result.write(tile, int(table.copy_to[i]), data)
    assert all((writes <= 1).all() for writes in staging.writes.values())
    return result


def set_of(table: Transfers, number: int) -> list[int]:
    begin, end = table.set_start[number], table.set_start[number + 1]
    return table.set_tiles[begin:end].tolist()


def expect(result: Memory, layout: Layout, values: list[Bytes]) -> None:
    """Each slot of a stack holds its values, each byte written once; nothing else is
    touched. values[slot][replica, e] are the bytes of element e on that replica."""
    slot_bytes = sizes(layout)[1]
    untouched = Memory(result.size, result.seed)
    for element, place in enumerate(places(layout)):
        for r, replica in enumerate(group_tiles(layout.replicas)):
            for slot, value in enumerate(values):
                untouched.write(
                    place.tile + replica,
                    place.offset + slot * slot_bytes,
                    value[r, element],
                )
    assert untouched.bytes.keys() == result.bytes.keys()
    for tile in result.bytes:
        assert untouched.bytes[tile].tolist() == result.bytes[tile].tolist()
        assert untouched.writes[tile].tolist() == result.writes[tile].tolist()


def expected_runs(source: Layout, destination: Layout) -> list[Run]:
    """The longest runs, from single elements joined one by one."""
    size = source.element_bytes
    elements = sorted(
        (a.tile, b.tile, a.offset, b.offset)
        for a, b in zip(places(source), places(destination), strict=True)
    )
    runs: list[Run] = []
    for tile, target, at, to in elements:
        if runs:
            last = runs[-1]
            if (tile, at, target, to) == (
                last[0],
                last[1] + last[4],
                last[2],
                last[3] + last[4],
            ):
                runs[-1] = (*last[:4], last[4] + size)
                continue
        runs.append((tile, at, target, to, size))
    return runs
