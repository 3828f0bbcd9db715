"""The table of one exchange phase: who sends how much to which set of tiles.

A phase is a handful of arrays, one entry a message. Destination sets are interned:
equal sets have one index, so that what depends on a set alone is computed once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

BLOCK = 1 << 15
"""Messages handled at a time where the table may be long."""


@dataclass(frozen=True)
class Messages:
    """One phase of n messages; every set has at least one tile, in rising order."""

    tiles: int
    source: Index
    """(n,) the sending tile."""
    words: Index
    """(n,) length in 4-byte words, at least 1."""
    destinations: Index
    """(n,) index of the destination set."""
    set_start: Index
    """(s + 1,) where each set begins in `set_tiles`."""
    set_tiles: Index
    """The tiles of all sets, one set after the other."""
    double: Flags | None = None
    """(n,) which are sent two words a cycle, on the lanes of the sender and its partner
    (source ^ 1), to whole pairs of tiles; None: no message is."""

    @property
    def slots(self) -> Index:
        """(n,) cycles that each message takes on each of its ports."""
        return self.words if self.double is None else self.words >> self.double

    @property
    def partners(self) -> tuple[Index, Index]:
        """The doubled messages, and the tile that lends each its lane."""
        double = np.zeros(0, np.bool_) if self.double is None else self.double
        doubled = np.flatnonzero(double)
        return doubled, self.source[doubled] ^ 1

    @property
    def count(self) -> int:
        return int(self.source.size)

    @property
    def fan_out(self) -> Index:
        """(n,) how many tiles receive each message."""
        return np.diff(self.set_start)[self.destinations]

    @property
    def unicast(self) -> bool:
        """Every set is a single tile."""
        return self.set_tiles.size == self.set_start.size - 1

    def targets(self) -> Index:
        """(n,) the one receiver of each message of a unicast phase."""
        if np.array_equal(self.set_tiles, np.arange(self.tiles)):
            return self.destinations
        return self.set_tiles[self.destinations]

    def widened(self) -> "Messages":
        """The same in 64 bits, itself if it is: products of indices overflow 32."""
        columns = (
            self.source,
            self.words,
            self.destinations,
            self.set_start,
            self.set_tiles,
        )
        if all(column.dtype == np.int64 for column in columns):
            return self
        source, words, destinations, set_start, set_tiles = (
            column.astype(np.int64) for column in columns
        )
        return Messages(
            self.tiles,
            source,
            words,
            destinations,
            set_start,
            set_tiles,
            self.double,
        )

    def select(self, chosen: Index | slice) -> "Messages":
        """The chosen messages, over the same sets."""
        return Messages(
            self.tiles,
            self.source[chosen],
            self.words[chosen],
            self.destinations[chosen],
            self.set_start,
            self.set_tiles,
            None if self.double is None else self.double[chosen],
        )


def blocks(count: int) -> Iterator[slice]:
    """Slices of a long table, short enough that what they give stays in cache."""
    for begin in range(0, count, BLOCK):
        yield slice(begin, begin + BLOCK)


def unicasts(tiles: int, source: Index, target: Index, words: Index) -> Messages:
    """A phase in which each message has one receiver."""
    sets = np.arange(tiles + 1, dtype=np.int64)
    return Messages(tiles, source, words, target, sets, sets[:-1])


def multicasts(
    tiles: int, source: Index, words: Index, start: Index, members: Index
) -> Messages:
    """A phase whose message i goes to members[start[i]:start[i + 1]], interned."""
    index, set_start, set_tiles = intern_sets(start, members)
    return Messages(tiles, source, words, index, set_start, set_tiles)


def endpoints(messages: Messages) -> tuple[Index, Index]:
    """Each (message, receiver) pair, one message after the other."""
    size = messages.fan_out
    message = np.repeat(np.arange(messages.count), size)
    begin = np.cumsum(size) - size
    shift = messages.set_start[messages.destinations] - begin
    place = np.arange(message.size) + np.repeat(shift, size)
    return message, messages.set_tiles[place]


def port_rows(messages: Messages) -> tuple[Index, Index]:
    """Where the ports of each message begin, and the ports: sender, then its partner
    if the message is doubled, then receivers.

    Tile t sends through port t and receives through port tiles + t.
    """
    doubled, partner = messages.partners
    ports = messages.fan_out + 1
    ports[doubled] += 1
    first = np.append(0, np.cumsum(ports))
    rows = np.empty(first[-1], np.int64)
    message, tile = endpoints(messages)
    ahead = first[1:] - np.cumsum(messages.fan_out)
    rows[np.arange(message.size) + ahead[message]] = tile + messages.tiles
    rows[first[:-1]] = messages.source
    rows[first[doubled] + 1] = partner
    return first, rows


def intern_sets(start: Index, members: Index) -> tuple[Index, Index, Index]:
    """Number equal sets alike: each set's index, and the distinct sets.

    The sets are members[start[i]:start[i + 1]], sorted, none of them empty. Distinct
    sets keep the order in which they first occur.
    """
    if start.size == 1:
        return start[:0], start, members
    keys = np.stack([_digest(start, members, seed) for seed in (1, 2)], axis=1)
    _, first, index = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    index, first = rank[index.ravel()], np.sort(first)
    set_start, set_tiles = take_sets(start, members, first)
    check_start, check = take_sets(set_start, set_tiles, index)
    if not (np.array_equal(check_start, start) and np.array_equal(check, members)):
        raise ValueError("two destination sets share a digest")
    return index, set_start, set_tiles


def take_sets(start: Index, members: Index, chosen: Index) -> tuple[Index, Index]:
    """The chosen sets one after the other, as starts and members."""
    size = np.diff(start)[chosen]
    taken_start = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
    shift = np.repeat(start[chosen] - taken_start[:-1], size)
    return taken_start, members[np.arange(taken_start[-1]) + shift]


def used_sets(
    start: Index, members: Index, number: Index
) -> tuple[Index, Index, Index]:
    """The sets that `number` names, interned: their new numbers, and the sets."""
    used, place = np.unique(number, return_inverse=True)
    index, set_start, set_tiles = intern_sets(*take_sets(start, members, used))
    return index[place.ravel()], set_start, set_tiles


def _digest(start: Index, members: Index, seed: int) -> NDArray[np.uint64]:
    """A 64-bit sum of each set's mixed members and of its size."""
    mixed = (members.astype(np.uint64) + np.uint64(seed)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return np.add.reduceat(mixed, start[:-1])
