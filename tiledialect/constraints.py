"""Constraints: what a user asks of a plan, group by group.

A constraint settles some of what a candidate chooses: parts of dimensions, steps, ways
of operands, place and order of the result. What it leaves open is the search's. It is
applied to candidates that are there already, so the catalogue is the same with it and
without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from tiledialect.candidates import (
    ORDERS,
    PATHS,
    Candidates,
    Choices,
    Variant,
    grains,
    splittable_reduction,
)
from tiledialect.layout import ceil_div
from tiledialect.machine import Machine
from tiledialect.program import Group, Program

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

K = TypeVar("K", str, int)
Word = Callable[[int], str]

GRID, STEPS, WAYS, REST, ORDER = FIELDS = ("grid", "steps", "paths", "rest", "order")
MOST_SHOWN = 12  # choices that a refusal lists


class ConstraintError(ValueError):
    """A constraint that cannot be read; `keys` lead to the fault inside the data."""

    def __init__(self, message: str, *keys: str | int) -> None:
        super().__init__(message)
        self.keys = keys


class Impossible(ValueError):
    """No candidate of the group at `position` is as its constraint asks."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position


@dataclass(frozen=True)
class Constraint:
    """What is asked of one group; what is empty or None is left open. `parts` are by
    dimension, `paths` by position of the operand."""

    parts: Mapping[str, int] = field(default_factory=dict[str, int])
    steps: int | None = None
    paths: Mapping[int, int] = field(default_factory=dict[int, int])
    rest: int | None = None
    order: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing is asked."""
        return self == Constraint()


@dataclass(frozen=True)
class Constraints:
    """What is asked of a program, by position of the group; `chunks`: in how many row
    chunks it runs, None where that is left open."""

    groups: Mapping[int, Constraint] = field(default_factory=dict[int, Constraint])
    chunks: int | None = None

    @property
    def are_open(self) -> bool:
        return self.chunks is None and all(c.is_open for c in self.groups.values())


@dataclass(frozen=True)
class Want:
    """One thing that a constraint asks: which field, which dimension or operand in it,
    and the number that it must have."""

    field: str
    index: int
    number: int


def operand_names(program: Program, group: Group) -> list[str]:
    """The values that a group reads, in order."""
    return [program.values[operand.value].name for operand in group.operands]


def merged(first: Constraint, second: Constraint) -> Constraint:
    """What both ask. Raises ConstraintError where they contradict each other."""
    return Constraint(
        _both("parts of", first.parts, second.parts, str),
        _same("steps", first.steps, second.steps, str),
        _both("way of operand", first.paths, second.paths, PATHS.__getitem__),
        _same("rest", first.rest, second.rest, rest_word),
        _same("order", first.order, second.order, ORDERS.__getitem__),
    )


def _both(
    what: str, one: Mapping[K, int], other: Mapping[K, int], word: Word
) -> dict[K, int]:
    for key in one:
        _same(f"{what} {key}", one[key], other.get(key), word)
    return {**one, **other}


def _same(what: str, one: int | None, other: int | None, word: Word) -> int | None:
    if one is not None and other is not None and one != other:
        message = f"{what} is asked to be {word(one)} and {word(other)}"
        raise ConstraintError(message)
    return other if one is None else one


def joined(first: Constraints, second: Constraints) -> Constraints:
    """What both ask of a program. Raises ConstraintError where they contradict."""
    groups = dict(first.groups)
    for position, constraint in second.groups.items():
        groups[position] = merged(groups.get(position, Constraint()), constraint)
    return Constraints(groups, _same("chunks", first.chunks, second.chunks, str))


def wants(group: Group, constraint: Constraint) -> list[Want]:
    """All that a constraint asks, in a fixed order."""
    names = [dim.name for dim in group.dims]
    found = [
        Want(GRID, at, constraint.parts[name])
        for at, name in enumerate(names)
        if name in constraint.parts
    ]
    if constraint.steps is not None:
        found.append(Want(STEPS, 0, constraint.steps))
    found += [Want(WAYS, at, path) for at, path in sorted(constraint.paths.items())]
    if constraint.rest is not None:
        found.append(Want(REST, 0, constraint.rest))
    if constraint.order is not None:
        found.append(Want(ORDER, 0, constraint.order))
    return found


def allowed(group: Group, some: Candidates, constraint: Constraint) -> Mask:
    """Which candidates of a variant are as asked."""
    import numpy as np

    mask = np.ones(len(some), dtype=np.bool_)
    for want in wants(group, constraint):
        mask &= _numbers(some, want) == want.number
    return mask


def constrained(
    program: Program,
    machine: Machine,
    tables: Sequence[Sequence[Candidates]],
    constraints: Constraints,
) -> list[list[Candidates]]:
    """The candidates of each group that are as asked. Raises Impossible where none
    is."""
    return [
        _narrowed(program, machine, at, table, constraints.groups.get(at))
        for at, table in enumerate(tables)
    ]


def _narrowed(
    program: Program,
    machine: Machine,
    position: int,
    table: Sequence[Candidates],
    constraint: Constraint | None,
) -> list[Candidates]:
    if constraint is None or constraint.is_open:
        return list(table)
    group = program.groups[position]
    masks = [allowed(group, some, constraint) for some in table]
    found = [some.take(m) for some, m in zip(table, masks, strict=True) if m.any()]
    if not found:
        reason = why_none(program, machine, position, table, constraint)
        raise Impossible(position, reason)
    return found


def why_none(
    program: Program,
    machine: Machine,
    position: int,
    table: Sequence[Candidates],
    constraint: Constraint,
) -> str:
    """Which thing asked leaves no candidate, and what there is instead."""
    group = program.groups[position]
    left, before = list(table), list[str]()
    for want in wants(group, constraint):
        masks = [_numbers(some, want) == want.number for some in left]
        after = [s.take(m) for s, m in zip(left, masks, strict=True) if m.any()]
        label = want_words(program, group, want)
        if after:
            left, before = after, [*before, label]
            continue
        among = f" with {', '.join(before)}" if before else ""
        name, _ = label.rsplit(" ", 1)
        there = _listed(program, group, left, want)
        same = _same_block(program, group, machine, want)
        return (
            f"no candidate of '{group.name}'{among} has {label};"
            f" {name} there is {there}{same}"
        )
    return f"the catalogue of '{group.name}' has no candidate"


def _numbers(some: Candidates, want: Want) -> Ints:
    """What the candidates of a variant have in a field, as an array of their count."""
    import numpy as np

    if want.field == GRID:
        return some.parts[:, want.index]
    return np.full(len(some), _choice(some.variant, want.field, want.index))


def _choice(variant: Variant, name: str, index: int) -> int:
    match name:
        case "steps":
            return variant.steps
        case "paths":
            return variant.paths[index]
        case "rest":
            return variant.rest
        case _:
            return variant.order


def want_words(program: Program, group: Group, want: Want) -> str:
    """One thing asked, as people read it: `m 9`, `way of w1 stored`."""
    match want.field:
        case "grid":
            return f"{group.dims[want.index].name} {want.number}"
        case "steps":
            return f"steps {want.number}"
        case "paths":
            name = operand_names(program, group)[want.index]
            return f"way of {name} {PATHS[want.number]}"
        case "rest":
            return f"rest {rest_word(want.number)}"
        case _:
            return f"order {ORDERS[want.number]}"


def rest_word(rest: int) -> str:
    """The word of a place in which results rest."""
    return Choices((), ((rest, 0),), ()).result_words()[0].split()[0]


def _listed(
    program: Program, group: Group, left: Iterable[Candidates], want: Want
) -> str:
    """The numbers or words that there are, the nearest ones where they are many."""
    import numpy as np

    numbers = np.unique(np.concatenate([_numbers(some, want) for some in left]))
    near = np.argsort(np.abs(numbers - want.number), kind="stable")[:MOST_SHOWN]
    shown = [Want(want.field, want.index, int(numbers[i])) for i in sorted(near)]
    words = [want_words(program, group, one).rsplit(" ", 1)[1] for one in shown]
    more = f" ({len(words)} of {len(numbers)})" if len(words) < len(numbers) else ""
    return ", ".join(words) + more


def _same_block(program: Program, group: Group, machine: Machine, want: Want) -> str:
    """Which number of parts stands for one that gives the same largest block."""
    if want.field != GRID:
        return ""
    dim = group.dims[want.index]
    if dim.reduced and want.index != splittable_reduction(group):
        return f" (only the longest reduced dimension is cut, {dim.name} is not)"
    whole = max(1, ceil_div(dim.extent, grains(program, group, machine)[want.index]))
    fewest = ceil_div(whole, ceil_div(whole, min(want.number, whole)))
    if fewest == want.number:
        return ""
    return f" ({want.number} parts give no smaller block than {fewest})"


def exact(
    program: Program, choices: Sequence[tuple[Variant, Sequence[int]]], chunks: int = 1
) -> Constraints:
    """The constraints that only one plan meets."""
    groups = {
        position: exact_choice(program.groups[position], *choice)
        for position, choice in enumerate(choices)
    }
    return Constraints(groups, chunks)


def exact_choice(group: Group, variant: Variant, parts: Sequence[int]) -> Constraint:
    """The constraint that only one candidate meets."""
    names = [dim.name for dim in group.dims]
    return Constraint(
        dict(zip(names, (int(n) for n in parts), strict=True)),
        variant.steps,
        dict(enumerate(variant.paths)),
        variant.rest,
        variant.order,
    )
