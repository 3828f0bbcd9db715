"""Scalar functions: the kernels' float32 and the reference's float64, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tile_programs import parse, unary
from xdsl.irdl import IRDLOperation

from tiledialect import scalar_functions
from tiledialect.dialects.interfaces import Structured
from tiledialect.dialects.tile import Tile
from tiledialect.reference import run_reference
from tiledialect.scalar_functions import SCALAR_FUNCTIONS, apply, identity

Floats = NDArray[np.float32]


def f32(values: object) -> Floats:
    return np.asarray(values, np.float32)


def reference(name: str, values: Floats) -> Floats:
    """The reference's result of a unary operation, such as `gelu tanh`."""
    module = parse(unary(f"tile.{name}", f"tensor<{values.size}xf32>"))
    return run_reference(module, {0: values})[0]


CURVES: list[tuple[str, Callable[[float], float]]] = [
    ("exp", math.exp),
    ("tanh", math.tanh),
    ("sqrt", math.sqrt),
    ("log", math.log),
    ("rsqrt", lambda x: 1 / math.sqrt(x)),
    ("reciprocal", lambda x: 1 / x),
    ("neg", lambda x: -x),
    ("abs", abs),
    ("relu", lambda x: max(x, 0.0)),
    ("gelu tanh", lambda x: x / 2 * (
        1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    ("gelu erf", lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2)))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "curve"), CURVES, ids=[name for name, _ in CURVES])
def test_unary_functions_are_right_and_those_of_kernels_close(
    name: str, curve: Callable[[float], float]
) -> None:
    """The reference to one f32 rounding; float32 kernels to 4 steps of max(|y|, 1)."""
    positive = name in ("sqrt", "log", "rsqrt")
    xs = f32(np.linspace(0.01 if positive else -6.3, 8, 997))
    expected = f32([curve(x) for x in xs.tolist()])
    found = reference(name, xs)
    np.testing.assert_allclose(found, expected, rtol=1.2e-7, atol=1e-9)
    kernel = scalar_functions.apply(name.replace(" ", "_"), np.float32, xs)
    assert kernel.dtype == np.float32
    size = np.maximum(np.abs(expected.astype(np.float64)), 1)
    assert np.max(np.abs(kernel.astype(np.float64) - expected) / size) < 4 * 2**-23


@pytest.mark.parametrize("name", ["gelu tanh", "gelu erf"])
def test_gelu_is_accurate_far_out(name: str) -> None:
    """Where 1 + tanh or 1 + erf cancels, the result keeps its digits."""
    found = reference(name, f32([-6, 300, -300])).tolist()
    by_hand = {
        "gelu tanh": -6 / (1 + math.exp(2 * math.sqrt(2 / math.pi)
                                        * (6 + 0.044715 * 216))),
        "gelu erf": -3 * math.erfc(6 / math.sqrt(2)),
    }[name]  # fmt: skip
    assert found[0] == float(np.float32(by_hand))
    assert found[1:] == [300.0, 0.0]


def test_special_values_do_what_ieee_says() -> None:
    values = f32([0.0, -1.0, np.inf, np.nan])
    outcomes = {
        "rsqrt": [math.inf, math.nan, 0.0, math.nan],
        "log": [-math.inf, math.nan, math.inf, math.nan],
        "reciprocal": [math.inf, -1.0, 0.0, math.nan],
        "relu": [0.0, 0.0, math.inf, math.nan],
    }
    for name, expected in outcomes.items():
        found = reference(name, values)
        np.testing.assert_array_equal(found, f32(expected))
        kernel = scalar_functions.apply(name, np.float32, values)
        np.testing.assert_array_equal(kernel, f32(expected))


def test_the_fit_of_erfc_is_no_source_of_error() -> None:
    """In float64 it is good to 1e-13, so in float32 only float32 counts."""
    xs = np.linspace(-12, 12, 4001)
    exact = np.array([math.erfc(x) for x in xs.tolist()])
    gelu = apply("gelu_erf", np.float64, -xs * math.sqrt(2))
    np.testing.assert_allclose(gelu, -xs / math.sqrt(2) * exact, rtol=1e-13, atol=1e-43)


def test_every_operation_names_a_known_function() -> None:
    """Structured operations and the table agree in names, families and arity."""
    named = {
        "tile.matmul": "multiply_add",
        "tile.gelu": "gelu_tanh",
        "tile.reduce": "sum",
    }
    maps = 0
    for operation in Tile.operations:
        if not issubclass(operation, Structured):
            continue
        assert issubclass(operation, IRDLOperation)
        function = SCALAR_FUNCTIONS[named.get(operation.name, operation.name[5:])]
        family = {"tile.matmul": "matmul", "tile.reduce": "reduce"}
        assert family.get(operation.name, "map") in function.families
        if operation.name not in family:
            operands = operation.get_irdl_definition().operands
            assert function.arity == len(operands), operation.name
            maps += 1
    assert maps > 15


@pytest.mark.parametrize("name", SCALAR_FUNCTIONS)
def test_a_function_keeps_the_dtype_and_shape(name: str) -> None:
    arity = SCALAR_FUNCTIONS[name].arity
    for shape in ((), (0,), (2, 3)):
        operands = [np.ones(shape, np.float32)] * arity
        result = apply(name, np.float32, *operands)
        assert (result.dtype, result.shape) == (np.float32, shape)
    with pytest.raises(ValueError, match=f"{name} takes {arity} arrays, there are 0"):
        apply(name, np.float32)


def test_reductions_have_an_identity() -> None:
    assert identity("sum", np.float32) == identity("sum", np.int32) == 0
    assert identity("max", np.float32) == -math.inf
    assert identity("max", np.int32) == -(2**31)
    with pytest.raises(ValueError, match="add is not a reduction"):
        identity("add", np.float32)
