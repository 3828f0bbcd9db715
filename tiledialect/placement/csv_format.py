"""Placement problems as CSV: the columns of the minimalloc benchmarks.

Columns id, lower, upper, size and, where wanted, alignment, gaps, offset, hint;
the older names buffer, start, end are the same as id, lower, upper. Columns are
found by name, never by position. A gap "5-8" takes the steps [5, 8) out of the
lifetime; several are separated by blanks. A narrower window inside a gap
("5-8@0:16") is refused.

Four more columns say what the problem of a tile may also ask for: low and high, the
range of addresses that a buffer lies in; apart, the ids (separated by blanks) whose
memory elements it must not touch; alias, "id+bytes", the buffer that it is a part of.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from io import StringIO
from itertools import pairwise

import numpy as np

from tiledialect.placement.problem import (
    ADDRESS_LIMIT,
    Ints,
    Lifetime,
    Placement,
    Problem,
    plain_problem,
    within,
)

OLD_NAMES = {"buffer": "id", "start": "lower", "end": "upper", "begin": "lower"}
REQUIRED = ("id", "lower", "upper", "size")
RULES = ("low", "high", "apart", "alias")
COLUMNS = (*REQUIRED, "alignment", "hint", "gaps", "offset", *RULES)
SIZE_LIMIT = 1 << 63


class CsvError(ValueError):
    """A file that is no placement problem; line and column count from 1."""

    def __init__(self, message: str, line: int, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True)
class Table:
    """A problem as read, and the line of each buffer."""

    problem: Problem
    lines: tuple[int, ...]


@dataclass(frozen=True)
class _Row:
    """The cells of one line by column name."""

    cells: dict[str, str]
    line: int
    column: dict[str, int]

    def number(self, name: str, default: int | None = None) -> int:
        """The cell as an integer that fits 64 bits."""
        text = self.cells.get(name, "").strip()
        if not text and default is not None:
            return default
        if not re.fullmatch(r"[+-]?[0-9]+", text):
            raise self.error(name, f"{name} is '{text}', not an integer")
        value = int(text) if len(text) < 40 else SIZE_LIMIT
        if not -SIZE_LIMIT <= value < SIZE_LIMIT:
            raise self.error(name, f"{name} {text} does not fit 64 bits")
        return value

    def error(self, name: str, message: str) -> CsvError:
        return CsvError(message, self.line, self.column.get(name, 1))


def read_problem(text: str, capacity: int, element_edges: Ints | None = None) -> Table:
    """The problem of a CSV text on one region [0, capacity). The column apart needs the
    borders of memory elements, bytes."""
    rows = _rows(text)
    seen: dict[str, int] = {}
    for row in rows:
        name = row.cells["id"].strip()
        if name in seen:
            raise row.error("id", f"id {name} is also on line {seen[name]}")
        seen[name] = row.line
    sizes = [_size(row) for row in rows]
    problem = plain_problem(
        tuple(seen),
        np.array(sizes, np.int64),
        tuple(_lifetime(row) for row in rows),
        capacity,
    )
    problem = replace(
        problem,
        align=np.array([_alignment(row) for row in rows], np.int64),
        pinned=np.array([_pin(row) for row in rows], np.int64),
        low=np.array([_address(row, "low", 0) for row in rows], np.int64),
        high=np.array([_address(row, "high", capacity) for row in rows], np.int64),
        apart=_apart(rows, list(seen), element_edges),
        aliases=_aliases(rows, list(seen)),
    )
    if element_edges is not None:
        problem = replace(problem, element_edges=element_edges)
    problem = within(problem, capacity)
    return Table(problem, tuple(row.line for row in rows))


def _rows(text: str) -> list[_Row]:
    reader = csv.reader(StringIO(text.removeprefix("\ufeff")), strict=True)
    rows: list[_Row] = []
    names: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if names is None:
                names = _header(cells, reader.line_num)
                continue
            rows.append(_row(names, cells, reader.line_num))
    except csv.Error as error:
        raise CsvError(str(error), reader.line_num) from error
    if names is None:
        raise CsvError("the file is empty; wanted id,lower,upper,size", 1)
    return rows


def _header(cells: list[str], line: int) -> list[str]:
    """The column names, old spellings made new."""
    names: list[str] = []
    column = 1
    for cell in cells:
        name = OLD_NAMES.get(cell.strip().lower(), cell.strip().lower())
        if name not in COLUMNS:
            known = ", ".join(COLUMNS)
            raise CsvError(
                f"unknown column '{cell.strip()}'; known: {known}", line, column
            )
        if name in names:
            raise CsvError(f"column '{cell.strip()}' is there twice", line, column)
        names.append(name)
        column += len(cell) + 1
    for name in REQUIRED:
        if name not in names:
            raise CsvError(f"no column '{name}'", line)
    return names


def _row(names: list[str], cells: list[str], line: int) -> _Row:
    if len(cells) != len(names):
        raise CsvError(f"{len(cells)} cells under {len(names)} columns", line)
    starts = np.cumsum([1, *(len(cell) + 1 for cell in cells)]).tolist()
    column = dict(zip(names, starts, strict=False))
    return _Row(dict(zip(names, cells, strict=True)), line, column)


def _size(row: _Row) -> int:
    size = row.number("size")
    if size < 0:
        raise row.error("size", f"size {size} is negative")
    return size


def _alignment(row: _Row) -> int:
    align = row.number("alignment", 1)
    if not 1 <= align <= ADDRESS_LIMIT:
        raise row.error("alignment", f"alignment {align} is not positive")
    return align


def _pin(row: _Row) -> int:
    pin = row.number("offset", -1)
    if row.cells.get("offset", "").strip() and not 0 <= pin <= ADDRESS_LIMIT:
        raise row.error("offset", f"offset {pin} is no address")
    return pin


def _address(row: _Row, name: str, default: int) -> int:
    address = row.number(name, min(default, ADDRESS_LIMIT))
    if not 0 <= address <= ADDRESS_LIMIT:
        raise row.error(name, f"{name} {address} is no address")
    return address


def _position(row: _Row, column: str, ids: list[str], name: str) -> int:
    if name not in ids:
        raise row.error(column, f"{column} names '{name}', which is no id")
    return ids.index(name)


def _apart(rows: list[_Row], ids: list[str], edges: Ints | None) -> Ints:
    """Pairs of buffers in different memory elements, each once."""
    pairs: dict[tuple[int, int], None] = {}
    for mine, row in enumerate(rows):
        for name in row.cells.get("apart", "").split():
            other = _position(row, "apart", ids, name)
            if edges is None:
                message = "buffers kept apart need the memory elements of a machine"
                raise row.error("apart", message)
            pairs[min(mine, other), max(mine, other)] = None
    return np.array(list(pairs), np.int64).reshape(-1, 2)


def _aliases(rows: list[_Row], ids: list[str]) -> tuple[tuple[int, int, int], ...]:
    found: list[tuple[int, int, int]] = []
    for mine, row in enumerate(rows):
        text = row.cells.get("alias", "").strip()
        if not text:
            continue
        match = re.fullmatch(r"(.+)\+([0-9]{1,18})", text)
        if match is None:
            raise row.error("alias", f"alias '{text}' is not of the form ID+BYTES")
        parent = _position(row, "alias", ids, match[1])
        found.append((mine, parent, int(match[2])))
    return tuple(found)


def _lifetime(row: _Row) -> Lifetime:
    """[lower, upper) less the gaps; empty where upper is not above lower."""
    lower, upper = row.number("lower"), row.number("upper")
    if upper < lower:
        raise row.error("upper", f"upper {upper} is below lower {lower}")
    spans: list[tuple[int, int]] = []
    for start, end in _gaps(row):
        if start < lower or end > upper:
            raise row.error("gaps", f"gap {start}-{end} leaves [{lower}, {upper})")
        if start > lower:
            spans.append((lower, start))
        lower = end
    if upper > lower:
        spans.append((lower, upper))
    return tuple(spans)


def _gaps(row: _Row) -> list[tuple[int, int]]:
    gaps: list[tuple[int, int]] = []
    for word in row.cells.get("gaps", "").split():
        match = re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})", word)
        if match is None:
            message = f"gap '{word}' is not of the form START-END"
            if re.fullmatch(r"[0-9]+-[0-9]+[@:].*", word):
                message = f"gap '{word}' has a window, which is not supported"
            raise row.error("gaps", message)
        start, end = int(match[1]), int(match[2])
        if end <= start or (gaps and start < gaps[-1][1]):
            raise row.error("gaps", f"gap '{word}' is empty or out of order")
        gaps.append((start, end))
    return gaps


def write_problem(problem: Problem, placement: Placement | None = None) -> str:
    """The problem as CSV; a placement's addresses go into the column offset."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names: list[str] = list(REQUIRED)
    if np.any(problem.align != 1):
        names.append("alignment")
    if any(len(lifetime) > 1 for lifetime in problem.lifetimes):
        names.append("gaps")
    if placement is not None or np.any(problem.pinned >= 0):
        names.append("offset")
    names += _rules_of(problem)
    writer.writerow(names)
    for index in range(len(problem.names)):
        cells = _cells(problem, placement, index)
        writer.writerow([cells[name] for name in names])
    return out.getvalue()


