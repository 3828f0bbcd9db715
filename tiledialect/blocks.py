"""Blocks: the box of elements that each tile of a layout holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.tiles import TileSet

if TYPE_CHECKING:
    from tiledialect.layout import Ints, Layout


@dataclass(frozen=True)
class Blocks:
    """Tile `tiles[i]` (ascending) holds the elements from `starts[i]`, `extents[i]` of
    them along each axis; where one extent is 0 all are: the tile holds nothing."""

    tiles: Ints  # (t,)
    starts: Ints  # (t, axes)
    extents: Ints  # (t, axes)


def tile_blocks(layout: Layout) -> Blocks:
    """The box of every tile of a layout, replicas and partials each by itself.

    Raises ValueError where two blocks fall on one tile, and for a spread layout, whose
    runs are boxes only if it has one axis in its own order.
    """
    tiles, starts, ends = _cut_blocks(layout)
    if layout.spread_count > 1:
        tiles, starts, ends = _spread_blocks(layout, tiles, starts, ends)
    copies = layout.tile_groups(layout.replicas)
    if layout.partial is not None:
        copies = _sums(copies, layout.tile_groups((layout.partial,)))
    tiles = _sums(tiles, copies)
    starts = np.repeat(starts, copies.size, axis=0)
    extents = np.repeat(ends, copies.size, axis=0) - starts
    extents[(extents == 0).any(axis=1)] = 0
    order = np.argsort(tiles, kind="stable")
    tiles = tiles[order]
    twice = tiles[1:][tiles[1:] == tiles[:-1]]
    if twice.size:
        raise ValueError(f"two blocks of the layout lie on tile {twice[0]}")
    return Blocks(tiles, starts[order], extents[order])


def shape_classes(blocks: Blocks) -> list[tuple[tuple[int, ...], TileSet]]:
    """The tiles of each shape of block, largest extents first; empty ones left out."""
    filled = (blocks.extents > 0).all(axis=1)
    shapes, number = np.unique(blocks.extents[filled], axis=0, return_inverse=True)
    tiles = blocks.tiles[filled]
    classes = [
        (tuple(int(extent) for extent in shape), TileSet.of(tiles[number == i]))
        for i, shape in enumerate(shapes)
    ]
    return classes[::-1]


def _sums(outer: Ints, inner: Ints) -> Ints:
    return (outer[:, None] + inner[None, :]).reshape(-1)


def _cut_blocks(layout: Layout) -> tuple[Ints, Ints, Ints]:
    """First tile, starts and ends of every whole block."""
    tiles = np.array([layout.first], dtype=np.int64)
    starts = np.zeros((1, 0), dtype=np.int64)
    ends = starts
    for axis in range(len(layout.shape)):
        axis_tiles, first, last = axis_blocks(layout, axis)
        count = tiles.size
        tiles = _sums(tiles, axis_tiles)
        starts, ends = (
            np.column_stack(
                (np.repeat(edges, first.size, axis=0), np.tile(edge, count))
            )
            for edges, edge in ((starts, first), (ends, last))
        )
    return tiles, starts, ends


def axis_blocks(layout: Layout, axis: int) -> tuple[Ints, Ints, Ints]:
    """Tiles added, first element and end of every block along one axis."""
    start, extent = layout.axis_range(axis)
    tiles = np.zeros(1, dtype=np.int64)
    starts = np.array([start], dtype=np.int64)
    ends = starts + extent
    for cut in layout.cuts[axis]:
        edges = np.asarray(cut.starts(extent), dtype=np.int64)
        limit = np.repeat(ends, cut.parts)
        ends = np.minimum(_sums(starts, edges[1:]), limit)
        starts = np.minimum(_sums(starts, edges[:-1]), limit)
        tiles = _sums(tiles, np.arange(cut.parts, dtype=np.int64) * cut.stride)
        extent = cut.block(extent)
    for window in layout.windows:
        if window.axis == axis:
            ends = np.minimum(ends, starts + window.start + window.count)
            starts = np.minimum(starts + window.start, ends)
    return tiles, starts, ends


def pads_alike(layout: Layout, axis: int, multiple: int) -> bool:
    """Whether every element stays where it is when the padding up to whole multiples
    along an axis is seen as elements."""
    other = layout.padded(axis, multiple)
    if other.factor_counts != layout.factor_counts:
        return False
    extent = layout.shape[axis]
    pairs = zip(layout.axis_blocks(axis), other.axis_blocks(axis), strict=True)
    return all(np.array_equal(one, more[:extent]) for one, more in pairs)


def _spread_blocks(
    layout: Layout, tiles: Ints, starts: Ints, ends: Ints
) -> tuple[Ints, Ints, Ints]:
    """The pieces of blocks that are ranges of one axis."""
    if len(layout.shape) != 1 or len(layout.order) != 1:
        raise ValueError("a spread layout of several axes has no boxes on its tiles")
    elements = layout.tile_bytes // layout.element_bytes
    edges = np.arange(layout.spread_count + 1, dtype=np.int64) * elements
    limit = np.repeat(ends, layout.spread_count, axis=0)
    flat = starts[:, 0]
    return (
        _sums(tiles, layout.tile_groups(layout.spread)),
        np.minimum(_sums(flat, edges[:-1])[:, None], limit),
        np.minimum(_sums(flat, edges[1:])[:, None], limit),
    )
