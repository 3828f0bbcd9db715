"""The step of a plan that picks some of a value's partial sums.

%y_1 = plan.part %y for "y"
  : tensor<4x8xf16> layout <[1, 4, 8] bytes 2 first 3 partial 2 step 1>
"""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.irdl import AnyAttr, irdl_op_definition, operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tiledialect.dialects.plan_step import (
    StepOp,
    parse_tail,
    print_tail,
    step_properties,
)
from tiledialect.dialects.syntax import finish
from tiledialect.layout import Layout


@irdl_op_definition
class PartOp(StepOp):
    """Neighbouring partial sums of a value, where they lie: those of the tiles that the
    layout's `first` and `partial` name. So a sum may come in batches."""

    name = "plan.part"
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

    def verify_(self) -> None:
        if self.layout.data.partial is None:
            raise VerifyException("a part is of partial sums, its layout has none")

    def is_part_of(self, layout: Layout) -> bool:
        """Whether a value of this layout has these partial sums."""
        own = self.layout.data
        some, every = own.partial, layout.partial
        if some is None or every is None:
            return False
        if own != layout.with_(first=own.first, partial=some):
            return False
        skipped, odd = divmod(own.first - layout.first, max(1, every.stride))
        inside = skipped >= 0 and skipped + some.count <= every.count
        return inside and odd == 0 and some.stride == every.stride

    @classmethod
    def parse(cls, parser: Parser) -> PartOp:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("for")
        group = parser.parse_str_literal()
        layout, _, _, type = parse_tail(parser)
        op = PartOp(parser.resolve_operand(source, type), group, layout)
        return finish(op, parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" for ")
        printer.print_string_literal(self.group.data)
        print_tail(printer, self)