def _rules_of(problem: Problem) -> list[str]:
    """The columns of rules that some buffer has."""
    found: list[str] = []
    if len(problem.names) and (problem.low.max() > 0 or np.ptp(problem.high) > 0):
        found += ["low", "high"]
    if problem.apart.size:
        found.append("apart")
    if problem.aliases:
        found.append("alias")
    return found


def _cells(
    problem: Problem, placement: Placement | None, index: int
) -> dict[str, str | int]:
    lifetime = problem.lifetimes[index] or ((0, 0),)
    gaps = pairwise(lifetime)
    address = problem.pinned[index]
    if placement is not None:
        address = placement.addresses[index]
    return {
        "id": problem.names[index],
        "lower": lifetime[0][0],
        "upper": lifetime[-1][1],
        "size": int(problem.bytes[index]),
        "alignment": int(problem.align[index]),
        "gaps": " ".join(f"{one[1]}-{two[0]}" for one, two in gaps),
        "offset": int(address) if address >= 0 else "",
        "low": int(problem.low[index]),
        "high": int(problem.high[index]),
        "apart": " ".join(
            problem.names[int(other)]
            for other in problem.apart[problem.apart[:, 0] == index, 1]
        ),
        "alias": " ".join(
            f"{problem.names[parent]}+{offset}"
            for child, parent, offset in problem.aliases
            if child == index
        ),
    }
