"""Elementwise operations of the tensor dialect: unary, GELU, binary, cast.

Arithmetic is on f32, f16 and bf16, and on i32 where a class says so. 8-bit tensors
are stored, multiplied as matrices and cast; other arithmetic casts them first.
"""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, f32, i32
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tiledialect.dialects.interfaces import Dimension, IndexingMap, Structured
from tiledialect.dialects.tile_types import TensorForm, tensor_form


def broadcast_shape(
    left: tuple[int, ...], right: tuple[int, ...]
) -> tuple[int, ...] | None:
    """The shape that two broadcast to as in numpy, or None where they do not."""
    rank = max(len(left), len(right))
    pairs = zip(
        (1,) * (rank - len(left)) + left,
        (1,) * (rank - len(right)) + right,
        strict=True,
    )
    extents: list[int] = []
    for one, other in pairs:
        if one != other and 1 not in (one, other):
            return None
        extents.append(other if one == 1 else one)
    return tuple(extents)


def broadcast_map(operand: tuple[int, ...], domain: tuple[int, ...]) -> IndexingMap:
    """Axes of an operand counted from the last; a stretched extent 1 is None."""
    first = len(domain) - len(operand)
    return tuple(
        None if extent == 1 and domain[first + axis] != 1 else first + axis
        for axis, extent in enumerate(operand)
    )


class MapOp(IRDLOperation, Structured, abc.ABC):
    """One scalar function at every element of the result."""

    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    @property
    def codelet_family(self) -> str:
        return "map"

    @property
    def scalar_function(self) -> str:
        return self.name.removeprefix("tile.")

    @property
    def accepts_integers(self) -> bool:
        return False

    def iteration_domain(self) -> tuple[Dimension, ...]:
        shape = tensor_form(self.result.type).shape
        return tuple(Dimension(f"d{i}", extent) for i, extent in enumerate(shape))

    def indexing_maps(self) -> tuple[IndexingMap, ...]:
        domain = tensor_form(self.result.type).shape
        operands = [tensor_form(operand.type).shape for operand in self.operands]
        return (
            *(broadcast_map(shape, domain) for shape in operands),
            tuple(range(len(domain))),
        )

    def accumulation_type(self) -> Attribute:
        return i32 if tensor_form(self.result.type).format.is_integer else f32

    def check_arithmetic(self, form: TensorForm) -> None:
        """Refuses a format in which this function is not computed."""
        if form.format.is_float8:
            raise VerifyException(
                f"computes in f32, f16 or bf16, its operand is {form}; cast it first"
            )
        if form.format.is_integer and not self.accepts_integers:
            raise VerifyException("has no i32 form")


class UnaryOp(MapOp, abc.ABC):
    """`tile.exp %x : tensor<…>`: operand and result have one type."""

    T: ClassVar = VarConstraint("T", AnyAttr())
    operand = operand_def(T)
    result = result_def(T)

    assembly_format = "$operand attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue):
        super().__init__(operands=[operand], result_types=[operand.type])

    def verify_(self) -> None:
        self.check_arithmetic(tensor_form(self.result.type))


@irdl_op_definition
class ExpOp(UnaryOp):
    """The exponential."""

    name = "tile.exp"


@irdl_op_definition
class LogOp(UnaryOp):
    """The natural logarithm: -inf at 0, NaN below."""

    name = "tile.log"


@irdl_op_definition
class TanhOp(UnaryOp):
    """The hyperbolic tangent."""

    name = "tile.tanh"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """The square root: NaN below 0."""

    name = "tile.sqrt"


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """One over the square root: inf at 0, NaN below."""

    name = "tile.rsqrt"


@irdl_op_definition
class ReciprocalOp(UnaryOp):
    """One over the operand."""

    name = "tile.reciprocal"


class IntegerUnaryOp(UnaryOp, abc.ABC):
    """A unary operation that i32 has too, wrapping around at 32 bits."""

    @property
    def accepts_integers(self) -> bool:
        return True


@irdl_op_definition
class NegOp(IntegerUnaryOp):
    """The negative."""

    name = "tile.neg"


@irdl_op_definition
class AbsOp(IntegerUnaryOp):
    """The absolute value."""

    name = "tile.abs"


@irdl_op_definition
class ReluOp(IntegerUnaryOp):
    """The larger of the operand and 0; NaN stays NaN."""

    name = "tile.relu"


class Approximation(StrEnum):
    """How GELU is computed."""

    TANH = "tanh"
    ERF = "erf"


