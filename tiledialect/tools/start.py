"""How every command starts: its version at once, all else guarded.

Loads nothing but what Python has loaded anyway, so that `--version` takes the time of
Python's own start.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from tiledialect import __version__


def started(
    tool: str, arguments: Sequence[str] | None, run: Callable[[list[str]], int]
) -> int:
    """The exit code of `run` on the words of the command line; errors are printed."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["--version"], ["-v"]):
        print(f"{tool} {__version__}")
        return 0
    from tiledialect.tools.report import guarded

    return guarded(lambda: run(words), verbose="--verbose" in words)
