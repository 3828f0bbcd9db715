"""Runs of a block's piece that its tile has itself, and copies instead of sending."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.cost.spec import Spec, product, segments
from tiledialect.layout import Factor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def most_local(source: Spec, destination: Spec) -> tuple[Ints, int] | None:
    """Of rows that come into panels that are spread, the most runs that source and
    piece of one tile may have in common, and bytes of one; None for other layouts.

    A tile has some rows and some panels: each row meets each panel in one run.
    """
    order, inner = destination.order, len(destination.shape) - 1
    if destination.spread is None or len(order) < 3 or order[-3] != Factor(inner):
        return None
    if order[-1].axis != inner or not order[-1].count:
        return None
    if source.order != tuple(Factor(axis) for axis in range(inner + 1)):
        return None
    run = order[-1].count * destination.element_bytes
    stretch = np.maximum(destination.extents[order[-2].axis] * run, 1)
    piece = np.maximum(destination.tile_bytes, 1)
    panels_met = segments(piece, stretch, prod(destination.shape) * run)
    return _rows_met(source) * panels_met, run


def _rows_met(source: Spec) -> Ints:
    """The most rows of which a tile holds some."""
    if not source.linear:
        return product(source.extents[:-1])
    row = np.full_like(source.tile_elements, max(source.shape[-1], 1))
    if source.part:  # it begins anywhere
        return source.tile_elements // row + 2
    return segments(np.maximum(source.tile_elements, 1), row, prod(source.shape))
