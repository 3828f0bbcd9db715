"""What placement is asked: a program's buffers as a placement problem.

Tiles that hold the same buffers are one class; what a codelet needs becomes alignment,
region and pairs of the buffers it is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp

from tiledialect.atomic import write_atomically
from tiledialect.diagnostics import Refused, Usage, fail
from tiledialect.dialects.buffers import BufferOp
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import (
    CERTIFICATE,
    budget_of,
    machine_of,
    reserve_of,
)
from tiledialect.dialects.support import Support, support_of
from tiledialect.lowering.demands import Demands, demands_of
from tiledialect.machine import Machine
from tiledialect.placement.csv_format import write_problem
from tiledialect.placement.problem import Problem, of_class

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def tile_classes(machine: Machine, buffers: list[BufferOp]) -> tuple[Bools, Ints]:
    """Classes of tiles that hold the same buffers, (buffers, classes), and the first
    tile of each class."""
    held = np.zeros((machine.tiles, len(buffers)), np.bool_)
    for i, buffer in enumerate(buffers):
        tiles = buffer.tile_set.array()
        if tiles.size and tiles[-1] >= machine.tiles:
            name = buffer.buffer_name.data
            fail(buffer, f'{machine.name} has no tile {tiles[-1]} for "{name}"')
        held[tiles, i] = True
    classes, first = np.unique(held, axis=0, return_index=True)
    order = np.argsort(first)
    return classes[order].T.copy(), first[order].astype(np.int64)


def region_range(machine: Machine, region: str) -> tuple[int, int]:
    """The first longest stretch of memory of that kind."""
    best, start, address = (0, 0), 0, 0
    for part in machine.memory.regions:
        fits = {
            "any": True,
            "interleaved": part.interleaved,
            "executable": part.executable,
        }[region]
        if not fits:
            start = address + part.bytes
        address += part.bytes
        if address - start > best[1] - best[0]:
            best = (start, address)
    return best


def placement_problem(
    machine: Machine,
    demands: Demands,
    support: Support,
    classes: Bools,
    limit: int,
    reserve: int,
    goal: int | None = None,
) -> Problem:
    """The problem: tensors above the support, within `limit` bytes together with it;
    if possible within `goal`."""
    memory = machine.memory
    bottom = memory.fixed_bytes + support.bytes
    top = memory.bytes - memory.tail_bytes - reserve
    edges = np.array(machine.element_edges(), np.int64)
    rows_end = memory.fixed_bytes + support.rows
    above_rows = int(edges[np.searchsorted(edges, rows_end)])
    buffers = demands.buffers
    ranges = [region_range(machine, region) for region in demands.region]
    low = np.array([max(first, bottom) for first, _ in ranges], np.int64)
    if support.rows:  # rows are fetched while words arrive
        low[demands.exchanged] = np.maximum(low[demands.exchanged], above_rows)
    aliases = [
        (i, demands.number(buffer.alias), buffer.alias_offset.value.data)
        for i, buffer in enumerate(buffers)
        if buffer.alias is not None and buffer.alias_offset is not None
    ]
    pairs = dict.fromkeys(demands.apart)
    return Problem(
        names=tuple(buffer.buffer_name.data for buffer in buffers),
        bytes=np.array([buffer.size for buffer in buffers], np.int64),
        lifetimes=tuple(buffer.lifetime for buffer in buffers),
        align=np.array(demands.align, np.int64),
        low=low,
        high=np.array([min(end, top) for _, end in ranges], np.int64),
        pinned=np.full(len(buffers), -1, np.int64),
        classes=classes,
        apart=np.array(list(pairs), np.int64).reshape(-1, 2),
        element_edges=edges,
        aliases=tuple(aliases),
        footprint_limit=limit - support.bytes,
        footprint_goal=None if goal is None else goal - support.bytes,
    )


def limit_of(module: ModuleOp, machine: Machine) -> int:
    """Bytes of footprint that a tile may have."""
    usable = machine.max_bytes - reserve_of(module)
    budget = budget_of(module)
    return usable if budget is None else min(budget, usable)


def estimate_of(module: ModuleOp) -> int | None:
    """Bytes of footprint that the planner foretold; None where no planner was."""
    return _certified(module, "bytes")


def searched_of(module: ModuleOp) -> int | None:
    """Bytes by which the search compared the plan; None where that is not known."""
    return _certified(module, "searched")


def _certified(module: ModuleOp, name: str) -> int | None:
    """A number of the certificate."""
    certificate = module.attributes.get(CERTIFICATE)
    if not isinstance(certificate, DictionaryAttr):
        return None
    number = certificate.data.get(name)
    return number.value.data if isinstance(number, IntegerAttr) else None


def check_support(
    program: ProgramOp, machine: Machine, support: Support, limit: int
) -> None:
    """Refuses a support that is larger than the limit or than executable memory."""
    if support.bytes > limit:
        fail(
            program,
            f"the support takes {support.bytes} bytes (rows {support.rows}, code"
            f" {support.code}, program {support.program}, profile {support.profile};"
            f" reservation {machine.memory.support_bytes}), the limit is {limit}",
        )
    room = region_range(machine, "executable")[1] - machine.memory.fixed_bytes
    if support.bytes > room:
        fail(
            program,
            f"the support takes {support.bytes} bytes, executable memory has {room}",
        )


@dataclass(frozen=True)
class Asked:
    """What is asked of the solver: the classes of tiles begin with `first_tiles`."""

    support: Support
    demands: Demands
    problem: Problem
    limit: int
    first_tiles: Ints


def asked_of(module: ModuleOp, program: ProgramOp) -> Asked:
    """The problem of a program; refuses one whose support alone is too large."""
    machine, limit = machine_of(module), limit_of(module, machine_of(module))
    support = support_of(machine, program)
    check_support(program, machine, support, limit)
    demands = demands_of(machine, program)
    classes, first_tiles = tile_classes(machine, demands.buffers)
    reserve = reserve_of(module)
    problem = placement_problem(
        machine, demands, support, classes, limit, reserve, estimate_of(module)
    )
    return Asked(support, demands, problem, limit, first_tiles)


def dump_problem(module: ModuleOp, program: ProgramOp, path: str, tile: int) -> None:
    """Write the problem of a tile as CSV, which `tile-place` reads. Raises Usage where
    there is no such tile, Refused where the file cannot be written."""
    machine, asked = machine_of(module), asked_of(module, program)
    if not 0 <= tile < machine.tiles:
        raise Usage(f"{machine.name} has no tile {tile} to write the problem of")
    buffers = asked.demands.buffers
    held = [tile in buffer.tile_set.array() for buffer in buffers]
    classes = np.array(held, np.bool_).reshape(-1, 1)
    alone = replace(asked.problem, classes=classes)
    try:
        write_atomically(path, write_problem(of_class(alone, 0)).encode())
    except OSError as error:
        raise Refused(f"cannot write '{path}': {error.strerror}") from error
