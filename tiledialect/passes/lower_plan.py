"""Lowering: a plan becomes exchange phases and compute sets over buffers.

Reads   rung 3, with one plan in the entry function's body.
Writes  rung 4: a `memory.program` in place of the function.
Holds   every value of the plan has a buffer on the tiles of its layout, alive from the
        step that writes it to the last that reads it; every byte that a codelet reads
        was written before.
Fails   while `plan.alternatives` are left: select-plan chooses one.

Method: one walk over the plan's steps. A relayout is a phase and, for the runs that
stay on their tile or wait in staging, a compute set that copies them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from tiledialect.codelets import needs
from tiledialect.diagnostics import fail
from tiledialect.dialects.interfaces import Constant
from tiledialect.dialects.module_attributes import (
    ENTRY,
    machine_of,
    require_rung,
    set_rung,
)
from tiledialect.dialects.plan import (
    AlternativesOp,
    ComputeOp,
    LoadOp,
    ReduceOp,
    RelayoutOp,
    ViewOp,
)
from tiledialect.dialects.syntax import integer
from tiledialect.dialects.tile import argument_names, entry_function, parameter_flags
from tiledialect.dialects.tile_types import TensorForm, tensor_form
from tiledialect.layout import Layout
from tiledialect.machine import Machine

if TYPE_CHECKING:
    from tiledialect.dialects.views import View
    from tiledialect.lowering.calls import TileClass
    from tiledialect.lowering.draft import Buffer, Draft, Make
    from tiledialect.relayout import Transfers


@dataclass(frozen=True)
class Held:
    """A value of the plan in its buffer."""

    buffer: Buffer
    layout: Layout
    form: TensorForm


class _Lowering:
    """One walk over the plan; `held` knows where each of its values lies."""

    def __init__(self, function: FuncOp, machine: Machine) -> None:
        from tiledialect.lowering.draft import Draft

        self.function = function
        self.machine = machine
        self.draft: Draft = Draft()
        self.held: dict[SSAValue, Held] = {}
        self.loaded: set[int] = set()
        self.slots: dict[str, Buffer] = {}
        self.constants = 0

    def lower(self) -> Draft:
        for op in self.function.body.block.ops:
            if isinstance(op, Constant):
                continue
            match op:
                case LoadOp():
                    self.load(op)
                case RelayoutOp():
                    self.relayout(op)
                case ComputeOp():
                    self.compute(op)
                case ReduceOp():
                    self.reduce(op)
                case ViewOp():
                    source = self.held[op.source]
                    form = tensor_form(op.result.type)
                    self.held[op.result] = replace(source, form=form)
                case ReturnOp():
                    self.bind_results(op)
                case AlternativesOp():
                    fail(op, f"{len(op.plans)} plans are left; run select-plan first")
                case _:
                    fail(op, f"{op.name} is no step of a plan")
        return self.draft

    # Values that are there before the run, and results

    def load(self, op: LoadOp) -> None:
        source, layout = op.source, op.layout.data
        form = tensor_form(op.result.type)
        name = source.name_hint or "value"
        if isinstance(source, BlockArgument):
            index = source.index
            stored = parameter_flags(self.function)[index]
            kind = "parameter" if stored else "input"
            name = argument_names(self.function)[index]
            self.loaded.add(index)
            value = None
        else:
            kind, index = "constant", self.constants
            self.constants += 1
            value = constant_value(source.owner, form)
        buffer = self.new_buffer(name, layout, kind, op)
        buffer.always = kind != "input"
        buffer.use(0)
        self.bind(kind, index, name, Held(buffer, layout, form), op, value)
        self.held[op.result] = Held(buffer, layout, form)

    def bind(
        self,
        kind: str,
        index: int,
        name: str,
        held: Held,
        op: Operation,
        value: Attribute | None = None,
    ) -> None:
        from tiledialect.lowering.draft import bind_maker

        self.draft.binds.append(
            bind_maker(
                kind,
                index,
                name,
                held.buffer,
                held.layout,
                held.form.type,
                value,
                location_of(op),
            )
        )

    def bind_results(self, op: ReturnOp) -> None:
        for index, result in enumerate(op.operands):
            held = self.held[result]
            held.buffer.to_end = True
            if held.buffer.purpose in ("operand", "result", "partial"):
                held.buffer.purpose = "output"
            self.bind("output", index, f"result{index}", held, op)
        self._bind_unused()

    def _bind_unused(self) -> None:
        """Arguments that no step reads stay in the interface."""
        names, flags = argument_names(self.function), parameter_flags(self.function)
        for index, argument in enumerate(self.function.args):
            if index in self.loaded:
                continue
            form = tensor_form(argument.type)
            layout = Layout.linear(form.shape, form.format.bytes, self.machine.tiles)
            kind = "parameter" if flags[index] else "input"
            buffer = self.new_buffer(names[index], layout, kind, self.function)
            buffer.always = flags[index]
            self.bind(
                kind, index, names[index], Held(buffer, layout, form), self.function
            )

    def new_buffer(
        self, name: str, layout: Layout, purpose: str, op: Operation, slots: int = 1
    ) -> Buffer:
        from tiledialect.lowering.calls import layout_tiles

        return self.draft.buffer(
            name,
            layout.tile_bytes * slots,
            layout_tiles(layout),
            purpose,
            location_of(op),
        )

    # Steps

    def relayout(self, op: RelayoutOp) -> None:
        from tiledialect.relayout import relayout

        source, layout = self.held[op.source], op.layout.data
        if source.layout == layout:
            self.held[op.result] = source  # its padding was zeroed before it was made
            return
        made = self.destination(op)
        if op.zeroed is not None:
            self.fill(made, layout, op.zeroed.value.data, op, op.zero_cycles)
        transfers = relayout(source.layout, layout)
        self.move(op, source, made, layout, transfers, stack=False)
        self.held[op.result] = Held(made, layout, source.form)

    def destination(self, op: RelayoutOp) -> Buffer:
        """A new buffer, or the one that the slot has already."""
        name = f"{op.group.data}.{op.source.name_hint or 'value'}"
        if op.slot is None:
            return self.new_buffer(name, op.layout.data, "operand", op)
        if op.slot.data not in self.slots:
            made = self.new_buffer(name, op.layout.data, "operand", op)
            self.slots[op.slot.data] = made
        return self.slots[op.slot.data]

    def move(
        self,
        op: RelayoutOp | ReduceOp,
        source: Held,
        made: Buffer,
        layout: Layout,
        transfers: Transfers,
        *,
        stack: bool,
    ) -> None:
        """The phase and the copies of a relayout, where it has any."""
        from tiledialect.dialects.codelet import CopyOp
        from tiledialect.dialects.exchange import MoveOp

        staging = None
        if transfers.staging_bytes:
            staging = self.draft.buffer(
                f"{made.name}.staging",
                transfers.staging_bytes,
                made.tiles,
                "staging",
                location_of(op),
            )
        uses = [source.buffer, made, *([staging] if staging else [])]

        def maker(kind: type[MoveOp | CopyOp]) -> Make:
            return lambda: kind(
                source.buffer.value,
                made.value,
                source.layout,
                layout,
                staging=staging.value if staging else None,
                stack=stack,
                location=location_of(op),
            )

        name = f"{op.group.data} {'partials' if stack else made.name}"
        place = location_of(op)
        if len(transfers.source):
            cycles = op.exchange_cycles
            joined = isinstance(op, RelayoutOp) and op.joined is not None
            if joined and self.draft.steps[-1].kind == "exchange":
                self.draft.join(cycles, maker(MoveOp), uses)
            else:
                moves = [maker(MoveOp)]
                self.draft.step("exchange", name, cycles, place, moves, uses)
        if len(transfers.copy_tile):
            cycles = op.cycles if not stack else 0
            name = f"{name} copy"
            self.draft.step("compute", name, cycles, place, [maker(CopyOp)], uses)

    def fill(
        self, made: Buffer, layout: Layout, axis: int, op: Operation, cycles: int
    ) -> None:
        """Zeros in the blocks that have padding along an axis."""
        from tiledialect.dialects.codelet import FillOp
        from tiledialect.padding import padding_runs
        from tiledialect.tiles import TileSet

        padded = padding_runs(layout, axis)
        if not len(padded.tiles):
            return
        tiles = TileSet.of(padded.tiles)
        place = location_of(op)
        name = f"{made.name} padding"

        def make() -> Operation:
            return FillOp(made.value, tiles, layout, axis=axis, location=place)

        joined = isinstance(op, RelayoutOp) and op.joined is not None
        before = self.draft.steps[-2] if joined else None
        if before is not None and before.name.endswith("padding"):
            # the relayout that this one joins has had its own padding zeroed
            self.draft.join(cycles, make, [made], back=2)
        else:
            self.draft.step("compute", name, cycles, place, [make], [made])

    def zero_for_user(self, op: ComputeOp | ReduceOp, made: Buffer) -> None:
        """Zeros in the padding of a result that its user reads where it lies: before
        it is made, as the fill's one stretch covers elements too."""
        for use in op.result.uses:
            user = use.operation
            if not isinstance(user, RelayoutOp) or user.zeroed is None:
                continue
            if user.layout == op.layout:
                axis = user.zeroed.value.data
                self.fill(made, op.layout.data, axis, user, user.zero_cycles)

    def compute(self, op: ComputeOp) -> None:
        from tiledialect.lowering.calls import grid_classes, view

        layout, grid = op.layout.data, op.grid.data
        maps = [m.get_values() for m in op.maps]
        reduced = [d for d in range(len(op.dims)) if d not in maps[-1]]
        inputs = [self.held[value] for value in op.inputs]
        form = tensor_form(op.result.type)
        purpose = "partial" if layout.partial else "result"
        if adds_to_partial(op):
            made = inputs[-1].buffer
        else:
            made = self.new_buffer(op.group.data, layout, purpose, op)
            self.zero_for_user(op, made)
        parameters = dict(op.parameters.data)
        zeroed = parameters.pop("zeroed", None)
        if isinstance(zeroed, IntegerAttr):
            self.fill(made, layout, zeroed.value.data, op, 0)
        held = [*inputs, Held(made, layout, form)]
        views = [
            view(
                h.layout,
                m,
                len(op.dims),
                h.form.format.name,
                h.form.scale,
                window_offset(h.layout, m, grid),
            )
            for h, m in zip(held, maps, strict=True)
        ]
        classes = grid_classes(grid, reduced if op.family.data != "map" else [])
        names = [name.data for name in op.dims]
        self.runs(
            op, op.family.data, names, classes, held, [views] * len(classes), parameters
        )
        self.held[op.result] = held[-1]

    def runs(
        self,
        op: ComputeOp | ReduceOp,
        family: str,
        names: Sequence[str],
        classes: Sequence[TileClass],
        held: Sequence[Held],
        views: Sequence[Sequence[View]],
        parameters: dict[str, Attribute],
    ) -> None:
        """A compute set with one call for each class of tiles."""
        from tiledialect.dialects.codelet import RunOp

        place = location_of(op)
        need = needs(self.machine, family)
        for position, one in enumerate(held[:-1]):
            one.buffer.need(need.input(position))
        held[-1].buffer.need(need.outputs[0])

        def maker(number: int) -> Make:
            some = classes[number]

            def make() -> Operation:
                pairs = [
                    (h.buffer.value, v)
                    for h, v in zip(held, views[number], strict=True)
                ]
                dims = dict(zip(names, some.extents, strict=True))
                return RunOp(
                    family,
                    some.tiles,
                    dims,
                    pairs[:-1],
                    pairs[-1:],
                    parameters,
                    location=place,
                )

            return make

        if classes:
            makes = [maker(number) for number in range(len(classes))]
            uses = [one.buffer for one in held]
            name = op.group.data if family == "matmul" else f"{op.group.data} {family}"
            self.draft.step("compute", name, op.cycles, place, makes, uses)

    def reduce(self, op: ReduceOp) -> None:
        from tiledialect.lowering.calls import piece_classes, trimmed, view
        from tiledialect.relayout import stack_partials

        source, layout = self.held[op.source], op.layout.data
        group = source.layout.partial
        if group is None:
            fail(op, "plan.reduce needs partial sums")
        transfers, own = stack_partials(source.layout, layout)
        if own is None and op.own is not None:
            fail(op, "a tile's own partial does not lie where the plan has it")
        slots = group.count - (own is not None)
        stack = self.new_buffer(f"{op.group.data}.stack", layout, "stack", op, slots)
        self.move(op, source, stack, layout, transfers, stack=True)
        made = self.new_buffer(f"{op.group.data}.sum", layout, "result", op)
        self.zero_for_user(op, made)
        form = source.form
        rank = len(layout.shape)
        axes = list(range(1, rank + 1))
        name, scale = form.format.name, form.scale
        piece = view(layout, axes, rank + 1, name, scale)
        slot = ((slots, layout.tile_bytes),)
        stacked = replace(piece, axes=(slot, *piece.axes[1:]))
        held = [Held(stack, layout, form)]
        if own is not None:
            held.append(source)
        held.append(Held(made, layout, form))
        classes = [
            replace(some, extents=(slots, *some.extents))
            for some in piece_classes(layout, own)
        ]
        views: list[list[View]] = []
        for some in classes:
            lies_as = layout if layout.spread else source.layout
            mine = view(lies_as, axes, rank + 1, name, scale, some.offset)
            used = [stacked, *([mine] if own is not None else []), piece]
            views.append([trimmed(one, some.extents) for one in used])
        parameters: dict[str, Attribute] = {"function": StringAttr(op.function.data)}
        if own is not None:
            numbers = (own.first, own.stride, own.count)
            parameters["own"] = ArrayAttr([integer(n) for n in numbers])
        names = ["p", *(f"d{axis}" for axis in range(rank))]
        self.runs(op, "sum", names, classes, held, views, parameters)
        self.held[op.result] = held[-1]


