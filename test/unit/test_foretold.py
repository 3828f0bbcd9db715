"""The bytes that select-plan foretells: never below what is placed, and no more than
3 % above it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from ladder import parse, run_passes
from random_programs import random_program
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp

from tiledialect.diagnostics import Refused
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import (
    CERTIFICATE,
    budget_of,
    machine_of,
    the_program,
)
from tiledialect.lowering import foretold as foretold_module
from tiledialect.lowering.foretold import (
    Foretold,
    controls_at_most,
    counted_controls,
    foretold,
    foretold_bytes,
)
from tiledialect.lowering.memory_problem import asked_of
from tiledialect.lowering.phase_messages import transfer_table
from tiledialect.lowering.placed import placed
from tiledialect.lowering.serial_pairs import phase_of, phases_of
from tiledialect.passes import place_memory
from tiledialect.placement.problem import Placement, Problem
from tiledialect.rows import control_words
from tiledialect.select_plan import find_alternatives

SEARCHED, SELECTED, LOWERED, SCHEDULED, PLACED = 2, 3, 4, 5, 7
"""So many passes of the ladder come to that."""

MACHINES = (
    '"mini4"',
    '"mini16"',
    '{base = "mini16", tiles = 1 : i64}',
    '{base = "mini16", tiles = 7 : i64}',
)
PROGRAMS = 32
MOST_OVER = 3
"""So many of them may be foretold more than 3 % too high where rows are counted: they
are a large part of what such programs take, and need fewer control words than that."""

PAIRED = '{base = "mini16", exchange = {pair_tiles = 2 : i64}}'


def number(module: ModuleOp, name: str) -> int | None:
    """A number of the certificate."""
    certificate = module.attributes[CERTIFICATE]
    assert isinstance(certificate, DictionaryAttr)
    found = certificate.data.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else None


@dataclass(frozen=True)
class Bytes:
    """Of one program: by the search, as foretold, and the footprint."""

    searched: int
    foretold: int
    placed: int
    budget: int


@cache
def bytes_of(seed: int, budget: str = "default", machine: str | None = None) -> Bytes:
    text = random_program(seed, machine or MACHINES[seed % 4])
    module = run_passes(parse(text), budget, last=PLACED)
    map, limit = the_program(module, ProgramOp).map, budget_of(module)
    raised, said = number(module, "foretold"), number(module, "bytes")
    searched = number(module, "searched")
    assert map is not None
    assert limit is not None
    assert said is not None
    assert searched is not None
    said = said if raised is None else raised
    return Bytes(searched, said, map.number("footprint"), limit)


def over(foretold: int, placed: int) -> bool:
    return foretold * 100 > placed * 103


def test_no_program_takes_more_than_foretold_and_none_3_percent_less() -> None:
    found = [bytes_of(seed) for seed in range(PROGRAMS)]
    for seed, one in enumerate(found):
        assert one.placed <= one.foretold <= one.budget, seed
        assert not over(one.foretold, one.placed), seed
    # the search, whose rules hold for whole tables, is as near for fewer of them
    assert sum(over(one.searched, one.placed) for one in found) > PROGRAMS // 10


def test_rows_of_schedules_that_are_not_made_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As they are for phases of many messages."""
    monkeypatch.setattr(foretold_module, "FEW_MESSAGES", -1)
    high = 0
    for seed in range(0, PROGRAMS, 4):
        module, searched = lowered(seed)
        size, found = foretold_bytes(module, searched), bytes_of(seed)
        assert found.foretold <= size <= found.budget, seed
        high += over(size, found.placed)
    assert high <= MOST_OVER


@pytest.mark.parametrize("seed", range(0, 20, 2))
def test_what_the_search_asks_for_is_enough_and_foretold_as_well(seed: int) -> None:
    """At the budget that a plan is known to need, to the byte."""
    wide = bytes_of(seed)
    try:
        tight = bytes_of(seed, str(wide.searched))
    except Refused:  # below the support reservation
        return
    assert tight.budget == wide.searched
    assert tight.placed <= tight.foretold <= tight.budget


def test_the_knee_of_a_curve_is_a_budget_that_what_is_foretold_is_within() -> None:
    for seed in (1, 9, 17, 26):
        found = bytes_of(seed, "auto")
        assert found.searched == found.budget, "the curve's own plan at its own budget"
        assert found.placed <= found.foretold <= found.budget


@pytest.mark.parametrize("seed", range(100, 108))
def test_machines_with_items_of_8_bytes_take_no_more_either(seed: int) -> None:
    found = bytes_of(seed, machine=PAIRED)
    assert found.placed <= found.foretold <= found.budget


