"""Placement: one address for every buffer, the same on all its tiles.

Reads   buffers, aliases, apart pairs, the calls' needs, the row bytes of the phases.
Writes  the address of every buffer, and memory.map with what was found; where pairs of
        an exchange cannot be kept apart, exchange.serial and new rows of these phases.
Holds   buffers alive in one step of one tile share no byte; alignment, regions and
        apart pairs are kept; the footprint, support included, is within the budget;
        no buffer of an exchange shares a memory element with the rows. The bytes that
        the certificate foretells are kept; where that fails, they become what is true.
Fails   when memory does not suffice (not enough bytes, or not in one piece), or when a
        buffer is asked to be two things at once.

Method: tiles that hold the same buffers are one class; what a codelet needs becomes
alignment, region and pairs of the buffers it is given; the solver does the rest. If it
fails, and would not without the pairs that only phases need apart, the cheapest pairs
that are in the way are serialised, and all is placed anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.passes import ModulePass

from tiledialect.diagnostics import (
    Infeasible,
    Stopped,
    TileError,
    fail,
    locate,
)
from tiledialect.dialects.buffers import BufferOp
from tiledialect.dialects.memory import MapOp, ProgramOp
from tiledialect.dialects.module_attributes import (
    CERTIFICATE,
    machine_of,
    require_rung,
    set_rung,
    the_program,
)
from tiledialect.dialects.support import Support
from tiledialect.dialects.syntax import carried_location, integer
from tiledialect.lowering.demands import Demands
from tiledialect.lowering.foretold import foretold
from tiledialect.lowering.memory_problem import (
    asked_of,
    dump_problem,
    estimate_of,
    limit_of,
    searched_of,
)
from tiledialect.lowering.placed import placed
from tiledialect.lowering.serial_pairs import cycles_lost, exchange_pairs, give_up
from tiledialect.machine import Machine
from tiledialect.placement.drop_pairs import is_placed_without, pairs_to_drop
from tiledialect.placement.problem import (
    Placement,
    PlacementError,
    Problem,
)

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Occupied:
    """Distinct bytes of buffers on the class of tiles that has most."""

    peaks: Ints  # (steps,) alive in each step
    ever: int  # alive in some step


def occupied(problem: Problem, addresses: Ints, steps: int) -> Occupied:
    """What the buffers take at their addresses, gaps between them not counted."""
    alive = np.zeros((len(problem.names), steps + 1), np.bool_)
    for i, lifetime in enumerate(problem.lifetimes):
        for first, end in lifetime:
            alive[i, first : min(end, steps)] = True
        alive[i, steps] = bool(lifetime)
    most = np.zeros(steps + 1, np.int64)
    for held in problem.classes.T:
        bytes = _covered(addresses[held], problem.bytes[held], alive[held])
        most = np.maximum(most, bytes)
    return Occupied(most[:steps], int(most[steps]))


def _covered(address: Ints, size: Ints, alive: Bools) -> Ints:
    """Distinct bytes of the ranges alive, for each column of `alive`."""
    order = np.argsort(address, kind="stable")
    first, end = address[order][:, None], (address + size)[order][:, None]
    reach = np.where(alive[order], end, 0)
    before = np.zeros_like(reach)
    before[1:] = np.maximum.accumulate(reach, axis=0)[:-1]
    return np.maximum(reach - np.maximum(first, before), 0).sum(axis=0)


def largest_alive(problem: Problem, step: int, tile_class: int) -> str:
    """The three largest buffers of a class alive in a step, with their bytes."""
    alive = [
        i
        for i, lifetime in enumerate(problem.lifetimes)
        if problem.classes[i, tile_class]
        and any(first <= step < end for first, end in lifetime)
    ]
    children = {child for child, _, _ in problem.aliases}
    alive = sorted(set(alive) - children, key=lambda i: (-int(problem.bytes[i]), i))
    return ", ".join(f'"{problem.names[i]}" {problem.bytes[i]}' for i in alive[:3])


KINDS: dict[str, type[TileError]] = {"infeasible": Infeasible, "stopped": Stopped}


def refusal(
    problem: Problem, found: Placement, support: Support, limit: int, first_tiles: Ints
) -> str:
    """Why there is no placement, in one line: tile, step, what is largest there."""
    step, tile_class = found.live_peak_step, found.live_peak_class
    need = found.live_peak + support.bytes
    largest = f"; largest there: {largest_alive(problem, step, tile_class)}"
    if need > limit:
        return (
            f"not enough bytes: tile {first_tiles[tile_class]} needs {need} bytes in"
            f" step {step}, support {support.bytes} included, the limit is {limit}"
            f"{largest}"
        )
    reason = found.reason
    named = re.search(r" of class (\d+)", reason)
    if named is not None:  # users know tiles, not the solver's classes
        tile_class = int(named[1])
        reason = reason.replace(named[0], "")
    about = "" if "largest there" in reason else largest
    return f"tile {first_tiles[tile_class]}: {reason}{about}"


def _map(
    program: ProgramOp, status: str, taken: Occupied, support: Support, limit: int
) -> MapOp:
    live = taken.peaks + support.bytes
    step = int(live.argmax()) if live.size else 0
    numbers = {
        "footprint": taken.ever + support.bytes,
        "limit": limit,
        "support": support.bytes,
        "code": support.code,
        "program": support.program,
        "row_bytes": support.rows,
        "profile": support.profile,
        "live_peak": int(live.max(initial=support.bytes)),
        "peak_step": step,
    }
    return MapOp(numbers, live.tolist(), status, location=carried_location(program))


def keep_promise(module: ModuleOp, footprint: int) -> None:
    """Let the certificate say no less than what is placed; what the search said is then
    `foretold`."""
    foretold = estimate_of(module)
    if foretold is None or foretold >= footprint:
        return
    certificate = module.attributes[CERTIFICATE]
    assert isinstance(certificate, DictionaryAttr)
    first = certificate.data.get("foretold", integer(foretold))
    fields = {**certificate.data, "bytes": integer(footprint), "foretold": first}
    module.attributes[CERTIFICATE] = DictionaryAttr(fields)


@dataclass(frozen=True)
class Attempt:
    """What the solver was asked and what it found."""

    support: Support
    demands: Demands
    problem: Problem
    found: Placement
    failure: TileError | None
    """Why there is no placement."""


def attempt(module: ModuleOp, program: ProgramOp, minimise: bool) -> Attempt:
    """Ask the solver once; refuses a program that contradicts itself."""
    asked = asked_of(module, program)
    support, demands, problem = asked.support, asked.demands, asked.problem
    try:
        found = placed(problem, minimise=minimise)
    except PlacementError as error:
        fail(_first(program, demands, error.buffers), str(error))
    found = kept_promise(module, support, problem, found)
    failure = None
    if found.status in KINDS:
        message = refusal(problem, found, support, asked.limit, asked.first_tiles)
        about = _first(program, demands, found.buffers)
        failure = KINDS[found.status](message, locate(about), about)
    return Attempt(support, demands, problem, found, failure)


def kept_promise(
    module: ModuleOp, support: Support, problem: Problem, found: Placement
) -> Placement:
    """The placement that the bytes foretold come from, where it is better: it is one
    with more rows and more pairs apart, which may be found where this is not."""
    searched = searched_of(module)
    failed = found.status in KINDS
    goal = problem.footprint_goal
    if searched is None or goal is None or not (failed or found.footprint > goal):
        return found
    made = foretold(module, searched)
    if made is None or not made.holds_for(support, problem):
        return found
    return made.found if failed or made.found.footprint < found.footprint else found


def serialise(machine: Machine, program: ProgramOp, tried: Attempt) -> bool:
    """Give up pairs of phases that are in the way; False where that does not help."""
    pairs = exchange_pairs(program)
    numbers = [(tried.demands.number(a), tried.demands.number(b)) for a, b in pairs]
    if not pairs or not is_placed_without(tried.problem, set(numbers)):
        return False
    lost = cycles_lost(machine, program, pairs)
    dearest = sorted(range(len(pairs)), key=lambda i: (-lost[i], i))
    dropped = set(pairs_to_drop(tried.problem, [numbers[i] for i in dearest]))
    gone = [
        pair for pair, number in zip(pairs, numbers, strict=True) if number in dropped
    ]
    give_up(machine, program, gone, "no placement keeps them apart")
    return True


def place_program(module: ModuleOp, program: ProgramOp, minimise: bool) -> None:
    """Give every buffer its address, and the program its map."""
    machine, tried = machine_of(module), attempt(module, program, minimise)
    first_failure = tried.failure
    while tried.failure is not None:
        assert first_failure is not None
        if not serialise(machine, program, tried):
            raise first_failure
        try:
            tried = attempt(module, program, minimise)
        except TileError as error:  # the new rows leave too little
            raise first_failure from error
    support, addresses = tried.support, tried.found.addresses
    for buffer, address in zip(tried.demands.buffers, addresses, strict=True):
        buffer.address = integer(int(address))
    taken = occupied(tried.problem, addresses, program.step_count)
    keep_promise(module, taken.ever + support.bytes)
    limit = limit_of(module, machine)
    program.declare(_map(program, tried.found.status, taken, support, limit))


def _first(
    program: ProgramOp, demands: Demands, buffers: tuple[int, ...]
) -> ProgramOp | BufferOp:
    return demands.buffers[buffers[0]] if buffers else program


@dataclass(frozen=True)
class PlaceMemoryPass(ModulePass):
    """Gives every buffer an address.

    minimise  look for the smallest footprint
    dump      a file where the problem of `tile` goes first, as CSV for tile-place
    """

    name = "place-memory"

    minimise: bool = False
    dump: str | None = None
    tile: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_rung(op, self.name, 5)
        program = the_program(op, ProgramOp)
        if self.dump is not None:
            dump_problem(op, program, self.dump, self.tile)
        place_program(op, program, self.minimise)
        set_rung(op, 6)
