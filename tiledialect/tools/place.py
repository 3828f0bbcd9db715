"""`tile-place`: addresses for the buffers of a CSV file.

Prints one line of figures; with `-o` the problem with its addresses is written, with
`--json` a report. Whatever goes wrong is one line on stderr and an exit code: 0 placed,
1 bad input, 2 wrong usage, 3 does not fit, proven, 4 stopped, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tiledialect.tools.start import started

# Everything else is imported where it is used: `--version` loads no numpy.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tile-place` and return its exit code."""
    return started("tile-place", arguments, _run)


def _run(words: Sequence[str]) -> int:
    from tiledialect.tools.place_arguments import parse_options
    from tiledialect.tools.place_session import run

    return run(parse_options(words))


if __name__ == "__main__":
    sys.exit(main())
