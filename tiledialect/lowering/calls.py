"""Codelet calls of a plan step: tiles grouped by the shape of their block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from tiledialect.blocks import Blocks, shape_classes, tile_blocks
from tiledialect.dialects.views import View
from tiledialect.layout import Layout, ceil_div
from tiledialect.own_piece import OwnPiece
from tiledialect.tiles import TileSet

Ints = NDArray[np.int64]
Digits = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class TileClass:
    """Tiles whose blocks have one shape; `offset` is where their own partial begins."""

    extents: tuple[int, ...]
    tiles: TileSet
    offset: int = 0


def grid_classes(grid: Layout, reduced: Sequence[int]) -> list[TileClass]:
    """The classes of a grid. A block that is empty along a reduced dimension still has
    a result: the sum of nothing."""
    empty = [d for d in reduced if grid.shape[d] == 0]
    shape = tuple(1 if d in empty else extent for d, extent in enumerate(grid.shape))
    classes = shape_classes(tile_blocks(grid.with_(shape=shape)))
    return [
        TileClass(
            tuple(0 if d in empty else extent for d, extent in enumerate(extents)),
            tiles,
        )
        for extents, tiles in classes
    ]


def piece_classes(layout: Layout, own: OwnPiece | None) -> list[TileClass]:
    """The classes of a layout's blocks, apart by where a tile's own partial begins."""
    blocks = tile_blocks(layout)
    if own is None or not own.own_tiles.size:
        return [TileClass(e, tiles) for e, tiles in shape_classes(blocks)]
    at = np.searchsorted(own.own_tiles, blocks.tiles)
    at = np.minimum(at, max(0, own.own_tiles.size - 1))
    found: list[TileClass] = []
    offsets = own.own_offset[at]
    for offset in np.unique(offsets):
        rows = offsets == offset
        some = Blocks(blocks.tiles[rows], blocks.starts[rows], blocks.extents[rows])
        for extents, tiles in shape_classes(some):
            found.append(TileClass(extents, tiles, int(offset)))
    return found


def layout_tiles(layout: Layout) -> TileSet:
    """The tiles that set bytes aside for a layout."""
    outside = layout.with_(spread=(), spread_bytes=8)
    base = tile_blocks(outside)
    tiles = base.tiles[(base.extents > 0).all(axis=1)]
    if layout.spread and layout.tile_bytes:
        used = -(-layout.block_bytes // layout.tile_bytes)
        steps = layout.tile_groups(layout.spread)[:used]
        tiles = (tiles[:, None] + steps[None, :]).reshape(-1)
    return TileSet.of(tiles)


def view(
    layout: Layout,
    axes: Sequence[int],
    dims: int,
    format: str,
    scale: int,
    offset: int = 0,
) -> View:
    """The view of an operand whose layout's axes run over these domain dimensions."""
    strides = [
        layout.axis_strides(axes.index(d)) if d in axes else () for d in range(dims)
    ]
    return View(format, tuple(strides), offset, scale)


def trimmed(view: View, extents: Sequence[int]) -> View:
    """The view with outermost counts that suffice for these extents, so that what it
    spans is no more than what it reaches."""

    def fit(digits: Digits, extent: int) -> Digits:
        counts: list[int] = []
        for position in range(len(digits)):
            inner = prod(count for count, _ in digits[position + 1 :])
            counts.append(max(1, ceil_div(extent, inner)))
            if extent > inner:  # the digits further in are walked whole
                counts += [count for count, _ in digits[position + 1 :]]
                break
        return tuple((n, s) for n, (_, s) in zip(counts, digits, strict=True))

    axes = tuple(fit(d, n) for d, n in zip(view.axes, extents, strict=True))
    return replace(view, axes=axes)
