"""The memory map: which buffer lies where on a class of tiles, from when to when.

Bytes are distinct addresses, the support included, as placement counts them: where
buffers share addresses, a byte counts once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from tiledialect.runtime.memory import placed_bytes

if TYPE_CHECKING:
    from tiledialect.report.tile_classes import TileClasses
    from tiledialect.runtime.package import Buffer, Package


class BufferData(TypedDict):
    """A buffer, and the classes that have it. `live` are half-open ranges of steps."""

    name: str
    address: int
    bytes: int
    live: list[list[int]]
    region: str
    purpose: str
    location: str
    tiles: int
    classes: list[int]


class MemoryData(TypedDict):
    """The map. `live` has a row a class and a column a step: bytes alive, support
    included; `ever` has for each class the bytes ever occupied."""

    buffers: list[BufferData]
    live: list[list[int]]
    ever: list[int]


def memory_data(package: Package, classes: TileClasses) -> MemoryData:
    """The memory map of a program by class of tiles."""
    tiles, support = len(classes.of_tile), package.support.bytes
    ever = placed_bytes(package.buffers, tiles)[classes.first] + support
    live = np.zeros((len(classes), len(package.steps)), dtype=np.int64)
    for step in range(len(package.steps)):
        now = [buffer for buffer in package.buffers if lives(buffer, step)]
        live[:, step] = placed_bytes(now, tiles)[classes.first] + support
    return {
        "buffers": [_buffer(b, _classes_with(b, classes)) for b in package.buffers],
        "live": live.tolist(),
        "ever": ever.tolist(),
    }


def _classes_with(buffer: Buffer, classes: TileClasses) -> list[int]:
    """The classes whose tiles have a buffer: all of a class or none."""
    return np.unique(classes.of_tile[buffer.tiles.array()]).tolist()


def _buffer(buffer: Buffer, classes: list[int]) -> BufferData:
    return {
        "name": buffer.name,
        "address": buffer.address,
        "bytes": buffer.bytes,
        "live": [list(pair) for pair in buffer.live],
        "region": buffer.region,
        "purpose": buffer.purpose,
        "location": buffer.location,
        "tiles": len(buffer.tiles),
        "classes": classes,
    }


def lives(buffer: Buffer, step: int) -> bool:
    """Whether a buffer is alive in a step."""
    return any(first <= step < end for first, end in buffer.live)
