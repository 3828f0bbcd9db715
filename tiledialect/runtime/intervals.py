"""Tables of half-open intervals of cycles or addresses, tiles apart from each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tiledialect.runtime.package import Ints

LATEST = 1 << 40  # cycles: more than any phase takes, so that tile and cycle make a key


class ExchangeError(Exception):
    """A phase that the machine would not run. The message names tile and cycle."""


def meeting(starts: Ints, ends: Ints, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """For each interval [begin, end): first and number of the sorted disjoint
    intervals [starts, ends) that it meets."""
    first = np.searchsorted(ends, begin, side="right")
    last = np.searchsorted(starts, end, side="left")
    return first, np.maximum(last - first, 0)
