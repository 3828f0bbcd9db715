"""Runs of bytes that copies and fills make on each tile, as offsets in buffers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiledialect.layout import Layout
from tiledialect.relayout import element_places, relayout, stack_partials

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class CopyRuns:
    """Run i copies bytes[i] of tile[i] from `source[i]` of staging where staged[i],
    else of the source buffer, to `destination[i]`."""

    tile: Ints
    source: Ints
    destination: Ints
    bytes: Ints
    staged: Bools


@dataclass(frozen=True)
class FillRuns:
    """Run i makes bytes[i] of tile[i] zero from `destination[i]` on."""

    tile: Ints
    destination: Ints
    bytes: Ints


def copy_runs(source: Layout, destination: Layout, stack: bool) -> CopyRuns:
    """The copies of a relayout, or of a stack of partials."""
    if stack:
        transfers = stack_partials(source, destination)[0]
    else:
        transfers = relayout(source, destination)
    return CopyRuns(
        transfers.copy_tile,
        transfers.copy_from,
        transfers.copy_to,
        transfers.copy_bytes,
        transfers.copy_staged,
    )


def fill_runs(layout: Layout, tiles: Ints, *, whole: bool) -> FillRuns:
    """The padding of each tile's block, or all of it; a tile that holds no element has
    nothing but padding."""
    size = layout.tile_bytes
    if whole:
        count = np.full(tiles.size, size, np.int64)
        return FillRuns(tiles, np.zeros_like(count), count)
    padding = ~element_bytes(layout, tiles)
    edges = np.zeros((tiles.size, size + 2), np.bool_)
    edges[:, 1:-1] = padding
    row, at = np.nonzero(edges[:, 1:] != edges[:, :-1])  # ends alternate with starts
    return FillRuns(tiles[row[::2]], at[::2], at[1::2] - at[::2])


def element_bytes(layout: Layout, tiles: Ints) -> Bools:
    """(tiles, bytes) which bytes of their blocks hold elements."""
    tile, offset = element_places(layout)
    holders, row = np.unique(tile, return_inverse=True)
    held = np.zeros((holders.size, layout.tile_bytes), np.bool_)
    for byte in range(layout.element_bytes):
        held[row.ravel(), offset + byte] = True
    groups = (
        layout.replicas
        if layout.partial is None
        else (
            *layout.replicas,
            layout.partial,
        )
    )
    result = np.zeros((tiles.size, layout.tile_bytes), np.bool_)
    for more in layout.tile_groups(groups):
        at = np.searchsorted(holders + more, tiles)
        found = np.append(holders + more, -1)[at] == tiles
        result[found] = held[at[found]]
    return result
