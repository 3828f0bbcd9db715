"""Padding: the bytes of each tile's buffer that a fill makes zero."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.blocks import axis_blocks
from tiledialect.byte_runs import Runs, byte_runs, outer_sum, spread_places

if TYPE_CHECKING:
    from tiledialect.layout import Group, Ints, Layout


@dataclass(frozen=True)
class Padding:
    """Longest runs of bytes that hold no element, by tile, then by offset."""

    tiles: Ints
    offset: Ints
    bytes: Ints


def padding_runs(layout: Layout, axis: int | None = None) -> Padding:
    """The padding of every tile that holds an element, replicas and partials too.

    Without `axis` all bytes of a tile's buffer that hold none; with it only the places
    behind the block's own extent along that axis, at the block's indices of the others:
    what a matmul reads beyond its true depth. Tiles without elements have none.
    """
    if 0 in layout.shape:
        nothing = np.zeros(0, dtype=np.int64)
        return Padding(nothing, nothing, nothing)
    runs = _gaps(layout) if axis is None else _behind(layout, axis)
    partial: tuple[Group, ...] = () if layout.partial is None else (layout.partial,)
    copies = layout.tile_groups((*layout.replicas, *partial))
    tiles = (copies[:, None] + runs.source[None, :]).reshape(-1)
    offset = np.tile(runs.source_offset, copies.size)
    order = np.lexsort((offset, tiles))
    return Padding(tiles[order], offset[order], np.tile(runs.bytes, copies.size)[order])


def _gaps(layout: Layout) -> Runs:
    """What lies between the runs of elements, before the first, behind the last."""
    held = byte_runs(layout, layout)
    first = np.append(True, np.diff(held.source) != 0)
    ends = held.source_offset + held.bytes
    begins = np.where(first, 0, np.roll(ends, 1))
    last = np.flatnonzero(np.append(first[1:], True))
    tile = np.concatenate((held.source, held.source[last]))
    low = np.concatenate((begins, ends[last]))
    high = np.concatenate((held.source_offset, np.full(last.size, layout.tile_bytes)))
    gaps = Runs(tile, tile, low, low, high - low)
    return gaps.take(gaps.bytes > 0)


def _behind(layout: Layout, axis: int) -> Runs:
    """The places along an axis from a block's own extent to the end of its digits."""
    tiles: list[Ints] = []
    offsets: list[Ints] = []
    for number in range(len(layout.shape)):
        tile, starts, ends = axis_blocks(layout, number)
        extents = ends - starts
        tile, extents = tile[extents > 0], extents[extents > 0]
        digits = layout.axis_strides(number)
        low = np.zeros_like(extents)
        if number == axis:
            low, extents = extents, np.full_like(extents, prod(c for c, _ in digits))
        count = extents - low
        shift = np.repeat(np.cumsum(count) - extents, count)
        index = np.arange(shift.size, dtype=np.int64) - shift
        tiles.append(np.repeat(tile, count))
        offsets.append(_offsets(digits, index))
    tile, offset = layout.first + outer_sum(tiles), outer_sum(offsets)
    if offset.size:
        tile, offset = spread_places(layout, tile, offset)
    size = np.full_like(offset, layout.element_bytes)
    return Runs(tile, tile, offset, offset, size).joined()


def _offsets(digits: tuple[tuple[int, int], ...], index: Ints) -> Ints:
    """Bytes from a block's begin to these indices of one axis."""
    offsets = np.zeros_like(index)
    for count, stride in reversed(digits):
        offsets += index % count * stride
        index = index // count
    return offsets
