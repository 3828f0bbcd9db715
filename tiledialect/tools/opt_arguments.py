"""The options of `tile-opt`, read without importing anything of the compiler."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field

from tiledialect.tools.command_line import Parser

FLAGS = (
    ("--split-input-file", "treat the parts between `// -----` lines one by one"),
    ("--print-op-generic", "print operations in generic form"),
    ("--print-no-properties", "print properties as attributes, for older readers"),
    ("--print-debuginfo", "print the location of every operation"),
    ("--print-between-passes", "print the IR after each pass, to stderr"),
    ("--print-ir-after-all", "the same"),
    ("--time-passes", "print the seconds that each pass took, to stderr"),
    (
        "--print-estimates",
        "print each step's estimate beside its simulated cycles, to stderr",
    ),
    ("--verify-diagnostics", "print a failed verification to stdout and exit with 0"),
    ("--parsing-diagnostics", "print a failed parse to stdout and exit with 0"),
    (
        "--verify-certificate",
        "check the proof in tile.certificate and print what it proves; the module is"
        " printed to a file of -o only",
    ),
    ("--disable-verify", "do not verify the module before and after passes"),
    ("--allow-unregistered-dialect", "accept operations of unknown dialects"),
    ("--verbose", "show the operation of an error, or the traceback of a fault"),
    ("--list-passes", "print the passes and targets, and exit"),
)
"""Options that are on or off; each has its `--no-…`."""


@dataclass
class Options:
    """What the command line says. Texts are as written; None is: not given."""

    input_file: str = "-"
    output_file: str | None = None
    passes: str | None = None
    target: str = "mlir"
    plan_budget: str | None = None
    machine: str | None = None
    reserve: str | None = None
    constraints: str | None = None
    write_plan: str | None = None
    rerank: str | None = None
    pareto: str | None = None
    certificate: str | None = None
    stop_after: str | None = None
    print_ir_after: list[str] = field(default_factory=list[str])
    implicit_module: bool = True
    split_input_file: bool = False
    print_op_generic: bool = False
    print_no_properties: bool = False
    print_debuginfo: bool = False
    print_between_passes: bool = False
    print_ir_after_all: bool = False
    time_passes: bool = False
    print_estimates: bool = False
    verify_diagnostics: bool = False
    parsing_diagnostics: bool = False
    verify_certificate: bool = False
    disable_verify: bool = False
    allow_unregistered_dialect: bool = False
    verbose: bool = False
    list_passes: bool = False
    version: bool = False


def parse_options(arguments: Sequence[str]) -> Options:
    """The options of a command line. Raises Usage; `--help` prints and exits."""
    parser = _make_parser()
    options = parser.read(arguments, Options(), "input file")
    return options


def _make_parser() -> Parser:
    parser = Parser(
        prog="tile-opt",
        description="Compile tensor programs for machines made of many tiles.",
        epilog="Exit codes: 0 done; 1 refused; 2 wrong usage; 3 infeasible, with"
        " proof; 4 stopped by an effort limit.",
    )
    parser.add_argument(
        "input_file", nargs="?", help="the program; `-` or nothing reads stdin"
    )
    _add_compile_options(parser)
    _add_output_options(parser)
    for name, text in FLAGS:
        parser.add_argument(name, action=argparse.BooleanOptionalAction, help=text)
    parser.add_argument(
        "--implicit-module",
        action=argparse.BooleanOptionalAction,
        help="put operations outside a module into one (on unless refused)",
    )
    parser.add_argument(
        "-v", "--version", action="store_true", help="print the version and exit"
    )
    return parser


def _add_compile_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-p", "--passes", metavar="PASSES", help="passes to run: 'a,b{option=value}'"
    )
    parser.add_argument(
        "--plan-budget",
        metavar="SIZE",
        help="run the whole ladder for a budget per tile: bytes, KiB, MiB, GiB,"
        " `default`, `max` or `auto` (the knee of cycles over bytes)",
    )
    parser.add_argument(
        "--machine", metavar="NAME|FILE", help="the machine (ipu-c600 unless named)"
    )
    parser.add_argument(
        "--reserve", metavar="SIZE", help="bytes of every tile that are not ours"
    )
    parser.add_argument(
        "--stop-after", metavar="PASS", help="end the pipeline after this pass"
    )
    parser.add_argument(
        "--constraints", metavar="FILE", help="what is asked of the plan, as JSON"
    )
    parser.add_argument(
        "--pareto",
        metavar="FILE",
        help="where the least cycles at every budget go, with their plans, as JSON",
    )
    parser.add_argument(
        "--rerank",
        metavar="COUNT",
        help="time so many of the best plans in simulation and keep the fastest (1)",
    )
    parser.add_argument(
        "--write-plan", metavar="FILE", help="where the chosen plan goes, as JSON"
    )
    parser.add_argument(
        "--certificate",
        metavar="FILE",
        help="where the certificate goes, as JSON, also of a refusal",
    )


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output-file", metavar="FILE", help="where to write (stdout)"
    )
    parser.add_argument(
        "-t", "--target", metavar="TARGET", help="`mlir` (text) or `package`"
    )
    parser.add_argument(
        "--print-ir-after",
        metavar="PASS",
        action="append",
        help="print the IR after this pass, to stderr; may be repeated",
    )
