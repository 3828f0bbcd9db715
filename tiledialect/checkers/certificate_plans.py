"""What a plan takes at least by its own choices: a check of what is claimed of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tiledialect.checkers.certificate_bounds import DEPTH
from tiledialect.checkers.certificate_cases import (
    Chunks,
    Support,
    Surroundings,
    shared_extents,
)
from tiledialect.checkers.certificate_parts import ENDLESS, Claim
from tiledialect.checkers.certificate_program import NAMES, Task, Work
from tiledialect.checkers.check_certificate import is_enumerated, make_space
from tiledialect.checkers.disproof import Disproof
from tiledialect.machine import Machine

SPREAD = "stream"
"""The way of a stored operand that lies spread."""


def check_plan(
    task: Task, machine: Machine, choices: object, cycles: int, size: int
) -> None:
    """Raises Disproof where a plan claims fewer cycles or bytes than what its choices
    take at least, or where these are none that there are."""
    fields = _mapping(choices, "a plan")
    count = fields.get("chunks", 1)
    if type(count) is not int or count < 1:
        raise Disproof(f"a plan runs in {count} chunks")
    chunks = Chunks(count, count, shared_extents(task))
    around = Surroundings(task, machine, chunks)
    took, stored, live, rows = 0, 0, 0, 0
    for at, group in enumerate(task.groups):
        least = _least(task, machine, chunks, at, fields.get(group.name))
        took, stored = took + least.cycles, stored + least.stored
        live, rows = max(live, least.live), rows + least.rows
    if cycles < took:
        raise Disproof(f"a plan claims {cycles} cycles, its choices take {took}")
    needed = Support.of(task, machine).least(rows) + around.base() + stored + live
    if size < needed:
        raise Disproof(f"a plan claims {size} bytes, its choices take {needed}")


def _least(
    task: Task, machine: Machine, chunks: Chunks, at: int, choice: object
) -> Claim:
    """The least that a group's choice takes."""
    group = task.groups[at]
    if not is_enumerated(group):
        plain = Surroundings(task, machine, chunks).plain(at)
        return Claim(0, plain.live, 0, plain.cycles, 0)
    space = make_space(task, machine, at, chunks, ENDLESS)
    columns = _columns(group, _mapping(choice, f"choice for '{group.name}'"))
    spread = columns[-1] if space.tops[-2] else 0
    ranges = tuple((c, c) for c in (*columns[:-1], spread))
    least = space.least((*ranges, (0, space.tops[-1])))
    if least is None:
        raise Disproof(f"'{group.name}' has no candidate like the plan's")
    return least


def _columns(group: Work, choice: Mapping[str, object]) -> tuple[int, ...]:
    """Parts of b, m, n and k, steps, and whether stored operands lie spread."""
    grid, steps = _mapping(choice.get("grid"), "grid"), choice.get("steps", 1)
    parts = [grid.get(name, 1) for name in NAMES[: DEPTH + 1]]
    paths = choice.get("paths")
    numbers = [one for one in (*parts, steps) if type(one) is int and one > 0]
    if len(numbers) != len(parts) + 1 or not isinstance(paths, list):
        raise Disproof(f"the choice for '{group.name}' cannot be read")
    return (*numbers, int(SPREAD in cast("list[object]", paths)))


def _mapping(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise Disproof(f"the module has no {name}")
    return cast("Mapping[str, object]", value)