def test_on_rung_3_the_bytes_are_those_of_the_search() -> None:
    """Which the certificate's checker compares with those of the first plan."""
    for seed in range(4, 10):
        text = random_program(seed, MACHINES[seed % 4])
        module = run_passes(parse(text), last=SEARCHED)
        alternatives = find_alternatives(module)
        assert alternatives is not None
        first = alternatives.footprints.get_values()[0]
        assert number(module, "bytes") == first
        assert number(module, "searched") is None
        run_passes(module, first=SEARCHED, last=SELECTED)
        assert number(module, "searched") == first


@pytest.mark.parametrize("seed", [*range(0, 40, 4), *range(200, 208)])
def test_no_tile_has_more_control_words_than_counted(seed: int) -> None:
    machine = PAIRED if seed >= 200 else MACHINES[seed % 4]
    module = run_passes(parse(random_program(seed, machine)), last=SCHEDULED)
    machine = machine_of(module)
    for op in phases_of(the_program(module, ProgramOp)):
        assert op.rows is not None
        rows = op.rows.data
        phase, issued = phase_of(op)[0], control_words(rows, machine.exchange)
        counted = counted_controls(machine, phase, transfer_table(machine, phase))
        assert np.all(issued <= counted[rows.tiles])
        exact = controls_at_most(machine, phase, 1000)
        assert np.array_equal(exact[rows.tiles], issued)
        assert np.array_equal(controls_at_most(machine, phase, -1), counted)


def lowered(seed: int, last: int = LOWERED) -> tuple[ModuleOp, int]:
    """A program on rung 4, or as far as asked, and its bytes by the search."""
    text = random_program(seed, MACHINES[seed % 4])
    module = run_passes(parse(text), last=last)
    searched = number(module, "searched")
    assert searched is not None
    return module, searched


@pytest.mark.parametrize("seed", range(2, 34, 4))
def test_the_real_problem_is_no_harder_than_the_one_foretold(seed: int) -> None:
    module, searched = lowered(seed)
    before = foretold(module, searched)
    assert before is not None
    run_passes(module, first=LOWERED, last=SCHEDULED)
    asked = asked_of(module, the_program(module, ProgramOp))
    assert before.holds_for(asked.support, asked.problem)
    assert np.all(asked.problem.bytes == before.problem.bytes)
    # rows and pairs that are known by now change nothing
    after = foretold(module, searched)
    assert after is not None
    assert np.array_equal(after.found.addresses, before.found.addresses)


def made_of(seed: int) -> tuple[Foretold, ModuleOp]:
    module, searched = lowered(seed)
    made = foretold(module, searched)
    assert made is not None
    return made, module


def test_addresses_do_not_hold_for_more_rows_pairs_or_room_below() -> None:
    made, _ = made_of(6)
    support, problem = made.support, made.problem
    assert len(problem.apart) > 0
    assert made.holds_for(support, problem)
    fewer = replace(problem, apart=problem.apart[:0], low=problem.low - 16)
    assert made.holds_for(support, fewer)
    assert not made.holds_for(replace(support, bytes=support.bytes + 1), problem)
    assert not made.holds_for(support, replace(problem, low=problem.low + 1))
    free = {(0, 1), (0, 2), (1, 2)} - {(a, b) for a, b in problem.apart.tolist()}
    more = np.vstack([problem.apart, [sorted(free)[0]]])
    assert not made.holds_for(support, replace(problem, apart=more))


def test_where_no_addresses_are_found_the_bytes_are_those_of_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, module = made_of(6)

    def stopped(problem: Problem, *, minimise: bool) -> Placement:
        assert not minimise
        return replace(made.found, status="stopped")

    monkeypatch.setattr(foretold_module, "placed", stopped)
    assert foretold(module, 5000) is None
    assert foretold_bytes(module, 5000) == 5000
    budget = budget_of(module)
    assert budget is not None
    assert foretold_bytes(module, budget + 1) == budget


def test_place_memory_takes_the_addresses_foretold_where_its_own_are_worse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its problem has fewer pairs apart, and yet a solver may do worse on it."""
    module, searched = lowered(6, last=SCHEDULED)
    made = foretold(module, searched)
    assert made is not None

    def worse(problem: Problem, *, minimise: bool) -> Placement:
        found = placed(problem, minimise=minimise)
        return replace(found, footprint=found.footprint + 4096)

    monkeypatch.setattr(place_memory, "placed", worse)
    run_passes(module, first=SCHEDULED, last=PLACED)
    buffers = the_program(module, ProgramOp).buffers
    assert [buffer.place for buffer in buffers] == made.found.addresses.tolist()
    assert number(module, "foretold") is None
