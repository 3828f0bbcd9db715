"""How far a sweep is, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

Ended = Callable[[str, str], None]
"""Called with the name of a case and how it ended."""


@contextmanager
def progress(total: int, done: int, *, quiet: bool) -> Generator[Ended]:
    """A bar on stderr where that is a terminal; else nothing."""
    if quiet or not sys.stderr.isatty():
        yield lambda name, status: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total, completed=done)

        def ended(name: str, status: str) -> None:
            bar.update(task, advance=1, description=f"last: {name} {status}")

        yield ended
