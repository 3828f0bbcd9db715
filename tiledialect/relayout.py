"""Relayout: the table of transfers that takes a tensor from one layout to another.

Gather, scatter, broadcast, packing by delivery, reduce-scatter are all this function.
Exchange moves whole aligned 4-byte words: a run of bytes that is not whole words on
both sides comes as covering words into staging on its destination, and a byte copy puts
it in place. Covering words may read bytes beside the run, but none beyond a buffer's
last word.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.byte_runs import Runs, byte_runs, outer_sum, sort_order, spread_places
from tiledialect.layout import WORD_BYTES, round_up
from tiledialect.own_piece import OwnPiece, own_piece

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.layout import Group, Ints, Layout

    Bools = NDArray[np.bool_]

STAGING_ALIGN = 8

KEPT = 256
"""Tables that are kept, as several passes ask for them."""

KEPT_STACKS = 4
"""Tables of stacks that are kept: they are long, and few differ in a program."""


@dataclass(frozen=True)
class Transfers:
    """What moves between two layouts: messages of the exchange and copies on a tile.

    Message i takes `words[i]` words of tile `source[i]` from byte `source_offset[i]` of
    its source buffer to every tile of set `destinations[i]`, to byte `offset[i]` of the
    destination buffer, or of staging where `to_staging[i]`. Set j holds the tiles
    `set_tiles[set_start[j]:set_start[j + 1]]`, ascending. Offsets are whole words.
    Copy i moves `copy_bytes[i]` bytes on `copy_tile[i]`, to byte `copy_to[i]` of the
    destination buffer, from byte `copy_from[i]` of staging where `copy_staged[i]`, else
    of the source buffer. `staging_bytes` is what the fullest tile needs, whole 8 bytes.

    Messages are sorted by source tile, set, kind of place and source offset; copies by
    tile, kind of place and where they read.
    """

    source: Ints
    source_offset: Ints
    words: Ints
    destinations: Ints
    offset: Ints
    to_staging: Bools
    set_start: Ints
    set_tiles: Ints
    copy_tile: Ints
    copy_from: Ints
    copy_to: Ints
    copy_bytes: Ints
    copy_staged: Bools
    staging_bytes: int

    def _received(self, weights: Ints, tiles: int) -> Ints:
        sets = np.zeros(self.set_start.size - 1, dtype=np.int64)
        np.add.at(sets, self.destinations, weights)
        total = np.zeros(tiles, dtype=np.int64)
        np.add.at(total, self.set_tiles, np.repeat(sets, np.diff(self.set_start)))
        return total

    def words_in(self, tiles: int) -> Ints:
        """Words that each of so many tiles receives."""
        return self._received(self.words, tiles)

    def messages_in(self, tiles: int) -> Ints:
        """Messages that each of so many tiles receives."""
        return self._received(np.ones_like(self.words), tiles)

    def words_out(self, tiles: int) -> Ints:
        """Words that each of so many tiles sends."""
        total = np.zeros(tiles, dtype=np.int64)
        np.add.at(total, self.source, self.words)
        return total

    def messages_out(self, tiles: int) -> Ints:
        """Messages that each of so many tiles sends."""
        return np.bincount(self.source, minlength=tiles).astype(np.int64)


@lru_cache(maxsize=KEPT)
def relayout(source: Layout, destination: Layout) -> Transfers:
    """The transfers that fill the destination's buffers from the source's.

    Both layouts describe the same elements in row-major order; padding is not moved.
    Raises ValueError where elements differ or a partial axis is left.
    """
    _check_elements(source, destination)
    if source.partial is not None:
        raise ValueError("a relayout needs values, its source is partial sums")
    return _transfers(byte_runs(source, destination), source, destination)


@lru_cache(maxsize=KEPT_STACKS)
def stack_partials(
    source: Layout, destination: Layout
) -> tuple[Transfers, OwnPiece | None]:
    """The transfers that bring all partials of a destination block to its tiles.

    The destination buffer is a stack of slots of `destination.tile_bytes`. Where each
    tile holds one partial of its own block itself, that one stays where it is (the
    second result says where) and partial q comes to slot q, or q - 1 behind the own
    one. Otherwise partial q comes to slot q, the tile's own by a copy.
    """
    _check_elements(source, destination)
    if source.partial is None:
        raise ValueError("a stack needs partial sums, its source has none")
    runs = byte_runs(source, destination)
    own = own_piece(runs, source, destination)
    stacked = _stacked(runs, source.partial, own, destination.tile_bytes)
    return _transfers(stacked, source, destination), own


def element_places(layout: Layout) -> tuple[Ints, Ints]:
    """Tile and byte offset of every element, in row-major order, of the first replica
    and the first partial."""
    axes = range(len(layout.shape))
    tile = layout.first + outer_sum([layout.axis_blocks(axis)[0] for axis in axes])
    offset = outer_sum([layout.axis_offsets(axis) for axis in axes])
    return spread_places(layout, tile, offset) if offset.size else (tile, offset)


def replica_offsets(layout: Layout) -> Ints:
    """Tiles to add to an element's tile for each of its replicas, ascending."""
    return np.sort(layout.tile_groups(layout.replicas))


