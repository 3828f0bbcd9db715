"""Constraints as plain data, as a file or an attribute holds them.

    {"grid": {"m": 9}, "steps": 2, "paths": {"w": "stored"}, "rest": "cut1",
     "order": "panel"}

Everything may be missing, and `paths` may also be a list with a word for each operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tiledialect.candidates import ORDERS, PATHS, Choices
from tiledialect.constraints import (
    FIELDS,
    GRID,
    ORDER,
    REST,
    STEPS,
    WAYS,
    Constraint,
    ConstraintError,
    Constraints,
    operand_names,
    rest_word,
)
from tiledialect.program import Group, Program

LARGEST = (1 << 31) - 1
"""No count is larger."""

MOST_LETTERS = 60


def read_constraint(program: Program, group: Group, value: object) -> Constraint:
    """A constraint from plain data. Raises ConstraintError."""
    table = _table(value, "a constraint")
    for key in table:
        if key not in FIELDS:
            known = ", ".join(FIELDS)
            raise ConstraintError(
                f"{shown(key)} cannot be asked; known are {known}", key
            )
    order = None
    if ORDER in table:
        order = _word(table[ORDER], "order", ORDERS, (ORDER,))
    steps = None
    if STEPS in table:
        steps = read_count(table[STEPS], "steps", STEPS)
    return Constraint(
        parts=_read_grid(group, table.get(GRID, {})),
        steps=steps,
        paths=_read_paths(program, group, table.get(WAYS, {})),
        rest=_rest(table[REST]) if REST in table else None,
        order=order,
    )


def _read_grid(group: Group, value: object) -> dict[str, int]:
    table = _table(value, "a grid", GRID)
    names = [dim.name for dim in group.dims]
    for name in table:
        if name not in names:
            known = ", ".join(names)
            message = f"'{group.name}' has no dimension {shown(name)}, it has {known}"
            raise ConstraintError(message, GRID, name)
    return {
        name: read_count(parts, f"parts of {name}", GRID, name)
        for name, parts in table.items()
    }


def _read_paths(program: Program, group: Group, value: object) -> dict[int, int]:
    """Ways by position, from words in order or by the operands' names."""
    names = operand_names(program, group)
    if isinstance(value, list):
        words = cast("list[object]", value)
        if len(words) != len(names):
            message = f"'{group.name}' has {len(names)} operands, not {len(words)}"
            raise ConstraintError(message, WAYS)
        return {
            position: _word(word, "way", PATHS, (WAYS, position))
            for position, word in enumerate(words)
        }
    found: dict[int, int] = {}
    for name, word in _table(value, "paths", WAYS).items():
        if name not in names:
            known = ", ".join(names)
            message = f"'{group.name}' has no operand {shown(name)}, it has {known}"
            raise ConstraintError(message, WAYS, name)
        path = _word(word, "way", PATHS, (WAYS, name))
        found |= {at: path for at, known in enumerate(names) if known == name}
    return found


def shown(value: object) -> str:
    """A value in a message, not all of it where it is long."""
    text = repr(value)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}..."


def _table(value: object, what: str, *keys: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ConstraintError(f"{what} is written {{…}}, this is {shown(value)}", *keys)
    return cast("dict[str, object]", value)


def read_count(value: object, what: str, *keys: str) -> int:
    """A count of something. Raises ConstraintError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConstraintError(f"{what}: a count from 1 up, not {shown(value)}", *keys)
    if value > LARGEST:
        raise ConstraintError(f"{what}: a count up to {LARGEST}", *keys)
    return value


def _word(
    value: object, what: str, words: Sequence[str], keys: Sequence[str | int]
) -> int:
    if not isinstance(value, str) or value not in words:
        known = ", ".join(words)
        raise ConstraintError(f"{shown(value)} is no {what}; known are {known}", *keys)
    return words.index(value)


def _rest(value: object) -> int:
    try:
        if not isinstance(value, str) or len(value.split()) != 1:
            raise ValueError(f"a place is a word, not {shown(value)}")
        return Choices.from_words((), (f"{value} {ORDERS[0]}",), ()).results[0][0]
    except ValueError as error:
        raise ConstraintError(str(error), REST) from error


def plain(program: Program, constraints: Constraints) -> dict[str, object]:
    """Constraints as plain data, by name of the group; the inverse of reading."""
    found: dict[str, object] = {}
    if constraints.chunks is not None:
        found["chunks"] = constraints.chunks
    for position, constraint in sorted(constraints.groups.items()):
        if not constraint.is_open:
            group = program.groups[position]
            found[group.name] = plain_constraint(program, group, constraint)
    return found


def plain_constraint(
    program: Program, group: Group, constraint: Constraint
) -> dict[str, object]:
    """One constraint as plain data."""
    found: dict[str, object] = {}
    if constraint.parts:
        found[GRID] = dict(constraint.parts)
    if constraint.steps is not None:
        found[STEPS] = constraint.steps
    paths = {at: PATHS[path] for at, path in sorted(constraint.paths.items())}
    if paths:
        every = len(paths) == len(group.operands)
        names = operand_names(program, group)
        by_name = {names[at]: word for at, word in paths.items()}
        found[WAYS] = list(paths.values()) if every else by_name
    if constraint.rest is not None:
        found[REST] = rest_word(constraint.rest)
    if constraint.order is not None:
        found[ORDER] = ORDERS[constraint.order]
    return found
