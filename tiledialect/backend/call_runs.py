"""Runs of bytes that copies and fills make on each tile, as offsets in buffers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiledialect.layout import Layout
from tiledialect.padding import padding_runs
from tiledialect.relayout import relayout, stack_partials

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


def fill_runs(
    layout: Layout, tiles: Ints, *, whole: bool, axis: int | None = None
) -> FillRuns:
    """The padding of each tile's block, or with `whole` all of the block.

    With `axis` one stretch a tile, from the first to the last byte of what lies behind
    its extent of that axis.
    """
    if whole:
        count = np.full(tiles.size, layout.tile_bytes, np.int64)
        return FillRuns(tiles, np.zeros_like(count), count)
    padding = padding_runs(layout, axis)
    chosen = np.isin(padding.tiles, tiles)
    runs = FillRuns(
        padding.tiles[chosen], padding.offset[chosen], padding.bytes[chosen]
    )
    return runs if axis is None or not runs.tile.size else _stretches(runs)


def _stretches(runs: FillRuns) -> FillRuns:
    """One run a tile that covers all of its runs, which come by tile and offset."""
    first = np.flatnonzero(np.append(True, np.diff(runs.tile) != 0))
    last = np.append(first[1:], runs.tile.size) - 1
    end = runs.destination[last] + runs.bytes[last]
    return FillRuns(
        runs.tile[first], runs.destination[first], end - runs.destination[first]
    )
