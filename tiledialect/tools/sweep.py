"""`tile-sweep`: one program or workload under many budgets, into one folder.

Whatever goes wrong is one line on stderr and an exit code: 0 every case ended as a row,
infeasible ones included; 1 a case was refused, ran out of time or failed its check; 2
wrong usage; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tiledialect.tools.start import started

# Everything else is imported where it is used: `--version` loads nothing.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tile-sweep` and return its exit code."""
    return started("tile-sweep", arguments, _run)


def _run(words: Sequence[str]) -> int:
    from tiledialect.tools.sweep_arguments import parse_options

    options = parse_options(words)
    if options.list_workloads:
        return _list_workloads()
    from tiledialect.tools.sweep_session import run

    return run(options)


def _list_workloads() -> int:
    from tiledialect.sweep.workloads import WORKLOADS

    for workload in WORKLOADS:
        print(f"{workload.name:<12} {workload.machine:<10} {workload.purpose}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
