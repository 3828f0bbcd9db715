"""The reference interpreter, against plain Python and against known results."""

from __future__ import annotations

import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from tile_programs import parse, program, unary

from tiledialect import scalar_functions
from tiledialect.dialects.interfaces import IndexingMap, Structured
from tiledialect.dialects.tile import entry_function, result_forms
from tiledialect.formats import decode, encode
from tiledialect.reference import default_arguments, run_reference

Stored = NDArray[Any]


def run(text: str, *arguments: Stored) -> Stored:
    """The one result of a program on arguments by position."""
    (result,) = run_reference(parse(text), dict(enumerate(arguments)))
    return result


def floats(array: Stored) -> list[Any]:
    return array.astype(np.float64).tolist()


def f32(values: object) -> NDArray[np.float32]:
    return np.asarray(values, np.float32)


def point_arguments(
    operation: Structured,
    maps: tuple[IndexingMap, ...],
    operands: list[Stored],
    point: tuple[int, ...],
) -> list[Stored]:
    """The operand elements at a point of the domain, as 0-d arrays."""
    return [
        operand[tuple(0 if axis is None else point[axis] for axis in map)]
        for operand, map in zip(operands, maps, strict=False)
    ]


def by_maps(
    operation: Structured, operands: list[Stored], shape: tuple[int, ...]
) -> Stored:
    """The operation, point by point over its domain, in float64 or int64."""
    name, family = operation.scalar_function, operation.codelet_family
    dtype = np.int64 if operands[0].dtype.kind == "i" else np.float64
    start = 0 if family == "matmul" else None
    result: NDArray[Any] = np.full(shape, 0, dtype)
    if family == "reduce":
        start = scalar_functions.identity(name, dtype)
    if start is not None:
        result[...] = start
    domain, maps = operation.iteration_domain(), operation.indexing_maps()
    for point in itertools.product(*(range(d.extent) for d in domain)):
        index = tuple(0 if axis is None else point[axis] for axis in maps[-1])
        elements = point_arguments(operation, maps, operands, point)
        if family != "map":
            elements = [*elements, result[index]]
        arrays = [np.asarray(element) for element in elements]
        result[index] = scalar_functions.apply(name, dtype, *arrays)
    return result


STRUCTURED = [
    "tile.matmul %a0, %a1 : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>",
    "tile.matmul %a0, %a1 transpose_a transpose_b : "
    "(tensor<3x5xf32>, tensor<4x3xf32>) -> tensor<5x4xf32>",
    "tile.matmul %a0, %a1 transpose_b : "
    "(tensor<2x1x5x3xf32>, tensor<3x4x3xf32>) -> tensor<2x3x5x4xf32>",
    "tile.matmul %a0, %a1 transpose_a : "
    "(tensor<3x5xf32>, tensor<2x3x4xf32>) -> tensor<2x5x4xf32>",
    "tile.matmul %a0, %a1 : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>",
    "tile.add %a0, %a1 : (tensor<5x1xf32>, tensor<2x1x3xf32>) -> tensor<2x5x3xf32>",
    "tile.div %a0, %a1 : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>",
    "tile.sub %a0, %a1 : (tensor<0x1xi32>, tensor<1x3xi32>) -> tensor<0x3xi32>",
    "tile.mul %a0, %a1 : (tensor<4x1xi32>, tensor<1x3xi32>) -> tensor<4x3xi32>",
    "tile.reduce sum %a0 over [0, 2] : tensor<2x5x3xf32> -> tensor<5xf32>",
    "tile.reduce max %a0 over [1] keepdims : tensor<2x5x3xf32> -> tensor<2x1x3xf32>",
    "tile.reduce sum %a0 over [1] : tensor<3x0xf32> -> tensor<3xf32>",
    "tile.reduce max %a0 over [1] : tensor<3x0xf32> -> tensor<3xf32>",
    "tile.reduce max %a0 over [1] : tensor<3x0xi32> -> tensor<3xi32>",
    "tile.reduce max %a0 over [0] : tensor<7xi32> -> tensor<i32>",
]


