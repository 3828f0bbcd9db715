"""Numerics of the simulator's kernels against slow arithmetic, and its block views."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tiledialect.formats import FORMATS, encode
from tiledialect.runtime import kernels
from tiledialect.runtime.blocks import (
    UnwrittenError,
    gather,
    runs,
    scatter,
    small_boxes,
)
from tiledialect.runtime.kernels import (
    Element,
    MapStage,
    add_partials,
    load,
    matmul,
    reduce,
    run_map,
    store,
)
from tiledialect.runtime.memory import Memory
from tiledialect.runtime.package import View
from tiledialect.runtime.rounding import add_to_f16
from tiledialect.tiles import Box

F16, F32 = Element(FORMATS["f16"]), Element(FORMATS["f32"])
I32, BF16 = Element(FORMATS["i32"]), Element(FORMATS["bf16"])
F8 = Element(FORMATS["f8E4M3FNUZ"], -2)


def as_f16(values: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float64)


def hard_values() -> NDArray[np.float64]:
    """Every f16, ties of neighbours, the float64s next to those, and specials."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
    finite = np.sort(every[np.isfinite(every)])
    ties = (finite[1:] + finite[:-1]) / 2
    edge = np.array([65519.99999999999, 65520.0, 65536.0, 1e300, -65520.0])
    tiny = np.array([2.0**-25, 2.0**-26, 5e-324, -0.0, np.inf, -np.inf, np.nan])
    near = [np.nextafter(ties, direction) for direction in (np.inf, -np.inf)]
    return np.concatenate([finite, ties, *near, edge, -edge, tiny, -tiny])


def test_sums_round_to_f16_as_numpy_rounds_bit_for_bit() -> None:
    generator = np.random.default_rng(3)
    hard = hard_values()
    random = generator.standard_normal(200_000) * 2.0 ** generator.integers(
        -30, 20, 200_000
    )
    for first, second in (
        (hard, np.full_like(hard, -0.0)),
        (random, random[::-1].copy()),
    ):
        partial = first.copy()
        add_to_f16(partial, second)
        expected = as_f16(first + second)
        assert np.array_equal(np.isnan(partial), np.isnan(expected))
        number = ~np.isnan(expected)
        assert partial[number].tobytes() == expected[number].tobytes()


def f8_by_hand(code: int, mantissa_bits: int, bias: int) -> float:
    """Sign, exponent, mantissa; no infinities, and minus zero is the only NaN."""
    if code == 128:
        return math.nan
    exponent, mantissa = divmod(code & 127, 1 << mantissa_bits)
    whole = (mantissa + (1 << mantissa_bits)) if exponent else mantissa
    size = whole * 2.0 ** (max(exponent, 1) - bias - mantissa_bits)
    return -size if code & 128 else size


@pytest.mark.parametrize(
    ("name", "mantissa_bits", "bias"), [("f8E4M3FNUZ", 3, 8), ("f8E5M2FNUZ", 2, 16)]
)
@pytest.mark.parametrize("scale", [-32, -2, 0, 7, 31])
def test_every_f8_loads_as_its_value(
    name: str, mantissa_bits: int, bias: int, scale: int
) -> None:
    format = FORMATS[name]
    stored = np.arange(256, dtype=np.uint8).view(format.dtype)
    values = [f8_by_hand(code, mantissa_bits, bias) for code in range(256)]
    expected = np.array(values) * 2.0**scale
    for dtype in ("float32", "float64"):
        values = load(stored, Element(format, scale), dtype)
        assert np.array_equal(values, expected, equal_nan=True)


def test_f8_beyond_its_largest_clips_or_is_nan_as_the_machine_says() -> None:
    for name, last, first in (
        ("f8E4M3FNUZ", 247.99, 248.0),
        ("f8E5M2FNUZ", 61439.0, 61440.0),
    ):
        format = FORMATS[name]
        values = np.array([last, first, -first, 1e30], np.float32)
        clipped = store(values, Element(format)).astype(np.float64)
        assert clipped.tolist() == [
            format.largest,
            format.largest,
            -format.largest,
            format.largest,
        ]
        scaled = store(values * 0.25, Element(format, -2, "nan"))
        assert np.isnan(scaled.astype(np.float64)).tolist() == [False, True, True, True]


