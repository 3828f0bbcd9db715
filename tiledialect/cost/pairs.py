"""What 64-bit items make of a relayout: words of a doubled phase, in closed form.

Two tiles of a pair that receive the same stream take two words of it a cycle. A sender
borrows its partner's lane for that, so its own pair gets its words one by one; and so
do all receivers of a run that is too short. The table of transfers is as without pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tiledialect.cost.messages import Counts
from tiledialect.cost.spec import Spec, ceil_div, segments
from tiledialect.layout import Factor
from tiledialect.machine import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

WORD = 4
ITEM = 8
"""Bytes of a doubled item; runs are whole items, at multiples of it on both sides."""


def run_bytes(machine: Machine) -> int:
    """Bytes of the shortest run that may go doubled."""
    return machine.exchange.pair_least_items * ITEM


def may_share(machine: Machine, destination: Spec) -> Mask:
    """Whether some pair of tiles holds the same block, so that runs may go doubled."""
    if machine.exchange.pair_tiles != 2 or destination.neighbours is None:
        return np.zeros(1, dtype=np.bool_)
    return destination.neighbours > 1


def whole_pairs(machine: Machine, destination: Spec) -> Mask:
    """Whether the tiles that hold a block are whole pairs, wherever it lies."""
    if machine.exchange.pair_tiles != 2 or destination.neighbours is None:
        return np.zeros(1, dtype=np.bool_)
    return destination.neighbours % 2 == 0


def doubled_words(
    machine: Machine, source: Spec, destination: Spec, counted: Counts
) -> tuple[Mask, Ints, Ints]:
    """Whether a relayout may go doubled, and then the cycles in which the fullest tile
    receives and in which the fullest one sends, or lends its lane."""
    words = ceil_div(counted.bytes_in, WORD)
    held = ceil_div(counted.bytes_out, WORD)
    long, single = _single_words(machine, source, destination)
    alone = np.minimum(words, 2 * held + single)
    # its own runs and its partner's, two words a cycle, and its own to its pair
    out = np.minimum(2 * held, held + ceil_div(words, 2))
    return long & whole_pairs(machine, destination), ceil_div(words + alone, 2), out


def doubled_sends(machine: Machine, counted: Counts, words_out: Ints) -> Ints:
    """Control words of the fullest sender that doubled runs take more: a run may also
    go to the sender's own pair, and doubled to another pair apart, as messages of their
    own. An item counts as two words."""
    x = machine.exchange
    runs = np.minimum(counted.messages_out, words_out * WORD // run_bytes(machine))
    chunks = words_out // (2 * x.send_chunk_words)
    return 2 * runs * (x.send_controls + x.gap_controls) + 2 * chunks * x.send_controls


def _single_words(
    machine: Machine, source: Spec, destination: Spec
) -> tuple[Mask, Ints]:
    """Whether runs are long enough but for the ends of some, and how many words of a
    block these have at most."""
    least = run_bytes(machine)
    zero = np.zeros(1, dtype=np.int64)
    if source.linear:
        return _common_run(source, destination) >= least, zero
    if source.order != destination.order:
        return zero > 0, zero
    if source.spread is None:
        return _panel_runs(source, destination, least)
    piece = np.maximum(source.tile_bytes, 1)
    batches, window = _window(destination)
    # pieces end at multiples of one, windows at multiples of the other: the first run
    # of a window may be short, and the last; of a whole block only the last
    ends = 2 * batches
    if destination.outer is None:
        ends = 1 + zero
    ends = np.where(np.gcd(piece, window) >= least, np.minimum(ends, 1), ends)
    most = (least - ITEM) // WORD
    short = ends * most + _ragged_words(destination, batches, most)
    return _stretches(source) & _stretches(destination) & (piece >= least), short


def _window(spec: Spec) -> tuple[Ints, Ints]:
    """Stretches that a window of a block in panels is made of, and bytes of each."""
    one = np.ones(1, dtype=np.int64)
    batches = spec.extents[spec.order[0].axis] if len(spec.shape) > 2 else one
    return batches, np.maximum(spec.block_bytes // np.maximum(batches, 1), 1)


def _stretches(spec: Spec) -> Mask:
    """Whether the largest block is whole items without padding, as are its panels."""
    size = spec.block_elements * spec.element_bytes
    found = (size == spec.block_bytes) & (size % ITEM == 0)
    panels = [(spec.shape[f.axis], f.count) for f in spec.order if f.count]
    return found & all(extent % count == 0 for extent, count in panels)


def _ragged_words(spec: Spec, batches: Ints, most: int) -> Ints:
    """Words in short runs of the last block along the rows of its panels, if that has
    fewer rows: each panel is a stretch then, with two ends. Less what that lacks."""
    inner = spec.order[-1]
    rows = next(f.axis for f in reversed(spec.order) if f.axis != inner.axis)
    block, last = np.maximum(spec.extents[rows], 1), _last(spec, rows)
    panels = ceil_div(spec.extents[inner.axis], max(inner.count, 1)) * batches
    words = spec.block_bytes // WORD
    return np.maximum(
        0, (last < block) * 2 * most * panels - words * (block - last) // block
    )


def _panel_runs(source: Spec, destination: Spec, least: int) -> tuple[Mask, Ints]:
    """The same between blocks in panels, of which those of the source may be cut again
    along the rows of panels: runs are such rows of a panel, all but the last long."""
    order, shape = source.order, source.shape
    zero = np.zeros(1, dtype=np.int64)
    if len(order) < 3 or not order[-1].count or order[-2].count:
        return zero > 0, zero
    inner, rows, panel = order[-1].axis, order[-2].axis, order[-1].count
    if rows == inner or shape[inner] % panel:
        return zero > 0, zero
    block, piece = destination.extents[rows], np.maximum(source.extents[rows], 1)
    outer = (source.outer or source.blocks)[rows]
    fits = (destination.outer or destination.blocks)[rows] == block
    nested = (outer == block) | (piece == block)
    for spec in (source, destination):
        for blocks in (spec.blocks[inner], (spec.outer or spec.blocks)[inner]):
            fits = fits & ((blocks % panel == 0) | (blocks >= shape[inner]))
    run = panel * source.element_bytes
    ends = [block % piece, _last(destination, rows) % piece]
    short = np.maximum(*(np.where(rest * run < least, rest, 0) for rest in ends))
    # else a block begins and ends anywhere in a piece, and meets the ends of others
    tail = outer % piece
    tails = np.where(tail * run < least, tail, 0) * segments(block, outer, shape[rows])
    short = np.where(nested, short, tails + 2 * (least // run))
    panels = destination.block_elements // np.maximum(block * panel, 1)
    return fits & (piece * run >= least), short * panels * run // WORD


def _last(spec: Spec, axis: int) -> Ints:
    """Elements of the last block along an axis."""
    block = np.maximum(spec.extents[axis], 1)
    extent = np.full_like(block, spec.shape[axis])
    return extent - (ceil_div(extent, block) - 1) * block


def _common_run(source: Spec, destination: Spec) -> Ints:
    """Bytes that all runs from linear ownership into row-major blocks are multiples of;
    0: none are known."""
    rank, width = len(destination.shape), destination.element_bytes
    plain = destination.order == tuple(Factor(axis) for axis in range(rank))
    if source.part or destination.outer is not None or not plain:
        return np.zeros(1, dtype=np.int64)
    found = np.gcd(source.tile_bytes, destination.shape[-1] * width)
    found = np.gcd(found, destination.extents[-1] * width)
    return np.where(found % ITEM == 0, found, 0)
