"""`tile-report`: tables and one page of finished sweeps.

Whatever goes wrong is one line on stderr and an exit code: 0 done, 1 a sweep is damaged
or a file cannot be written, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tiledialect.tools.start import started

# Everything else is imported where it is used: `--version` loads no numpy.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tile-report` and return its exit code."""
    return started("tile-report", arguments, _run)


def _run(words: Sequence[str]) -> int:
    from tiledialect.tools.report_arguments import parse_options
    from tiledialect.tools.report_session import run

    return run(parse_options(words))


if __name__ == "__main__":
    sys.exit(main())
