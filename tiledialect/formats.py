"""Number formats: what a stored element means, and how a value becomes one.

A format goes by its MLIR name (`f8E4M3FNUZ`). A value is `element * 2**scale`; only
the 8-bit formats have a scale other than 0. `encode` rounds once, from float64
straight to the format: ml_dtypes passes through float32 on the way to bf16, which
rounds twice. numpy and ml_dtypes are imported on first use, not with this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Stored = NDArray[Any]  # of the format's dtype, which ml_dtypes may define
    Values = NDArray[np.float64] | NDArray[np.int64]

SCALE_MIN = -32  # a signed 6-bit field, Graphcore QuarterFloat.hpp
SCALE_MAX = 31


@dataclass(frozen=True)
class NumberFormat:
    """One element type: its size, its numpy dtype, its range."""

    name: str
    bytes: int
    dtype_name: str
    kind: str  # "float", "float8" (saturates, has a scale, no -0) or "integer"
    mantissa_bits: int = 0  # stored, without the hidden one
    smallest_exponent: int = 0  # of the smallest normal number
    largest: float = 0.0  # finite

    @property
    def is_integer(self) -> bool:
        return self.kind == "integer"

    @property
    def is_float8(self) -> bool:
        return self.kind == "float8"

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The numpy dtype of stored elements."""
        import numpy as np

        if self.dtype_name in ("float32", "float16", "int32"):
            return np.dtype(self.dtype_name)
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, self.dtype_name))


_ALL = (
    NumberFormat("f32", 4, "float32", "float", 23, -126, (2 - 2**-23) * 2.0**127),
    NumberFormat("f16", 2, "float16", "float", 10, -14, 65504.0),
    NumberFormat("bf16", 2, "bfloat16", "float", 7, -126, (2 - 2**-7) * 2.0**127),
    NumberFormat("f8E4M3FNUZ", 1, "float8_e4m3fnuz", "float8", 3, -7, 240.0),
    NumberFormat("f8E5M2FNUZ", 1, "float8_e5m2fnuz", "float8", 2, -15, 57344.0),
    NumberFormat("i32", 4, "int32", "integer"),
)
FORMATS: dict[str, NumberFormat] = {format.name: format for format in _ALL}


def format_named(name: str) -> NumberFormat:
    """The format of that MLIR name; ValueError names those there are."""
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise ValueError(f"no number format is called {name}; there are {known}")
    return FORMATS[name]


def round_values(
    values: NDArray[np.float64], format: NumberFormat, scale: int = 0
) -> NDArray[np.float64]:
    """The nearest value of a float format to each value, ties to the even element.

    Beyond the largest, 8-bit formats clip (infinities too) and the others give an
    infinity. NaN stays NaN; an 8-bit zero is +0. Subnormals are kept.
    """
    import numpy as np

    with np.errstate(over="ignore", under="ignore"):
        elements = values * 2.0**-scale
        limit = format.largest if format.is_float8 else 2 * format.largest
        rounded = _round_elements(np.clip(elements, -limit, limit), format)
        if not format.is_float8:
            outside = np.abs(rounded) > format.largest
            rounded = np.copysign(np.where(outside, np.inf, rounded), values)
        return np.asarray(rounded * 2.0**scale)


def _round_elements(
    elements: NDArray[np.float64], format: NumberFormat
) -> NDArray[np.float64]:
    """Elements at the format's precision, in a new array; a -0 becomes 0.

    Adding and taking away 1.5 * 2^52 steps leaves whole steps, rounded once by the
    float64 adder to nearest even. A step is 2^(exponent - mantissa_bits).
    """
    import numpy as np

    bits = np.abs(elements).view(np.int64) & (0x7FF << 52)
    powers = np.maximum(bits.view(np.float64), 2.0**format.smallest_exponent)
    powers *= 1.5 * 2.0 ** (52 - format.mantissa_bits)
    rounded = elements + powers
    rounded -= powers
    return rounded


def encode(values: Values, format: NumberFormat, scale: int = 0) -> Stored:
    """Stored elements of values, rounded once; i32 keeps the low 32 bits."""
    import numpy as np

    if format.is_integer:
        if values.dtype.kind != "i":
            raise ValueError(f"{format.name} encodes integers, not {values.dtype}")
        return np.asarray(values).astype(np.int32)
    exact = np.asarray(values, np.float64)
    if format.name in ("f32", "f16"):  # numpy rounds these once, straight from float64
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return exact.astype(format.dtype)
    rounded = np.asarray(round_values(exact, format, scale) * 2.0**-scale)
    with np.errstate(invalid="ignore"):
        return rounded.astype(np.float32).astype(format.dtype)


def decode(stored: Stored, format: NumberFormat, scale: int = 0) -> Values:
    """The exact values of stored elements: int64 for i32, float64 for the rest."""
    import numpy as np

    if stored.dtype != format.dtype:
        raise ValueError(
            f"{format.name} is stored as {format.dtype}, these are {stored.dtype}"
        )
    if format.is_integer:
        return stored.astype(np.int64)
    with np.errstate(invalid="ignore"):
        return np.asarray(stored.astype(np.float64) * 2.0**scale)


def stored_array(array: Stored, format: NumberFormat) -> Stored:
    """The array as stored elements of a format; ValueError where it is not that.

    numpy files know no 8-bit float and no bf16: their bytes come back as void or
    unsigned elements of that size, which are taken as they lie.
    """
    if array.dtype == format.dtype:
        return array
    foreign = format.dtype_name not in ("float32", "float16", "int32")
    if foreign and array.dtype.kind in "uV" and array.dtype.itemsize == format.bytes:
        return array.view(format.dtype)
    raise ValueError(
        f"{format.name} is stored as {format.dtype}, this is {array.dtype}"
    )
