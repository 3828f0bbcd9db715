"""What a plan costs, term by term.

The terms of a group's cycles add up to its cycles, those of all groups and chunks to
the plan's; the largest of a group's live bytes counts for the plan's footprint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiledialect.candidates import (
    DIRECT_STEPS,
    PACK,
    RELAY,
    RELAY_STEPS,
    STORED,
    STREAM,
    Candidates,
    Variant,
)
from tiledialect.chunks import WHOLE, Chunking, chunking_of
from tiledialect.constraint_text import plain_constraint
from tiledialect.constraints import exact_choice, operand_names
from tiledialect.cost.group import GroupCost
from tiledialect.cost.movement import same_place
from tiledialect.cost.operand import OperandCost, first_hop, later_hops, sized
from tiledialect.cost.spec import Spec
from tiledialect.machine import Machine
from tiledialect.program import Program
from tiledialect.search.bounds import footprint
from tiledialect.search.problem import Problem, Stage, make_problem
from tiledialect.search.solve import Plan

Choice = tuple[Variant, tuple[int, ...]]


@dataclass(frozen=True)
class GroupTerms:
    """One group of a plan, for one chunk.

    choice    what it chooses, as plain data
    cycles    by term, in the order of the steps
    resident  bytes held for good; `others`: values that wait for later groups
    live      bytes of each step besides resident ones, by term
    rows      bytes of control words
    """

    name: str
    family: str
    location: str
    choice: dict[str, object]
    cycles: dict[str, int]
    resident: int
    others: int
    live: dict[str, int]
    rows: int

    @property
    def total(self) -> int:
        return sum(self.cycles.values())

    @property
    def fullest(self) -> str:
        """The step in which the most bytes are live; the first of equals."""
        return max(self.live, key=lambda step: self.live[step])

    @property
    def peak(self) -> int:
        return self.live[self.fullest]


@dataclass(frozen=True)
class PlanTerms:
    """A whole plan. Cycles and rows of its groups count `chunks` times."""

    groups: tuple[GroupTerms, ...]
    chunks: int
    interface: int
    support: int

    @property
    def cycles(self) -> int:
        return self.chunks * sum(group.total for group in self.groups)

    @property
    def resident(self) -> int:
        return sum(group.resident for group in self.groups)

    @property
    def peak(self) -> int:
        return max((group.peak for group in self.groups), default=0)

    @property
    def fullest(self) -> int:
        """The first group in which as many bytes are live as in any."""
        peaks = [group.peak for group in self.groups]
        return peaks.index(max(peaks)) if peaks else 0

    @property
    def bytes(self) -> int:
        """The footprint: support, tensors, and a part in 64 for gaps."""
        tensors = np.array([self.resident + self.peak + self.interface])
        return self.support + int(footprint(tensors)[0])


def plan_terms(program: Program, machine: Machine, plan: Plan) -> PlanTerms:
    """All terms of a plan of a search."""
    chunking = WHOLE if plan.chunks == 1 else chunking_of(program, plan.chunks)
    problem = single_problem(program, machine, plan.choices, chunking)
    groups = tuple(_group_terms(problem, at, plan) for at in range(problem.count))
    rows = np.array([plan.chunks * sum(group.rows for group in groups)])
    support = int(problem.support_bytes(rows)[0])
    return PlanTerms(groups, plan.chunks, problem.interface_bytes, support)


def single_problem(
    program: Program,
    machine: Machine,
    choices: tuple[Choice, ...],
    chunking: Chunking,
) -> Problem:
    """The problem in which each group has one candidate."""
    tables = [
        [Candidates(variant, np.array([parts], dtype=np.int64))]
        for variant, parts in choices
    ]
    return make_problem(program, machine, tables, chunking)


def _group_terms(problem: Problem, position: int, plan: Plan) -> GroupTerms:
    stage = problem.stages[position]
    (priced,) = stage.variants
    cost = priced.cost
    ways = _ways(problem, position)
    group = problem.program.groups[position]
    asked = exact_choice(group, *plan.choices[position])
    live = _live(cost, ways)
    if not problem.links(position):
        live["settling"] = int(priced.settling.live_bytes[0])
    return GroupTerms(
        name=group.name,
        family=group.family,
        location=group.location,
        choice=plain_constraint(problem.program, group, asked),
        cycles=_cycles(problem, position, ways),
        resident=int(cost.resident_bytes[0]),
        others=stage.others,
        live={step: size + stage.others for step, size in live.items()},
        rows=int(priced.row_bytes[0]) + sum(way.rows for way in ways),
    )


def _cycles(problem: Problem, position: int, ways: list[_Way]) -> dict[str, int]:
    """The terms of a group's cycles, in the order of its steps."""
    (priced,) = problem.stages[position].variants
    cost, settling = priced.cost, priced.settling
    cycles: dict[str, int] = {}
    for way in ways:
        if way.operand.path != STORED:
            cycles[f"{way.name} exchange"] = way.exchange
            cycles[f"{way.name} codelets"] = way.compute
    cycles["compute"] = int(cost.compute[0])
    if cost.splits:
        cycles["reduction exchange"] = int(cost.reduction.exchange[0])
        cycles["reduction copies"] = int(cost.reduction.copy[0])
        cycles["sum"] = int(cost.sum[0])
    if cost.has_stages:
        cycles["stages"] = int(cost.stages[0])
    if not problem.links(position):
        cycles["settling exchange"] = int(settling.exchange[0])
        cycles["settling copies"] = int(settling.compute[0])
    return cycles


