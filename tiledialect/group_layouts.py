"""The layouts that one candidate of a group gives to its operands and its result.

Tile coordinates of a grid run with the reduced dimensions slowest, then in the order of
the domain's dimensions, the last one fastest: n of a matmul. So neighbouring tiles
mostly share blocks of its left operand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from tiledialect.blocks import pads_alike
from tiledialect.candidates import (
    BLOCK,
    CUT,
    IN_STEPS,
    LINEAR,
    PACK,
    SPREAD,
    Variant,
    coefficient_order,
    grains,
    matrix_mode,
    panel_depth,
    panel_order,
    result_order,
    splittable_reduction,
    tile_order,
)
from tiledialect.formats import format_named
from tiledialect.layout import Cut, Factor, Group, Layout, Window, ceil_div
from tiledialect.machine import Machine
from tiledialect.program import Group as OpGroup
from tiledialect.program import Operand, Program

DEPTH = 3
"""The dimension of a matmul's domain that is summed over."""

RUN_BYTES = 32
"""Relay pieces are whole rows of a panel, which every matrix mode has 32 bytes wide."""


@dataclass(frozen=True)
class OperandLayouts:
    """The block that the codelet reads, and what it passes on the way there.

    relay     its bytes spread over the tiles that share it
    gathered  row-major, before packing
    windows   the parts of the block that come one a step; empty: it comes whole
    """

    block: Layout
    relay: Layout | None = None
    gathered: Layout | None = None
    windows: tuple[Layout, ...] = ()


@dataclass(frozen=True)
class GroupLayouts:
    """All layouts of a candidate.

    grid     the domain's cut over tiles, elements of one byte
    steps    the grid's windows along the depth, one a step
    computed where the codelet leaves its (maybe partial) result
    summed   after the partial sums are added; computed itself where there are none
    rest     after the stages, where users find the result
    tail     the cut of the summed result over tiles, elements of one byte: the grid of
             the stages
    """

    grid: Layout
    steps: tuple[Layout, ...]
    operands: tuple[OperandLayouts, ...]
    computed: Layout
    summed: Layout
    rest: Layout
    tail: Layout


def linear(shape: tuple[int, ...], element_bytes: int, machine: Machine) -> Layout:
    """Linear ownership over the whole machine."""
    return Layout.linear(shape, element_bytes, machine.tiles)


def group_layouts(
    program: Program,
    group: OpGroup,
    machine: Machine,
    variant: Variant,
    parts: tuple[int, ...],
    part: Window | None = None,
) -> GroupLayouts:
    """The layouts of one candidate; `part`: of one chunk of the domain."""
    grid = grid_layout(program, group, machine, parts)
    if part is not None:
        grid = grid.with_(ranges=(part,))
    steps = step_grids(program, group, machine, grid, variant.steps)
    operands = tuple(
        operand_layouts(program, group, machine, grid, position, path, steps)
        for position, path in enumerate(variant.paths)
    )
    rest, order = variant.rest, variant.order
    computed = _computed(program, group, machine, grid)
    summed = _summed(program, group, machine, computed, rest, order)
    value = program.values[group.result.value].form
    resting = summed
    if group.stages:
        resting = summed.with_(
            element_bytes=value.format.bytes,
            order=result_order(program, group, machine, order),
        )
    return GroupLayouts(
        grid,
        steps,
        operands,
        as_linear(computed, machine),
        as_linear(summed, machine),
        as_linear(resting, machine),
        Layout(
            summed.shape,
            1,
            summed.cuts,
            Layout.row_major(len(summed.shape)),
            ranges=summed.ranges,
        ),
    )


def as_linear(layout: Layout, machine: Machine) -> Layout:
    """The same layout written as linear ownership, where it is that: one axis in the
    same runs over neighbouring tiles."""
    plain = not (layout.replicas or layout.partial or layout.spread or layout.first)
    plain = plain and not layout.ranges
    if not plain or len(layout.cuts) != 1 or len(layout.cuts[0]) > 1:
        return layout
    if any(cut.stride != 1 or cut.balanced for cut in layout.cuts[0]):
        return layout
    other = linear(layout.shape, layout.element_bytes, machine)
    return other if other.tile_bytes == layout.tile_bytes else layout


def grid_layout(
    program: Program, group: OpGroup, machine: Machine, parts: tuple[int, ...]
) -> Layout:
    """The domain cut into blocks, one a tile."""
    grain = grains(program, group, machine)
    order = tile_order(group)
    strides = {
        dim: prod(parts[faster] for faster in order[at + 1 :])
        for at, dim in enumerate(order)
    }
    cuts = tuple(
        (Cut(p, strides[i], grain[i]),) if p > 1 else () for i, p in enumerate(parts)
    )
    return Layout(
        shape=tuple(dim.extent for dim in group.dims),
        element_bytes=1,
        cuts=cuts,
        order=Layout.row_major(len(parts)),
    )


def step_grids(
    program: Program, group: OpGroup, machine: Machine, grid: Layout, steps: int
) -> tuple[Layout, ...]:
    """The grid's windows along a matmul's depth: whole panels, equal but the last."""
    if steps == 1:
        return (grid,)
    panel = matrix_mode(program, group, machine).k_block
    depth = grid.block_extent(DEPTH)
    count = ceil_div(ceil_div(depth, panel), steps) * panel
    return tuple(
        grid.with_(windows=(Window(DEPTH, start, count),))
        for start in range(0, depth, count)
    )


