"""Bytes that buffers occupy: the footprint, and the live bytes of each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.checkers.blocks import Blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Occupied:
    """Bytes on the fullest tile: ever, and in each step."""

    ever: int
    ever_tile: int
    peaks: Ints  # (steps,)
    peak_tiles: Ints  # (steps,) the first tile with so many


def occupied(blocks: Blocks) -> Occupied:
    """Distinct addresses that buffers occupy on the fullest tile. Gaps
    between buffers count for nothing, padding inside them does.

    Tiles with the same buffers are counted once. What no step needs occupies nothing.
    """
    used = blocks.in_step.any(axis=1)
    held = blocks.on_tile[used]
    address, end, in_step = (
        blocks.address[used],
        blocks.end[used],
        blocks.in_step[used],
    )
    _, first_tiles = np.unique(np.packbits(held, axis=0), axis=1, return_index=True)
    tiles = np.sort(first_tiles)
    ever = np.zeros(len(tiles), np.int64)
    peaks = np.zeros((len(tiles), blocks.steps), np.int64)
    for position, tile in enumerate(tiles):
        mine = held[:, tile]
        when = np.column_stack([np.ones(mine.sum(), np.bool_), in_step[mine]])
        covered = covered_bytes(address[mine], end[mine], when)
        ever[position], peaks[position] = covered[0], covered[1:]
    if not len(tiles):
        return Occupied(0, 0, np.zeros(blocks.steps, np.int64), peaks[:0].sum(axis=0))
    fullest = int(np.argmax(ever))
    return Occupied(
        ever=int(ever[fullest]),
        ever_tile=int(tiles[fullest]),
        peaks=peaks.max(axis=0),
        peak_tiles=tiles[np.argmax(peaks, axis=0)],
    )


def covered_bytes(address: Ints, end: Ints, when: Flags) -> Ints:
    """Distinct addresses that the ranges [address, end) cover, for each column of
    `when` counting the ranges whose row has it set."""
    order = np.argsort(address, kind="stable")
    low = address[order][:, None]
    high = np.where(when[order], end[order][:, None], 0)
    before = np.maximum.accumulate(high, axis=0)
    before = np.vstack([np.zeros_like(before[:1]), before[:-1]])
    fresh: Ints = np.maximum(high - np.maximum(low, before), 0)
    return fresh.sum(axis=0)
