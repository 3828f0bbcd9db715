"""Selection: the best of several plans, lowered, scheduled and placed for real.

Reads   rung 3, with `plan.alternatives` in the entry function's body.
Writes  rung 3 with one plan.
Holds   the plan chosen fits the budget as placed, not only as estimated.
Fails   when none of the plans can be placed within the budget.

Method: every plan is carried to rung 6 on a copy, best estimate first, until one fits.
A module that has one plan already is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tiledialect.diagnostics import TileError, fail
from tiledialect.dialects.module_attributes import CHOICES, require_rung
from tiledialect.dialects.plan import AlternativesOp, YieldOp
from tiledialect.dialects.tile import entry_function
from tiledialect.passes.lower_plan import LowerPlanPass
from tiledialect.passes.place_memory import PlaceMemoryPass
from tiledialect.passes.schedule_exchange import ScheduleExchangePass


def find_alternatives(module: ModuleOp) -> AlternativesOp | None:
    """The plans to choose from; None where one is chosen already."""
    for op in entry_function(module).body.block.ops:
        if isinstance(op, AlternativesOp):
            return op
    return None


def choose(module: ModuleOp, index: int) -> None:
    """Put the steps of one plan in place of all."""
    alternatives = find_alternatives(module)
    assert alternatives is not None
    if alternatives.choices is not None:
        module.attributes[CHOICES] = alternatives.choices.data[index]
    block = alternatives.plans[index].block
    last = block.last_op
    assert isinstance(last, YieldOp)
    for result, value in zip(alternatives.res, list(last.values), strict=True):
        result.replace_all_uses_with(value)
    parent = alternatives.parent_block()
    assert parent is not None
    for op in list(block.ops):
        op.detach()
        if op is not last:
            parent.insert_op_before(op, alternatives)
    last.erase()
    alternatives.detach()
    alternatives.erase()


def fits(ctx: Context, module: ModuleOp, index: int) -> TileError | None:
    """Why a plan cannot be placed within the budget; None if it can."""
    copy = module.clone()
    choose(copy, index)
    try:
        for one in (LowerPlanPass(), ScheduleExchangePass(), PlaceMemoryPass()):
            one.apply(ctx, copy)
    except TileError as error:
        return error
    return None


@dataclass(frozen=True)
class SelectPlanPass(ModulePass):
    """Keeps the first of the plans that fits when it is placed."""

    name = "select-plan"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_rung(op, self.name, 3)
        alternatives = find_alternatives(op)
        if alternatives is None:
            return
        first: TileError | None = None
        for index in range(len(alternatives.plans)):
            error = fits(ctx, op, index)
            if error is None:
                choose(op, index)
                return
            first = first or error
        fail(
            alternatives,
            f"none of {len(alternatives.plans)} plans can be placed within the budget;"
            f" the first: {first.message if first else ''}",
        )
