"""Rows of costs: some of them, and those of several tables behind each other."""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from tiledialect.cost.group import GroupCost
from tiledialect.cost.operand import OperandCost
from tiledialect.cost.spec import Spec
from tiledialect.layout import Factor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

T = TypeVar("T")


def taken(value: T, rows: Ints) -> T:
    """Some rows of all arrays of a cost; arrays of one row stand for all. What a spec
    has worked out already is kept."""
    return cast(T, _taken(value, rows))


def _taken(value: object, rows: Ints) -> object:
    if isinstance(value, np.ndarray):
        every = cast("Ints", value)
        return every[rows] if len(every) > 1 else every
    if isinstance(value, tuple):
        return tuple(_taken(item, rows) for item in cast(tuple[object, ...], value))
    if not is_dataclass(value) or isinstance(value, type | Factor):
        return value
    made = object.__new__(type(value))
    vars(made).update({k: _taken(one, rows) for k, one in vars(value).items()})
    return made


def operand_rows(operand: OperandCost, rows: Ints) -> OperandCost:
    """An operand of some candidates, that may be rows of one alone."""
    return replace(taken(operand, rows), users=operand.users[rows])


def joined_specs(specs: list[Spec], counts: list[int]) -> Spec:
    """The rows of several specs of one kind behind each other."""

    def joined(parts: list[tuple[Ints, ...]]) -> tuple[Ints, ...]:
        return tuple(_joined(list(axis), counts) for axis in zip(*parts, strict=True))

    first = specs[0]
    outers = [spec.outer for spec in specs if spec.outer is not None]
    spreads = [spec.spread for spec in specs if spec.spread is not None]
    shared = [spec.neighbours for spec in specs if spec.neighbours is not None]
    return first.with_(
        blocks=joined([spec.blocks for spec in specs]),
        outer=joined(outers) if outers else None,
        spread=_joined(spreads, counts) if spreads else None,
        neighbours=_joined(shared, counts) if shared else None,
    )


def joined_operands(operands: list[OperandCost], counts: list[int]) -> OperandCost:
    """The rows of several operands of one kind behind each other; those in steps may
    have steps of their own."""
    first = operands[0]
    steps: list[Ints] = []
    if first.steps > 1:
        steps = [
            np.array([o.steps]) if o.own_steps is None else o.own_steps
            for o in operands
        ]
    return OperandCost(
        first.path,
        joined_specs([o.block for o in operands], counts),
        _joined([o.users for o in operands], counts),
        joined_specs([o.relay for o in operands], counts),
        joined_specs([o.gathered for o in operands], counts),
        _joined([o.fill for o in operands], counts),
        first.steps,
        first.joined,
        _joined(steps, counts) if steps else None,
    )


def joined_arrivals(costs: list[GroupCost], counts: list[int]) -> GroupCost:
    """The costs of candidates whose operands are of one kind behind each other, as far
    as the codelet's result; what comes after is the first ones'."""
    operands = zip(*(cost.operands for cost in costs), strict=True)
    return replace(
        costs[0],
        operands=tuple(joined_operands(list(some), counts) for some in operands),
        compute=_joined([cost.compute for cost in costs], counts),
        computed_bytes=_joined([cost.computed_bytes for cost in costs], counts),
    )


def kind_of(operand: OperandCost) -> object:
    """What operands that are joined must have in common."""
    return operand.path, operand.steps > 1, operand.joined


def _joined(parts: list[Ints], counts: list[int]) -> Ints:
    pairs = zip(parts, counts, strict=True)
    return np.concatenate([np.broadcast_to(part, count) for part, count in pairs])
