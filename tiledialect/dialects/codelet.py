"""The dialect `codelet`: what tiles run in a compute step.

A `codelet.compute` is one step: calls that each say once, for a set of tiles, which
codelet runs on which block of which buffer. A *view* says where the elements of an
operand lie: for every named dimension of the call the counts and byte strides of the
digits of an index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Data, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
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
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.relayout import RelayoutOp
from tiledialect.dialects.syntax import (
    LARGEST,
    Strides,
    finish,
    integer,
    integers,
    optional_text,
    parse_count,
    parse_optional_count,
    parse_strides,
    print_end,
    strides_text,
)
from tiledialect.formats import FORMATS
from tiledialect.layout import Layout
from tiledialect.tiles import TileSet

FAMILIES = ("matmul", "map", "reduce", "sum")


@dataclass(frozen=True)
class View:
    """Where the elements of an operand lie in its buffer.

    `axes` has for each dimension of the call the (count, bytes) of its digits,
    outermost first; () where the operand lacks the dimension.
    """

    format: str
    axes: tuple[Strides, ...]
    offset: int = 0
    scale: int = 0

    def end(self, extents: Sequence[int]) -> int:
        """One past the last byte that indices below `extents` can reach."""
        if 0 in extents:
            return self.offset
        last = 0
        for digits, extent in zip(self.axes, extents, strict=True):
            inner = prod(count for count, _ in digits[1:])
            for position, (count, stride) in enumerate(digits):
                most = count if position else min(count, (extent - 1) // inner + 1)
                last += (most - 1) * stride
        return self.offset + last + FORMATS[self.format].bytes


@irdl_attr_definition
class ViewsAttr(Data[tuple[View, ...]]):
    """One view an operand: `#codelet.views<f16 at 64 {[], [81:32], [6:512, 32:1]}>`."""

    name = "codelet.views"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[View, ...]:
        angle = parser.Delimiter.ANGLE
        return tuple(
            parser.parse_comma_separated_list(angle, lambda: _parse_view(parser))
        )

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("<" + ", ".join(map(_view_text, self.data)) + ">")


def _parse_format(parser: AttrParser) -> tuple[str, int, int]:
    """`f8E4M3FNUZ scale -2 at 64`: format, scale and offset."""
    start = parser.pos
    format = parser.parse_identifier()
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        parser.raise_error(f"format '{format}' is none of {known}", start, parser.pos)
    scale = 0
    if parser.parse_optional_keyword("scale"):
        scale = parse_count(parser, -LARGEST)
    return format, scale, parse_optional_count(parser, "at", 0)


def _format_text(view: View) -> str:
    scale = f" scale {view.scale}" if view.scale else ""
    offset = f" at {view.offset}" if view.offset else ""
    return f"{view.format}{scale}{offset}"


def _parse_view(parser: AttrParser) -> View:
    format, scale, offset = _parse_format(parser)
    axes = parser.parse_comma_separated_list(
        parser.Delimiter.BRACES, lambda: parse_strides(parser)
    )
    return View(format, tuple(axes), offset, scale)


def _view_text(view: View) -> str:
    return f"{_format_text(view)} {{{', '.join(map(strides_text, view.axes))}}}"


def _parse_named_view(parser: AttrParser, dims: Sequence[str]) -> View:
    """A view whose digits stand behind the names of their dimensions."""
    format, scale, offset = _parse_format(parser)
    axes: dict[str, Strides] = {}
    while (name := parser.parse_optional_keyword_in(dims)) is not None:
        axes[name] = parse_strides(parser)
    return View(format, tuple(axes.get(dim, ()) for dim in dims), offset, scale)


def _named_view_text(view: View, dims: Sequence[str]) -> str:
    words = [_format_text(view)]
    words += [
        f"{dim} {strides_text(digits)}"
        for dim, digits in zip(dims, view.axes, strict=False)
        if digits
    ]
    return " ".join(words)


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
            _check_view(buffer_of(value), view, names, extents)

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
            printer.print_string(f": {_named_view_text(view, list(self.domain))}")
        printer.print_string(")")


def _parse_dim(parser: Parser) -> tuple[str, int]:
    return parser.parse_identifier(), parse_count(parser)


def _parse_operands(parser: Parser, dims: Sequence[str]) -> list[tuple[SSAValue, View]]:
    def operand() -> tuple[SSAValue, View]:
        value = parse_buffer(parser)
        parser.parse_punctuation(":")
        return value, _parse_named_view(parser, dims)

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, operand)


def _check_view(
    buffer: BufferOp, view: View, names: Sequence[str], extents: Sequence[int]
) -> None:
    name = buffer.buffer_name.data
    check_word("format", view.format, FORMATS)
    if len(view.axes) != len(extents):
        raise VerifyException(
            f'the view of "{name}" has {len(view.axes)} axes for {len(extents)}'
            " dimensions"
        )
    for dim, digits, extent in zip(names, view.axes, extents, strict=True):
        if digits and prod(count for count, _ in digits) < extent:
            raise VerifyException(
                f'the view of "{name}" has {prod(c for c, _ in digits)} indices along'
                f" {dim}, whose extent is {extent}"
            )
    if view.offset < 0 or view.end(extents) > buffer.size:
        raise VerifyException(
            f'the view of "{name}" reaches byte {view.end(extents)}, the buffer has'
            f" {buffer.size}"
        )


@irdl_op_definition
class CopyOp(RelayoutOp):
    """The bytes of a relayout that stay on their tile or wait in staging."""

    name = "codelet.copy"


@irdl_op_definition
class FillOp(IRDLOperation):
    """Zeros in the padding of each tile's block; with `whole` in all of the block."""

    name = "codelet.fill"
    buffer = operand_def(BufferType)
    tiles = prop_def(TilesAttr)
    layout = prop_def(LayoutAttr)
    whole = opt_prop_def(UnitAttr)
    loc_text = opt_prop_def(StringAttr)

    def __init__(
        self,
        buffer: SSAValue,
        tiles: TileSet,
        layout: Layout,
        *,
        whole: bool = False,
        location: str | None = None,
    ) -> None:
        super().__init__(
            operands=[buffer],
            properties={
                "tiles": TilesAttr(tiles),
                "layout": LayoutAttr(layout),
                "whole": UnitAttr() if whole else None,
                "loc_text": optional_text(location),
            },
        )

    def verify_(self) -> None:
        check_block(buffer_of(self.buffer), self.layout.data)

    @classmethod
    def parse(cls, parser: Parser) -> FillOp:
        whole = parser.parse_optional_keyword("whole") is not None
        buffer = parse_buffer(parser)
        parser.parse_keyword("on")
        tiles = TilesAttr.parse_parameter(parser)
        parser.parse_punctuation(":")
        layout = LayoutAttr.parse_parameter(parser)
        return finish(FillOp(buffer, tiles, layout, whole=whole), parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(" " if self.whole is None else " whole ")
        printer.print_ssa_value(self.buffer)
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
