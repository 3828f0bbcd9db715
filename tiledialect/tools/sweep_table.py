"""The rows of a sweep as `tile-sweep` prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HEAD = ("case", "status", "cycles", "estimated", "bytes", "max error", "build s")


def table(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line a case, columns aligned; where it is no plan, the reason behind."""
    rows = [HEAD, *(_cells(record) for record in records)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    reasons = ["", *(record["reason"] or "" for record in records)]
    lines: list[str] = []
    for row, reason in zip(rows, reasons, strict=True):
        cells = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join([*cells, reason]).rstrip())
    return lines


def _cells(record: Mapping[str, Any]) -> tuple[str, ...]:
    error = record["max_abs_error"]
    return (
        record["name"],
        record["status"],
        _number(record["cycles"]),
        _number(record["estimated_cycles"]),
        _number(record["placed_bytes"]),
        "-" if error is None else f"{error:.4f}",
        f"{record['build_seconds']:.1f}",
    )


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
