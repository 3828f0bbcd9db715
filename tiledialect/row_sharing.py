"""Equal programs of a phase are stored once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint32]


def share(start: Ints, words: Words) -> tuple[Ints, Ints, Words]:
    """Equal programs once: each program's number, and the distinct ones.

    They keep the order in which they first occur.
    """
    if start.size == 1:
        return start[:0], start, words
    length = np.diff(start)
    digests = [length, *(_digest(start, words, seed) for seed in (1, 2))]
    order = np.lexsort(digests)
    same = np.ones(order.size - 1, np.bool_)
    for digest in digests:
        same &= digest[order][1:] == digest[order][:-1]
    group = np.empty(order.size, np.int64)
    group[order] = np.cumsum(np.append(False, ~same))
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    number, first = rank[group.ravel()], np.sort(first)
    new_start, new_words = take(start, words, first)
    if not np.array_equal(take(new_start, new_words, number)[1], words):
        raise ValueError("two programs share a digest")
    return number, new_start, new_words


def take(start: Ints, words: Words, chosen: Ints) -> tuple[Ints, Words]:
    """The chosen programs one after the other."""
    length = np.diff(start)[chosen]
    begin = np.append(0, np.cumsum(length))
    return begin, words[
        np.arange(begin[-1]) + np.repeat(start[chosen] - begin[:-1], length)
    ]


def _digest(start: Ints, words: Words, seed: int) -> Ints:
    """A 64-bit sum of each program's words, each mixed with its place."""
    place = np.arange(words.size) - np.repeat(start[:-1], np.diff(start))
    mixed = words.astype(np.uint64) + (place.astype(np.uint64) << np.uint64(32))
    mixed = (mixed + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.add.reduceat(mixed ^ (mixed >> np.uint64(31)), start[:-1]).view(np.int64)
