"""Blocks of operands: gathered from the tiles' SRAM into arrays, and put back.

A dim's index is a number of mixed radix whose digits have strides; an extent that does
not fill the outermost digit, or an inner one, makes the block ragged. A ragged block is
cut into boxes, so that nothing beside its elements is ever looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tiledialect.formats import FORMATS
from tiledialect.tiles import Box

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.runtime.memory import Bytes, Memory
    from tiledialect.runtime.package import View

Digits = Sequence[tuple[int, int]]


class UnwrittenError(Exception):
    """A read of bytes that nobody wrote: `box` of tiles, `address` of a byte."""

    def __init__(self, tile: int, address: int) -> None:
        super().__init__(f"tile {tile} reads address {address}, which nobody wrote")


@dataclass(frozen=True)
class Run:
    """Indices [first, first + length) of a dim: at `offset` with these digits."""

    first: int
    length: int
    offset: int
    digits: Digits


def runs(digits: Digits, extent: int) -> list[Run]:
    """Boxes of digits that cover the indices below `extent`."""
    if not digits:
        return [Run(0, 1, 0, ())]
    found: list[Run] = []
    first = offset = 0
    for position, (_, stride) in enumerate(digits):
        inner = digits[position + 1 :]
        size = prod(count for count, _ in inner)
        count = (extent - first) // size
        if count:
            box = ((count, stride), *inner)
            found.append(Run(first, count * size, offset, box))
        first += count * size
        offset += count * stride
    return found


def small_boxes(box: Box, most: int) -> Iterator[Box]:
    """The same tiles as boxes of at most `most` each, in order."""
    if len(box) <= most:
        yield box
        return
    (count, stride), inner = box.steps[0], box.steps[1:]
    each = max(1, most // prod(n for n, _ in inner))
    for begin in range(0, count, each):
        first = box.first + begin * stride
        part = min(each, count - begin)
        if part == 1:
            yield from small_boxes(Box(first, inner), most)
        else:
            yield Box(first, ((part, stride), *inner))


def gather(
    memory: Memory, box: Box, view: View, extents: Sequence[int]
) -> NDArray[Any]:
    """Stored elements [tiles, extents] of an operand; lacking dims have extent 1.
    Raises UnwrittenError."""
    dtype = FORMATS[view.format].dtype
    shape = _shape(view, extents)
    result = np.empty((len(box), *shape), dtype=dtype)
    for inside, part in _parts(result, view, extents):
        there, written = (
            _look(memory, table, box, view, part)
            for table in (memory.data, memory.written)
        )
        if not written.view(np.bool_).all():
            raise _unwritten(memory, box, view, part)
        _split(inside, box, part)[...] = there.view(dtype)[..., 0]
    return result


def scatter(
    memory: Memory,
    box: Box,
    view: View,
    extents: Sequence[int],
    values: NDArray[Any],
) -> None:
    """Put stored elements [tiles, extents] where the view says."""
    for inside, part in _parts(values, view, extents):
        there = _look(memory, memory.data, box, view, part)
        there.view(values.dtype)[..., 0] = _split(inside, box, part)
        _look(memory, memory.written, box, view, part)[...] = 1


def _shape(view: View, extents: Sequence[int]) -> list[int]:
    return [n if axis else 1 for axis, n in zip(view.axes, extents, strict=True)]


def _parts(
    values: NDArray[Any], view: View, extents: Sequence[int]
) -> Iterator[tuple[NDArray[Any], tuple[Run, ...]]]:
    """Each box of the block: its part of `values`, and its run of every dim."""
    every = [runs(a, n) for a, n in zip(view.axes, extents, strict=True)]
    for part in product(*every):
        where = tuple(slice(run.first, run.first + run.length) for run in part)
        yield values[(slice(None), *where)], part


def _look(
    memory: Memory, table: Bytes, box: Box, view: View, part: tuple[Run, ...]
) -> Bytes:
    """The bytes of a box: [steps of the tiles, digits of all dims, element bytes]."""
    address = view.address + sum(run.offset for run in part)
    shape = [digit for run in part for digit in run.digits]
    element = (FORMATS[view.format].bytes, 1)
    return memory.strided(table, box, address, [*shape, element])


def _split(values: NDArray[Any], box: Box, part: tuple[Run, ...]) -> NDArray[Any]:
    """Values with tiles and dims split into their digits; always a view."""
    steps = [count for count, _ in box.steps]
    return values.reshape([*steps, *(n for run in part for n, _ in run.digits)])


def _unwritten(
    memory: Memory, box: Box, view: View, part: tuple[Run, ...]
) -> UnwrittenError:
    """The error about the first byte of a box that nobody wrote."""
    at = np.argwhere(_look(memory, memory.written, box, view, part) == 0)[0]
    strides = [stride for run in part for _, stride in run.digits]
    tile_steps = [stride for _, stride in box.steps]
    tile_at, byte_at = at[: len(tile_steps)], at[len(tile_steps) :]
    address = view.address + sum(run.offset for run in part)
    address += int(np.dot(byte_at, [*strides, 1]))
    return UnwrittenError(box.first + int(np.dot(tile_at, tile_steps)), address)
