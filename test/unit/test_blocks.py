"""Blocks, shape classes and padding against the elements, one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from layout_oracle import (
    group_tiles,
    local_offset,
    loops,
    places,
    random_layout,
    random_shape,
    sizes,
)
from numpy.typing import NDArray

from tiledialect.blocks import shape_classes, tile_blocks
from tiledialect.layout import Cut, Factor, Group, Layout
from tiledialect.padding import padding_runs

Elements = dict[int, set[tuple[int, ...]]]


def some_layouts(count: int) -> Iterator[Layout]:
    random = Random(3)
    for i in range(count):
        size = random.choice((1, 2, 4))
        yield random_layout(random, random_shape(random), size, partial=i % 3 == 0)


def copies(layout: Layout) -> list[int]:
    partial = (layout.partial,) if layout.partial else ()
    return group_tiles((*layout.replicas, *partial))


def held(layout: Layout) -> Elements:
    """The indices of the elements on each tile."""
    found: Elements = defaultdict(set)
    for index, place in zip(np.ndindex(layout.shape), places(layout), strict=True):
        for copy in copies(layout):
            found[place.tile + copy].add(tuple(index))
    return dict(found)


def has_boxes(layout: Layout) -> bool:
    pieces = len(group_tiles(layout.spread))
    return pieces == 1 or (len(layout.shape) == 1 and len(layout.order) == 1)


def test_a_box_is_what_its_tile_holds() -> None:
    refused = 0
    for layout in some_layouts(1500):
        if not has_boxes(layout):
            with pytest.raises(ValueError, match="has no boxes"):
                tile_blocks(layout)
            refused += 1
            continue
        blocks = tile_blocks(layout)
        found: Elements = {}
        for tile, start, extent in zip(
            blocks.tiles.tolist(), blocks.starts, blocks.extents, strict=True
        ):
            box = {tuple((start + i).tolist()) for i in np.ndindex(*extent.tolist())}
            if box:
                found[tile] = box
        assert found == held(layout), layout
        assert (np.diff(blocks.tiles) > 0).all(), layout
        empty = (blocks.extents == 0).any(axis=1)
        assert not blocks.extents[empty].any(), layout
    assert refused > 100


def test_classes_are_the_filled_tiles_by_extents() -> None:
    for layout in some_layouts(800):
        if not has_boxes(layout):
            continue
        blocks = tile_blocks(layout)
        expected: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for tile, extents in zip(
            blocks.tiles.tolist(), blocks.extents.tolist(), strict=True
        ):
            if 0 not in extents:
                expected[tuple(extents)].append(tile)
        classes = shape_classes(blocks)
        assert {shape: tiles.array().tolist() for shape, tiles in classes} == expected
        shapes = [shape for shape, _ in classes]
        assert shapes == sorted(shapes, reverse=True)


def test_the_classes_of_a_ragged_grid() -> None:
    """4304 columns over 27 keep whole panels of 16; 81 rows over 6 are 14 or 11."""
    cuts = ((Cut(9, 162), Cut(6, 1)), (Cut(27, 6, grain=16),))
    layout = Layout((729, 4304), 2, cuts, Layout.row_major(2))
    classes = shape_classes(tile_blocks(layout))
    assert [(shape, len(tiles), len(tiles.boxes)) for shape, tiles in classes] == [
        ((14, 160), 9 * 26 * 5, 1),
        ((14, 144), 9 * 5, 1),
        ((11, 160), 9 * 26, 1),
        ((11, 144), 9, 1),
    ]


def test_a_linear_layout_is_ranges_of_elements() -> None:
    blocks = tile_blocks(Layout.linear((729, 1152), 2, 1472))
    assert blocks.starts[:3].tolist() == [[0], [572], [1144]]
    # 839,808 elements are 1,468 pieces of 572 and one of 112; three tiles are idle.
    assert blocks.extents[:, 0].tolist() == [572] * 1468 + [112] + [0] * 3


def test_two_blocks_on_one_tile_are_refused() -> None:
    layout = Layout((4,), 2, ((Cut(2, 1),),), (Factor(0),), replicas=(Group(2, 1),))
    with pytest.raises(ValueError, match="two blocks of the layout lie on tile 1"):
        tile_blocks(layout)


def bytes_of(runs: list[tuple[int, int, int]]) -> set[tuple[int, int]]:
    found = [(tile, at + i) for tile, at, count in runs for i in range(count)]
    assert len(set(found)) == len(found)
    return set(found)


def padding(layout: Layout, axis: int | None) -> list[tuple[int, int, int]]:
    """Runs as tuples, after a check that they are sorted and longest."""
    found = padding_runs(layout, axis)
    runs = list(
        zip(
            found.tiles.tolist(),
            found.offset.tolist(),
            found.bytes.tolist(),
            strict=True,
        )
    )
    assert runs == sorted(runs)
    ends = {(tile, at + count) for tile, at, count in runs}
    assert not ends & {(tile, at) for tile, at, _ in runs}
    return runs


def test_padding_is_every_byte_without_an_element() -> None:
    for layout in some_layouts(600):
        empty: dict[int, NDArray[np.int64]] = {}
        for place in places(layout):
            inside = empty.setdefault(place.tile, np.ones(sizes(layout)[1], np.int64))
            inside[place.offset : place.offset + layout.element_bytes] = 0
        found = {
            tile + c: inside * 0
            for tile, inside in empty.items()
            for c in copies(layout)
        }
        for tile, at, count in padding(layout, None):
            found[tile][at : at + count] += 1
        for tile, inside in empty.items():
            for copy in copies(layout):
                assert np.array_equal(found[tile + copy], inside), layout


def test_padding_along_an_axis_is_what_lies_behind_the_block() -> None:
    some = 0
    for layout in some_layouts(1200):
        if not layout.shape or layout.spread:
            continue
        axis = len(layout.shape) - 1
        digits = [count for a, count, _ in loops(layout) if a == axis]
        reach = int(np.prod(digits))
        expected: set[tuple[int, int]] = set()
        extents: dict[int, int] = defaultdict(int)
        for place in places(layout):
            extents[place.tile] = max(extents[place.tile], place.local[axis] + 1)
        for place in places(layout):
            for index in range(extents[place.tile], reach):
                at = local_offset(layout, [*place.local[:axis], index])
                expected |= {
                    (place.tile + copy, at + i)
                    for copy in copies(layout)
                    for i in range(layout.element_bytes)
                }
        assert bytes_of(padding(layout, axis)) == expected, layout
        some += bool(expected)
    assert some > 100


def test_padding_of_a_matmul_operand_is_behind_its_depth() -> None:
    """K = 40 in panels of 32 for 5 rows: 24 bytes a row of the second panel."""
    order = (Factor(1), Factor(0), Factor(1, 32))
    runs = padding(Layout((5, 40), 1, ((), ()), order), 1)
    assert runs == [(0, 160 + 32 * row + 8, 24) for row in range(5)]
