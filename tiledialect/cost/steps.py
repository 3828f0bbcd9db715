"""Estimates of single steps of a plan, from their layouts, by the same closed forms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiledialect.cost.movement import movement
from tiledialect.cost.spec import Spec
from tiledialect.layout import Layout
from tiledialect.machine import Machine


@dataclass(frozen=True)
class StepEstimate:
    """Cycles of a relayout's exchange phase and of the copies after it."""

    exchange: int
    copy: int


def layout_spec(layout: Layout, shape: tuple[int, ...]) -> Spec:
    """The spec of a layout; a linear one is seen as a tensor of `shape`."""
    if layout.packed and layout.spread:
        return Spec.of_linear(shape, layout.element_bytes, layout.spread_count)
    blocks = tuple(
        np.array([layout.block_extent(axis)], dtype=np.int64)
        for axis in range(len(layout.shape))
    )
    spread = np.array([layout.spread_count]) if layout.spread else None
    return Spec(
        layout.shape,
        blocks,
        layout.order,
        layout.element_bytes,
        spread=spread,
        spread_bytes=layout.spread_bytes,
    )


def relayout_estimate(
    machine: Machine, source: Layout, destination: Layout
) -> StepEstimate:
    """The cost of one relayout."""
    inner = source if destination.packed else destination
    shared = destination.replica_count > 1
    moved = movement(
        machine,
        layout_spec(source, inner.shape),
        layout_spec(destination, inner.shape),
        shared=shared,
    )
    return StepEstimate(int(moved.exchange[0]), int(moved.copy[0]))
