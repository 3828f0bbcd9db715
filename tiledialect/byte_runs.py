"""Byte runs: where the bytes of one layout lie in another, as long runs.

Method: the axes of both layouts are matched to common extents, so that tile and offset
of an element are sums over matched axes on both sides. The axis that is contiguous over
the longest stretches gives segments, the others are summed out; runs that continue each
other are joined; last, runs are cut where a spread block passes to its next tile.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.layout import ABSENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tiledialect.layout import Ints, Layout


@dataclass(frozen=True)
class Runs:
    """Runs of bytes that lie whole on both sides; offsets are in a tile's buffer.

    `source` and `destination` are tiles of the first replica and the first partial.
    """

    source: Ints
    destination: Ints
    source_offset: Ints
    destination_offset: Ints
    bytes: Ints

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> Runs:
        """The runs at these positions, or where the mask is true."""
        return Runs(*(getattr(self, column.name)[which] for column in fields(self)))

    def joined(self) -> Runs:
        """Sorted by source, destination and source offset; runs that continue the one
        before on both sides are one with it."""
        keys = (self.source, self.destination, self.source_offset)
        runs = self.take(sort_order(keys))
        begins = np.ones(runs.bytes.size, dtype=np.bool_)
        begins[1:] = (
            (np.diff(runs.source) != 0)
            | (np.diff(runs.destination) != 0)
            | (np.diff(runs.source_offset) != runs.bytes[:-1])
            | (np.diff(runs.destination_offset) != runs.bytes[:-1])
        )
        at = np.flatnonzero(begins)
        if at.size == runs.bytes.size:
            return runs
        totals = np.add.reduceat(runs.bytes, at)
        head = runs.take(at)
        return Runs(
            head.source,
            head.destination,
            head.source_offset,
            head.destination_offset,
            totals,
        )

    def cut(self, offsets: Ints, piece_bytes: int) -> Runs:
        """The runs, cut where `offsets` (of their first bytes) pass a multiple of
        `piece_bytes`."""
        first = offsets // piece_bytes
        parts = (offsets + self.bytes - 1) // piece_bytes - first + 1
        if not parts.size or parts.max() == 1:
            return self
        index = np.repeat(np.arange(parts.size), parts)
        number = np.arange(index.size) - np.repeat(np.cumsum(parts) - parts, parts)
        edge = (first[index] + number) * piece_bytes - offsets[index]
        whole = self.take(index)
        start = np.maximum(edge, 0)
        return Runs(
            whole.source,
            whole.destination,
            whole.source_offset + start,
            whole.destination_offset + start,
            np.minimum(edge + piece_bytes, whole.bytes) - start,
        )


def byte_runs(source: Layout, destination: Layout) -> Runs:
    """The longest runs of bytes from `source` to `destination`, by source tile,
    destination tile and source offset. Replicas and partials are not looked at.

    Both describe the same elements in row-major order; their shapes may differ.
    """
    if 0 in source.shape:
        nothing = np.zeros(0, dtype=np.int64)
        return Runs(nothing, nothing, nothing, nothing, nothing)
    runs = _block_runs(source, destination).joined()
    if source.spread_count > 1:
        runs = runs.cut(runs.source_offset, source.tile_bytes)
    if destination.spread_count > 1:
        runs = runs.cut(runs.destination_offset, destination.tile_bytes)
    source_tile, source_offset = spread_places(source, runs.source, runs.source_offset)
    tile, offset = spread_places(destination, runs.destination, runs.destination_offset)
    return Runs(source_tile, tile, source_offset, offset, runs.bytes)


def spread_places(layout: Layout, tile: Ints, offset: Ints) -> tuple[Ints, Ints]:
    """Tile and offset in its buffer, from a block's first tile and offset in it."""
    if layout.spread_count == 1:
        return tile, offset
    piece = offset // layout.tile_bytes
    return (
        tile + layout.tile_groups(layout.spread)[piece],
        offset - piece * layout.tile_bytes,
    )


def sort_order(keys: Sequence[Ints]) -> NDArray[np.int64]:
    """Positions in ascending order of the keys, the first key weighing most; rows
    with equal keys keep their order. Packed into one integer where that fits."""
    lows = [int(key.min()) if key.size else 0 for key in keys]
    spans = [
        int(key.max()) - low + 1 if key.size else 1
        for key, low in zip(keys, lows, strict=True)
    ]
    packed = np.zeros_like(keys[0])
    size = 1
    for key, low, span in zip(keys, lows, spans, strict=True):
        size *= span
        if size >= 1 << 63:
            return np.lexsort(tuple(reversed(keys)))
        packed = packed * span + (key - low)
    return np.argsort(packed, kind="stable")


