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
from tiledialect.cost.movement import (
    Movement,
    chosen,
    least_exchange,
    movement,
    to_users,
)
from tiledialect.cost.spec import Spec, ceil_div
from tiledialect.machine import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

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
    own_steps        the steps of each candidate where they differ, all more than one
    """

    path: int
    block: Spec
    users: Ints
    relay: Spec
    gathered: Spec
    fill: Ints
    steps: int = 1
    joined: bool = False
    own_steps: Ints | None = None

    @property
    def counts(self) -> Ints | int:
        """The steps of each candidate."""
        return self.steps if self.own_steps is None else self.own_steps

    @property
    def block_bytes(self) -> Ints:
        return sized(self.block.tile_bytes)

    @property
    def relay_bytes(self) -> Ints:
        return sized(self.relay.tile_bytes)

    @property
    def stored_bytes(self) -> Ints:
        """Bytes that it holds for good, if it is stored."""
        if self.path == STORED:
            return self.block_bytes
        return self.relay_bytes if self.path == STREAM else 0 * self.users

    @property
    def held_bytes(self) -> Ints:
        """Bytes that are live while the codelet runs, what it holds for good and what
        windows are taken from directly not counted."""
        if self.path == STORED:
            return 0 * self.users
        relay = self.relay_bytes if self.path == RELAY_STEPS else 0
        return self.block_bytes + relay


@dataclass(frozen=True)
class Arrival:
    """Hops of an operand: cycles of exchange and of codelets, bytes of control words
    and of the program's steps, and bytes live besides its source and its block."""

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
        if not source.linear and ragged(source, operand.relay):
            even = movement(
                machine, evened(source), evened(operand.relay), shared=False
            )
            out = chosen(pads_along(source, operand.relay), even, out)
        extra = operand.relay_bytes + sized(out.staging_bytes)
        rows = out.row_bytes + out.steps * machine.code.step_bytes
        return Arrival(out.exchange, out.copy, rows, extra)
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
        rows = way.row_bytes + _fill_steps(machine, operand)
        return Arrival(way.exchange, compute, rows, extra)
    compute = zero + operand.fill
    extra, rows = zero, zero + _fill_steps(machine, operand)
    if operand.path == PACK:
        compute = compute + pack_cycles(machine, operand.block)
        extra = sized(operand.gathered.tile_bytes)
        rows = rows + machine.code.step_bytes + machine.code.map_bytes
    return Arrival(zero, compute, rows, extra)


def _fill_steps(machine: Machine, operand: OperandCost) -> Ints:
    """Bytes of the program's steps that zero padding."""
    return (operand.fill > 0) * operand.counts * machine.code.step_bytes


def _in_steps(
    machine: Machine, operand: OperandCost, source: Spec, target: Spec
) -> Arrival:
    """A relayout in each step. Only one of them meets the end of the depth, where a
    panel that is not full comes row by row."""
    last = to_users(machine, source, target, operand.users)
    others = last
    if not source.linear and ragged(source, target):
        others = to_users(machine, evened(source), evened(target), operand.users)
        last = chosen(pads_along(source, target), others, last)
    zero = operand.users * 0
    exchange, copy, rows = _phase(machine, operand, last), last.copy, last.row_bytes
    steps = last.steps
    if operand.steps > 1:
        more = operand.counts - 1
        exchange = exchange + _phase(machine, operand, others) * more
        heard = others.row_bytes - others.send_bytes
        sending = np.minimum(_windows_met(operand, source, target) - 1, more)
        copy = copy + others.copy * more
        rows = rows + heard * more + others.send_bytes * sending
        steps = steps + others.steps * more
    if not operand.joined:
        rows = rows + steps * machine.code.step_bytes
    else:
        rows = rows + (last.copy > 0) * operand.counts * machine.code.step_bytes
    extra = sized(last.staging_bytes)
    return Arrival(exchange + zero, copy + zero, rows + zero, extra + zero)


def _windows_met(operand: OperandCost, source: Spec, target: Spec) -> Ints:
    """Steps in which a tile sends at most: those whose windows meet what it holds."""
    every = np.full_like(operand.users, operand.counts)
    if source.linear:
        return every
    axis = target.order[-1].axis
    if source.spread is not None:
        # a window is one stretch of each batch of the block, pieces are stretches too
        batches = source.extents[source.order[0].axis] if len(source.shape) > 2 else 1
        stretch = np.maximum(target.block_bytes // batches, 1)
        return ceil_div(source.tile_bytes, stretch) + 1 + 0 * every
    held, window = source.blocks[axis], np.maximum(target.blocks[axis], 1)
    outer = target.blocks if target.outer is None else target.outer
    # where a user's block ends the next user's first window begins
    return np.where(held <= outer[axis], ceil_div(held, window) + 2, every)


def _phase(machine: Machine, operand: OperandCost, moved: Movement) -> Ints:
    """Cycles of a step's phase; those of one that it joins begin with the other's."""
    if not operand.joined:
        return moved.exchange
    return np.maximum(0, moved.exchange - phase_start(machine))


def ragged(source: Spec, target: Spec) -> bool:
    """Whether the depth of either is no whole number of its panels."""
    panels = (spec.order[-1] for spec in (source, target))
    return any(source.shape[p.axis] % max(p.count, 1) for p in panels)


def evened(spec: Spec) -> Spec:
    """The same with a depth of full panels."""
    panel = spec.order[-1]
    axis, extent = panel.axis, spec.shape[panel.axis]
    full = extent + -extent % max(panel.count, 1)

    def filled(blocks: tuple[Ints, ...]) -> tuple[Ints, ...]:
        last = np.where(blocks[axis] >= extent, full, blocks[axis])
        return (*blocks[:axis], last, *blocks[axis + 1 :])

    return spec.with_(
        shape=(*spec.shape[:axis], full, *spec.shape[axis + 1 :]),
        blocks=filled(spec.blocks),
        outer=None if spec.outer is None else filled(spec.outer),
    )


def pads_along(source: Spec, target: Spec) -> Mask:
    """Whether the padding of the last panel, zeros, moves as elements do: it lies in
    the same panels on both sides, and behind the last block of each."""
    panel = target.order[-1]
    none = np.zeros(1, dtype=np.bool_)
    if source.order[-1] != panel or not panel.count:
        return none
    extent = source.shape[panel.axis]
    full = extent + -extent % panel.count
    found = ~none
    for spec in (source, target):
        for blocks in spec.cuts:
            block = np.maximum(blocks[panel.axis], 1)
            found = found & (
                ceil_div(np.full_like(block, extent), block) * block >= full
            )
        if spec.outer is not None and spec.outer[panel.axis] is not spec.blocks:
            outer, inner = (
                spec.outer[panel.axis],
                np.maximum(spec.blocks[panel.axis], 1),
            )
            found = found & ((outer % inner == 0) | (spec is target))
    return found


def least_first_hop(machine: Machine, operand: OperandCost) -> Ints:
    """Cycles that the first hop takes at least, from anywhere: a block that several
    tiles share cannot be on all of them already."""
    if operand.path in (RELAY, RELAY_STEPS, STREAM, STORED):
        return operand.users * 0
    exchange = least_exchange(machine, operand.block)
    if operand.joined:
        exchange = np.maximum(0, exchange - phase_start(machine))
    return np.where(operand.users > 1, exchange * operand.counts, 0)


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
