"""Tables: plain text for a terminal, Markdown, and JSON for the page.

A cell is a text, already formatted. Columns of figures are flush right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

NOTHING = "-"


class TableData(TypedDict):
    """A table for the page."""

    title: str
    columns: list[str]
    figures: list[bool]
    rows: list[list[str]]
    notes: list[str]


@dataclass(frozen=True)
class Table:
    """Rows of texts under columns. `figures` says which columns are flush right."""

    title: str
    columns: tuple[str, ...]
    figures: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def of(self, label: str) -> Table:
        """The same table, with the sweep that it is of in its title."""
        return replace(self, title=f"{label}: {self.title}")

    def text(self) -> str:
        """For a terminal: columns aligned by spaces."""
        lines = [self.columns, *self.rows]
        widths = [
            max(len(line[at]) for line in lines) for at in range(len(self.columns))
        ]
        body = ["  ".join(self._cells(line, widths)).rstrip() for line in lines]
        return "\n".join([self.title, "", *body, *self.notes]) + "\n"

    def _cells(self, line: Sequence[str], widths: Sequence[int]) -> list[str]:
        return [
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(line, widths, self.figures, strict=True)
        ]

    def markdown(self, level: int = 2) -> str:
        """As a section of a Markdown document."""
        rule = ["---:" if flush else "---" for flush in self.figures]
        lines = [_row(map(_escape, self.columns)), _row(rule)]
        lines += [_row(map(_escape, row)) for row in self.rows]
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join(["#" * level + f" {self.title}", "", *lines, *notes]) + "\n"

    def data(self) -> TableData:
        return {
            "title": self.title,
            "columns": list(self.columns),
            "figures": list(self.figures),
            "rows": [list(row) for row in self.rows],
            "notes": list(self.notes),
        }


def _row(cells: Sequence[str] | map[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def count(value: int | None) -> str:
    """A whole number with its thousands apart."""
    return NOTHING if value is None else f"{value:,}"


def seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def small(value: float | None) -> str:
    """An error: three significant digits."""
    return NOTHING if value is None else f"{value:#.3g}"


def percent(part: float | None, whole: float | None) -> str:
    """How far `part` lies from `whole`, signed."""
    if part is None or not whole:
        return NOTHING
    return f"{(part - whole) / whole * 100:+.1f} %"


def share(part: float | None, whole: float | None) -> str:
    """`part` in hundredths of `whole`."""
    if part is None or not whole:
        return NOTHING
    return f"{part / whole * 100:.1f} %"


def ratio(value: float | None, base: float | None) -> str:
    """`value` over `base`."""
    if value is None or not base:
        return NOTHING
    return f"{value / base:.3f}"
