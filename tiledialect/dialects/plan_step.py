"""What all steps of a plan share: a group, a result with a layout, an estimate."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import (
    I64,
    IntegerAttr,
    StringAttr,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from tiledialect.dialects.layout_attribute import LayoutAttr
from tiledialect.dialects.syntax import (
    finish,
    integer,
    optional_text,
    parse_count,
    print_end,
)
from tiledialect.layout import Layout


class StepOp(IRDLOperation):
    """A step of a plan: it belongs to a group, and its result has a layout."""

    result = result_def(AnyAttr())
    group = prop_def(StringAttr)
    layout = prop_def(LayoutAttr)
    estimate = opt_prop_def(IntegerAttr[I64])
    exchange_estimate = opt_prop_def(IntegerAttr[I64])
    loc_text = opt_prop_def(StringAttr)

    @property
    def cycles(self) -> int:
        """Estimated cycles of the step's codelets."""
        return 0 if self.estimate is None else self.estimate.value.data

    @property
    def exchange_cycles(self) -> int:
        """Estimated cycles of the step's exchange phase."""
        estimate = self.exchange_estimate
        return 0 if estimate is None else estimate.value.data


def step_properties(
    group: str,
    layout: Layout,
    compute: int | None,
    exchange: int | None,
    location: str | None,
) -> dict[str, Attribute | None]:
    return {
        "group": StringAttr(group),
        "layout": LayoutAttr(layout),
        "estimate": None if compute is None else integer(compute),
        "exchange_estimate": None if exchange is None else integer(exchange),
        "loc_text": optional_text(location),
    }


def parse_tail(parser: Parser) -> tuple[Layout, int | None, int | None, Attribute]:
    """`estimate 7 exchange 9 : type layout <…>`."""
    compute = exchange = None
    if parser.parse_optional_keyword("estimate"):
        compute = parse_count(parser)
    if parser.parse_optional_keyword("exchange"):
        exchange = parse_count(parser)
    parser.parse_punctuation(":")
    type = parser.parse_type()
    parser.parse_keyword("layout")
    return LayoutAttr.parse_parameter(parser), compute, exchange, type


def print_tail(printer: Printer, op: StepOp) -> None:
    if op.estimate is not None:
        printer.print_string(f" estimate {op.cycles}")
    if op.exchange_estimate is not None:
        printer.print_string(f" exchange {op.exchange_cycles}")
    with printer.indented():
        printer.print_string("\n: ")
        printer.print_attribute(op.result.type)
        printer.print_string(" layout ")
        op.layout.print_parameter(printer)
        print_end(printer, op)


class LyingOp(StepOp):
    """A step that costs nothing: it says where a value lies."""

    source = operand_def(AnyAttr())

    def __init__(
        self,
        source: SSAValue,
        group: str,
        layout: Layout,
        *,
        location: str | None = None,
    ) -> None:
        super().__init__(
            operands=[source],
            result_types=[source.type],
            properties=step_properties(group, layout, None, None, location),
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("for")
        group = parser.parse_str_literal()
        layout, _, _, type = parse_tail(parser)
        return finish(cls(parser.resolve_operand(source, type), group, layout), parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" for ")
        printer.print_string_literal(self.group.data)
        print_tail(printer, self)
