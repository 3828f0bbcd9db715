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
    DIRECT_STEPS,
    IN_STEPS,
    LINEAR,
    PACK,
    PANEL,
    RELAY,
    RELAY_STEPS,
    STORED,
    STREAM,
    Candidates,
    grains,
    matrix_mode,
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
from tiledialect.cost.movement import Movement, movement, no_movement, stacked
from tiledialect.cost.spec import Spec, block_extent, ceil_div
from tiledialect.formats import format_named
from tiledialect.group_layouts import DEPTH, RUN_BYTES, operand_order
from tiledialect.layout import Factor
from tiledialect.machine import Machine
from tiledialect.program import Group, Operand, Program

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

ALIGN = 16
"""Every buffer is counted in whole multiples of the strictest alignment."""


def sized(size: Ints) -> Ints:
    """Bytes that a buffer takes, rounded up to the alignment."""
    return ceil_div(size, ALIGN) * ALIGN


@dataclass(frozen=True)
class OperandCost:
    """An operand's block, how many tiles share it, and how it comes there.

    block            what the codelet reads at once: a step's window where it comes in
                     `steps`, the whole block elsewhere
    relay, gathered  what it passes where it is spread, or packed
    fill             cycles to zero the padding of its block, 0 where there is none
    joined           its steps' relayouts move in the phases of another operand's
    """

    path: int
    block: Spec
    users: Ints
    relay: Spec
    gathered: Spec
    fill: Ints
    steps: int = 1
    joined: bool = False

    @property
    def block_bytes(self) -> Ints:
        return sized(self.block.tile_bytes)

    @property
    def relay_bytes(self) -> Ints:
        return sized(self.relay.tile_bytes)


@dataclass(frozen=True)
class Arrival:
    """An operand's way from where it rests to its block: cycles of exchange and of
    codelets, control words, and bytes live besides source and block."""

    exchange: Ints
    compute: Ints
    row_bytes: Ints
    extra_bytes: Ints


@dataclass(frozen=True)
class GroupCost:
    """What the candidates' own choices settle; arrays of the table's length.

    stack_bytes, summed_bytes  0 where there are no partial sums; `own`: the tile's own
                               partial is read where it lies
    rest                       where users find the result
    """

    operands: tuple[OperandCost, ...]
    compute: Ints
    reduction: Movement
    sum: Ints
    stages: Ints
    computed_bytes: Ints
    stack_bytes: Ints
    summed_bytes: Ints
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

    @property
    def resident_bytes(self) -> Ints:
        """Bytes that stored operands hold for good."""
        total = 0 * self.compute
        for operand in self.operands:
            if operand.path == STORED:
                total = total + operand.block_bytes
            if operand.path == STREAM:
                total = total + operand.relay_bytes
        return total

    @property
    def held_bytes(self) -> Ints:
        """Bytes of operands that are live while the codelet runs, stored ones and what
        windows are taken from directly not counted."""
        total = 0 * self.compute
        for operand in self.operands:
            if operand.path != STORED:
                total = total + operand.block_bytes
            if operand.path == RELAY_STEPS:
                total = total + operand.relay_bytes
        return total

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


def group_cost(
    program: Program, group: Group, machine: Machine, table: Candidates
) -> GroupCost:
    """Evaluate all candidates of a variant."""
    blocks = _domain_blocks(program, group, machine, table)
    operands = tuple(
        _operand_cost(program, group, machine, table, blocks, position)
        for position in range(len(group.operands))
    )
    zero = np.zeros(len(table), dtype=np.int64)
    computed = _computed_spec(program, group, machine, blocks)
    splits = table.variant.rest != BLOCK
    # panels begin at whole multiples of what a codelet reads; rows of others need not
    own = table.variant.rest >= CUT and group.family == "matmul"
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
        compute=_compute_cycles(program, group, machine, blocks)
        + (table.variant.steps - 1) * _call_cycles(program, group, machine)
        + zero,
        reduction=reduction,
        sum=sums,
        stages=_stage_cycles(machine, stages, summed, rest) + zero,
        computed_bytes=sized(computed.tile_bytes) + zero,
        stack_bytes=stack,
        summed_bytes=sized(summed.tile_bytes) + zero if splits else zero,
        rest=rest,
        has_stages=bool(stages),
        splits=splits,
        own=own,
    )


