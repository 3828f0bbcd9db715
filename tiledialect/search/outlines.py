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
    IN_STEPS,
    LINEAR,
    RELAY,
    RELAY_STEPS,
    ROW_MAJOR,
    STORED,
    STREAM,
    Candidates,
    Variant,
    splittable_reduction,
)
from tiledialect.chunks import Chunking
from tiledialect.codelets import map_cycles, sum_cycles
from tiledialect.cost.group import group_cost, tail_stages
from tiledialect.cost.operand import OperandCost, phase_start, sized
from tiledialect.cost.spec import ceil_div
from tiledialect.machine import Machine
from tiledialect.program import Program
from tiledialect.search.grid_floors import GridFloors
from tiledialect.search.grids import Grids
from tiledialect.search.pools import whole_pool
from tiledialect.search.problem import Problem, make_problem
from tiledialect.search.rough import Tables
from tiledialect.search.stairs import Points, Stairs, points_of, reach

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

Ways = tuple[tuple[int, ...], int]
"""How the operands of a variant come, and its steps."""

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


def _outline(problem: Problem, position: int, tables: list[Candidates]) -> Outline:
    """The least costs of all candidates of a group; those that differ in the order of
    the result, or in the axis that its rest is cut along, have them in common."""
    grids = Grids.of(tables)
    least = _Least(problem, position, grids.parts)
    known: dict[tuple[Ways, int, int], Points] = {}
    found: list[Points] = []
    for table, rows in zip(tables, grids.rows, strict=True):
        variant = table.variant
        ways, rest = (variant.paths, variant.steps), min(variant.rest, CUT)
        key = ways, rest, id(rows)
        if key not in known:
            known[key] = least.points(ways, rest).take(rows)
        found.append(known[key])
    return Outline(tables, _joined(found))


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


class _Least:
    """The least costs of a group's candidates, a row each grid."""

    def __init__(self, problem: Problem, position: int, parts: Ints) -> None:
        self.problem, self.position, self.parts = problem, position, parts
        self.program, self.machine = problem.program, problem.machine
        self.group = self.program.groups[position]
        place = self.program, self.group, self.machine
        self.floors = GridFloors(*place, parts)
        stored = (STORED,) * len(self.group.operands)
        table = Candidates(Variant(stored, BLOCK, ROW_MAJOR), parts)
        self.plain = group_cost(*place, table)
        self.phases: dict[tuple[int, int, int], Ints] = {}
        self.before: dict[Ways, Points] = {}
        self.behind: dict[int, Points] = {}

    def points(self, ways: Ways, rest: int) -> Points:
        """The least costs with these ways and a rest of this kind, of all chunks."""
        before, behind = self._before_results(ways), self._behind(rest)
        others = self.problem.stages[self.position].others
        return Points(
            before.cycles + behind.cycles,
            before.resident,
            np.maximum(before.transient, behind.transient) + others,
            before.rows + behind.rows,
        )

    def _before_results(self, ways: Ways) -> Points:
        """The least costs up to the codelet's result, wherever it rests."""
        if ways not in self.before:
            chunks = self.problem.chunks
            self.before[ways] = Points(
                self.floors.cycles(ways[0]).of(ways[1]) * chunks,
                *self.floors.bytes(*ways),
                self._arriving_bytes(*ways) * chunks,
            )
        return self.before[ways]

    def _arriving_bytes(self, paths: tuple[int, ...], steps: int) -> Ints:
        """Bytes of control words and of the program's steps that operands take at
        least that several tiles share, and of the codelet's own steps."""
        code = self.machine.code.step_bytes
        operands = self.floors.operands(paths, steps)
        total = self.floors.zero + max(o.steps for o in operands) * code
        alone = True  # steps of one operand go in the phases of one before
        for number, (path, operand) in enumerate(zip(paths, operands, strict=True)):
            if path == STORED:
                continue
            phase = self._phase_of(number, operand) + code * (
                alone or path not in IN_STEPS
            )
            total = total + np.where(operand.users > 1, phase * operand.steps, 0)
            alone = alone and path not in IN_STEPS
        return total

    def _phase_of(self, number: int, operand: OperandCost) -> Ints:
        """Bytes of control words of a phase that brings an operand, at least."""
        key = number, operand.path, operand.steps
        if key not in self.phases:
            messages = np.ones_like(operand.users)
            if operand.path in (RELAY, RELAY_STEPS, STREAM):
                # a window goes on over the ends of the pieces that a block is spread in
                piece = np.maximum(operand.relay.tile_bytes, 1)
                ends = ceil_div(operand.block.block_bytes, piece) + 1
                messages = messages + np.minimum(operand.users - 1, ends)
            self.phases[key] = _phase_bytes(self.machine, messages)
        return self.phases[key]

    def _behind(self, rest: int) -> Points:
        """The least costs from the codelet's result on; of the transient bytes those
        while partial sums are gathered."""
        if rest not in self.behind:
            chunks, zero = self.problem.chunks, self.floors.zero
            cycles, stack = self._after_codelet(rest)
            rows = zero
            if rest != BLOCK:
                heard = self.parts[:, splittable_reduction(self.group)] - 1
                rows = _phase_bytes(self.machine, heard) + self.machine.code.step_bytes
            self.behind[rest] = Points(cycles * chunks, zero, stack, rows * chunks)
        return self.behind[rest]

    def _after_codelet(self, rest: int) -> tuple[Ints, Ints]:
        """Cycles that sum and stages take at least, and bytes live while partial sums
        are gathered."""
        machine, group, zero = self.machine, self.group, self.floors.zero
        computed, elements = self.plain.computed, self.plain.computed.block_elements
        cycles, stack = zero, zero
        if rest != BLOCK:
            partials = self.parts[:, splittable_reduction(group)]
            share = ceil_div(elements, partials)
            if rest == LINEAR:
                whole = prod(group.extents(group.result.axes))
                share = np.minimum(share, whole // machine.tiles)
            sums = sum_cycles(machine, group.format, partials, share)
            cycles = phase_start(machine) + sums
            stack = sized((partials - 1) * share * computed.element_bytes)
            stack, elements = self.plain.computed_bytes + stack, share
        stages = tail_stages(group)
        if stages:
            cycles = cycles + map_cycles(machine, stages, elements, False)
        return cycles + zero, stack


def _phase_bytes(machine: Machine, messages: Ints) -> Ints:
    """Bytes of control words of a tile that hears so many messages, at least."""
    x = machine.exchange
    words = messages * (x.source_controls + x.pointer_controls) + x.phase_controls
    return words * x.control_word_bytes
