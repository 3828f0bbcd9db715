"""Upper bounds of the messages of a relayout, on the fullest tile.

A message is a run of bytes that lies in one piece on both sides. Runs end where a block
of the other side ends, where a factor of an in-tile order does, at the bounds of spread
pieces, and at padding, which is not moved: so a ragged block is many short runs where a
full one is a single long one. All counts are of elements, arrays of a row a candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.cost.spec import Spec, ceil_div, product, segments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.layout import Factor

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

WORD = 4


@dataclass(frozen=True)
class Counts:
    """Of the fullest tile: bytes and messages in and out."""

    bytes_in: Ints
    bytes_out: Ints
    messages_in: Ints
    messages_out: Ints


@dataclass(frozen=True)
class Pieces:
    """Runs along one axis of a block: all of them, those that end inside a factor or
    block of either side (the others may go on along the next axis), and a length that
    all but those at the end are multiples of."""

    count: Ints
    partial: Ints
    unit: Ints


def counts(source: Spec, destination: Spec) -> Counts:
    """What moves between two layouts of a tensor, none of them a stack."""
    if source.linear:
        into, out = _with_linear(destination, source)
    elif destination.linear:
        out, into = _with_linear(source, destination)
    else:
        some, most, entire = _in_windows(source, destination)
        into, out = _between_blocks(source, some, destination, entire)
        sent = np.minimum(source.tile_elements, most)
        received = destination.tile_elements * destination.element_bytes
        return Counts(received, sent * source.element_bytes, into, out)
    return Counts(
        destination.tile_elements * destination.element_bytes,
        source.tile_elements * source.element_bytes,
        into,
        out,
    )


def _in_windows(source: Spec, destination: Spec) -> tuple[Spec, Ints, Mask]:
    """What a source has in the windows of a step, elements that a tile sends of it at
    most, and whether that is all it has: of a spread block no more than a window, of a
    block the parts that lie in the windows of the blocks that it meets."""
    outer, every = destination.outer, np.ones(1, dtype=np.bool_)
    if outer is None or not destination.windowed:
        return source, source.tile_elements, every
    if source.spread is not None:
        return source, destination.block_bytes // destination.element_bytes, every
    axis = destination.order[-1].axis
    window, block = destination.blocks[axis], np.maximum(outer[axis], 1)
    held = source.blocks[axis]
    met = segments(held, block, source.shape[axis])
    part = np.where(window < outer[axis], np.minimum(held, met * window), held)
    # blocks that windows or panels do not divide begin anywhere in a window
    panel = max(source.order[-1].count, destination.order[-1].count, 1)
    divided = held % np.maximum(window, 1) == 0
    if panel > 1 and source.order[-1] == destination.order[-1]:
        divided = divided | ((held % panel == 0) & (window % panel == 0))
    shorter = source.with_(blocks=_along(source.blocks, axis, part))
    region = source.with_(
        blocks=_along(source.blocks, axis, np.where(divided, part, held))
    )
    # the rows of a panel lie together, whatever is beside it
    entire = ~divided | (part == held) | (panel > 1)
    return region, shorter.tile_elements, entire


def _along(blocks: tuple[Ints, ...], axis: int, block: Ints) -> tuple[Ints, ...]:
    """The blocks with that of one axis exchanged."""
    return (*blocks[:axis], block, *blocks[axis + 1 :])


def runs(region: Spec, other: Spec, entire: Mask | None = None) -> tuple[Ints, Ints]:
    """Runs of a block of one layout that lie in one piece in another too, and how many
    elements of the innermost axis one has. `entire`: False where one of them is but a
    part of the block that lies there, so that its rows are apart; None: nowhere.
    """
    first, second = list(reversed(region.order)), list(reversed(other.order))
    extents = region.extents
    if not first or first[0].axis != second[0].axis:
        return region.block_elements, np.ones(1, dtype=np.int64)
    axis = first[0].axis
    inner = _pieces(region, other, axis, first[0].count, second[0].count)
    if entire is not None:
        ends = np.where(entire, inner.partial, inner.count)
        inner = Pieces(inner.count, ends, inner.unit)
    rest = product([e for a, e in enumerate(extents) if a != axis])
    total = _fewer_in_panels(region, other, inner.count * rest)
    if len(first) < 2 or len(second) < 2 or first[1].axis != second[1].axis:
        return total, inner.unit
    across = first[1].axis
    if across == axis or first[1].count or second[1].count:
        return total, inner.unit
    outer = _pieces(region, other, across, 0, 0)
    rest = product([e for a, e in enumerate(extents) if a not in (axis, across)])
    full = (inner.count - inner.partial) * outer.count
    total = np.minimum(total, (full + inner.partial * extents[across]) * rest)
    if len(first) > 2 and len(second) > 2 and first[2].axis == second[2].axis == axis:
        whole = (inner.partial == 0) & (outer.partial == 0) & (outer.count == 1)
        total = np.where(whole, _blocks_met(region, other, axis) * rest, total)
    return total, inner.unit


def _fewer_in_panels(region: Spec, other: Spec, total: Ints) -> Ints:
    """The same where both have one order of panels and all but its outermost axis in
    common: a panel, or several that lie together, is one run."""
    rank, order = len(region.shape), region.order
    counts = {factor.axis: factor.count for factor in order if factor.count}
    if other.order != order or rank < 2 or order[rank - 2].axis not in counts:
        return total
    axis = order[rank - 2].axis
    across = next(f.axis for f in order if f.axis not in (axis, *_leading(order, rank)))
    panel, inner = counts[axis], counts.get(across, 1)
    extent, breadth = region.shape[axis], region.shape[across]
    block = region.blocks[across]
    alike = (block == other.blocks[across]) & (_blocks_met(region, other, across) == 1)
    alike = alike & _starts_at(region, across, inner)
    alike = alike & _starts_at(region, axis, panel) & _starts_at(other, axis, panel)
    even = (breadth % np.maximum(block, 1) == 0) & (breadth % inner == 0)
    even = even & (extent % panel == 0)
    panels = ceil_div(region.extents[axis], panel)
    panels = panels + (extent % panel > 0) * region.extents[across]
    batches = product([region.extents[a] for a in _leading(order, rank)])
    few = batches * np.where(even, _blocks_met(region, other, axis), panels)
    return np.where(alike, np.minimum(total, few), total)


def _leading(order: tuple[Factor, ...], rank: int) -> tuple[int, ...]:
    """The axes that a panel order leaves outside of its panels."""
    return tuple(factor.axis for factor in order[: rank - 2])


def _pieces(
    region: Spec, other: Spec, axis: int, inner: int, other_inner: int
) -> Pieces:
    """Pieces along an axis of which a factor takes `inner` elements (0: all)."""
    extent, length = region.shape[axis], region.extents[axis]
    met = _blocks_met(region, other, axis)
    if not inner and not other_inner:
        same = (region.blocks[axis] == other.blocks[axis]) & (met == 1)
        even = extent % np.maximum(region.blocks[axis], 1) == 0
        if region.order[-1].axis == axis:
            even = even & (length * region.element_bytes % WORD == 0)
        unit = _common(_common(length, other, axis), region, axis)
        return Pieces(met, np.where(same & even, 0, met), unit)
    small = min(c for c in (inner, other_inner) if c)
    large = max(inner, other_inner)
    aligned = _starts_at(region, axis, small) & _starts_at(other, axis, small)
    if large % small:
        aligned = aligned & False
    count = np.where(
        aligned,
        ceil_div(length, small),
        _cut_pieces(region, other, axis, inner, other_inner, met),
    )
    partial = count
    if inner == other_inner:
        partial = np.where(aligned, np.minimum(count, int(extent % small > 0)), count)
    unit = np.minimum(small, np.maximum(length, 1))
    split = _common(_common(unit, other, axis), region, axis)
    return Pieces(count, partial, np.where(aligned, unit, split))


def _cut_pieces(
    region: Spec, other: Spec, axis: int, inner: int, other_inner: int, met: Ints
) -> Ints:
    """Pieces where factors and blocks end at places of their own: each end cuts once.

    The region's factors start with it, so they end inside it once less often than there
    are of them; the other's start with its blocks, somewhere in the region. Where the
    region begins with a block of the other, common multiples are one end and not two.
    """
    length, block = region.extents[axis], other.blocks[axis]
    pieces = met + (ceil_div(length, other_inner) if other_inner else 0)
    if not inner:
        return pieces
    plain = _uncut(region, axis) & _uncut(other, axis) & (not other_inner)
    begins = plain & (region.blocks[axis] % np.maximum(block, 1) == 0)
    common = np.where(begins, np.lcm(inner, np.maximum(block, 1)), length)
    return pieces + ceil_div(length, inner) - ceil_div(length, np.maximum(common, 1))


def _common(unit: Ints, spec: Spec, axis: int) -> Ints:
    """The largest part of a unit in whole multiples of which all blocks begin."""
    for blocks in spec.cuts:
        inside = blocks[axis] < spec.shape[axis]
        unit = np.where(inside, np.gcd(unit, blocks[axis]), unit)
    return np.maximum(unit, 1)


def _starts_at(spec: Spec, axis: int, multiple: int) -> Mask:
    """Whether every block begins at a multiple of so many elements."""
    whole = np.ones(1, dtype=np.bool_)
    if multiple == 1:
        return whole
    for blocks in spec.cuts:
        block = blocks[axis]
        whole = whole & ((block % multiple == 0) | (block >= spec.shape[axis]))
    return whole


def _uncut(spec: Spec, axis: int) -> Mask:
    """Whether no block is cut again along an axis."""
    if spec.outer is None:
        return np.ones(1, dtype=np.bool_)
    return spec.outer[axis] == spec.blocks[axis]


def _blocks_met(region: Spec, other: Spec, axis: int) -> Ints:
    """Blocks of the other layout that one block meets along an axis."""
    extent, block, cut = region.shape[axis], region.blocks[axis], other.blocks[axis]
    met = segments(block, cut, extent)
    if other.outer is not None:  # where an outer block ends, inner ones start anew
        again = segments(block, other.outer[axis], extent) - 1
        met = met + again * ~_uncut(other, axis)
    if region.outer is not None:
        again = segments(block, region.outer[axis], extent) - 1
        again = again + (region.outer[axis] % np.maximum(cut, 1) != 0)
        met = met + again * ~_uncut(region, axis)
    if region.outer is None and other.outer is not None:
        met = np.where(
            other.outer[axis] == block, ceil_div(block, np.maximum(cut, 1)), met
        )
    if region.outer is not None and other.outer is None:
        met = np.where(region.outer[axis] == cut, 1, met)
    return np.minimum(met, np.maximum(region.extents[axis], 1))


def _with_linear(blocked: Spec, linear: Spec) -> tuple[Ints, Ints]:
    """Messages of a tile of blocks, and of one of linear ownership, whose pieces end
    anywhere in a row."""
    inside, unit = runs(blocked, linear.with_(linear=0))
    piece = np.maximum(linear.tile_elements, 1)
    row = blocked.shape[-1] if blocked.shape else 1
    even = row % unit == 0 if len(blocked.shape) > 1 else unit > 0
    aligned = even & (piece % unit == 0)
    alone = inside * unit >= blocked.block_elements  # no run is longer than its unit
    rows = ceil_div(blocked.block_elements, np.maximum(blocked.extents[-1], 1))
    cuts = _cuts_in_rows(blocked, int(piece[0]), unit, rows)
    most = np.minimum(
        inside + blocked.block_elements // piece,
        ceil_div(linear.block_elements, piece),
    )
    across = ceil_div(blocked.extents[-1], unit)
    cut = np.where(alone, np.minimum(most, cuts * across), most)
    tile = inside + np.where(aligned & alone, 0, cut)
    if blocked.spread is not None:
        window = _in_window(blocked.tile_elements, unit, blocked, aligned)
        window = window + np.where(aligned, 0, np.minimum(most, window + cuts))
        tile = np.minimum(tile, window)
    out = _in_window(piece, unit, blocked, aligned)
    out = out + np.where(even, 0, ceil_div(piece, max(row, 1)) + 1)
    return tile, np.minimum(out, piece)


def _cuts_in_rows(blocked: Spec, piece: int, unit: Ints, rows: Ints) -> Ints:
    """The most runs of `unit` elements, below each other in so many rows, that are cut
    by the ends of linear pieces."""
    row = blocked.shape[-1] if blocked.shape else 1
    total = prod(blocked.shape)
    found = np.zeros(np.broadcast_shapes(unit.shape, rows.shape), dtype=np.int64)
    length = np.broadcast_to(unit, found.shape)
    log = np.ceil(np.log2(np.maximum(rows, 1))).astype(np.int64)
    steps = np.broadcast_to(log, found.shape)
    for one in np.unique(length):
        at = length == one
        table = _cuts_by_height(total, row, piece, int(one))
        found[at] = np.asarray(table)[np.minimum(steps[at], len(table) - 1)]
    return np.minimum(found, rows * ceil_div(unit, piece))


@lru_cache(maxsize=4096)
def _cuts_by_height(total: int, row: int, piece: int, unit: int) -> tuple[int, ...]:
    """For 1, 2, 4, … rows the most cuts that a column of that height and `unit` wide
    has. Columns begin at multiples of the unit."""
    ends = np.arange(piece, total, piece, dtype=np.int64)
    ends = ends[ends % max(row, 1) % unit != 0]
    height = total // max(row, 1) + 2
    place = np.sort(ends % max(row, 1) // unit * height * 2 + ends // max(row, 1))
    found: list[int] = []
    for step in range(height.bit_length() + 1):
        reach = np.searchsorted(place, place + min(1 << step, height))
        most = int((reach - np.arange(len(place))).max(initial=0))
        found.append(most)
    return tuple(found)


def _in_window(length: Ints, unit: Ints, blocked: Spec, aligned: Mask) -> Ints:
    """Runs that so many neighbouring elements meet."""
    spread = blocked.spread is not None
    width = blocked.element_bytes
    whole = aligned & (blocked.spread_bytes // width % unit == 0) if spread else aligned
    return ceil_div(length, unit) + np.where(whole, 0, 1)


def _between_blocks(
    source: Spec, some: Spec, destination: Spec, entire: Mask
) -> tuple[Ints, Ints]:
    """Messages in and out where `some` of a source is what a tile sends from."""
    into, unit_in = runs(destination, source)
    out, unit_out = runs(some, destination, entire)
    every = np.ones(1, dtype=np.bool_)
    if source.spread is not None:
        # a block is gathered, whole or a window of it: runs of one are never split
        # but where pieces end
        piece = _in_window(source.tile_elements, unit_out, source, every)
        out = np.minimum(np.minimum(out, piece), into)
        into = into + np.minimum(source.spread - 1, _pieces_met(source, destination))
    if destination.spread is not None:
        piece = _in_window(destination.tile_elements, unit_in, destination, every)
        out = np.minimum(
            out + product(list(_met(source, destination))) * destination.spread,
            ceil_div(source.block_elements, 1),
        )
        into = np.minimum(into, piece)
    return into, out


def _pieces_met(source: Spec, destination: Spec) -> Ints:
    """Ends of pieces inside a window of a spread block: of each batch it takes bytes
    that lie together."""
    batches = source.extents[source.order[0].axis] if len(source.shape) > 2 else 1
    inside = ceil_div(destination.block_bytes, np.maximum(source.tile_bytes, 1))
    return batches * (inside + 1)


def _met(region: Spec, other: Spec) -> tuple[Ints, ...]:
    return tuple(_blocks_met(region, other, a) for a in range(len(region.shape)))
