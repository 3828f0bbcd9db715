"""A window holds a part of each block: the parts of all windows are the whole."""

import numpy as np
import pytest

from tiledialect.blocks import tile_blocks
from tiledialect.layout import Cut, Factor, Group, Layout, Window
from tiledialect.relayout import Transfers, relayout

PANELS = (Factor(1), Factor(0), Factor(1, 4))


def block_layout(extent: int, parts: int, replicas: int) -> Layout:
    return Layout(
        (7, extent),
        2,
        ((), (Cut(parts, replicas, 4),)),
        PANELS,
        replicas=(Group(replicas, 1),),
    )


def received(transfers: Transfers, tiles: int) -> np.ndarray:
    return transfers.words_in(tiles)


@pytest.mark.parametrize("extent", [24, 40, 44])
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_windows_move_each_element_once(extent: int, steps: int) -> None:
    whole = block_layout(extent, 2, 3)
    source = Layout.linear((7 * extent,), 2, 6)
    block = whole.block_extent(1)
    count = -(-block // 4 // steps) * 4
    total = np.zeros(6, dtype=np.int64)
    for start in range(0, block, count):
        part = whole.with_(windows=(Window(1, start, count),))
        moved = relayout(source, part)
        assert part.tile_bytes == 7 * min(count, block - start) * 2
        assert (moved.offset + 4 * moved.words <= part.tile_bytes).all()
        total += received(moved, 6)
    assert np.array_equal(total, received(relayout(source, whole), 6))


def test_a_window_is_the_same_bytes_of_its_block() -> None:
    whole = block_layout(24, 2, 1)
    part = whole.with_(windows=(Window(1, 4, 4),))
    moved = relayout(whole, part)
    # panel 1 of each block: 7 rows of 4 elements, 56 bytes, at the same tile
    assert moved.source.size == 0
    assert moved.copy_bytes.tolist() == [56, 56]
    assert moved.copy_from.tolist() == [56, 56]
    assert moved.copy_to.tolist() == [0, 0]


def test_blocks_of_a_window_begin_where_it_does() -> None:
    part = block_layout(24, 2, 1).with_(windows=(Window(1, 8, 4),))
    blocks = tile_blocks(part)
    assert blocks.starts[:, 1].tolist() == [8, 20]
    assert blocks.extents[:, 1].tolist() == [4, 4]


def test_a_window_behind_a_short_block_is_empty_there() -> None:
    part = block_layout(20, 2, 1).with_(windows=(Window(1, 8, 4),))
    blocks = tile_blocks(part)
    assert blocks.extents[:, 1].tolist() == [4, 0]


def test_a_window_needs_an_axis_and_a_count() -> None:
    with pytest.raises(ValueError, match="at least one index"):
        block_layout(24, 2, 1).with_(windows=(Window(1, 0, 0),))
    with pytest.raises(ValueError, match="names an axis"):
        block_layout(24, 2, 1).with_(windows=(Window(2, 0, 1),))
