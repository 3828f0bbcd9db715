"""Remarks on pairs of buffers that were serialised, for people."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tiledialect.diagnostics import locate
from tiledialect.dialects.buffers import buffer_of
from tiledialect.dialects.exchange import PhaseOp


def serial_remarks(module: ModuleOp) -> list[str]:
    """One line for each exchange.serial operation: which, why, and what it cost."""
    lines: list[str] = []
    for phase in module.walk():
        if not isinstance(phase, PhaseOp):
            continue
        for op in phase.serials:
            names = ", ".join(
                "{} / {}".format(*(buffer_of(value).buffer_name.data for value in pair))
                for pair in op.pairs
            )
            cost = 0 if op.cost is None else op.cost.value.data
            lines.append(
                f'{locate(op)}: remark: phase "{phase.phase_name.data}" never reads'
                f" and writes {names} in one cycle, for {cost} cycles more:"
                f" {op.reason.data}"
            )
    return lines
