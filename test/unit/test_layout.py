"""Layouts against their definition, and what they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout_oracle import places, random_layout, random_shape, sizes

from tiledialect.layout import Cut, Factor, Group, Layout
from tiledialect.relayout import element_places
from tiledialect.tiles import TileSet

ROWS = (Factor(0), Factor(1))


def some_layouts(count: int) -> Iterator[Layout]:
    random = Random(7)
    for _ in range(count):
        yield random_layout(random, random_shape(random), random.choice((1, 2, 4)))


def test_an_element_lies_where_the_definition_says() -> None:
    for layout in some_layouts(2000):
        expected = places(layout)
        tiles, offsets = element_places(layout)
        assert tiles.dtype == offsets.dtype == np.int64
        assert tiles.tolist() == [place.tile for place in expected], layout
        assert offsets.tolist() == [place.offset for place in expected], layout
        assert (layout.block_bytes, layout.tile_bytes) == sizes(layout), layout


def test_elements_share_no_byte_and_stay_in_the_buffer() -> None:
    for layout in some_layouts(2000):
        tiles, offsets = element_places(layout)
        places = set(zip(tiles.tolist(), offsets.tolist(), strict=True))
        assert len(places) == tiles.size, layout
        assert (offsets % layout.element_bytes == 0).all(), layout
        assert (offsets + layout.element_bytes <= layout.tile_bytes).all(), layout


def test_axis_strides_give_the_offset_of_an_index() -> None:
    for layout in some_layouts(2000):
        for axis in range(len(layout.shape)):
            _, local = layout.axis_blocks(axis)
            expected = np.zeros_like(local)
            for count, stride in reversed(layout.axis_strides(axis)):
                expected += local % max(count, 1) * stride
                local = local // max(count, 1)
            assert not local.any(), layout
            assert layout.axis_offsets(axis).tolist() == expected.tolist(), layout


@pytest.mark.parametrize(
    ("cut", "extent", "starts"),
    [
        (Cut(4), 10, [0, 3, 6, 9, 10]),
        (Cut(4), 5, [0, 2, 4, 5, 5]),
        (Cut(4, balanced=True), 10, [0, 3, 6, 8, 10]),
        (Cut(27, grain=16), 4304, [*range(0, 4304, 160), 4304]),
        (Cut(3, grain=16, balanced=True), 100, [0, 48, 80, 100]),
        (Cut(2, grain=16), 5, [0, 5, 5]),
        (Cut(3), 0, [0, 0, 0, 0]),
    ],
)
def test_a_cut_begins_its_blocks_at(cut: Cut, extent: int, starts: list[int]) -> None:
    assert cut.starts(extent) == starts
    assert cut.block(extent) == max(np.diff(starts))


def test_panels_keep_their_padding_in_the_block() -> None:
    """K = 192 of f8 in panels of 32 for 81 rows, as the first matmul's left operand."""
    layout = Layout((81, 192), 1, ((), ()), (Factor(1), Factor(0), Factor(1, 32)))
    assert layout.axis_strides(1) == ((6, 81 * 32), (32, 1))
    assert layout.axis_strides(0) == ((81, 32),)
    assert layout.tile_bytes == 15552


def test_linear_is_equal_runs_of_whole_8_bytes() -> None:
    assert Layout.linear((729, 1152), 1, 1472).tile_bytes == 576
    assert Layout.linear((729, 1152), 2, 1472).tile_bytes == 1144
    assert Layout.linear((0, 5), 2, 1472).tile_bytes == 0
    assert Layout.linear((), 4, 1472).tile_bytes == 8


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cuts": ((),)}, "cuts 1 axes, its shape has 2"),
        ({"order": (Factor(0),)}, "the rest of axis 1 once, outermost"),
        ({"order": (Factor(0, 2), *ROWS)}, "the rest of axis 0 once, outermost"),
        ({"order": (*ROWS, Factor(2))}, "an axis that the shape lacks"),
        ({"order": (*ROWS, Factor(1, -1))}, "cannot be negative"),
        ({"shape": (-1, 4)}, "cannot be negative"),
        ({"first": -1}, "cannot be negative"),
        ({"cuts": ((Cut(0),), ())}, "at least one part"),
        ({"cuts": ((Cut(2, grain=0),), ())}, "one element of grain"),
        ({"replicas": (Group(0, 1),)}, "at least one tile"),
        ({"partial": Group(0, 1)}, "at least one tile"),
        ({"element_bytes": 8}, "1, 2 or 4 bytes, not 8"),
        ({"spread_bytes": 4}, "multiples of 8 bytes, not of 4"),
        ({"spread_bytes": 0}, "multiples of 8 bytes, not of 0"),
    ],
)
def test_a_layout_refuses(fields: dict[str, object], message: str) -> None:
    layout = Layout((3, 4), 2, ((), ()), ROWS)
    with pytest.raises(ValueError, match=message):
        layout.with_(**fields)


@settings(max_examples=300, derandomize=True, database=None, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=40))
def test_a_tile_set_holds_each_tile_once(tiles: list[int]) -> None:
    made = TileSet.of(np.array(tiles, dtype=np.int64))
    assert made.array().tolist() == sorted(set(tiles))
    assert len(made) == len(set(tiles))
    assert made == TileSet.of(np.array(tiles[::-1], dtype=np.int64))


def test_a_regular_tile_set_is_one_box() -> None:
    tiles = np.add.outer(np.arange(9) * 162, np.arange(6) * 2).reshape(-1)
    (box,) = TileSet.of(tiles).boxes
    assert (box.first, box.steps) == (0, ((9, 162), (6, 2)))