@dataclass(frozen=True)
class _Axis:
    """Indices 0 .. extent - 1 of one layout: tiles and bytes that each adds.

    Plain: no tiles, and `stride` bytes an index; `tables` says it for others.
    """

    extent: int
    stride: int = 0
    tables: tuple[Ints, Ints] | None = None

    @cached_property
    def places(self) -> tuple[Ints, Ints]:
        """Tiles and bytes added by each index."""
        return self.tables or self.places_at(np.arange(self.extent, dtype=np.int64))

    def holds(self, index: Ints) -> NDArray[np.bool_]:
        """Whether these indices are held at all."""
        if self.tables is None:
            return np.ones(index.size, dtype=np.bool_)
        return self.tables[0][index] > ABSENT // 2

    def places_at(self, index: Ints) -> tuple[Ints, Ints]:
        """Tiles and bytes added by these indices."""
        if self.tables is None:
            return np.zeros_like(index), index * self.stride
        return self.tables[0][index], self.tables[1][index]

    def divides(self, inner: int) -> bool:
        """It can be seen as two axes, the inner one of that extent."""
        return self.tables is None and self.extent % inner == 0

    def divided(self, inner: int) -> tuple[_Axis, _Axis]:
        """The outer and the inner of two axes that are this one."""
        outer = _Axis(self.extent // inner, self.stride * inner)
        return outer, _Axis(inner, self.stride)

    def continues_in(self, inner: _Axis) -> bool:
        """Both are plain, and so is the one axis that they are."""
        plain = self.tables is None and inner.tables is None
        return plain and self.stride == inner.stride * inner.extent

    def over(self, inner: _Axis) -> _Axis:
        """One axis in place of this one and the next inner one."""
        extent = self.extent * inner.extent
        if self.continues_in(inner):
            return _Axis(extent, inner.stride)
        tables = [
            outer_sum(pair) for pair in zip(self.places, inner.places, strict=True)
        ]
        return _Axis(extent, tables=(tables[0], tables[1]))

    def breaks(self, element_bytes: int) -> NDArray[np.bool_] | None:
        """For each index but the first whether a run ends before it; None: nowhere."""
        if self.tables is None and self.stride == element_bytes:
            return None
        tiles, offsets = self.places
        return (np.diff(tiles) != 0) | (np.diff(offsets) != element_bytes)


def outer_sum(parts: Sequence[Ints]) -> Ints:
    """All sums of one entry of each part, the last part varying fastest."""
    total = np.zeros(1, dtype=np.int64)
    for part in parts:
        total = (total[:, None] + part[None, :]).reshape(-1)
    return total


def _axes(layout: Layout) -> list[_Axis]:
    """The axes of a layout, outermost first, plain ones joined where they can be."""
    axes: list[_Axis] = []
    windowed = {window.axis for window in (*layout.windows, *layout.ranges)}
    for number, extent in enumerate(layout.shape):
        if extent == 1 and number not in windowed:
            continue
        factors = layout.axis_strides(number)
        whole = number not in windowed and all(
            c.parts == 1 for c in layout.cuts[number]
        )
        if len(factors) == 1 and whole:
            axis = _Axis(extent, factors[0][1])
        else:
            tiles, _ = layout.axis_blocks(number)
            axis = _Axis(extent, tables=(tiles, layout.axis_offsets(number)))
        if axes and axes[-1].continues_in(axis):
            axis = axes.pop().over(axis)
        axes.append(axis)
    return axes


def _matched(
    source: list[_Axis], destination: list[_Axis]
) -> list[tuple[_Axis, _Axis]]:
    """Pairs of axes of equal extents, outermost first, that stand for both lists."""
    sides = (list(source), list(destination))
    pairs: list[tuple[_Axis, _Axis]] = []
    while sides[0] or sides[1]:
        inner = [side.pop() for side in sides]
        while inner[0].extent != inner[1].extent:
            large = 0 if inner[0].extent > inner[1].extent else 1
            small = 1 - large
            if inner[large].divides(inner[small].extent):
                outer, inner[large] = inner[large].divided(inner[small].extent)
                sides[large].append(outer)
            else:
                inner[small] = sides[small].pop().over(inner[small])
        pairs.append((inner[0], inner[1]))
    pairs.reverse()
    return pairs or [(_Axis(1), _Axis(1))]


def _segments(pair: tuple[_Axis, _Axis], element_bytes: int) -> Ints:
    """Where the stretches of an axis begin that are contiguous on both sides."""
    breaks = [axis.breaks(element_bytes) for axis in pair]
    ends = [there for there in breaks if there is not None]
    if not ends:
        return np.zeros(1, dtype=np.int64)
    return np.flatnonzero(np.append(True, np.logical_or.reduce(ends)))


def _block_runs(source: Layout, destination: Layout) -> Runs:
    """Runs between whole blocks, in row-major order of the elements, not joined."""
    size = source.element_bytes
    pairs = _matched(_axes(source), _axes(destination))
    segments = [_segments(pair, size) for pair in pairs]
    gains = [
        pair[0].extent / starts.size
        for pair, starts in zip(pairs, segments, strict=True)
    ]
    best = max(range(len(pairs)), key=lambda i: (gains[i], i))
    starts = segments[best]
    lengths = np.diff(starts, append=pairs[best][0].extent) * size
    # What is not held on both sides is left out before the axes are multiplied.
    indices = [
        starts if i == best else np.arange(pair[0].extent, dtype=np.int64)
        for i, pair in enumerate(pairs)
    ]
    held = [
        source_axis.holds(index) & axis.holds(index)
        for (source_axis, axis), index in zip(pairs, indices, strict=True)
    ]
    indices = [index[there] for index, there in zip(indices, held, strict=True)]

    def column(side: int, part: int) -> Ints:
        axes = [pair[side] for pair in pairs]
        places = zip(axes, indices, strict=True)
        return outer_sum([axis.places_at(index)[part] for axis, index in places])

    zeros = [
        lengths[held[best]] if i == best else np.zeros(index.size, dtype=np.int64)
        for i, index in enumerate(indices)
    ]
    return Runs(
        source.first + column(0, 0),
        destination.first + column(1, 0),
        column(0, 1),
        column(1, 1),
        outer_sum(zeros),
    )