@pytest.mark.parametrize("line", STRUCTURED)
def test_an_operation_is_what_its_maps_say(line: str) -> None:
    """np.matmul and friends against the domain walked point by point."""
    operands, result = line.split(" : ")[1].split(" -> ")
    types = operands.strip("()").split(", ")
    module = parse(program(line, *types, result=result))
    operation = next(op for op in module.walk() if isinstance(op, Structured))
    arguments = default_arguments(module, seed=3)
    (found,) = run_reference(module, arguments)
    (form,) = result_forms(entry_function(module))
    exact = by_maps(operation, list(arguments.values()), form.shape)
    np.testing.assert_array_equal(found, encode(exact, form.format))


def test_results_are_rounded_once_to_their_type() -> None:
    """256 + 1 is a tie in bf16; added one by one, 1 + 2^-11 + 2^-11 stays 1 in f16."""
    kind = "tensor<2xbf16>"
    ones = np.array([1, 1.5], ml_dtypes.bfloat16)
    large = np.array([256, 256], ml_dtypes.bfloat16)
    text = program("tile.add %a0, %a1 : " + kind, kind, kind, result=kind)
    assert floats(run(text, large, ones)) == [256.0, 258.0]
    text = program(
        "tile.reduce sum %a0 over [0] : tensor<3xf16> -> tensor<f16>",
        "tensor<3xf16>",
        result="tensor<f16>",
    )
    assert floats(run(text, np.array([1, 2**-11, 2**-11], np.float16))) == 1 + 2**-10


def test_a_long_bf16_product_does_not_stall() -> None:
    """Added one by one in bf16, 1024 ones stop at 256."""
    line = "tile.matmul %a0, %a1 : (tensor<1x1024xbf16>, tensor<1024x1xbf16>) -> "
    text = program(
        line + "tensor<1x1xbf16>",
        "tensor<1x1024xbf16>",
        "tensor<1024x1xbf16>",
        result="tensor<1x1xbf16>",
    )
    ones = np.ones((1, 1024), ml_dtypes.bfloat16)
    assert floats(run(text, ones, ones.T)) == [[1024.0]]


@pytest.mark.parametrize(("format", "value"), [("f32", 115200.0), ("f16", math.inf)])
def test_the_largest_8_bit_products(format: str, value: float) -> None:
    """A result is right or infinite, never a wrong finite number."""
    left, right = "tensor<1x2xf8E4M3FNUZ>", "tensor<2x1xf8E4M3FNUZ>"
    result = f"tensor<1x1x{format}>"
    line = f"tile.matmul %a0, %a1 : ({left}, {right}) -> {result}"
    most = np.full((1, 2), 240, ml_dtypes.float8_e4m3fnuz)
    assert floats(run(program(line, left, right, result=result), most, most.T)) == [
        [value]
    ]


def test_scales_of_both_operands_count() -> None:
    left = "tensor<1x2xf8E4M3FNUZ, #tile.scale<-2>>"
    right = "tensor<2x1xf8E5M2FNUZ, #tile.scale<5>>"
    line = f"tile.matmul %a0, %a1 : ({left}, {right}) -> tensor<1x1xf32>"
    a = np.array([[3, 5]], ml_dtypes.float8_e4m3fnuz)
    b = np.array([[2], [-1]], ml_dtypes.float8_e5m2fnuz)
    text = program(line, left, right, result="tensor<1x1xf32>")
    assert floats(run(text, a, b)) == [[(3 * 2 - 5) * 8.0]]


def cast(source: str, target: str, values: Stored) -> Stored:
    line = f"tile.cast %a0 : {source} to {target}"
    return run(program(line, source, result=target), values)


def test_a_cast_changes_the_scale_and_keeps_the_value() -> None:
    source = "tensor<3xf8E4M3FNUZ, #tile.scale<-2>>"
    target = "tensor<3xf8E4M3FNUZ, #tile.scale<1>>"
    stored = np.array([16, 240, 1], ml_dtypes.float8_e4m3fnuz)
    assert floats(cast(source, target, stored)) == [2.0, 30.0, 0.125]


def test_a_cast_to_8_bits_clips_and_has_no_minus_zero() -> None:
    values = f32([100.0, -100.0, np.inf, np.nan, -0.0, -1e-30, 61.9])
    target = "tensor<7xf8E4M3FNUZ, #tile.scale<-2>>"
    codes = cast("tensor<7xf32>", target, values).view(np.uint8)
    assert codes.tolist() == [0x7F, 0xFF, 0x7F, 0x80, 0x00, 0x00, 0x7F]


