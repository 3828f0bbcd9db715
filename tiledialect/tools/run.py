"""`tile-run`: simulates a package and says what it took and how exact it was.

Whatever goes wrong is one line on stderr and an exit code: 0 done, 1 the package, an
array, the machine or the check refuses it, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tiledialect import __version__

# Everything else is imported where it is used: `--version` loads no numpy.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tile-run` and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["--version"], ["-v"]):
        print(f"tile-run {__version__}")
        return 0
    from tiledialect.tools.report import guarded

    return guarded(lambda: _run(words), verbose="--verbose" in words)


def _run(words: Sequence[str]) -> int:
    from tiledialect.tools.run_arguments import parse_options
    from tiledialect.tools.run_session import run

    return run(parse_options(words))


if __name__ == "__main__":
    sys.exit(main())
