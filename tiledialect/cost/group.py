"""The cost of the candidates of a variant: cycles of its steps, bytes of its buffers.

Whatever does not depend on where operands come from is in `GroupCost`; `arrival` adds
what does. A step's live bytes are the sizes of the buffers that it needs at once, so
the largest of them bounds what placement must find room for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import (
    BLOCK,
    CUT,
    IN_STEPS,
    LINEAR,
    PANEL,
    STORED,
    Candidates,
    grains,
    matrix_mode,
    neighbours,
    panel_order,
    result_order,
    splittable_reduction,
)
from tiledialect.codelets import (
    Stage,
    fill_cycles,
    map_cycles,
    matmul_cycles,
    reduce_cycles,
    sum_cycles,
)
from tiledialect.cost.movement import Movement, no_movement, stacked
from tiledialect.cost.operand import ALIGN, OperandCost, sized
from tiledialect.cost.spec import Spec, block_extent, ceil_div
from tiledialect.formats import format_named
from tiledialect.group_layouts import DEPTH, RUN_BYTES, operand_order
from tiledialect.layout import Factor
from tiledialect.machine import Machine
from tiledialect.program import Group, Operand, Program

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class GroupCost:
    """What the candidates' own choices settle; arrays of the table's length.

    stack_bytes, summed_bytes  0 where there are no partial sums; `own`: the tile's own
                               partial is read where it lies
    computed, summed, rest     where the codelet leaves its result, where the sum does,
                               and where users find it
    """

    operands: tuple[OperandCost, ...]
    compute: Ints
    reduction: Movement
    sum: Ints
    stages: Ints
    computed_bytes: Ints
    stack_bytes: Ints
    summed_bytes: Ints
    computed: Spec
    summed: Spec
    rest: Spec
    has_stages: bool
    splits: bool
    own: bool

    @property
    def rest_bytes(self) -> Ints:
        return sized(self.rest.tile_bytes) + 0 * self.compute

    @property
    def cycles(self) -> Ints:
        """Cycles of the steps after the operands have arrived."""
        reduction = self.reduction.exchange + self.reduction.copy
        return self.compute + reduction + self.sum + self.stages

    def step_bytes(self, machine: Machine) -> Ints:
        """Bytes of the program's steps after the operands have arrived."""
        steps = max(operand.steps for operand in self.operands)
        count = self.reduction.steps + steps + self.splits + self.has_stages
        return count * machine.code.step_bytes + 0 * self.compute

    @property
    def resident_bytes(self) -> Ints:
        """Bytes that stored operands hold for good."""
        return sum((o.stored_bytes for o in self.operands), 0 * self.compute)

    @property
    def held_bytes(self) -> Ints:
        """Bytes of operands that are live while the codelet runs, stored ones and what
        windows are taken from directly not counted."""
        return sum((o.held_bytes for o in self.operands), 0 * self.compute)

    @property
    def transient_bytes(self) -> Ints:
        """Live bytes of the fullest step after the operands have arrived, resident
        ones and other values not counted."""
        steps = [self.held_bytes + self.computed_bytes]
        last = self.computed_bytes
        if self.splits:
            staging = sized(self.reduction.staging_bytes)
            # a tile whose own partial lies right reads it there and has a slot less,
            # planned or not; slots are rounded up one by one
            spare = 0 if self.own else ALIGN
            steps.append(self.computed_bytes + self.stack_bytes + staging + spare)
            held = self.computed_bytes if self.own else 0 * self.compute
            steps.append(held + self.stack_bytes + staging + self.summed_bytes)
            last = self.summed_bytes
        if self.has_stages:
            steps.append(last + self.rest_bytes)
        return np.maximum.reduce(steps)


@dataclass(frozen=True)
class Entry:
    """What candidates with one choice of grid, ways and steps share, wherever their
    results rest: blocks of the domain, operands, and cycles of the codelet."""

    blocks: tuple[Ints, ...]
    operands: tuple[OperandCost, ...]
    compute: Ints


def entry_cost(
    program: Program, group: Group, machine: Machine, table: Candidates
) -> Entry:
    """Evaluate what comes before a group's result."""
    blocks = _domain_blocks(program, group, machine, table)
    operands = tuple(
        _operand_cost(program, group, machine, table, blocks, position)
        for position in range(len(group.operands))
    )
    compute = compute_cycles(program, group, machine, blocks)
    calls = (table.variant.steps - 1) * call_cycles(program, group, machine)
    return Entry(blocks, operands, compute + calls + 0 * table.parts[:, 0])


@dataclass(frozen=True)
class Held:
    """What candidates with one choice of grid, ways and steps hold, staging not
    counted: blocks of the domain, bytes that stored operands hold for good, and live
    bytes of the others while the codelet runs."""

    blocks: tuple[Ints, ...]
    resident: Ints
    held: Ints


