"""Classes of tiles: those that hold the same buffers and have as much to compute.

A report speaks of classes, never of single tiles, but for the slowest one of a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.runtime.package import ComputeStep, Moves
from tiledialect.runtime.timing import call_cycles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.machine import Machine
    from tiledialect.runtime.package import Ints, Package

MOST_CLASSES = 40
"""With more the buffers alone decide: nobody reads a picture of a hundred lanes."""


@dataclass(frozen=True)
class TileClasses:
    """A partition of the tiles, the largest class first."""

    of_tile: Ints  # (tiles,) number of its class
    first: Ints  # (classes,) the lowest tile of each
    count: Ints  # (classes,) how many tiles each has

    def __len__(self) -> int:
        return len(self.first)

    def least(self, values: Ints) -> Ints:
        """The smallest of (tiles,) values in each class."""
        result = np.full(len(self), np.iinfo(np.int64).max)
        np.minimum.at(result, self.of_tile, values)
        return result

    def most(self, values: Ints) -> tuple[Ints, Ints]:
        """The largest of (tiles,) values in each class, and the first tile with it."""
        result = np.full(len(self), np.iinfo(np.int64).min)
        np.maximum.at(result, self.of_tile, values)
        tiles = np.full(len(self), len(values))
        at = np.flatnonzero(values == result[self.of_tile])
        np.minimum.at(tiles, self.of_tile[at], at)
        return result, tiles

    def runs(self) -> list[list[int]]:
        """The classes of all tiles in order, as [class, how many tiles in a row]."""
        starts = np.flatnonzero(np.diff(self.of_tile, prepend=-1))
        lengths = np.diff(np.append(starts, len(self.of_tile)))
        pairs = zip(self.of_tile[starts], lengths, strict=True)
        return [[int(number), int(length)] for number, length in pairs]


def tile_classes(machine: Machine, package: Package) -> TileClasses:
    """The classes of a program's tiles."""
    held = _held(machine, package)
    classes = _partition(np.hstack([held, _computed(machine, package)]))
    return classes if len(classes) <= MOST_CLASSES else _partition(held)


def _held(machine: Machine, package: Package) -> Ints:
    """(tiles, buffers): 1 where the tile has the buffer."""
    held = np.zeros((machine.tiles, len(package.buffers)), dtype=np.int64)
    for number, buffer in enumerate(package.buffers):
        held[buffer.tiles.array(), number] = 1
    return held


def _computed(machine: Machine, package: Package) -> Ints:
    """(tiles, compute sets): cycles of structured codelets. Copies and fills, whose
    lengths differ from tile to tile, are left out."""
    sets = [step for step in package.steps if isinstance(step, ComputeStep)]
    cycles = np.zeros((machine.tiles, len(sets)), dtype=np.int64)
    for number, step in enumerate(sets):
        for call in step.calls:
            if not isinstance(call, Moves):
                cycles[call.tiles.array(), number] += call_cycles(machine, call)
    return cycles


def _partition(keys: NDArray[np.int64]) -> TileClasses:
    """The classes of equal rows, the largest first, ties by their lowest tile."""
    _, first, of_tile, count = np.unique(
        keys, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -count))
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return TileClasses(number[of_tile.reshape(-1)], first[order], count[order])
