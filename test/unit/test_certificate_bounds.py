"""No candidate takes less than the checker of certificates says of its part."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from plan_oracle import _Group as Oracle  # pyright: ignore[reportPrivateUsage]
from planning_programs import random_machine, random_module, sampled, tables
from tile_programs import parse

from tiledialect.candidates import STREAM
from tiledialect.checkers.certificate_cases import (
    Chunks,
    Support,
    Surroundings,
    shared_extents,
)
from tiledialect.checkers.certificate_parts import Ranges, Space
from tiledialect.checkers.certificate_program import Task, read_task
from tiledialect.checkers.check_certificate import is_enumerated, make_space
from tiledialect.chunks import chunkings
from tiledialect.machine import Machine
from tiledialect.program import Program, read_program
from tiledialect.search.problem import make_problem
from tiledialect.search.solve import search

ROOMY = 1 << 30

Paths = tuple[int, ...]


def spaces(task: Task, machine: Machine, low: int, high: int) -> list[Space | None]:
    """The candidates of each contraction, where so many chunks may be."""
    chunks = Chunks(low, high, shared_extents(task))
    return [
        make_space(task, machine, at, chunks, ROOMY) if is_enumerated(group) else None
        for at, group in enumerate(task.groups)
    ]


def stored_elsewhere(program: Program, machine: Machine) -> int:
    """Bytes that parameters take at most which no product has a choice for."""
    return sum(
        -(-value.form.bytes // machine.tiles) + 16
        for value in program.values
        if value.is_stored
    )


def alone(space: Space, parts: tuple[int, ...], steps: int, paths: Paths) -> Ranges:
    """The ranges that have one candidate."""
    spread = int(STREAM in paths) if space.tops[5] else 0
    columns = (*parts, steps, spread)
    return (*((c, c) for c in columns), (0, space.tops[6]))


@pytest.mark.parametrize("seed", range(60))
def test_no_candidate_takes_less_than_its_bound(seed: int) -> None:
    rng = random.Random(seed)
    machine = random_machine(rng)
    module, program = random_module(rng, machine, 1 + seed % 4)
    task = read_task(module, machine)
    assert [g.name for g in task.groups] == [g.name for g in program.groups]
    chosen = [sampled(t, rng, 6, 4) for t in tables(program, machine)]
    around = Surroundings(task, machine, Chunks(1, 1, frozenset()))
    problem = make_problem(program, machine, chosen)
    assert around.base() <= problem.interface_bytes + stored_elsewhere(program, machine)
    assert Support.of(task, machine).code <= problem.code_bytes
    before: Oracle | None = None
    for at, space in enumerate(spaces(task, machine, 1, 1)):
        oracle = Oracle(program, machine, at, chosen[at])
        for row, (variant, parts) in enumerate(oracle.choices):
            previous = rng.randrange(len(before.choices)) if before else 0
            part = oracle.part(row, before, previous)
            if space is None:
                plain = around.plain(at)
                assert plain.cycles <= part.cycles
                assert plain.live <= part.transient
                continue
            least = space.least(alone(space, parts, variant.steps, variant.paths))
            assert least is not None
            assert least.stored <= part.resident
            assert least.live <= part.transient
            assert least.rows <= part.rows
            assert least.cycles <= part.cycles
        before = oracle


def small_mlp(rng: random.Random) -> str:
    """A chain of products, with maps between them, that may run in chunks."""
    rows, width = rng.choice((5, 8, 12, 17)), rng.choice((16, 24, 40))
    form = rng.choice(("f16", "f32"))
    arguments, value = [f"%x: tensor<{rows}x{width}x{form}>"], "%x"
    body: list[str] = []
    for number in range(rng.randint(1, 2)):
        made = rng.choice((8, 16, 48))
        left, right = f"tensor<{rows}x{width}x{form}>", f"tensor<{width}x{made}x{form}>"
        width, result = made, f"tensor<{rows}x{made}x{form}>"
        arguments.append(f"%w{number}: {right} {{tile.parameter}}")
        body.append(
            f"%v{number} = tile.matmul {value}, %w{number} : ({left}, {right})"
            f" -> {result}"
        )
        body.append(f"%g{number} = tile.gelu tanh %v{number} : {result}")
        value = f"%g{number}"
    result = f"tensor<{rows}x{width}x{form}>"
    lines = "\n  ".join([*body, f"func.return {value} : {result}"])
    return f"func.func @main({', '.join(arguments)}) -> {result} {{\n  {lines}\n}}"


@pytest.mark.parametrize("seed", range(16))
def test_no_plan_in_chunks_takes_less_than_its_bound(seed: int) -> None:
    rng = random.Random(seed)
    machine = random_machine(rng)
    room = replace(machine.memory, support_bytes=512)
    machine = replace(machine, memory=room)
    module = parse(small_mlp(rng))
    program, task = read_program(module, machine), read_task(module, machine)
    chunking = rng.choice(chunkings(program)[1:])
    part = [sampled(t, rng, 4, 4) for t in tables(program, machine)]
    problem = make_problem(program, machine, part, chunking)
    outcome = search(problem, ROOMY, 1)
    best = outcome.plans[0]
    for low, high in ((chunking.count,) * 2, (2, chunking.extent), (1, chunking.count)):
        around = Surroundings(task, machine, Chunks(low, high, shared_extents(task)))
        cycles, stored, live, rows = 0, 0, 0, 0
        for at, space in enumerate(spaces(task, machine, low, high)):
            assert space is not None, "all groups of these programs are products"
            variant, parts = best.choices[at]
            least = space.least(alone(space, parts, variant.steps, variant.paths))
            assert least is not None
            cycles, stored = cycles + least.cycles, stored + least.stored
            live, rows = max(live, least.live), rows + least.rows
        support = Support.of(task, machine).least(rows)
        assert cycles <= best.cycles
        assert support + around.base() + stored + live <= best.footprint
