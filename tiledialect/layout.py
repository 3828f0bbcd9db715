"""Layouts: which tile holds which part of a tensor, and in what byte order.

A layout has two levels. First each axis is cut into blocks, whose coordinates map to
tile numbers by strides; then a block may be spread over a group of tiles in equal runs
of its bytes. A block's elements lie in an in-tile order: a nest of factors of its axes.

Every block of a layout is stored with the strides of the largest one. So the tile and
the byte offset of an element are sums over its axes, which all that is vectorised here
rests on. Sizes are bytes, extents are elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

WORD_BYTES = 4
SPREAD_BYTES = 8


def ceil_div(value: int, by: int) -> int:
    return -(-value // by)


def round_up(value: int, to: int) -> int:
    return -(-value // to) * to


@dataclass(frozen=True)
class Cut:
    """One cut of an axis into `parts` blocks of a multiple of `grain` elements.

    Blocks are equal and the last ones shorter or empty, or, if `balanced`, differ by at
    most one grain. Block i lies `i * stride` tiles after block 0.
    """

    parts: int
    stride: int = 0
    grain: int = 1
    balanced: bool = False

    def block(self, extent: int) -> int:
        """Elements of the largest block of an axis of `extent`."""
        grains = ceil_div(ceil_div(extent, self.grain), self.parts)
        return min(extent, grains * self.grain)

    def starts(self, extent: int) -> list[int]:
        """Where each block begins, and where the last one ends."""
        grains = ceil_div(extent, self.grain)
        if not self.balanced:
            edges = [i * self.block(extent) for i in range(self.parts + 1)]
        else:
            small, more = divmod(grains, self.parts)
            edges = [
                (i * small + min(i, more)) * self.grain for i in range(self.parts + 1)
            ]
        return [min(edge, extent) for edge in edges]


@dataclass(frozen=True)
class Group:
    """`count` tiles, `stride` apart."""

    count: int
    stride: int


@dataclass(frozen=True)
class Factor:
    """One loop of an in-tile order: `count` steps along `axis`, or if 0 the rest."""

    axis: int
    count: int = 0


@dataclass(frozen=True)
class Window:
    """Only `count` indices along `axis`, from `start` on, are held."""

    axis: int
    start: int
    count: int


ABSENT = -(1 << 40)
"""Tiles added by an index that is not held: no sum with it is a tile."""


@dataclass(frozen=True)
class Layout:
    """Where each element of a tensor lies.

    shape          extents of the row-major view of the tensor that is cut
    element_bytes  1, 2 or 4
    cuts           for each axis its cuts, outer first; an inner one cuts a block again
    order          in-tile order, outermost factor first
    first          tile of the first block
    replicas       every block is held by each tile of this (nested) group
    partial        the value is the sum over the tiles of this group
    spread         a block's bytes are cut into runs, one a tile of this (nested) group
    spread_bytes   runs are a multiple of this
    packed         no padding of the innermost extent to a word
    windows        a part of each block is held, the rest is nowhere: one step's share
                   of an operand that comes in steps
    ranges         a part of the tensor is held, and cut; the rest is nowhere: one chunk
                   of a chain that runs chunk by chunk
    """

    shape: tuple[int, ...]
    element_bytes: int
    cuts: tuple[tuple[Cut, ...], ...]
    order: tuple[Factor, ...]
    first: int = 0
    replicas: tuple[Group, ...] = ()
    partial: Group | None = None
    spread: tuple[Group, ...] = ()
    spread_bytes: int = SPREAD_BYTES
    packed: bool = False
    windows: tuple[Window, ...] = ()
    ranges: tuple[Window, ...] = ()

    @staticmethod
    def linear(shape: Iterable[int], element_bytes: int, tiles: int) -> Layout:
        """Row-major, in equal runs over all tiles: how inputs and results arrive."""
        elements = prod(shape)
        return Layout(
            shape=(elements,),
            element_bytes=element_bytes,
            cuts=((),),
            order=(Factor(0),),
            spread=(Group(tiles, 1),),
            packed=True,
        )

    @staticmethod
    def row_major(rank: int) -> tuple[Factor, ...]:
        """The in-tile order of a row-major block of that rank."""
        return tuple(Factor(axis) for axis in range(rank))

    def __post_init__(self) -> None:
        problem = self._problem()
        if problem:
            raise ValueError(problem)

    def _problem(self) -> str | None:
        """What is wrong with the fields, or None."""
        if len(self.cuts) != len(self.shape):
            return f"layout cuts {len(self.cuts)} axes, its shape has {len(self.shape)}"
        for axis in range(len(self.shape)):
            counts = [f.count for f in self.order if f.axis == axis]
            if not counts or counts[0] != 0 or 0 in counts[1:]:
                return f"order must name the rest of axis {axis} once, outermost"
        if any(not 0 <= f.axis < len(self.shape) for f in self.order):
            return "order names an axis that the shape lacks"
        counts = [factor.count for factor in self.order]
        if min((self.first, *self.shape, *counts)) < 0:
            return "extents, counts and the first tile cannot be negative"
        if any(cut.parts < 1 or cut.grain < 1 for axis in self.cuts for cut in axis):
            return "a cut needs at least one part and one element of grain"
        groups = (*self.replicas, *self.spread, *([self.partial] * bool(self.partial)))
        if any(group is not None and group.count < 1 for group in groups):
            return "a group needs at least one tile"
        if self.element_bytes not in (1, 2, 4):
            return f"elements are 1, 2 or 4 bytes, not {self.element_bytes}"
        if self.spread_bytes < 1 or self.spread_bytes % SPREAD_BYTES:
            return f"spread runs are multiples of 8 bytes, not of {self.spread_bytes}"
        return self._window_problem()

    def _window_problem(self) -> str | None:
        both = (*self.windows, *self.ranges)
        if any(w.start < 0 or w.count < 1 for w in both):
            return "a window starts at 0 or later and holds at least one index"
        if any(not 0 <= w.axis < len(self.shape) for w in both):
            return "a window names an axis that the shape lacks"
        axes = [r.axis for r in self.ranges]
        if len(set(axes)) < len(axes):
            return "an axis has one range at most"
        if any(r.start + r.count > self.shape[r.axis] for r in self.ranges):
            return "a range ends behind its axis"
        return None

    # Sizes

    def axis_range(self, axis: int) -> tuple[int, int]:
        """First index along an axis that is held and cut, and how many are."""
        for held in self.ranges:
            if held.axis == axis:
                return held.start, held.count
        return 0, self.shape[axis]

    def block_extent(self, axis: int) -> int:
        """Elements along `axis` of the largest block."""
        _, extent = self.axis_range(axis)
        for cut in self.cuts[axis]:
            extent = cut.block(extent)
        for window in self.windows:
            if window.axis == axis:
                extent = max(0, min(window.count, extent - window.start))
        return extent

    @cached_property
    def factor_counts(self) -> tuple[int, ...]:
        """Steps of each factor of the order, padding included."""
        counts: list[int] = []
        word = 1 if self.packed else WORD_BYTES // self.element_bytes
        inner = [1] * len(self.shape)
        for factor in reversed(self.order):
            extent = self.block_extent(factor.axis)
            count = factor.count or ceil_div(extent, inner[factor.axis])
            counts.append(count if counts else round_up(count, word))
            inner[factor.axis] *= counts[-1]
        return tuple(reversed(counts))

    @cached_property
    def factor_strides(self) -> tuple[int, ...]:
        """Bytes between steps of each factor of the order."""
        counts = self.factor_counts
        return tuple(
            prod(counts[i + 1 :]) * self.element_bytes for i in range(len(counts))
        )

    @property
    def block_bytes(self) -> int:
        """Bytes of a whole block, padding included (a multiple of 4 unless packed)."""
        size = prod(self.factor_counts) * self.element_bytes
        return size if self.packed else round_up(size, WORD_BYTES)

    @property
    def spread_count(self) -> int:
        return prod(group.count for group in self.spread)

    @property
    def replica_count(self) -> int:
        return prod(group.count for group in self.replicas)

    @property
    def tile_bytes(self) -> int:
        """Bytes that a tile sets aside: a block, or its run of a spread block."""
        if not self.spread:
            return self.block_bytes
        return round_up(
            ceil_div(self.block_bytes, self.spread_count), self.spread_bytes
        )

    def axis_strides(self, axis: int) -> tuple[tuple[int, int], ...]:
        """(count, bytes) of the factors of `axis`, outermost first: local index l lies
        at the sum of its mixed-radix digits times the bytes."""
        return tuple(
            (count, stride)
            for factor, count, stride in zip(
                self.order, self.factor_counts, self.factor_strides, strict=True
            )
            if factor.axis == axis
        )

    def with_(self, **changes: object) -> Layout:
        """A copy with some fields changed."""
        return replace(self, **changes)  # pyright: ignore[reportArgumentType]

    def padded(self, axis: int, multiple: int) -> Layout:
        """The layout with its padding up to whole multiples along an axis as elements:
        zeros that move with the others."""
        shape = list(self.shape)
        shape[axis] = round_up(shape[axis], multiple)
        return self.with_(shape=tuple(shape))

    # Tables along one axis (numpy)

    def axis_blocks(self, axis: int) -> tuple[Ints, Ints]:
        """For each index along `axis`: tiles added (ABSENT if not held), and index
        inside the part of its block that is held."""
        import numpy as np

        start, extent = self.axis_range(axis)
        index = np.arange(self.shape[axis], dtype=np.int64) - start
        outside = (index < 0) | (index >= extent)
        local = np.where(outside, 0, index)
        tiles = np.where(outside, ABSENT, 0)
        for cut in self.cuts[axis]:
            local, block = _cut_again(cut, extent, local)
            tiles += block * cut.stride
            extent = cut.block(extent)
        for window in self.windows:
            if window.axis == axis:
                local = local - window.start
                outside = (local < 0) | (local >= window.count)
                tiles[outside], local[outside] = ABSENT, 0
        return tiles, local

    def axis_offsets(self, axis: int) -> Ints:
        """For each index along `axis`: bytes added to the offset inside its block."""
        import numpy as np

        _, local = self.axis_blocks(axis)
        offsets = np.zeros_like(local)
        for count, stride in reversed(self.axis_strides(axis)[1:]):
            offsets += local % count * stride
            local = local // count
        outer = self.axis_strides(axis)[0][1]
        return offsets + local * outer

    def tile_groups(self, groups: tuple[Group, ...]) -> Ints:
        """Tile offsets of a nested group, in order, outermost group first."""
        import numpy as np

        offsets = np.zeros(1, dtype=np.int64)
        for group in groups:
            steps = np.arange(group.count, dtype=np.int64) * group.stride
            offsets = (offsets[:, None] + steps[None, :]).reshape(-1)
        return offsets


def _cut_again(cut: Cut, extent: int, local: Ints) -> tuple[Ints, Ints]:
    """Index inside the new block and number of the block, from index in the old one."""
    import numpy as np

    starts = np.asarray(cut.starts(extent), dtype=np.int64)
    block = np.searchsorted(starts[1:-1], local, side="right")
    return local - starts[block], block.astype(np.int64)