def _check_elements(source: Layout, destination: Layout) -> None:
    if prod(source.shape) != prod(destination.shape):
        raise ValueError(
            f"source has {prod(source.shape)} elements,"
            f" destination {prod(destination.shape)}"
        )
    if source.element_bytes != destination.element_bytes:
        raise ValueError(
            f"source elements have {source.element_bytes} bytes,"
            f" destination elements {destination.element_bytes}"
        )
    if destination.partial is not None:
        raise ValueError("nothing can be moved into partial sums")


def _stacked(runs: Runs, group: Group, own: OwnPiece | None, slot_bytes: int) -> Runs:
    """The runs of all partials that move, into the slots of a stack."""
    partial = np.repeat(np.arange(group.count), runs.bytes.size)
    every = runs.take(np.tile(np.arange(runs.bytes.size), group.count))
    stays = np.full_like(partial, group.count)
    if own is not None:
        stays = (every.destination - own.first) // own.stride % own.count
    slot = partial - (partial > stays)
    stacked = Runs(
        every.source + partial * group.stride,
        every.destination,
        every.source_offset,
        every.destination_offset + slot * slot_bytes,
        every.bytes,
    )
    return stacked.take(partial != stays)


# From runs to messages and copies


@dataclass(frozen=True)
class _Messages:
    """Messages before replicas are chosen; tiles are those of the first replica."""

    source: Ints
    destination: Ints
    source_offset: Ints
    offset: Ints
    bytes: Ints
    to_staging: Bools


def _transfers(runs: Runs, source: Layout, destination: Layout) -> Transfers:
    """Messages and copies that make these runs."""
    targets = replica_offsets(destination)
    held = np.isin(runs.destination - runs.source, replica_offsets(source))
    local = held if targets.size == 1 else np.zeros_like(held)
    misaligned = (
        runs.source_offset | runs.destination_offset | runs.bytes
    ) % WORD_BYTES != 0
    direct = runs.take(~local & ~misaligned)
    covering, staged_copies, staging_bytes = _staged(runs.take(~local & misaligned))
    messages = _joined_messages(direct, covering)
    sets, number = np.unique(messages.destination, return_inverse=True)
    sender = _senders(messages, replica_offsets(source))
    order = sort_order(
        (sender, number, messages.to_staging.astype(np.int64), messages.source_offset)
    )
    copies, staged = _copies(runs.take(local), staged_copies, targets)
    return Transfers(
        source=sender[order],
        source_offset=messages.source_offset[order],
        words=messages.bytes[order] // WORD_BYTES,
        destinations=number[order],
        offset=messages.offset[order],
        to_staging=messages.to_staging[order],
        set_start=np.arange(sets.size + 1) * targets.size,
        set_tiles=outer_sum((sets, targets)),
        copy_tile=copies.destination,
        copy_from=copies.source_offset,
        copy_to=copies.destination_offset,
        copy_bytes=copies.bytes,
        copy_staged=staged,
        staging_bytes=staging_bytes,
    )


