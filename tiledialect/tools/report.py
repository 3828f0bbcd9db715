"""How the commands tell what went wrong: one line on stderr, and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from tiledialect.diagnostics import TileError


def guarded(action: Callable[[], int], *, verbose: bool) -> int:
    """Run `action`; say what went wrong in one line; return the exit code."""
    try:
        code = action()
        sys.stdout.flush()
        return code
    except TileError as error:
        report(error, verbose)
        return error.exit_code
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _drop_output()
        return 141
    except MemoryError:
        print("error: out of memory", file=sys.stderr)
        return 1
    except Exception as error:
        report_fault(error, verbose)
        return 1


def report(error: TileError, verbose: bool) -> None:
    """Print an error; with `verbose` also the operation it is about."""
    sys.stdout.flush()
    print(error, file=sys.stderr)
    if verbose and error.operation is not None:
        from tiledialect.text.printer import print_operation

        print(print_operation(error.operation), end="", file=sys.stderr)


def report_fault(error: Exception, verbose: bool) -> None:
    """Print an error of the program itself; with `verbose` where it happened."""
    text = " ".join(str(error).split()) or "no message"
    hint = "" if verbose else " (--verbose shows where)"
    print(f"internal error: {type(error).__name__}: {text}{hint}", file=sys.stderr)
    if verbose:
        import traceback

        traceback.print_exception(error)


def _drop_output() -> None:
    """Nobody reads stdout any more; Python would complain once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
