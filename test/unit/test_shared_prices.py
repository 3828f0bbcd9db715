"""What many candidates share is worked out once, and is what each costs alone."""

from __future__ import annotations

import random
from dataclasses import fields, is_dataclass
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from planning_programs import random_machine, random_program, sampled, tables

from tiledialect.candidates import Candidates
from tiledialect.chunks import chunkings
from tiledialect.cost.group import group_cost, held_bytes, least_live
from tiledialect.cost.operand import OperandCost
from tiledialect.cost.spec import Spec
from tiledialect.machine import Machine
from tiledialect.program import Program
from tiledialect.search.bounds import footprint, most_tensors
from tiledialect.search.delivery import fixed, hop, least_beside
from tiledialect.search.fronts import undominated
from tiledialect.search.grid_bounds import least_cycles
from tiledialect.search.grid_floors import GridFloors
from tiledialect.search.grids import Grids
from tiledialect.search.pools import whole_pool
from tiledialect.search.problem import make_problem
from tiledialect.search.rough import chunk_tables
from tiledialect.search.rows import operand_rows, taken

SPEC_PROPERTIES = ("block_bytes", "block_elements", "tile_bytes", "tile_elements")
OPERAND_PROPERTIES = ("block_bytes", "relay_bytes", "stored_bytes", "held_bytes")


def some_tables(seed: int) -> tuple[Program, Machine, list[list[Candidates]]]:
    rng = random.Random(seed)
    machine = random_machine(rng)
    program = random_program(rng, machine, 3)
    chosen = [sampled(t, rng, 12, 9) for t in tables(program, machine)]
    way = rng.choice(chunkings(program))
    part = chunk_tables(program, machine, chosen, way)
    return program, machine, part if all(part) else chosen


def assert_same(one: object, other: object, size: int) -> None:
    """All fields are equal; arrays of one row stand for `size`."""
    if isinstance(one, np.ndarray):
        both = wide(cast(object, one), size), wide(other, size)
        assert np.array_equal(*both)
    elif isinstance(one, tuple):
        assert_all_same(cast("tuple[object, ...]", one), other, size)
    elif is_dataclass(one):
        assert type(one) is type(other)
        names = [field.name for field in fields(one)]
        names += SPEC_PROPERTIES if isinstance(one, Spec) else ()
        names += OPERAND_PROPERTIES if isinstance(one, OperandCost) else ()
        for name in names:
            assert_same(getattr(one, name), getattr(other, name), size)
    else:
        assert one == other


def assert_all_same(one: tuple[object, ...], other: object, size: int) -> None:
    assert isinstance(other, tuple)
    pairs = zip(one, cast("tuple[object, ...]", other), strict=True)
    for mine, its in pairs:
        assert_same(mine, its, size)


def wide(values: object, size: int) -> NDArray[np.int64]:
    return np.broadcast_to(cast("NDArray[np.int64]", values), size)


@pytest.mark.parametrize("seed", range(40))
def test_costs_are_those_of_each_variant_alone(seed: int) -> None:
    program, machine, chosen = some_tables(seed)
    problem = make_problem(program, machine, chosen)
    for stage in problem.stages:
        for priced in stage.variants:
            alone = group_cost(problem.program, stage.group, machine, priced.table)
            size = len(priced)
            assert_same(priced.cost, alone, size)
            settling = priced.settling
            after = settling.exchange + settling.compute
            assert_same(priced.cycles, alone.cycles + after, size)
            live = np.maximum(alone.transient_bytes, settling.live_bytes)
            assert_same(priced.transient_bytes, live, size)
            assert_same(priced.cost.resident_bytes, alone.resident_bytes, size)
            rows = alone.reduction.row_bytes + settling.row_bytes
            rows = rows + alone.step_bytes(machine)
            assert_same(priced.row_bytes, rows, size)


