"""The largest buffers of a plan, by name: what is in the way of a smaller budget."""

from __future__ import annotations

import numpy as np

from tiledialect.candidates import STORED, STREAM, Candidates
from tiledialect.chunks import chunked, chunking_of
from tiledialect.cost.group import GroupCost, group_cost
from tiledialect.machine import Machine
from tiledialect.program import Program
from tiledialect.search.solve import Plan


def largest_buffers(
    program: Program, machine: Machine, plan: Plan, count: int
) -> list[tuple[str, int]]:
    """Names and bytes of the largest buffers on a tile in the plan's fullest group:
    its own, and the parameters that lie there for good. The first of equals stands."""
    found: list[tuple[str, int]] = []
    program = chunked(program, chunking_of(program, plan.chunks))
    for position, (variant, parts) in enumerate(plan.choices):
        table = Candidates(variant, np.array([parts], dtype=np.int64))
        cost = group_cost(program, program.groups[position], machine, table)
        found += _stored(program, position, cost)
        if position == plan.fullest:
            found += _own(program, position, cost)
    return sorted(found, key=lambda buffer: -buffer[1])[:count]


def _stored(program: Program, position: int, cost: GroupCost) -> list[tuple[str, int]]:
    """Parameters and constants of a group, in the form in which they lie for good."""
    group = program.groups[position]
    found: list[tuple[str, int]] = []
    for use, operand in zip(group.operands, cost.operands, strict=True):
        name = program.values[use.value].name
        if operand.path == STORED:
            found.append((f"{name} for {group.name}", int(operand.block_bytes[0])))
        if operand.path == STREAM:
            found.append((f"spread {name}", int(operand.relay_bytes[0])))
    return found


def _own(program: Program, position: int, cost: GroupCost) -> list[tuple[str, int]]:
    """What a group's own steps hold."""
    group = program.groups[position]
    found: list[tuple[str, int]] = []
    for use, operand in zip(group.operands, cost.operands, strict=True):
        if operand.path != STORED:
            name = program.values[use.value].name
            found.append((f"{name} at {group.name}", int(operand.block_bytes[0])))
    result = "partial sums of " if cost.splits else ""
    found.append((f"{result}{group.name}", int(cost.computed_bytes[0])))
    if cost.splits:
        found.append((f"stack of {group.name}", int(cost.stack_bytes[0])))
    return found