def _staged(runs: Runs) -> tuple[Runs, Runs, int]:
    """Covering words into staging, the copies out of it, and the bytes of staging.

    Words that follow each other in the source, for one destination, are one run; the
    copies' source is the staging of their destination.
    """
    runs = runs.take(sort_order((runs.destination, runs.source, runs.source_offset)))
    low = runs.source_offset // WORD_BYTES * WORD_BYTES
    high = -(-(runs.source_offset + runs.bytes) // WORD_BYTES) * WORD_BYTES
    begins = np.ones(low.size, dtype=np.bool_)
    begins[1:] = (
        (np.diff(runs.destination) != 0)
        | (np.diff(runs.source) != 0)
        | (low[1:] > high[:-1])
    )
    at = np.flatnonzero(begins)
    words = np.append(high[at[1:] - 1], high[-1:]) - low[at]
    tile = runs.destination[at]
    above = np.cumsum(words) - words
    tile_begins = np.searchsorted(tile, tile)  # tiles are ascending
    place = above - above[tile_begins]
    covering = Runs(runs.source[at], tile, low[at], place, words)
    message = np.cumsum(begins) - 1
    copies = Runs(
        runs.destination,
        runs.destination,
        place[message] + runs.source_offset - low[at][message],
        runs.destination_offset,
        runs.bytes,
    )
    fullest = int((place + words).max()) if words.size else 0
    return covering, copies, round_up(fullest, STAGING_ALIGN)


def _joined_messages(direct: Runs, covering: Runs) -> _Messages:
    """Both kinds as one table."""

    def both(first: Ints, second: Ints) -> Ints:
        return np.concatenate((first, second))

    return _Messages(
        both(direct.source, covering.source),
        both(direct.destination, covering.destination),
        both(direct.source_offset, covering.source_offset),
        both(direct.destination_offset, covering.destination_offset),
        both(direct.bytes, covering.bytes),
        np.arange(direct.bytes.size + covering.bytes.size) >= direct.bytes.size,
    )


def _senders(messages: _Messages, replicas: Ints) -> Ints:
    """The tile that sends each message: of each block's messages, in order, every
    replica sends an equal share of the bytes, to within one message."""
    if replicas.size == 1:
        return messages.source
    order = sort_order((messages.source, messages.destination, messages.source_offset))
    block, amount = messages.source[order], messages.bytes[order]
    begins = np.searchsorted(block, block)
    total = np.append(0, np.cumsum(amount))
    ends = np.searchsorted(block, block, side="right")
    before = total[:-1] - total[begins]
    whole = total[ends] - total[begins]
    share = (2 * before + amount) * replicas.size // (2 * whole)
    sender = np.empty_like(block)
    sender[order] = block + replicas[share]
    return sender


def _copies(local: Runs, staged: Runs, targets: Ints) -> tuple[Runs, Bools]:
    """The copies of all tiles, and which of them read staging."""

    def both(first: Ints, second: Ints) -> Ints:
        return np.concatenate((first, np.repeat(second, targets.size)))

    tile = both(local.destination, staged.destination)
    tile[local.bytes.size :] += np.tile(targets, staged.bytes.size)
    copies = Runs(
        np.repeat((0, 1), (local.bytes.size, tile.size - local.bytes.size)),
        tile,
        both(local.source_offset, staged.source_offset),
        both(local.destination_offset, staged.destination_offset),
        both(local.bytes, staged.bytes),
    ).joined()  # the source column tells the kinds apart, so they are not joined
    copies = copies.take(sort_order((copies.destination, copies.source)))
    return copies, copies.source == 1