@pytest.mark.parametrize("seed", range(30))
def test_a_pool_has_the_costs_of_its_variants(seed: int) -> None:
    program, machine, chosen = some_tables(seed)
    problem = make_problem(program, machine, chosen)
    for at, stage in enumerate(problem.stages):
        pool = whole_pool(problem, at)
        assert len(pool) == sum(map(len, stage.variants))
        for number, priced in enumerate(stage.variants):
            mine = pool.take(np.flatnonzero(pool.variant == number))
            given = taken(fixed(machine, stage, priced.cost), mine.row)
            row, others = mine.row, stage.others
            assert (mine.cycles == priced.cycles[row] + given.cycles).all()
            assert (mine.rows == priced.row_bytes[row] + given.rows).all()
            assert (mine.least == given.least).all()
            assert (mine.resident == priced.cost.resident_bytes[row]).all()
            live = np.maximum(priced.transient_bytes[row], given.live)
            assert (mine.transient == live + others).all()
            assert (mine.running == given.running + others * (given.running > 0)).all()
            assert (mine.waiting == given.waiting + others * (given.waiting > 0)).all()


@pytest.mark.parametrize("seed", range(40))
def test_an_entry_class_has_one_first_hop(seed: int) -> None:
    program, machine, chosen = some_tables(seed)
    problem = make_problem(program, machine, chosen)
    for at, stage in enumerate(problem.stages):
        if stage.link < 0:
            continue
        pool = whole_pool(problem, at)
        source = problem.stages[at - 1].variants[0].cost.rest
        one = np.zeros(1, dtype=np.int64)
        for entry in np.unique(pool.entry):
            table = pool.hops.tables[pool.hops.kind[entry]]
            example = operand_rows(table, one + pool.hops.row[entry])
            way = hop(machine, example, taken(source, one))
            for candidate in np.flatnonzero(pool.entry == entry)[:4]:
                priced = stage.variants[int(pool.variant[candidate])]
                row = one + pool.row[candidate]
                own = operand_rows(priced.cost.operands[stage.link], row)
                assert_same(hop(machine, own, taken(source, one)), way, 1)
                assert_same(least_beside(own), least_beside(example), 1)


@pytest.mark.parametrize("seed", range(30))
def test_undominated_rows_are_those_that_no_other_beats(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, high = int(rng.integers(1, 300)), int(rng.integers(2, 40))
    columns = [rng.integers(0, high, count) for _ in range(rng.integers(1, 5))]
    for groups in (1, 7):
        group = rng.integers(0, groups, count)
        rows = list(zip(*columns, strict=True))
        expected = [
            i
            for i in range(count)
            if not any(
                group[i] == group[j]
                and all(a <= b for a, b in zip(rows[j], rows[i], strict=True))
                and (rows[j] != rows[i] or j < i)
                for j in range(count)
            )
        ]
        assert undominated(columns, group).tolist() == expected


@pytest.mark.parametrize("seed", range(40))
def test_floors_are_those_of_each_variant_alone(seed: int) -> None:
    program, machine, chosen = some_tables(seed)
    for group, table in zip(program.groups, chosen, strict=True):
        grids = Grids.of(table)
        floors = GridFloors(program, group, machine, grids.parts)
        for one, rows in zip(table, grids.rows, strict=True):
            some = program, group, machine, one
            held = held_bytes(*some)
            resident, running = floors.bytes(one.variant.paths, one.variant.steps)
            cycles = floors.cycles(one.variant.paths).of(one.variant.steps)
            live = np.maximum(running, floors.live(one.variant))
            assert_same(cycles[rows], least_cycles(*some), len(one))
            assert_same(resident[rows], held.resident, len(one))
            assert_same(live[rows], least_live(*some, held), len(one))


@pytest.mark.parametrize("seed", range(20))
def test_grids_are_each_there_once(seed: int) -> None:
    _, _, chosen = some_tables(seed)
    for table in chosen:
        unknown = [Candidates(one.variant, one.parts) for one in table]
        for some in (table, unknown):
            grids = Grids.of(some)
            assert len(np.unique(grids.parts, axis=0)) == len(grids.parts)
            for one, rows in zip(some, grids.rows, strict=True):
                assert np.array_equal(grids.parts[rows], one.parts)
            used, places = grids.among([0, len(some) - 1])
            for at, place in zip((0, -1), places, strict=True):
                assert np.array_equal(grids.parts[used[place]], some[at].parts)
            ends = np.concatenate([grids.rows[0], grids.rows[-1]])
            assert np.array_equal(used, np.unique(ends))


def test_most_tensors_are_the_most_that_fit() -> None:
    for size in (-5, 0, 1, 63, 64, 65, 66, 1000, 123_456, 1 << 40):
        most = most_tensors(size)
        fits = footprint(np.array([most, most + 1])) <= size
        assert fits.tolist() == [size >= 0, False]
