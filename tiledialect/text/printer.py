"""From IR to text that reads back as the same IR, at the cost of its bytes.

xDSL's printer decodes every element of a constant, up to 11 µs each, and turns a NaN
into another one. Here large constants are printed from their bytes, and what is not
finite by its bits.
"""

from __future__ import annotations

import io
import math
from typing import cast

from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    ComplexType,
    DenseIntOrFPElementsAttr,
    IntegerType,
    ModuleOp,
)
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

LONGEST_LIST = 100
"""Constants with more elements are printed as one hexadecimal payload."""


class TilePrinter(Printer):
    """xDSL's printer with constants printed from their bytes."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            self._print_dense(cast(DenseIntOrFPElementsAttr, attribute))
        else:
            super().print_attribute(attribute)

    def _print_dense(self, attribute: DenseIntOrFPElementsAttr) -> None:
        data = attribute.data.data
        size = attribute.get_element_type().compile_time_size
        shape = list(attribute.get_shape())
        count = math.prod(shape)
        self.print_string("dense<")
        if count and data == data[:size] * count:
            self.print_string(_texts(attribute, data[:size])[0])
        elif count > LONGEST_LIST:
            self.print_string(f'"0x{data.hex().upper()}"')
        elif count:
            self.print_string(_nested(_texts(attribute, data), shape))
        self.print_string("> : ")
        self.print_attribute(attribute.type)


def _texts(attribute: DenseIntOrFPElementsAttr, data: bytes) -> list[str]:
    """The elements in `data` as text."""
    type = attribute.get_element_type()
    size = type.compile_time_size
    texts: list[str] = []
    for index, value in enumerate(type.iter_unpack(data)):
        if isinstance(value, float) and not math.isfinite(value):
            bits = data[index * size : (index + 1) * size]
            texts.append(f"0x{bits[::-1].hex().upper()}")
        else:
            texts.append(_text(value, type))
    return texts


def _text(value: float | tuple[float, float], type: AnyDenseElement) -> str:
    output = io.StringIO()
    printer = Printer(output)
    if isinstance(value, tuple):
        printer.print_complex(value, cast(ComplexType, type))
    elif isinstance(type, AnyFloat):
        printer.print_float(value, type)
    else:
        printer.print_int(int(value), cast(IntegerType, type))
    return output.getvalue()


def _nested(texts: list[str], shape: list[int]) -> str:
    """Elements in brackets, one level for each dimension."""
    for extent in reversed(shape):
        rows = range(0, len(texts), extent)
        texts = ["[" + ", ".join(texts[i : i + extent]) + "]" for i in rows]
    return texts[0]


def print_module(
    module: ModuleOp,
    *,
    generic: bool = False,
    locations: bool = False,
    properties_as_attributes: bool = False,
) -> str:
    """The text of a module, ending with one newline."""
    output = io.StringIO()
    printer = TilePrinter(
        output,
        print_generic_format=generic,
        print_debuginfo=locations,
        print_properties_as_attributes=properties_as_attributes,
    )
    printer.print_op(module)
    output.write("\n")
    return output.getvalue()


def print_operation(op: Operation) -> str:
    """The text of one operation, ending with one newline."""
    output = io.StringIO()
    TilePrinter(output).print_op(op)
    return output.getvalue() + "\n"
