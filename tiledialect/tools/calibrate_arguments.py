"""The options of `tile-calibrate`, read without importing numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tiledialect import __version__
from tiledialect.tools.command_line import Parser

ROWS_NAME = "hardware_rows_c600.csv"


@dataclass
class Options:
    """What the command line says. None is: not given."""

    machine: str = "ipu-c600"
    rows: str | None = None
    json: str | None = None
    refit: bool = False
    plans: bool = False
    verbose: bool = False


def parse_options(arguments: Sequence[str]) -> Options:
    """The options of a command line. Raises Usage; `--help` prints and exits."""
    return _make_parser().read(arguments, Options(), "table of rows")


def _make_parser() -> Parser:
    parser = Parser(
        prog="tile-calibrate",
        description="Compare codelet formulas with measured kernel rows.",
        epilog="Exit codes: 0 the errors hold; 1 they do not, or refused; 2 wrong"
        " usage.",
    )
    parser.add_argument(
        "--machine",
        metavar="NAME|FILE",
        help="whose formulas (ipu-c600 unless named)",
    )
    parser.add_argument(
        "--rows",
        metavar="CSV",
        help=f"measured rows ({ROWS_NAME} in a data folder beside the checkout)",
    )
    parser.add_argument("--json", metavar="FILE", help="where a report goes")
    parser.add_argument(
        "--refit",
        action="store_true",
        help="fit the coefficients to the rows and print them as TOML",
    )
    parser.add_argument(
        "--plans",
        action="store_true",
        help="forced plans of a whole program against the simulator instead",
    )
    parser.add_argument("--verbose", action="store_true", help="traceback of a fault")
    parser.add_argument(
        "-v", "--version", action="version", version=f"tile-calibrate {__version__}"
    )
    return parser
