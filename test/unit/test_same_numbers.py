"""One program under many schedules and placements: the same bytes come out.

And what moves a buffer without a solver's leave is refused by check-memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from ladder import checked, package_bytes, parse, run_passes
from numpy.typing import NDArray
from random_programs import random_program
from xdsl.dialects.builtin import ModuleOp

from tiledialect.checkers.check_memory import CheckMemoryPass
from tiledialect.diagnostics import Refused
from tiledialect.dialects.exchange import PhaseOp
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import CERTIFICATE, the_program
from tiledialect.dialects.syntax import integer
from tiledialect.lowering import phase_schedule
from tiledialect.passes import place_memory
from tiledialect.pipeline import make_context
from tiledialect.placement.boxes import make_boxes
from tiledialect.placement.first_fit import first_fit
from tiledialect.placement.live import conflict_matrix
from tiledialect.placement.problem import Placement, Problem
from tiledialect.placement.solve import place
from tiledialect.schedule.bounds import arrival, bound_of, loads
from tiledialect.schedule.solve import Schedule, schedule
from tiledialect.schedule.table import Index, Messages

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = ("tiny_mlp", "residual_mlp")
RANDOM = ("5", "15", "23")
"""Seeds of random programs with phases of many kinds."""
LOWERED = 4  # passes up to lower-plan

Scheduler = Callable[..., Schedule]


def lowered(name: str) -> ModuleOp:
    """A program at rung 4, with no promise that a poor placement could break."""
    return _lowered(name).clone()


@cache
def _lowered(name: str) -> ModuleOp:
    if name in RANDOM:
        text = random_program(int(name), '"mini16"')
    else:
        text = (EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8")
    module = run_passes(parse(text), "max", last=LOWERED)
    del module.attributes[CERTIFICATE]
    return module


def outputs(module: ModuleOp) -> dict[str, bytes]:
    """What a program at rung 6 computes, simulated, on the inputs of its seed."""
    run = checked(package_bytes(module))
    assert run.passed
    return {name: value.tobytes() for name, value in run.result.outputs.items()}


def one_after_another(
    messages: Messages, latency: Index, *, control: Index | None = None, **_: bool
) -> Schedule:
    """The poorest schedule: never two messages at once, in a shuffled order."""
    order = np.random.default_rng(messages.count).permutation(messages.count)
    start = np.empty(messages.count, np.int64)
    start[order] = np.cumsum(messages.words[order]) - messages.words[order]
    bound = bound_of(loads(messages, latency), control)
    last = arrival(messages, latency, start) if messages.count else 0
    every, none = np.arange(messages.count), np.zeros(messages.count, np.int64)
    return Schedule(messages, every, none, start, last, bound, "one after another")


def in_halves(
    messages: Messages, latency: Index, *, control: Index | None = None, **_: bool
) -> Schedule:
    """Every eighth message in two, where it has two words, none sent together with
    another."""
    number = np.arange(messages.count)
    parts = np.where(number % 8 == 0, np.minimum(messages.words, 2), 1)
    origin = np.repeat(number, parts)
    second = np.append(False, origin[1:] == origin[:-1])
    whole, half = messages.words[origin], messages.words[origin] // 2
    words = np.where(second, whole - half, np.where(parts[origin] > 1, half, whole))
    pieces = replace(messages.select(origin), words=words)
    found = one_after_another(pieces, latency, control=control)
    return replace(found, origin=origin, offset=half * second)


SCHEDULERS: dict[str, Scheduler] = {
    "as it is": schedule,
    "no repair": lambda *a, **k: schedule(*a, **k, effort=0),
    "nothing split": lambda *a, **k: schedule(*a, **{**k, "split": False}),
    "one after another": one_after_another,
    "in halves": in_halves,
}


@pytest.fixture(autouse=True)
def forget() -> None:
    """No schedule of one scheduler is kept for another."""
    phase_schedule.schedule_phase.cache_clear()


@pytest.mark.parametrize("name", [*PROGRAMS, *RANDOM])
def test_every_schedule_gives_the_same_bytes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[dict[str, bytes]] = []
    lengths: set[tuple[int, ...]] = set()
    for scheduler in SCHEDULERS.values():
        monkeypatch.setattr(phase_schedule, "schedule", scheduler)
        phase_schedule.schedule_phase.cache_clear()
        module = run_passes(lowered(name), first=LOWERED)
        phases = [op for op in module.walk() if isinstance(op, PhaseOp)]
        lengths.add(tuple(phase.number("length") for phase in phases))
        found.append(outputs(module))
    assert found[0]
    assert all(other == found[0] for other in found)
    assert len(lengths) > 1


def shuffled(seed: int) -> Callable[..., Placement]:
    """A placement by first fit in a random order, at the tightest or lowest place."""

    def placed(problem: Problem, *, minimise: bool) -> Placement:
        boxes = make_boxes(problem)
        random = np.random.default_rng(seed)
        order = random.permutation(len(boxes))
        fit = "tightest" if seed % 2 else "lowest"
        room = first_fit(boxes, conflict_matrix(boxes), order, fit)
        assert room.placed.all()
        answer = place(problem, minimise=minimise)
        addresses: NDArray[np.int64] = room.address[boxes.box_of] + boxes.offset
        return replace(answer, addresses=addresses)

    return placed


@pytest.mark.parametrize("name", [*PROGRAMS, *RANDOM])
def test_every_placement_gives_the_same_bytes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    least = run_passes(lowered(name), first=LOWERED)
    wanted = outputs(least)
    places: set[tuple[int | None, ...]] = set()
    for seed in range(4 if name in RANDOM else 6):
        monkeypatch.setattr(place_memory, "placed", shuffled(seed))
        module = run_passes(lowered(name), first=LOWERED)
        buffers = the_program(module, ProgramOp).buffers
        places.add(tuple(buffer.place for buffer in buffers))
        assert outputs(module) == wanted
    assert len(places) > 2


def overlaps(program: ProgramOp) -> set[tuple[int, int]]:
    """Buffers, by number, that hold a byte of one tile in one step."""
    found: set[tuple[int, int]] = set()
    for (i, one), (j, other) in combinations(enumerate(program.buffers), 2):
        assert one.place is not None
        assert other.place is not None
        end = min(one.place + one.size, other.place + other.size)
        if max(one.place, other.place) >= end:
            continue
        steps = any(
            max(a, c) < min(b, d) for a, b in one.lifetime for c, d in other.lifetime
        )
        if steps and np.intersect1d(one.tile_set.array(), other.tile_set.array()).size:
            found.add((i, j))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_buffer_moved_by_its_alignment_is_refused_or_harmless(name: str) -> None:
    """Up to 4 alignments up or down, for each buffer; what is not refused, with as many
    bytes on the fullest tile, meets no other buffer and computes the same."""
    module = run_passes(lowered(name), first=LOWERED)
    program, wanted = the_program(module, ProgramOp), outputs(module)
    refused, met, before = 0, 0, overlaps(program)
    for buffer in program.buffers:
        place, align = buffer.place, buffer.align.value.data
        assert place is not None
        for steps in (-4, -2, -1, 1, 2, 4):
            buffer.address = integer(place + steps * align)
            try:
                CheckMemoryPass().apply(make_context(), module)
            except Refused:
                refused += 1
                met += not overlaps(program) <= before
            else:
                assert overlaps(program) <= before
                assert abs(steps) > 1 or outputs(module) == wanted
        buffer.address = integer(place)
    assert refused > 30
    assert met > 10
