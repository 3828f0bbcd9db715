"""One walk over a plan: its steps become phases and compute sets of a draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation

from tiledialect.codelets import needs
from tiledialect.diagnostics import fail
from tiledialect.dialects.codelet import CopyOp, FillOp, RunOp
from tiledialect.dialects.exchange import MoveOp
from tiledialect.dialects.interfaces import Constant
from tiledialect.dialects.plan import AlternativesOp
from tiledialect.dialects.plan_part_op import PartOp
from tiledialect.dialects.plan_step_ops import (
    ComputeOp,
    LoadOp,
    ReduceOp,
    RelayoutOp,
    ViewOp,
)
from tiledialect.dialects.syntax import integer
from tiledialect.dialects.tile_types import tensor_form
from tiledialect.dialects.views import View
from tiledialect.layout import Layout
from tiledialect.lowering.calls import (
    TileClass,
    grid_classes,
    piece_classes,
    trimmed,
    view,
)
from tiledialect.lowering.draft import Buffer, Draft, Make
from tiledialect.lowering.interface import Held, Interface, location_of
from tiledialect.padding import padding_runs
from tiledialect.relayout import Transfers, relayout, stack_partials
from tiledialect.tiles import TileSet


class PlanWalk(Interface):
    """Appends the steps of a plan to a draft, in order."""

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
                case PartOp() | ViewOp():
                    self.held[op.result] = self.seen(op)
                case ReturnOp():
                    self.bind_results(op)
                case AlternativesOp():
                    fail(op, f"{len(op.plans)} plans are left; run select-plan first")
                case _:
                    fail(op, f"{op.name} is no step of a plan")
        return self.draft

    def relayout(self, op: RelayoutOp) -> None:

        source, layout = self.held[op.source], op.layout.data
        if source.layout == layout:
            self.held[op.result] = source  # its padding was zeroed before it was made
            return
        made = self.destination(op)
        if op.zeroed is not None:
            self.fill(made, layout, op.zeroed.value.data, op, op.zero_cycles)
        moved = replace(source, layout=op.with_padding(source.layout))
        target = op.with_padding(layout)
        transfers = relayout(moved.layout, target)
        self.move(op, moved, made, target, transfers, stack=False)
        self.held[op.result] = Held(made, layout, source.form)

    def destination(self, op: RelayoutOp) -> Buffer:
        """A new buffer, or the one that the slot or the chunks before have already."""
        if op.into is not None:
            return self.held[op.into].buffer
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
            if not isinstance(user, RelayoutOp) or user.into == op.result:
                continue
            if user.padded is not None:
                axis, cycles = user.padded.get_values()[0], user.zero_cycles
            elif user.zeroed is not None and user.layout == op.layout:
                axis, cycles = user.zeroed.value.data, user.zero_cycles
            else:
                continue
            self.fill(made, op.layout.data, axis, user, cycles)
            break

    def compute(self, op: ComputeOp) -> None:

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

    def seen(self, op: PartOp | ViewOp) -> Held:
        """A value in its own buffer, seen in another shape or in part."""

        source = self.held[op.source]
        if isinstance(op, ViewOp):
            return replace(source, form=tensor_form(op.result.type))
        if not op.is_part_of(source.layout):
            fail(op, "plan.part names no partial sums of its source")
        return replace(source, layout=op.layout.data)

    def reduce(self, op: ReduceOp) -> None:

        source, layout = self.held[op.source], op.layout.data
        group = source.layout.partial
        if group is None:
            fail(op, "plan.reduce needs partial sums")
        transfers, own = stack_partials(source.layout, layout)
        if own is None and op.own is not None:
            fail(op, "a tile's own partial does not lie where the plan has it")
        before = None if op.onto is None else self.held[op.onto]
        if before is not None and (own is not None or before.layout != layout):
            fail(op, "plan.reduce adds onto a sum of other partials in its own layout")
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
        if own is not None or before is not None:
            held.append(before or source)
        held.append(Held(made, layout, form))
        classes = [
            replace(some, extents=(slots, *some.extents))
            for some in piece_classes(layout, own)
        ]
        views: list[list[View]] = []
        for some in classes:
            lies_as = layout if layout.spread else source.layout
            mine = view(lies_as, axes, rank + 1, name, scale, some.offset)
            if before is not None:
                mine = piece
            used = [stacked, *([mine] if len(held) > 2 else []), piece]
            views.append([trimmed(one, some.extents) for one in used])
        parameters: dict[str, Attribute] = {"function": StringAttr(op.function.data)}
        if own is not None:
            numbers = (own.first, own.stride, own.count)
            parameters["own"] = ArrayAttr([integer(n) for n in numbers])
        if before is not None:  # it comes first on every tile
            numbers = (0, self.machine.tiles, slots + 1)
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
