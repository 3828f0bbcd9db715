"""The operation that says what placement found."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, StringAttr
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tiledialect.dialects.buffers import check_word
from tiledialect.dialects.syntax import (
    finish,
    integer,
    integers,
    optional_text,
    parse_count,
    print_end,
)

STATUSES = ("minimal", "fits")
MAP_FIELDS = (
    "footprint",
    "limit",
    "support",
    "code",
    "program",
    "row_bytes",
    "profile",
    "live_peak",
    "peak_step",
)


@irdl_op_definition
class MapOp(IRDLOperation):
    """What placement found (rung 6): sizes in bytes of the fullest tile.

    The footprint, the live peak and the peaks of the steps count the support, which
    is code, program (the steps themselves), rows and profile, or a reservation.
    """

    name = "memory.map"
    footprint = prop_def(IntegerAttr[I64])
    limit = prop_def(IntegerAttr[I64])
    support = prop_def(IntegerAttr[I64])
    code = prop_def(IntegerAttr[I64])
    program = prop_def(IntegerAttr[I64])
    row_bytes = prop_def(IntegerAttr[I64])
    profile = prop_def(IntegerAttr[I64])
    live_peak = prop_def(IntegerAttr[I64])
    peak_step = prop_def(IntegerAttr[I64])
    peaks = prop_def(DenseArrayBase.constr(I64))
    status = prop_def(StringAttr)
    loc_text = opt_prop_def(StringAttr)

    def __init__(
        self,
        numbers: dict[str, int],
        peaks: Sequence[int],
        status: str,
        *,
        location: str | None = None,
    ) -> None:
        """`numbers` has each of MAP_FIELDS; `peaks` are the live bytes of each step."""
        super().__init__(
            properties={
                **{field: integer(numbers[field]) for field in MAP_FIELDS},
                "peaks": integers(peaks),
                "status": StringAttr(status),
                "loc_text": optional_text(location),
            },
        )

    def number(self, field: str) -> int:
        attribute = self.properties[field]
        assert isinstance(attribute, IntegerAttr)
        return attribute.value.data

    def verify_(self) -> None:
        check_word("status", self.status.data, STATUSES)
        for field in MAP_FIELDS:
            if self.number(field) < 0:
                raise VerifyException(f"{field} is {self.number(field)}")
        if self.number("footprint") > self.number("limit"):
            raise VerifyException(
                f"the footprint of {self.number('footprint')} bytes is over its limit"
                f" of {self.number('limit')}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> MapOp:
        status = parser.parse_identifier()
        numbers: dict[str, int] = {}
        for field in MAP_FIELDS:
            parser.parse_keyword(field)
            numbers[field] = parse_count(parser)
        parser.parse_keyword("peaks")
        peaks = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parse_count(parser)
        )
        return finish(MapOp(numbers, peaks, status), parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.status.data}")
        for field in MAP_FIELDS:
            printer.print_string(f" {field} {self.number(field)}")
        peaks = ", ".join(str(peak) for peak in self.peaks.get_values())
        printer.print_string(f" peaks [{peaks}]")
        print_end(printer, self)
