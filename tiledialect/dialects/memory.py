"""The dialect `memory`: a program on tiles, its buffers, and where they lie.

From rung 4 on the module holds one `memory.program`: the buffers, what binds them to
the program's arguments and results, pairs that must be kept apart, and then the steps
in order. Lifetimes are half-open ranges of steps; an argument lives from step 0, a
parameter always, a result to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    I64,
    AnyDenseElement,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, NoTerminator
from xdsl.utils.exceptions import VerifyException

from tiledialect.dialects.buffers import (
    BufferOp,
    BufferType,
    TilesAttr,
    buffer_of,
    check_block,
    check_word,
    parse_buffer,
)
from tiledialect.dialects.layout_attribute import LayoutAttr
from tiledialect.dialects.memory_map import MapOp
from tiledialect.dialects.syntax import (
    finish,
    integer,
    optional_text,
    parse_count,
    print_end,
)
from tiledialect.dialects.tile_types import tensor_form
from tiledialect.layout import Layout

BIND_KINDS = ("input", "parameter", "constant", "output")
Value = DenseIntOrFPElementsAttr[AnyDenseElement]
MOST_STEPS = 1 << 16
STEP_OPS = ("exchange.phase", "codelet.compute")


class PairsOp(IRDLOperation):
    """Pairs of buffers, one after the other, and why they are named."""

    buffers = var_operand_def(BufferType)
    reason = prop_def(StringAttr)
    loc_text = opt_prop_def(StringAttr)

    def __init__(
        self,
        pairs: Sequence[tuple[SSAValue, SSAValue]],
        reason: str,
        *,
        location: str | None = None,
    ) -> None:
        super().__init__(
            operands=[[value for pair in pairs for value in pair]],
            properties={
                "reason": StringAttr(reason),
                "loc_text": optional_text(location),
            },
        )

    @property
    def pairs(self) -> list[tuple[SSAValue, SSAValue]]:
        values = list(self.buffers)
        return list(zip(values[::2], values[1::2], strict=False))


@irdl_op_definition
class ApartOp(PairsOp):
    """Pairs of buffers that must not touch one memory element."""

    name = "memory.apart"

    def verify_(self) -> None:
        if len(self.buffers) % 2:
            raise VerifyException("an odd number of buffers makes no pairs")
        for left, right in self.pairs:
            if left is right:
                name = buffer_of(left).buffer_name.data
                raise VerifyException(f'"{name}" cannot be apart from itself')

    @classmethod
    def parse(cls, parser: Parser) -> ApartOp:
        pairs = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, lambda: parse_pair(parser)
        )
        parser.parse_keyword("because")
        return finish(ApartOp(pairs, parser.parse_str_literal()), parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.pairs, lambda pair: print_pair(printer, pair))
        printer.print_string(" because ")
        printer.print_string_literal(self.reason.data)
        print_end(printer, self)


def parse_pair(parser: Parser) -> tuple[SSAValue, SSAValue]:
    """`%x / %y`: two buffers."""
    left = parse_buffer(parser)
    parser.parse_punctuation("/")
    return left, parse_buffer(parser)


def print_pair(printer: Printer, pair: tuple[SSAValue, SSAValue]) -> None:
    printer.print_ssa_value(pair[0])
    printer.print_string(" / ")
    printer.print_ssa_value(pair[1])


@irdl_op_definition
class BindOp(IRDLOperation):
    """The buffer that holds an argument, constant or result, in this layout."""

    name = "memory.bind"
    buffer = operand_def(BufferType)
    kind = prop_def(StringAttr)
    index = prop_def(IntegerAttr[I64])
    bind_name = prop_def(StringAttr)
    layout = prop_def(LayoutAttr)
    type = prop_def(AnyAttr())
    value = opt_prop_def(DenseIntOrFPElementsAttr)
    loc_text = opt_prop_def(StringAttr)

    def __init__(
        self,
        kind: str,
        index: int,
        name: str,
        buffer: SSAValue,
        layout: Layout,
        type: Attribute,
        *,
        value: Value | None = None,
        location: str | None = None,
    ) -> None:
        super().__init__(
            operands=[buffer],
            properties={
                "kind": StringAttr(kind),
                "index": integer(index),
                "bind_name": StringAttr(name),
                "layout": LayoutAttr(layout),
                "type": type,
                "value": value,
                "loc_text": optional_text(location),
            },
        )

    def verify_(self) -> None:
        check_word("kind", self.kind.data, BIND_KINDS)
        form = tensor_form(self.type)
        layout = self.layout.data
        name = self.bind_name.data
        check_block(buffer_of(self.buffer), layout)
        if prod(layout.shape) != form.elements:
            raise VerifyException(
                f'"{name}" has {form.elements} elements, its layout'
                f" {prod(layout.shape)}"
            )
        if layout.element_bytes != form.format.bytes:
            raise VerifyException(
                f'"{name}" has elements of {form.format.bytes} bytes, its layout of'
                f" {layout.element_bytes}"
            )
        if (self.value is None) == (self.kind.data == "constant"):
            raise VerifyException(f'"{name}": a constant, and only that, has a value')
        if self.value is not None and len(self.value.data.data) != form.bytes:
            raise VerifyException(
                f'"{name}" has {form.bytes} bytes, its value'
                f" {len(self.value.data.data)}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> BindOp:
        kind = parser.parse_identifier()
        index = parse_count(parser)
        name = parser.parse_str_literal()
        buffer = parse_buffer(parser)
        parser.parse_punctuation(":")
        type = parser.parse_type()
        parser.parse_keyword("layout")
        layout = LayoutAttr.parse_parameter(parser)
        value: Value | None = None
        if parser.parse_optional_punctuation("="):
            read = parser.parse_attribute()
            if not isinstance(read, DenseIntOrFPElementsAttr):
                parser.raise_error("a constant's value is dense<...> : tensor<...>")
            value = cast(Value, read)
        op = BindOp(kind, index, name, buffer, layout, type, value=value)
        return finish(op, parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} {self.index.value.data} ")
        printer.print_string_literal(self.bind_name.data)
        printer.print_string(" ")
        printer.print_ssa_value(self.buffer)
        printer.print_string(" : ")
        printer.print_attribute(self.type)
        printer.print_string(" layout ")
        self.layout.print_parameter(printer)
        if self.value is not None:
            printer.print_string(" = ")
            printer.print_attribute(self.value)
        print_end(printer, self)


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """A whole program on tiles: buffers, binds and apart pairs, then its steps."""

    name = "memory.program"
    sym_name = prop_def(StringAttr)
    loc_text = opt_prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), HasParent(ModuleOp))

    def __init__(
        self,
        name: str,
        operations: Sequence[Operation] | Region = (),
        *,
        location: str | None = None,
    ) -> None:
        if isinstance(operations, Region):
            region = operations
        else:
            region = Region(Block(operations))
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "loc_text": optional_text(location),
            },
            regions=[region],
        )

    @property
    def buffers(self) -> list[BufferOp]:
        return [op for op in self.body.block.ops if isinstance(op, BufferOp)]

    @property
    def binds(self) -> list[BindOp]:
        return [op for op in self.body.block.ops if isinstance(op, BindOp)]

    @property
    def aparts(self) -> list[ApartOp]:
        return [op for op in self.body.block.ops if isinstance(op, ApartOp)]

    @property
    def map(self) -> MapOp | None:
        maps = [op for op in self.body.block.ops if isinstance(op, MapOp)]
        return maps[0] if maps else None

    @property
    def steps(self) -> list[Operation]:
        """The exchange phases and compute sets, in order."""
        return [op for op in self.body.block.ops if op.name in STEP_OPS]

    def declare(self, op: Operation) -> None:
        """Put a declaration behind those there are, before the steps."""
        steps = self.steps
        if steps:
            self.body.block.insert_op_before(op, steps[0])
        else:
            self.body.block.add_op(op)

    @property
    def step_count(self) -> int:
        """One past the last step."""
        steps = self.steps
        return step_of(steps[-1]) + 1 if steps else 0

    def verify_(self) -> None:
        before = -1
        for op in self.body.block.ops:
            if op.name not in STEP_OPS:
                _check_declaration(op, before)
                continue
            step = step_of(op)
            if step <= before:
                raise VerifyException(f"step {step} follows step {before}")
            if step >= MOST_STEPS:
                raise VerifyException(f"step {step} is none below {MOST_STEPS}")
            before = step
            for inner in op.regions[0].block.ops:
                _check_alive(inner, step)
        self._check_map()
        for bind in self.binds:
            _check_bind_lifetime(bind, self.step_count)

    def _check_map(self) -> None:
        maps = [op for op in self.body.block.ops if isinstance(op, MapOp)]
        if len(maps) > 1:
            raise VerifyException(f"a program has one memory.map, this {len(maps)}")
        if maps and len(maps[0].peaks) != self.step_count:
            raise VerifyException(
                f"the map has {len(maps[0].peaks)} peaks for {self.step_count} steps"
            )

    @classmethod
    def parse(cls, parser: Parser) -> ProgramOp:
        name = parser.parse_symbol_name()
        region = parser.parse_region(arguments=())
        return finish(ProgramOp(name.data, region), parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)
        print_end(printer, self)


def step_of(op: Operation) -> int:
    """The number of a step."""
    step = op.properties.get("step")
    assert isinstance(step, IntegerAttr), "every step has its number"
    return step.value.data


def _check_declaration(op: Operation, step: int) -> None:
    if not isinstance(op, BufferOp | BindOp | ApartOp | MapOp):
        raise VerifyException(f"{op.name} has no place in a memory.program")
    if step >= 0:
        raise VerifyException(f"{op.name} stands behind step {step}")


def _check_alive(op: Operation, step: int) -> None:
    for operand in op.operands:
        buffer = buffer_of(operand)
        if not buffer.is_alive(step):
            raise VerifyException(
                f'{op.name} of step {step} uses "{buffer.buffer_name.data}",'
                " which is not live then"
            )


def _check_bind_lifetime(bind: BindOp, steps: int) -> None:
    live = buffer_of(bind.buffer).lifetime
    kind = bind.kind.data
    from_start = bool(live) and live[0][0] == 0
    to_end = bool(live) and live[-1][1] >= steps
    if kind == "output" and not to_end:
        raise VerifyException(
            f'output "{bind.bind_name.data}" must live to the end of step {steps - 1}'
        )
    if kind != "output" and not from_start:
        raise VerifyException(f'{kind} "{bind.bind_name.data}" must live from step 0')
    if kind in ("parameter", "constant") and not (to_end and len(live) == 1):
        raise VerifyException(f'{kind} "{bind.bind_name.data}" must live in every step')


Memory = Dialect(
    "memory",
    [ProgramOp, BufferOp, BindOp, ApartOp, MapOp],
    [BufferType, TilesAttr],
)
