"""tile-place: addresses for the buffers of a CSV file.

Reads   a placement problem in the minimalloc columns, a capacity.
Writes  one line of figures; with -o the problem with its addresses, with --json
        a report. Files appear whole or not at all.
Exits   0 placed; 1 bad input; 2 wrong usage; 3 does not fit, proven; 4 stopped.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np

from tiledialect.atomic import write_atomically
from tiledialect.placement.csv_format import (
    CsvError,
    Table,
    read_problem,
    write_problem,
)
from tiledialect.placement.problem import Placement, PlacementError
from tiledialect.placement.solve import DEFAULT_EFFORT, place
from tiledialect.sizes import SizeError, parse_size

EXIT_CODES = {"minimal": 0, "fits": 0, "infeasible": 3, "stopped": 4}
BAD_INPUT, BAD_USAGE = 1, 2


class _Parser(argparse.ArgumentParser):
    """Errors are one line; an unknown option gets the nearest known one."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USAGE, f"{self.prog}: error: {message}\n")

    def parse_strictly(self, arguments: list[str]) -> argparse.Namespace:
        options, unknown = self.parse_known_args(arguments)
        if unknown:
            known = list(self._option_string_actions)
            near = difflib.get_close_matches(unknown[0].split("=")[0], known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.error(f"unknown argument '{unknown[0]}'{hint}")
        return options


def size(text: str) -> int:
    """Bytes of a size such as 1048576, 256KiB, 1MiB."""
    try:
        return parse_size(text)
    except SizeError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def count(text: str) -> int:
    """A positive whole number."""
    if not re.fullmatch(r"[0-9]{1,15}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no positive whole number")
    return int(text)


def _parser() -> _Parser:
    parser = _Parser("tile-place", description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("problem", type=Path, help="CSV file")
    parser.add_argument(
        "--capacity", type=size, required=True, metavar="SIZE", help="bytes to fit in"
    )
    parser.add_argument(
        "--minimise", action="store_true", help="make the peak as low as possible"
    )
    parser.add_argument(
        "--alignment", type=count, default=1, help="of buffers that name none"
    )
    parser.add_argument(
        "--effort", type=count, default=DEFAULT_EFFORT, help="search nodes at most"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write a report")
    parser.add_argument(
        "-o", dest="output", type=Path, metavar="FILE", help="write the addresses"
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit code."""
    options = _parser().parse_strictly(sys.argv[1:] if arguments is None else arguments)
    path: Path = options.problem
    lines: tuple[int, ...] = ()
    try:
        table = _read(path, options.capacity, options.alignment)
        lines = table.lines
        placement = place(
            table.problem, minimise=options.minimise, effort=options.effort
        )
    except CsvError as error:
        return _complain(path, error.line, error.column, str(error), BAD_INPUT)
    except PlacementError as error:
        return _complain(path, _line(lines, error.buffers), 1, str(error), BAD_INPUT)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        return _complain(path, 1, 1, f"cannot be read: {reason}", BAD_INPUT)
    return _report(options, table, placement)


def _read(path: Path, capacity: int, alignment: int) -> Table:
    table = read_problem(path.read_text(encoding="utf-8"), capacity)
    align = table.problem.align
    aligned = replace(table.problem, align=np.where(align == 1, alignment, align))
    return replace(table, problem=aligned)


def _report(options: argparse.Namespace, table: Table, placement: Placement) -> int:
    """Prints and writes what was found."""
    placed = placement.status in ("minimal", "fits")
    outputs: list[tuple[Path | None, str]] = [
        (options.json, _json(options.capacity, table, placement))
    ]
    if placed:
        outputs.append((options.output, write_problem(table.problem, placement)))
    for path, text in outputs:
        try:
            if path is not None:
                write_atomically(path, text.encode())
        except OSError as error:
            reason = f"not written: {error.strerror}"
            return _complain(path or Path(), 1, 1, reason, BAD_INPUT)
    code = EXIT_CODES[placement.status]
    if not placed:
        line = _line(table.lines, placement.buffers)
        message = f"{placement.status}: {placement.reason}"
        return _complain(options.problem, line, 1, message, code)
    print(
        f"{placement.status}: peak {placement.peak} of {options.capacity} bytes, "
        f"live peak {placement.live_peak} in step {placement.live_peak_step}, "
        f"largest hole there {placement.largest_hole}, {placement.effort} nodes; "
        f"{placement.reason}"
    )
    return code


def _json(capacity: int, table: Table, placement: Placement) -> str:
    names = table.problem.names
    report = {
        "status": placement.status,
        "capacity": capacity,
        "peak": placement.peak,
        "footprint": placement.footprint,
        "bound": placement.bound,
        "live_peak": placement.live_peak,
        "live_peak_step": placement.live_peak_step,
        "largest_hole": placement.largest_hole,
        "reason": placement.reason,
        "effort": placement.effort,
        "buffers": [names[buffer] for buffer in placement.buffers],
        "addresses": dict(zip(names, placement.addresses.tolist(), strict=True)),
    }
    return json.dumps(report, indent=1) + "\n"


def _line(lines: tuple[int, ...], buffers: tuple[int, ...]) -> int:
    return lines[buffers[0]] if buffers else 1


def _complain(path: Path, line: int, column: int, message: str, code: int) -> int:
    print(f"{path}:{line}:{column}: error: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
