"""An operand's way to the tiles that use it, hop by hop.

The first hop depends on where the operand rests, the later ones on the candidate alone:
a search may price these once for all that comes before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import (
    PACK,
    RELAY,
    RELAY_STEPS,
    STORED,
    STREAM,
)
from tiledialect.cost.movement import Movement, least_exchange, movement
from tiledialect.cost.spec import Spec, ceil_div
from tiledialect.machine import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

ALIGN = 16
"""Every buffer is counted in whole multiples of the strictest alignment."""


def sized(size: Ints) -> Ints:
    """Bytes that a buffer takes, rounded up to the alignment."""
    return ceil_div(size, ALIGN) * ALIGN


@dataclass(frozen=True)
class OperandCost:
    """An operand's block, how many tiles share it, and how it comes there.

    block            what the codelet reads at once: a step's window where it comes in
                     `steps`, the whole block elsewhere
    relay, gathered  what it passes where it is spread, or packed
    fill             cycles to zero the padding of its block, 0 where there is none
    joined           its steps' relayouts move in the phases of another operand's
    """

    path: int
    block: Spec
    users: Ints
    relay: Spec
    gathered: Spec
    fill: Ints
    steps: int = 1
    joined: bool = False

    @property
    def block_bytes(self) -> Ints:
        return sized(self.block.tile_bytes)

    @property
    def relay_bytes(self) -> Ints:
        return sized(self.relay.tile_bytes)


@dataclass(frozen=True)
class Arrival:
    """Hops of an operand: cycles of exchange and of codelets, bytes of control words,
    and bytes live besides its source and its block."""

    exchange: Ints
    compute: Ints
    row_bytes: Ints
    extra_bytes: Ints

    @property
    def cycles(self) -> Ints:
        return self.exchange + self.compute


def arrival(machine: Machine, operand: OperandCost, source: Spec) -> Arrival:
    """The whole way of an operand from where it rests."""
    first = first_hop(machine, operand, source)
    later = later_hops(machine, operand)
    return Arrival(
        first.exchange + later.exchange,
        first.compute + later.compute,
        first.row_bytes + later.row_bytes,
        np.maximum(first.extra_bytes, later.extra_bytes),
    )


def first_hop(machine: Machine, operand: OperandCost, source: Spec) -> Arrival:
    """The way from where an operand rests to what it passes, or in steps to its
    windows. A stored operand has none."""
    zero = operand.users * 0
    if operand.path in (STORED, STREAM):
        return Arrival(zero, zero, zero, zero)
    if operand.path in (RELAY, RELAY_STEPS):
        out = movement(machine, source, operand.relay, shared=False)
        extra = operand.relay_bytes + sized(out.staging_bytes)
        return Arrival(out.exchange, out.copy, out.row_bytes, extra)
    gathered = operand.path == PACK
    target = operand.gathered if gathered else operand.block
    way = _in_steps(machine, operand, source, target)
    if not gathered:
        return way
    extra = way.extra_bytes + sized(target.tile_bytes)
    return Arrival(way.exchange, way.compute, way.row_bytes, extra)


def later_hops(machine: Machine, operand: OperandCost) -> Arrival:
    """The way from what an operand passes to its block, and the zeros of padding."""
    zero = operand.users * 0
    if operand.path in (RELAY, RELAY_STEPS, STREAM):
        way = _in_steps(machine, operand, operand.relay, operand.block)
        relay = operand.relay_bytes if operand.path == RELAY else zero
        compute, extra = way.compute + operand.fill, way.extra_bytes + relay
        return Arrival(way.exchange, compute, way.row_bytes, extra)
    compute = zero + operand.fill
    extra = zero
    if operand.path == PACK:
        compute = compute + pack_cycles(machine, operand.block)
        extra = sized(operand.gathered.tile_bytes)
    return Arrival(zero, compute, zero, extra)


def _to_users(
    machine: Machine, operand: OperandCost, source: Spec, target: Spec
) -> Movement:
    """The relayout to all tiles that share a block."""
    many = movement(machine, source, target, shared=True)
    if (operand.users > 1).all():
        return many
    alone = movement(machine, source, target, shared=False)
    shared = operand.users > 1
    return Movement(
        np.where(shared, many.exchange, alone.exchange),
        np.where(shared, many.copy, alone.copy),
        np.where(shared, many.staging_bytes, alone.staging_bytes),
        np.where(shared, many.row_bytes, alone.row_bytes),
    )


def _in_steps(
    machine: Machine, operand: OperandCost, source: Spec, target: Spec
) -> Arrival:
    """A relayout in each step. Only one of them meets the end of the depth, where a
    panel that is not full comes row by row."""
    last = _to_users(machine, operand, source, target)
    zero = operand.users * 0
    exchange, copy, rows = _phase(machine, operand, last), last.copy, last.row_bytes
    if operand.steps > 1:
        others = last
        if not source.linear:
            others = _to_users(machine, operand, _evened(source), _evened(target))
        more = operand.steps - 1
        exchange = exchange + _phase(machine, operand, others) * more
        copy, rows = copy + others.copy * more, rows + others.row_bytes * more
    extra = sized(last.staging_bytes)
    return Arrival(exchange + zero, copy + zero, rows + zero, extra + zero)


def _phase(machine: Machine, operand: OperandCost, moved: Movement) -> Ints:
    """Cycles of a step's phase; those of one that it joins begin with the other's."""
    if not operand.joined:
        return moved.exchange
    return np.maximum(0, moved.exchange - phase_start(machine))


def _evened(spec: Spec) -> Spec:
    """The same with a depth of full panels."""
    panel = spec.order[-1]
    shape = list(spec.shape)
    shape[panel.axis] += -shape[panel.axis] % max(panel.count, 1)
    return spec.with_(shape=tuple(shape))


def least_first_hop(machine: Machine, operand: OperandCost) -> Ints:
    """Cycles that the first hop takes at least, from anywhere: a block that several
    tiles share cannot be on all of them already."""
    if operand.path in (RELAY, RELAY_STEPS, STREAM, STORED):
        return operand.users * 0
    exchange = least_exchange(machine, operand.block)
    if operand.joined:
        exchange = np.maximum(0, exchange - phase_start(machine))
    return np.where(operand.users > 1, exchange * operand.steps, 0)


def phase_start(machine: Machine) -> int:
    """Cycles that a phase takes besides its words."""
    return machine.latency(machine.tiles - 1) + machine.exchange.phase_cycles


def pack_cycles(machine: Machine, block: Spec) -> Ints:
    """Cycles to bring a row-major block into its panels: a copy in runs of one panel
    row (C600 row 41)."""
    inner = block.order[-1].count or 1
    elements = block.block_elements
    size = elements * block.element_bytes
    t = machine.copy
    runs = ceil_div(elements, inner)
    return (
        t.call_cycles
        + runs * t.run_cycles
        + ceil_div(size * t.milli_cycles_per_byte_8, 1000)
    )
