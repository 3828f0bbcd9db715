"""Operations of the tensor dialect that compute nothing: views and constants."""

from __future__ import annotations

from math import isfinite

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from tiledialect.dialects.interfaces import Constant, View
from tiledialect.dialects.tile_types import TensorForm, tensor_form

DenseElements = DenseIntOrFPElementsAttr[AnyFloat | IntegerType]
ConstantValue = DenseElements | FloatAttr | IntegerAttr


@irdl_op_definition
class TransposeOp(IRDLOperation, View):
    """`tile.transpose %x [1, 0] : tensor<2x3xf16> -> tensor<3x2xf16>`.

    Result axis i is operand axis order[i], as in numpy.
    """

    name = "tile.transpose"
    operand = operand_def(AnyAttr())
    order = prop_def(DenseArrayBase.constr(i64))
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    assembly_format = "$operand $order attr-dict `:` type($operand) `->` type($result)"

    def __init__(
        self, operand: SSAValue, order: tuple[int, ...], result_type: Attribute
    ):
        super().__init__(
            operands=[operand],
            result_types=[result_type],
            properties={"order": DenseArrayBase.from_list(i64, order)},
        )

    def permutation(self) -> tuple[int, ...]:
        return self.order.get_values()

    def verify_(self) -> None:
        operand, result = tensor_form(self.operand.type), tensor_form(self.result.type)
        order = self.permutation()
        if sorted(order) != list(range(operand.rank)):
            raise VerifyException(
                f"needs each axis of 0..{operand.rank - 1} once, its "
                f"order is {list(order)}"
            )
        shape = tuple(operand.shape[axis] for axis in order)
        needed = TensorForm(shape, operand.format, operand.scale)
        if needed != result:
            raise VerifyException(f"gives {needed}, its result is {result}")


@irdl_op_definition
class ReshapeOp(IRDLOperation, View):
    """`tile.reshape %x : tensor<2x6xf16> -> tensor<3x4xf16>`: row-major order kept."""

    name = "tile.reshape"
    operand = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: SSAValue, result_type: Attribute):
        super().__init__(operands=[operand], result_types=[result_type])

    def permutation(self) -> None:
        return None

    def verify_(self) -> None:
        operand, result = tensor_form(self.operand.type), tensor_form(self.result.type)
        if (operand.format, operand.scale) != (result.format, result.scale):
            raise VerifyException(
                f"keeps the format and the scale, it goes from {operand} to {result}"
            )
        if operand.elements != result.elements:
            raise VerifyException(
                f"keeps the elements, {operand} has {operand.elements} "
                f"and {result} has {result.elements}"
            )


@irdl_op_definition
class ConstantOp(IRDLOperation, Constant):
    """`tile.constant dense<[1.0, 2.0]> : tensor<2xf16>`, or `splat 1.0 : tensor<…>`.

    The literal gives stored elements: with a scale, value = element * 2**scale. A
    splat is kept as one element.
    """

    name = "tile.constant"
    value = prop_def(
        BaseAttr(DenseIntOrFPElementsAttr) | BaseAttr(FloatAttr) | BaseAttr(IntegerAttr)
    )
    result = result_def(AnyAttr())
    traits = traits_def(Pure(), ConstantLike())

    def __init__(self, value: ConstantValue, result_type: Attribute):
        super().__init__(result_types=[result_type], properties={"value": value})

    @property
    def is_splat(self) -> bool:
        return not isinstance(self.value, DenseIntOrFPElementsAttr)

    def element_bytes(self) -> bytes:
        if isinstance(self.value, DenseIntOrFPElementsAttr):
            return self.value.data.data
        if isinstance(self.value, FloatAttr):
            return self.value.type.pack((self.value.value.data,))
        return i32.pack((self.value.value.data,))

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        if parser.parse_optional_keyword("splat"):
            value, result = _parse_splat(parser)
        else:
            value = parser.parse_attribute()
            if not isa(value, DenseElements):
                parser.raise_error("tile.constant needs `splat` or `dense<…>`")
            result = value.get_type()
        operation = cls(value, result)
        operation.attributes.update(attributes)
        return operation

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        if isinstance(self.value, DenseIntOrFPElementsAttr):
            printer.print_attribute(self.value)
            return
        printer.print_string("splat ")
        self.value.print_without_type(printer)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        form = tensor_form(self.result.type)
        if isinstance(self.value, DenseIntOrFPElementsAttr):
            if self.value.type != self.result.type:
                raise VerifyException(f"holds {self.value.type}, its result is {form}")
            if len(self.value) != form.elements:
                raise VerifyException(
                    f"needs {form.elements} elements and holds {len(self.value)}"
                )
        elif self.value.type != form.type.element_type:
            raise VerifyException(f"holds {self.value.type}, its result is {form}")


def _parse_splat(
    parser: Parser,
) -> tuple[FloatAttr | IntegerAttr, TensorType[Attribute]]:
    """One literal and the type; 0x… gives the bits of a float, as in MLIR."""
    start = parser.pos
    number = parser.parse_number()
    text = parser.lexer.input.slice(start, parser.pos) or ""
    parser.parse_punctuation(":")
    type = parser.parse_type()
    if not isa(type, TensorType[Attribute]):
        parser.raise_error("tile.constant needs a tensor type")
    element = type.element_type
    if not isinstance(element, AnyFloat):
        if element != i32 or isinstance(number, float):
            parser.raise_error(f"{text.strip()} is no element of {type}")
        return IntegerAttr(number, i32), type
    return FloatAttr(_float_element(parser, number, text, element), element), type


def _float_element(
    parser: Parser, number: float, text: str, element: AnyFloat
) -> float:
    if "0x" in text.lower() and isinstance(number, int):
        if number < 0 or number.bit_length() > 8 * element.size:
            parser.raise_error(f"{text.strip()} has more bits than {element}")
        return element.unpack(number.to_bytes(element.size, "little"), 1)[0]
    if not isfinite(element.round(float(number))):
        parser.raise_error(f"{text.strip()} is beyond the largest {element}")
    return float(number)


VIEW_OPS = (TransposeOp, ReshapeOp, ConstantOp)