def exact_matmul(
    left: Any, right: Any, k_block: int, round_to: type[np.floating[Any]]
) -> NDArray[np.float64]:
    """[m, k] times [n, k] with exact block sums, each added in one rounding."""
    result = np.zeros((len(left), len(right)))
    for i, j in np.ndindex(result.shape):
        partial = Fraction(0)
        for begin in range(0, left.shape[1], k_block):
            terms = zip(
                left[i, begin : begin + k_block],
                right[j, begin : begin + k_block],
                strict=True,
            )
            exact = partial + sum(
                Fraction(float(a)) * Fraction(float(b)) for a, b in terms
            )
            wide = float(exact)
            assert Fraction(wide) == exact  # so that one rounding follows
            partial = Fraction(float(round_to(wide)))
        result[i, j] = float(partial)
    return result


def test_matmul_rounds_once_a_coefficient_block() -> None:
    generator = np.random.default_rng(5)
    for k in (1, 31, 32, 33, 70):
        stored = generator.integers(0, 128, (7, k)).astype(np.uint8)
        values = load(stored.view(FORMATS["f8E4M3FNUZ"].dtype), F8, "float64")
        left, right = values[:3] * np.where(np.arange(k) % 3, 1, -1), values[3:]
        for accumulate, round_to in (("f16", np.float16), ("f32", np.float32)):
            made = matmul(left[None], right[None], 32, accumulate)
            expected = exact_matmul(left, right, 32, round_to)
            assert np.array_equal(made[0], expected)


def test_products_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(2)
    left, right = generator.standard_normal((2, 3, 9, 40)), np.ones((3, 5, 40))
    whole = matmul(left, right, 8, "f16")
    for products in (1, 40, 90, 300):
        monkeypatch.setattr(kernels, "SINGLE_THREAD_PRODUCTS", products)
        assert np.array_equal(matmul(left, right, 8, "f16"), whole)


def test_the_order_of_blocks_is_ascending() -> None:
    # 2048 + 1 is lost to f16 block by block, 1 + 1 + 2046 is not
    left = np.array([[2048.0, 1.0, 1.0]])
    ones = np.ones((1, 3))
    assert matmul(left, ones, 1, "f16")[0, 0] == 2048
    assert matmul(left[:, ::-1].copy(), ones, 1, "f16")[0, 0] == 2050
    assert matmul(left, ones, 3, "f16")[0, 0] == 2050


def test_a_map_rounds_after_each_stage() -> None:
    x = np.array([[1.0, 1.0009765625, -3.0, 300.0]], np.float16)
    half = np.array([[2.0**-11, 2.0**-11, 1.0, 0.0]], np.float32)
    stages = [
        MapStage("add", (1,), F16),
        MapStage("mul", (0,), F32),
        MapStage("cast", (), F8),
    ]
    made = run_map([(x, F16), (half, F32)], stages)
    sums = (x.astype(np.float32) + half).astype(np.float16).astype(np.float32)
    expected = encode((sums * x.astype(np.float32)).astype(np.float64), F8.format, -2)
    assert made.tobytes() == expected.tobytes()


def test_maps_of_integers_stay_integers() -> None:
    x = np.array([[16777217, -7, 2**31 - 1]], np.int32)
    two = np.array([[1, 2, 1]], np.int32)
    assert run_map([(x, I32), (two, I32)], [MapStage("add", (1,), I32)]).tolist() == [
        [16777218, -5, -(2**31)]
    ]
    divided = run_map([(x, I32), (two, I32)], [MapStage("div", (1,), I32)])
    assert divided.tolist() == [[16777217, -3, 2**31 - 1]]
    # straight from 32 digits, not through the 24 of f32
    wide = np.array([[(1 << 24) + 1 + (1 << 16)]], np.int32)
    made = run_map([(wide, I32)], [MapStage("cast", (), BF16)])
    assert made.tobytes() == encode(wide.astype(np.float64), BF16.format).tobytes()
    floats = np.array([[2.9, -2.9, 1e20, np.nan]], np.float32)
    whole = run_map([(floats, F32)], [MapStage("cast", (), I32)])
    assert whole.tolist() == [[2, -2, 2**31 - 1, 0]]


def test_reductions_add_in_ascending_order() -> None:
    big = np.array([[1e8, 1.0, -1e8, 1.0]], np.float32)  # 1 is lost beside 1e8
    assert reduce(big, (1,), "sum").tolist() == [[1.0]]
    assert reduce(big[:, ::-1].copy(), (1,), "sum").tolist() == [[0.0]]
    assert reduce(big, (1,), "max").tolist() == [[np.float32(1e8)]]
    cube = np.arange(24, dtype=np.int32).reshape(1, 2, 3, 4)
    assert reduce(cube, (1, 3), "sum").reshape(-1).tolist() == [60, 92, 124]
    none = np.zeros((2, 0, 3), np.float32)
    assert reduce(none, (1,), "sum").tolist() == [[[0.0] * 3]] * 2
    assert reduce(none, (1,), "max").max() == -np.inf


