"""The options of `tile-run`, read without importing numpy or the runtime."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tiledialect import __version__
from tiledialect.diagnostics import Usage
from tiledialect.tools.command_line import Parser


@dataclass
class Options:
    """What the command line says. None is: not given."""

    package: str = ""
    check: bool = False
    max_abs_error: float | None = None
    inputs: str | None = None
    seed: int = 0
    outputs: str | None = None
    json: str | None = None
    profile: str | None = None
    machine: str | None = None
    quiet: bool = False
    verbose: bool = False


def parse_options(arguments: Sequence[str]) -> Options:
    """The options of a command line. Raises Usage; `--help` prints and exits."""
    parser = _make_parser()
    options = parser.read(arguments, Options(), "package")
    if options.max_abs_error is not None and not options.check:
        raise Usage("--max-abs-error needs --check")
    return options


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number below 2^63")
    return int(text)


def _error(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of at least 0")
    return value


def _make_parser() -> Parser:
    parser = Parser(
        prog="tile-run",
        description="Simulate a package; print cycles, bytes and error.",
        epilog="Exit codes: 0 done; 1 refused, or the check failed; 2 wrong usage.",
    )
    parser.add_argument("package", help="the file that `tile-opt -t package` wrote")
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare the results with the reference, and fail beyond the bound",
    )
    parser.add_argument(
        "--max-abs-error",
        type=_error,
        metavar="X",
        help="the bound of --check (otherwise derived from formats and results)",
    )
    parser.add_argument(
        "--inputs",
        metavar="FILE.npz",
        help="an array for every input and parameter (otherwise seeded ones)",
    )
    parser.add_argument("--seed", type=_seed, metavar="N", help="of the arrays (0)")
    parser.add_argument("--outputs", metavar="FILE.npz", help="where the results go")
    parser.add_argument("--json", metavar="FILE", help="where a report goes")
    parser.add_argument(
        "--profile", metavar="FILE", help="where a Chrome trace of the steps goes"
    )
    parser.add_argument(
        "--machine", metavar="NAME|FILE", help="run it on another machine"
    )
    parser.add_argument("--quiet", action="store_true", help="no table of steps")
    parser.add_argument("--verbose", action="store_true", help="traceback of a fault")
    parser.add_argument("-v", "--version", action="version", version=_version())
    return parser


def _version() -> str:
    return f"tile-run {__version__}"
