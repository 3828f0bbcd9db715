"""Pieces of syntax that the operations below rung 1 share.

Every such operation ends with the place on rung 1 that it comes from, written
`from "f.mlir":4:8`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Operation
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer

from tiledialect.diagnostics import LOCATION_PROPERTY

LARGEST = (1 << 31) - 1
"""No count, stride or extent in the text of an attribute is larger."""

_PLACE = re.compile(r"(.*):(0|[1-9][0-9]*):(0|[1-9][0-9]*)", re.DOTALL)

Op = TypeVar("Op", bound=Operation)
Strides = tuple[tuple[int, int], ...]


def integer(value: int) -> IntegerAttr[I64]:
    """An i64 attribute."""
    return IntegerAttr(value, i64)


def integers(values: Sequence[int]) -> DenseArrayBase[I64]:
    """A dense array of i64."""
    return DenseArrayBase.from_list(i64, list(values))


def carried_location(op: Operation) -> str | None:
    """The place on rung 1 that an operation carries, if it does."""
    place = op.properties.get(LOCATION_PROPERTY)
    return place.data if isinstance(place, StringAttr) else None


def names_attribute(names: Sequence[str]) -> ArrayAttr[StringAttr]:
    """A list of names."""
    return ArrayAttr([StringAttr(name) for name in names])


def optional_text(text: str | None) -> StringAttr | None:
    return None if text is None else StringAttr(text)


def parse_count(parser: AttrParser, least: int = 0) -> int:
    """A decimal integer of at least `least` that is no absurd size."""
    start = parser.pos
    value = parser.parse_integer(allow_boolean=False)
    if not least <= value <= LARGEST:
        parser.raise_error(
            f"must lie in {least}..{LARGEST}, is {value}", start, parser.pos
        )
    return value


def parse_optional_count(parser: AttrParser, keyword: str, default: int) -> int:
    """`keyword 7`, or the default where the keyword is missing."""
    if parser.parse_optional_keyword(keyword) is None:
        return default
    return parse_count(parser)


def parse_strides(parser: AttrParser) -> Strides:
    """`[9:162, 6:1]`: pairs of a count and a stride; nothing is no pair."""
    pairs = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _parse_pair(parser)
    )
    return tuple(pairs or ())


def _parse_pair(parser: AttrParser) -> tuple[int, int]:
    count = parse_count(parser)
    parser.parse_punctuation(":")
    return count, parse_count(parser)


def strides_text(strides: Strides) -> str:
    """The inverse of `parse_strides`."""
    return "[" + ", ".join(f"{count}:{stride}" for count, stride in strides) + "]"


def finish(op: Op, parser: Parser) -> Op:
    """`attributes {…} from "f":1:2`, both optional: the end of every operation."""
    attributes = parser.parse_optional_attr_dict_with_keyword()
    if attributes is not None:
        op.attributes.update(attributes.data)
    if parser.parse_optional_keyword("from") is not None:
        place = parser.parse_str_literal()
        if parser.parse_optional_punctuation(":") is not None:
            line = parse_count(parser)
            parser.parse_punctuation(":")
            place = f"{place}:{line}:{parse_count(parser)}"
        op.properties[LOCATION_PROPERTY] = StringAttr(place)
    return op


def print_end(printer: Printer, op: Operation) -> None:
    """The inverse of `finish`."""
    printer.print_op_attributes(op.attributes, print_keyword=True)
    place = carried_location(op)
    if place is None:
        return
    printer.print_string(" from ")
    match = _PLACE.fullmatch(place)
    if match is None or max(int(match[2]), int(match[3])) > LARGEST:
        printer.print_string_literal(place)
        return
    printer.print_string_literal(match[1])
    printer.print_string(f":{match[2]}:{match[3]}")
