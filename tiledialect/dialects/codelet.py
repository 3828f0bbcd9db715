"""The dialect `codelet`: what tiles run in a compute step.

A `codelet.compute` is one step: calls that each say once, for a set of tiles, which
codelet runs on which block of which buffer. A *view* says where the elements of an
operand lie: for every named dimension of the call the counts and byte strides of the
digits of an index.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
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
    BufferType,
    TilesAttr,
    buffer_of,
    check_block,
    check_word,
    parse_buffer,
)
from tiledialect.dialects.layout_attribute import LayoutAttr
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.relayout import RelayoutOp
from tiledialect.dialects.syntax import (
    finish,
    integer,
    integers,
    optional_text,
    parse_count,
    print_end,
)
from tiledialect.dialects.views import (
    View,
    ViewsAttr,
    check_view,
    named_view_text,
    parse_named_view,
)
from tiledialect.layout import Layout
from tiledialect.tiles import TileSet

FAMILIES = ("matmul", "map", "reduce", "sum")


@irdl_op_definition
class RunOp(IRDLOperation):
    """A codelet on each tile of a set: blocks of buffers in, blocks of buffers out."""

    name = "codelet.run"
    inputs = var_operand_def(BufferType)
    outputs = var_operand_def(BufferType)
    family = prop_def(StringAttr)
    tiles = prop_def(TilesAttr)
    dims = prop_def(ArrayAttr[StringAttr])
    extents = prop_def(DenseArrayBase.constr(I64))
    views = prop_def(ViewsAttr)
    parameters = prop_def(DictionaryAttr)
    loc_text = opt_prop_def(StringAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        family: str,
        tiles: TileSet,
        dims: dict[str, int],
        inputs: Sequence[tuple[SSAValue, View]],
        outputs: Sequence[tuple[SSAValue, View]],
        parameters: dict[str, Attribute] | None = None,
        *,
        location: str | None = None,
    ) -> None:
        """`dims` are the extents of the call's dimensions by name, in order."""
        super().__init__(
            operands=[[value for value, _ in inputs], [value for value, _ in outputs]],
            properties={
                "family": StringAttr(family),
                "tiles": TilesAttr(tiles),
                "dims": ArrayAttr([StringAttr(name) for name in dims]),
                "extents": integers(list(dims.values())),
                "views": ViewsAttr(tuple(view for _, view in (*inputs, *outputs))),
                "parameters": DictionaryAttr(parameters or {}),
                "loc_text": optional_text(location),
            },
        )

    @property
    def domain(self) -> dict[str, int]:
        """The extents of the dimensions by name."""
        names = (name.data for name in self.dims)
        return dict(zip(names, self.extents.get_values(), strict=False))

    @property
    def operand_views(self) -> list[tuple[SSAValue, View]]:
        """Each buffer with its view, inputs first."""
        return list(zip(self.operands, self.views.data, strict=False))

    def verify_(self) -> None:
        check_word("family", self.family.data, FAMILIES)
        names = [name.data for name in self.dims]
        extents = self.extents.get_values()
        if len(set(names)) != len(names) or len(names) != len(extents):
            raise VerifyException(
                f"dimensions {', '.join(names)} need different names and an extent"
                f" each, there are {len(extents)} extents"
            )
        if any(extent < 0 for extent in extents):
            raise VerifyException(f"extents {list(extents)} must not be negative")
        if len(self.views.data) != len(self.operands):
            raise VerifyException(
                f"{len(self.operands)} operands have {len(self.views.data)} views"
            )
        for value, view in self.operand_views:
            check_view(buffer_of(value), view, names, extents)

    @classmethod
    def parse(cls, parser: Parser) -> RunOp:
        family = parser.parse_identifier()
        pairs = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_dim(parser)
        )
        parser.parse_keyword("on")
        tiles = TilesAttr.parse_parameter(parser)
        dims = dict(pairs)
        inputs = _parse_operands(parser, list(dims))
        parser.parse_punctuation("->")
        outputs = _parse_operands(parser, list(dims))
        parameters = parser.parse_optional_dictionary_attr_dict()
        op = RunOp(family, tiles, dims, inputs, outputs, parameters)
        return finish(op, parser)

    def print(self, printer: Printer) -> None:
        dims = ", ".join(f"{name} {extent}" for name, extent in self.domain.items())
        printer.print_string(f" {self.family.data} ({dims}) on ")
        self.tiles.print_parameter(printer)
        with printer.indented():
            inputs = len(self.inputs)
            self._print_operands(printer, self.operand_views[:inputs])
            printer.print_string(" ->")
            self._print_operands(printer, self.operand_views[inputs:])
            if self.parameters.data:
                printer.print_string("\n")
                printer.print_attr_dict(self.parameters.data)
            print_end(printer, self)

    def _print_operands(
        self, printer: Printer, operands: Sequence[tuple[SSAValue, View]]
    ) -> None:
        printer.print_string("\n(")
        for position, (value, view) in enumerate(operands):
            printer.print_string(",\n " if position else "")
            printer.print_ssa_value(value)
            printer.print_string(f": {named_view_text(view, list(self.domain))}")
        printer.print_string(")")