def arrival(machine: Machine, operand: OperandCost, source: Spec) -> Arrival:
    """The cost of bringing an operand from where it rests."""
    zero = operand.users * 0
    if operand.path == STORED:
        return Arrival(zero, zero, zero, zero)
    if operand.path in IN_STEPS:
        return _arrival_in_steps(machine, operand, source)
    if operand.path == RELAY:
        out = movement(machine, source, operand.relay, shared=False)
        back = movement(machine, operand.relay, operand.block, shared=True)
        return Arrival(
            out.exchange + back.exchange,
            out.copy + operand.fill,
            out.row_bytes + back.row_bytes,
            sized(operand.relay.tile_bytes) + sized(out.staging_bytes),
        )
    target = operand.gathered if operand.path == PACK else operand.block
    alone = movement(machine, source, target, shared=False)
    many = movement(machine, source, target, shared=True)
    shared = operand.users > 1
    exchange = np.where(shared, many.exchange, alone.exchange)
    copy = np.where(shared, many.copy, alone.copy) + operand.fill
    rows = np.where(shared, many.row_bytes, alone.row_bytes)
    extra = sized(many.staging_bytes) + zero
    if operand.path == PACK:
        copy = copy + pack_cycles(machine, operand.block)
        extra = extra + sized(target.tile_bytes)
    return Arrival(exchange, copy, rows, extra)


def _arrival_in_steps(machine: Machine, operand: OperandCost, source: Spec) -> Arrival:
    """An operand that comes a window a step."""
    zero = operand.users * 0
    first = Arrival(zero, zero, zero, zero)
    if operand.path == RELAY_STEPS:
        out = movement(machine, source, operand.relay, shared=False)
        staging = sized(out.staging_bytes)
        first = Arrival(out.exchange, out.copy, out.row_bytes, staging)
    if operand.path != DIRECT_STEPS:
        source = operand.relay
    alone = movement(machine, source, operand.block, shared=False)
    many = movement(machine, source, operand.block, shared=True)
    shared = operand.users > 1
    exchange = np.where(shared, many.exchange, alone.exchange)
    if operand.joined:
        exchange = np.maximum(0, exchange - phase_start(machine))
    copy = np.where(shared, many.copy, alone.copy)
    rows = np.where(shared, many.row_bytes, alone.row_bytes)
    return Arrival(
        first.exchange + exchange * operand.steps,
        first.compute + copy * operand.steps + operand.fill,
        first.row_bytes + rows * operand.steps,
        np.maximum(first.extra_bytes, sized(many.staging_bytes)) + zero,
    )


def phase_start(machine: Machine) -> int:
    """Cycles that a phase takes besides its words."""
    return machine.latency(machine.tiles - 1) + machine.exchange.phase_cycles


def pack_cycles(machine: Machine, block: Spec) -> Ints:
    """Cycles to bring a row-major block into its panels: a copy in runs of one panel
    row (C600 row 41)."""
    inner = block.order[-1].count or 1
    elements = block.block_elements
    size = elements * block.element_bytes
    t = machine.copy
    runs = ceil_div(elements, inner)
    return (
        t.call_cycles
        + runs * t.run_cycles
        + ceil_div(size * t.milli_cycles_per_byte_8, 1000)
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
        comes = block.with_(blocks=tuple(extents))
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


def _compute_cycles(
    program: Program, group: Group, machine: Machine, blocks: tuple[Ints, ...]
) -> Ints:
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


def _call_cycles(program: Program, group: Group, machine: Machine) -> int:
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
