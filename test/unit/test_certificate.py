"""Certificates: those of a search are accepted, and any that says more is refused."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import pytest
from planning_programs import random_module, tables
from tile_programs import parse
from xdsl.dialects.builtin import ModuleOp

from tiledialect.checkers.certificate_parts import COLUMNS
from tiledialect.checkers.check_certificate import prove
from tiledialect.checkers.disproof import Disproof
from tiledialect.dialects.certificate_attribute import certificate_attribute
from tiledialect.dialects.module_attributes import plain_value
from tiledialect.machine import Machine
from tiledialect.program import Program, read_program
from tiledialect.search.certificate import certificate, gap, lower_bound
from tiledialect.search.chunked import search_chunked
from tiledialect.search.problem import make_problem
from tiledialect.search.solve import smallest_budget

Certificate = dict[str, Any]
SEEDS = 16
EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Certified:
    """A program with what a search says of it for a budget."""

    module: ModuleOp
    program: Program
    machine: Machine
    budget: int
    certificate: Certificate

    def accepts(self, said: Certificate, budget: int | None = None) -> bool:
        try:
            prove(self.module, self.machine, budget or self.budget, said)
        except Disproof:
            return False
        return True


@lru_cache(maxsize=64)
def certified(seed: int) -> tuple[Certified, ...]:
    """A random program at a budget that is far too small, at the smallest there is, at
    a middling and at a roomy one."""
    rng = random.Random(seed)
    machine = Machine.load("mini4")
    while True:
        module, program = random_module(rng, machine, 1 + seed % 3)
        chosen = tables(program, machine)
        candidates = sum(len(some) for table in chosen for some in table)
        products = any(group.family == "matmul" for group in program.groups)
        if candidates < 4000 and (products or seed % 5 == 0):
            break
    problem = make_problem(program, machine, chosen)
    least, _ = smallest_budget(problem)
    assert least is not None
    support = machine.memory.support_bytes
    budgets = (support + 32, least, least + 512, machine.max_bytes)
    found: list[Certified] = []
    for budget in budgets:
        outcome = search_chunked(program, machine, chosen, budget, 1)
        said: Certificate = {**certificate(program, machine, budget, outcome)}
        found.append(Certified(module, program, machine, budget, said))
    return tuple(found)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_certificates_of_a_search_are_accepted(seed: int) -> None:
    refused, *planned = certified(seed)
    assert refused.certificate["status"] == "infeasible"
    assert refused.accepts(refused.certificate) == (
        "cycles" not in refused.certificate["bound"]
    )
    for one in planned:
        said = one.certificate
        assert said["status"] == "optimal"
        assert said["bound"]["cycles"] <= said["cycles"]
        proven = prove(one.module, one.machine, one.budget, said)
        assert proven.cycles == said["bound"]["cycles"]


def test_bounds_never_fall_with_the_budget() -> None:
    for seed in range(8):
        _, *planned = certified(seed)
        bounds = [one.certificate["bound"]["cycles"] for one in planned]
        assert bounds == sorted(bounds, reverse=True)


def rows(said: Certificate) -> Iterator[tuple[list[list[int]], int]]:
    """Each part: the list that holds it, and its number there."""
    for case in said["bound"]["cases"]:
        for group in case["groups"]:
            for number in range(len(group.get("parts", ()))):
                yield group["parts"], number


FIRST = 2 * len(COLUMNS)
CLAIMS = {"stored": FIRST, "live": FIRST + 1, "rows": FIRST + 2, "cycles": FIRST + 3}


IN_PARTS = range(1, 9)
"""Seeds whose certificates have parts; that of 0 has none."""


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("seed", IN_PARTS)
def test_a_part_that_claims_one_more_is_refused(seed: int, name: str) -> None:
    """Solver and checker agree to the byte and to the cycle."""
    tried = 0
    for one in certified(seed):
        if not one.accepts(one.certificate):
            continue
        for number in range(len(list(rows(one.certificate)))):
            said = copy.deepcopy(one.certificate)
            parts, at = list(rows(said))[number]
            fits = parts[at][CLAIMS["cycles"]] >= 0
            if not fits and name != "live":
                continue
            parts[at][CLAIMS[name]] += 1
            assert not one.accepts(said)
            tried += 1
    assert tried > 2


@pytest.mark.parametrize("seed", IN_PARTS)
def test_a_part_that_is_missing_is_missed(seed: int) -> None:
    for one in certified(seed):
        assert list(rows(one.certificate))
        for number in range(len(list(rows(one.certificate)))):
            said = copy.deepcopy(one.certificate)
            parts, at = list(rows(said))[number]
            del parts[at]
            assert not one.accepts(said)


@pytest.mark.parametrize("column", range(len(COLUMNS)))
@pytest.mark.parametrize("seed", IN_PARTS)
def test_a_range_that_shrinks_leaves_a_hole(seed: int, column: int) -> None:
    tried = 0
    for one in certified(seed):
        for number in range(len(list(rows(one.certificate)))):
            for end, change in ((0, 1), (1, -1)):
                said = copy.deepcopy(one.certificate)
                parts, at = list(rows(said))[number]
                low, high = parts[at][2 * column : 2 * column + 2]
                whole = low == (column < 5)
                parts[at][2 * column + end] += change
                if low < high or whole or end == 0:
                    assert not one.accepts(said)
                    tried += 1
    assert tried > 3


def status(said: Certificate) -> None:
    said["status"] = "infeasible" if said["status"] == "optimal" else "optimal"


def no_status(said: Certificate) -> None:
    said["status"] = "certain"


def within(said: Certificate) -> None:
    said["status"] = f"within {said['bound']['gap'] // 100 - 1}%"


def bound(said: Certificate) -> None:
    said["bound"]["cycles"] += 1
    said["bound"]["gap"] = gap(said["cycles"], said["bound"]["cycles"])


def wrong_gap(said: Certificate) -> None:
    said["bound"]["gap"] -= 1


def cycles(said: Certificate) -> None:
    said["cycles"] = said["bound"]["cycles"] - 1


def no_bound(said: Certificate) -> None:
    del said["bound"]


def no_cases(said: Certificate) -> None:
    said["bound"]["cases"] = []


def chunks(said: Certificate) -> None:
    said["bound"]["cases"][0]["chunks"][0] = 2


def fewer_chunks(said: Certificate) -> None:
    last = said["bound"]["cases"][-1]["chunks"]
    last[1] = last[0] - 1 if last[0] > 1 else 0


def name_of_a_group(said: Certificate) -> None:
    said["bound"]["cases"][0]["groups"][0]["name"] += "_"


def a_group_less(said: Certificate) -> None:
    said["bound"]["cases"][0]["groups"].pop()


def text_for_a_number(said: Certificate) -> None:
    said["bound"]["cases"][0]["chunks"][0] = "1"


LIES: tuple[Callable[[Certificate], None], ...] = (
    status,
    no_status,
    within,
    bound,
    wrong_gap,
    cycles,
    no_bound,
    no_cases,
    chunks,
    fewer_chunks,
    name_of_a_group,
    a_group_less,
    text_for_a_number,
)
OF_PLANS = (within, bound, wrong_gap, cycles)


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_what_does_not_follow_is_refused(lie: Callable[[Certificate], None]) -> None:
    tried = 0
    for seed in range(8):
        for one in certified(seed):
            refutes = one.certificate["status"] == "infeasible"
            if refutes and (lie in OF_PLANS or not one.accepts(one.certificate)):
                continue
            said = copy.deepcopy(one.certificate)
            lie(said)
            if lie is bound and said["bound"]["cycles"] > said["cycles"]:
                continue
            assert not one.accepts(said), f"seed {seed}, budget {one.budget}"
            tried += 1
    assert tried > 5


def mutated(value: object, rng: random.Random) -> object:
    """The same data with something else somewhere."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        table = dict(cast("dict[str, object]", value))
        key = rng.choice(list(table))
        table[key] = mutated(table[key], rng)
        return table
    if isinstance(value, list) and value and rng.random() < 0.9:
        items = list(cast("list[object]", value))
        at = rng.randrange(len(items))
        items[at] = mutated(items[at], rng)
        return items[: rng.randrange(len(items) + 1)] if rng.random() < 0.1 else items
    other: list[object] = [
        None,
        "",
        "h",
        True,
        [],
        {},
        [1],
        0.5,
        -1,
        0,
        1,
        7,
        1 << 40,
        (1 << 63) - 1,
    ]
    return rng.choice(other)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_certificates_are_refused_in_words(seed: int) -> None:
    """Whatever is damaged: accepted, as it may say less, or refused by a Disproof."""
    rng = random.Random(seed)
    refused = 0
    for one in certified(seed):
        for _ in range(30):
            said: object = one.certificate
            for _ in range(rng.randint(1, 3)):
                said = mutated(said, rng)
            table = cast("Certificate", said) if isinstance(said, dict) else {}
            refused += not one.accepts(table)
    assert refused > 60


