"""The options of `tile-explain`, read without importing anything of the compiler."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field

from tiledialect import __version__
from tiledialect.diagnostics import Usage
from tiledialect.tools.command_line import Parser


@dataclass
class Options:
    """What the command line says. None is: not given."""

    input_file: str = "-"
    plan_budget: str = "default"
    machine: str | None = None
    reserve: str | None = None
    constraints: str | None = None
    why_not: list[str] = field(default_factory=list[str])
    against: str | None = None
    cross_budgets: list[str] = field(default_factory=list[str])
    cap: int | None = None
    json: str | None = None
    verbose: bool = False


def parse_options(arguments: Sequence[str]) -> Options:
    """The options of a command line. Raises Usage; `--help` prints and exits."""
    parser = _make_parser()
    options = parser.read(arguments, Options(), "program")
    if options.cap is not None and not options.cross_budgets:
        raise Usage("--cap N goes with --cross-budgets")
    if options.cross_budgets and (options.why_not or options.against is not None):
        raise Usage("--cross-budgets goes without --why-not and --against")
    return options


def _budgets(text: str) -> list[str]:
    budgets = [word.strip() for word in text.split(",")]
    if not all(budgets) or len(set(budgets)) < len(budgets):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of different budgets")
    return budgets


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) < 1 << 31:
        raise argparse.ArgumentTypeError(f"'{text}' is no count from 1 up")
    return int(text)


def _make_parser() -> Parser:
    parser = Parser(
        prog="tile-explain",
        description="Say why a program's plan is as it is.",
        epilog="Exit codes: 0 done; 1 refused; 2 wrong usage; 3 no plan fits.",
    )
    parser.add_argument(
        "input_file", nargs="?", help="the program; `-` or nothing reads stdin"
    )
    parser.add_argument(
        "--plan-budget", metavar="SIZE", help="the budget of the plan (default)"
    )
    parser.add_argument("--machine", metavar="NAME|FILE", help="as for tile-opt")
    parser.add_argument("--reserve", metavar="SIZE", help="as for tile-opt")
    parser.add_argument(
        "--constraints", metavar="FILE", help="what is asked of the plan, as JSON"
    )
    parser.add_argument(
        "--why-not",
        metavar="'op=NAME, grid=m9 n27, steps=2'",
        action="append",
        help="why such a candidate lost; may be repeated",
    )
    parser.add_argument(
        "--against",
        metavar="FILE|SIZE",
        help="a second plan beside it: of constraints in a .json file, or a budget",
    )
    parser.add_argument(
        "--cross-budgets",
        metavar="SIZE,SIZE",
        type=_budgets,
        help="what each budget selects, estimates and simulates",
    )
    parser.add_argument(
        "--cap",
        metavar="N",
        type=_count,
        help="and what a catalogue of N candidates a group would have lost",
    )
    parser.add_argument("--json", metavar="FILE", help="where all of it goes as JSON")
    parser.add_argument("--verbose", action="store_true", help="traceback of a fault")
    parser.add_argument("-v", "--version", action="version", version=_version())
    return parser


def _version() -> str:
    return f"tile-explain {__version__}"
