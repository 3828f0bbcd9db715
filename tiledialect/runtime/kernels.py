"""What codelets compute, on arrays [tiles, extents of the call's dims].

Plain numerics: operands come decoded from where they lie, results go back rounded to
the result's format. A dim that an operand lacks has extent 1. See "Numerics" in
`docs/package.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tiledialect.formats import FORMATS, NumberFormat, decode, encode
from tiledialect.scalar_functions import SCALAR_FUNCTIONS, apply, identity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.runtime.package import Ints

    Stored: TypeAlias = NDArray[Any]  # elements of a format's dtype
    Values: TypeAlias = NDArray[Any]  # float32, float64 or int32

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


@dataclass(frozen=True)
class Element:
    """How a value is stored: format, scale, and what an f8 does beyond its largest."""

    format: NumberFormat
    scale: int = 0
    overflow: str = "clip"  # or "nan"


@dataclass(frozen=True)
class MapStage:
    """One scalar function of a map; `operands` besides the running value."""

    function: str
    operands: tuple[int, ...]
    element: Element


# Between stored elements and numbers


@cache
def _table(name: str, scale: int, dtype: str) -> Values:
    """The value of each of the 256 elements of an 8-bit format."""
    format = FORMATS[name]
    every = np.arange(256, dtype=np.uint8).view(format.dtype)
    return decode(every, format, scale).astype(dtype)


def load(stored: Stored, element: Element, dtype: str) -> Values:
    """The values of stored elements as `dtype`, exact where it holds them."""
    if element.format.is_float8:
        table = _table(element.format.name, element.scale, dtype)
        return table[stored.view(np.uint8)]
    if element.format.is_integer:
        return stored.astype(np.int32 if dtype == "float32" else dtype)
    return stored.astype(dtype)


def store(values: Values, element: Element) -> Stored:
    """Values rounded once to an element."""
    format = element.format
    if format.is_integer:
        return encode(_whole(values), format)
    if format.name in ("f16", "f32"):
        with np.errstate(all="ignore"):
            return values.astype(format.dtype)
    wide = values.astype(np.float64)
    stored = encode(wide, format, element.scale)
    if format.is_float8 and element.overflow == "nan":
        half_step = 2.0 ** (int(np.log2(format.largest)) - format.mantissa_bits - 1)
        limit = (format.largest + half_step) * 2.0**element.scale
        stored[np.abs(wide) >= limit] = np.nan
    return stored


def _whole(values: Values) -> NDArray[np.int64]:
    """Numbers cut toward zero and clipped to an i32; integers wrap when encoded."""
    if values.dtype.kind == "i":
        return values.astype(np.int64)
    whole = np.trunc(np.nan_to_num(values.astype(np.float64), nan=0.0))
    return np.clip(whole, INT32_MIN, INT32_MAX).astype(np.int64)


# matmul

# OpenBLAS shares products of twice this many multiplications among threads, which costs
# more than it gives when there are thousands of them, and far more on busy cores.
SINGLE_THREAD_PRODUCTS = 1 << 18


def matmul(
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    k_block: int,
    accumulate: str,
    initial: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """left [..., m, k] times right [..., n, k]: for each block of `k_block` along k the
    exact sum, added to the partial (`initial`, or 0 at first) and rounded once to the
    accumulation format."""
    shape = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    rows, columns, depth = left.shape[-2], right.shape[-2], left.shape[-1]
    partial = np.zeros((*shape, rows, columns))
    if initial is not None:
        partial += initial
    block = np.empty_like(partial)
    most = max(1, SINGLE_THREAD_PRODUCTS // max(1, columns * k_block))
    for begin in range(0, depth, k_block):
        which = slice(begin, begin + k_block)
        coefficients = right[..., which].swapaxes(-1, -2)
        for row in range(0, rows, most):
            some = slice(row, row + most)
            np.matmul(left[..., some, which], coefficients, out=block[..., some, :])
        _accumulate(partial, block, accumulate)
    return partial


def _accumulate(
    partial: NDArray[np.float64], block: NDArray[np.float64], accumulate: str
) -> None:
    if accumulate == "f16":
        from tiledialect.runtime.rounding import add_to_f16

        add_to_f16(partial, block)
    else:
        with np.errstate(over="ignore"):
            partial[...] = (partial + block).astype(np.float32)


# map


def run_map(
    operands: Sequence[tuple[Stored, Element]], stages: Sequence[MapStage]
) -> Stored:
    """Operand 0 through all stages, each rounded to its format."""
    stored, element = operands[0]
    for stage in stages:
        others = [operands[number] for number in stage.operands]
        stored = _stage(stage, (stored, element), others)
        element = stage.element
    return stored


def _stage(
    stage: MapStage,
    running: tuple[Stored, Element],
    others: Sequence[tuple[Stored, Element]],
) -> Stored:
    element = running[1]
    if stage.function in ("cast", "identity"):
        if (element.format, element.scale) == (
            stage.element.format,
            stage.element.scale,
        ):
            return running[0]
        # i32 has more digits than f32: straight from the integer, rounded once
        wide = "float64" if element.format.is_integer else "float32"
        return store(load(*running, wide), stage.element)
    dtype = np.int32 if element.format.is_integer else np.float32
    values = [load(*operand, "float32") for operand in (running, *others)]
    return store(apply(stage.function, dtype, *values), stage.element)


def map_arity(function: str) -> int | None:
    """How many operands a map's function takes; None where it is no function of one."""
    if function == "identity":
        return 1
    known = SCALAR_FUNCTIONS.get(function)
    return known.arity if known is not None and "map" in known.families else None


# reduce and sum


def reduce(values: Values, axes: tuple[int, ...], function: str) -> Values:
    """Reduced over `axes`, which stay with extent 1, in ascending order."""
    kept = [axis for axis in range(values.ndim) if axis not in axes]
    front = values.transpose(*axes, *kept)
    terms = front.reshape(-1, *front.shape[len(axes) :])
    shape = [1 if axis in axes else n for axis, n in enumerate(values.shape)]
    dtype = values.dtype.type
    total = np.full(terms.shape[1:], identity(function, dtype), dtype=dtype)
    add = np.add if function == "sum" else np.maximum
    with np.errstate(all="ignore"):
        for term in terms:
            add(total, term, out=total)
    return total.reshape(shape)


def add_partials(
    stack: Values, own: Values | None, position: Ints | None, function: str
) -> Values:
    """Partials [tiles, p, ...] in ascending order, on each tile with its own piece at
    its `position` among them."""
    if own is None or position is None:
        return reduce(stack, (1,), function)[:, 0]
    add = np.add if function == "sum" else np.maximum
    every = np.arange(len(stack))
    total = own
    with np.errstate(all="ignore"):
        for number in range(stack.shape[1] + 1):
            mine = position == number
            slot = np.minimum(number - (number > position), stack.shape[1] - 1)
            term = stack[every, slot] if stack.shape[1] else own.copy()
            term[mine] = own[mine]
            total = term if number == 0 else add(total, term)
    return total