def adds_to_partial(op: ComputeOp) -> bool:
    """Whether a matmul's last input is the partial result that it adds to."""
    return op.family.data == "matmul" and len(op.inputs) == 3


def window_offset(layout: Layout, axes: Sequence[int], grid: Layout) -> int:
    """Where the grid's windows begin in a block that is there whole."""
    held = {window.axis for window in layout.windows}
    offset = 0
    for window in grid.windows:
        axis = axes.index(window.axis) if window.axis in axes else -1
        if axis < 0 or axis in held:
            continue
        left = window.start
        for count, stride in reversed(layout.axis_strides(axis)[1:]):
            offset += left % count * stride
            left //= count
        offset += left * layout.axis_strides(axis)[0][1]
    return offset


def location_of(op: Operation) -> str | None:
    """The rung-1 location that an operation carries."""
    text = op.properties.get("loc_text")
    return text.data if isinstance(text, StringAttr) else None


def constant_value(owner: object, form: TensorForm) -> Attribute:
    """A constant's elements, written out, as the attribute of a bind."""
    from xdsl.dialects.builtin import BytesAttr

    assert isinstance(owner, Constant)
    data = owner.element_bytes()
    if owner.is_splat:
        data = data * form.elements
    type = form.type
    plain = TensorType(type.element_type, type.shape)
    return DenseIntOrFPElementsAttr(plain, BytesAttr(data))  # pyright: ignore


@dataclass(frozen=True)
class LowerPlanPass(ModulePass):
    """Replaces the entry function by a program on tiles."""

    name = "lower-plan"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_rung(op, self.name, 3)
        function = entry_function(op)
        draft = _Lowering(function, machine_of(op)).lower()
        name = function.sym_name.data
        program = draft.program(name)
        function.detach()
        op.body.block.add_op(program)
        op.attributes[ENTRY] = StringAttr(name)
        set_rung(op, 4)
