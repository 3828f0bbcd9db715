"""From chosen candidates to the steps of a plan on rung 3.

Every group becomes: its operands brought to their blocks, its codelet on the blocks of
its grid, the sum of partial results, the stages that follow, and, where the next group
does not take the result as it lies, its way to linear ownership.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tiledialect.candidates import Candidates, Variant
from tiledialect.chunks import Chunking, chunked, chunking_of
from tiledialect.codelets import Stage
from tiledialect.cost.group import (
    GroupCost,
    group_cost,
    tail_stages,
)
from tiledialect.cost.operand import pack_cycles
from tiledialect.cost.steps import StepEstimate, layout_spec, relayout_estimate
from tiledialect.dialects.plan_step_ops import (
    ComputeOp,
    LoadOp,
    ReduceOp,
    RelayoutOp,
    ViewOp,
)
from tiledialect.dialects.stages import stages_parameter
from tiledialect.dialects.syntax import integer
from tiledialect.dialects.tile_types import TensorForm
from tiledialect.formats import format_named
from tiledialect.group_layouts import (
    GroupLayouts,
    OperandLayouts,
    group_layouts,
    linear,
    moved_padding,
    padded_axis,
)
from tiledialect.layout import Layout
from tiledialect.machine import Machine
from tiledialect.program import Group, Program

Choice = tuple[Variant, tuple[int, ...]]


@dataclass(frozen=True)
class Placed:
    """A value with the layout in which it lies."""

    value: SSAValue
    layout: Layout


def plan_steps(
    program: Program,
    machine: Machine,
    choices: Sequence[Choice],
    sources: Mapping[int, SSAValue],
    locations: Sequence[str | None],
    types: Sequence[Attribute],
    chunks: int = 1,
) -> tuple[list[Operation], list[SSAValue]]:
    """The steps of a plan, and its results, of these types, in linear ownership.

    `sources` are the SSA values of arguments and constants by value number, `locations`
    say for each group where it comes from, if that is known.
    """
    chunking = chunking_of(program, chunks)
    builder = _Builder(program, machine, sources, chunking)
    for number in range(chunks):
        for position, choice in enumerate(choices):
            builder.add_group(position, choice, locations[position], number)
    return builder.steps, builder.results(types)


class _Builder:
    def __init__(
        self,
        program: Program,
        machine: Machine,
        sources: Mapping[int, SSAValue],
        chunking: Chunking,
    ) -> None:
        self.program = program
        self.machine = machine
        self.sources = sources
        self.chunking = chunking
        self.steps: list[Operation] = []
        self.placed: dict[int, Placed] = {}
        self.stored: dict[tuple[int, Layout], Placed] = {}

    def add_group(
        self, position: int, choice: Choice, location: str | None, number: int
    ) -> None:
        program, machine = self.program, self.machine
        group = program.groups[position]
        variant, parts = choice
        part = self.chunking.part(position, number)
        layouts = group_layouts(program, group, machine, variant, parts, part)
        table = Candidates(variant, np.array([parts], dtype=np.int64))
        priced = chunked(program, self.chunking, number)
        cost = group_cost(priced, priced.groups[position], machine, table)
        step = _GroupSteps(self, group, layouts, cost, location, number)
        feeds = [
            step.operand(number, operand)
            for number, operand in enumerate(layouts.operands)
        ]
        result = None
        for number, grid in enumerate(layouts.steps):
            result = step.compute([feed.at(number) for feed in feeds], grid, result)
        assert result is not None, "a group has at least one step"
        if cost.splits:
            result = step.reduce(result, variant)
        if tail_stages(group):
            result = step.stages(result)
        if not program.is_link(position):
            result = step.settle(result, self.placed.get(group.result.value))
        self.placed[group.result.value] = result

    def results(self, types: Sequence[Attribute]) -> list[SSAValue]:
        """The program's results, of these types; an argument that is returned is loaded
        for it, and one that was reshaped on the way is seen in its new shape."""
        found: list[SSAValue] = []
        for value, type in zip(self.program.outputs, types, strict=True):
            if value not in self.placed:
                self.placed[value] = self.load_linear(value, "result", None)
            result = self.placed[value].value
            if result.type != type:
                view = ViewOp(result, type)
                self.steps.append(view)
                result = view.result
            found.append(result)
        return found

    def load_linear(self, value: int, group: str, location: str | None) -> Placed:
        form = self.program.values[value].form
        layout = linear(form.shape, form.format.bytes, self.machine)
        return self.load(value, layout, group, location)

    def load_stored(
        self, value: int, layout: Layout, group: str, location: str | None
    ) -> Placed:
        """A value that lies there for good; all chunks read the one that does."""
        known = (value, layout)
        if self.chunking.count == 1 or known not in self.stored:
            self.stored[known] = self.load(value, layout, group, location)
        return self.stored[known]

    def load(
        self, value: int, layout: Layout, group: str, location: str | None
    ) -> Placed:
        op = LoadOp(self.sources[value], group, layout, location=location)
        op.result.name_hint = self.program.values[value].name
        self.steps.append(op)
        return Placed(op.result, layout)


@dataclass(frozen=True)
class _GroupSteps:
    """Appends the steps of one group."""

    builder: _Builder
    group: Group
    layouts: GroupLayouts
    cost: GroupCost
    location: str | None
    chunk: int

    def operand(self, number: int, layouts: OperandLayouts) -> _Feed:
        """Bring an operand to its block, or to where its windows are taken from."""
        builder, value = self.builder, self.group.operands[number].value
        known = builder.program.values[value]
        name, zeroed = self.group.name, self._padded_axis(number)
        slot = f"{name}.{known.name}"
        if builder.chunking.count > 1:
            slot = f"{slot}.{self.chunk}"
        fill = int(self.cost.operands[number].fill[0])
        if known.is_stored:
            layout = layouts.relay or layouts.block
            at = builder.load_stored(value, layout, name, self.location)
            padding = self._padding(number, at.layout, layouts.block)
            if padding is not None:  # the host has packed zeros there
                fill, zeroed = 0, None
            return _Feed(self, at, layouts.windows, zeroed, fill, slot, padding)
        if value not in builder.placed:
            placed = builder.load_linear(value, name, self.location)
            builder.placed[value] = placed
        at = builder.placed[value]
        if layouts.relay is not None:
            padding = self._padding(number, at.layout, layouts.relay)
            at = self.relayout(at, layouts.relay, zeroed, padded=padding)
            fill = 0
        padding = self._padding(number, at.layout, layouts.block)
        if layouts.windows:
            zeroed = None if padding is not None else zeroed
            return _Feed(self, at, layouts.windows, zeroed, fill, slot, padding)
        if layouts.gathered is not None:
            rows = self.relayout(at, layouts.gathered, None)
            at = self._packed(rows, number, layouts.block)
        else:
            at = self.relayout(at, layouts.block, zeroed, padded=padding)
        return _Feed(self, at, (), None, 0, slot)

    def window(self, feed: _Feed, step: int) -> Placed:
        """The part of an operand that one step needs, in the slot of the last one."""
        layout = feed.windows[step]
        last = self.builder.steps[-1]
        joined = isinstance(last, RelayoutOp) and last.slot is not None
        estimate = self._moving(feed.source.layout, layout, feed.padding)
        exchange = estimate.exchange
        if joined:
            machine = self.builder.machine
            latency = machine.latency(machine.tiles - 1)
            exchange = max(0, exchange - latency - machine.exchange.phase_cycles)
        op = RelayoutOp(
            feed.source.value,
            self.group.name,
            layout,
            zeroed=feed.zeroed,  # the depth of a short block ends in any step
            zero_cycles=feed.zero_cycles,
            padded=feed.padding,
            slot=feed.slot,
            joined=joined,
            compute=estimate.copy,
            exchange=exchange,
            location=self.location,
        )
        return self._append(op, layout, feed.source.value.name_hint)

    def _padded_axis(self, number: int) -> int | None:
        """The axis of a matmul's operand whose padding must hold zeros."""
        builder = self.builder
        return padded_axis(builder.program, self.group, builder.machine, number)

    def _padding(
        self, number: int, source: Layout, target: Layout
    ) -> tuple[int, int] | None:
        """The axis, and the multiple, whose padding in the source moves along."""
        builder = self.builder
        program, machine = builder.program, builder.machine
        return moved_padding(program, self.group, machine, number, source, target)

    def relayout(
        self,
        at: Placed,
        layout: Layout,
        zeroed: int | None,
        into: Placed | None = None,
        padded: tuple[int, int] | None = None,
    ) -> Placed:
        if at.layout == layout and zeroed is None:
            return at
        estimate = StepEstimate(0, 0)
        if at.layout != layout:
            estimate = self._moving(at.layout, layout, padded)
        op = RelayoutOp(
            at.value,
            self.group.name,
            layout,
            zeroed=None if padded else zeroed,
            zero_cycles=0 if zeroed is None else self._zero_cycles(layout),
            padded=padded,
            into=None if into is None else into.value,
            compute=estimate.copy,
            exchange=estimate.exchange,
            location=self.location,
        )
        return self._append(op, layout, at.value.name_hint)

    def _moving(
        self, source: Layout, target: Layout, padded: tuple[int, int] | None
    ) -> StepEstimate:
        if padded is not None:
            source, target = source.padded(*padded), target.padded(*padded)
        return relayout_estimate(self.builder.machine, source, target)

    def _zero_cycles(self, block: Layout) -> int:
        for cost, layouts in zip(
            self.cost.operands, self.layouts.operands, strict=True
        ):
            if block in (layouts.block, layouts.relay):
                return int(cost.fill[0])
        return 0

    def _append(
        self,
        op: RelayoutOp | ComputeOp | ReduceOp,
        layout: Layout,
        hint: str | None = None,
    ) -> Placed:
        op.result.name_hint = hint or self.group.name
        self.builder.steps.append(op)
        return Placed(op.result, layout)

    def _packed(self, at: Placed, number: int, block: Layout) -> Placed:
        """A row-major block brought into the codelet's order on its own tile."""
        axes = self.group.operands[number].axes
        names = [self.group.dims[axis].name for axis in axes]
        form = self.builder.program.values[self.group.operands[number].value].form
        grid = Layout(
            block.shape,
            1,
            block.cuts,
            Layout.row_major(len(block.shape)),
            replicas=block.replicas,
            ranges=block.ranges,
        )
        stage = Stage("identity", form.format.name, form.format.name, form.scale)
        cycles = pack_cycles(self.builder.machine, layout_spec(block, block))
        every = list(range(len(names)))
        zeroed = self._padded_axis(number)
        parameters = stages_parameter((stage,))
        if zeroed is not None:
            parameters["zeroed"] = integer(zeroed)
        op = ComputeOp(
            "map",
            [at.value],
            names,
            grid,
            [every, every],
            parameters,
            form.type,
            self.group.name,
            block,
            compute=int(cycles[0]),
            location=self.location,
        )
        return self._append(op, block, at.value.name_hint)

    def compute(
        self, inputs: Sequence[Placed], grid: Layout, partial: Placed | None
    ) -> Placed:
        """The group's codelet on a grid, or on a window of it; a later step adds to the
        partial result of the one before."""
        group = self.group
        maps = [operand.axes for operand in (*group.operands, group.result)]
        if partial is not None:
            inputs = [*inputs, partial]
            maps = [*maps[:-1], group.result.axes, group.result.axes]
        format = self.builder.program.computed_format(group)
        value = self.builder.program.values[group.result.value].form
        form = (
            value
            if group.family == "map"
            else TensorForm(value.shape, format_named(format))
        )
        op = ComputeOp(
            group.family,
            [placed.value for placed in inputs],
            [dim.name for dim in group.dims],
            grid,
            maps,
            self._parameters(),
            form.type,
            group.name,
            self.layouts.computed,
            compute=int(self.cost.compute[0]) // len(self.layouts.steps),
            location=self.location,
        )
        return self._append(op, self.layouts.computed)

    def _parameters(self) -> dict[str, Attribute]:
        group = self.group
        if group.family == "matmul":
            return {"accumulate": StringAttr(group.accumulate)}
        if group.family == "reduce":
            reduced = [StringAttr(dim.name) for dim in group.dims if dim.reduced]
            return {
                "function": StringAttr(group.function),
                "reduced": ArrayAttr(reduced),
            }
        return stages_parameter(group.stages)

    def reduce(self, at: Placed, variant: Variant) -> Placed:
        op = ReduceOp(
            self.group.function,
            at.value,
            self.group.name,
            self.layouts.summed,
            own=self.cost.own,
            compute=int((self.cost.sum + self.cost.reduction.copy)[0]),
            exchange=int(self.cost.reduction.exchange[0]),
            location=self.location,
        )
        return self._append(op, self.layouts.summed)

    def stages(self, at: Placed) -> Placed:
        group, layout = self.group, self.layouts.rest
        value = self.builder.program.values[group.result.value].form
        every = list(range(len(group.result.axes)))
        names = [group.dims[axis].name for axis in group.result.axes]
        op = ComputeOp(
            "map",
            [at.value],
            names,
            self.layouts.tail,
            [every, every],
            stages_parameter(tail_stages(group)),
            value.type,
            group.name,
            layout,
            compute=int(self.cost.stages[0]),
            location=self.location,
        )
        return self._append(op, layout)

    def settle(self, at: Placed, into: Placed | None) -> Placed:
        """The result in linear ownership, added to the chunks that are there."""
        form = self.builder.program.values[self.group.result.value].form
        layout = linear(form.shape, form.format.bytes, self.builder.machine)
        return self.relayout(at, layout, None, into)


@dataclass(frozen=True)
class _Feed:
    """An operand as the steps of a group find it: whole, or a window a step."""

    steps: _GroupSteps
    source: Placed
    windows: tuple[Layout, ...]
    zeroed: int | None
    zero_cycles: int
    slot: str
    padding: tuple[int, int] | None = None

    def at(self, step: int) -> Placed:
        return self.steps.window(self, step) if self.windows else self.source
