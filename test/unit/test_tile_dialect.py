"""The tensor dialect: text, verifiers, and what the interfaces say of each op."""

from __future__ import annotations

from io import StringIO
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tile_programs import context, only, parse, program, unary
from xdsl.dialects.builtin import f16, f32, i32
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from tiledialect.dialects import tile
from tiledialect.dialects.interfaces import Structured, View
from tiledialect.dialects.tile_ops_contraction import MatmulOp, ReduceOp
from tiledialect.dialects.tile_ops_elementwise import (
    AddOp,
    CastOp,
    GeluOp,
    broadcast_shape,
)
from tiledialect.dialects.tile_ops_view import ConstantOp, ReshapeOp, TransposeOp
from tiledialect.dialects.tile_types import TensorForm, tensor_form

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.mlir"))

X8 = "tensor<2x3xf8E4M3FNUZ, #tile.scale<-2>>"
LINES = [
    "tile.exp %a0 : tensor<2x3xf16>",
    "tile.relu %a0 {note} : tensor<2x3xf16>",
    "tile.gelu erf %a0 : tensor<2x3xf16>",
    "tile.add %a0, %a0 : tensor<2x3xf16>",
    "tile.max %a0, %a1 : (tensor<2x3xf16>, tensor<3xf16>) -> tensor<2x3xf16>",
    f"tile.cast %a0 : tensor<2x3xf16> to {X8}",
    "tile.reduce sum %a0 over [0, 1] : tensor<2x3xf16> -> tensor<f16>",
    "tile.reduce max %a0 over [1] keepdims : tensor<2x3xf16> -> tensor<2x1xf16>",
    "tile.transpose %a0 [1, 0] : tensor<2x3xf16> -> tensor<3x2xf16>",
    "tile.reshape %a0 : tensor<2x3xf16> -> tensor<1x6x1xf16>",
    "tile.matmul %a0, %a0 transpose_a accumulate f32 : "
    "(tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<3x3xf16>",
    "tile.matmul %a0, %a0 transpose_b : "
    "(tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<2x2xf32>",
    "tile.constant dense<[1.000000e+00, -2.500000e+00]> : tensor<2xf16>",
    "tile.constant splat 5.000000e-01 : tensor<f32>",
    "tile.constant splat 0xfc00 : tensor<1000000x1000000xf16>",
    "tile.constant splat 0x80 : tensor<4xf8E5M2FNUZ, #tile.scale<31>>",
    "tile.constant splat -7 : tensor<4xi32>",
    "tile.constant dense<> : tensor<0x3xi32>",
]


def result_type(line: str) -> str:
    """The last type of a line, which is the result's in every operation."""
    for separator in ("-> ", " to ", " : "):
        if separator in line:
            return line.rsplit(separator, 1)[1]
    raise AssertionError(line)


@pytest.mark.parametrize("line", LINES)
def test_a_line_prints_as_it_was_written(line: str) -> None:
    text = program(line, "tensor<2x3xf16>", "tensor<3xf16>", result=result_type(line))
    assert f"%r = {line}\n" in str(parse(text))


@pytest.mark.parametrize("line", LINES)
def test_the_generic_form_says_the_same(line: str) -> None:
    text = program(line, "tensor<2x3xf16>", "tensor<3xf16>", result=result_type(line))
    module, generic = parse(text), StringIO()
    Printer(generic, print_generic_format=True).print_op(module)
    assert str(parse(generic.getvalue())) == str(module)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_round_trip_and_name_a_machine(path: Path) -> None:
    module = parse(path.read_text())
    assert str(parse(str(module))) == str(module)
    assert "tile.machine" in module.attributes
    assert tile.entry_function(module).sym_name.data == path.stem.split("_f")[0]


F16, I32, F8 = "tensor<2x3xf16>", "tensor<2x3xi32>", "tensor<2x3xf8E4M3FNUZ>"


def matmul(left: str, right: str, result: str, flags: str = "") -> str:
    """A program of one matmul."""
    text = f"tile.matmul %a0, %a1 {flags}: ({left}, {right}) -> {result}"
    return program(text, left, right, result=result)


