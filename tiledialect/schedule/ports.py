"""Port occupancy as bitmaps: one row of 64-bit words a port, one bit a time slot.

Rows 0 to tiles - 1 are send ports, the next `tiles` rows are receive ports. A set bit
is a taken slot. `full[row]` counts the leading words of a row that have no free bit.
"""

import numpy as np
from numpy.typing import NDArray

from tiledialect.schedule.compiled import inner
from tiledialect.schedule.table import Index

Bits = NDArray[np.uint64]

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE = np.uint64(1)
ZERO = np.uint64(0)


@inner
def low_zeros(word: np.uint64) -> int:
    """How many bits below the lowest set bit; 64 if none is set."""
    if word == ZERO:
        return 64
    count = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word & ((ONE << np.uint64(step)) - ONE) == ZERO:
            word >>= np.uint64(step)
            count += step
    return count


@inner
def high_zeros(word: np.uint64) -> int:
    """How many bits above the highest set bit; 64 if none is set."""
    if word == ZERO:
        return 64
    count = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - step) == ZERO:
            word <<= np.uint64(step)
            count += step
    return count


@inner
def runs(free: np.uint64, width: int) -> np.uint64:
    """The bits at which `width` set bits begin within the word."""
    have = 1
    while have < width and free != ZERO:
        shift = min(have, width - have)
        free &= free >> np.uint64(shift)
        have += shift
    return free


@inner
def earliest(
    busy: Bits, full: Index, rows: Index, first: int, end: int, width: int
) -> int:
    """The first slot from which all rows[first:end] are free for `width` slots.

    -1 when the bitmaps end before that.
    """
    place = 0
    for i in range(first, end):
        place = max(place, full[rows[i]])
    run = 0
    for word in range(place, busy.shape[1]):
        taken = ZERO
        for i in range(first, end):
            taken |= busy[rows[i], word]
        if taken == ALL:
            run = 0
            continue
        if run + low_zeros(taken) >= width:
            return word * 64 - run
        if taken == ZERO:
            run += 64
            continue
        if width < 64:
            begins = runs(~taken, width)
            if begins != ZERO:
                return word * 64 + low_zeros(begins)
        run = high_zeros(taken)
    return -1


@inner
def take(busy: Bits, full: Index, row: int, begin: int, width: int) -> None:
    """Mark the slots [begin, begin + width) of a row as taken."""
    word = begin // 64
    bit = begin % 64
    while width > 0:
        length = min(64 - bit, width)
        mask = ALL if length == 64 else (ONE << np.uint64(length)) - ONE
        busy[row, word] |= mask << np.uint64(bit)
        width -= length
        bit = 0
        word += 1
    while full[row] < busy.shape[1] and busy[row, full[row]] == ALL:
        full[row] += 1
