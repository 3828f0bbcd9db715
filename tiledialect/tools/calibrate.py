"""`tile-calibrate`: the machine's codelet formulas against measured kernel rows.

Prints predicted against measured cycles of every applicable row, by kernel, with median
and worst error; rows far off with an explanation; and rows that are not compared with
the reason. Exit codes: 0 the median error holds and each row far off is explained; 1 it
does not, or the rows are refused; 2 wrong usage.

With `--plans` it compares forced plans that were measured with the simulator's clock.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tiledialect.diagnostics import Refused, Usage
from tiledialect.tools.calibrate_arguments import ROWS_NAME, Options, parse_options
from tiledialect.tools.start import started

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tile-calibrate` and return its exit code."""
    return started("tile-calibrate", arguments, _run)


def default_rows(root: Path = ROOT) -> str:
    """The table of rows in a `data` folder beside the checkout. Raises Usage."""
    found = sorted(root.parent.glob(f"*/data/{ROWS_NAME}"))
    if not found:
        raise Usage(
            f"no {ROWS_NAME} in a data folder beside {root}; name a table of measured"
            " rows with --rows CSV"
        )
    return str(found[0])


def _run(words: Sequence[str]) -> int:
    options = parse_options(words)
    from tiledialect.machine import Machine, MachineError
    from tiledialect.tools.calibrate_report import (
        compare,
        lines,
        refit_lines,
        report,
        summary,
    )
    from tiledialect.tools.calibrate_rows import read_rows, read_table, sort_rows
    from tiledialect.tools.run_arrays import write_file

    try:
        machine = Machine.load(options.machine)
    except MachineError as error:
        raise Usage(str(error)) from error
    path = options.rows or default_rows()
    if options.plans:
        return _compare_plans(path, options)
    calls, left_out = sort_rows(read_rows(path), read_table(), machine)
    if not calls:
        raise Refused(f"no row is a call that {machine.name} prices", path)
    done = compare(machine, calls, left_out)
    for line in (*lines(done), ""):
        print(line)
    for line in (*refit_lines(done), "") if options.refit else ():
        print(line)
    if options.json is not None:
        text = json.dumps(report(done, with_refit=options.refit), indent=1) + "\n"
        write_file(options.json, text.encode())
    print(summary(done))
    return 0 if done.holds else 1


def _compare_plans(path: str, options: Options) -> int:
    from tiledialect.tools import calibrate_plans_report as report
    from tiledialect.tools.calibrate_plans import (
        read_plans,
        timed_rows,
        whole_programs,
    )
    from tiledialect.tools.run_arrays import write_file

    table = read_plans()
    rows = timed_rows(table, whole_programs(path), options.machine)
    for line in report.lines(table, rows):
        print(line)
    if options.json is not None:
        text = json.dumps(report.report(table, rows), indent=1) + "\n"
        write_file(options.json, text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