@pytest.mark.parametrize("function", ["sum", "max"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_tiles_own_partial_is_added_in_its_place(function: str, count: int) -> None:
    generator = np.random.default_rng(count)
    partials = (generator.standard_normal((4, count, 3)) * 1e6).astype(np.float32)
    position = generator.integers(0, count, 4)
    own = np.stack([partials[t, q] for t, q in enumerate(position)])
    stack = np.stack([np.delete(partials[t], q, 0) for t, q in enumerate(position)])
    made = add_partials(stack, own, position, function)
    expected = partials[:, 0]
    for number in range(1, count):
        if function == "sum":
            expected = expected + partials[:, number]
        else:
            expected = np.maximum(expected, partials[:, number])
    assert np.array_equal(made, expected)
    assert np.array_equal(add_partials(partials, None, None, function), expected)


# Blocks


def places(view: View, extents: tuple[int, ...]) -> NDArray[np.int64]:
    """The address of every element, one at a time."""
    shape = tuple(n if axis else 1 for axis, n in zip(view.axes, extents, strict=True))
    found = np.zeros(shape, np.int64)
    for index in np.ndindex(shape):
        address = view.address
        for axis, i in zip(view.axes, index, strict=True):
            for count, stride in reversed(axis):
                address += i % count * stride
                i //= count
        found[index] = address
    return found


def random_view(generator: np.random.Generator) -> tuple[View, tuple[int, ...]]:
    """An f16 view of up to 3 dims, digits shuffled in memory, extents often ragged."""
    counts = [
        [int(n) for n in generator.integers(1, 5, generator.integers(0, 4))]
        for _ in "abc"
    ]
    slots = [(dim, at) for dim in range(3) for at in range(len(counts[dim]))]
    stride = 2
    strides: dict[tuple[int, int], int] = {}
    for number in map(int, generator.permutation(len(slots))):
        strides[slots[number]] = stride
        stride *= counts[slots[number][0]][slots[number][1]]
    axes = tuple(
        tuple((n, strides[dim, at]) for at, n in enumerate(counts[dim]))
        for dim in range(3)
    )
    extents = tuple(
        int(
            generator.integers(0 if c and generator.random() < 0.05 else 1, prod(c) + 1)
        )
        for c in counts
    )
    return View(2 * int(generator.integers(0, 8)), "f16", 0, axes), extents


@pytest.mark.parametrize("seed", range(40))
def test_blocks_are_gathered_and_scattered_element_by_element(seed: int) -> None:
    generator = np.random.default_rng(seed)
    view, extents = random_view(generator)
    memory = Memory(12, 8192)
    box = Box(1, ((2, 5), (3, 1)))
    where = places(view, extents)
    values = generator.integers(1, 30000, (6, *where.shape)).astype(np.int16)
    values = values.view(np.float16)
    scatter(memory, box, view, extents, values)
    assert memory.written.sum() == 2 * values.size  # nothing beside the elements
    for number, tile in enumerate(box.array()):
        there = memory.data[tile].view(np.float16)[where // 2]
        assert there.tobytes() == values[number].tobytes()
    assert gather(memory, box, view, extents).tobytes() == values.tobytes()
    if where.size:
        place = int(where.reshape(-1)[generator.integers(where.size)])
        memory.written[7, place + 1] = 0
        with pytest.raises(UnwrittenError, match=f"tile 7 reads address {place + 1},"):
            gather(memory, box, view, extents)


def test_runs_cover_every_index_once() -> None:
    for counts in product((1, 2, 3), repeat=3):
        digits = [(n, 10**at) for at, n in enumerate(counts)]
        for extent in range(prod(counts) + 1):
            indices = [
                i
                for r in runs(digits, extent)
                for i in range(r.first, r.first + r.length)
            ]
            assert indices == list(range(extent))


def test_boxes_are_cut_into_the_same_tiles() -> None:
    for box in (Box(3), Box(0, ((1458, 1),)), Box(2, ((5, 100), (7, 9), (3, 1)))):
        for most in (1, 2, 3, 16, 22, 10_000):
            parts = list(small_boxes(box, most))
            together = np.concatenate([part.array() for part in parts])
            assert np.array_equal(together, box.array())
            assert max(len(part) for part in parts) <= most