def padded_axis(
    program: Program, group: OpGroup, machine: Machine, position: int
) -> int | None:
    """The axis of a matmul's operand whose padding must hold zeros."""
    if group.family != "matmul":
        return None
    if group.dims[DEPTH].extent % panel_depth(program, group, machine) == 0:
        return None
    return group.operands[position].axes.index(DEPTH)


def moved_padding(
    program: Program,
    group: OpGroup,
    machine: Machine,
    position: int,
    source: Layout,
    target: Layout,
) -> tuple[int, int] | None:
    """The axis of an operand, and the multiple, up to which the source's padding moves
    to a block as zeros; None where there is none, or it lies elsewhere there."""
    axis = padded_axis(program, group, machine, position)
    if axis is None or source.packed or source == target:
        return None
    panel = panel_depth(program, group, machine)
    alike = pads_alike(source, axis, panel) and pads_alike(target, axis, panel)
    return (axis, panel) if alike else None


def _projected(
    grid: Layout, operand: Operand, element_bytes: int, order: tuple[Factor, ...]
) -> Layout:
    """The block of an operand on each tile of the grid."""
    if not operand.axes:  # one element, on every tile
        shape, cuts, order = (1,), ((),), (Factor(0),)
    else:
        shape = tuple(grid.shape[a] for a in operand.axes)
        cuts = tuple(grid.cuts[a] for a in operand.axes)
    ranges = tuple(
        replace(held, axis=operand.axes.index(held.axis))
        for held in grid.ranges
        if held.axis in operand.axes
    )
    replicas = _others(grid, operand)
    return Layout(shape, element_bytes, cuts, order, replicas=replicas, ranges=ranges)


def _others(grid: Layout, operand: Operand) -> tuple[Group, ...]:
    """The tiles that share a block: steps along the dimensions an operand lacks."""
    return tuple(
        Group(cuts[0].parts, cuts[0].stride)
        for dim, cuts in enumerate(grid.cuts)
        if cuts and dim not in operand.axes
    )


def operand_order(
    program: Program, group: OpGroup, machine: Machine, position: int
) -> tuple[Factor, ...]:
    """The in-tile order in which the codelet wants an operand."""
    axes = group.operands[position].axes
    if group.family != "matmul":
        return tuple(Factor(a) for a in range(len(axes)))
    mode = matrix_mode(program, group, machine)
    if position == 0:
        return panel_order(len(axes), axes.index(1), axes.index(3), mode.k_block)
    return coefficient_order(len(axes), axes.index(3), axes.index(2), mode)


def operand_layouts(
    program: Program,
    group: OpGroup,
    machine: Machine,
    grid: Layout,
    position: int,
    path: int,
    steps: tuple[Layout, ...],
) -> OperandLayouts:
    operand = group.operands[position]
    width = program.values[operand.value].form.format.bytes
    order = operand_order(program, group, machine, position)
    block = _projected(grid, operand, width, order)
    relay = None
    if path in SPREAD and block.replicas:
        relay = block.with_(replicas=(), spread=block.replicas, spread_bytes=RUN_BYTES)
    if path in IN_STEPS:
        axis = operand.axes.index(DEPTH)
        windows = tuple(
            block.with_(windows=tuple(replace(w, axis=axis) for w in step.windows))
            for step in steps
        )
        return OperandLayouts(block, relay=relay, windows=windows)
    if relay is not None:
        return OperandLayouts(block, relay=relay)
    if path == PACK:
        rows = tuple(Factor(a) for a in range(len(block.shape)))
        return OperandLayouts(block, gathered=block.with_(order=rows))
    return OperandLayouts(as_linear(block, machine))


def _computed(
    program: Program, group: OpGroup, machine: Machine, grid: Layout
) -> Layout:
    width = format_named(program.computed_format(group)).bytes
    axes = group.result.axes
    order = tuple(Factor(a) for a in range(len(axes)))
    if group.family == "matmul":
        mode = matrix_mode(program, group, machine)
        rows, columns = axes.index(1), axes.index(2)
        order = panel_order(len(axes), rows, columns, mode.n_block)
    block = _projected(grid, group.result, width, order)
    split = splittable_reduction(group)
    cuts = grid.cuts[split] if split >= 0 else ()
    partial = Group(cuts[0].parts, cuts[0].stride) if cuts else None
    return block.with_(replicas=(), partial=partial)


def _summed(
    program: Program,
    group: OpGroup,
    machine: Machine,
    computed: Layout,
    rest: int,
    order: int,
) -> Layout:
    if computed.partial is None or rest == BLOCK:
        return computed
    if rest == LINEAR:
        shape = group.extents(group.result.axes)
        return linear(shape, computed.element_bytes, machine)
    axis = rest - CUT
    grain = grains(program, group, machine)[group.result.axes[axis]]
    partial = computed.partial
    cuts = list(computed.cuts)
    cuts[axis] = (*cuts[axis], Cut(partial.count, partial.stride, grain))
    inner = computed.order
    if order == 0:
        inner = tuple(Factor(a) for a in range(len(computed.shape)))
    return computed.with_(cuts=tuple(cuts), partial=None, order=inner)
