"""Candidates before they are priced: the least that each of them costs.

Blocks, how stored operands lie and the codelet's cycles are quickly known; messages are
not. A candidate that is ruled out by what is known here need not be priced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import (
    BLOCK,
    CUT,
    LINEAR,
    RELAY,
    RELAY_STEPS,
    ROW_MAJOR,
    STORED,
    STREAM,
    Candidates,
    splittable_reduction,
)
from tiledialect.chunks import Chunking
from tiledialect.codelets import map_cycles, sum_cycles
from tiledialect.cost.group import GroupCost, group_cost, tail_stages
from tiledialect.cost.operand import phase_start, sized
from tiledialect.cost.spec import ceil_div
from tiledialect.machine import Machine
from tiledialect.program import Program
from tiledialect.search.grid_bounds import least_cycles
from tiledialect.search.pools import whole_pool
from tiledialect.search.problem import Problem, make_problem
from tiledialect.search.rough import Tables
from tiledialect.search.stairs import Points, Stairs, points_of, reach

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    _Known = dict[object, tuple[Candidates, Points, GroupCost | None]]


_FIRST = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class Outline:
    """Candidates of a group, those of each variant behind each other, and their least
    costs, of all chunks together."""

    table: list[Candidates]
    points: Points

    def __len__(self) -> int:
        return len(self.points)

    def untimed(self) -> Outline:
        """The same with bytes alone."""
        points = replace(self.points, cycles=self.points.cycles * 0)
        return Outline(self.table, points)

    def take(self, rows: Ints) -> Outline:
        """Some of the candidates, by their ascending numbers."""
        ends = np.cumsum([len(one) for one in self.table])
        split = np.split(rows, np.searchsorted(rows, ends[:-1]))
        begins = np.append(np.int64(0), ends[:-1])
        some = [
            one.take(part - begin)
            for one, part, begin in zip(self.table, split, begins, strict=True)
        ]
        return Outline([one for one in some if len(one)], self.points.take(rows))


def frame(
    program: Program, machine: Machine, tables: Tables, chunking: Chunking
) -> Problem:
    """The problem of a few candidates: what all candidates share is that of all."""
    few = [[table[0].take(_FIRST)] for table in tables]
    return make_problem(program, machine, few, chunking)


def outlines(problem: Problem, tables: Tables, *, timed: bool = True) -> list[Outline]:
    """The outlines of all groups; `problem` is a frame. Not `timed`: without cycles."""
    every = [_outline(problem, at, table) for at, table in enumerate(tables)]
    return every if timed else [one.untimed() for one in every]


def _outline(problem: Problem, position: int, table: list[Candidates]) -> Outline:
    known: _Known = {}
    return Outline(
        table, _joined([_points(problem, position, o, known) for o in table])
    )


def sharpened(
    program: Program,
    machine: Machine,
    some: Sequence[Outline],
    position: int,
    chunking: Chunking,
) -> Outline:
    """The outline of one group with its prices; a link's first hop is not among
    them."""
    tables = [[outline.table[0].take(_FIRST)] for outline in some]
    tables[position] = some[position].table
    problem = make_problem(program, machine, tables, chunking)
    pool = whole_pool(problem, position)
    pool = pool.take(np.lexsort((pool.row, pool.variant)))
    priced = points_of(pool, timed=True).columns
    pairs = zip(some[position].points.columns, priced, strict=True)
    return Outline(some[position].table, Points(*(np.maximum(*pair) for pair in pairs)))


def within(problem: Problem, some: Sequence[Outline], stairs: Stairs) -> list[Outline]:
    """What may be of a plan on or below the stairs."""
    rows = reach(problem, [outline.points for outline in some], stairs)
    return [outline.take(row) for outline, row in zip(some, rows, strict=True)]


def _joined(parts: list[Points]) -> Points:
    columns = zip(*(part.columns for part in parts), strict=True)
    return Points(*(np.concatenate(column) for column in columns))


def _points(problem: Problem, position: int, some: Candidates, known: _Known) -> Points:
    """The least costs of the candidates of a variant; those that differ in the order
    of the result, or in the axis that its rest is cut along, share them."""
    variant = some.variant
    key = variant.paths, variant.steps, min(variant.rest, CUT), len(some)
    if key not in known or not np.array_equal(known[key][0].parts, some.parts):
        known[key] = some, _least(problem, position, some, known), None
    return known[key][1]


def _least(problem: Problem, position: int, some: Candidates, known: _Known) -> Points:
    machine, chunks = problem.machine, problem.chunks
    before, cost = _before_results(problem, position, some, known)
    cycles, stack = _after_codelet(problem, position, some, cost)
    rows = before.rows
    if some.variant.rest != BLOCK:
        group = problem.program.groups[position]
        heard = some.parts[:, splittable_reduction(group)] - 1
        rows = rows + _phase_bytes(machine, heard) + machine.code.step_bytes
    return Points(
        (before.cycles + cycles) * chunks,
        before.resident,
        np.maximum(before.transient, stack) + problem.stages[position].others,
        rows * chunks,
    )


def _phase_bytes(machine: Machine, messages: Ints) -> Ints:
    """Bytes of control words of a tile that hears so many messages, at least."""
    x = machine.exchange
    words = messages * (x.source_controls + x.pointer_controls) + x.phase_controls
    return words * x.control_word_bytes


def _arriving_bytes(machine: Machine, cost: GroupCost) -> Ints:
    """Bytes of control words and of the program's steps that operands take at least
    that several tiles share, and of the codelet's own steps."""
    code = machine.code.step_bytes
    total = 0 * cost.compute + max(o.steps for o in cost.operands) * code
    for operand in cost.operands:
        if operand.path == STORED:
            continue
        messages = np.ones_like(operand.users)
        if operand.path in (RELAY, RELAY_STEPS, STREAM):
            # a window goes on over the ends of the pieces that a block is spread in
            piece = np.maximum(operand.relay.tile_bytes, 1)
            ends = ceil_div(operand.block.block_bytes, piece) + 1
            messages = messages + np.minimum(operand.users - 1, ends)
        phase = _phase_bytes(machine, messages) + code * (not operand.joined)
        total = total + np.where(operand.users > 1, phase * operand.steps, 0)
    return total


