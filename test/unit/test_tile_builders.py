"""Tensor programs built in Python: constructors, and constants that do not fit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tile_programs import parse, program
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    TensorType,
    f16,
    f32,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import ParseError, VerifyException

from tiledialect.dialects.tile import argument_names, entry_function
from tiledialect.dialects.tile_ops_contraction import MatmulOp, ReduceKind, ReduceOp
from tiledialect.dialects.tile_ops_elementwise import (
    AddOp,
    Approximation,
    CastOp,
    ExpOp,
    GeluOp,
)
from tiledialect.dialects.tile_ops_view import ConstantOp, ReshapeOp, TransposeOp

X = TensorType[Attribute](f16, [2, 3])


def tensor(*shape: int, of: Attribute = f16) -> TensorType[Attribute]:
    return TensorType(of, shape)


BUILDERS: list[tuple[Callable[[SSAValue], Operation], str]] = [
    (ExpOp, "tile.exp %x : tensor<2x3xf16>"),
    (
        lambda x: GeluOp(x, Approximation.ERF),
        "tile.gelu erf %x : tensor<2x3xf16>",
    ),
    (lambda x: AddOp(x, x, X), "tile.add %x, %x : tensor<2x3xf16>"),
    (
        lambda x: CastOp(x, tensor(2, 3, of=f32)),
        "tile.cast %x : tensor<2x3xf16> to tensor<2x3xf32>",
    ),
    (
        lambda x: MatmulOp(x, x, tensor(2, 2), transpose_b=True, accumulate=f32),
        "tile.matmul %x, %x transpose_b accumulate f32 : "
        "(tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x2xf16>",
    ),
    (
        lambda x: MatmulOp(x, x, tensor(3, 3), transpose_a=True),
        "tile.matmul %x, %x transpose_a : "
        "(tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<3x3xf16>",
    ),
    (
        lambda x: ReduceOp(x, ReduceKind.MAX, (1,), tensor(2, 1), keepdims=True),
        "tile.reduce max %x over [1] keepdims : tensor<2x3xf16> -> tensor<2x1xf16>",
    ),
    (
        lambda x: TransposeOp(x, (1, 0), tensor(3, 2)),
        "tile.transpose %x [1, 0] : tensor<2x3xf16> -> tensor<3x2xf16>",
    ),
    (
        lambda x: ReshapeOp(x, tensor(6)),
        "tile.reshape %x : tensor<2x3xf16> -> tensor<6xf16>",
    ),
    (
        lambda x: ConstantOp(FloatAttr(0.5, f16), X),
        "tile.constant splat 5.000000e-01 : tensor<2x3xf16>",
    ),
]


@pytest.mark.parametrize(
    ("build", "text"), BUILDERS, ids=[text.split()[0] for _, text in BUILDERS]
)
def test_a_constructor_says_what_the_text_says(
    build: Callable[[SSAValue], Operation], text: str
) -> None:
    x = test.TestOp(result_types=[X]).results[0]
    x.name_hint = "x"
    operation = build(x)
    operation.verify()
    assert str(operation) == f"%0 = {text}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (FloatAttr(1.0, f32), "holds f32, its result is 2x3xf16"),
        (IntegerAttr(1, i32), "holds i32, its result is 2x3xf16"),
        (
            DenseIntOrFPElementsAttr.from_list(TensorType(f16, [6]), [1.0]),
            "holds tensor<6xf16>, its result is 2x3xf16",
        ),
        (
            DenseIntOrFPElementsAttr.from_list(TensorType(f16, [2, 3]), [1.0, 2.0]),
            "needs 6 elements and holds 2",
        ),
    ],
)
def test_a_constant_fits_its_type(value: FloatAttr | IntegerAttr, message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        ConstantOp(value, X).verify()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tile.add %a0, %a0 : (tensor<2xf16>) -> tensor<2xf16>", "two operand types"),
        ("tile.constant splat 1.0 : f16", "needs a tensor type"),
    ],
)
def test_malformed_text_is_refused(line: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(program(line, "tensor<2xf16>", result="tensor<2xf16>"))


def test_arguments_of_one_name_are_told_apart() -> None:
    module = parse("func.func @main(%x: tensor<f16>, %y: tensor<f16>) { return }")
    function = entry_function(module)
    function.args[1].name_hint = "x"
    assert argument_names(function) == ("x", "x_")
