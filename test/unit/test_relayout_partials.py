"""Partial sums come into stacks; a tile's own stays where it can be read in place."""

from __future__ import annotations

import numpy as np
import pytest
from layout_oracle import group_tiles, local_offset, places, sizes, whole
from relayout_oracle import Bytes, Memory, expect, filled, moved, pairs, random_bytes

from tiledialect.layout import Layout
from tiledialect.own_piece import OwnPiece
from tiledialect.relayout import stack_partials


def test_a_stack_holds_every_partial_that_is_not_the_tiles_own() -> None:
    kept = 0
    for source, destination in pairs(700, partial=True):
        partials = group_tiles((source.partial,) if source.partial else ())
        elements = int(np.prod(source.shape))
        values = random_bytes(elements, len(partials), elements, source.element_bytes)
        before = filled(source, values)
        table, own = stack_partials(source, destination)
        size = whole(sizes(destination)[1] * len(partials), 4)
        slots = [
            np.stack([values[q]] * len(group_tiles(destination.replicas)))
            for q in range(len(partials))
        ]
        if own is not None:
            kept += len(partials) > 1 and elements > 0
            check_own(own, source, destination, before, values)
            slots = without_own(own, destination, values)
        if slots:
            expect(moved(table, before, size), destination, slots)
        else:
            assert not table.source.size + table.copy_tile.size
    assert kept > 100


def own_of(own: OwnPiece, tile: int) -> int:
    return (tile - own.first) // own.stride % own.count


def without_own(own: OwnPiece, destination: Layout, values: Bytes) -> list[Bytes]:
    slots = [values[:1].copy() for _ in range(values.shape[0] - 1)]
    for element, place in enumerate(places(destination)):
        rest = [q for q in range(values.shape[0]) if q != own_of(own, place.tile)]
        for slot, q in zip(slots, rest, strict=True):
            slot[0, element] = values[q, element]
    return slots


def check_own(
    own: OwnPiece, source: Layout, destination: Layout, before: Memory, values: Bytes
) -> None:
    """The own piece is where it is said to lie, with the strides it is said to have."""
    begin = dict(zip(own.own_tiles.tolist(), own.own_offset.tolist(), strict=True))
    size = source.element_bytes
    for element, place in enumerate(places(destination)):
        inside = place.offset
        if not destination.spread:
            inside = local_offset(source, list(place.local))
        data = before.read(place.tile, begin[place.tile] + inside, size)
        assert data.tolist() == values[own_of(own, place.tile), element].tolist()
    assert list(begin) == sorted({place.tile for place in places(destination)})
    assert own.own.tolist() == [own_of(own, tile) for tile in begin]
    step = own.offset_step
    if step is not None:
        assert all(begin[tile] == own_of(own, tile) * step for tile in begin)


def own_may_stay(source: Layout, destination: Layout) -> bool:
    """Whether each tile's own partial can be read in place, by its elements."""
    group = source.partial
    assert group is not None
    if len(group_tiles(destination.replicas)) > 1 or group.stride < 1:
        return False
    if not destination.spread and (source.shape != destination.shape or source.spread):
        return False
    begins: dict[int, int] = {}
    for a, b in zip(places(source), places(destination), strict=True):
        q = (b.tile - source.first) // group.stride % group.count
        if b.tile - a.tile - q * group.stride not in group_tiles(source.replicas):
            return False
        inside = b.offset if destination.spread else local_offset(source, list(b.local))
        if begins.setdefault(b.tile, a.offset - inside) != a.offset - inside:
            return False
    return all(begin % 8 == 0 for begin in begins.values())


def test_an_own_piece_stays_exactly_where_it_can() -> None:
    outcomes: set[bool] = set()
    for source, destination in pairs(900, partial=True):
        own = stack_partials(source, destination)[1]
        if 0 in source.shape:
            continue
        assert (own is not None) == own_may_stay(source, destination)
        outcomes.add(own is not None)
    assert outcomes == {True, False}


def test_a_stack_refuses_a_source_without_partial_sums() -> None:
    layout = Layout.linear((6,), 2, 2)
    with pytest.raises(ValueError, match="its source has none"):
        stack_partials(layout, layout)