def held_bytes(
    program: Program, group: Group, machine: Machine, table: Candidates
) -> Held:
    """What the operands of candidates hold."""
    zero = np.zeros(len(table), dtype=np.int64)
    blocks = _domain_blocks(program, group, machine, table)
    resident, held = zero, zero
    for position in range(len(group.operands)):
        one = _operand_cost(program, group, machine, table, blocks, position)
        resident, held = resident + one.stored_bytes, held + one.held_bytes
    return Held(blocks, resident, held)


def least_live(
    program: Program, group: Group, machine: Machine, table: Candidates, operands: Held
) -> Ints:
    """Live bytes of the fullest step once the operands have arrived, at least: cheap
    to know."""
    computed = _computed_spec(program, group, machine, operands.blocks)
    size = sized(computed.tile_bytes)
    live = operands.held + size
    if table.variant.rest != BLOCK:
        partials = table.parts[:, splittable_reduction(group)]
        summed = _summed_spec(program, group, machine, table, computed, partials)
        slots = partials - _reads_own(group, table)
        live = np.maximum(live, sized(summed.tile_bytes * slots) + size)
    return live


def _reads_own(group: Group, table: Candidates) -> bool:
    """Whether a tile reads its own partial result where it lies: panels begin at whole
    multiples of what a codelet reads, rows of others need not."""
    return table.variant.rest >= CUT and group.family == "matmul"


def group_cost(
    program: Program,
    group: Group,
    machine: Machine,
    table: Candidates,
    entry: Entry | None = None,
) -> GroupCost:
    """Evaluate all candidates of a variant; `entry` if that is known already."""
    if entry is None:
        entry = entry_cost(program, group, machine, table)
    blocks, operands = entry.blocks, entry.operands
    zero = np.zeros(len(table), dtype=np.int64)
    computed = _computed_spec(program, group, machine, blocks)
    splits = table.variant.rest != BLOCK
    own = _reads_own(group, table)
    summed, reduction, sums, stack = computed, no_movement(zero), zero, zero
    if splits:
        partials = table.parts[:, splittable_reduction(group)]
        summed = _summed_spec(program, group, machine, table, computed, partials)
        reduction = stacked(machine, computed, summed, partials, own)
        sums = sum_cycles(machine, group.format, partials, summed.tile_elements + zero)
        stack = sized(summed.tile_bytes * (partials - 1 if own else partials))
    stages = tail_stages(group)
    rest = summed
    if stages:
        order = result_order(program, group, machine, table.variant.order)
        width = program.values[group.result.value].form.format.bytes
        rest = summed.with_(order=order, element_bytes=width)
    return GroupCost(
        operands=operands,
        compute=entry.compute,
        reduction=reduction,
        sum=sums,
        stages=_stage_cycles(machine, stages, summed, rest) + zero,
        computed_bytes=sized(computed.tile_bytes) + zero,
        stack_bytes=stack,
        summed_bytes=sized(summed.tile_bytes) + zero if splits else zero,
        computed=computed,
        summed=summed,
        rest=rest,
        has_stages=bool(stages),
        splits=splits,
        own=own,
    )


def _domain_blocks(
    program: Program, group: Group, machine: Machine, table: Candidates
) -> tuple[Ints, ...]:
    grain = grains(program, group, machine)
    return tuple(
        block_extent(dim.extent, grain[i], table.parts[:, i])
        for i, dim in enumerate(group.dims)
    )


def _projected(
    group: Group,
    blocks: tuple[Ints, ...],
    operand: Operand,
    order: tuple[Factor, ...],
    width: int,
) -> Spec:
    if not operand.axes:
        one = np.ones(1, dtype=np.int64)
        return Spec((1,), (one,), (Factor(0),), width)
    extents = group.extents(operand.axes)
    return Spec(extents, tuple(blocks[axis] for axis in operand.axes), order, width)


