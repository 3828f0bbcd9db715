"""Views: where the elements of a codelet's operand lie in its buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tiledialect.dialects.buffers import BufferOp, check_word
from tiledialect.dialects.syntax import (
    LARGEST,
    Strides,
    parse_count,
    parse_optional_count,
    parse_strides,
    strides_text,
)
from tiledialect.formats import FORMATS


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
        if any(n == 0 and axis for axis, n in zip(self.axes, extents, strict=True)):
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


def parse_named_view(parser: AttrParser, dims: Sequence[str]) -> View:
    """A view whose digits stand behind the names of their dimensions."""
    format, scale, offset = _parse_format(parser)
    axes: dict[str, Strides] = {}
    while (name := parser.parse_optional_keyword_in(dims)) is not None:
        axes[name] = parse_strides(parser)
    return View(format, tuple(axes.get(dim, ()) for dim in dims), offset, scale)


def named_view_text(view: View, dims: Sequence[str]) -> str:
    words = [_format_text(view)]
    words += [
        f"{dim} {strides_text(digits)}"
        for dim, digits in zip(dims, view.axes, strict=False)
        if digits
    ]
    return " ".join(words)


def check_view(
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