def _before_results(
    problem: Problem, position: int, some: Candidates, known: _Known
) -> tuple[Points, GroupCost]:
    """The least costs of a chunk up to the codelet's result, wherever it rests."""
    key = some.variant.paths, some.variant.steps, len(some)
    found = known.get(key)
    if found is not None and np.array_equal(found[0].parts, some.parts):
        assert found[2] is not None
        return found[1], found[2]
    program, machine = problem.program, problem.machine
    group = program.groups[position]
    plain = replace(some.variant, rest=BLOCK, order=ROW_MAJOR)
    cost = group_cost(program, group, machine, Candidates(plain, some.parts))
    points = Points(
        least_cycles(program, group, machine, some),
        cost.resident_bytes,
        cost.held_bytes + cost.computed_bytes,
        _arriving_bytes(machine, cost),
    )
    known[key] = some, points, cost
    return points, cost


def _after_codelet(
    problem: Problem, position: int, some: Candidates, cost: GroupCost
) -> tuple[Ints, Ints]:
    """Cycles that sum and stages take at least, and bytes live while partial sums are
    gathered."""
    machine, group = problem.machine, problem.program.groups[position]
    stages, elements = tail_stages(group), cost.computed.block_elements
    zero = 0 * cost.compute
    cycles, stack = zero, zero
    if some.variant.rest != BLOCK:
        partials = some.parts[:, splittable_reduction(group)]
        share = ceil_div(elements, partials)
        if some.variant.rest == LINEAR:
            whole = prod(group.extents(group.result.axes))
            share = np.minimum(share, whole // machine.tiles)
        cycles = phase_start(machine) + sum_cycles(
            machine, group.format, partials, share
        )
        stack = sized((partials - 1) * share * cost.computed.element_bytes)
        stack, elements = cost.computed_bytes + stack, share
    if stages:
        cycles = cycles + map_cycles(machine, stages, elements, False)
    return cycles + zero, stack
