"""The memory map: which buffer lies where on a class of tiles, from when to when.

Bytes are distinct addresses, the support included, as placement counts them: where
buffers share addresses, a byte counts once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    held = [_classes_with(buffer, classes) for buffer in package.buffers]
    support = package.support.bytes
    live: list[list[int]] = []
    ever: list[int] = []
    for number in range(len(classes)):
        own = [b for b, has in zip(package.buffers, held, strict=True) if number in has]
        ever.append(support + covered(own))
        live.append(
            [
                support + covered(b for b in own if lives(b, step))
                for step in range(len(package.steps))
            ]
        )
    buffers = [_buffer(b, has) for b, has in zip(package.buffers, held, strict=True)]
    return {"buffers": buffers, "live": live, "ever": ever}


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


def covered(buffers: Iterable[Buffer]) -> int:
    """Distinct addresses that buffers of one tile occupy."""
    total, reached = 0, 0
    for begin, end in sorted((b.address, b.address + b.bytes) for b in buffers):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total
