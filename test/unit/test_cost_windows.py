"""Messages of windows that are taken from another product's blocks are bounded."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from tiledialect.cost.messages import counts
from tiledialect.cost.spec import Spec
from tiledialect.layout import Cut, Factor, Group, Layout, Window
from tiledialect.relayout import relayout

TILES = 4096


def spec_of(layout: Layout, window: int = 0) -> Spec:
    """What the cost model knows of blocks, and of a window of their last axis."""
    blocks = [
        np.array([layout.cuts[axis][0].block(extent) if layout.cuts[axis] else extent])
        for axis, extent in enumerate(layout.shape)
    ]
    inner = [*blocks[:-1], np.array([window])]
    return Spec(
        layout.shape,
        tuple(inner if window else blocks),
        layout.order,
        layout.element_bytes,
        outer=tuple(blocks) if window else None,
        windowed=window > 0,
    )


def random_blocks(
    rng: random.Random, shape: tuple[int, int, int], panel: int, grain: int
) -> Layout:
    """Blocks of rows and columns, row-major or in panels, on tiles of their own."""
    rows, columns = rng.randint(1, 5), rng.randint(1, 6)
    inner = (Factor(0), Factor(1), Factor(2))
    if panel:
        inner = (Factor(0), Factor(2), Factor(1), Factor(2, panel))
    cuts = ((), (Cut(rows, columns),), (Cut(columns, 1, grain),))
    return Layout(shape, 1, cuts, inner)


@pytest.mark.parametrize("seed", range(150))
def test_no_window_takes_more_messages_than_are_counted(seed: int) -> None:
    rng = random.Random(seed)
    panel = rng.choice((0, 4, 8))
    grain = rng.choice((4, 8, 16))
    shape = (1, rng.randint(4, 12), grain * rng.randint(3, 12))
    if panel and shape[2] % panel:
        shape = (*shape[:2], shape[2] + -shape[2] % panel)
    source = random_blocks(rng, shape, panel, rng.choice((4, grain)))
    users = random_blocks(rng, shape, panel, grain)
    block = users.cuts[2][0].block(shape[2])
    window = min(block, max(panel, 4) * rng.randint(1, 4))
    counted = counts(spec_of(source), spec_of(users, window))
    for start in range(0, block, window):
        held = Window(2, start, min(window, block - start))
        target = replace(
            users,
            windows=(held,),
            first=1024,
            replicas=(Group(rng.randint(1, 3), 512),),
        )
        table = relayout(source, target)
        into, out = table.messages_in(TILES), table.messages_out(TILES)
        assert into.max(initial=0) <= counted.messages_in[0]
        assert out.max(initial=0) <= counted.messages_out[0]


def test_a_block_that_windows_do_not_divide_is_met_in_rows() -> None:
    """Blocks of 80 columns in panels of 32, windows of 64: the second window meets half
    a panel of one block and begins inside of one of the next, so each of its 172 rows
    comes in 4 runs. The first is two whole panels."""
    order = (Factor(0), Factor(2), Factor(1), Factor(2, 32))
    shape = (1, 2916, 4320)
    source = Layout(shape, 1, ((), (Cut(27, 54),), (Cut(54, 1, 16),)), order)
    users = Layout(shape, 1, ((), (Cut(17, 7),), (Cut(7, 1, 32),)), order)
    most: list[int] = []
    for start in (0, 64):
        target = replace(users, windows=(Window(2, start, 64),), first=2048)
        most.append(int(relayout(source, target).messages_in(TILES).max()))
    counted = int(counts(spec_of(source), spec_of(users, 64)).messages_in[0])
    assert most[0] <= 12
    assert most[1] == 4 * 172 <= counted <= 1.3 * most[1]
