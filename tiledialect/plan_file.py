"""Files of constraints, and of whole plans, whose constraints leave nothing open.

    {"up": {"grid": {"m": 9}, "steps": 2}, "in.mlir:6:10": {"rest": "block"},
     "chunks": 1}

A key is the name of a group, of the value of an operation, or the place of one. A plan
that was written out also says what it was made from, with its certificate.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from tiledialect.constraint_text import read_constraint, read_count, shown
from tiledialect.constraints import (
    Constraint,
    ConstraintError,
    Constraints,
    merged,
)
from tiledialect.diagnostics import Refused, locate
from tiledialect.json_places import Places
from tiledialect.program import Group, Program

CHUNKS = "chunks"
MADE_FROM = "made from"
CERTIFICATE = "certificate"


@dataclass(frozen=True)
class PlanFile:
    """What a file asks, and what the plan in it was made from, if it says so."""

    constraints: Constraints
    made_from: Mapping[str, object]


def read_plan_file(path: str, program: Program) -> PlanFile:
    """The constraints of a file. Raises Refused with the place in it."""
    text = _read_text(path)
    try:
        value: object = json.loads(text)
        places = Places(text)
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise Refused(f"not JSON: {error.msg}", place) from error
    except RecursionError as error:
        raise Refused("nesting too deep", f"{path}:1:1") from error
    except ValueError as error:  # a number of too many digits
        raise Refused(f"not JSON that can be read: {error}", f"{path}:1:1") from error
    try:
        return _read(program, value, places)
    except ConstraintError as error:
        place = f"{path}:{places.of(error.keys)}"
        raise Refused(str(error), place) from error


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except OSError as error:
        raise Refused(f"cannot read '{path}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Refused("not UTF-8 text", f"{path}:1:1") from error


def _read(program: Program, value: object, places: Places) -> PlanFile:
    if not isinstance(value, dict):
        raise ConstraintError("a file of constraints is one {…} of groups")
    if places.twice is not None:
        raise ConstraintError(f"{shown(places.twice[-1])} stands twice", *places.twice)
    groups: dict[int, Constraint] = {}
    chunks: int | None = None
    made_from: Mapping[str, object] = {}
    items = cast("dict[str, object]", value)
    for key, item in items.items():
        nested = isinstance(item, dict)
        if key == MADE_FROM and nested:
            made_from = cast("dict[str, object]", item)
        elif key == CHUNKS and not nested:
            chunks = read_count(item, CHUNKS, CHUNKS)
        else:
            position = group_called(program, key)
            asked = _at(key, program, program.groups[position], items[key])
            groups[position] = _joined(key, groups.get(position), asked)
    return PlanFile(Constraints(groups, chunks), made_from)


def _at(key: str, program: Program, group: Group, item: object) -> Constraint:
    try:
        return read_constraint(program, group, item)
    except ConstraintError as error:
        raise ConstraintError(str(error), key, *error.keys) from error


def _joined(key: str, before: Constraint | None, asked: Constraint) -> Constraint:
    if before is None:
        return asked
    try:
        return merged(before, asked)
    except ConstraintError as error:
        raise ConstraintError(f"{shown(key)}: {error}", key) from error


def group_called(program: Program, key: str) -> int:
    """The position of the group of that name, or that runs the operation of that name
    or place. Raises ConstraintError."""
    for position, group in enumerate(program.groups):
        if group.name == key:
            return position
    found = [
        position
        for position, group in enumerate(program.groups)
        if any(_is_called(key, m.name, locate(m.operation)) for m in group.members)
    ]
    if len(found) == 1:
        return found[0]
    names = ", ".join(group.name for group in program.groups)
    if found:
        which = ", ".join(program.groups[at].name for at in found)
        raise ConstraintError(f"{shown(key)} may be {which}; give the name", key)
    raise ConstraintError(
        f"no operation is called {shown(key)}; the groups are {names}", key
    )


def _is_called(key: str, name: str, place: str) -> bool:
    return key in (name, place) or place.endswith(f"/{key}")


def digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def plan_file_text(plan: Mapping[str, object], made_from: Mapping[str, object]) -> str:
    """The file of a whole plan: what it was made from, then each group, a line each."""
    items = {MADE_FROM: made_from, **plan}
    lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in items.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"
