"""Bringing a group's operands to their blocks: what it costs from where they rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import DIRECT_STEPS, PACK, STORED, STREAM
from tiledialect.cost.group import (
    Arrival,
    OperandCost,
    arrival,
    pack_cycles,
    sized,
)
from tiledialect.cost.movement import least_exchange, same_place
from tiledialect.cost.spec import Spec
from tiledialect.machine import Machine
from tiledialect.search.problem import Priced, Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Delivered:
    """All operands of each candidate, delivered one after another: cycles, control
    words' bytes, and bytes live in the fullest step."""

    cycles: Ints
    rows: Ints
    live: Ints

    def take(self, chosen: Ints | NDArray[np.bool_]) -> Delivered:
        return Delivered(self.cycles[chosen], self.rows[chosen], self.live[chosen])


def delivered(
    machine: Machine, stage: Stage, variant: Priced, rows: Ints, source: Spec | None
) -> Delivered:
    """Candidates `rows` of a variant, the link's operand resting as `source` says (a
    row each)."""
    total = np.zeros(len(rows), dtype=np.int64)
    controls, live, lasting = total, total, total
    ways: list[tuple[Arrival, Ints, Ints]] = []
    for number, operand in enumerate(variant.cost.operands):
        if operand.path == STORED:
            continue
        linked = number == stage.link
        spec = source if linked else stage.linear.get(number)
        stored = operand.path == STREAM
        if stored:
            spec = operand_rows(operand, rows).relay
        assert spec is not None
        here = operand_rows(operand, rows)
        way = arrival(machine, here, spec)
        held = sized(spec.tile_bytes) * (linked or number in stage.dying)
        if operand.path == DIRECT_STEPS:
            lasting = lasting + held
        in_place = same_place(spec, here.block) & (here.users == 1)
        block = np.where(in_place, 0, here.block_bytes)
        ways.append((way, held, block))
        total = total + way.exchange + way.compute
        controls = controls + way.row_bytes
    for number, (way, _, block) in enumerate(ways):
        done = sum((w[2] for w in ways[:number]), np.zeros_like(total))
        waiting = sum((w[1] for w in ways[number:]), np.zeros_like(total))
        live = np.maximum(live, done + waiting + way.extra_bytes + block)
    if table_steps(variant) > 1:
        # what windows are taken from lasts as long as the codelet runs
        cost = variant.cost
        running = cost.held_bytes[rows] + cost.computed_bytes[rows] + lasting
        extra = sum((w[0].extra_bytes for w in ways), np.zeros_like(total))
        live = np.maximum(live, running + extra)
    return Delivered(total, controls, live)


def table_steps(variant: Priced) -> int:
    """Steps in time of a variant's codelet."""
    return variant.table.variant.steps


def least_cycles(machine: Machine, stage: Stage, variant: Priced) -> Ints:
    """Cycles that the link's operand takes at least to arrive, from anywhere: a block
    that several tiles share cannot be on all of them already."""
    least = np.zeros(len(variant), dtype=np.int64)
    if stage.link < 0:
        return least
    operand = variant.cost.operands[stage.link]
    least = least + operand.fill
    if operand.path == PACK:
        least = least + pack_cycles(machine, operand.block)
    exchange = least_exchange(machine, operand.block) * operand.steps
    if operand.joined:
        exchange = exchange * 0
    return least + np.where(operand.users > 1, exchange, 0)


def spec_rows(spec: Spec, rows: Ints) -> Spec:
    """A spec's rows; arrays of one row stand for all."""

    def some(values: tuple[Ints, ...]) -> tuple[Ints, ...]:
        return tuple(v[rows] if len(v) > 1 else v for v in values)

    return spec.with_(
        blocks=some(spec.blocks),
        outer=None if spec.outer is None else some(spec.outer),
        spread=None if spec.spread is None else some((spec.spread,))[0],
    )


def operand_rows(operand: OperandCost, rows: Ints) -> OperandCost:
    """An operand of some candidates only."""
    return OperandCost(
        operand.path,
        spec_rows(operand.block, rows),
        operand.users[rows],
        spec_rows(operand.relay, rows),
        spec_rows(operand.gathered, rows),
        operand.fill[rows] if len(operand.fill) > 1 else operand.fill,
        operand.steps,
        operand.joined,
    )
