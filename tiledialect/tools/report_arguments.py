"""The options of `tile-report`, read without importing numpy or a dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tiledialect import __version__
from tiledialect.tools.command_line import Parser


@dataclass
class Options:
    """What the command line says. `output` is None where the first sweep's folder is
    meant."""

    folders: list[str] = field(default_factory=list[str])
    output: str | None = None
    explain: bool = False
    curves: bool = False
    quiet: bool = False
    verbose: bool = False


def parse_options(arguments: Sequence[str]) -> Options:
    """The options of a command line. Raises Usage; `--help` prints and exits."""
    parser = _make_parser()
    options = parser.read(arguments, Options(), "folder")
    return options


def _make_parser() -> Parser:
    parser = Parser(
        prog="tile-report",
        description="Tables and one page of finished sweeps. Prints the tables and"
        " writes report.md, report.csv, report.json and report.html.",
        epilog="Exit codes: 0 done; 1 a sweep is damaged, or a file cannot be written;"
        " 2 wrong usage.",
    )
    parser.add_argument(
        "folders",
        nargs="+",
        metavar="DIR",
        help="what `tile-sweep -o DIR` wrote; the second and later ones are compared"
        " with the first",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="where the report goes (the first DIR)",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="run tile-explain on every case that has no explain.json; takes as long"
        " as planning",
    )
    parser.add_argument(
        "--curves",
        action="store_true",
        help="run tile-opt --pareto once for every program, to draw all its plans",
    )
    parser.add_argument("--quiet", action="store_true", help="print no tables")
    parser.add_argument("--verbose", action="store_true", help="traceback of a fault")
    parser.add_argument(
        "-v", "--version", action="version", version=f"tile-report {__version__}"
    )
    return parser
