"""Runs of a block that a tile has itself, and copies instead of sending."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.cost.spec import Spec, ceil_div, product, segments
from tiledialect.layout import Factor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def most_local(source: Spec, destination: Spec) -> tuple[Ints, Ints] | None:
    """The most runs that the source and the destination of one tile may have in common,
    and their bytes; None for layouts of which no more is known than what moves."""
    if source.linear and not destination.linear and destination.spread is None:
        return _with_piece(destination, source)
    if destination.linear and not source.linear and source.spread is None:
        return _with_piece(source, destination)
    return _rows_in_panels(source, destination)


def _with_piece(blocked: Spec, linear: Spec) -> tuple[Ints, Ints]:
    """Of a block and a piece of linear ownership: some rows of the block, of which each
    is one run, or one in every panel."""
    inner = len(blocked.shape) - 1
    rows = np.minimum(_rows_met(linear), product(blocked.extents[:-1]))
    breadth = blocked.extents[inner] if blocked.shape else np.ones(1, dtype=np.int64)
    run = np.ones(1, dtype=np.int64)
    if blocked.order and blocked.order[-1].axis == inner:
        run = np.maximum(blocked.order[-1].count or breadth, 1)
    common = np.minimum(linear.tile_elements, rows * breadth)
    return rows * ceil_div(breadth, run), common * blocked.element_bytes


def _rows_in_panels(source: Spec, destination: Spec) -> tuple[Ints, Ints] | None:
    """Of rows that come into panels that are spread.

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
    runs = _rows_met(source) * panels_met
    return runs, runs * run


def pieces_met(blocked: Spec, linear: Spec) -> Ints:
    """The most pieces of linear ownership that a block has something of: its rows lie
    one after the other, in each batch."""
    row = blocked.shape[-1] if blocked.shape else 1
    batches = product(blocked.extents[:-2])
    rows, breadth = product(blocked.extents[-2:-1]), product(blocked.extents[-1:])
    span = (rows - 1) * row + breadth
    return batches * (ceil_div(span, np.maximum(linear.tile_elements, 1)) + 1)


def _rows_met(source: Spec) -> Ints:
    """The most rows of which a tile holds some."""
    if not source.linear:
        return product(source.extents[:-1])
    last = source.shape[-1] if source.shape else 1
    row = np.full_like(source.tile_elements, max(last, 1))
    if source.part:  # it begins anywhere
        return source.tile_elements // row + 2
    return segments(np.maximum(source.tile_elements, 1), row, prod(source.shape))
