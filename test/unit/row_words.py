"""Rows read one control word at a time, in plain Python."""

from __future__ import annotations

from tiledialect.rows import Ints, Rows

Slot = tuple[int, int]
"""A tile and a cycle."""


def programs(rows: Rows, numbers: Ints) -> dict[int, list[int]]:
    """The control words of every tile that has a program."""
    return {
        int(tile): rows.words[rows.start[n] : rows.start[n + 1]].tolist()
        for tile, n in zip(rows.tiles, numbers, strict=True)
        if n >= 0
    }


def items_sent(rows: Rows) -> dict[Slot, tuple[int, int]]:
    """(tile, cycle) → address and bytes of every item sent, one control word at a
    time."""
    found: dict[Slot, tuple[int, int]] = {}
    for tile, program in programs(rows, rows.send).items():
        clock = 0
        for word in program:
            assert word >> 29 in (1, 2, 6)
            if word >> 29 == 2:
                clock += word & 0x1FFFFFFF
                continue
            size = 4 if word >> 29 == 1 else 8
            for i in range((word >> 19 & 63) + 1):
                found[tile, clock] = (4 * (word & 0x7FFFF) + size * i, size)
                clock += 1
    return found


def words_sent(rows: Rows) -> dict[Slot, int]:
    """(tile, cycle) → address of every word sent, where all go one at a time."""
    items = items_sent(rows)
    assert all(size == 4 for _, size in items.values())
    return {slot: address for slot, (address, _) in items.items()}


def items_received(rows: Rows) -> dict[Slot, tuple[int, int, int]]:
    """(tile, cycle) → (source, address, bytes) of every item received."""
    found: dict[Slot, tuple[int, int, int]] = {}
    starts = dict(zip(rows.tiles.tolist(), rows.receive_start.tolist(), strict=True))
    for tile, program in programs(rows, rows.receive).items():
        clock, address = starts[tile], -1
        for word in program:
            if word >> 29 == 5:
                clock += word & 0x1FFFFFFF
            elif word >> 29 == 4:
                address = 4 * (word & 0x7FFFF)
            else:
                assert word >> 29 in (3, 7)
                size = 4 if word >> 29 == 3 else 8
                clock += word >> 10 & 255
                for _ in range((word & 1023) + 1):
                    found[tile, clock] = (word >> 18 & 2047, address, size)
                    clock, address = clock + 1, address + size
    return found


def words_received(rows: Rows) -> dict[Slot, Slot]:
    """(tile, cycle) → (source, address) of every word received, none two at a time."""
    items = items_received(rows)
    assert all(size == 4 for _, _, size in items.values())
    return {slot: (source, address) for slot, (source, address, _) in items.items()}