def test_a_nan_stays_one_in_every_wider_format() -> None:
    for name in ("f8E4M3FNUZ", "f8E5M2FNUZ"):
        stored = np.array([0x80, 0x00], np.uint8)
        for target in ("f16", "bf16", "f32", "f8E5M2FNUZ"):
            found = cast(f"tensor<2x{name}>", f"tensor<2x{target}>", stored)
            assert np.isnan(found[0].astype(np.float64))
            assert floats(found[1]) == 0.0
            assert not np.signbit(found[1].astype(np.float64))


def test_integers_become_8_bit_numbers_by_rounding_to_even() -> None:
    values = np.array([100, 17, -9], np.int32)
    assert floats(cast("tensor<3xi32>", "tensor<3xf8E4M3FNUZ>", values)) == [96, 16, -9]


def test_a_cast_to_i32_truncates_and_clips() -> None:
    values = f32([2.9, -2.9, 3e9, -3e9, np.nan, np.inf])
    found = cast("tensor<6xf32>", "tensor<6xi32>", values)
    assert found.tolist() == [2, -2, 2**31 - 1, -(2**31), 0, 2**31 - 1]


def i32(values: list[int]) -> NDArray[np.int32]:
    return np.array(values, np.int32)


LOWEST = -(2**31)


@pytest.mark.parametrize(
    ("name", "left", "right", "result"),
    [
        ("add", [2**31 - 1], [1], [LOWEST]),
        ("mul", [65536, 46341], [65536, 46341], [0, -2147479015]),
        ("sub", [LOWEST], [1], [2**31 - 1]),
        ("div", [-7, 7, -7, 7], [2, -2, -2, 2], [-3, -3, 3, 3]),
        ("div", [5, LOWEST], [0, -1], [-1, LOWEST]),
    ],
)
def test_i32_arithmetic_wraps_and_divides_toward_zero(
    name: str, left: list[int], right: list[int], result: list[int]
) -> None:
    kind = f"tensor<{len(left)}xi32>"
    text = program(f"tile.{name} %a0, %a1 : {kind}", kind, kind, result=kind)
    assert run(text, i32(left), i32(right)).tolist() == result
    shared = scalar_functions.apply(name, np.int32, i32(left), i32(right))
    assert shared.tolist() == result


def test_i32_has_no_positive_of_its_lowest() -> None:
    kind = "tensor<1xi32>"
    for name in ("neg", "abs"):
        assert run(unary(f"tile.{name}", kind), i32([LOWEST])).tolist() == [LOWEST]


def reduced(kind: str, shape: str, axis: int, result: str, values: Stored) -> Stored:
    line = f"tile.reduce {kind} %a0 over [{axis}] : {shape} -> {result}"
    return run(program(line, shape, result=result), values)


def test_a_maximum_of_negative_numbers_is_negative() -> None:
    values = -f32(np.arange(3 * 37).reshape(3, 37)) - 1
    found = reduced("max", "tensor<3x37xf32>", 1, "tensor<3xf32>", values)
    assert floats(found) == [-1.0, -38.0, -75.0]


def test_reductions_of_nothing_start_from_their_identity() -> None:
    empty = np.zeros((3, 0), np.float32)
    found = reduced("sum", "tensor<3x0xf32>", 1, "tensor<3xf32>", empty)
    assert floats(found) == [0.0] * 3
    found = reduced("max", "tensor<3x0xf32>", 1, "tensor<3xf32>", empty)
    assert floats(found) == [-math.inf] * 3


def test_a_maximum_with_a_nan_is_nan() -> None:
    values = f32([1.0, np.nan, 2.0])
    found = reduced("max", "tensor<3xf32>", 0, "tensor<f32>", values)
    assert np.isnan(floats(found))


def test_a_mean_divides_by_the_true_extent() -> None:
    text = """
    func.func @main(%x: tensor<1x41x41xf32>) -> tensor<1x41xf32> {
      %n = tile.constant splat 41.0 : tensor<f32>
      %s = tile.reduce sum %x over [2] : tensor<1x41x41xf32> -> tensor<1x41xf32>
      %m = tile.div %s, %n : (tensor<1x41xf32>, tensor<f32>) -> tensor<1x41xf32>
      return %m : tensor<1x41xf32>
    }"""
    values = f32(np.tile(np.arange(41.0)[:, None], (1, 1, 41)))
    assert floats(run(text, values)) == [list(range(41))]


