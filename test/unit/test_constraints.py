"""Constraints against candidates and plans written out, and as plain data."""

from __future__ import annotations

import random
from typing import cast

import numpy as np
import pytest
from plan_oracle import Choice, every_plan
from planning_programs import random_program, sampled, tables
from tile_programs import parse

from tiledialect.candidates import CUT, ORDERS, PATHS, RESTS, Candidates
from tiledialect.constraint_text import plain, plain_constraint, read_constraint
from tiledialect.constraints import (
    Constraint,
    ConstraintError,
    Constraints,
    Impossible,
    allowed,
    constrained,
    exact,
    merged,
)
from tiledialect.machine import Machine
from tiledialect.program import Group, Program, read_program
from tiledialect.search.problem import make_problem
from tiledialect.search.solve import search

Grid = dict[str, int]
MINI4 = Machine.load("mini4")


def random_constraint(
    rng: random.Random, program: Program, group: Group, choice: Choice
) -> dict[str, object]:
    """Some of what a choice is made of, as plain data written here once more."""
    variant, parts = choice
    names = [dim.name for dim in group.dims]
    operands = [program.values[o.value].name for o in group.operands]
    some: dict[str, object] = {}
    grid = {n: p for n, p in zip(names, parts, strict=True) if rng.random() < 0.3}
    if grid:
        some["grid"] = grid
    if rng.random() < 0.3:
        some["steps"] = variant.steps
    words = [PATHS[path] for path in variant.paths]
    if rng.random() < 0.2:
        some["paths"] = words
    elif rng.random() < 0.3 and len(set(operands)) == len(operands):
        some["paths"] = {operands[-1]: words[-1]}
    if rng.random() < 0.3:
        cut = variant.rest - CUT
        some["rest"] = RESTS[variant.rest] if cut < 0 else f"cut{cut}"
    if rng.random() < 0.3:
        some["order"] = ORDERS[variant.order]
    return some


def meets(
    program: Program, group: Group, choice: Choice, asked: dict[str, object]
) -> bool:
    """Whether a choice is as plain data asks."""
    variant, parts = choice
    names = [dim.name for dim in group.dims]
    operands = [program.values[o.value].name for o in group.operands]
    words = [PATHS[path] for path in variant.paths]
    cut = variant.rest - CUT
    rest = RESTS[variant.rest] if cut < 0 else f"cut{cut}"
    for key, value in asked.items():
        if key == "grid":
            grid = dict(zip(names, parts, strict=True))
            same = cast(Grid, value).items() <= grid.items()
        elif key == "paths" and isinstance(value, dict):
            ((name, word),) = cast("dict[str, str]", value).items()
            same = words[operands.index(name)] == word
        else:
            have: object = {
                "steps": variant.steps,
                "paths": words,
                "rest": rest,
                "order": ORDERS[variant.order],
            }[key]
            same = have == value
        if not same:
            return False
    return True


def choices_of(table: list[Candidates]) -> list[Choice]:
    return [
        (some.variant, tuple(int(p) for p in parts))
        for some in table
        for parts in some.parts
    ]


@pytest.mark.parametrize("seed", range(40))
def test_candidates_and_plans_are_as_asked(seed: int) -> None:
    """The mask of each variant, and the best plan, against every plan written out."""
    rng = random.Random(seed)
    program = random_program(rng, MINI4, 1 + seed % 3)
    chosen = [sampled(table, rng, 4, 3) for table in tables(program, MINI4)]
    asked: dict[int, dict[str, object]] = {}
    for position, group in enumerate(program.groups):
        some = rng.choice(choices_of(chosen[position]))
        asked[position] = random_constraint(rng, program, group, some)
    constraints = Constraints(
        {
            position: read_constraint(program, program.groups[position], value)
            for position, value in asked.items()
        }
    )
    for position, group in enumerate(program.groups):
        for some in chosen[position]:
            mask = allowed(group, some, constraints.groups[position])
            expected = [
                meets(program, group, choice, asked[position])
                for choice in choices_of([some])
            ]
            assert mask.tolist() == expected
    narrowed = constrained(program, MINI4, chosen, constraints)
    problem = make_problem(program, MINI4, chosen)
    plans = every_plan(
        program, MINI4, chosen, problem.code_bytes, problem.interface_bytes
    )
    left = [
        plan
        for plan in plans
        if all(
            meets(program, group, plan.choices[at], asked[at])
            for at, group in enumerate(program.groups)
        )
    ]
    found = search(make_problem(program, MINI4, narrowed), 1 << 20, 1)
    assert found.plans[0].cycles == min(plan.cycles for plan in left)
    whole = exact(program, found.plans[0].choices)
    (again,) = search(
        make_problem(program, MINI4, constrained(program, MINI4, chosen, whole)),
        1 << 20,
        4,
    ).plans
    assert again.choices == found.plans[0].choices


