"""Lowering: a plan becomes exchange phases and compute sets over buffers.

Reads   rung 3, with one plan in the entry function's body.
Writes  rung 4: a `memory.program` in place of the function.
Holds   every value of the plan has a buffer on the tiles of its layout, alive from the
        step that writes it to the last that reads it; every byte that a codelet reads
        was written before.
Fails   while `plan.alternatives` are left: select-plan chooses one.

Method: one walk over the plan's steps. A relayout is a phase and, for the runs that
stay on their tile or wait in staging, a compute set that copies them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from tiledialect.dialects.module_attributes import (
    ENTRY,
    machine_of,
    require_rung,
    set_rung,
)
from tiledialect.dialects.tile import entry_function


@dataclass(frozen=True)
class LowerPlanPass(ModulePass):
    """Replaces the entry function by a program on tiles."""

    name = "lower-plan"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from tiledialect.lowering.plan_walk import PlanWalk

        require_rung(op, self.name, 3)
        function = entry_function(op)
        draft = PlanWalk(function, machine_of(op)).lower()
        name = function.sym_name.data
        program = draft.program(name)
        function.detach()
        op.body.block.add_op(program)
        op.attributes[ENTRY] = StringAttr(name)
        set_rung(op, 4)
