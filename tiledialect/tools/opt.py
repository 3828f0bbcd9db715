"""`tile-opt`: reads a module, runs passes on it, prints it or emits a package.

Whatever goes wrong is one line on stderr and an exit code: 0 done, 1 refused, 2 wrong
usage, 3 infeasible, 4 stopped, 130 interrupted, 141 nobody reads the output.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tiledialect import __version__
from tiledialect.tools.start import started

# Everything else is imported where it is used: `--version` takes the time of Python's
# own start, and `--help` and wrong options not much more.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tile-opt` and return its exit code."""
    return started("tile-opt", arguments, _run)


def _run(words: Sequence[str]) -> int:
    from tiledialect.tools.opt_arguments import parse_options

    options = parse_options(words)
    if options.version:
        print(f"tile-opt {__version__}")
        return 0
    if options.list_passes:
        return _list_passes()
    from tiledialect.text.parser import RECURSION_LIMIT
    from tiledialect.tools.opt_session import Session

    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
    return Session(options).run()


def _list_passes() -> int:
    from tiledialect.pipeline import PASSES, TARGETS

    for entry in PASSES:
        rungs = f"{entry.rung_in} -> {entry.rung_out}"
        print(f"{entry.name:<18} {rungs}  {entry.purpose}")
    for target in TARGETS:
        print(f"{target.name:<18} target  {target.purpose}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
