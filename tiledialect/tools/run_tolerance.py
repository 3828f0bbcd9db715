"""How far results may lie from the reference: what --check allows by default.

Reference and machine round at the program's casts alike; what differs is that the
machine also rounds partial sums. The model follows the *relative variance* of that
difference through the steps of a package:

- a rounding to a format of unit u that the reference does not make adds u^2 / 3: each
  coefficient block after the first of a matmul, every sum of partials;
- a function of a map, in f32, is off by up to 4 units of f32 (numpy's are);
- a rounding that both make turns a small difference d into a whole step s = 2u with
  probability d / s, so it leaves a variance of about d s (FP8 elements that flip).

Results may lie `DEVIATIONS` such deviations from the reference, each times the RMS of
the output: among 10^7 normal errors the largest is 5.3 of them, and the rest is for
tails that are heavier. Where one element is more than `DEVIATIONS` times the RMS, one
deviation of that element is allowed. i32 results must be equal.
"""

from __future__ import annotations

import math

from tiledialect.formats import FORMATS
from tiledialect.layout import ceil_div
from tiledialect.machine import Machine
from tiledialect.runtime.package import Call, ComputeStep, Moves, Package
from tiledialect.runtime.parameters import map_stages, matmul_accumulate

DEVIATIONS = 8.0


FUNCTION_UNITS = 4  # of f32, by which a function may be off


def allowed_error(relative: float, rms: float, largest: float) -> float:
    """The largest allowed absolute error of an output of that RMS and maximum."""
    return relative * max(rms, largest / DEVIATIONS)


def relative_tolerance(machine: Machine, package: Package, element: str) -> float:
    """The largest allowed absolute error of an output of this format, over its RMS."""
    variance = unit(element) ** 2
    for step in package.steps:
        if isinstance(step, ComputeStep):
            calls = [call for call in step.calls if not isinstance(call, Moves)]
            variance = max(
                [variance, *(_after(machine, call, variance) for call in calls)]
            )
    return DEVIATIONS * math.sqrt(variance)


def unit(format: str) -> float:
    """The largest relative error of rounding to a format."""
    known = FORMATS[format]
    return 0.0 if known.is_integer else 2.0 ** -(known.mantissa_bits + 1)


def _after(machine: Machine, call: Call, variance: float) -> float:
    """The variance behind a call, from the one before it."""
    if call.family == "matmul":
        return variance + _matmul(machine, call)
    if call.family == "map":
        for stage in map_stages(machine, call):
            if stage.function not in ("cast", "identity"):
                variance += (FUNCTION_UNITS * unit("f32")) ** 2
            step = 2 * unit(stage.element.format.name)
            variance += math.sqrt(variance) * step
        return variance
    return variance + unit(call.outputs[0].format) ** 2 / 3


def _matmul(machine: Machine, call: Call) -> float:
    """Roundings of partial sums, which grow toward the result as their number."""
    accumulate = matmul_accumulate(call)
    mode = machine.matrix_mode(_class(call.inputs[0].format), accumulate)
    blocks = ceil_div(call.extents[3], mode.k_block) if mode else 1
    return blocks * unit(accumulate) ** 2 / 6


def _class(format: str) -> str:
    return "f8" if FORMATS[format].is_float8 else format
