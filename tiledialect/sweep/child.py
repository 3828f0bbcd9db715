"""Runs a command in this process, and ends with whoever started it.

`python -m tiledialect.sweep.child PARENT MODULE WORD…`: `MODULE.main([WORD…])`, as long
as the process PARENT is this one's parent. A sweep that is killed leaves no build
behind that goes on for minutes.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence

WATCH_SECONDS = 0.25
ORPHANED = 137


def main(words: Sequence[str]) -> int:
    """The exit code of the command."""
    parent, module, *arguments = words
    threading.Thread(target=_watch, args=(int(parent),), daemon=True).start()
    command: Callable[[list[str]], int] = importlib.import_module(module).main
    return command(arguments)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(ORPHANED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