def test_a_refutation_is_of_its_budget() -> None:
    refuted = 0
    for seed in range(SEEDS):
        first, smallest, *_ = certified(seed)
        if not first.accepts(first.certificate):
            continue
        refuted += 1
        assert not first.accepts(first.certificate, smallest.budget)
    assert refuted > 5


def test_plans_beyond_the_budget_are_refused() -> None:
    for seed in range(8):
        for one in certified(seed)[1:]:
            size = one.certificate["bytes"]
            assert not one.accepts(one.certificate, size - 1)


def test_a_certificate_is_of_its_program() -> None:
    for seed in range(8):
        one, other = certified(seed)[-1], certified(seed + 1)[-1]
        with pytest.raises(Disproof):
            prove(other.module, one.machine, one.budget, one.certificate)


def test_a_certificate_is_plain_data_in_an_attribute() -> None:
    for seed in range(8):
        for one in certified(seed):
            assert plain_value(certificate_attribute(one.certificate)) == (
                one.certificate
            )


def test_the_mlp_is_refuted_at_52_kib() -> None:
    """In a few parts, whatever the batch."""
    machine = Machine.load("ipu-c600")
    for batch in (1, 2, 4):
        path = EXAMPLES / f"siglip_mlp_f8_b{batch}.mlir"
        module = parse(path.read_text())
        program = read_program(module, machine)
        found = lower_bound(program, machine, 52 * 1024, None)
        assert found.cycles is None
        said: Certificate = {
            "status": "infeasible",
            "bound": found.plain(program, None),
        }
        assert prove(module, machine, 52 * 1024, said).parts < 10


def test_the_bound_of_the_mlp_is_near() -> None:
    """No plan of b = 1 at 256KiB takes fewer than 92,991 cycles."""
    machine = Machine.load("ipu-c600")
    module = parse((EXAMPLES / "siglip_mlp_f8_b1.mlir").read_text())
    program = read_program(module, machine)
    found = lower_bound(program, machine, 256 * 1024, 102_157)
    assert found.cycles == 92_991
