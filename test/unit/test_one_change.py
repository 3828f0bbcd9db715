"""One change of what the compiler made: a word of rows lost, a buffer put aside.

The programs are examples and random ones, each compiled once. The checkers refuse every
change that is one; where a change leaves the program right, it computes the same bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
from ladder import checked, package_bytes, parse, run_passes
from random_programs import random_program
from xdsl.dialects.builtin import ModuleOp

from tiledialect.checkers.check_exchange import CheckExchangePass
from tiledialect.checkers.check_memory import CheckMemoryPass
from tiledialect.diagnostics import Refused
from tiledialect.dialects.buffers import TilesAttr
from tiledialect.dialects.codelet import CopyOp, RunOp
from tiledialect.dialects.exchange import PhaseOp, RowsAttr
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import the_program
from tiledialect.dialects.syntax import integer
from tiledialect.pipeline import PASSES, make_context
from tiledialect.reference import default_arguments
from tiledialect.rows import Rows
from tiledialect.runtime import package as runtime
from tiledialect.runtime.package import ExchangeStep, from_bytes
from tiledialect.runtime.simulator import Simulator
from tiledialect.tiles import TileSet

EXAMPLES = Path(__file__).parents[2] / "examples"
SEEDS = (2, 5, 15, 23)
"""Of random programs that have phases of many kinds."""
PROGRAMS = ("softmax_like", "matmul_ragged", *map(str, SEEDS))

SCHEDULED = [entry.name for entry in PASSES].index("check-exchange")
"""Passes up to rung 5."""


def text_of(name: str) -> str:
    if name.isdigit():
        return random_program(int(name), '"mini16"' if int(name) % 2 else '"mini4"')
    return (EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8")


@cache
def _scheduled(name: str) -> ModuleOp:
    return run_passes(parse(text_of(name)), last=SCHEDULED)


def scheduled(name: str) -> ModuleOp:
    """A program at rung 5."""
    return _scheduled(name).clone()


def placed(name: str) -> ModuleOp:
    """A program at rung 6."""
    return run_passes(scheduled(name), first=SCHEDULED)


def less_one(rows: Rows, at: int) -> Rows:
    """The rows without word `at`; a program that held no other is gone."""
    start = rows.start.copy()
    program = int(np.searchsorted(start, at, side="right")) - 1
    start[program + 1 :] -= 1
    words = np.delete(rows.words, at)
    if start[program] != start[program + 1]:
        return replace(rows, start=start, words=words)
    send, receive = (
        np.where(numbers == program, -1, numbers - (numbers > program))
        for numbers in (rows.send, rows.receive)
    )
    start = np.delete(start, program)
    return replace(rows, send=send, receive=receive, start=start, words=words)


def words_lost(rows: Rows, most: int) -> Iterator[tuple[int, Rows]]:
    """The rows without one word, for up to `most` words; the word's operation."""
    count = len(rows.words)
    for at in Random(count).sample(range(count), min(count, most)):
        yield int(rows.words[at]) >> 29, less_one(rows, at)


def refuses(module: ModuleOp) -> bool:
    try:
        CheckExchangePass().apply(make_context(), module)
    except Refused:
        return True
    return False


def test_a_phase_that_lacks_a_word_is_refused() -> None:
    """Every one of a phase's words is needed: up to 20 of each phase."""
    lost = Counter[int]()
    for name in PROGRAMS:
        module = scheduled(name)
        phases = [op for op in module.walk() if isinstance(op, PhaseOp)]
        assert phases
        for phase in phases:
            assert phase.rows is not None
            whole = phase.rows
            for opcode, rows in words_lost(whole.data, 20):
                phase.rows = RowsAttr(rows)
                assert refuses(module), (name, phase.phase_name)
                lost[opcode] += 1
            phase.rows = whole
        assert not refuses(module)
    assert lost.total() > 300
    assert sorted(lost) == [1, 2, 3, 4]
    assert min(lost.values()) > 10, lost


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_package_that_lacks_a_word_is_refused_or_the_same(name: str) -> None:
    """The simulator's own decoder: a POINT to where the words go anyhow, as two buffers
    lie side by side, is all that a package can do without."""
    package = from_bytes(package_bytes(placed(name)))
    arguments = default_arguments(parse(package.source), 0)
    wanted = Simulator(package).run(arguments).outputs
    refused = harmless = 0
    for number, step in enumerate(package.steps):
        if not isinstance(step, ExchangeStep):
            continue
        for opcode, rows in words_lost(Rows(*vars(step.rows).values()), 5):
            less = replace(step, rows=runtime.Rows(*vars(rows).values()))
            steps = (*package.steps[:number], less, *package.steps[number + 1 :])
            try:
                run = Simulator(replace(package, steps=steps)).run(arguments)
            except Refused:
                refused += 1
            else:
                harmless += 1
                assert opcode == 4
                assert all((run.outputs[n] == wanted[n]).all() for n in wanted)
    assert refused > 10 * harmless
    assert refused > 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_buffer_moved_by_its_alignment_is_refused_or_as_good(name: str) -> None:
    """Each buffer one alignment down and up. What is not refused is a placement with
    the same footprint, and computes the same."""
    module = placed(name)
    program, wanted = the_program(module, ProgramOp), outputs(module)
    refused = harmless = 0
    for buffer in program.buffers:
        place, align = buffer.place, buffer.align.value.data
        assert place is not None
        for aside in (place - align, place + align):
            buffer.address = integer(aside)
            try:
                CheckMemoryPass().apply(make_context(), module)
            except Refused:
                refused += 1
            else:
                harmless += 1
                assert outputs(module) == wanted
        buffer.address = integer(place)
    assert refused > 5
    assert harmless < 3 * refused


Call = RunOp | CopyOp


def calls_of(module: ModuleOp) -> list[Call]:
    return [op for op in module.walk() if isinstance(op, RunOp | CopyOp)]


def lost_call(op: Call) -> None:
    op.detach()


def lost_tile(op: Call) -> None:
    """The last tile is given to nobody; of a copy, which names no tiles, all are."""
    if isinstance(op, CopyOp) or len(op.tiles.data) == 1:
        op.detach()
    else:
        op.tiles = TilesAttr(TileSet.of(op.tiles.data.array()[:-1]))


def doubled(op: Call) -> None:
    block = op.parent_block()
    assert block is not None
    block.insert_op_after(op.clone(), op)


@pytest.mark.parametrize("change", [lost_call, lost_tile, doubled])
def test_every_call_has_one_owner(change: Callable[[Call], None]) -> None:
    """Case 139: a call that no tile makes, or two make, or one tile makes not, is
    refused with its place before there is a package, unless nobody reads its result."""
    places, unread = list[str](), 0
    for name in ("matmul_ragged", "2", "15"):
        for number in range(len(calls_of(_scheduled(name)))):
            module = scheduled(name)
            change(calls_of(module)[number])
            try:
                run_passes(module, first=SCHEDULED)
            except Refused as error:
                places.append(str(error))
            else:
                unread += 1
                assert change is not doubled
                assert outputs(module) == outputs(placed(name))
    assert all(re.match(r"in\.mlir:\d+:\d+: error: ", place) for place in places)
    assert len(places) > 10 * unread
    assert len(places) > 20


def outputs(module: ModuleOp) -> dict[str, bytes]:
    """What a program at rung 6 computes, simulated; it agrees with the reference."""
    run = checked(package_bytes(module))
    assert run.passed
    return {name: value.tobytes() for name, value in run.result.outputs.items()}
