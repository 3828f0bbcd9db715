"""The window of a phase: its buffers side by side in one range of addresses.

Rows of rung 5 name window addresses. The distinct buffers of the phase's moves lie in
the window in order of first mention, each at a multiple of 16 bytes and followed by a
guard word at least, so that no run of one buffer continues in another, and that an
address in the window is a multiple of 8 where its offset in the buffer is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.layout import WORD_BYTES, round_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

GUARD_BYTES = WORD_BYTES
BASE_BYTES = 16
PAIR_BYTES = 2 * WORD_BYTES


@dataclass(frozen=True)
class WindowBuffer:
    """A buffer of a phase, which is placed at a multiple of `align` bytes. `storage`
    numbers the buffer that nothing contains, in which this one lies from byte
    `storage_offset` on (itself and 0 where it is no alias)."""

    name: str
    bytes: int
    tiles: Ints  # ascending
    storage: int
    storage_offset: int = 0
    align: int = WORD_BYTES

    @property
    def room(self) -> int:
        """Bytes of the words that the buffer lies in."""
        return round_up(self.bytes, WORD_BYTES)


@dataclass(frozen=True)
class Window:
    """The buffers of a phase, in the order of their bases."""

    buffers: Sequence[WindowBuffer]

    @cached_property
    def bases(self) -> Ints:
        """Where each buffer starts, and where the window ends."""
        sizes = [round_up(b.room + GUARD_BYTES, BASE_BYTES) for b in self.buffers]
        return np.concatenate(
            [np.zeros(1, np.int64), np.cumsum(np.array(sizes, np.int64))]
        )

    def buffer_at(self, address: Ints) -> Ints:
        """The number of the buffer that each window address lies in (or behind)."""
        return np.searchsorted(self.bases[1:-1], address, side="right").astype(np.int64)

    def storage_at(self, address: Ints) -> Ints:
        """One number for each byte of storage: aliases of one byte have the same."""
        buffer = self.buffer_at(address)
        # Far enough apart that no two buffers' ranges of numbers meet.
        base = np.array([b.storage << 32 for b in self.buffers], np.int64)
        offset = np.array([b.storage_offset for b in self.buffers], np.int64)
        return (base + offset - self.bases[:-1])[buffer] + address

    def shares_storage(self, read: Sequence[int], written: Sequence[int]) -> bool:
        """Whether two written buffers, or a read and a written one, can have a byte in
        common: whether one contains both."""
        into = [self.buffers[number].storage for number in set(written)]
        out_of = {self.buffers[number].storage for number in read}
        return len(set(into)) < len(into) or not out_of.isdisjoint(into)

    def takes_pairs(self, buffer: Ints) -> NDArray[np.bool_]:
        """Whether each numbered buffer is placed so that its window addresses and the
        true ones are multiples of 8 together."""
        fits = [b.align % PAIR_BYTES == 0 for b in self.buffers]
        return np.array(fits, np.bool_)[buffer]

    def name(self, address: int) -> str:
        """A window address as users know it: `up.left + 64`."""
        number = int(self.buffer_at(np.array([address], np.int64))[0])
        return f"{self.buffers[number].name} + {address - int(self.bases[number])}"
