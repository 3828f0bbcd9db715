"""Every plan of a small program, by loops over all combinations of candidates.

Costs of one candidate and of one arrival are the cost model's; how they add up over a
program is written here once more: steps in order, what is alive in each, what links.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from tiledialect.candidates import (
    DIRECT,
    DIRECT_STEPS,
    RELAY_STEPS,
    STORED,
    STREAM,
    Candidates,
    Variant,
)
from tiledialect.cost.group import GroupCost, group_cost
from tiledialect.cost.movement import movement, same_place
from tiledialect.cost.operand import OperandCost, first_hop, later_hops
from tiledialect.cost.spec import Spec
from tiledialect.machine import Machine
from tiledialect.program import Group, Program

Choice = tuple[Variant, tuple[int, ...]]


@dataclass(frozen=True)
class Costed:
    """One whole plan."""

    choices: tuple[Choice, ...]
    cycles: int
    need: int


@dataclass(frozen=True)
class Part:
    """What one candidate adds behind one choice of the group before."""

    cycles: int
    resident: int
    transient: int
    rows: int


def every_plan(
    program: Program,
    machine: Machine,
    tables: list[list[Candidates]],
    code_bytes: int,
    interface_bytes: int,
) -> list[Costed]:
    """All combinations of candidates with their cost."""
    groups = [_Group(program, machine, at, table) for at, table in enumerate(tables)]
    found: list[Costed] = []
    for rows in itertools.product(*(range(len(group.choices)) for group in groups)):
        parts = [
            group.part(rows[at], groups[at - 1] if at else None, rows[at - 1])
            for at, group in enumerate(groups)
        ]
        tensors = sum(p.resident for p in parts) + max(p.transient for p in parts)
        tensors += interface_bytes
        rows_bytes = sum(p.rows for p in parts)
        support = max(machine.memory.support_bytes, code_bytes + rows_bytes)
        found.append(
            Costed(
                tuple(
                    group.choices[row] for group, row in zip(groups, rows, strict=True)
                ),
                sum(p.cycles for p in parts),
                support + tensors + tensors // 64,
            )
        )
    return found


def rounded(size: int) -> int:
    return -(-size // 16) * 16


def link_of(program: Program, position: int) -> int:
    """The operand of a group that takes the result of the one before as it rests."""
    if position == 0:
        return -1
    made = program.groups[position - 1].result
    group = program.groups[position]
    here = [i for i, o in enumerate(group.operands) if o.value == made.value]
    elsewhere = any(
        operand.value == made.value
        for at, other in enumerate(program.groups)
        if at != position
        for operand in other.operands
    )
    if len(here) != 1 or elsewhere or made.value in program.outputs:
        return -1
    before = program.groups[position - 1].extents(made.axes)
    return here[0] if before == group.extents(group.operands[here[0]].axes) else -1


@dataclass(frozen=True)
class Way:
    """One operand's delivery: what it costs, bytes of a source that it uses up, of its
    first and later hops, what stays of it, and what is live while a codelet runs."""

    cycles: int
    rows: int
    held: int
    first_bytes: int
    later_bytes: int
    staying: int
    running: int


class _Group:
    """One group's candidates, a row each, and memory of what was worked out."""

    def __init__(
        self,
        program: Program,
        machine: Machine,
        position: int,
        table: list[Candidates],
    ) -> None:
        self.program, self.machine, self.position = program, machine, position
        self.group: Group = program.groups[position]
        self.link = link_of(program, position)
        self.settles = (
            link_of(program, position + 1) < 0
            if (position + 1 < len(program.groups))
            else True
        )
        self.choices = [
            (some.variant, tuple(int(p) for p in parts))
            for some in table
            for parts in some.parts
        ]
        self.costs: list[GroupCost] = [
            group_cost(
                program,
                self.group,
                machine,
                Candidates(variant, np.array([parts], dtype=np.int64)),
            )
            for variant, parts in self.choices
        ]
        self.known: dict[tuple[int, int], Part] = {}

    def part(self, row: int, before: _Group | None, previous: int) -> Part:
        key = (row, previous if self.link >= 0 else -1)
        if key not in self.known:
            source = before.costs[previous].rest if before else None
            self.known[key] = self._part(self.costs[row], source)
        return self.known[key]

    def _part(self, cost: GroupCost, source: Spec | None) -> Part:
        cycles = int(cost.cycles[0])
        rows = int(cost.reduction.row_bytes[0] + cost.step_bytes(self.machine)[0])
        live = int(cost.transient_bytes[0])
        if self.settles:
            linear = self._linear(cost.rest.shape, cost.rest.element_bytes)
            way = movement(self.machine, cost.rest, linear, shared=False)
            cycles += int(way.exchange[0] + way.copy[0])
            rows += int(way.row_bytes[0])
            steps = int(way.exchange[0] > 0) + int(way.copy[0] > 0)
            rows += steps * self.machine.code.step_bytes
            moved = rounded(int(linear.tile_bytes[0])) if way.exchange[0] else 0
            staging = rounded(int(way.staging_bytes[0]))
            live = max(live, int(cost.rest_bytes[0]) + moved + staging)
        numbers = [n for n, o in enumerate(cost.operands) if o.path != STORED]
        ways = [self._way(cost.operands[n], n, source) for n in numbers]
        for at, way in enumerate(ways):
            cycles, rows = cycles + way.cycles, rows + way.rows
            there = sum(w.staying for w in ways[:at])
            there += sum(w.held for w in ways[at + 1 :])
            live = max(live, there + way.first_bytes, there + way.later_bytes)
        if any(o.steps > 1 for o in cost.operands):
            running = int(cost.held_bytes[0] + cost.computed_bytes[0])
            live = max(live, running + sum(w.running for w in ways))
        resident = int(cost.resident_bytes[0])
        return Part(cycles, resident, live + self._others(), rows)

    def _way(self, operand: OperandCost, number: int, source: Spec | None) -> Way:
        """One operand's delivery."""
        later = later_hops(self.machine, operand)
        relay = int(operand.relay_bytes[0])
        block = rounded(int(operand.block.tile_bytes[0]))
        staying = block + (relay if operand.path == RELAY_STEPS else 0)
        after = int(later.extra_bytes[0])
        running = after if operand.steps > 1 else 0
        if operand.path == STREAM:
            cycles = int(later.cycles[0])
            return Way(
                cycles, int(later.row_bytes[0]), 0, 0, after + block, staying, running
            )
        spec = source
        if number != self.link:
            extents = self.group.extents(self.group.operands[number].axes) or (1,)
            spec = self._linear(extents, operand.block.element_bytes)
        assert spec is not None
        first = first_hop(self.machine, operand, spec)
        last = self.program.last_use(self.group.operands[number].value)
        consumed = number == self.link or last == self.position
        held = rounded(int(spec.tile_bytes[0])) if consumed else 0
        there = bool(same_place(spec, operand.block)[0]) and operand.users[0] == 1
        arriving = 0 if there else block
        if number != self.link and there and not consumed:
            staying = 0
        first_bytes = held + int(first.extra_bytes[0])
        if operand.path == DIRECT_STEPS:
            staying += 0 if number == self.link else held
            running += first_bytes if operand.steps > 1 else 0
        if operand.path in (DIRECT, DIRECT_STEPS):
            first_bytes += arriving
        if number != self.link:
            block = arriving
        return Way(
            int(first.cycles[0] + later.cycles[0]),
            int(first.row_bytes[0] + later.row_bytes[0]),
            held,
            first_bytes,
            after + block,
            staying,
            running,
        )

    def _linear(self, shape: tuple[int, ...], width: int) -> Spec:
        return Spec.of_linear(shape, width, self.machine.tiles)

    def _others(self) -> int:
        """Values that lie linear all through this group: not made by it or later, not
        dead before it, not consumed by it."""
        total = 0
        for number, value in enumerate(self.program.values):
            makers = [
                at
                for at, group in enumerate(self.program.groups)
                if group.result.value == number
            ]
            made = makers[0] if makers else -1
            born = value.kind == "input" or 0 <= made < self.position
            links = (
                made >= 0
                and made + 1 < len(self.program.groups)
                and (link_of(self.program, made + 1) >= 0)
            )
            last = self.program.last_use(number)
            if not born or links or value.is_stored or last <= self.position:
                continue
            elements = (value.form.elements,)
            total += rounded(
                int(self._linear(elements, value.form.format.bytes).tile_bytes[0])
            )
        return total
