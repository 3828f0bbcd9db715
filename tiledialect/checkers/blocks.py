"""Buffers as plain data, and what follows from their tables alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Block:
    """A placed buffer: bytes [address, address + bytes) of its tiles, in its steps.

    `parent` is the number of the buffer that it lies inside, from byte `offset` on; -1
    for none. `live` are half-open ranges of steps.
    """

    name: str
    bytes: int
    tiles: Ints  # ascending
    address: int
    live: tuple[tuple[int, int], ...]
    align: int = 1
    region: str = "any"
    purpose: str = "operand"
    parent: int = -1
    offset: int = 0

    @property
    def end(self) -> int:
        return self.address + self.bytes


@dataclass(frozen=True)
class Blocks:
    """The buffers of a program on `tiles` tiles that runs `steps` steps."""

    blocks: Sequence[Block]
    tiles: int
    steps: int

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, number: int) -> Block:
        return self.blocks[number]

    @cached_property
    def address(self) -> Ints:
        return np.array([block.address for block in self.blocks], np.int64)

    @cached_property
    def end(self) -> Ints:
        return np.array([block.end for block in self.blocks], np.int64)

    @cached_property
    def on_tile(self) -> Flags:
        """(buffers, tiles): where each is."""
        table = np.zeros((len(self), self.tiles), np.bool_)
        for number, block in enumerate(self.blocks):
            table[number, block.tiles] = True
        return table

    @cached_property
    def in_step(self) -> Flags:
        """(buffers, steps): when each is alive."""
        table = np.zeros((len(self), self.steps), np.bool_)
        for number, block in enumerate(self.blocks):
            for first, end in block.live:
                table[number, first:end] = True
        return table

    @cached_property
    def family(self) -> Ints:
        """For each buffer the one around it that nothing contains, or itself."""
        outer = np.arange(len(self), dtype=np.int64)
        for number, block in enumerate(self.blocks):
            if block.parent >= 0:  # parents stand before their aliases
                outer[number] = outer[block.parent]
        return outer

    @cached_property
    def overlapping(self) -> Flags:
        """(buffers, buffers): whether their addresses share a byte."""
        meets = self.address[:, None] < self.end[None, :]
        both = meets & meets.T
        filled = self.end > self.address
        return both & filled[:, None] & filled[None, :]


def sharing(table: Flags) -> Flags:
    """Whether two rows of a table of flags have one in the same column."""
    wide = table.astype(np.float32)
    return (wide @ wide.T) > 0.5
