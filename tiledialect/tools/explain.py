"""`tile-explain`: says why a program's plan is as it is.

Whatever goes wrong is one line on stderr and an exit code: 0 done, 1 refused, 2 wrong
usage, 3 no plan fits the budget, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tiledialect import __version__

# Everything else is imported where it is used: `--version` loads no numpy.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tile-explain` and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["--version"], ["-v"]):
        print(f"tile-explain {__version__}")
        return 0
    from tiledialect.tools.report import guarded

    return guarded(lambda: _run(words), verbose="--verbose" in words)


def _run(words: Sequence[str]) -> int:
    from tiledialect.tools.explain_arguments import parse_options

    options = parse_options(words)
    from tiledialect.text.parser import RECURSION_LIMIT
    from tiledialect.tools.explain_session import run

    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
