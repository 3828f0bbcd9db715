"""The scalar functions that codelets compute: names, arity, numerics in float32.

Dialects name these functions and the simulator's kernels compute them, in float32
(i32 for integers) and rounded once by the caller. The reference interpreter has its
own formulas in float64 and shares none of this, so that a fault here shows up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]  # of one dtype: float32, float64 or int32

SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
GELU_CUBIC = 0.044715


@dataclass(frozen=True)
class ScalarFunction:
    """A function of elements. `families` are those of codelets that compute it."""

    name: str
    arity: int
    families: tuple[str, ...]
    meaning: str


_MAP = ("map",)
_ALL = (
    ScalarFunction("neg", 1, _MAP, "-x"),
    ScalarFunction("abs", 1, _MAP, "|x|"),
    ScalarFunction("relu", 1, _MAP, "max(x, 0)"),
    ScalarFunction("exp", 1, _MAP, "e^x"),
    ScalarFunction("log", 1, _MAP, "natural logarithm"),
    ScalarFunction("tanh", 1, _MAP, "hyperbolic tangent"),
    ScalarFunction("sqrt", 1, _MAP, "square root"),
    ScalarFunction("rsqrt", 1, _MAP, "1 / square root"),
    ScalarFunction("reciprocal", 1, _MAP, "1 / x"),
    ScalarFunction(
        "gelu_tanh", 1, _MAP, "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))"
    ),
    ScalarFunction("gelu_erf", 1, _MAP, "x/2 (1 + erf(x / sqrt 2))"),
    ScalarFunction("cast", 1, _MAP, "x, rounded by the format it is stored in"),
    ScalarFunction("add", 2, _MAP, "x + y"),
    ScalarFunction("sub", 2, _MAP, "x - y"),
    ScalarFunction("mul", 2, _MAP, "x y"),
    ScalarFunction("div", 2, _MAP, "x / y; i32: toward zero, and -1 where y is 0"),
    ScalarFunction("max", 2, ("map", "reduce"), "the larger, NaN if either is"),
    ScalarFunction("min", 2, _MAP, "the smaller, NaN if either is"),
    ScalarFunction("sum", 2, ("reduce",), "x + y"),
    ScalarFunction("multiply_add", 3, ("matmul",), "x y + z"),
)
SCALAR_FUNCTIONS: dict[str, ScalarFunction] = {each.name: each for each in _ALL}


def apply(name: str, dtype: type[np.generic], *arrays: Array) -> Array:
    """The function of arrays that broadcast, computed in and returned as `dtype`.

    Integers wrap around; IEEE exceptions give infinities and NaN without a warning.
    """
    import numpy as np

    arity = SCALAR_FUNCTIONS[name].arity
    if len(arrays) != arity:
        raise ValueError(f"{name} takes {arity} arrays, there are {len(arrays)}")
    operands = [array.astype(dtype, copy=False) for array in arrays]
    with np.errstate(all="ignore"):
        result = _formulas()[name](*operands)
    return np.asarray(result, dtype)


def identity(name: str, dtype: type[np.generic]) -> float | int:
    """What a reduction starts from: its result over no element."""
    import numpy as np

    if name == "sum":
        return 0
    if name != "max":
        raise ValueError(f"{name} is not a reduction; there are sum and max")
    if np.issubdtype(dtype, np.integer):
        return -(2**31)
    return -math.inf


@cache
def _formulas() -> dict[str, Callable[..., Array]]:
    """The numpy formula of each function; every one keeps its operands' dtype."""
    import numpy as np

    return {
        "neg": np.negative,
        "abs": np.abs,
        "relu": _relu,
        "exp": np.exp,
        "log": np.log,
        "tanh": np.tanh,
        "sqrt": np.sqrt,
        "rsqrt": _rsqrt,
        "reciprocal": np.reciprocal,
        "gelu_tanh": _gelu_tanh,
        "gelu_erf": _gelu_erf,
        "cast": np.positive,
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": _divide,
        "max": np.maximum,
        "min": np.minimum,
        "sum": np.add,
        "multiply_add": _multiply_add,
    }


def _relu(x: Array) -> Array:
    import numpy as np

    return np.maximum(x, np.zeros((), x.dtype))


def _rsqrt(x: Array) -> Array:
    import numpy as np

    return np.reciprocal(np.sqrt(x))


def _multiply_add(x: Array, y: Array, z: Array) -> Array:
    return x * y + z


def _gelu_tanh(x: Array) -> Array:
    import numpy as np

    inner = SQRT_2_OVER_PI * (x + GELU_CUBIC * (x * x * x))
    return 0.5 * x * (1 + np.tanh(inner))


def _gelu_erf(x: Array) -> Array:
    return 0.5 * x * _erfc(x * -math.sqrt(0.5))


ERFC_LIMIT = 10.0  # erfc(10) is 2e-45, below the smallest float32
ERFC_DEGREE = 18  # of the fit: within 4e-15 of erfc in float64


@cache
def _erfc_coefficients() -> Array:
    """Chebyshev coefficients of e^(z^2) erfc(z) in t = 2 / (2 + z), z in 0..10."""
    import numpy as np
    from numpy.polynomial import chebyshev

    last = 2 / (2 + ERFC_LIMIT)
    nodes = chebyshev.chebpts1(ERFC_DEGREE + 1)
    z = 2 / (last + (nodes + 1) * (1 - last) / 2) - 2
    scaled = [math.exp(each * each) * math.erfc(each) for each in z.tolist()]
    return chebyshev.chebfit(nodes, np.array(scaled), ERFC_DEGREE)


def _erfc(x: Array) -> Array:
    """1 - erf(x), in the dtype of x."""
    import numpy as np
    from numpy.polynomial import chebyshev

    z = np.minimum(np.abs(x), ERFC_LIMIT)
    last = 2 / (2 + ERFC_LIMIT)
    position = (2 / (2 + z) - last) * (2 / (1 - last)) - 1
    fit = chebyshev.chebval(position, _erfc_coefficients().astype(x.dtype))
    tail = np.exp(-z * z) * fit
    return np.where(x < 0, 2 - tail, tail)


def _divide(x: Array, y: Array) -> Array:
    import numpy as np

    if x.dtype.kind != "i":
        return x / y
    wide, divisor = x.astype(np.int64), np.where(y == 0, 1, y).astype(np.int64)
    quotient = np.sign(wide) * np.sign(divisor) * (abs(wide) // abs(divisor))
    return np.where(y == 0, -1, quotient).astype(x.dtype)
