"""What the command lines of all tools share: errors that are told as usage."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from typing import NoReturn, TypeVar

from tiledialect.diagnostics import Usage

T = TypeVar("T")


class Parser(argparse.ArgumentParser):
    """argparse with its errors as Usage, and words cut short refused."""

    def __init__(self, prog: str, description: str, epilog: str) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            argument_default=argparse.SUPPRESS,
        )

    def error(self, message: str) -> NoReturn:
        raise Usage(message)

    def read(self, arguments: Sequence[str], options: T, one: str) -> T:
        """The options that are given, set on `options`. Raises Usage; an unknown option
        is told with the one that is near, a word too many with what there is `one`
        of."""
        found, unknown = self.parse_known_args(arguments, namespace=options)
        option = next((text for text in unknown if text.startswith("-")), None)
        if option is not None:
            name, known = option.split("=")[0], list(self._option_string_actions)
            raise Usage(f"unknown option '{name}'{suggestion(name, known)}")
        if unknown:
            raise Usage(f"one {one} at a time: unexpected '{unknown[0]}'")
        return found


def suggestion(word: str, known: Sequence[str]) -> str:
    """`; did you mean X?` where something known is near, else nothing."""
    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {near[0]}?" if near else ""
