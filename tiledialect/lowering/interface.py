"""What a program shares with the host: arguments, constants and results in buffers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from tiledialect.dialects.interfaces import Constant
from tiledialect.dialects.memory import BindOp, Value
from tiledialect.dialects.plan_step_ops import LoadOp
from tiledialect.dialects.tile import argument_names, parameter_flags
from tiledialect.dialects.tile_types import TensorForm, tensor_form
from tiledialect.layout import Layout
from tiledialect.lowering.calls import layout_tiles
from tiledialect.lowering.draft import Buffer, Draft
from tiledialect.machine import Machine


@dataclass(frozen=True)
class Held:
    """A value of the plan in its buffer."""

    buffer: Buffer
    layout: Layout
    form: TensorForm


class Interface:
    """The buffers of a plan's values; `held` knows where each of them lies."""

    def __init__(self, function: FuncOp, machine: Machine) -> None:
        self.function = function
        self.machine = machine
        self.draft: Draft = Draft()
        self.held: dict[SSAValue, Held] = {}
        self.loaded: set[int] = set()
        self.slots: dict[str, Buffer] = {}
        self.constants = 0

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
        value: Value | None = None,
    ) -> None:

        location = location_of(op)
        self.draft.binds.append(
            lambda: BindOp(
                kind,
                index,
                name,
                held.buffer.value,
                held.layout,
                held.form.type,
                value=value,
                location=location,
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
        return self.draft.buffer(
            name,
            layout.tile_bytes * slots,
            layout_tiles(layout),
            purpose,
            location_of(op),
        )


def location_of(op: Operation) -> str | None:
    """The rung-1 location that an operation carries."""
    text = op.properties.get("loc_text")
    return text.data if isinstance(text, StringAttr) else None


def constant_value(owner: object, form: TensorForm) -> Value:
    """A constant's elements, written out, as the attribute of a bind."""
    assert isinstance(owner, Constant)
    data = owner.element_bytes()
    if owner.is_splat:
        data = data * form.elements
    type = form.type
    plain = TensorType(type.element_type, type.shape)
    return DenseIntOrFPElementsAttr(plain, BytesAttr(data))  # pyright: ignore
