"""Cheap lower bounds of what candidates cost, before they are priced.

Whatever way an operand comes, a tile that shares its block with others receives it
whole; whatever way partial sums are added, a tile receives all but one of its share;
and the codelet runs. So a candidate whose bound is beaten need not be priced.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import (
    DIRECT,
    DIRECT_STEPS,
    IN_STEPS,
    RELAY,
    RELAY_STEPS,
    SPREAD,
    STORED,
    Candidates,
    grains,
    neighbours,
    splittable_reduction,
)
from tiledialect.cost.group import call_cycles, compute_cycles
from tiledialect.cost.operand import phase_start
from tiledialect.cost.pairs import run_bytes
from tiledialect.cost.spec import block_extent, ceil_div
from tiledialect.formats import format_named
from tiledialect.group_layouts import RUN_BYTES
from tiledialect.machine import Machine
from tiledialect.program import Group, Program

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

WORD = 4


@dataclass(frozen=True)
class LeastCycles:
    """Cycles that candidates with some ways take at least: of those in one step, of
    each further call of the codelet, and of what each of several steps exchanges."""

    once: Ints
    call: int
    phase: Ints

    def of(self, steps: int) -> Ints:
        """The same in so many steps."""
        if steps == 1:
            return self.once
        return self.once + (steps - 1) * self.call + steps * self.phase


def least_cycles(
    program: Program, group: Group, machine: Machine, table: Candidates
) -> Ints:
    """Cycles that each candidate of a variant takes at least."""
    return least_in_steps(program, group, machine, table).of(table.variant.steps)


def least_in_steps(
    program: Program, group: Group, machine: Machine, table: Candidates
) -> LeastCycles:
    """The same for any number of steps."""
    grain = grains(program, group, machine)
    blocks = tuple(
        block_extent(dim.extent, grain[i], table.parts[:, i])
        for i, dim in enumerate(group.dims)
    )
    cycles = compute_cycles(program, group, machine, blocks) + 0 * table.parts[:, 0]
    cycles = cycles + _arriving(program, group, machine, table, blocks)
    return LeastCycles(
        cycles + _gathering(program, group, machine, table, blocks),
        call_cycles(program, group, machine),
        phase_start(machine) * _moves_in_steps(group, table),
    )


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
    program: Program,
    group: Group,
    machine: Machine,
    table: Candidates,
    blocks: tuple[Ints, ...],
) -> Ints:
    """Cycles of the words of the blocks that several tiles share, and that are not
    there for good; pairs of tiles may take two at once."""
    words = np.zeros(len(table), dtype=np.int64)
    for number, path in enumerate(table.variant.paths):
        if path == STORED:
            continue
        operand = group.operands[number]
        width = program.values[operand.value].form.format.bytes
        size = _elements(group, operand.axes, blocks) * width
        come, users = size // WORD, _users(group, table, number)
        if machine.exchange.pair_tiles > 1:
            paired = _paired(program, group, machine, table, blocks, number)
            # of a spread block the own pair's pieces come word by word
            piece = size // users // WORD if path in SPREAD else 0
            come = np.where(paired, np.minimum(come, come // 2 + piece), come)
            if path in (RELAY, RELAY_STEPS):  # it is spread first, some by copies
                come = come + piece + phase_start(machine) + machine.copy.call_cycles
        words = words + np.where(users > 1, come, 0)
    return words


def _paired(
    program: Program,
    group: Group,
    machine: Machine,
    table: Candidates,
    blocks: tuple[Ints, ...],
    number: int,
) -> NDArray[np.bool_]:
    """Whether whole pairs of tiles share an operand's block, and a run of it may be
    long enough to come doubled: none from linear ownership into panels."""
    axes, value = group.operands[number].axes, group.operands[number].value
    direct = table.variant.paths[number] in (DIRECT, DIRECT_STEPS)
    if group.family == "matmul" and direct and not program.is_linked(value):
        return np.zeros(1, dtype=np.bool_)
    grain = grains(program, group, machine)
    width = program.values[value].form.format.bytes
    run = np.full_like(table.parts[:, 0], width)
    for axis in axes:
        run = run * ceil_div(blocks[axis], grain[axis]) * grain[axis]
    if table.variant.paths[number] in SPREAD:
        pieces = _users(group, table, number)
        run = ceil_div(ceil_div(run, pieces), RUN_BYTES) * RUN_BYTES
    whole = neighbours(group, axes, table.parts) % 2 == 0
    return whole & (run >= run_bytes(machine))


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
