"""What candidates share: the grids of many variants, each of them once.

Most of what a candidate costs depends on its grid and some of its variant's choices
alone. So it is worked out for each grid once, and rows of it are what variants have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tiledialect.candidates import Candidates
from tiledialect.search.fronts import classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

T = TypeVar("T")


@dataclass(frozen=True)
class Grids:
    """The grids of some tables, each once, and for each table the rows of its
    candidates' grids."""

    parts: Ints
    rows: list[Ints]

    @staticmethod
    def of(tables: Sequence[Candidates]) -> Grids:
        """The grids of these tables."""
        numbers = [table.grid for table in tables]
        known = [number for number in numbers if number is not None]
        if len(known) < len(tables):
            return Grids._compared(tables)
        size = max((int(number.max(initial=-1)) for number in known), default=-1) + 1
        some = Grids(np.zeros((size, 0), dtype=np.int64), known)
        used, rows = some.among(range(len(tables)))
        parts = np.zeros((len(used), tables[0].parts.shape[1]), dtype=np.int64)
        for table, row in _once(tables, rows):
            parts[row] = table.parts
        return Grids(parts, rows)

    @staticmethod
    def _compared(tables: Sequence[Candidates]) -> Grids:
        every = np.concatenate([table.parts for table in tables])
        number, first = classes([np.zeros(len(every), dtype=np.int64), *every.T])
        ends = np.cumsum([len(table) for table in tables])
        return Grids(every[first], np.split(number, ends[:-1]))

    def among(self, tables: Sequence[int]) -> tuple[Ints, list[Ints]]:
        """The rows of the grids that some of the tables have, ascending, and for each
        of these tables the places of its candidates' grids among them."""
        flags = np.zeros(len(self.parts), dtype=np.bool_)
        some = [self.rows[table] for table in tables]
        distinct = _once(tables, some)
        for _, row in distinct:
            flags[row] = True
        place = np.cumsum(flags) - 1
        known = {id(row): place[row] for _, row in distinct}
        return np.flatnonzero(flags), [known[id(row)] for row in some]


def _once(items: Sequence[T], rows: Sequence[Ints]) -> list[tuple[T, Ints]]:
    """The items whose rows are not the very array of one before."""
    found = {id(row): (item, row) for item, row in zip(items, rows, strict=True)}
    return list(found.values())
