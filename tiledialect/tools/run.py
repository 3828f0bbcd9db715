"""`tile-run`: simulates a package and says what it took and how exact it was.

Whatever goes wrong is one line on stderr and an exit code: 0 done, 1 the package, an
array, the machine or the check refuses it, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tiledialect.tools.start import started

# Everything else is imported where it is used: `--version` loads no numpy.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tile-run` and return its exit code."""
    return started("tile-run", arguments, _run)


def _run(words: Sequence[str]) -> int:
    from tiledialect.tools.run_arguments import parse_options
    from tiledialect.tools.run_session import run

    return run(parse_options(words))


if __name__ == "__main__":
    sys.exit(main())
