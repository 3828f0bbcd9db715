"""Bringing a group's operands to their blocks, one after another: what it costs.

All that does not depend on where the link's operand rests is *fixed*: it is worked out
once for each candidate. What does is its first hop alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import (
    DIRECT_STEPS,
    PACK,
    RELAY,
    RELAY_STEPS,
    STORED,
    STREAM,
)
from tiledialect.cost.group import GroupCost
from tiledialect.cost.movement import same_place
from tiledialect.cost.operand import (
    Arrival,
    OperandCost,
    first_hop,
    later_hops,
    least_first_hop,
    sized,
)
from tiledialect.cost.spec import Spec
from tiledialect.machine import Machine
from tiledialect.search.problem import Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Hop:
    """First hops of the link's operand.

    held     bytes of the source
    beside   bytes of source, of what lies between, and of a block that comes at once
    lasting  of those, the ones that stay while the codelet runs
    """

    cycles: Ints
    rows: Ints
    held: Ints
    beside: Ints
    lasting: Ints

    def take(self, chosen: Ints | NDArray[np.bool_]) -> Hop:
        return Hop(
            self.cycles[chosen],
            self.rows[chosen],
            self.held[chosen],
            self.beside[chosen],
            self.lasting[chosen],
        )


@dataclass(frozen=True)
class Fixed:
    """What candidates' deliveries cost whatever the link's first hop does.

    live     bytes of the fullest step that the hop is no part of
    waiting  bytes of the fullest step before the hop, the link's source not counted; 0
             where the link's operand comes first
    beside   bytes that lie there in the hop's step besides its own
    running  the same while the codelet runs in steps; 0 where the hop is done by then
    least    cycles that the hop takes at least
    """

    cycles: Ints
    rows: Ints
    live: Ints
    waiting: Ints
    beside: Ints
    running: Ints
    least: Ints


@dataclass(frozen=True)
class _Way:
    """One operand's delivery: bytes of a source that it uses up, of what lies between,
    of its block where it arrives (by the first hop: `at_once`), and what stays until
    the codelet has run."""

    first: Arrival
    later: Arrival
    held: Ints
    arriving: Ints
    staying: Ints
    at_once: bool


def hop(machine: Machine, operand: OperandCost, source: Spec) -> Hop:
    """The first hop of an operand from where it rests."""
    way = first_hop(machine, operand, source)
    held = sized(source.tile_bytes) + 0 * operand.users
    block = np.where(_in_place(operand, source), 0, operand.block_bytes)
    if operand.path in (RELAY, RELAY_STEPS, PACK):  # the block is there later only
        block = held * 0
    lasts = operand.path == DIRECT_STEPS
    return Hop(
        way.cycles,
        way.row_bytes,
        held,
        held + way.extra_bytes + block,
        (held + way.extra_bytes) * lasts,
    )


def least_beside(operand: OperandCost) -> Ints:
    """Bytes of a first hop at least, besides those of the source."""
    if operand.path in (RELAY, RELAY_STEPS):
        return operand.relay_bytes
    if operand.path == PACK:
        return sized(operand.gathered.tile_bytes) + 0 * operand.users
    return np.where(operand.users > 1, operand.block_bytes, 0)


def fixed(machine: Machine, stage: Stage, cost: GroupCost) -> Fixed:
    """The fixed part of all candidates of a variant."""
    zero = 0 * cost.compute
    ways = [
        (number, operand, _way(machine, stage, number, operand))
        for number, operand in enumerate(cost.operands)
        if operand.path != STORED
    ]
    cycles = sum((w.first.cycles + w.later.cycles for _, _, w in ways), zero)
    rows = sum((w.first.row_bytes + w.later.row_bytes for _, _, w in ways), zero)
    live, waiting, beside, done = zero, zero, zero, zero
    waits = stage.link >= 0
    for at, (number, _, way) in enumerate(ways):
        there = done + sum((w.held for _, _, w in ways[at + 1 :]), zero)
        step = there + way.later.extra_bytes + way.arriving
        if number == stage.link:
            beside, waits = there, False
        else:
            first = there + way.held + way.first.extra_bytes
            step = np.maximum(step, first + way.arriving * way.at_once)
        if waits:
            waiting = np.maximum(waiting, step)
        else:
            live = np.maximum(live, step)
        done = done + way.staying
    running, least = _running(cost, ways), zero
    if stage.link >= 0:
        linked = cost.operands[stage.link]
        least = least_first_hop(machine, linked) + zero
        if linked.path != DIRECT_STEPS:
            live, running = np.maximum(live, running), zero
    else:
        live, running = np.maximum(live, running), zero
    return Fixed(cycles, rows, live, waiting, beside, running, least)


def _way(machine: Machine, stage: Stage, number: int, operand: OperandCost) -> _Way:
    later = later_hops(machine, operand)
    zero = 0 * operand.users
    block = operand.block_bytes + zero
    staying = block + (operand.relay_bytes if operand.path == RELAY_STEPS else 0)
    none = Arrival(zero, zero, zero, zero)
    if number == stage.link or operand.path == STREAM:
        return _Way(none, later, zero, block, staying, False)
    source = stage.linear[number]
    first = first_hop(machine, operand, source)
    in_place = _in_place(operand, source)
    held = sized(source.tile_bytes) * (number in stage.dying) + zero
    arriving = np.where(in_place, 0, block)
    # a value that others read later is counted with these, and not again as a block
    kept = in_place & (number not in stage.dying)
    staying = np.where(kept, 0, staying)
    if operand.path == DIRECT_STEPS:
        staying = staying + held
    at_once = operand.path not in (RELAY, RELAY_STEPS, PACK)
    return _Way(first, later, held, arriving, staying, at_once)


def _in_place(operand: OperandCost, source: Spec) -> NDArray[np.bool_]:
    return same_place(source, operand.block) & (operand.users == 1)


def _running(cost: GroupCost, ways: list[tuple[int, OperandCost, _Way]]) -> Ints:
    """Bytes that are live while a codelet runs in steps, the link's source not
    counted; 0 where there are no steps."""
    total = 0 * cost.compute
    steps = [(o, w) for _, o, w in ways if o.steps > 1]
    if not steps:
        return total
    total = total + cost.held_bytes + cost.computed_bytes
    for operand, way in steps:
        total = total + way.later.extra_bytes
        if operand.path == DIRECT_STEPS:
            total = total + way.first.extra_bytes + way.held
    return total