ERRORS = [
    (unary("tile.exp", I32), "has no i32 form"),
    (unary("tile.neg", F8), "computes in f32, f16 or bf16"),
    (unary("tile.exp", "tensor<2xf64>"), "this one holds f64"),
    (unary("tile.exp", "tensor<?xf16>"), "every extent is static"),
    (unary("tile.exp", "f16"), "a ranked tensor is needed, this is f16"),
    (unary("tile.exp", "tensor<2xf16, 3 : i32>"), "encoding is #tile.scale"),
    (unary("tile.exp", "tensor<2xf16, #tile.scale<1>>"), "only 8-bit formats"),
    (
        program("tile.add %a0, %a1 : (tensor<2xf16>, tensor<2xf32>) -> tensor<2xf32>",
                "tensor<2xf16>", "tensor<2xf32>", result="tensor<2xf32>"),
        "of one format, these are f16, f32 and f32",
    ),
    (
        program("tile.add %a0, %a1 : (tensor<2xf16>, tensor<3xf16>) -> tensor<3xf16>",
                "tensor<2xf16>", "tensor<3xf16>", result="tensor<3xf16>"),
        "cannot broadcast 2xf16 with 3xf16",
    ),
    (
        program("tile.add %a0, %a0 : (tensor<2xf16>, tensor<2xf16>) -> tensor<1xf16>",
                "tensor<2xf16>", result="tensor<1xf16>"),
        "gives 2xf16, its result is 1xf16",
    ),
    (
        program("tile.cast %a0 : tensor<2xf16> to tensor<3xf32>",
                "tensor<2xf16>", result="tensor<3xf32>"),
        "keeps the shape, it goes from 2xf16 to 3xf32",
    ),
    (matmul(F16, F16, "tensor<2x3xf16>"), "the left operand has 3 and the right one 2"),
    (matmul("tensor<3xf16>", "tensor<3x2xf16>", "tensor<2xf16>"), "rank 1 and 2"),
    (matmul(I32, "tensor<3x2xi32>", "tensor<2x2xi32>"), "no i32 form"),
    (matmul(F16, "tensor<3x2xf32>", "tensor<2x2xf32>"), "these are f16 and f32"),
    (matmul(F8, "tensor<3x2xf8E5M2FNUZ>", "tensor<2x2xf8E4M3FNUZ>"), "cast the result"),
    (matmul(F16, "tensor<3x2xf16>", "tensor<2x3xf16>"), "gives 2x2xf16"),
    (
        matmul("tensor<2x4x3xf16>", "tensor<5x3x4xf16>", "tensor<2x4x4xf16>"),
        "cannot broadcast batch axes [2] with [5]",
    ),
    (
        matmul("tensor<2x3xbf16>", "tensor<3x2xbf16>", "tensor<2x2xbf16>",
               "accumulate f16 "),
        "accumulates in f16 for f16 and 8-bit operands only",
    ),
    (
        matmul(F16, "tensor<3x2xf16>", "tensor<2x2xf16>", "accumulate bf16 "),
        "accumulates in f16 or f32, not bf16",
    ),
]  # fmt: skip


def refusal(text: str) -> str:
    with pytest.raises((VerifyException, ParseError)) as caught:
        parse(text)
    return str(caught.value)


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_a_verifier_says_what_is_needed(text: str, message: str) -> None:
    assert message in refusal(text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tile.reduce sum %a0 over [0] : {} -> tensor<2xf16>", "gives 3xf16"),
        ("tile.reduce sum %a0 over [1, 0] : {} -> tensor<f16>", "each once and in"),
        ("tile.reduce sum %a0 over [1, 1] : {} -> tensor<f16>", "each once and in"),
        ("tile.reduce sum %a0 over [] : {} -> tensor<2x3xf16>", "one axis or more"),
        ("tile.reduce sum %a0 over [2] : {} -> tensor<2x3xf16>", "operand of rank 2"),
        ("tile.reduce sum %a0 over [-1] : {} -> tensor<2xf16>", "operand of rank 2"),
        ("tile.transpose %a0 [0, 0] : {} -> tensor<2x2xf16>", "0..1 once"),
        ("tile.transpose %a0 [1, 0] : {} -> tensor<2x3xf16>", "gives 3x2xf16"),
        ("tile.reshape %a0 : {} -> tensor<7xf16>", "2x3xf16 has 6 and 7xf16 has 7"),
        ("tile.reshape %a0 : {} -> tensor<6xbf16>", "keeps the format"),
        ("tile.constant splat 1.5 : tensor<2xi32>", "1.5 is no element"),
        ("tile.constant splat 70000.0 : tensor<2xf16>", "70000.0 is beyond"),
        ("tile.constant splat 0x10000 : tensor<2xf16>", "more bits than f16"),
        ("tile.constant splat 4294967296 : tensor<2xi32>", "4294967296"),
        ("tile.constant 1.5 : f16", "needs `splat` or `dense"),
    ],
)
def test_reduce_view_and_constant_refuse(line: str, message: str) -> None:
    line = line.format(F16)
    assert message in refusal(program(line, F16, result=result_type(line)))


@pytest.mark.parametrize("exponent", [-32, 31])
def test_a_scale_reaches_to_its_limits(exponent: int) -> None:
    type = f"tensor<6xf8E4M3FNUZ, #tile.scale<{exponent}>>"
    line = f"tile.reshape %a0 : {type} -> {type}"
    operation = only(parse(program(line, type, result=type)), ReshapeOp)
    assert tensor_form(operation.results[0].type).scale == exponent


