"""Sets of tiles, written small: unions of affine boxes of tile numbers.

A box is a first tile and nested steps: `0 [9:162, 6:1]` holds 0 + 162 i + j for i < 9
and j < 6. Everything about a class of tiles is said once for the whole set.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Box:
    """Tiles first + sum of i_d * stride_d, i_d < count_d, for steps (count, stride)."""

    first: int
    steps: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        return prod(count for count, _ in self.steps)

    def array(self) -> NDArray[np.int64]:
        import numpy as np

        tiles = np.array([self.first], dtype=np.int64)
        for count, stride in self.steps:
            more = np.arange(count, dtype=np.int64) * stride
            tiles = (tiles[:, None] + more[None, :]).reshape(-1)
        return tiles


@dataclass(frozen=True)
class TileSet:
    """A set of tiles as a union of disjoint boxes."""

    boxes: tuple[Box, ...] = ()

    @staticmethod
    def of(tiles: NDArray[np.int64]) -> TileSet:
        """The set of these tile numbers (any order, repeats allowed)."""
        import numpy as np

        return TileSet(tuple(_boxes(np.unique(tiles))))

    def __len__(self) -> int:
        return sum(len(box) for box in self.boxes)

    def array(self) -> NDArray[np.int64]:
        """The tile numbers, ascending."""
        import numpy as np

        parts = [box.array() for box in self.boxes]
        return np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.int64)


def _progressions(values: list[int]) -> list[tuple[int, int, int]]:
    """Cut an ascending list into (first, count, stride), longest from the left."""
    runs: list[tuple[int, int, int]] = []
    i = 0
    while i < len(values):
        end = i + 1
        stride = values[end] - values[i] if end < len(values) else 1
        while end < len(values) and values[end] - values[end - 1] == stride:
            end += 1
        if end - i == 2 and end < len(values):
            end, stride = i + 1, 1  # two values alone start no progression
        runs.append((values[i], end - i, stride))
        i = end
    return runs


def _boxes(tiles: NDArray[np.int64]) -> list[Box]:
    """Boxes that cover ascending tile numbers: equal progressions are stepped over."""
    by_shape: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for first, count, stride in _progressions([int(t) for t in tiles]):
        steps = ((count, stride),) if count > 1 else ()
        by_shape.setdefault(steps, []).append(first)
    boxes: list[Box] = []
    for steps, firsts in by_shape.items():
        if not steps or len(firsts) == 1:
            boxes += [Box(first, steps) for first in firsts]
            continue
        boxes += [Box(b.first, (*b.steps, *steps)) for b in _firsts(firsts)]
    return sorted(boxes, key=lambda box: box.first)


def _firsts(firsts: list[int]) -> list[Box]:
    import numpy as np

    return _boxes(np.asarray(firsts, dtype=np.int64))
