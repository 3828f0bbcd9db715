"""Where buffers lie: proofs about addresses, none about what is in them.

Method: all pairs at once, as tables of flags over tiles, steps and addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.checkers.blocks import Block, Blocks, sharing
from tiledialect.checkers.disproof import Disproof

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.machine import Machine, Memory

    Ints = NDArray[np.int64]

Pair = tuple[int, int]


class Misplaced(Disproof):
    """A fault of one buffer, whose number is kept for its place in the source."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


def check_no_overlap(blocks: Blocks) -> None:
    """Two buffers that share a tile and a step share no byte, aliases apart."""
    meets = blocks.overlapping & sharing(blocks.on_tile) & sharing(blocks.in_step)
    meets &= blocks.family[:, None] != blocks.family[None, :]
    clashes = np.argwhere(np.triu(meets, 1))
    if len(clashes):
        refuse_overlap(blocks, int(clashes[0, 0]), int(clashes[0, 1]))


def refuse_overlap(blocks: Blocks, left: int, right: int) -> None:
    one, other = blocks[left], blocks[right]
    tile = np.flatnonzero(blocks.on_tile[left] & blocks.on_tile[right])[0]
    step = np.flatnonzero(blocks.in_step[left] & blocks.in_step[right])[0]
    first, end = max(one.address, other.address), min(one.end, other.end)
    raise Misplaced(
        right,
        f"{span(one)} and {span(other)} share {end - first} bytes [{first}, {end}) of"
        f" tile {tile} in step {step}",
    )


def span(block: Block) -> str:
    return f"{block.name} [{block.address}, {block.end})"


def check_addresses(
    machine: Machine, blocks: Blocks, support: int, reserve: int
) -> None:
    """Each buffer is aligned, in the part of memory that is free for it, and in the
    region that it asks for; an alias lies where its buffer has it."""
    memory = machine.memory
    bottom = memory.fixed_bytes + support
    top = memory.bytes - memory.tail_bytes - reserve
    for number, block in enumerate(blocks.blocks):
        if not block.live:
            continue  # it takes no place
        problem = _address_problem(memory, block, bottom, top)
        if problem is None and block.parent >= 0:
            problem = _alias_problem(block, blocks[block.parent])
        if problem is not None:
            raise Misplaced(number, problem)


def _address_problem(memory: Memory, block: Block, bottom: int, top: int) -> str | None:
    if block.address % block.align:
        return (
            f"{block.name} lies at {block.address}, which is no multiple of its"
            f" alignment {block.align}"
        )
    if block.bytes and block.address < bottom:
        return f"{span(block)} begins in the support, which ends at {bottom}"
    if block.bytes and block.end > top:
        return f"{span(block)} passes {top}, where the usable memory ends"
    return region_problem(memory, span(block), block.region, block.address, block.end)


def region_problem(
    memory: Memory, who: str, wanted: str, first: int, end: int
) -> str | None:
    """What is wrong with bytes [first, end) in the regions of one kind, or None."""
    if wanted == "any" or first == end:
        return None
    start = 0
    for region in memory.regions:
        fits = region.interleaved if wanted == "interleaved" else region.executable
        stop = start + region.bytes
        if not fits and first < stop and end > start:
            return (
                f"{who} needs {wanted} memory, bytes [{max(first, start)},"
                f" {min(end, stop)}) lie in region {region.name}"
            )
        start = stop
    return None


def _alias_problem(block: Block, around: Block) -> str | None:
    if block.address != around.address + block.offset:
        return (
            f"{block.name} lies at {block.address}, as part of {around.name} it should"
            f" be at {around.address + block.offset}"
        )
    if block.offset < 0 or block.end > around.end:
        return f"{span(block)} is not inside {span(around)}"
    stray = np.setdiff1d(block.tiles, around.tiles)
    if len(stray):
        return f"{block.name} is on tile {stray[0]}, {around.name} around it is not"
    return None


def elements(edges: Sequence[int], first: int, end: int) -> range:
    """The numbers of the memory elements that bytes [first, end) touch."""
    if first >= end:
        return range(0)
    low = int(np.searchsorted(edges, first, side="right")) - 1
    high = int(np.searchsorted(edges, end - 1, side="right")) - 1
    return range(low, high + 1)


def shared_element(
    edges: Sequence[int], one: tuple[int, int], other: tuple[int, int]
) -> int | None:
    """The first memory element that two ranges of bytes touch, or None."""
    left, right = elements(edges, *one), elements(edges, *other)
    low, high = max(left.start, right.start), min(left.stop, right.stop)
    return low if low < high else None


def check_apart(machine: Machine, blocks: Blocks, pairs: Iterable[Pair]) -> None:
    """Pairs of buffers that meet on a tile in a step touch no element in common."""
    edges = machine.element_edges()
    for left, right in pairs:
        one, other = blocks[left], blocks[right]
        tiles = blocks.on_tile[left] & blocks.on_tile[right]
        steps = blocks.in_step[left] & blocks.in_step[right]
        element = shared_element(
            edges, (one.address, one.end), (other.address, other.end)
        )
        if element is not None and tiles.any() and steps.any():
            raise Misplaced(
                right,
                f"{span(one)} and {span(other)} must be apart, but both touch memory"
                f" element {element} [{edges[element]}, {edges[element + 1]}) of tile"
                f" {np.argmax(tiles)}",
            )


def check_rows_apart(
    machine: Machine, blocks: Blocks, exchanged: Iterable[int], row_bytes: int
) -> None:
    """Buffers that an exchange touches share no element with the rows it fetches."""
    first = machine.memory.fixed_bytes
    edges = machine.element_edges()
    for number in exchanged:
        block = blocks[number]
        element = shared_element(
            edges, (first, first + row_bytes), (block.address, block.end)
        )
        if element is not None:
            raise Misplaced(
                number,
                f"{span(block)} takes part in an exchange, but touches memory element"
                f" {element} [{edges[element]}, {edges[element + 1]}), from which rows"
                f" [{first}, {first + row_bytes}) are fetched",
            )
