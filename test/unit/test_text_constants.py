"""Constants keep their exact bits from text to IR and back."""

from __future__ import annotations

import struct
import time
from random import Random
from typing import cast

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
    bf16,
    f8E4M3FNUZ,
    f8E5M2FNUZ,
    f16,
    f32,
    f64,
    i8,
)

from tiledialect.diagnostics import ParseFailed
from tiledialect.pipeline import make_context
from tiledialect.text.parser import parse_module
from tiledialect.text.printer import print_module

FLOATS = {
    "f64": (f64, np.dtype(np.float64)),
    "f32": (f32, np.dtype(np.float32)),
    "f16": (f16, np.dtype(np.float16)),
    "bf16": (bf16, np.dtype(ml_dtypes.bfloat16)),
    "f8E4M3FNUZ": (f8E4M3FNUZ, np.dtype(ml_dtypes.float8_e4m3fnuz)),
    "f8E5M2FNUZ": (f8E5M2FNUZ, np.dtype(ml_dtypes.float8_e5m2fnuz)),
}


def constant(text: str) -> DenseIntOrFPElementsAttr:
    """The constant of a module that holds nothing else."""
    module = parse_module(make_context(), f"module attributes {{a = {text}}} {{}}", "t")
    attribute = module.attributes["a"]
    assert isinstance(attribute, DenseIntOrFPElementsAttr)
    return cast(DenseIntOrFPElementsAttr, attribute)


def data_of(text: str) -> bytes:
    return constant(text).data.data


def printed(attribute: DenseIntOrFPElementsAttr) -> str:
    text = print_module(ModuleOp([], {"a": attribute}))
    return text.removeprefix("builtin.module attributes {a = ").split("} {")[0]


def error_of(text: str) -> str:
    with pytest.raises(ParseFailed) as error:
        constant(text)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("dense<0xFF800000> : tensor<f32>", "000080ff"),
        (
            "dense<[0x7FC00000, 0xFF800000, 1.0]> : tensor<3xf32>",
            "0000c07f000080ff0000803f",
        ),
        ("dense<[0x7C00, 1.0]> : tensor<2xf16>", "007c003c"),
        ("dense<0x80> : tensor<2xf8E4M3FNUZ>", "8080"),
        ("dense<-0.0> : tensor<f32>", "00000080"),
        ('dense<"0x01000000FEFFFFFF"> : tensor<2xi32>', "01000000feffffff"),
        ('dense<"0x0040"> : tensor<3xf16>', "004000400040"),
        ("dense<[1, -2]> : tensor<2xi8>", "01fe"),
        ("dense<255> : tensor<2xi8>", "ffff"),
        ("dense<0x10> : tensor<1xi32>", "10000000"),
        ("dense<7> : tensor<1xindex>", "0700000000000000"),
        ("dense<(1, -2)> : tensor<2xcomplex<i8>>", "01fe01fe"),
        ("dense<> : tensor<0xf32>", ""),
        ("dense<[[], []]> : tensor<2x0xf32>", ""),
        ("dense<1.0> : tensor<0x4xf32>", ""),
    ],
)
def test_elements_are_read_exactly(text: str, bits: str) -> None:
    assert data_of(text).hex() == bits


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            'dense<"0x003C00C0"> : tensor<3xf16>',
            "payload of 4 bytes: tensor<3xf16> needs 6 (or 2, for a splat)",
        ),
        ('dense<"003C"> : tensor<1xf16>', 'hexadecimal payload must start with "0x"'),
        ('dense<"0x003G"> : tensor<1xf16>', "a character that is none"),
        ("dense<[300, 1]> : tensor<2xi8>", "300 does not fit i8"),
        ("dense<-129> : tensor<2xi8>", "-129 does not fit i8"),
        ("dense<-1> : tensor<2xui8>", "Expected non-negative integer values"),
        ("dense<1.5> : tensor<2xi8>", "Expected integer value"),
        ("dense<1.0e40> : tensor<f32>", "1.0e40 does not fit f32"),
        ("dense<1.0e9> : tensor<f8E4M3FNUZ>", "1.0e9 does not fit f8E4M3FNUZ"),
        ("dense<0x1FF> : tensor<f8E4M3FNUZ>", "0x1FF is not the bits of an f8E4M3FNUZ"),
        ("dense<-0x1F> : tensor<f8E4M3FNUZ>", "-0x1F is not the bits of an f8E4M3FNUZ"),
        (
            "dense<[1, 2]> : tensor<3xi32>",
            "dense literal has shape [2], its type is tensor<3xi32>",
        ),
        (
            "dense<[1, 2]> : tensor<i32>",
            "dense literal has shape [2], its type is tensor<i32>",
        ),
        ("dense<> : tensor<1xi32>", "dense literal has shape [0]"),
        ("dense<(1.0, 2.0, 3.0)> : tensor<2xcomplex<f32>>", "Expected ')'"),
        ("dense<1.0> : tensor<2xcomplex<f32>>", "Expected a complex literal"),
        ("dense<(0x1, 0x2)> : tensor<2xcomplex<f32>>", "no bit patterns in complex"),
        ("dense<1.0> : tensor<?xf32>", "should have a static shape"),
        (
            "dense<0> : tensor<1000000x1000000xi32>",
            "constant of 4000000000000 bytes is too large",
        ),
    ],
)
def test_what_is_no_constant_is_an_error_in_its_place(text: str, error: str) -> None:
    message = error_of(text)
    assert message.startswith("t:1:")
    assert error in message


