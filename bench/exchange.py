"""Exchange schedules against their bounds: `python -m bench.exchange --json FILE`.

Two tables. *patterns*: one row a pattern of `bench/patterns.py`, on the latencies of
ipu-c600; the ratio is the last arrival over the larger of the receive and the send
bound; control words, which would only ease it, are printed beside. Seconds are the best
of a few runs, compiled, and cpu those that the processor worked: they differ where
others use it too. What the first use of the compiled loops takes is reported apart
(`--cold`: with an empty cache). *cells*: every phase of the f8 MLP at every budget,
compiled (`exchange_cells.py`). Exit code 0 when every target holds, else 1.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from bench import patterns
from bench.exchange_cells import report_cells
from tiledialect.schedule.bounds import control_words
from tiledialect.schedule.solve import Schedule, schedule
from tiledialect.schedule.table import Index, Messages, endpoints

REPEATS = 4
LONG_SECONDS = 1.0
"""A case that takes longer is run once."""


@dataclass(frozen=True)
class Case:
    """A phase to schedule, and what is asked of it; no target: measured only."""

    name: str
    make: Callable[[], Messages]
    target_ratio: float | None = None
    target_seconds: float | None = None


@dataclass(frozen=True)
class Row:
    """What one case came to; cycles, words and seconds."""

    name: str
    method: str
    messages: int
    endpoints: int
    sends: int
    length: int
    receive_bound: int
    send_bound: int
    control_bound: int
    control_words: int
    ratio: float
    target_ratio: float | None
    seconds: float
    processor_seconds: float
    target_seconds: float | None
    holds: bool


def cases() -> list[Case]:
    """The patterns with their targets, and a few more."""
    ragged = patterns.ragged_cuts(1152, 54)
    even = patterns.even_cuts(1152, 54)
    part = np.array([112] * 5 + [88])
    return [
        Case("operands, linear owners", patterns.matmul_operands_linear, 1.01, 5.0),
        Case("operands, block owners", patterns.matmul_operands_block, 1.04, 0.1),
        Case("windows gathered on a grid", patterns.gathered_windows, 1.03, 0.2),
        Case("reduce-scatter in 8", patterns.reduce_scatter, 1.0, 0.2),
        Case(
            "reduce-scatter in 6, ragged, 10 runs",
            lambda: patterns.reduce_scatter(6, part, 10),
            1.0,
            0.2,
        ),
        Case("f16 to 27x54 blocks", lambda: patterns.to_blocks(2, ragged), 1.05, 1.5),
        Case("f16 to even blocks", lambda: patterns.to_blocks(2, even), 1.05, 1.5),
        Case("f8 to 27x54 blocks", lambda: patterns.to_blocks(1, ragged), 1.05, 1.5),
        Case("f8 to even blocks", lambda: patterns.to_blocks(1, even), 1.05, 1.5),
        Case("transpose 729x1152 f16", patterns.transpose, 1.005, 15.0),
        Case("all-to-all, 1472 tiles", patterns.all_to_all, 1.0, 0.1),
        Case("all-to-all, 400 tiles", lambda: patterns.all_to_all(400, 4), 1.0, 0.1),
        Case("random unicasts to 64", patterns.random_unicasts, 1.01, 2.0),
        Case(
            "random unicasts to 8",
            lambda: patterns.random_unicasts(longest=8),
            1.01,
            2.0,
        ),
        Case("random multicasts to 16", patterns.random_multicasts, 1.25, 10.0),
        Case(
            "random multicasts to 64",
            lambda: patterns.random_multicasts(20_000, 64),
        ),
    ]


def control_bound(messages: Messages) -> int:
    """The least control words of the busiest tile, whatever the schedule.

    One for each 64 words sent in a message, one for each sender heard.
    """
    total = np.zeros(messages.tiles, np.int64)
    np.add.at(total, messages.source, -(-messages.words // 64))
    message, tile = endpoints(messages)
    heard = np.unique(tile * messages.tiles + messages.source[message], sorted=True)
    return int(
        (total + np.bincount(heard // messages.tiles, minlength=total.size)).max()
    )


def timed(messages: Messages, latency: Index) -> tuple[Schedule, float, float]:
    """A schedule, and the seconds and processor seconds that it took."""
    begin, used = time.perf_counter(), time.process_time()
    found = schedule(messages, latency)
    return found, time.perf_counter() - begin, time.process_time() - used


def measure(case: Case) -> Row:
    """Schedule one case and compare with its targets."""
    messages = case.make()
    latency = patterns.ipu_c600_latency()[: messages.tiles]
    found, seconds, processor = timed(messages, latency)
    for _ in range(REPEATS if seconds < LONG_SECONDS else 0):
        found, *again = timed(messages, latency)
        seconds, processor = min(seconds, again[0]), min(processor, again[1])
    short = case.target_ratio is None or found.ratio <= case.target_ratio
    quick = case.target_seconds is None or seconds <= case.target_seconds
    return Row(
        case.name,
        found.method,
        messages.count,
        int(messages.fan_out.sum()),
        found.messages.count,
        found.length,
        found.bound.receive,
        found.bound.send,
        control_bound(messages),
        int(control_words(found.messages, found.start).max()),
        found.ratio,
        case.target_ratio,
        seconds,
        processor,
        case.target_seconds,
        short and quick,
    )


def first_use() -> float:
    """Seconds to make every compiled loop ready, on phases of a few messages."""
    latency = patterns.ipu_c600_latency()
    begin = time.perf_counter()
    schedule(patterns.random_unicasts(3000, 8), latency)
    schedule(patterns.random_unicasts(20_000, 1), latency)
    schedule(patterns.random_multicasts(2000), latency)
    schedule(patterns.gathered_windows(), latency)
    return time.perf_counter() - begin


def line(row: Row) -> str:
    """One row of the printed table."""
    ratio = "" if row.target_ratio is None else f"<= {row.target_ratio:g}"
    limit = "" if row.target_seconds is None else f"<= {row.target_seconds:g}"
    return (
        f"{row.name:36} {row.messages:8} {row.length:7} {row.receive_bound:7} "
        f"{row.send_bound:7} {row.control_bound:7} {row.control_words:7} "
        f"{row.ratio:7.4f} {ratio:8} {row.seconds:7.3f} {limit:7} "
        f"{row.processor_seconds:7.3f} "
        f"{'holds' if row.holds else 'MISSED':6} {row.method}"
    )


HEADER = (
    f"{'pattern':36} {'messages':>8} {'length':>7} {'receive':>7} {'send':>7} "
    f"{'control':>7} {'issued':>7} {'ratio':>7} {'target':8} "
    f"{'seconds':>7} {'target':7} {'cpu':>7}"
)


def report(
    rows: Iterable[Case], compile_seconds: float
) -> tuple[dict[str, object], list[str]]:
    """Measure and print every case; what goes to the JSON file, and what missed."""
    print(HEADER)
    measured: list[Row] = []
    for case in rows:
        measured.append(measure(case))
        print(line(measured[-1]), flush=True)
    missed = [row.name for row in measured if not row.holds]
    held = len(measured) - len(missed)
    print(
        f"exchange: {held} of {len(measured)} rows hold; first use of the compiled "
        f"loops {compile_seconds:.1f} s" + "".join(f"; missed: {n}" for n in missed)
    )
    figures: dict[str, object] = {
        "rows": [asdict(row) for row in measured],
        "compile_seconds": compile_seconds,
    }
    return figures, missed


TABLES = ("patterns", "cells")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.exchange", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--only", choices=TABLES, action="append", help="one table")
    parser.add_argument("--rows", default="", help="rows whose name contains this")
    parser.add_argument("--cold", action="store_true", help="with an empty cache")
    options = parser.parse_args(arguments)
    tables: Sequence[str] = options.only or TABLES
    figures: dict[str, object] = {}
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as cache:
        if options.cold:
            os.environ["NUMBA_CACHE_DIR"] = cache
        if "patterns" in tables:
            chosen = [case for case in cases() if options.rows in case.name]
            figures, missed = report(chosen, first_use())
        if "cells" in tables:
            cells, more = report_cells(options.rows)
            figures["cells"] = [asdict(cell) for cell in cells]
            missed += more
    figures["missed"] = missed
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
