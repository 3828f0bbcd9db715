"""What the cost model knows of a layout: the extents of its largest block.

A spec is the vectorised shadow of a `Layout`: one row a candidate. Sizes are bytes,
extents elements, and every array has the length of the candidates' table or 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.layout import SPREAD_BYTES, Factor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def ceil_div(value: Ints, by: Ints | int) -> Ints:
    return -(-value // by)


def block_extent(extent: int, grain: int, parts: Ints) -> Ints:
    """The largest block of an axis cut into `parts`, as `Cut.block`."""
    grains = np.full_like(parts, -(-extent // grain))
    return np.minimum(ceil_div(grains, parts) * grain, extent)


@dataclass(frozen=True)
class Spec:
    """A layout of each candidate.

    shape    extents of the axes, the same for all
    blocks   for each axis the largest block
    outer    for each axis the blocks that were cut again into these; None: none were
    spread   tiles that share each block's bytes in runs; None: none do
    linear   tiles of linear ownership; 0: not linear (then blocks are the shape)
    windowed of each outer block one inner one is held, the others come in other steps
    part     some of a longer tensor's linear ownership, from any tile on
    neighbours  tiles in a row, from a multiple of as many on, that hold the same block;
             None: not known
    """

    shape: tuple[int, ...]
    blocks: tuple[Ints, ...]
    order: tuple[Factor, ...]
    element_bytes: int
    outer: tuple[Ints, ...] | None = None
    spread: Ints | None = None
    spread_bytes: int = SPREAD_BYTES
    linear: int = 0
    windowed: bool = False
    part: bool = False
    neighbours: Ints | None = None

    @staticmethod
    def of_linear(shape: tuple[int, ...], element_bytes: int, tiles: int) -> Spec:
        return Spec(
            shape,
            tuple(np.array([extent], dtype=np.int64) for extent in shape),
            tuple(Factor(axis) for axis in range(len(shape))),
            element_bytes,
            linear=tiles,
        )

    def with_(self, **changes: object) -> Spec:
        """A copy with some fields changed; nothing that was computed is kept."""
        return replace(self, **changes)  # pyright: ignore[reportArgumentType]

    @cached_property
    def extents(self) -> tuple[Ints, ...]:
        """True elements of the largest block along each axis."""
        return tuple(
            np.minimum(block, extent)
            for block, extent in zip(self.blocks, self.shape, strict=True)
        )

    @property
    def cuts(self) -> tuple[tuple[Ints, ...], ...]:
        """The blocks of each cut, inner ones first."""
        return (self.blocks,) if self.outer is None else (self.blocks, self.outer)

    @cached_property
    def block_elements(self) -> Ints:
        """True elements of the largest block."""
        return product(self.extents)

    @cached_property
    def block_bytes(self) -> Ints:
        """Bytes of the largest block, padding included, as `Layout.block_bytes`."""
        size = np.ones(1, dtype=np.int64)
        for position, factor in enumerate(self.order):
            count = self._count(position, factor)
            if position == len(self.order) - 1 and not self.linear:
                word = max(1, 4 // self.element_bytes)
                count = count if word == 1 else ceil_div(count, word) * word
            size = size * count
        size = size * self.element_bytes
        return size if self.linear else ceil_div(size, 4) * 4

    def _count(self, position: int, factor: Factor) -> Ints:
        if factor.count:
            return np.array([factor.count], dtype=np.int64)
        inner = prod(
            f.count for f in self.order[position + 1 :] if f.axis == factor.axis
        )
        block = self.blocks[factor.axis]
        return block if inner == 1 else ceil_div(block, inner)

    @cached_property
    def tile_bytes(self) -> Ints:
        """Bytes that a tile sets aside, as `Layout.tile_bytes`."""
        if self.linear:
            return _runs(self.block_bytes, np.array([self.linear]), SPREAD_BYTES)
        if self.spread is None:
            return self.block_bytes
        return _runs(self.block_bytes, self.spread, self.spread_bytes)

    @cached_property
    def tile_elements(self) -> Ints:
        """True elements on the fullest tile."""
        if self.linear or self.spread is not None:
            return np.minimum(
                self.block_elements, self.tile_bytes // self.element_bytes
            )
        return self.block_elements


def _runs(size: Ints, count: Ints, multiple: int) -> Ints:
    return ceil_div(ceil_div(size, count), multiple) * multiple


def product(values: Sequence[Ints]) -> Ints:
    """The values multiplied; 1 if there are none."""
    if not values:
        return np.ones(1, dtype=np.int64)
    result = values[0]
    for value in values[1:]:
        result = result * value
    return result


def segments(block: Ints, other: Ints, extent: int) -> Ints:
    """The most blocks of size `other` that one block of size `block` meets, when both
    cut an axis of `extent` from its start."""
    step = np.maximum(np.gcd(block, other), 1)
    most = (other - step + block - 1) // np.maximum(other, 1) + 1
    whole = ceil_div(np.array([extent], dtype=np.int64), np.maximum(other, 1))
    return np.maximum(1, np.minimum(most, whole))
