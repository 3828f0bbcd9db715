"""The SRAM of all tiles, byte for byte, and which bytes hold something.

Bytes lie in one array, tiles by addresses; a second one says which of them somebody
wrote. Views of blocks are numpy views of these arrays with the strides of a codelet's
operand, a box of tiles at a time, so nothing is copied to look at it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tiledialect.layout import round_up
from tiledialect.tiles import Box, TileSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tiledialect.runtime.package import Buffer, Ints

    Bytes = NDArray[np.uint8]


class Memory:
    """`span` bytes on each of `tiles` tiles, nothing written yet."""

    def __init__(self, tiles: int, span: int) -> None:
        self.span = round_up(span, 64)
        # np.zeros takes pages when they are used, np.zeros_like would fill them all
        shape = (tiles, self.span)
        self.data: Bytes = np.zeros(shape, dtype=np.uint8)
        self.written: Bytes = np.zeros(shape, dtype=np.uint8)  # 0 or 1
        self.touched: Bytes = np.zeros(shape, dtype=np.uint8)  # to the last release

    def strided(
        self, table: Bytes, box: Box, address: int, shape: Sequence[tuple[int, int]]
    ) -> Bytes:
        """Bytes from `address` on of a box of tiles; `shape` holds (count, stride in
        bytes) of each further axis. Axes of the box come first."""
        steps = [(count, stride * self.span) for count, stride in box.steps]
        start = table.reshape(-1)[box.first * self.span + address :]
        every = (*steps, *shape)
        return np.lib.stride_tricks.as_strided(
            start, [count for count, _ in every], [stride for _, stride in every]
        )

    def release(self, buffer: Buffer, kept: Sequence[Buffer]) -> None:
        """Forget the bytes of a buffer that is dead, but not those of `kept` ones."""
        shape = [(buffer.bytes, 1)]
        held = self._held(buffer, kept)
        for box in buffer.tiles.boxes:
            written = self.strided(self.written, box, buffer.address, shape)
            touched = self.strided(self.touched, box, buffer.address, shape)
            touched |= written
            if held is None:
                written[...] = 0
            else:
                written &= held[box.array()].reshape(written.shape)

    def _held(self, buffer: Buffer, kept: Sequence[Buffer]) -> Bytes | None:
        """1 for each byte of `buffer`, tiles by bytes, that a kept one holds too."""
        begin, end = buffer.address, buffer.address + buffer.bytes
        meeting = [
            other
            for other in kept
            if other.address < end and begin < other.address + other.bytes
        ]
        if not meeting:
            return None
        held = np.zeros((len(self.data), buffer.bytes), dtype=np.uint8)
        for other in meeting:
            low = max(other.address, begin) - begin
            high = min(other.address + other.bytes, end) - begin
            held[other.tiles.array(), low:high] = 1
        return held

    def touched_bytes(self) -> Ints:
        """On each tile, how many byte addresses ever held something."""
        counts = np.zeros(len(self.data), dtype=np.int64)
        for tile in range(len(self.data)):
            counts[tile] = np.count_nonzero(self.touched[tile] | self.written[tile])
        return counts


def placed_bytes(buffers: Sequence[Buffer], tiles: int) -> Ints:
    """On each tile, how many byte addresses its buffers ever occupy."""
    has = np.zeros((tiles, len(buffers)), dtype=np.bool_)
    for number, buffer in enumerate(buffers):
        has[buffer.tiles.array(), number] = True
    classes, of_tile = np.unique(has, axis=0, return_inverse=True)
    totals = [
        _union(
            [
                (b.address, b.address + b.bytes)
                for b, h in zip(buffers, row, strict=True)
                if h
            ]
        )
        for row in classes
    ]
    return np.array(totals, dtype=np.int64)[of_tile.reshape(-1)]


def _union(intervals: list[tuple[int, int]]) -> int:
    """How many numbers lie in at least one half-open interval."""
    total, reached = 0, 0
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def all_tiles(tiles: TileSet, count: int) -> bool:
    """Whether every tile of a set is one of `count`."""
    return all(
        box.first + sum((c - 1) * s for c, s in box.steps) < count
        for box in tiles.boxes
    )
