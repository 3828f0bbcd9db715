"""Small vectorised tools of the search: classes, Pareto fronts, ragged expansion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

MOST_AT_ONCE = 32
"""Rows of a front that others are compared with before the beaten ones go."""


def classes(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Equal rows get one number: the number of each row, and the first row of each."""
    code = np.zeros(len(columns[0]), dtype=np.int64)
    span = 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        if span * width > 1 << 62:
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
            span = len(code) + 1
        code = code * width + column
        span *= width
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    return number.astype(np.int64), first.astype(np.int64)


def undominated(columns: Sequence[Ints], group: Ints) -> Ints:
    """The rows, ascending, that no other row of their group equals or beats in every
    column; of equal rows the first stands."""
    score = np.sum(columns, axis=0)
    if not len(group) or (group == group[0]).all():
        return _of_one_group(columns, np.argsort(score, kind="stable"))
    alive = np.lexsort((score, group))
    groups, values = group[alive], [column[alive] for column in columns]
    kept: list[Ints] = []
    # The first of each group has the least sum, so none that is left beats it.
    while len(alive):
        begins = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
        kept.append(alive[begins])
        best = np.repeat(begins, np.diff(np.append(begins, len(alive))))
        beaten = np.ones(len(alive), dtype=np.bool_)
        for value in values:
            beaten &= value >= value[best]
        rest = np.flatnonzero(~beaten)
        alive, groups = alive[rest], groups[rest]
        values = [value[rest] for value in values]
    return np.sort(np.concatenate(kept)) if kept else alive


def _of_one_group(columns: Sequence[Ints], alive: Ints) -> Ints:
    """The same of one group, given its rows by ascending sums: none of them beats one
    before it. The first of all leave few, so that more are taken at once later."""
    values = np.array(columns)[:, alive]
    kept: list[Ints] = []
    count = 1
    while len(alive):
        first = values[:, :count]
        beats = (first[:, :, None] <= first[:, None, :]).all(axis=0)
        best = np.flatnonzero(~np.triu(beats, 1).any(axis=0))
        kept.append(alive[best])
        left = np.ones(len(alive) - first.shape[1], dtype=np.bool_)
        for one in best.tolist():
            beaten = values[0, count:] >= first[0, one]
            for value, least in zip(values[1:], first[1:, one], strict=True):
                beaten &= value[count:] >= least
            left &= ~beaten
        alive, values = alive[count:][left], values[:, count:][:, left]
        count = min(2 * count, MOST_AT_ONCE)
    return np.sort(np.concatenate(kept)) if kept else alive


def segments_of(sorted_numbers: Ints) -> tuple[Ints, Ints, Ints]:
    """The distinct numbers of a sorted array, and where each begins and ends."""
    if not len(sorted_numbers):
        none = np.zeros(0, dtype=np.int64)
        return none, none, none
    change = np.flatnonzero(sorted_numbers[1:] != sorted_numbers[:-1]) + 1
    begin = np.append(np.int64(0), change)
    end = np.append(change, np.int64(len(sorted_numbers)))
    return sorted_numbers[begin], begin, end


def count_up_to(values: Ints, begin: Ints, end: Ints, limit: Ints) -> Ints:
    """For each i how many of values[begin[i]:end[i]], ascending, are at most limit."""
    low, high = begin.copy(), end.copy()
    while (open := low < high).any():
        middle = (low + high) >> 1
        fits = open & (values[np.minimum(middle, len(values) - 1)] <= limit)
        low = np.where(fits, middle + 1, low)
        high = np.where(open & ~fits, middle, high)
    return low - begin


def expanded(counts: Ints, most: int) -> Iterator[tuple[Ints, Ints]]:
    """Row i stands for counts[i] items: pieces of (row, position within it), each of
    at most `most` items or of one row."""
    edges = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=edges[1:])
    first = 0
    while first < len(counts):
        reach = edges[first : first + 1] + most
        last = int(np.searchsorted(edges, reach, side="right")[0]) - 1
        last = min(max(last, first + 1), len(counts))
        rows = np.repeat(np.arange(first, last, dtype=np.int64), counts[first:last])
        if len(rows):
            items = np.arange(int(edges[first]), int(edges[last]), dtype=np.int64)
            yield rows, items - edges[rows]
        first = last