@pytest.mark.parametrize("exponent", [-33, 32])
def test_a_scale_is_a_signed_6_bit_field(exponent: int) -> None:
    type = f"tensor<6xf8E4M3FNUZ, #tile.scale<{exponent}>>"
    text = program(f"tile.reshape %a0 : {type} -> {type}", type, result=type)
    assert f"a scale lies in -32..31, this one is {exponent}" in refusal(text)


def structured(text: str, kind: type) -> Structured:
    operation = only(parse(text), kind)
    assert isinstance(operation, Structured)
    return operation


@pytest.mark.parametrize(
    ("left", "right", "result", "flags", "domain", "maps"),
    [
        ("5x7", "7x3", "5x3", "", "m5 n3 k7", ((0, 2), (2, 1), (0, 1))),
        ("7x5", "3x7", "5x3", "transpose_a transpose_b ", "m5 n3 k7",
         ((2, 0), (1, 2), (0, 1))),
        ("2x5x7", "7x3", "2x5x3", "", "m02 m15 n3 k7", ((0, 1, 3), (3, 2), (0, 1, 2))),
        ("5x7", "2x7x3", "2x5x3", "", "n02 m5 n13 k7", ((1, 3), (0, 3, 2), (0, 1, 2))),
        ("2x5x7", "2x7x3", "2x5x3", "", "b02 m5 n3 k7",
         ((0, 1, 3), (0, 3, 2), (0, 1, 2))),
        ("4x1x5x7", "1x6x7x3", "4x6x5x3", "", "m04 n06 m15 n13 k7",
         ((0, None, 2, 4), (None, 1, 4, 3), (0, 1, 2, 3))),
        ("1x5x7", "7x3", "1x5x3", "", "m01 m15 n3 k7", ((0, 1, 3), (3, 2), (0, 1, 2))),
    ],
)  # fmt: skip
def test_matmul_axes_are_named_by_role(
    left: str, right: str, result: str, flags: str, domain: str, maps: object
) -> None:
    types = [f"tensor<{shape}xf16>" for shape in (left, right, result)]
    operation = structured(matmul(*types, flags=flags), MatmulOp)
    dimensions = operation.iteration_domain()
    assert " ".join(f"{d.name}{d.extent}" for d in dimensions) == domain
    assert [d.name for d in dimensions if d.reduced] == ["k"]
    assert operation.indexing_maps() == maps
    assert operation.codelet_family == "matmul"
    assert operation.scalar_function == "multiply_add"


@pytest.mark.parametrize(
    ("operand", "result", "flags", "type"),
    [
        ("f16", "f16", "", f16),
        ("f16", "f32", "", f32),
        ("f16", "f16", "accumulate f32 ", f32),
        ("f8E4M3FNUZ", "f16", "", f16),
        ("f8E5M2FNUZ", "f32", "", f32),
        ("f8E5M2FNUZ", "f32", "accumulate f16 ", f16),
        ("bf16", "bf16", "", f32),
        ("f32", "f16", "", f32),
    ],
)
def test_matmul_accumulates_as_written_or_by_rule(
    operand: str, result: str, flags: str, type: object
) -> None:
    shape = f"tensor<4x4x{operand}>"
    operation = structured(
        matmul(shape, shape, f"tensor<4x4x{result}>", flags), MatmulOp
    )
    assert operation.accumulation_type() == type


def test_an_elementwise_operation_maps_its_result() -> None:
    text = (
        "tile.add %a0, %a1 : (tensor<5x1xf16>, tensor<4x1x3xf16>) -> tensor<4x5x3xf16>"
    )
    operation = structured(
        program(
            text, "tensor<5x1xf16>", "tensor<4x1x3xf16>", result="tensor<4x5x3xf16>"
        ),
        AddOp,
    )
    assert [d.extent for d in operation.iteration_domain()] == [4, 5, 3]
    assert operation.indexing_maps() == ((1, None), (0, None, 2), (0, 1, 2))
    assert (operation.codelet_family, operation.scalar_function) == ("map", "add")
    assert operation.accumulation_type() == f32


@pytest.mark.parametrize(
    ("text", "kind", "function", "type"),
    [
        (unary("tile.gelu tanh", F16), GeluOp, "gelu_tanh", f32),
        (unary("tile.gelu erf", F16), GeluOp, "gelu_erf", f32),
        (program(f"tile.cast %a0 : {F16} to {I32}", F16, result=I32),
         CastOp, "cast", i32),
    ],
)  # fmt: skip
def test_a_map_names_its_scalar_function(
    text: str, kind: type, function: str, type: object
) -> None:
    operation = structured(text, kind)
    assert operation.scalar_function == function
    assert operation.accumulation_type() == type