def _operand_cost(
    program: Program,
    group: Group,
    machine: Machine,
    table: Candidates,
    blocks: tuple[Ints, ...],
    position: int,
) -> OperandCost:
    operand = group.operands[position]
    width = program.values[operand.value].form.format.bytes
    order = operand_order(program, group, machine, position)
    block = _projected(group, blocks, operand, order, width)
    if machine.exchange.pair_tiles > 1:
        block = block.with_(neighbours=neighbours(group, operand.axes, table.parts))
    steps = table.variant.steps
    others = [d for d in range(len(group.dims)) if d not in operand.axes]
    users = table.parts[:, others].prod(axis=1)
    path = table.variant.paths[position]
    fill = users * 0
    if group.family == "matmul" and path != STORED:
        fill = fill + _fill_cycles(program, group, machine, blocks, block)
    comes = block
    if path in IN_STEPS and steps > 1:
        panel = matrix_mode(program, group, machine).k_block
        window = ceil_div(ceil_div(blocks[DEPTH], panel), steps) * panel
        extents = list(block.blocks)
        extents[operand.axes.index(DEPTH)] = np.minimum(window, blocks[DEPTH])
        comes = block.with_(blocks=tuple(extents), outer=block.blocks, windowed=True)
    before = table.variant.paths[:position]
    return OperandCost(
        path=path,
        block=comes,
        users=users,
        relay=block.with_(spread=users, spread_bytes=RUN_BYTES),
        gathered=block.with_(order=tuple(Factor(a) for a in range(len(block.shape)))),
        fill=fill,
        steps=steps if path in IN_STEPS else 1,
        joined=path in IN_STEPS and any(other in IN_STEPS for other in before),
    )


def _fill_cycles(
    program: Program,
    group: Group,
    machine: Machine,
    blocks: tuple[Ints, ...],
    block: Spec,
) -> Ints:
    """Zeros in the last panel of a block whose depth is no whole number of panels."""
    mode = matrix_mode(program, group, machine)
    if group.dims[3].extent % mode.k_block == 0:
        return blocks[3] * 0
    panel = block.block_bytes // np.maximum(1, ceil_div(blocks[3], mode.k_block))
    return fill_cycles(machine, panel, np.ones_like(panel))


def compute_cycles(
    program: Program, group: Group, machine: Machine, blocks: tuple[Ints, ...]
) -> Ints:
    """Cycles of a group's codelet on blocks of its domain, called once."""
    extents = [
        np.minimum(block, dim.extent)
        for block, dim in zip(blocks, group.dims, strict=True)
    ]
    first = program.values[group.operands[0].value].form.format.name
    if group.family == "matmul":
        b, m, n, k = extents
        one = matmul_cycles(machine, first, group.accumulate, m, n, k)
        call = matrix_mode(program, group, machine).call_cycles
        return (one - call) * b + call
    kept, length = np.ones_like(extents[0]), np.ones_like(extents[0])
    for extent, dim in zip(extents, group.dims, strict=True):
        kept, length = (
            (kept, length * extent) if dim.reduced else (kept * extent, length)
        )
    if group.family == "reduce":
        return reduce_cycles(machine, first, kept, length)
    return map_cycles(machine, group.stages, kept, transposes(group))


def call_cycles(program: Program, group: Group, machine: Machine) -> int:
    """What each further call of a matmul costs."""
    if group.family != "matmul":
        return 0
    return matrix_mode(program, group, machine).call_cycles


def tail_stages(group: Group) -> tuple[Stage, ...]:
    """The stages that run after the sum of a matmul or reduce group; a map's own
    codelet runs all of its stages."""
    return () if group.family == "map" else group.stages


def transposes(group: Group) -> bool:
    """Whether a map reads its first operand in another order than it writes."""
    return group.operands[0].axes != group.result.axes


def _computed_spec(
    program: Program, group: Group, machine: Machine, blocks: tuple[Ints, ...]
) -> Spec:
    axes = group.result.axes
    order = tuple(Factor(axis) for axis in range(len(axes)))
    if group.family == "matmul":
        mode = matrix_mode(program, group, machine)
        order = panel_order(len(axes), axes.index(1), axes.index(2), mode.n_block)
    width = format_named(program.computed_format(group)).bytes
    return _projected(group, blocks, group.result, order, width)


def _summed_spec(
    program: Program,
    group: Group,
    machine: Machine,
    table: Candidates,
    computed: Spec,
    partials: Ints,
) -> Spec:
    """Where the summed result lies."""
    rest = table.variant.rest
    if rest == LINEAR:
        return Spec.of_linear(computed.shape, computed.element_bytes, machine.tiles)
    axis = rest - CUT
    cut = grains(program, group, machine)[group.result.axes[axis]]
    blocks = list(computed.blocks)
    piece = ceil_div(ceil_div(blocks[axis], cut), partials) * cut
    blocks[axis] = np.minimum(piece, blocks[axis])
    order = computed.order
    if table.variant.order != PANEL:
        order = tuple(Factor(a) for a in range(len(computed.shape)))
    return computed.with_(blocks=tuple(blocks), order=order, outer=computed.blocks)


def _stage_cycles(
    machine: Machine, stages: tuple[Stage, ...], summed: Spec, rest: Spec
) -> Ints:
    if not stages:
        return np.zeros(1, dtype=np.int64)
    regroup = summed.order != rest.order
    return map_cycles(machine, stages, summed.block_elements, regroup)
