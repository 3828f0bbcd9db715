"""Estimates of single steps of a plan, from their layouts, by the same closed forms."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.cost.movement import movement
from tiledialect.cost.spec import Spec
from tiledialect.layout import Layout
from tiledialect.machine import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class StepEstimate:
    """Cycles of a relayout's exchange phase and of the copies after it."""

    exchange: int
    copy: int


def layout_spec(layout: Layout, inner: Layout) -> Spec:
    """The spec of a layout; a linear one is seen as the tensor of another."""
    if layout.packed and layout.spread:
        shape = tuple(inner.axis_range(axis)[1] for axis in range(len(inner.shape)))
        tiles = layout.spread_count
        if inner.ranges and _leads(inner):
            size = prod(shape) * layout.element_bytes
            tiles = linear_tiles(size, layout.tile_bytes)
        spec = Spec.of_linear(shape, layout.element_bytes, tiles)
        return spec.with_(part=bool(inner.ranges))
    spread = np.array([layout.spread_count]) if layout.spread else None
    whole = layout.with_(windows=())
    return Spec(
        tuple(layout.axis_range(axis)[1] for axis in range(len(layout.shape))),
        _blocks(layout),
        layout.order,
        layout.element_bytes,
        outer=_blocks(whole) if layout.windows else None,
        spread=spread,
        spread_bytes=layout.spread_bytes,
        windowed=bool(layout.windows),
        neighbours=_neighbours(layout),
    )


def _neighbours(layout: Layout) -> Ints:
    """Tiles in a row that hold the same block."""
    count = 1
    for group in sorted(layout.replicas, key=lambda group: group.stride):
        if group.stride != count or layout.first % (count * group.count):
            break
        count *= group.count
    return np.array([count], dtype=np.int64)


def _blocks(layout: Layout) -> tuple[Ints, ...]:
    axes = range(len(layout.shape))
    return tuple(np.array([layout.block_extent(a)], dtype=np.int64) for a in axes)


def _leads(layout: Layout) -> bool:
    """Whether the range that is held is one stretch of row-major elements."""
    return all(extent == 1 for extent in layout.shape[: layout.ranges[0].axis])


def linear_tiles(size: int, piece_bytes: int) -> int:
    """Tiles on which so many bytes of a tensor in linear ownership lie."""
    return max(1, -(-size // max(1, piece_bytes)))


def relayout_estimate(
    machine: Machine, source: Layout, destination: Layout
) -> StepEstimate:
    """The cost of one relayout."""
    inner = source if destination.packed else destination
    shared = destination.replica_count > 1
    spec = layout_spec(source, inner)
    if machine.exchange.pair_tiles > 1 and any(len(cuts) > 1 for cuts in source.cuts):
        # rows of a block that were cut again are whole runs of its panels
        first = source.with_(cuts=tuple(cuts[:1] for cuts in source.cuts), windows=())
        spec = spec.with_(outer=_blocks(first))
    moved = movement(machine, spec, layout_spec(destination, inner), shared=shared)
    return StepEstimate(int(moved.exchange[0]), int(moved.copy[0]))
