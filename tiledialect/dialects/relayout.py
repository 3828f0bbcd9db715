"""What a move between two layouts looks like as an operation.

An exchange phase moves words between tiles and a compute set copies bytes inside each;
both say so by the same two layouts, and the transfers follow from these.
"""

from __future__ import annotations

import abc
from math import prod
from typing import Self

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tiledialect.dialects.buffers import (
    BufferType,
    buffer_of,
    check_block,
    parse_buffer,
)
from tiledialect.dialects.layout_attribute import LayoutAttr
from tiledialect.dialects.syntax import finish, optional_text, print_end
from tiledialect.layout import Layout


class RelayoutOp(IRDLOperation, abc.ABC):
    """From one layout in `source` to another in `destination`.

    `stack` makes a partial axis local: the destination holds one piece a partial.
    `staging` takes words whose bytes lie differently in the destination.
    """

    source = operand_def(BufferType)
    destination = operand_def(BufferType)
    staging = opt_operand_def(BufferType)
    source_layout = prop_def(LayoutAttr)
    destination_layout = prop_def(LayoutAttr)
    stack = opt_prop_def(UnitAttr)
    loc_text = opt_prop_def(StringAttr)

    def __init__(
        self,
        source: SSAValue,
        destination: SSAValue,
        source_layout: Layout,
        destination_layout: Layout,
        *,
        staging: SSAValue | None = None,
        stack: bool = False,
        location: str | None = None,
    ) -> None:
        super().__init__(
            operands=[source, destination, staging],
            properties={
                "source_layout": LayoutAttr(source_layout),
                "destination_layout": LayoutAttr(destination_layout),
                "stack": UnitAttr() if stack else None,
                "loc_text": optional_text(location),
            },
        )

    def verify_(self) -> None:
        old, new = self.source_layout.data, self.destination_layout.data
        if prod(old.shape) != prod(new.shape):
            raise VerifyException(
                f"the source layout has {prod(old.shape)} elements, the destination's"
                f" {prod(new.shape)}"
            )
        if old.element_bytes != new.element_bytes:
            raise VerifyException(
                f"the source layout has elements of {old.element_bytes} bytes,"
                f" the destination's of {new.element_bytes}"
            )
        if self.stack is not None and old.partial is None:
            raise VerifyException("only a partial source makes a stack")
        check_block(buffer_of(self.source), old)
        if self.stack is None:
            check_block(buffer_of(self.destination), new)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parse_buffer(parser)
        parser.parse_keyword("to")
        destination = parse_buffer(parser)
        staging = None
        if parser.parse_optional_keyword("staging"):
            staging = parse_buffer(parser)
        stack = parser.parse_optional_keyword("stack") is not None
        parser.parse_punctuation(":")
        old = LayoutAttr.parse_parameter(parser)
        parser.parse_keyword("to")
        new = LayoutAttr.parse_parameter(parser)
        op = cls(source, destination, old, new, staging=staging, stack=stack)
        return finish(op, parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" to ")
        printer.print_ssa_value(self.destination)
        if self.staging is not None:
            printer.print_string(" staging ")
            printer.print_ssa_value(self.staging)
        if self.stack is not None:
            printer.print_string(" stack")
        with printer.indented():
            printer.print_string("\n: ")
            self.source_layout.print_parameter(printer)
            printer.print_string("\nto ")
            self.destination_layout.print_parameter(printer)
            print_end(printer, self)