def test_a_transpose_permutes_as_numpy_does() -> None:
    text = """
    func.func @main(%x: tensor<2x3xf32>) -> tensor<3x4x2xf32> {
      %z = tile.constant splat 0.0 : tensor<2x4x3xf32>
      %r = tile.reshape %x : tensor<2x3xf32> -> tensor<2x1x3xf32>
      %b = tile.add %r, %z : (tensor<2x1x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
      %t = tile.transpose %b [2, 1, 0] : tensor<2x4x3xf32> -> tensor<3x4x2xf32>
      return %t : tensor<3x4x2xf32>
    }"""
    found = run(text, f32([[0, 1, 2], [3, 4, 5]]))
    assert floats(found[1]) == [[1.0, 4.0]] * 4


def test_an_order_is_no_inverse_order() -> None:
    line = "tile.transpose %a0 [2, 0, 1] : tensor<2x3x4xi32> -> tensor<4x2x3xi32>"
    values = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    found = run(program(line, "tensor<2x3x4xi32>", result="tensor<4x2x3xi32>"), values)
    for i, j, k in np.ndindex(4, 2, 3):
        assert found[i, j, k] == values[j, k, i]


def test_heads_in_the_third_axis_multiply_after_a_transpose() -> None:
    text = """
    func.func @main(%q: tensor<1x2x2x3xf32>, %k: tensor<1x4x2x3xf32>)
        -> tensor<1x2x2x4xf32> {
      %a = tile.transpose %q [0, 2, 1, 3] : tensor<1x2x2x3xf32> -> tensor<1x2x2x3xf32>
      %b = tile.transpose %k [0, 2, 1, 3] : tensor<1x4x2x3xf32> -> tensor<1x2x4x3xf32>
      %s = tile.matmul %a, %b transpose_b
        : (tensor<1x2x2x3xf32>, tensor<1x2x4x3xf32>) -> tensor<1x2x2x4xf32>
      return %s : tensor<1x2x2x4xf32>
    }"""
    q, k = (
        f32(np.arange(12).reshape(1, 2, 2, 3)),
        f32(np.arange(24).reshape(1, 4, 2, 3)),
    )
    expected = np.einsum("bqhd,bkhd->bhqk", q, k)
    np.testing.assert_array_equal(run(text, q, k), expected)


def test_values_may_be_returned_twice_or_untouched_or_unused() -> None:
    text = """
    func.func @main(%x: tensor<2xf32>, %unused: tensor<8xf32>)
        -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
      %n = tile.neg %x : tensor<2xf32>
      return %n, %x, %n : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
    }"""
    x = f32([1, 2])
    results = run_reference(parse(text), {"x": x, "unused": f32(np.zeros(8))})
    assert [floats(each) for each in results] == [[-1, -2], [1, 2], [-1, -2]]
    results[1][0] = 7
    assert x[0] == 1


def test_a_scalar_program_is_the_identity() -> None:
    text = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    assert floats(run(text, f32(3.25))) == 3.25


@pytest.mark.parametrize(
    ("literal", "values"),
    [
        ("splat 0xFF800000 : tensor<2xf32>", [-math.inf, -math.inf]),
        ("splat 5.0 : tensor<2xf8E4M3FNUZ, #tile.scale<-2>>", [1.25, 1.25]),
        ("dense<[1.0, 5.0]> : tensor<2xf8E4M3FNUZ, #tile.scale<1>>", [2.0, 10.0]),
        ('dense<"0x01000000FEFFFFFF"> : tensor<2xi32>', [1.0, -2.0]),
        ("dense<[[1.5], [-2.5]]> : tensor<2x1xbf16>", [[1.5], [-2.5]]),
        ("dense<> : tensor<0xf16>", []),
    ],
)
def test_constants(literal: str, values: list[Any]) -> None:
    module = parse(program(f"tile.constant {literal}", result=literal.split(" : ")[1]))
    (form,) = result_forms(entry_function(module))
    (found,) = run_reference(module, {})
    assert decode(found, form.format, form.scale).tolist() == values
