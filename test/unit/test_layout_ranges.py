"""A range holds a part of a tensor: the parts of all ranges are the whole."""

import numpy as np
import pytest

from tiledialect.blocks import pads_alike, tile_blocks
from tiledialect.layout import Cut, Factor, Group, Layout, Window
from tiledialect.layout_json import layout_to_json
from tiledialect.relayout import element_places, relayout

PANELS = (Factor(1), Factor(0), Factor(1, 4))


def rows_cut(parts: int, start: int, count: int) -> Layout:
    """Some rows of 13 x 24 elements of 2 bytes, cut in parts over tiles 0, 2, ..."""
    return Layout(
        (13, 24),
        2,
        ((Cut(parts, 2),), (Cut(2, 1, 4),)),
        PANELS,
        ranges=(Window(0, start, count),),
    )


@pytest.mark.parametrize("count", [1, 3, 4, 5, 13])
def test_ranges_move_each_element_once(count: int) -> None:
    source = Layout.linear((13 * 24,), 2, 6)
    words = np.zeros(6, dtype=np.int64)
    for start in range(0, 13, count):
        part = rows_cut(3, start, min(count, 13 - start))
        moved = relayout(source, part)
        assert (moved.offset + 4 * moved.words <= part.tile_bytes).all()
        words += moved.words_in(6)
        words += np.bincount(moved.copy_tile, moved.copy_bytes // 4, 6).astype(int)
    assert words.sum() == 13 * 24 * 2 // 4


def test_a_range_is_cut_from_its_own_start() -> None:
    blocks = tile_blocks(rows_cut(2, 5, 6))
    assert blocks.tiles.tolist() == [0, 1, 2, 3]
    assert blocks.starts[:, 0].tolist() == [5, 5, 8, 8]
    assert blocks.extents[:, 0].tolist() == [3, 3, 3, 3]


def test_elements_outside_a_range_are_nowhere() -> None:
    layout = rows_cut(2, 5, 6)
    tile, offset = element_places(layout)
    tile, offset = tile.reshape(13, 24), offset.reshape(13, 24)
    assert (tile[:5] < 0).all()
    assert (tile[11:] < 0).all()
    inside = tile[5:11]
    assert np.unique(inside).tolist() == [0, 1, 2, 3]
    # row 6 of the tensor is row 1 of its block, in the same panel
    assert offset[6, 0] - offset[5, 0] == 8


def test_a_range_goes_back_to_where_the_whole_lies() -> None:
    whole = Layout.linear((13 * 24,), 2, 6)
    moved = relayout(rows_cut(2, 5, 6), whole)
    # 6 rows of 48 bytes, into 312 elements over 6 tiles of 104 bytes
    first, last = 5 * 48 // 104, (11 * 48 - 1) // 104
    arrived = np.flatnonzero(moved.words_in(6)).tolist()
    copied = np.unique(moved.copy_tile).tolist()
    assert sorted({*arrived, *copied}) == list(range(first, last + 1))


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ((Window(2, 0, 1),), "names an axis"),
        ((Window(0, 10, 4),), "ends behind its axis"),
        ((Window(0, 0, 4), Window(0, 4, 4)), "one range at most"),
        ((Window(0, 0, 0),), "at least one index"),
    ],
)
def test_ranges_that_are_none_are_refused(
    ranges: tuple[Window, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        rows_cut(2, 0, 13).with_(ranges=ranges)


def test_a_package_has_no_place_for_ranges() -> None:
    with pytest.raises(ValueError, match="windows"):
        layout_to_json(rows_cut(2, 5, 6))


@pytest.mark.parametrize(
    ("extent", "block", "alike"),
    [
        (30, 16, True),  # blocks of 16 and 14, the last panel of 4 is in the second
        (32, 16, True),
        (29, 10, False),  # 10, 10, 9: no element moves, but 32 are cut in 12, 12, 8
    ],
)
def test_padding_that_moves_lies_where_it_did(
    extent: int, block: int, alike: bool
) -> None:
    parts = -(-extent // block)
    layout = Layout((3, extent), 2, ((), (Cut(parts, 1, 2),)), PANELS)
    assert pads_alike(layout, 1, 4) == alike


def test_padding_moves_with_its_panel() -> None:
    """30 columns are 7 panels of 4 and a half: 3 rows of it are 3 runs, with its
    padding one."""
    source = Layout((3, 30), 2, ((), ()), PANELS)
    target = source.with_(first=1, replicas=(Group(2, 1),))
    ragged = relayout(source, target)
    padded = relayout(source.padded(1, 4), target.padded(1, 4))
    assert ragged.source.size > 1
    assert padded.source.size == 1
    assert padded.words.tolist() == [3 * 32 * 2 // 4]
