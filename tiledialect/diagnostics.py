"""Errors that users see: one line, where it is, what is wrong, and an exit code.

`fail(op, message)` is the one way for a pass to give up. xDSL's own `emit_error`
attaches the whole module, which is thousands of lines here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from xdsl.ir import Attribute, Operation

UNKNOWN = "<unknown>"

LOCATION_PROPERTY = "loc_text"
"""Below rung 1 the property of every operation with its `file:line:col` on rung 1."""


class TileError(Exception):
    """A message for the user, with the exit code that the commands end with.

    `location` is `file:line:col`, or None where the error has no place in a text.
    `operation` is what `--verbose` shows.
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        location: str | None = None,
        operation: Operation | None = None,
    ) -> None:
        super().__init__(message)
        self.message = " ".join(message.split())
        self.location = location
        self.operation = operation

    def __str__(self) -> str:
        place = "" if self.location is None else f"{self.location}: "
        return f"{place}error: {self.message}"


class Refused(TileError):
    """The input, the machine or a check refuses it."""


class ParseFailed(Refused):
    """The text is not IR."""


class VerifyFailed(Refused):
    """The text is IR, but not valid."""


class Usage(TileError):
    """The command was used wrongly: an unknown option, pass or machine, a bad size."""

    exit_code = 2


class Infeasible(TileError):
    """There is no plan within the budget, and the search has proved it."""

    exit_code = 3


class Stopped(TileError):
    """An effort limit was reached.

    With `has_plan` the module already holds the best plan found: the driver reports
    the error, goes on with the remaining passes and ends with this exit code.
    """

    exit_code = 4

    def __init__(
        self,
        message: str,
        location: str | None = None,
        operation: Operation | None = None,
        *,
        has_plan: bool = False,
    ) -> None:
        super().__init__(message, location, operation)
        self.has_plan = has_plan


def fail(op: Operation, message: str, kind: type[TileError] = Refused) -> NoReturn:
    """Give up because of `op`. The error says where `op` stands in the source."""
    raise kind(message, locate(op), op)


def locate(op: Operation) -> str:
    """Where `op` comes from: `file:line:col`, or `<unknown>`.

    An operation without a place of its own has that of the nearest one around it.
    """
    current: Operation | None = op
    while current is not None:
        text = _own_location(current)
        if text is not None:
            return text
        current = current.parent_op()
    return UNKNOWN


def _own_location(op: Operation) -> str | None:
    from xdsl.dialects.builtin import StringAttr

    carried = op.properties.get(LOCATION_PROPERTY)
    if isinstance(carried, StringAttr):
        return carried.data
    return location_text(op.location)


def location_text(location: Attribute) -> str | None:
    """The first `file:line:col` in a location attribute, or None if it has none."""
    from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, FusedLoc, NameLoc
    from xdsl.dialects.builtin import CallSiteLoc as Call

    match location:
        case FileLineColLoc():
            name, line, column = location.filename, location.line, location.column
            return f"{name.data}:{line.data}:{column.data}"
        case NameLoc():
            return location_text(location.location)
        case Call():
            return location_text(location.callee) or location_text(location.caller)
        case FusedLoc():
            return location_text(location.locations)
        case ArrayAttr():
            texts = (location_text(part) for part in location)
            return next((text for text in texts if text is not None), None)
        case _:
            return None
