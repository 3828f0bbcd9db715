"""The options of `tile-place`, read without importing numpy."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tiledialect import __version__
from tiledialect.sizes import SizeError, parse_size
from tiledialect.tools.command_line import Parser


@dataclass
class Options:
    """What the command line says. None is: not given."""

    problem: str = ""
    capacity: int = 0
    minimise: bool = False
    alignment: int = 1
    effort: int | None = None
    machine: str | None = None
    json: str | None = None
    output: str | None = None
    verbose: bool = False


def parse_options(arguments: Sequence[str]) -> Options:
    """The options of a command line. Raises Usage; `--help` prints and exits."""
    return _make_parser().read(arguments, Options(), "problem")


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except SizeError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no positive whole number")
    return int(text)


def _make_parser() -> Parser:
    parser = Parser(
        prog="tile-place",
        description="Give the buffers of a CSV file addresses.",
        epilog="Exit codes: 0 placed; 1 bad input; 2 wrong usage; 3 does not fit,"
        " proven; 4 stopped.",
    )
    parser.add_argument(
        "problem", help="CSV file with the columns id, lower, upper, size"
    )
    parser.add_argument(
        "--capacity", type=_size, required=True, metavar="SIZE", help="bytes to fit in"
    )
    parser.add_argument(
        "--minimise", action="store_true", help="make the peak as low as possible"
    )
    parser.add_argument(
        "--alignment", type=_count, metavar="BYTES", help="of buffers that name none"
    )
    parser.add_argument(
        "--effort", type=_count, metavar="NODES", help="search nodes at most"
    )
    parser.add_argument(
        "--machine",
        metavar="NAME|FILE",
        help="whose memory elements the column apart is about",
    )
    parser.add_argument("--json", metavar="FILE", help="write a report")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write the addresses")
    parser.add_argument("--verbose", action="store_true", help="traceback of a fault")
    parser.add_argument(
        "-v", "--version", action="version", version=f"tile-place {__version__}"
    )
    return parser
