"""Schedule: who sends what to whom at which cycle, for every exchange phase.

Reads   exchange.phase operations of rung 4: their moves, the buffers these name, the
        exchange.serial pairs that somebody asks for.
Writes  each phase's rows, length, bounds and counts; memory.apart and exchange.serial
        pairs.
Holds   the rows deliver every word of the moves' transfers once and nothing else; a
        buffer that a tile reads and one that it writes in the same cycle are apart.
Fails   when a move needs staging or tiles that are not there.

Method: `lowering/phase_schedule.py` schedules a phase. Pairs that it reads and writes
in one cycle are to be kept apart, but for those in one buffer: these are serialised
here, and those that placement gives up are serialised there.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import (
    machine_of,
    require_rung,
    set_rung,
    the_program,
)
from tiledialect.lowering.serial_pairs import keep_apart, phases_of, write_schedule


@dataclass(frozen=True)
class ScheduleExchangePass(ModulePass):
    """Gives every exchange phase its rows."""

    name = "schedule-exchange"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_rung(op, self.name, 4)
        machine, program = machine_of(op), the_program(op, ProgramOp)
        for phase in phases_of(program):
            keep_apart(program, phase, write_schedule(machine, phase))
        set_rung(op, 5)