def _parse_dim(parser: Parser) -> tuple[str, int]:
    return parser.parse_identifier(), parse_count(parser)


def _parse_operands(parser: Parser, dims: Sequence[str]) -> list[tuple[SSAValue, View]]:
    def operand() -> tuple[SSAValue, View]:
        value = parse_buffer(parser)
        parser.parse_punctuation(":")
        return value, parse_named_view(parser, dims)

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, operand)


@irdl_op_definition
class CopyOp(RelayoutOp):
    """The bytes of a relayout that stay on their tile or wait in staging."""

    name = "codelet.copy"


@irdl_op_definition
class FillOp(IRDLOperation):
    """Zeros in the padding of each tile's block.

    With `whole` in all of the block. With `axis` in one stretch from the first to the
    last byte behind the block's own extent along that axis: what a matmul reads beyond
    its true depth, and elements between, so it comes before these are written.
    """

    name = "codelet.fill"
    buffer = operand_def(BufferType)
    tiles = prop_def(TilesAttr)
    layout = prop_def(LayoutAttr)
    axis = opt_prop_def(IntegerAttr[I64])
    whole = opt_prop_def(UnitAttr)
    loc_text = opt_prop_def(StringAttr)

    def __init__(
        self,
        buffer: SSAValue,
        tiles: TileSet,
        layout: Layout,
        *,
        axis: int | None = None,
        whole: bool = False,
        location: str | None = None,
    ) -> None:
        super().__init__(
            operands=[buffer],
            properties={
                "tiles": TilesAttr(tiles),
                "layout": LayoutAttr(layout),
                "axis": None if axis is None else integer(axis),
                "whole": UnitAttr() if whole else None,
                "loc_text": optional_text(location),
            },
        )

    def verify_(self) -> None:
        layout = self.layout.data
        check_block(buffer_of(self.buffer), layout)
        if self.axis is not None and self.whole is not None:
            raise VerifyException("a fill is whole or along an axis, not both")
        if self.axis is not None and not 0 <= self.axis.value.data < len(layout.shape):
            raise VerifyException(
                f"axis {self.axis.value.data} is none of the layout's"
                f" {len(layout.shape)}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> FillOp:
        whole = parser.parse_optional_keyword("whole") is not None
        buffer = parse_buffer(parser)
        axis = None
        if parser.parse_optional_keyword("axis"):
            axis = parse_count(parser)
        parser.parse_keyword("on")
        tiles = TilesAttr.parse_parameter(parser)
        parser.parse_punctuation(":")
        layout = LayoutAttr.parse_parameter(parser)
        op = FillOp(buffer, tiles, layout, axis=axis, whole=whole)
        return finish(op, parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(" " if self.whole is None else " whole ")
        printer.print_ssa_value(self.buffer)
        if self.axis is not None:
            printer.print_string(f" axis {self.axis.value.data}")
        printer.print_string(" on ")
        self.tiles.print_parameter(printer)
        printer.print_string(" : ")
        self.layout.print_parameter(printer)
        print_end(printer, self)


@irdl_op_definition
class ComputeOp(IRDLOperation):
    """One compute step: the tiles run these calls, each tile its own in this order."""

    name = "codelet.compute"
    step = prop_def(IntegerAttr[I64])
    set_name = prop_def(StringAttr)
    estimate = opt_prop_def(IntegerAttr[I64])
    loc_text = opt_prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), HasParent(ProgramOp))

    def __init__(
        self,
        step: int,
        name: str,
        calls: Sequence[Operation] | Region,
        *,
        estimate: int | None = None,
        location: str | None = None,
    ) -> None:
        region = calls if isinstance(calls, Region) else Region(Block(calls))
        super().__init__(
            properties={
                "step": integer(step),
                "set_name": StringAttr(name),
                "estimate": None if estimate is None else integer(estimate),
                "loc_text": optional_text(location),
            },
            regions=[region],
        )

    def verify_(self) -> None:
        for op in self.body.block.ops:
            if not isinstance(op, RunOp | CopyOp | FillOp):
                raise VerifyException(f"{op.name} has no place in a codelet.compute")

    @classmethod
    def parse(cls, parser: Parser) -> ComputeOp:
        step = parse_count(parser)
        name = parser.parse_str_literal()
        estimate = None
        if parser.parse_optional_keyword("estimate"):
            estimate = parse_count(parser)
        region = parser.parse_region(arguments=())
        return finish(ComputeOp(step, name, region, estimate=estimate), parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.step.value.data} ")
        printer.print_string_literal(self.set_name.data)
        if self.estimate is not None:
            printer.print_string(f" estimate {self.estimate.value.data}")
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)
        print_end(printer, self)


Codelet = Dialect("codelet", [ComputeOp, RunOp, CopyOp, FillOp], [ViewsAttr])
