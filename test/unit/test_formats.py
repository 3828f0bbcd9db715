"""Number formats against exact rational arithmetic, and against known elements."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tiledialect.formats import (
    FORMATS,
    NumberFormat,
    decode,
    encode,
    format_named,
    round_values,
    stored_array,
)

F143, F152 = FORMATS["f8E4M3FNUZ"], FORMATS["f8E5M2FNUZ"]
F16, F32, BF16, I32 = (FORMATS[name] for name in ("f16", "f32", "bf16", "i32"))
FLOATS = [F143, F152, F16, F32, BF16]


def exact_nearest(value: float, format: NumberFormat, scale: int) -> float:
    """Nearest value of the format by rational arithmetic, ties to even."""
    element = Fraction(value) / Fraction(2) ** scale
    magnitude = abs(element)
    exponent = max(math.frexp(float(magnitude))[1] - 1, format.smallest_exponent)
    step = Fraction(2) ** (exponent - format.mantissa_bits)
    rounded = round(magnitude / step) * step  # Fraction rounds half to even
    if rounded > Fraction(format.largest):
        if not format.is_float8:
            return math.copysign(math.inf, value)
        rounded = Fraction(format.largest)
    return math.copysign(float(rounded * Fraction(2) ** scale), value)


def hard_values(format: NumberFormat, count: int) -> NDArray[np.float64]:
    """Elements, ties between neighbours, and values one float64 step off a tie."""
    random = np.random.default_rng(7)
    unsigned = np.dtype(f"u{format.bytes}")
    last = int(np.array(format.largest, format.dtype).view(unsigned))
    codes = np.concatenate([random.integers(0, last, count), [0, 1, 2, last - 1]])
    low, high = (
        each.astype(unsigned).view(format.dtype).astype(np.float64)
        for each in (codes, codes + 1)
    )
    tie = (low + high) / 2
    beyond = format.largest + (high[-1] - low[-1]) / 2  # rounds to the even overflow
    ties = [*tie, beyond]
    near = [ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)]
    values = np.concatenate([low, high, *near, random.standard_normal(count)])
    return np.concatenate([values, -values])


SCALED = [(format, s) for format in (F143, F152) for s in (0, -2, 31, -32)]


@pytest.mark.parametrize(("format", "scale"), [*SCALED, (F16, 0), (F32, 0), (BF16, 0)])
def test_rounding_is_exact_and_single(format: NumberFormat, scale: int) -> None:
    values = hard_values(format, 256) * 2.0**scale
    expected = np.array([exact_nearest(v, format, scale) for v in values.tolist()])
    np.testing.assert_array_equal(round_values(values, format, scale), expected)
    stored = encode(values, format, scale)
    np.testing.assert_array_equal(decode(stored, format, scale), expected)


@pytest.mark.parametrize(
    ("format", "value", "element"),
    [
        # Halfway between two bf16 numbers but for the last bit of float64: by way of
        # float32 it becomes a tie and rounds down.
        (BF16, 1 + 2**-8 + 2**-40, 1 + 2**-7),
        (F16, 1 + 2**-11 + 2**-40, 1 + 2**-10),
        (F32, 1 + 2**-24 + 2**-52, 1 + 2**-23),
        (F143, 8.5 + 2**-8 + 2**-40, 9.0),
        (F143, 8.5, 8.0),
    ],
)
def test_a_value_just_above_a_tie_is_not_rounded_twice(
    format: NumberFormat, value: float, element: float
) -> None:
    assert encode(np.array([value]), format).astype(np.float64)[0] == element


def test_the_way_through_float32_does_round_twice() -> None:
    value = np.array([1 + 2**-8 + 2**-40])
    assert value.astype(ml_dtypes.bfloat16)[0] == 1.0


@pytest.mark.parametrize(
    ("format", "scale", "value", "code"),
    [
        (F143, -2, 3.9, 0x60),  # 4.0
        (F143, -2, 1.3, 0x52),  # 1.25
        (F143, -2, 60.0, 0x7F),  # the largest
        (F143, -2, 61.9, 0x7F),  # rounds down to it
        (F143, -2, 62.0, 0x7F),  # would round up: clips
        (F143, -2, -1e30, 0xFF),
        (F143, -2, math.inf, 0x7F),
        (F143, -2, -math.inf, 0xFF),
        (F143, -2, math.nan, 0x80),
        (F143, -2, 2.0**-12, 0x01),  # the smallest
        (F143, -2, 2.0**-13, 0x00),  # a tie with zero, which is even
        (F143, -2, -0.0, 0x00),
        (F143, 0, -1e-30, 0x00),  # a small negative number is no NaN
        (F143, 0, -(2.0**-11), 0x00),
        (F143, 0, 0.000488330078125, 0x01),
        (F143, 0, 0.00146484375, 0x02),
        (F143, 0, 0.00244140625, 0x02),
        (F143, 0, 17.0, 0x60),  # a tie of 16 and 18
        (F143, 0, 8.50390625, 0x59),  # above a tie of 8 and 9
        (F152, 0, 57344.0, 0x7F),
        (F152, 0, 61440.0, 0x7F),  # a tie with 65536: clips
        (F152, 0, 2.0**-18, 0x00),
        (F152, 0, -0.0, 0x00),
    ],
)
def test_known_8_bit_elements(
    format: NumberFormat, scale: int, value: float, code: int
) -> None:
    assert encode(np.array(value), format, scale).view(np.uint8) == code


@pytest.mark.parametrize("format", [F143, F152], ids=lambda format: format.name)
@pytest.mark.parametrize("scale", [-32, -2, 0, 31])
def test_every_8_bit_element_survives(format: NumberFormat, scale: int) -> None:
    stored = np.arange(256, dtype=np.uint8).view(format.dtype)
    values = decode(stored, format, scale)
    assert np.flatnonzero(np.isnan(values)).tolist() == [0x80]
    np.testing.assert_array_equal(
        encode(values, format, scale).view(np.uint8), stored.view(np.uint8)
    )


def test_ranges_are_those_of_the_dtype() -> None:
    for format in FLOATS:
        limits = cast("Any", ml_dtypes.finfo(format.dtype))
        assert float(limits.max) == format.largest
        assert float(limits.smallest_normal) == 2.0**format.smallest_exponent
        assert format.dtype.itemsize == format.bytes


@pytest.mark.parametrize("format", [F16, F32, BF16], ids=lambda format: format.name)
def test_ieee_formats_keep_minus_zero_and_overflow(format: NumberFormat) -> None:
    values = np.array([-0.0, -1e-300, 1e300, -1e300, math.nan])
    stored = encode(values, format).astype(np.float64)
    assert np.signbit(stored[:2]).all()
    assert stored[2:4].tolist() == [math.inf, -math.inf]
    assert np.isnan(stored[4])
    np.testing.assert_array_equal(
        np.signbit(round_values(values, format)), np.signbit(stored)
    )


def test_i32_wraps_around() -> None:
    values = np.array([2**31, -(2**31) - 1, 7, -1])
    assert encode(values, I32).tolist() == [-(2**31), 2**31 - 1, 7, -1]
    with pytest.raises(ValueError, match="i32 encodes integers, not float64"):
        encode(np.zeros(2), I32)


def test_scalars_stay_arrays() -> None:
    for format in FORMATS.values():
        three = np.array(3, np.int64) if format.is_integer else np.array(3.0)
        stored = encode(three, format)
        assert (type(stored), stored.shape) == (np.ndarray, ())
        values = decode(stored, format)
        assert (type(values), values.shape, values[()]) == (np.ndarray, (), 3)


def test_foreign_bytes_are_taken_as_they_lie() -> None:
    values = encode(np.array([1.0, -2.0]), F143)
    for view in (values, values.view(np.uint8), values.view("V1")):
        np.testing.assert_array_equal(stored_array(view, F143), values)
    for array, format in (
        (np.zeros(2, np.uint16), F143),
        (np.zeros(2, np.int8), F143),
        (np.zeros(2, np.uint16), F16),
        (np.zeros(2, ">f4"), F32),
    ):
        with pytest.raises(ValueError, match="is stored as"):
            stored_array(array, format)
    with pytest.raises(ValueError, match="f16 is stored as float16, these are float32"):
        decode(np.zeros(2, np.float32), F16)


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(ValueError, match="no number format is called f64; there are"):
        format_named("f64")
