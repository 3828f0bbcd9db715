"""Dense constants, read exactly.

xDSL 0.75.0 reads `0xFF800000` in a dense float as the integer 4286578688 where it is
the bits of -inf, and spreads a splat over a Python list. Here a hexadecimal element is
its bits, a splat is packed once, and every fault is an error at its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    RankedStructure,
    Signedness,
)
from xdsl.parser import AttrParser, Parser
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

_COLON = MLIRTokenKind.COLON

LARGEST_CONSTANT_BYTES = 1 << 30
"""A constant larger than any machine's memory is refused before it is allocated."""

Element = AttrParser._TensorLiteralElement  # pyright: ignore[reportPrivateUsage]


class DenseParser(Parser):
    """The part of the parser that reads `dense<…>`."""

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        self.parse_punctuation("<", " in dense attribute")
        start = self._current_token.span
        payload = self.parse_optional_str_literal()
        literal: tuple[list[Element], list[int]] = ([], [0])
        if payload is None and self.parse_optional_punctuation(">") is None:
            literal = self._parse_tensor_literal()
            self.parse_punctuation(">", " in dense attribute")
        elif payload is not None:
            self.parse_punctuation(">", " in dense attribute")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        self.refuse_huge(type, start)
        if payload is None:
            data = self._literal_bytes(*literal, type, start)
        else:
            data = self.payload_bytes(payload, type, start)
        return DenseIntOrFPElementsAttr(type, BytesAttr(data))

    def refuse_huge(self, type: RankedStructure[Any], at: Span) -> None:
        """Stop before allocating a constant that no machine can hold."""
        size = math.prod(type.get_shape()) * type.element_type.compile_time_size
        if size > LARGEST_CONSTANT_BYTES:
            self.raise_error(
                f"constant of {size} bytes is too large"
                f" (at most {LARGEST_CONSTANT_BYTES})",
                at,
            )

    def payload_bytes(
        self, payload: str, type: RankedStructure[Any], at: Span
    ) -> bytes:
        """The bytes of a hexadecimal payload: all elements, or one for a splat."""
        if not payload.startswith("0x"):
            self.raise_error('hexadecimal payload must start with "0x"', at)
        try:
            data = bytes.fromhex(payload[2:])
        except ValueError:
            self.raise_error("hexadecimal payload has a character that is none", at)
        count = math.prod(type.get_shape())
        element_bytes: int = type.element_type.compile_time_size
        if len(data) == element_bytes:
            return data * count
        if len(data) != count * element_bytes:
            self.raise_error(
                f"payload of {len(data)} bytes: {type} needs {count * element_bytes}"
                f" (or {element_bytes}, for a splat)",
                at,
            )
        return data

    def _literal_bytes(
        self,
        elements: list[Element],
        shape: list[int],
        type: RankedStructure[Any],
        at: Span,
    ) -> bytes:
        count = math.prod(type.get_shape())
        if shape and shape != list(type.get_shape()) and (elements or count):
            self.raise_error(f"dense literal has shape {shape}, its type is {type}", at)
        data = self._element_bytes(elements, type.element_type)
        return data if shape else data * count

    def _element_bytes(self, elements: list[Element], type: object) -> bytes:
        if isinstance(type, AnyFloat):
            return self._float_bytes(elements, type)
        if isinstance(type, IntegerType):
            return self._integer_bytes(elements, cast(IntegerType, type))
        if isinstance(type, ComplexType):
            return self._complex_bytes(elements, cast(Any, type))
        assert isinstance(type, IndexType), "the element types of a dense constant"
        return type.pack([element.to_int(self) for element in elements])

    def _integer_bytes(self, elements: list[Element], type: IntegerType) -> bytes:
        is_signed = type.signedness.data != Signedness.UNSIGNED
        values: list[int] = []
        for element in elements:
            value = element.to_int(self, is_signed, type.width.data == 1)
            normal = type.normalized_value(value)
            if normal is None:
                self.raise_error(f"{value} does not fit {type}", element.span)
            values.append(normal)
        return type.pack(values)

    def _complex_bytes(self, elements: list[Element], type: Any) -> bytes:
        for element in elements:
            if not isinstance(element.value, tuple):
                self.raise_error("Expected a complex literal", element.span)
            if "0x" in element.span.text and isinstance(type.element_type, AnyFloat):
                self.raise_error("no bit patterns in complex numbers", element.span)
        return type.pack([element.to_complex(self, type) for element in elements])

    def _float_bytes(self, elements: Sequence[Element], type: AnyFloat) -> bytes:
        return b"".join(
            self._float_from_bits(element, type)
            if _is_hexadecimal(element)
            else self._float(element, type)
            for element in elements
        )

    def _float(self, element: Element, type: AnyFloat) -> bytes:
        value = element.to_float(self)
        try:
            data = type.pack([value])
        except OverflowError:
            data = b""
        if not data or not math.isfinite(next(type.iter_unpack(data))):
            self.raise_error(f"{element.span.text} does not fit {type}", element.span)
        return data

    def _float_from_bits(self, element: Element, type: AnyFloat) -> bytes:
        text = element.span.text
        bits = int(text.removeprefix("-"), 16)
        if text.startswith("-") or bits.bit_length() > type.bitwidth:
            self.raise_error(f"{text} is not the bits of an {type}", element.span)
        return bits.to_bytes(type.compile_time_size, "little")

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase | None:
        here = self.pos
        self.parse_punctuation("<", " in dense array")
        type = self.parse_optional_type()
        if not isinstance(type, AnyFloat) or self._current_token.kind != _COLON:
            self._resume_from(here)
            return super()._parse_builtin_densearray_attr()
        self.parse_punctuation(":", " in dense array")
        elements = self.parse_comma_separated_list(
            self.Delimiter.NONE, self._parse_tensor_literal_element
        )
        self.parse_punctuation(">", " in dense array")
        data = self._float_bytes(elements, type)
        return DenseArrayBase(type, BytesAttr(data))


def _is_hexadecimal(element: Element) -> bool:
    return element.span.text.removeprefix("-")[:2] in ("0x", "0X")
