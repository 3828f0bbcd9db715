"""The options of `tile-sweep`, read without importing anything of the compiler."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tiledialect import __version__
from tiledialect.diagnostics import Usage
from tiledialect.tools.command_line import Parser

TIMEOUT_SECONDS = 600.0


@dataclass
class Options:
    """What the command line says; None: not given."""

    workload: str | None = None
    batches: list[int] | None = None
    budgets: list[str] = field(default_factory=lambda: ["default"])
    precision: list[str] | None = None
    blocks: int | None = None
    machine: str | None = None
    reserve: str | None = None
    output: str = ""
    jobs: int | None = None
    timeout: float = TIMEOUT_SECONDS
    resume: bool = False
    scheduler: str | None = None
    quiet: bool = False
    verbose: bool = False
    list_workloads: bool = False
    given: frozenset[str] = frozenset()  # of the options that say what is swept


SWEPT = ("batches", "budgets", "precision", "blocks", "machine", "reserve")


def parse_options(arguments: Sequence[str]) -> Options:
    """The options of a command line. Raises Usage; `--help` prints and exits."""
    parser = _make_parser()
    found = parser.read(arguments, argparse.Namespace(), "workload")
    values = vars(found)
    options = Options(**values, given=frozenset(values) & frozenset(SWEPT))
    if not options.list_workloads:
        _check(options)
    return options


def _check(options: Options) -> None:
    if not options.output:
        raise Usage("-o DIR is needed: the folder of the sweep")
    if options.workload is None and not options.resume:
        raise Usage("name a workload (--list-workloads) or a file that ends in .mlir")
    if options.workload is None and options.given:
        name = min(options.given)
        raise Usage(f"--{name} needs a workload; --resume alone takes all from DIR")
    if options.scheduler is not None and options.jobs is not None:
        raise Usage(
            "--jobs is for this machine: a --scheduler's workers take what they can"
        )
    if options.workload is not None and options.workload.endswith(".mlir"):
        for name in ("batches", "precision", "blocks"):
            if name in options.given:
                raise Usage(f"--{name} is for named workloads, not for a file")


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) < 1 << 31:
        raise argparse.ArgumentTypeError(f"'{text}' is no positive whole number")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds above 0")
    return value


def _words(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise argparse.ArgumentTypeError(f"'{text}' has an empty item")
    return words


def _numbers(text: str) -> list[int]:
    return [_positive(word) for word in _words(text)]


def _make_parser() -> Parser:
    parser = Parser(
        prog="tile-sweep",
        description="Compile, simulate and check a program under many budgets.",
        epilog="Exit codes: 0 every case is a row, infeasible ones included; 1 a case"
        " was refused, ran out of time or failed its check; 2 wrong usage.",
    )
    parser.add_argument(
        "workload", nargs="?", help="a named workload, or a file that ends in .mlir"
    )
    _add_case_options(parser)
    _add_run_options(parser)
    parser.add_argument("--verbose", action="store_true", help="traceback of a fault")
    parser.add_argument(
        "--list-workloads", action="store_true", help="print the names, and exit"
    )
    parser.add_argument(
        "-v", "--version", action="version", version=f"tile-sweep {__version__}"
    )
    return parser


def _add_case_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--batches", type=_numbers, metavar="N,…", help="batches of a workload (1)"
    )
    parser.add_argument(
        "--budgets",
        type=_words,
        metavar="SIZE,…",
        help="budgets per tile: bytes, KiB, MiB, GiB, `default` or `max` (default)",
    )
    parser.add_argument(
        "--precision",
        type=_words,
        metavar="P,…",
        help="fp8 or fp16 (fp8); with budgets of its own as in fp8,fp16:default",
    )
    parser.add_argument(
        "--blocks", type=_positive, metavar="N", help="a chain of N blocks (1)"
    )
    parser.add_argument(
        "--machine", metavar="NAME|FILE", help="the machine (the program's own)"
    )
    parser.add_argument(
        "--reserve", metavar="SIZE", help="bytes of every tile that are not ours"
    )


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="DIR", help="the folder of the sweep")
    parser.add_argument(
        "--jobs", type=_positive, metavar="N", help="cases side by side (1)"
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        help=f"of a build, and of a simulation ({TIMEOUT_SECONDS:g})",
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on with a sweep that was stopped"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="run the cases on a Dask cluster"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, no table")
