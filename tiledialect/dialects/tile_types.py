"""Types of the tensor dialect: a ranked tensor of one number format, with a scale.

The power-of-two scale of an 8-bit tensor is the tensor's encoding, written
`tensor<4x8xf8E4M3FNUZ, #tile.scale<-2>>`; left out it is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float16Type,
    Float32Type,
    IntAttr,
    IntegerType,
    NoneAttr,
    TensorType,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from tiledialect.formats import (
    FORMATS,
    SCALE_MAX,
    SCALE_MIN,
    NumberFormat,
    format_named,
)

ELEMENT_TYPES: dict[str, Attribute] = {
    "f32": Float32Type(),
    "f16": Float16Type(),
    "bf16": BFloat16Type(),
    "f8E4M3FNUZ": Float8E4M3FNUZType(),
    "f8E5M2FNUZ": Float8E5M2FNUZType(),
    "i32": IntegerType(32),
}
_FORMAT_OF = {element: format_named(name) for name, element in ELEMENT_TYPES.items()}


@irdl_attr_definition
class ScaleAttr(ParametrizedAttribute):
    """The scale of an 8-bit tensor: value = element * 2**exponent."""

    name = "tile.scale"
    exponent: IntAttr = param_def(converter=IntAttr.get)

    def verify(self) -> None:
        if not SCALE_MIN <= self.exponent.data <= SCALE_MAX:
            raise VerifyException(
                f"a scale lies in {SCALE_MIN}..{SCALE_MAX}, this one is "
                f"{self.exponent.data}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (IntAttr(parser.parse_integer()),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_int(self.exponent.data)


@dataclass(frozen=True)
class TensorForm:
    """A tensor type as plain data: extents, number format, scale."""

    shape: tuple[int, ...]
    format: NumberFormat
    scale: int = 0

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * self.format.bytes

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def type(self) -> TensorType[Attribute]:
        """The type in its usual spelling: no encoding for scale 0."""
        encoding = ScaleAttr(self.scale) if self.scale else NoneAttr()
        return TensorType(ELEMENT_TYPES[self.format.name], self.shape, encoding)

    def __str__(self) -> str:
        extents = "".join(f"{extent}x" for extent in self.shape)
        scale = f", scale {self.scale}" if self.scale else ""
        return f"{extents}{self.format.name}{scale}"


def format_of(element_type: Attribute) -> NumberFormat:
    """The number format of an element type; VerifyException names those there are."""
    if element_type not in _FORMAT_OF:
        known = ", ".join(FORMATS)
        raise VerifyException(
            f"a tensor holds one of {known}, this one holds {element_type}"
        )
    return _FORMAT_OF[element_type]


def tensor_form(type: Attribute) -> TensorForm:
    """The plain form of a tensor type, checked: static, known format, scale on f8."""
    if not isa(type, TensorType[Attribute]):
        raise VerifyException(f"a ranked tensor is needed, this is {type}")
    shape = type.get_shape()
    format = format_of(type.element_type)
    if DYNAMIC_INDEX in shape:
        raise VerifyException(f"every extent is static, {type} has one that is not")
    return TensorForm(shape, format, _scale_of(type.encoding, format))


def _scale_of(encoding: Attribute, format: NumberFormat) -> int:
    if isinstance(encoding, NoneAttr):
        return 0
    if not isinstance(encoding, ScaleAttr):
        raise VerifyException(
            f"a tensor's encoding is #tile.scale, this one is {encoding}"
        )
    if not format.is_float8:
        raise VerifyException(f"only 8-bit formats have a scale, this is {format.name}")
    return encoding.exponent.data
