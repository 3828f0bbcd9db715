"""Own pieces: the partial sums that lie where they are added up, and need no moving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.byte_runs import Runs, sort_order

if TYPE_CHECKING:
    from tiledialect.layout import Ints, Layout

PIECE_BYTES = 8
"""A piece is read where it lies only at whole multiples of this, as codelets read."""


@dataclass(frozen=True)
class OwnPiece:
    """The partials that lie on their own destination tile and are not moved.

    Partial (tile - first) // stride % count of a tile's elements is its own. It begins
    at byte own_offset[i] of the source buffer of tile own_tiles[i] (ascending), and has
    the strides of the source block there; those of the destination, if that is spread.
    """

    first: int
    stride: int
    count: int
    own_tiles: Ints
    own_offset: Ints

    @property
    def own(self) -> Ints:
        """The number of each own tile's own partial."""
        return (self.own_tiles - self.first) // self.stride % self.count

    @property
    def offset_step(self) -> int | None:
        """Bytes s with own_offset = own * s on all tiles, or None where none is."""
        own = self.own
        moved = np.flatnonzero(own)
        step = int(self.own_offset[moved[0]] // own[moved[0]]) if moved.size else 0
        return step if np.array_equal(own * step, self.own_offset) else None


def own_piece(runs: Runs, source: Layout, destination: Layout) -> OwnPiece | None:
    """Which partial each destination tile holds itself; None where not all may keep it.

    `runs` are those of the source's first partial to the destination.
    """
    group = source.partial
    assert group is not None
    stride = group.stride if group.count > 1 else 1
    if destination.replica_count > 1 or stride < 1:
        return None
    own = (runs.destination - source.first) // stride % group.count
    held_by = runs.destination - runs.source - own * stride
    if not np.isin(held_by, source.tile_groups(source.replicas)).all():
        return None
    order = sort_order((runs.destination, runs.destination_offset))
    tiles, at, number = np.unique(
        runs.destination[order], return_index=True, return_inverse=True
    )
    delta = (runs.source_offset - runs.destination_offset)[order]
    if destination.spread:
        lies_whole = np.array_equal(delta[at][number], delta)
    else:
        lies_whole = not source.spread and _boxes_lie_in(source, destination)
    if not lies_whole or (delta[at] % PIECE_BYTES).any():
        return None
    return OwnPiece(source.first, stride, group.count, tiles, delta[at])


def _boxes_lie_in(source: Layout, destination: Layout) -> bool:
    """Each destination block has, inside the source block, the source's own strides."""
    if source.shape != destination.shape:
        return False
    for axis in range(len(source.shape)):
        if destination.block_extent(axis) > source.block_extent(axis):
            return False
        offsets = source.axis_offsets(axis)
        _, inner = source.axis_blocks(axis)
        _, local = destination.axis_blocks(axis)
        begin = np.arange(offsets.size) - local
        from_begin = np.zeros(source.block_extent(axis), dtype=np.int64)
        from_begin[inner] = offsets
        if not np.array_equal(offsets - offsets[begin], from_begin[local]):
            return False
    return True
