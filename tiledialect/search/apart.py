"""Bytes of buffers that must not share a memory element.

A codelet that reads one buffer and writes another in the same cycle has them on two
sides of a border of elements, and so has a phase that sends one while the other fills.
Two steps whose pairs differ take more than either: neither side has room for the longer
buffer of each. So placement may need more bytes than are ever live.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import STORED
from tiledialect.cost.group import GroupCost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.program import Group

    Ints = NDArray[np.int64]

Pair = tuple[int, int]


def group_pairs(group: Group, cost: GroupCost, row: int) -> list[Pair]:
    """Bytes of the pairs of a candidate: what its codelet reads first and writes,
    partial sums and their stack, what stages read and write."""
    found: list[Pair] = []
    computed = _at(cost.computed_bytes, row)
    if group.family in ("matmul", "map"):
        first = cost.operands[0]
        held = 0 if first.path == STORED else _at(first.block_bytes, row)
        found.append((held, computed))
    last = computed
    if cost.splits:
        found.append((computed, _at(cost.stack_bytes, row)))
        last = _at(cost.summed_bytes, row)
    if cost.has_stages:
        found.append((last, _at(cost.rest_bytes, row)))
    return found


def live_apart(groups: Sequence[tuple[list[Pair], int]]) -> int:
    """Bytes that the pairs of all groups take, and what lies beside the longest pair:
    each group has its pairs and bytes of other values."""
    every = [pair for pairs, _ in groups for pair in pairs]
    beside = [(sum(pair), others) for pairs, others in groups for pair in pairs]
    return two_sides(every) + max(beside, default=(0, 0))[1]


def two_sides(pairs: Iterable[Pair]) -> int:
    """The fewest bytes of two sides such that each pair has one buffer on each."""
    known: set[Pair] = {(0, 0)}
    for one, other in pairs:
        made = {
            (max(left, first), max(right, second))
            for left, right in known
            for first, second in ((one, other), (other, one))
        }
        known = {
            pair
            for pair in made
            if not any(p != pair and p[0] <= pair[0] and p[1] <= pair[1] for p in made)
        }
    return min(left + right for left, right in known)


def _at(sizes: Ints, row: int) -> int:
    """A row's entry; arrays of one entry stand for all."""
    return int(sizes[row if len(sizes) > 1 else 0])
