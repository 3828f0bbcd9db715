"""What a compile estimated of every step beside what the simulator's clock says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tiledialect.backend.emit_package import package_of
from tiledialect.diagnostics import Usage
from tiledialect.dialects.module_attributes import machine_of, rung_of
from tiledialect.runtime.package import ExchangeStep
from tiledialect.runtime.simulator import StepResult
from tiledialect.runtime.timing import step_cycles
from tiledialect.tools.run_report import kind_sums, table

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

PLACED_RUNG = 6


def estimate_lines(module: ModuleOp) -> list[str]:
    """A table of a placed program's steps, and the sums of exchange and compute. No
    data is needed: cycles come from calls and rows. Raises Usage below rung 6."""
    rung = rung_of(module)
    if rung != PLACED_RUNG:
        raise Usage(f"--print-estimates needs a placed program, this one is at {rung}")
    machine = machine_of(module)
    steps = tuple(
        StepResult(
            step.name,
            step.location,
            "exchange" if isinstance(step, ExchangeStep) else "compute",
            step_cycles(machine, step),
            step.estimate,
        )
        for step in package_of(module).steps
    )
    return [*table(steps), *kind_sums(steps)]
