"""The steps of a plan as operations of the dialect `plan`.

Each belongs to a group of rung-1 operations and gives a value with a layout:
`plan.load` a value that is there before the run, `plan.relayout` one that is moved,
`plan.compute` what a codelet makes of blocks, `plan.reduce` a sum of partial results,
`plan.view` the same value in another shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tiledialect.dialects.layout_attribute import LayoutAttr
from tiledialect.dialects.plan_step import (
    LyingOp,
    StepOp,
    parse_tail,
    print_tail,
    step_properties,
)
from tiledialect.dialects.syntax import (
    finish,
    integer,
    integers,
    names_attribute,
    optional_text,
    parse_count,
    parse_optional_count,
)
from tiledialect.dialects.tile_types import tensor_form
from tiledialect.layout import Layout


@irdl_op_definition
class LoadOp(LyingOp):
    """A value that is there before the run, in the layout in which it lies then."""

    name = "plan.load"


@irdl_op_definition
class RelayoutOp(StepOp):
    """A value brought to another layout.

    zeroed  the padding of its blocks along this axis is filled with zeros first
    padded  an axis, and a multiple: up to that the source's padding along it, which
            holds zeros, moves as elements do
    slot    relayouts of one slot use one buffer, each after the last user of the one
            before
    joined  it moves in the phase of the relayout before it
    into    the value whose buffer it adds its elements to: chunks that came before
    """

    name = "plan.relayout"
    source = operand_def(AnyAttr())
    into = opt_operand_def(AnyAttr())
    zeroed = opt_prop_def(IntegerAttr[I64])
    padded = opt_prop_def(DenseArrayBase[I64])
    zero_estimate = opt_prop_def(IntegerAttr[I64])
    slot = opt_prop_def(StringAttr)
    joined = opt_prop_def(UnitAttr)

    def __init__(
        self,
        source: SSAValue,
        group: str,
        layout: Layout,
        *,
        zeroed: int | None = None,
        zero_cycles: int = 0,
        padded: tuple[int, int] | None = None,
        slot: str | None = None,
        joined: bool = False,
        into: SSAValue | None = None,
        compute: int | None = None,
        exchange: int | None = None,
        location: str | None = None,
    ) -> None:
        properties = step_properties(group, layout, compute, exchange, location)
        if zeroed is not None:
            properties["zeroed"] = integer(zeroed)
        if padded is not None:
            properties["padded"] = integers(padded)
        if zeroed is not None or zero_cycles:
            properties["zero_estimate"] = integer(zero_cycles)
        properties["slot"] = optional_text(slot)
        properties["joined"] = UnitAttr() if joined else None
        super().__init__(
            operands=[source, into], result_types=[source.type], properties=properties
        )

    def with_padding(self, layout: Layout) -> Layout:
        """A layout as this relayout moves it."""
        if self.padded is None:
            return layout
        axis, multiple = self.padded.get_values()
        return layout.padded(axis, multiple)

    @property
    def zero_cycles(self) -> int:
        """Estimated cycles to fill the padding."""
        return 0 if self.zero_estimate is None else self.zero_estimate.value.data

    @classmethod
    def parse(cls, parser: Parser) -> RelayoutOp:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("for")
        group = parser.parse_str_literal()
        zeroed = parse_optional_count(parser, "zeroed", -1)
        zero_cycles = parse_optional_count(parser, "estimate_of_zeros", 0)
        padded = None
        if parser.parse_optional_keyword("padded"):
            axis = parse_count(parser)
            parser.parse_keyword("to")
            padded = axis, parse_count(parser, 1)
        slot = None
        if parser.parse_optional_keyword("slot"):
            slot = parser.parse_str_literal()
        joined = parser.parse_optional_keyword("joined") is not None
        chunks = None
        if parser.parse_optional_keyword("into"):
            chunks = parser.parse_unresolved_operand()
        layout, compute, exchange, type = parse_tail(parser)
        value = parser.resolve_operand(source, type)
        op = RelayoutOp(
            value,
            group,
            layout,
            zeroed=None if zeroed < 0 else zeroed,
            zero_cycles=zero_cycles,
            padded=padded,
            slot=slot,
            joined=joined,
            into=None if chunks is None else parser.resolve_operand(chunks, type),
            compute=compute,
            exchange=exchange,
        )
        return finish(op, parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" for ")
        printer.print_string_literal(self.group.data)
        if self.zeroed is not None:
            printer.print_string(f" zeroed {self.zeroed.value.data}")
        if self.zero_estimate is not None:
            printer.print_string(f" estimate_of_zeros {self.zero_cycles}")
        if self.padded is not None:
            axis, multiple = self.padded.get_values()
            printer.print_string(f" padded {axis} to {multiple}")
        if self.slot is not None:
            printer.print_string(" slot ")
            printer.print_string_literal(self.slot.data)
        if self.joined is not None:
            printer.print_string(" joined")
        if self.into is not None:
            printer.print_string(" into ")
            printer.print_ssa_value(self.into)
        print_tail(printer, self)


@irdl_op_definition
class ComputeOp(StepOp):
    """A codelet on the blocks of a grid.

    `grid` cuts the domain, whose dimensions are `dims`; `maps` has for every input and
    then for the result the domain dimensions of the axes of its layout.
    """

    name = "plan.compute"
    inputs = var_operand_def(AnyAttr())
    family = prop_def(StringAttr)
    dims = prop_def(ArrayAttr[StringAttr])
    grid = prop_def(LayoutAttr)
    maps = prop_def(ArrayAttr[DenseArrayBase[I64]])
    parameters = prop_def(DictionaryAttr)

    def __init__(
        self,
        family: str,
        inputs: Sequence[SSAValue],
        dims: Sequence[str],
        grid: Layout,
        maps: Sequence[Sequence[int]],
        parameters: dict[str, Attribute],
        result_type: Attribute,
        group: str,
        layout: Layout,
        *,
        compute: int | None = None,
        location: str | None = None,
    ) -> None:
        super().__init__(
            operands=[list(inputs)],
            result_types=[result_type],
            properties={
                **step_properties(group, layout, compute, None, location),
                "family": StringAttr(family),
                "dims": names_attribute(dims),
                "grid": LayoutAttr(grid),
                "maps": ArrayAttr([integers(m) for m in maps]),
                "parameters": DictionaryAttr(parameters),
            },
        )

    def verify_(self) -> None:
        if len(self.maps) != len(self.inputs) + 1:
            raise VerifyException(
                f"{len(self.inputs)} inputs and a result need as many maps, there are"
                f" {len(self.maps)}"
            )
        if len(self.dims) != len(self.grid.data.shape):
            raise VerifyException(
                f"{len(self.dims)} dimensions, the grid has {len(self.grid.data.shape)}"
            )
        for axis in (axis for axes in self.maps for axis in axes.get_values()):
            if not 0 <= axis < len(self.dims):
                raise VerifyException(
                    f"a map names dimension {axis}, there are {len(self.dims)}"
                )

    @classmethod
    def parse(cls, parser: Parser) -> ComputeOp:
        family = parser.parse_identifier()
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_identifier
        )
        parser.parse_keyword("grid")
        grid = LayoutAttr.parse_parameter(parser)
        inputs, maps = _parse_inputs(parser, names)
        parser.parse_punctuation("->")
        maps.append(_parse_map(parser, names))
        parser.parse_keyword("for")
        group = parser.parse_str_literal()
        parameters = parser.parse_optional_dictionary_attr_dict()
        layout, compute, _, type = parse_tail(parser)
        op = ComputeOp(
            family,
            inputs,
            names,
            grid,
            maps,
            parameters,
            type,
            group,
            layout,
            compute=compute,
        )
        return finish(op, parser)

    def print(self, printer: Printer) -> None:
        names = [name.data for name in self.dims]
        printer.print_string(f" {self.family.data} ({', '.join(names)}) grid ")
        self.grid.print_parameter(printer)
        maps = [m.get_values() for m in self.maps]
        with printer.indented():
            printer.print_string("\n(")
            for position, value in enumerate(self.inputs):
                printer.print_string(", " if position else "")
                printer.print_ssa_value(value)
                printer.print_string(f" {_map_text(maps[position], names)} : ")
                printer.print_attribute(value.type)
            printer.print_string(f") -> {_map_text(maps[-1], names)} for ")
            printer.print_string_literal(self.group.data)
            if self.parameters.data:
                printer.print_string(" ")
                printer.print_attr_dict(self.parameters.data)
        print_tail(printer, self)


def _map_text(axes: Sequence[int], names: Sequence[str]) -> str:
    return "[" + ", ".join(names[axis] for axis in axes) + "]"


def _parse_map(parser: Parser, names: Sequence[str]) -> list[int]:
    words = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_identifier
    )
    for word in words:
        if word not in names:
            parser.raise_error(f"'{word}' is none of the dimensions {list(names)}")
    return [names.index(word) for word in words]


def _parse_inputs(
    parser: Parser, names: Sequence[str]
) -> tuple[list[SSAValue], list[list[int]]]:
    def one() -> tuple[SSAValue, list[int]]:
        value = parser.parse_unresolved_operand()
        axes = _parse_map(parser, names)
        parser.parse_punctuation(":")
        return parser.resolve_operand(value, parser.parse_type()), axes

    pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, one)
    return [value for value, _ in pairs], [axes for _, axes in pairs]


@irdl_op_definition
class ReduceOp(StepOp):
    """Partial results gathered on the tiles of `layout` and combined there.

    With `own` each tile's own partial is read where it lies; without it the plan does
    not count on that. `onto` is a sum of other partials that these are added to.
    """

    name = "plan.reduce"
    source = operand_def(AnyAttr())
    onto = opt_operand_def(AnyAttr())
    function = prop_def(StringAttr)
    own = opt_prop_def(UnitAttr)

    def __init__(
        self,
        function: str,
        source: SSAValue,
        group: str,
        layout: Layout,
        *,
        own: bool,
        onto: SSAValue | None = None,
        compute: int | None = None,
        exchange: int | None = None,
        location: str | None = None,
    ) -> None:
        properties = step_properties(group, layout, compute, exchange, location)
        properties["function"] = StringAttr(function)
        properties["own"] = UnitAttr() if own else None
        super().__init__(
            operands=[source, onto], result_types=[source.type], properties=properties
        )

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        function = parser.parse_identifier()
        source = parser.parse_unresolved_operand()
        onto = None
        if parser.parse_optional_keyword("onto"):
            onto = parser.parse_unresolved_operand()
        own = parser.parse_optional_keyword("own") is not None
        parser.parse_keyword("for")
        group = parser.parse_str_literal()
        layout, compute, exchange, type = parse_tail(parser)
        value = parser.resolve_operand(source, type)
        op = ReduceOp(
            function,
            value,
            group,
            layout,
            own=own,
            onto=None if onto is None else parser.resolve_operand(onto, type),
            compute=compute,
            exchange=exchange,
        )
        return finish(op, parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.function.data} ")
        printer.print_ssa_value(self.source)
        if self.onto is not None:
            printer.print_string(" onto ")
            printer.print_ssa_value(self.onto)
        printer.print_string(" own for " if self.own is not None else " for ")
        printer.print_string_literal(self.group.data)
        print_tail(printer, self)


@irdl_op_definition
class ViewOp(IRDLOperation):
    """The same bytes seen as a tensor of another shape, element order kept."""

    name = "plan.view"
    source = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: SSAValue, type: Attribute) -> None:
        super().__init__(operands=[source], result_types=[type])

    def verify_(self) -> None:
        source, result = tensor_form(self.source.type), tensor_form(self.result.type)
        plain = replace(source, shape=result.shape)
        if plain != result or source.elements != result.elements:
            raise VerifyException(f"sees {source} as {result}, only shapes may differ")
