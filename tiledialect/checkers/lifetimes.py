"""What is in buffers: every read finds what was written for it.

Method: the program's uses of buffers in the order in which they happen. A lifetime must
cover each use and what lies between a write and the reads that it is for; a buffer
counts as occupied while it or another one with the same bytes (an alias) is alive.
Sets of tiles are exact; bytes are compared where aliases could overwrite each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.checkers.blocks import Blocks
from tiledialect.checkers.overlap import Misplaced

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

BEFORE_ALL = -1
"""The time at which arguments and constants are in place."""

AFTER_ALL = 1 << 60
"""The time at which results are fetched."""


@dataclass(frozen=True)
class Stretches:
    """Bytes [first, end) of a buffer on tiles; a tile may have many."""

    tile: Ints
    first: Ints
    end: Ints


@dataclass(frozen=True)
class Use:
    """One read or write of a buffer on some tiles.

    `time` orders uses: those of one call or phase have the same, reads before writes.
    `first` and `end` bound the bytes; `stretches` says which they are, if not all.
    A `partly` write puts zeros in padding: it overwrites no element and brings none.
    """

    block: int
    step: int
    time: int
    writes: bool
    tiles: Ints
    first: int
    end: int
    what: str
    partly: bool = False
    stretches: Callable[[], Stretches] | None = None

    @property
    def moment(self) -> tuple[int, bool]:
        return self.time, self.writes

    def exact(self) -> Stretches:
        if self.stretches is not None:
            return self.stretches()
        ones = np.ones_like(self.tiles)
        return Stretches(self.tiles, ones * self.first, ones * self.end)


class Lifetimes:
    """The uses of a program's buffers, by buffer and time."""

    def __init__(self, blocks: Blocks, uses: Sequence[Use]) -> None:
        self.blocks = blocks
        self.uses = sorted(uses, key=lambda use: use.moment)
        self.writes: defaultdict[int, list[Use]] = defaultdict(list)
        for use in self.uses:
            if use.writes:
                self.writes[use.block].append(use)
        same = blocks.family[:, None] == blocks.family[None, :]
        self.sharers = [
            [int(other) for other in np.flatnonzero(row)]
            for row in same & (blocks.overlapping | np.eye(len(blocks), dtype=np.bool_))
        ]

    def check(self) -> None:
        """Raises Misplaced at the first use that does not hold."""
        for use in self.uses:
            self._check_place(use)
        for use in self.uses:
            if not use.writes:
                self._check_written(use)
                self._check_kept(use)
        self._check_races()

    def _check_place(self, use: Use) -> None:
        """The use lies in its buffer's tiles, bytes and lifetime."""
        block = self.blocks[use.block]
        stray = use.tiles[~np.isin(use.tiles, block.tiles)]
        if len(stray):
            raise Misplaced(
                use.block,
                f"{use.what} uses {block.name} on tile {stray[0]}, which lacks it",
            )
        if use.first < 0 or use.end > -(-block.bytes // 4) * 4:
            raise Misplaced(
                use.block,
                f"{use.what} uses bytes [{use.first}, {use.end}) of {block.name},"
                f" which has {block.bytes}",
            )
        if not self.blocks.in_step[use.block, use.step]:
            raise Misplaced(
                use.block,
                f"{use.what} {'writes' if use.writes else 'reads'} {block.name} in step"
                f" {use.step}, where it is not alive ({_live_text(block.live)})",
            )

    def _occupied_since(self, use: Use) -> int:
        """The step from which the buffer's bytes are held without a gap to the use."""
        alive = self.blocks.in_step[self.sharers[use.block], : use.step].any(axis=0)
        return int(np.flatnonzero(~alive)[-1]) + 1 if not alive.all() else 0

    def _check_written(self, read: Use) -> None:
        """Every tile that reads has written before, in this lifetime."""
        since = self._occupied_since(read)
        missing = np.zeros(self.blocks.tiles, np.bool_)
        missing[read.tiles] = True
        for number in self.sharers[read.block]:
            for write in self.writes[number]:
                if write.time >= read.time:
                    break
                if write.step >= since and not write.partly:
                    missing[write.tiles] = False
        if missing.any():
            block = self.blocks[read.block]
            tile = int(np.argmax(missing))
            raise Misplaced(
                read.block,
                f"{read.what} reads {block.name} on tile {tile} in step {read.step},"
                f" which nothing has written since step {since}"
                f" ({_live_text(block.live)})",
            )

    def _check_kept(self, read: Use) -> None:
        """What the buffer's last write left is not overwritten through an alias."""
        own = [
            w for w in self.writes[read.block] if w.time < read.time and not w.partly
        ]
        if not own:
            return
        for number in self.sharers[read.block]:
            if number == read.block:
                continue
            for write in self.writes[number]:
                if own[-1].time < write.time < read.time and not write.partly:
                    self._check_spares(read, own, write)

    def _check_spares(self, read: Use, own: Sequence[Use], write: Use) -> None:
        for kept in own:
            if kept.time >= write.time:
                break
            tile = self.shared_tile(kept, write, read.tiles)
            if tile is not None:
                raise Misplaced(
                    read.block,
                    f"{read.what} reads {self.blocks[read.block].name} in step"
                    f" {read.step}, but {write.what} has overwritten it on tile {tile}"
                    f" in step {write.step} through {self.blocks[write.block].name}",
                )

    def shared_tile(self, one: Use, other: Use, among: Ints | None) -> int | None:
        """The first tile (of those) on which two uses touch a byte in common."""
        left, right = self._at_addresses(one, among), self._at_addresses(other, among)
        if not len(left.tile) or not len(right.tile):
            return None
        span = 1 << 40
        order = np.argsort(left.tile * span + left.first, kind="stable")
        start = (left.tile * span + left.first)[order]
        # Stretches of one use may overlap each other, so ends are made to grow.
        end = np.maximum.accumulate((left.tile * span + left.end)[order])
        below = np.searchsorted(start, right.tile * span + right.end, side="left") - 1
        meets = (below >= 0) & (end[below] > right.tile * span + right.first)
        return int(right.tile[np.argmax(meets)]) if meets.any() else None

    def _at_addresses(self, use: Use, among: Ints | None) -> Stretches:
        exact, base = use.exact(), self.blocks[use.block].address
        kept = exact.end > exact.first
        if among is not None:
            kept &= np.isin(exact.tile, among)
        return Stretches(
            exact.tile[kept], exact.first[kept] + base, exact.end[kept] + base
        )

    def _check_races(self) -> None:
        """No two calls of a step write the same bytes with no read between them."""
        by_step: defaultdict[tuple[int, int], list[Use]] = defaultdict(list)
        for use in self.uses:
            by_step[use.step, int(self.blocks.family[use.block])].append(use)
        for uses in by_step.values():
            writes = [use for use in uses if use.writes and not use.partly]
            for position, later in enumerate(writes):
                for earlier in writes[:position]:
                    if earlier.time < later.time:
                        self._check_race(earlier, later, uses)

    def _check_race(self, earlier: Use, later: Use, uses: Sequence[Use]) -> None:
        if earlier.time == BEFORE_ALL:
            return
        between = [
            use
            for use in uses
            if not use.writes and earlier.time < use.time <= later.time
        ]
        tile = self.shared_tile(earlier, later, None)
        if tile is None or any(
            self.shared_tile(earlier, read, None) is not None for read in between
        ):
            return
        base = self.blocks[later.block].address
        low = max(
            earlier.first + self.blocks[earlier.block].address - base, later.first
        )
        high = min(earlier.end + self.blocks[earlier.block].address - base, later.end)
        raise Misplaced(
            later.block,
            f"{earlier.what} and {later.what} both write bytes [{low}, {high}) of"
            f" {self.blocks[later.block].name} on tile {tile} in step {later.step}",
        )


def _live_text(live: Sequence[tuple[int, int]]) -> str:
    if not live:
        return "it is never alive"
    return "live " + ", ".join(f"[{first}, {end})" for first, end in live)
