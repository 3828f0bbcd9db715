"""`tile-explain`: says why a program's plan is as it is.

Whatever goes wrong is one line on stderr and an exit code: 0 done, 1 refused, 2 wrong
usage, 3 no plan fits the budget, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tiledialect.tools.start import started

# Everything else is imported where it is used: `--version` loads no numpy.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tile-explain` and return its exit code."""
    return started("tile-explain", arguments, _run)


def _run(words: Sequence[str]) -> int:
    from tiledialect.tools.explain_arguments import parse_options

    options = parse_options(words)
    from tiledialect.text.parser import RECURSION_LIMIT
    from tiledialect.tools.explain_session import run

    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
