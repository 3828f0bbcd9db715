"""Buffers: stretches of bytes that have one address on every tile of a set."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, StringAttr
from xdsl.ir import (
    Data,
    OpResult,
    ParametrizedAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tiledialect.dialects.syntax import (
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
from tiledialect.layout import Layout
from tiledialect.tiles import Box, TileSet

REGIONS = ("any", "interleaved", "executable")
PURPOSES = (
    "input",
    "parameter",
    "constant",
    "operand",
    "partial",
    "stack",
    "result",
    "staging",
    "scratch",
    "output",
)
MOST_TILES = 1 << 12
ALIGN = 4
"""The alignment that is not printed: a word."""


@irdl_attr_definition
class TilesAttr(Data[TileSet]):
    """A set of tiles: `#memory.tiles<0 [9:162, 6:1], 7>` is 55 of them."""

    name = "memory.tiles"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TileSet:
        angle = parser.Delimiter.ANGLE
        return TileSet(
            tuple(parser.parse_comma_separated_list(angle, lambda: _parse_box(parser)))
        )

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("<" + ", ".join(map(_box_text, self.data.boxes)) + ">")


def _parse_box(parser: AttrParser) -> Box:
    start = parser.pos
    box = Box(parse_count(parser), parse_strides(parser))
    if len(box) > MOST_TILES:
        parser.raise_error("no machine has that many tiles", start, parser.pos)
    return box


def _box_text(box: Box) -> str:
    return f"{box.first} {strides_text(box.steps)}" if box.steps else str(box.first)


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """A stretch of bytes on each tile of a set."""

    name = "memory.buffer"


BUFFER = BufferType()
Lifetime = tuple[tuple[int, int], ...]


@irdl_op_definition
class BufferOp(IRDLOperation):
    """Bytes set aside on each tile of a set, alive in some ranges of steps.

    `bytes` is the largest need over the tiles. With `alias` the buffer is the bytes
    of that other one from `alias_offset` on. `address` is set at rung 6.
    """

    name = "memory.buffer"
    alias = opt_operand_def(BufferType)
    result = result_def(BufferType)
    buffer_name = prop_def(StringAttr)
    bytes = prop_def(IntegerAttr[I64])
    tiles = prop_def(TilesAttr)
    align = prop_def(IntegerAttr[I64])
    region = prop_def(StringAttr)
    live = prop_def(DenseArrayBase.constr(I64))
    purpose = prop_def(StringAttr)
    alias_offset = opt_prop_def(IntegerAttr[I64])
    address = opt_prop_def(IntegerAttr[I64])
    loc_text = opt_prop_def(StringAttr)

    def __init__(
        self,
        name: str,
        bytes: int,
        tiles: TileSet,
        *,
        purpose: str,
        live: Lifetime = (),
        align: int = ALIGN,
        region: str = "any",
        alias: SSAValue | None = None,
        alias_offset: int = 0,
        address: int | None = None,
        location: str | None = None,
    ) -> None:
        super().__init__(
            operands=[alias],
            result_types=[BUFFER],
            properties={
                "buffer_name": StringAttr(name),
                "bytes": integer(bytes),
                "tiles": TilesAttr(tiles),
                "align": integer(align),
                "region": StringAttr(region),
                "live": integers([step for pair in live for step in pair]),
                "purpose": StringAttr(purpose),
                "alias_offset": None if alias is None else integer(alias_offset),
                "address": None if address is None else integer(address),
                "loc_text": optional_text(location),
            },
        )
        hint = name.replace(" ", "_")
        if SSAValue.is_valid_name(hint):
            self.result.name_hint = hint

    @property
    def size(self) -> int:
        """Bytes on a tile."""
        return self.bytes.value.data

    @property
    def lifetime(self) -> Lifetime:
        """Half-open ranges of steps."""
        steps = self.live.get_values()
        return tuple(zip(steps[::2], steps[1::2], strict=False))

    @property
    def tile_set(self) -> TileSet:
        return self.tiles.data

    @property
    def place(self) -> int | None:
        """The address, None before rung 6."""
        return None if self.address is None else self.address.value.data

    def is_alive(self, step: int) -> bool:
        return any(first <= step < end for first, end in self.lifetime)

    def verify_(self) -> None:
        check_word("region", self.region.data, REGIONS)
        check_word("purpose", self.purpose.data, PURPOSES)
        name = self.buffer_name.data
        if self.size < 0:
            raise VerifyException(f'"{name}" has {self.size} bytes')
        if self.align.value.data < 1:
            raise VerifyException(
                f'"{name}" is aligned to {self.align.value.data} bytes'
            )
        self._check_lifetime()
        self._check_alias()
        if self.place is not None and (
            self.place < 0 or self.place % self.align.value.data
        ):
            raise VerifyException(
                f'"{name}" lies at {self.place}, which is no multiple of'
                f" its alignment {self.align.value.data}"
            )

    def _check_lifetime(self) -> None:
        steps = self.live.get_values()
        pairs = self.lifetime
        grows = all(first < end for first, end in pairs) and all(
            before[1] <= after[0] for before, after in pairwise(pairs)
        )
        if len(steps) % 2 or not grows or (steps and steps[0] < 0):
            raise VerifyException(
                f'"{self.buffer_name.data}" is live in {list(steps)}, which is no'
                " sorted list of half-open ranges"
            )

    def _check_alias(self) -> None:
        if (self.alias is None) != (self.alias_offset is None):
            raise VerifyException("an alias needs its offset, and an offset an alias")
        if self.alias is None or self.alias_offset is None:
            return
        around = buffer_of(self.alias)
        offset = self.alias_offset.value.data
        if offset < 0 or offset + self.size > around.size:
            raise VerifyException(
                f'"{self.buffer_name.data}" takes bytes {offset} to'
                f' {offset + self.size} of "{around.buffer_name.data}", which has'
                f" {around.size}"
            )
        there = None if around.place is None else around.place + offset
        if None not in (self.place, there) and self.place != there:
            raise VerifyException(
                f'"{self.buffer_name.data}" lies at {self.place}, its alias at {there}'
            )

    @classmethod
    def parse(cls, parser: Parser) -> BufferOp:
        purpose = parser.parse_identifier()
        name = parser.parse_str_literal()
        size = parser.parse_integer(allow_boolean=False)
        parser.parse_keyword("bytes")
        parser.parse_keyword("on")
        tiles = TilesAttr.parse_parameter(parser)
        align = parse_optional_count(parser, "align", ALIGN)
        region = "any"
        if parser.parse_optional_keyword("region"):
            region = parser.parse_identifier()
        live = _parse_lifetime(parser)
        alias, offset = None, 0
        if parser.parse_optional_keyword("inside"):
            alias = parse_buffer(parser)
            if parser.parse_optional_punctuation("+"):
                offset = parse_count(parser)
        address = None
        if parser.parse_optional_keyword("at"):
            address = parse_count(parser)
        op = BufferOp(
            name,
            size,
            tiles,
            purpose=purpose,
            live=live,
            align=align,
            region=region,
            alias=alias,
            alias_offset=offset,
            address=address,
        )
        op.result.name_hint = None
        finish(op, parser)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.purpose.data} ")
        printer.print_string_literal(self.buffer_name.data)
        printer.print_string(f" {self.size} bytes on ")
        self.tiles.print_parameter(printer)
        if self.align.value.data != ALIGN:
            printer.print_string(f" align {self.align.value.data}")
        if self.region.data != "any":
            printer.print_string(f" region {self.region.data}")
        if self.live.get_values():
            ranges = ", ".join(f"[{first}, {end})" for first, end in self.lifetime)
            printer.print_string(f" live {ranges}")
        if self.alias is not None and self.alias_offset is not None:
            printer.print_string(" inside ")
            printer.print_ssa_value(self.alias)
            if self.alias_offset.value.data:
                printer.print_string(f" + {self.alias_offset.value.data}")
        if self.place is not None:
            printer.print_string(f" at {self.place}")
        print_end(printer, self)


def buffer_of(value: SSAValue) -> BufferOp:
    """The buffer that a value is."""
    if isinstance(value, OpResult) and isinstance(value.op, BufferOp):
        return value.op
    raise VerifyException("an operand must be the result of a memory.buffer")


def storage_of(value: SSAValue) -> BufferOp:
    """The buffer in which this one lies, and which lies in no other."""
    buffer = buffer_of(value)
    while buffer.alias is not None:
        buffer = buffer_of(buffer.alias)
    return buffer


def parse_buffer(parser: Parser) -> SSAValue:
    """An operand that is a buffer."""
    return parser.resolve_operand(parser.parse_unresolved_operand(), BUFFER)


def check_word(what: str, word: str, words: Collection[str]) -> None:
    """Refuses a word that is none of those known."""
    if word not in words:
        known = ", ".join(words)
        raise VerifyException(f"{what} '{word}' is none of {known}")


def _parse_lifetime(parser: Parser) -> Lifetime:
    """`live [0, 3), [5, 6)`; nothing is never."""
    ranges: list[tuple[int, int]] = []
    if parser.parse_optional_keyword("live") is None:
        return ()
    while True:
        parser.parse_punctuation("[")
        first = parse_count(parser)
        parser.parse_punctuation(",")
        ranges.append((first, parse_count(parser)))
        parser.parse_punctuation(")")
        if parser.parse_optional_punctuation(",") is None:
            return tuple(ranges)


def check_block(buffer: BufferOp, layout: Layout) -> None:
    """Refuses a layout whose blocks are larger than the buffer."""
    if layout.tile_bytes > buffer.size:
        raise VerifyException(
            f'"{buffer.buffer_name.data}" has {buffer.size} bytes, its layout takes'
            f" {layout.tile_bytes} a tile"
        )
