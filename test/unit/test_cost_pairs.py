"""What the cost model says of 64-bit items is a bound of what tables of moves allow.

A message is cut by receivers: whole pairs but the sender's own may get it doubled, if
it is whole items, long enough, and at multiples of 8 bytes on both sides.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice
from math import prod
from pathlib import Path

import numpy as np
import pytest
from plan_hops import Chosen, choose, moves, received_at_best
from planning_programs import random_machine, random_program, tables
from tile_programs import parse

from tiledialect.candidates import (
    CUT,
    RELAY,
    ROW_MAJOR,
    STORED,
    Candidates,
    Variant,
    neighbours,
)
from tiledialect.codelets import copy_cycles
from tiledialect.cost.group import group_cost
from tiledialect.cost.steps import relayout_estimate
from tiledialect.group_layouts import grid_layout, group_layouts
from tiledialect.layout import Cut, Factor, Group, Layout, Window
from tiledialect.machine import Machine
from tiledialect.program import read_program
from tiledialect.relayout import Transfers, relayout

EXAMPLES = Path(__file__).parents[2] / "examples"


def sent_controls(machine: Machine, table: Transfers) -> Counter[int]:
    """Control words with which each tile sends if all messages go doubled that may: a
    message that goes both ways is two, and one more if a pair gets it apart. An item
    counts as two words."""
    x = machine.exchange
    found: Counter[int] = Counter()
    for i in range(len(table.source)):
        number, sender = int(table.destinations[i]), int(table.source[i])
        begin, end = int(table.set_start[number]), int(table.set_start[number + 1])
        tiles = {int(tile) for tile in table.set_tiles[begin:end]}
        words, places = (
            int(table.words[i]),
            int(table.source_offset[i] | table.offset[i]),
        )
        fits = words % 2 == 0 and words // 2 >= x.pair_least_items and places % 8 == 0
        pairs = {t for t in tiles if t ^ 1 in tiles and t // 2 != sender // 2}
        twice = pairs if fits and x.pair_tiles == 2 else set[int]()
        for some, chunk in (
            (twice, 2 * x.send_chunk_words),
            (len(twice) > 2, 2 * x.send_chunk_words),
            (tiles - twice, x.send_chunk_words),
        ):
            if some:
                found[sender] += -(-words // chunk) * x.send_controls + x.gap_controls
    return found


def most_controls(machine: Machine, table: Transfers) -> int:
    """Control words of the fullest tile."""
    x = machine.exchange
    heard = table.messages_in(machine.tiles) * (x.source_controls + x.pointer_controls)
    for tile, words in sent_controls(machine, table).items():
        heard[tile] += words
    return int(heard.max()) + x.phase_controls if heard.any() else 0


def local_cycles(machine: Machine, table: Transfers) -> int:
    """Cycles of the copies of runs that stay on their tile, where they take longest."""
    size = np.bincount(table.copy_tile, table.copy_bytes, machine.tiles)
    runs = np.bincount(table.copy_tile, minlength=machine.tiles)
    some = copy_cycles(machine, size.astype(np.int64), runs, 8)
    return int((some * (runs > 0)).max())


@pytest.mark.parametrize("seed", range(120))
def test_doubled_phases_of_small_programs_are_bounded(seed: int) -> None:
    rng = random.Random(seed)
    machine = random_machine(rng)
    program = random_program(rng, machine, 4)
    chosen = choose(program, machine, rng, tables(program, machine))
    for move in moves(program, machine, chosen):
        controls = most_controls(machine, move.table)
        most = int(move.priced.row_bytes[0]) // machine.exchange.control_word_bytes
        if (
            move.kind != "stack"
        ):  # whose parts go to single tiles: these have pauses less
            assert controls <= most, move.kind
        if not move.table.staging_bytes:
            assert local_cycles(machine, move.table) <= int(move.priced.copy[0])


@pytest.mark.parametrize(
    ("parts", "most"), [((1, 9, 54, 3), 1.02), ((1, 9, 40, 4), 1.05)]
)
def test_a_relay_to_whole_pairs_is_estimated_as_doubled(
    parts: tuple[int, ...], most: float
) -> None:
    machine = Machine.load("ipu-c600")
    text = (EXAMPLES / "siglip_mlp_f8_b1.mlir").read_text()
    program = read_program(parse(text), machine)
    group, variant = program.groups[0], Variant((RELAY, STORED), CUT + 1, ROW_MAJOR)
    layouts = group_layouts(program, group, machine, variant, parts)
    some = Candidates(variant, np.array([parts]))
    cost = group_cost(program, group, machine, some)
    chosen = [Chosen(some, layouts, cost)]
    _, gathered = islice(moves(program, machine, chosen), 2)
    table = gathered.table
    fixed = machine.exchange.phase_cycles + machine.latency(machine.tiles - 1)
    best = int(received_at_best(machine, table).max())
    estimate = int(gathered.priced.exchange[0]) - fixed
    assert best <= estimate <= most * best
    assert estimate < 0.6 * int(table.words_in(machine.tiles).max())


@pytest.mark.parametrize(
    ("rows", "parts", "window"),
    [(729, 5, 288), (729, 5, 96), (640, 5, 96), (1458, 9, 160)],
)
def test_rows_of_panels_to_whole_pairs_are_estimated_as_doubled(
    rows: int, parts: int, window: int
) -> None:
    """A link's blocks in panels, cut again along their rows, come in long runs."""
    machine = Machine.load("ipu-c600")
    order = (Factor(1), Factor(0), Factor(1, 32))
    columns = (Cut(68, 1, 16),)
    source = Layout((rows, 4320), 1, ((Cut(5, 68), Cut(4, 340)), columns), order)
    block = Layout(
        (rows, 4320),
        1,
        ((Cut(parts, 18),), (Cut(80 // parts, parts * 18, 32),)),
        order,
        replicas=(Group(18, 1),),
        windows=(Window(1, 0, window),),
    )
    table = relayout(source, block)
    fixed = machine.exchange.phase_cycles + machine.latency(machine.tiles - 1)
    best = int(received_at_best(machine, table).max())
    estimate = relayout_estimate(machine, source, block).exchange - fixed
    assert best <= estimate <= 1.15 * best
    assert estimate < 0.8 * int(table.words_in(machine.tiles).max())


def test_tiles_in_a_row_share_what_they_lack() -> None:
    """`neighbours` is what the grid's layout says, on random grids."""
    rng = random.Random(5)
    for _ in range(40):
        machine = random_machine(rng)
        program = random_program(rng, machine, 3)
        for group, table in zip(program.groups, tables(program, machine), strict=True):
            parts = rng.choice(rng.choice(table).parts)
            grid = grid_layout(program, group, machine, tuple(int(p) for p in parts))
            for operand in group.operands:
                found = int(neighbours(group, operand.axes, parts[None])[0])
                assert found == same_in_a_row(grid, operand.axes), parts


def same_in_a_row(grid: Layout, axes: tuple[int, ...]) -> int:
    """The longest stretches of tiles, all of one length, that share a block."""
    tiles = prod(cut.parts for cuts in grid.cuts for cut in cuts)
    held = [
        tuple(
            tile // cut.stride % cut.parts for axis in axes for cut in grid.cuts[axis]
        )
        for tile in range(tiles)
    ]
    count = 1
    while count < tiles and held[count] == held[0]:
        count += 1
    return count