def test_arrays_of_floats_read_back() -> None:
    text = "array<f32: 1.000000e+00, 0x7f800000, -2.500000e+00>"
    module = parse_module(make_context(), f"module attributes {{a = {text}}} {{}}", "t")
    assert text in print_module(module)
    again = parse_module(make_context(), print_module(module), "t")
    assert again.attributes == module.attributes
    assert "array<i8: 1, -2>" in print_module(
        parse_module(make_context(), "module attributes {a = array<i8: 1, -2>} {}", "t")
    )


@pytest.mark.parametrize("name", FLOATS)
def test_every_float_is_printed_as_it_reads(name: str) -> None:
    """All bit patterns of 8-bit types, and a sample of the others."""
    type, dtype = FLOATS[name]
    size = dtype.itemsize
    generator = Random(7)
    sample = [generator.getrandbits(8 * size) for _ in range(400)]
    bits = range(256) if size == 1 else sample
    data = b"".join(value.to_bytes(size, "little") for value in bits)
    for start in range(0, len(data), 80 * size):
        part = data[start : start + 80 * size]
        shape = [len(part) // size]
        attribute = DenseIntOrFPElementsAttr(TensorType(type, shape), BytesAttr(part))
        assert data_of(printed(attribute)) == part


@pytest.mark.parametrize("name", ["f32", "f16", "bf16", "f8E4M3FNUZ"])
def test_decimal_elements_round_as_the_type_does(name: str) -> None:
    values = ["33.3333359", "0.1", "1.0E-45", "3.14159274", "-17.0", "1.0e-3"]
    text = f"dense<[{', '.join(values)}]> : tensor<6x{name}>"
    want = np.array([float(v) for v in values]).astype(FLOATS[name][1])
    assert data_of(text) == want.tobytes()


@given(st.lists(st.integers(-128, 127), min_size=1, max_size=240), st.data())
@settings(max_examples=60, derandomize=True, database=None, deadline=None)
def test_integers_of_any_shape_round_trip(
    values: list[int], data: st.DataObject
) -> None:
    rows = data.draw(st.sampled_from([n for n in range(1, 8) if len(values) % n == 0]))
    type = TensorType(i8, [rows, len(values) // rows])
    attribute = DenseIntOrFPElementsAttr.from_list(type, values)
    text = printed(attribute)
    assert constant(text) == attribute
    assert ('"0x' in text) == (len(values) > 100 and len(set(values)) > 1)


def test_large_constants_cost_what_their_bytes_cost() -> None:
    """16 MiB of f8, and a splat of 64 MiB: element by element these take minutes."""
    data = np.arange(1 << 24, dtype=np.uint32).astype(np.uint8).tobytes()
    weights = DenseIntOrFPElementsAttr(
        TensorType(f8E4M3FNUZ, [1 << 12, 1 << 12]), BytesAttr(data)
    )
    begin = time.process_time()
    assert data_of(printed(weights)) == data
    splat = constant("dense<1.5> : tensor<4096x4096xf32>")
    assert printed(splat) == "dense<1.500000e+00> : tensor<4096x4096xf32>"
    assert splat.data.data == struct.pack("<f", 1.5) * (1 << 24)
    assert time.process_time() - begin < 5
