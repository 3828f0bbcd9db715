"""The dialect `exchange`: steps in which words move between tiles.

A phase holds moves between layouts, and pairs of buffers that it must not read and
write in one cycle; after scheduling it also holds its rows, its length and its lower
bound: the largest over tiles of words in, words out and control words, each with the
latency that it cannot avoid.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, IntegerAttr, StringAttr
from xdsl.ir import Block, Data, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, NoTerminator
from xdsl.utils.exceptions import VerifyException

from tiledialect.dialects.buffers import buffer_of
from tiledialect.dialects.memory import PairsOp, ProgramOp, parse_pair, print_pair
from tiledialect.dialects.relayout import RelayoutOp
from tiledialect.dialects.rows_text import parse_rows, rows_text
from tiledialect.dialects.syntax import (
    finish,
    integer,
    optional_text,
    parse_count,
    print_end,
)
from tiledialect.rows import Rows


@irdl_attr_definition
class RowsAttr(Data[Rows]):
    """The control words of every tile in a phase.

    A small phase reads as a table, one tile a line; a large one is a compressed text.
    """

    name = "exchange.rows"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Rows:
        with parser.in_angle_brackets():
            return parse_rows(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets(), printer.indented():
            printer.print_string(rows_text(self.data))


@irdl_op_definition
class MoveOp(RelayoutOp):
    """The words of a relayout that change their tile."""

    name = "exchange.move"


@irdl_op_definition
class SerialOp(PairsOp):
    """Pairs of buffers of which no tile sends from one while it receives to the other.

    `cost` is the cycles by which the phase became longer for it, once scheduled.
    """

    name = "exchange.serial"
    cost = opt_prop_def(IntegerAttr[I64])

    def verify_(self) -> None:
        if len(self.buffers) % 2 or not len(self.buffers):
            raise VerifyException(f"{len(self.buffers)} buffers make no pairs")
        if self.cost is not None and self.cost.value.data < 0:
            raise VerifyException(f"cost is {self.cost.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> SerialOp:
        pairs = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, lambda: parse_pair(parser)
        )
        cost = None
        if parser.parse_optional_keyword("cost"):
            cost = parse_count(parser)
        parser.parse_keyword("because")
        op = SerialOp(pairs, parser.parse_str_literal())
        op.cost = None if cost is None else integer(cost)
        return finish(op, parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.pairs, lambda pair: print_pair(printer, pair))
        if self.cost is not None:
            printer.print_string(f" cost {self.cost.value.data}")
        printer.print_string(" because ")
        printer.print_string_literal(self.reason.data)
        print_end(printer, self)


SCHEDULED = (
    "length",
    "bound_receive",
    "bound_send",
    "bound_control",
    "messages",
    "row_bytes",
)
"""The numbers of a scheduled phase: cycles, but for the last two."""


@irdl_op_definition
class PhaseOp(IRDLOperation):
    """One exchange step: all moves at once, on one schedule.

    `row_bytes` are those of the tile that has most. The text names the ratio of length
    to bound as well; reading, it may be left out.
    """

    name = "exchange.phase"
    step = prop_def(IntegerAttr[I64])
    phase_name = prop_def(StringAttr)
    length = opt_prop_def(IntegerAttr[I64])
    bound_receive = opt_prop_def(IntegerAttr[I64])
    bound_send = opt_prop_def(IntegerAttr[I64])
    bound_control = opt_prop_def(IntegerAttr[I64])
    messages = opt_prop_def(IntegerAttr[I64])
    row_bytes = opt_prop_def(IntegerAttr[I64])
    rows = opt_prop_def(RowsAttr)
    estimate = opt_prop_def(IntegerAttr[I64])
    loc_text = opt_prop_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator(), HasParent(ProgramOp))

    def __init__(
        self,
        step: int,
        name: str,
        moves: Sequence[Operation] | Region,
        *,
        estimate: int | None = None,
        location: str | None = None,
    ) -> None:
        region = moves if isinstance(moves, Region) else Region(Block(moves))
        super().__init__(
            properties={
                "step": integer(step),
                "phase_name": StringAttr(name),
                "estimate": None if estimate is None else integer(estimate),
                "loc_text": optional_text(location),
            },
            regions=[region],
        )

    @property
    def moves(self) -> list[MoveOp]:
        return [op for op in self.body.block.ops if isinstance(op, MoveOp)]

    @property
    def serials(self) -> list[SerialOp]:
        return [op for op in self.body.block.ops if isinstance(op, SerialOp)]

    @property
    def window(self) -> list[SSAValue]:
        """The buffers that the moves name, in the order in which rows address them."""
        return list(dict.fromkeys(v for move in self.moves for v in move.operands))

    def set_schedule(self, numbers: dict[str, int], rows: Rows) -> None:
        """Write the schedule: a number for each of SCHEDULED, and the rows."""
        for field in SCHEDULED:
            self.properties[field] = integer(numbers[field])
        self.rows = RowsAttr(rows)

    def number(self, field: str) -> int:
        """A number of the schedule; the phase must have one."""
        attribute = self.properties[field]
        assert isinstance(attribute, IntegerAttr)
        return attribute.value.data

    @property
    def ratio(self) -> float:
        """Length over the greatest bound; 1 where nothing moves."""
        fields = ("bound_receive", "bound_send", "bound_control")
        bound = max(self.number(field) for field in fields)
        return self.number("length") / bound if bound else 1.0

    def verify_(self) -> None:
        for op in self.body.block.ops:
            if not isinstance(op, MoveOp | SerialOp):
                raise VerifyException(f"{op.name} has no place in an exchange.phase")
        named = set(self.window)
        for op in self.serials:
            for value in op.buffers:
                if value not in named:
                    name = buffer_of(value).buffer_name.data
                    raise VerifyException(f'no move of the phase names "{name}"')
        present = [f for f in (*SCHEDULED, "rows") if f in self.properties]
        if present and len(present) <= len(SCHEDULED):
            raise VerifyException(f"a schedule has more than {', '.join(present)}")
        if present:
            self._check_numbers()

    def _check_numbers(self) -> None:
        for field in SCHEDULED:
            if self.number(field) < 0:
                raise VerifyException(f"{field} is {self.number(field)}")
        for field in ("bound_receive", "bound_send", "bound_control"):
            if self.number(field) > self.number("length"):
                raise VerifyException(
                    f"the length of {self.number('length')} cycles is below"
                    f" {field} {self.number(field)}"
                )

    @classmethod
    def parse(cls, parser: Parser) -> PhaseOp:
        step = parse_count(parser)
        name = parser.parse_str_literal()
        estimate = None
        if parser.parse_optional_keyword("estimate"):
            estimate = parse_count(parser)
        region = parser.parse_region(arguments=())
        op = PhaseOp(step, name, region, estimate=estimate)
        if parser.parse_optional_keyword("scheduled"):
            numbers: dict[str, int] = {}
            for field in SCHEDULED:
                parser.parse_keyword(field)
                numbers[field] = parse_count(parser)
            ratio, place = None, parser.pos
            if parser.parse_optional_keyword("ratio"):
                place, ratio = parser.pos, parser.parse_number()
            parser.parse_keyword("rows")
            op.set_schedule(numbers, RowsAttr.parse_parameter(parser))
            if ratio is not None and f"{ratio:.4f}" != f"{op.ratio:.4f}":
                parser.raise_error(f"the ratio is {op.ratio:.4f}", place)
        return finish(op, parser)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.step.value.data} ")
        printer.print_string_literal(self.phase_name.data)
        if self.estimate is not None:
            printer.print_string(f" estimate {self.estimate.value.data}")
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)
        if self.rows is not None:
            words = " ".join(f"{field} {self.number(field)}" for field in SCHEDULED)
            printer.print_string(f" scheduled {words} ratio {self.ratio:.4f} rows ")
            self.rows.print_parameter(printer)
        print_end(printer, self)


Exchange = Dialect("exchange", [PhaseOp, MoveOp, SerialOp], [RowsAttr])
