"""Why a named candidate is not in the plan.

It is not in the catalogue, another one always beats it, no plan with it fits the
budget, or the best plan with it is slower.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.constraint_text import plain_constraint, read_constraint
from tiledialect.constraints import (
    Constraint,
    ConstraintError,
    Constraints,
    allowed,
    exact_choice,
    why_none,
)
from tiledialect.diagnostics import Usage
from tiledialect.plan_file import group_called
from tiledialect.search.pools import Pool
from tiledialect.search.solve import Plan
from tiledialect.tools.explain_space import Priced, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

_COUNT = re.compile("[0-9]{1,12}")

COSTS = ("cycles", "resident", "transient", "rows", "waiting", "beside", "running")
"""What a candidate of the same classes must be no worse in; fields of a pool."""


@dataclass(frozen=True)
class Named:
    """Candidates of one group as someone names them."""

    position: int
    constraint: Constraint

    @property
    def constraints(self) -> Constraints:
        return Constraints({self.position: self.constraint})


@dataclass(frozen=True)
class Beaten:
    """A candidate beside the one that always beats it: what both choose, and cost."""

    loser: dict[str, object]
    winner: dict[str, object]
    costs: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class WhyNot:
    """What became of the candidates named.

    reason     why there is none of them; None where there are
    fates      how many were dominated, need more bytes, or more cycles; the rest
    plan       the best whole plan with one of them, None where none fits
    smallest   then the one of the fewest bytes that is known, if there is one
    beaten     the candidate of that plan beside the one that always beats it
    """

    group: str
    named: dict[str, object]
    budget: int
    reason: str | None = None
    matches: int = 0
    fates: dict[str, int] | None = None
    plan: Plan | None = None
    smallest: Plan | None = None
    beaten: Beaten | None = None


def parse_named(space: Space, text: str) -> Named:
    """Candidates from `op=up, grid=m9 n27 k6, steps=2`. Raises Usage."""
    fields: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value or key in fields:
            raise Usage(f"--why-not: '{part.strip()}' is no `name=value` of its own")
        fields[key] = value
    if "op" not in fields:
        raise Usage("--why-not names an operation: 'op=NAME, grid=m9 n27, steps=2'")
    try:
        position = group_called(space.program, fields.pop("op"))
        group = space.program.groups[position]
        value = {key: _value(key, text) for key, text in fields.items()}
        return Named(position, read_constraint(space.program, group, value))
    except ConstraintError as error:
        raise Usage(f"--why-not: {error}") from error


def _value(key: str, text: str) -> object:
    """The plain data of a field: `m9 n27`, `2`, `direct stored` or `x:direct`."""
    if key == "grid":
        return dict(_parts(word) for word in text.split())
    if key == "steps":
        return int(text) if _COUNT.fullmatch(text) else text
    if key != "paths":
        return text
    if ":" not in text:
        return text.split()
    return dict(_pair(word) for word in text.split())


def _parts(word: str) -> tuple[str, int]:
    """`m9`, or `d0:9` where the dimension's name ends with a digit."""
    name, colon, count = word.partition(":")
    if not colon:
        name = word.rstrip("0123456789")
        count = word[len(name) :]
    if not name or not _COUNT.fullmatch(count):
        raise Usage(
            f"--why-not: '{word}' is no dimension with its parts, as m9 or d0:9"
        )
    return name, int(count)


def _pair(word: str) -> tuple[str, str]:
    name, _, path = word.partition(":")
    return name, path


def why_not(priced: Priced, chosen: Plan, budget: int, named: Named) -> WhyNot:
    """What became of the candidates named, beside the plan chosen."""
    space, position = priced.space, named.position
    group = space.program.groups[position]
    said = plain_constraint(space.program, group, named.constraint)
    pool = priced.whole[position]
    matching = _matching(priced, position, pool, named.constraint)
    if not matching.any():
        return WhyNot(group.name, said, budget, _none(priced, named))
    best = pool.take(matching & _is_kept(priced, position))
    fits = priced.fits(position, best, budget)
    fast = priced.is_fast(position, best, chosen.cycles)
    fates = {
        "dominated": int(matching.sum()) - len(best),
        "bytes": int((~fits).sum()),
        "cycles": int((fits & ~fast).sum()),
        "left": int((fits & fast).sum()),
    }
    outcome = space.search(budget, named.constraints)
    plan = outcome.plans[0] if outcome.plans else None
    smallest = None if plan is not None else outcome.smallest
    shown = plan or smallest
    beaten = None if shown is None else _beaten(priced, position, shown)
    matches = int(matching.sum())
    return WhyNot(
        group.name, said, budget, None, matches, fates, plan, smallest, beaten
    )


def _none(priced: Priced, named: Named) -> str:
    """Why no candidate is as named."""
    space, position = priced.space, named.position
    args = space.program, space.machine, position
    table = space.tables[position]
    group = space.program.groups[position]
    if not any(allowed(group, some, named.constraint).any() for some in table):
        return why_none(*args, table, named.constraint)
    if priced.asked[position] < sum(map(len, table)):
        return f"the constraints leave no such candidate of '{group.name}'"
    chunks = priced.problem.chunks
    return f"no such candidate of '{group.name}' makes sense in {chunks} chunks"


def _matching(
    priced: Priced, position: int, pool: Pool, constraint: Constraint
) -> Mask:
    """Which rows of a pool are as named."""
    stage = priced.problem.stages[position]
    masks = [allowed(stage.group, v.table, constraint) for v in stage.variants]
    begins = np.cumsum([0, *(len(mask) for mask in masks)])[:-1]
    joined = np.concatenate(masks)
    return joined[begins[pool.variant] + pool.row]


def _codes(pool: Pool) -> Ints:
    """A number for each candidate."""
    return pool.variant * (1 << 40) + pool.row


def _is_kept(priced: Priced, position: int) -> Mask:
    """Which rows of the whole pool no other always beats."""
    return np.isin(_codes(priced.whole[position]), _codes(priced.best[position]))


def _beaten(priced: Priced, position: int, plan: Plan) -> Beaten | None:
    """The candidate of a plan beside one that always beats it, if there is one."""
    if plan.chunks != priced.problem.chunks:
        return None
    group = priced.space.program.groups[position]
    mine = exact_choice(group, *plan.choices[position])
    pool = priced.whole[position]
    (row,) = np.flatnonzero(_matching(priced, position, pool, mine))
    better = (pool.entry == pool.entry[row]) & (pool.rest == pool.rest[row])
    for name in COSTS:
        better &= _costs(pool, name) <= _costs(pool, name)[row]
    better &= _is_kept(priced, position)
    better[row] = False
    if not better.any() or _is_kept(priced, position)[row]:
        return None
    winner = int(np.flatnonzero(better)[0])
    costs = {name: _costs(pool, name) for name in COSTS}
    return Beaten(
        plain_constraint(priced.space.program, group, mine),
        _choice(priced, position, pool, winner),
        {name: (int(c[row]), int(c[winner])) for name, c in costs.items() if c.any()},
    )


def _costs(pool: Pool, name: str) -> Ints:
    return getattr(pool, name)


def _choice(priced: Priced, position: int, pool: Pool, row: int) -> dict[str, object]:
    """What a candidate of a pool chooses, as plain data."""
    stage = priced.problem.stages[position]
    table = stage.variants[int(pool.variant[row])].table
    parts = table.parts[int(pool.row[row])].tolist()
    program = priced.space.program
    group = program.groups[position]
    constraint = exact_choice(group, table.variant, parts)
    return plain_constraint(program, group, constraint)