@irdl_attr_definition
class ApproximationAttr(EnumAttribute[Approximation], SpacedOpaqueSyntaxAttribute):
    """The form of a GELU."""

    name = "tile.approximation"


@irdl_op_definition
class GeluOp(UnaryOp):
    """GELU.

    tanh: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); erf: x/2 (1 + erf(x/sqrt 2)).
    """

    name = "tile.gelu"
    approximation = prop_def(ApproximationAttr)

    assembly_format = "$approximation $operand attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue, approximation: Approximation):
        IRDLOperation.__init__(
            self,
            operands=[operand],
            result_types=[operand.type],
            properties={"approximation": ApproximationAttr(approximation)},
        )

    @property
    def scalar_function(self) -> str:
        return f"gelu_{self.approximation.data.value}"


class BinaryOp(MapOp, abc.ABC):
    """`tile.add %a, %b : tensor<…>`, or `: (tensor<…>, tensor<…>) -> tensor<…>`.

    Operands and result have one format; shapes broadcast as in numpy.
    """

    left = operand_def(AnyAttr())
    right = operand_def(AnyAttr())

    def __init__(self, left: SSAValue, right: SSAValue, result_type: Attribute):
        super().__init__(operands=[left, right], result_types=[result_type])

    @property
    def accepts_integers(self) -> bool:
        return True

    @classmethod
    def parse(cls, parser: Parser) -> BinaryOp:
        left = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        right = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        function = parser.parse_optional_function_type()
        if function is None:
            result = parser.parse_type()
            inputs = (result, result)
        elif len(function.inputs) == 2 and len(function.outputs) == 1:
            inputs, result = function.inputs.data, function.outputs.data[0]
        else:
            parser.raise_error(f"{cls.name} needs two operand types and one result")
        operation = cls(
            parser.resolve_operand(left, inputs[0]),
            parser.resolve_operand(right, inputs[1]),
            result,
        )
        operation.attributes.update(attributes)
        return operation

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.left.type == self.right.type == self.result.type:
            printer.print_attribute(self.result.type)
        else:
            printer.print_function_type(self.operand_types, self.result_types)

    def verify_(self) -> None:
        left, right = tensor_form(self.left.type), tensor_form(self.right.type)
        result = tensor_form(self.result.type)
        if not left.format == right.format == result.format:
            raise VerifyException(
                f"needs operands and result of one format, these are "
                f"{left.format.name}, {right.format.name} and {result.format.name}"
            )
        self.check_arithmetic(result)
        shape = broadcast_shape(left.shape, right.shape)
        if shape is None:
            raise VerifyException(
                f"cannot broadcast {left} with {right}: extents must be "
                "equal or 1, counted from the last axis"
            )
        if shape != result.shape:
            needed = TensorForm(shape, result.format)
            raise VerifyException(f"gives {needed}, its result is {result}")


@irdl_op_definition
class AddOp(BinaryOp):
    """The sum."""

    name = "tile.add"


@irdl_op_definition
class SubOp(BinaryOp):
    """The difference."""

    name = "tile.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """The product."""

    name = "tile.mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """The quotient; i32 truncates toward zero, and x / 0 is -1."""

    name = "tile.div"


@irdl_op_definition
class MaxOp(BinaryOp):
    """The larger; NaN if either is."""

    name = "tile.max"


@irdl_op_definition
class MinOp(BinaryOp):
    """The smaller; NaN if either is."""

    name = "tile.min"


@irdl_op_definition
class CastOp(MapOp):
    """The same values in another format or scale, rounded once to nearest even.

    To an 8-bit format: clips to the largest finite value, infinities too; NaN stays
    NaN, -0 becomes 0. To i32: truncates toward zero and clips, NaN becomes 0.
    """

    name = "tile.cast"
    operand = operand_def(AnyAttr())

    assembly_format = "$operand attr-dict `:` type($operand) `to` type($result)"

    def __init__(self, operand: SSAValue, result_type: TensorType[Attribute]):
        super().__init__(operands=[operand], result_types=[result_type])

    def verify_(self) -> None:
        operand, result = tensor_form(self.operand.type), tensor_form(self.result.type)
        if operand.shape != result.shape:
            raise VerifyException(
                f"keeps the shape, it goes from {operand} to {result}"
            )


ELEMENTWISE_OPS = (
    *(NegOp, AbsOp, ReluOp, ExpOp, LogOp, TanhOp, SqrtOp, RsqrtOp, ReciprocalOp),
    *(GeluOp, AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, CastOp),
)