@dataclass(frozen=True)
class _Way:
    """How one operand comes to its block: its costs, bytes of the source that it uses
    up, and of its first and later hops."""

    name: str
    operand: OperandCost
    exchange: int
    compute: int
    rows: int
    held: int
    in_place: bool
    dying: bool
    first_bytes: int
    later_bytes: int

    @property
    def block(self) -> int:
        return int(self.operand.block_bytes[0])

    @property
    def at_once(self) -> bool:
        return self.operand.path not in (STREAM, RELAY, RELAY_STEPS, PACK)

    @property
    def arriving(self) -> int:
        """Bytes of the block where it is made; one that lies in place is its source."""
        return 0 if self.in_place else self.block

    @property
    def staying(self) -> int:
        """Bytes that are there until the codelet has run."""
        if self.in_place and not self.dying:
            return 0  # counted with the values that others read later
        relayed = self.operand.path == RELAY_STEPS
        kept = int(self.operand.relay_bytes[0]) if relayed else 0
        source = self.held if self.operand.path == DIRECT_STEPS else 0
        return self.block + kept + source


def _ways(problem: Problem, position: int) -> list[_Way]:
    """The ways of a group's operands, in order."""
    stage = problem.stages[position]
    (priced,) = stage.variants
    names = operand_names(problem.program, stage.group)
    count = {name: names.count(name) for name in names}
    return [
        _way(
            problem,
            position,
            number,
            operand,
            names[number] if count[names[number]] == 1 else f"{names[number]} {number}",
        )
        for number, operand in enumerate(priced.cost.operands)
    ]


def _way(
    problem: Problem, position: int, number: int, operand: OperandCost, name: str
) -> _Way:
    stage, machine = problem.stages[position], problem.machine
    later = later_hops(machine, operand)
    exchange, compute = int(later.exchange[0]), int(later.compute[0])
    rows, later_bytes = int(later.row_bytes[0]), int(later.extra_bytes[0])
    source = _source(problem, position, number, operand)
    if operand.path == STORED:
        return _Way(name, operand, 0, 0, 0, 0, False, False, 0, 0)
    if source is None:
        return _Way(
            name, operand, exchange, compute, rows, 0, False, False, 0, later_bytes
        )
    first = first_hop(machine, operand, source)
    alone = int(operand.users[0]) == 1
    dying = number == stage.link or number in stage.dying
    return _Way(
        name,
        operand,
        exchange + int(first.exchange[0]),
        compute + int(first.compute[0]),
        rows + int(first.row_bytes[0]),
        int(sized(source.tile_bytes)[0]) * dying,
        alone and bool(same_place(source, operand.block).all()),
        dying,
        int(first.extra_bytes[0]),
        later_bytes,
    )


def _source(
    problem: Problem, position: int, number: int, operand: OperandCost
) -> Spec | None:
    """Where an operand rests; None for a stored one."""
    stage: Stage = problem.stages[position]
    if operand.path in (STORED, STREAM):
        return None
    if number == stage.link:
        (before,) = problem.stages[position - 1].variants
        return before.cost.rest
    return stage.linear[number]


def _live(cost: GroupCost, ways: list[_Way]) -> dict[str, int]:
    """Bytes that are live in each step, by the rules of docs/plan-space.md."""
    moving = [way for way in ways if way.operand.path != STORED]
    live: dict[str, int] = {}
    done = 0
    for at, way in enumerate(moving):
        there = done + sum(other.held for other in moving[at + 1 :])
        last = there + way.later_bytes + way.arriving
        first = there + way.held + way.first_bytes + way.arriving * way.at_once
        live[f"{way.name} arrives"] = max(last, first)
        done += way.staying
    compute = int(cost.held_bytes[0] + cost.computed_bytes[0])
    live["compute"] = compute + _beside_steps(moving)
    last = int(cost.computed_bytes[0])
    if cost.splits:
        stack = int(cost.stack_bytes[0] + sized(cost.reduction.staging_bytes)[0])
        summed = int(cost.summed_bytes[0])
        slot = 0 if cost.own else 16
        live["reduction"] = last + stack + slot
        live["sum"] = (last if cost.own else 0) + stack + summed
        last = summed
    if cost.has_stages:
        live["stages"] = last + int(cost.rest_bytes[0])
    return live


def _beside_steps(moving: list[_Way]) -> int:
    """Bytes besides blocks and sums while a codelet runs in steps."""
    total = 0
    for way in moving:
        if way.operand.steps > 1:
            total += way.later_bytes
            if way.operand.path == DIRECT_STEPS:
                total += way.first_bytes + way.held
    return total
