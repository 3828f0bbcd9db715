"""What the cost model knows of a layout agrees with the layout itself."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest
from plan_hops import choose
from planning_programs import random_program, tables

from tiledialect.cost.operand import sized
from tiledialect.cost.spec import Spec, block_extent, segments
from tiledialect.layout import Cut, Layout
from tiledialect.machine import Machine


def agree(spec: Spec, layout: Layout, what: str) -> None:
    """Sizes are equal; of linear ownership the layout may be written either way."""
    assert int(spec.tile_bytes[0]) == layout.tile_bytes, what
    if spec.linear or layout.packed:
        return
    extents = tuple(layout.block_extent(axis) for axis in range(len(layout.shape)))
    assert tuple(int(e[0]) for e in spec.extents) == extents, what
    assert int(spec.block_elements[0]) == prod(extents), what
    assert int(spec.block_bytes[0]) == layout.block_bytes, what
    assert spec.order == layout.order, what


@pytest.mark.parametrize("seed", range(250))
def test_blocks_of_candidates_have_the_sizes_of_their_layouts(seed: int) -> None:
    rng = random.Random(seed)
    machine = Machine.load(rng.choice(("mini4", "mini16")))
    program = random_program(rng, machine, 4)
    for here in choose(program, machine, rng, tables(program, machine)):
        cost, layouts = here.cost, here.layouts
        for operand, real in zip(cost.operands, layouts.operands, strict=True):
            for window in real.windows or (real.block,):
                assert window.tile_bytes <= int(operand.block.tile_bytes[0])
            if not real.windows:
                agree(operand.block, real.block, "block")
            if real.relay is not None:
                agree(operand.relay, real.relay, "relay")
                assert operand.relay_bytes[0] == sized(np.array(real.relay.tile_bytes))
            if real.gathered is not None:
                agree(operand.gathered, real.gathered, "gathered")
            assert int(operand.users[0]) == max(1, real.block.replica_count)
        agree(cost.computed, layouts.computed, "computed")
        agree(cost.summed, layouts.summed, "summed")
        agree(cost.rest, layouts.rest, "rest")


def test_a_block_is_as_large_as_that_of_a_cut() -> None:
    for extent in range(0, 40):
        for grain in (1, 2, 8):
            parts = np.arange(1, 12)
            exact = [Cut(int(p), 1, grain).block(extent) for p in parts]
            assert block_extent(extent, grain, parts).tolist() == exact


def test_blocks_met_are_counted_from_above_and_reached() -> None:
    """For all pairs of block sizes the bound is what some block meets, or one more."""
    for extent in (1, 7, 24, 36):
        for block in range(1, extent + 1):
            for other in range(1, extent + 1):
                starts = range(0, extent, block)
                most = max(
                    (min(s + block, extent) - 1) // other - s // other + 1
                    for s in starts
                )
                size, second = np.array([block]), np.array([other])
                bound = int(segments(size, second, extent)[0])
                assert most <= bound <= most + 1