@pytest.mark.parametrize(
    ("kind", "format", "keep", "maps", "type"),
    [
        ("sum", "f16", False, ((0, 1, 2), (0, 2)), f32),
        ("max", "f16", True, ((0, 1, 2), (0, None, 2)), f16),
        ("sum", "i32", True, ((0, 1, 2), (0, None, 2)), i32),
    ],
)
def test_a_reduction_maps_its_operand(
    kind: str, format: str, keep: bool, maps: object, type: object
) -> None:
    operand = f"tensor<4x5x6x{format}>"
    result = f"tensor<4x1x6x{format}>" if keep else f"tensor<4x6x{format}>"
    flag = "keepdims " if keep else ""
    text = f"tile.reduce {kind} %a0 over [1] {flag}: {operand} -> {result}"
    operation = structured(program(text, operand, result=result), ReduceOp)
    assert [d.reduced for d in operation.iteration_domain()] == [False, True, False]
    assert operation.indexing_maps() == maps
    assert operation.scalar_function == kind
    assert operation.accumulation_type() == type


def test_views_give_their_permutation() -> None:
    turn = "tile.transpose %a0 [2, 0, 1] : tensor<4x5x6xi32> -> tensor<6x4x5xi32>"
    fold = "tile.reshape %a0 : tensor<4x5x6xi32> -> tensor<120xi32>"
    operand = "tensor<4x5x6xi32>"
    transpose = only(parse(program(turn, operand, result="tensor<6x4x5xi32>")), TransposeOp)  # noqa: E501  # fmt: skip
    reshape = only(parse(program(fold, operand, result="tensor<120xi32>")), ReshapeOp)
    assert isinstance(transpose, View)
    assert isinstance(reshape, View)
    assert transpose.permutation() == (2, 0, 1)
    assert reshape.permutation() is None


@pytest.mark.parametrize(
    ("literal", "splat", "data"),
    [
        ("splat 1.0 : tensor<1000x1000xf16>", True, "003c"),
        ("splat 1.25 : tensor<4xf8E4M3FNUZ, #tile.scale<-2>>", True, "42"),
        ("splat -2 : tensor<4xi32>", True, "feffffff"),
        ("dense<[1.0, 2.0]> : tensor<2xf16>", False, "003c0040"),
        ('dense<"0x803F0040"> : tensor<2xbf16>', False, "803f0040"),
    ],
)
def test_a_constant_gives_its_stored_bytes(
    literal: str, splat: bool, data: str
) -> None:
    text = program(f"tile.constant {literal}", result=literal.rsplit(" : ", 1)[1])
    constant = only(parse(text), ConstantOp)
    assert isinstance(constant, ConstantOp)
    assert constant.is_splat is splat
    assert constant.element_bytes().hex() == data


def test_a_scale_of_zero_may_be_written_out() -> None:
    forms: list[TensorForm] = []
    for type in ("tensor<2xf8E4M3FNUZ>", "tensor<2xf8E4M3FNUZ, #tile.scale<0>>"):
        line = f"tile.cast %a0 : tensor<2xf16> to {type}"
        cast = only(parse(program(line, "tensor<2xf16>", result=type)), CastOp)
        forms.append(tensor_form(cast.results[0].type))
    assert forms[0] == forms[1]


def test_broadcasting_is_that_of_numpy() -> None:
    extents = (0, 1, 2, 3)
    shapes = [(), *((a,) for a in extents), *((a, b) for a in extents for b in extents)]
    for left, right in product(shapes, shapes):
        try:
            expected = np.broadcast_shapes(left, right)
        except ValueError:
            expected = None
        assert broadcast_shape(left, right) == expected


def test_the_entry_is_the_one_public_function() -> None:
    function = "func.func @{} () {{\n func.return\n}}\n"
    one = parse(function.format("a") + "func.func private @b()")
    assert tile.entry_function(one).sym_name.data == "a"
    for text in ("module {}", function.format("a") + function.format("b")):
        with pytest.raises(VerifyException, match="one public function with a body"):
            tile.entry_function(parse(text))
    odd = parse("func.func @a(%x: tensor<2xf64>) {\n func.return\n}")
    with pytest.raises(VerifyException, match="this one holds f64"):
        tile.entry_function(odd)


def test_arguments_have_names_and_marks() -> None:
    module = Parser(
        context(),
        "func.func @a(%x: tensor<2xf32>, %1: tensor<f32> {tile.parameter}) {\n"
        " func.return\n}",
    ).parse_module()
    function = tile.entry_function(module)
    assert tile.argument_names(function) == ("x", "arg1")
    assert tile.parameter_flags(function) == (False, True)
