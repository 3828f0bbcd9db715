"""Cheap lower bounds of what candidates cost, before they are priced.

Whatever way an operand comes, a tile that shares its block with others receives it
whole; whatever way partial sums are added, a tile receives all but one of its share;
and the codelet runs. So a candidate whose bound is beaten need not be priced.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import (
    IN_STEPS,
    STORED,
    Candidates,
    grains,
    splittable_reduction,
)
from tiledialect.cost.group import call_cycles, compute_cycles
from tiledialect.cost.operand import phase_start
from tiledialect.cost.spec import block_extent, ceil_div
from tiledialect.formats import format_named
from tiledialect.machine import Machine
from tiledialect.program import Group, Program

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

WORD = 4


def least_cycles(
    program: Program, group: Group, machine: Machine, table: Candidates
) -> Ints:
    """Cycles that each candidate of a variant takes at least."""
    grain = grains(program, group, machine)
    blocks = tuple(
        block_extent(dim.extent, grain[i], table.parts[:, i])
        for i, dim in enumerate(group.dims)
    )
    cycles = compute_cycles(program, group, machine, blocks) + 0 * table.parts[:, 0]
    steps = table.variant.steps
    if steps > 1:
        cycles = cycles + (steps - 1) * call_cycles(program, group, machine)
        cycles = cycles + steps * phase_start(machine) * _moves_in_steps(group, table)
    cycles = cycles + _arriving(program, group, table, blocks)
    return cycles + _gathering(program, group, machine, table, blocks)


def _users(group: Group, table: Candidates, number: int) -> Ints:
    axes = group.operands[number].axes
    others = [d for d in range(len(group.dims)) if d not in axes]
    return table.parts[:, others].prod(axis=1)


def _moves_in_steps(group: Group, table: Candidates) -> Ints:
    """1 where some operand is exchanged in every step, else 0."""
    found = np.zeros(len(table), dtype=np.int64)
    for number, path in enumerate(table.variant.paths):
        if path in IN_STEPS:
            found = found | (_users(group, table, number) > 1)
    return found


def _arriving(
    program: Program, group: Group, table: Candidates, blocks: tuple[Ints, ...]
) -> Ints:
    """Words of the blocks that several tiles share, and that are not there for good."""
    words = np.zeros(len(table), dtype=np.int64)
    for number, path in enumerate(table.variant.paths):
        if path == STORED:
            continue
        operand = group.operands[number]
        width = program.values[operand.value].form.format.bytes
        size = _elements(group, operand.axes, blocks) * width
        words = words + np.where(_users(group, table, number) > 1, size // WORD, 0)
    return words


def _gathering(
    program: Program,
    group: Group,
    machine: Machine,
    table: Candidates,
    blocks: tuple[Ints, ...],
) -> Ints:
    """Words of the partial sums that the fullest tile receives."""
    split = splittable_reduction(group)
    if split < 0:
        return np.zeros(1, dtype=np.int64)
    width = format_named(program.computed_format(group)).bytes
    partials = table.parts[:, split]
    block = _elements(group, group.result.axes, blocks)
    whole = prod(group.extents(group.result.axes))
    # summed straight into linear ownership a tile has its share of the whole result
    share = np.minimum(ceil_div(block, partials), whole // machine.tiles)
    return (partials - 1) * share * width // WORD


def _elements(group: Group, axes: tuple[int, ...], blocks: tuple[Ints, ...]) -> Ints:
    count = np.ones_like(blocks[0])
    for axis in axes:
        count = count * np.minimum(blocks[axis], group.dims[axis].extent)
    return count