@pytest.mark.parametrize("seed", range(20))
def test_plain_data_comes_back(seed: int) -> None:
    rng = random.Random(seed)
    program = random_program(rng, MINI4, 2)
    for group, table in zip(program.groups, tables(program, MINI4), strict=True):
        for choice in rng.sample(choices_of(table), min(5, len(choices_of(table)))):
            value = random_constraint(rng, program, group, choice)
            constraint = read_constraint(program, group, value)
            said = plain_constraint(program, group, constraint)
            assert read_constraint(program, group, said) == constraint


PRODUCT = """
func.func @main(%x: tensor<8x64xf16>, %w: tensor<64x32xf16> {tile.parameter})
    -> tensor<8x32xf16> {
  %h = tile.matmul %x, %w : (tensor<8x64xf16>, tensor<64x32xf16>) -> tensor<8x32xf16>
  func.return %h : tensor<8x32xf16>
}
"""


def product() -> tuple[Program, Group]:
    program = read_program(parse(PRODUCT), MINI4)
    return program, program.groups[0]


@pytest.mark.parametrize(
    ("value", "keys", "message"),
    [
        (7, (), "a constraint is written {…}, this is 7"),
        ({"stepz": 2}, ("stepz",), "'stepz' cannot be asked; known are grid, steps,"),
        ({"steps": 0}, ("steps",), "steps: a count from 1 up, not 0"),
        ({"steps": True}, ("steps",), "steps: a count from 1 up, not True"),
        ({"grid": [1]}, ("grid",), "a grid is written {…}, this is [1]"),
        ({"grid": {"q": 1}}, ("grid", "q"), "'h' has no dimension 'q', it has b, m"),
        ({"grid": {"m": "2"}}, ("grid", "m"), "parts of m: a count from 1 up, not '2'"),
        ({"paths": ["direct"]}, ("paths",), "'h' has 2 operands, not 1"),
        (
            {"paths": ["direct", "store"]},
            ("paths", 1),
            "'store' is no way; known are stored, direct,",
        ),
        ({"paths": {"y": "direct"}}, ("paths", "y"), "'h' has no operand 'y', it has"),
        ({"paths": {"x": 1}}, ("paths", "x"), "1 is no way; known are stored,"),
        ({"rest": "cutx"}, ("rest",), "'cutx' is no place; known are block, linear,"),
        ({"rest": "block x"}, ("rest",), "a place is a word, not 'block x'"),
        ({"order": "rows"}, ("order",), "'rows' is no order; known are row_major,"),
    ],
)
def test_what_cannot_be_read_is_named(
    value: object, keys: tuple[str | int, ...], message: str
) -> None:
    program, group = product()
    with pytest.raises(ConstraintError) as caught:
        read_constraint(program, group, value)
    assert str(caught.value).startswith(message)
    assert caught.value.keys == keys


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"grid": {"m": 8}},
            "no candidate of 'h' has m 8; m there is 1, 2, 3, 4",
        ),
        (
            {"grid": {"m": 7}},
            "no candidate of 'h' has m 7; m there is 1, 2, 3, 4 (7 parts give no"
            " smaller block than 4)",
        ),
        (
            {"grid": {"m": 2, "n": 2}, "steps": 5},
            "no candidate of 'h' with m 2, n 2 has steps 5; steps there is 1, 2, 3, 4,"
            " 8",
        ),
        (
            {"grid": {"n": 4}, "paths": {"w": "stream"}},
            "no candidate of 'h' with n 4 has way of w stream; way of w there is"
            " stored",
        ),
        (
            {"grid": {"k": 1}, "rest": "cut1"},
            "no candidate of 'h' with k 1 has rest cut1; rest there is block",
        ),
    ],
)
def test_what_no_candidate_has_is_named_with_what_there_is(
    value: object, message: str
) -> None:
    program, group = product()
    asked = Constraints({0: read_constraint(program, group, value)})
    with pytest.raises(Impossible) as caught:
        constrained(program, MINI4, tables(program, MINI4), asked)
    assert str(caught.value) == message
    assert caught.value.position == 0


def test_contradictions_are_named() -> None:
    both = merged(Constraint({"m": 2}, steps=3), Constraint({"n": 4}, steps=3))
    assert both == Constraint({"m": 2, "n": 4}, steps=3)
    with pytest.raises(ConstraintError, match="parts of m is asked to be 2 and 3"):
        merged(Constraint({"m": 2}), Constraint({"m": 3}))
    with pytest.raises(ConstraintError, match="steps is asked to be 1 and 2"):
        merged(Constraint(steps=1), Constraint(steps=2))
    with pytest.raises(ConstraintError, match="operand 1 is asked to be direct and"):
        merged(Constraint(paths={1: 1}), Constraint(paths={1: 2}))
    with pytest.raises(ConstraintError, match="rest is asked to be block and cut1"):
        merged(Constraint(rest=0), Constraint(rest=CUT + 1))


def test_nothing_asked_changes_nothing() -> None:
    program, _ = product()
    some = tables(program, MINI4)
    assert Constraints({0: Constraint()}).are_open
    assert constrained(program, MINI4, some, Constraints({0: Constraint()})) == some
    assert plain(program, Constraints({0: Constraint()})) == {}
    one = some[0][0]
    assert np.array_equal(
        allowed(program.groups[0], one, Constraint()), np.ones(len(one))
    )
