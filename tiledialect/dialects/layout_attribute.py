"""The attribute that prints a layout.

`#plan.layout<[729 / 9 step 162 / 6 step 1 grain 14, 1152] bytes 1 order [1, 0, 1:32]>`
cuts axis 0 of 729 elements twice and axis 1 not at all. What has its default value is
left out: `step 0`, `grain 1`, a row-major order, `first 0`, no groups, runs `by 8`.
"""

from __future__ import annotations

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tiledialect.dialects.syntax import parse_count, parse_optional_count
from tiledialect.layout import SPREAD_BYTES, Cut, Factor, Group, Layout, Window


@irdl_attr_definition
class LayoutAttr(Data[Layout]):
    """Which tile holds which part of a tensor, and in what byte order."""

    name = "plan.layout"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Layout:
        with parser.in_angle_brackets():
            start = parser.pos
            try:
                return _parse_layout(parser)
            except ValueError as error:
                parser.raise_error(str(error), start, parser.pos)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{layout_text(self.data)}>")


def layout_text(layout: Layout) -> str:
    """The text between the angle brackets."""
    axes = zip(layout.shape, layout.cuts, strict=True)
    words = ["[" + ", ".join(_axis_text(*axis) for axis in axes) + "]"]
    words.append(f"bytes {layout.element_bytes}")
    if layout.order != Layout.row_major(len(layout.shape)):
        words.append("order [" + ", ".join(map(_factor_text, layout.order)) + "]")
    if layout.first:
        words.append(f"first {layout.first}")
    if layout.replicas:
        words.append(f"replicas {_groups_text(layout.replicas)}")
    if layout.partial is not None:
        words.append(f"partial {_group_text(layout.partial)}")
    if layout.spread:
        words.append(f"spread {_groups_text(layout.spread)}")
    if layout.spread_bytes != SPREAD_BYTES:
        words.append(f"by {layout.spread_bytes}")
    if layout.packed:
        words.append("packed")
    if layout.windows:
        words.append(f"window {_windows_text(layout.windows)}")
    if layout.ranges:
        words.append(f"range {_windows_text(layout.ranges)}")
    return " ".join(words)


def _windows_text(windows: tuple[Window, ...]) -> str:
    return "[" + ", ".join(map(_window_text, windows)) + "]"


def _window_text(window: Window) -> str:
    return f"{window.axis} from {window.start} for {window.count}"


def _axis_text(extent: int, cuts: tuple[Cut, ...]) -> str:
    return " / ".join([str(extent), *map(_cut_text, cuts)])


def _cut_text(cut: Cut) -> str:
    words = [str(cut.parts)]
    if cut.stride:
        words.append(f"step {cut.stride}")
    if cut.grain != 1:
        words.append(f"grain {cut.grain}")
    return " ".join([*words, "balanced"] if cut.balanced else words)


def _factor_text(factor: Factor) -> str:
    return f"{factor.axis}:{factor.count}" if factor.count else str(factor.axis)


def _group_text(group: Group) -> str:
    return f"{group.count} step {group.stride}"


def _groups_text(groups: tuple[Group, ...]) -> str:
    return "[" + ", ".join(map(_group_text, groups)) + "]"


def _parse_layout(parser: AttrParser) -> Layout:
    square = parser.Delimiter.SQUARE
    axes = parser.parse_comma_separated_list(square, lambda: _parse_axis(parser))
    parser.parse_keyword("bytes")
    element_bytes = parse_count(parser)
    order = Layout.row_major(len(axes))
    if parser.parse_optional_keyword("order"):
        order = tuple(
            parser.parse_comma_separated_list(square, lambda: _parse_factor(parser))
        )
    first = parse_optional_count(parser, "first", 0)
    replicas = _parse_groups(parser, "replicas")
    partial = None
    if parser.parse_optional_keyword("partial"):
        partial = _parse_group(parser)
    return Layout(
        shape=tuple(extent for extent, _ in axes),
        element_bytes=element_bytes,
        cuts=tuple(cuts for _, cuts in axes),
        order=order,
        first=first,
        replicas=replicas,
        partial=partial,
        spread=_parse_groups(parser, "spread"),
        spread_bytes=parse_optional_count(parser, "by", SPREAD_BYTES),
        packed=parser.parse_optional_keyword("packed") is not None,
        windows=_parse_windows(parser, "window"),
        ranges=_parse_windows(parser, "range"),
    )


def _parse_windows(parser: AttrParser, keyword: str) -> tuple[Window, ...]:
    if parser.parse_optional_keyword(keyword) is None:
        return ()
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_window(parser)
        )
    )


def _parse_window(parser: AttrParser) -> Window:
    axis = parse_count(parser)
    parser.parse_keyword("from")
    start = parse_count(parser)
    parser.parse_keyword("for")
    return Window(axis, start, parse_count(parser, 1))


def _parse_axis(parser: AttrParser) -> tuple[int, tuple[Cut, ...]]:
    extent = parse_count(parser)
    cuts: list[Cut] = []
    while parser.parse_optional_punctuation("/"):
        cuts.append(
            Cut(
                parts=parse_count(parser, 1),
                stride=parse_optional_count(parser, "step", 0),
                grain=parse_optional_count(parser, "grain", 1),
                balanced=parser.parse_optional_keyword("balanced") is not None,
            )
        )
    return extent, tuple(cuts)


def _parse_factor(parser: AttrParser) -> Factor:
    axis = parse_count(parser)
    if parser.parse_optional_punctuation(":") is None:
        return Factor(axis)
    return Factor(axis, parse_count(parser))


def _parse_groups(parser: AttrParser, keyword: str) -> tuple[Group, ...]:
    if parser.parse_optional_keyword(keyword) is None:
        return ()
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_group(parser)
        )
    )


def _parse_group(parser: AttrParser) -> Group:
    count = parse_count(parser, 1)
    parser.parse_keyword("step")
    return Group(count, parse_count(parser))
