"""Whole programs in the reference: their arguments, their defaults, the examples."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tile_programs import parse
from xdsl.utils.exceptions import VerifyException

from tiledialect.dialects.tile import entry_function
from tiledialect.reference import default_arguments, run_reference

EXAMPLES = Path(__file__).parents[2] / "examples"

TWO = "func.func @main(%x: tensor<2x3xf16>, %w: tensor<3xf8E4M3FNUZ>) { return }"


@pytest.mark.parametrize(
    ("names", "shape", "dtype", "message"),
    [
        (("x",), (2, 3), np.float16, "argument w is missing"),
        (("x", "w", "v"), (2, 3), np.float16, "there is no argument v"),
        (("x", "w"), (3, 2), np.float16,
         r"argument x needs shape \[2, 3\], it has \[3, 2\]"),
        (("x", "w"), (2, 3), np.float32,
         "argument x: f16 is stored as float16, this is float32"),
        (("x", 1), (2, 3), np.float16, None),
        ((0, 1), (2, 3), np.float16, None),
    ],
)  # fmt: skip
def test_arguments_are_checked(
    names: tuple[str | int, ...],
    shape: tuple[int, ...],
    dtype: Any,
    message: str | None,
) -> None:
    w = np.zeros(3, np.uint8)
    given = {
        name: w if name not in ("x", 0) else np.zeros(shape, dtype) for name in names
    }
    if message is None:
        assert run_reference(parse(TWO), given) == []
        return
    with pytest.raises(ValueError, match=message):
        run_reference(parse(TWO), given)


def test_what_is_no_tensor_program_is_refused() -> None:
    call = """
    func.func private @f(tensor<f32>) -> tensor<f32>
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %y = func.call @f(%x) : (tensor<f32>) -> tensor<f32>
      return %y : tensor<f32>
    }"""
    with pytest.raises(ValueError, match=r"func\.call is no operation of a tensor"):
        run_reference(parse(call), {"x": np.zeros((), np.float32)})
    module = parse("func.func @main() { return }")
    entry_function(module).body.block.erase_op(
        entry_function(module).get_return_op() or pytest.fail("no return")
    )
    with pytest.raises(VerifyException, match=r"ends with func\.return"):
        run_reference(module, {})


def test_default_arguments_are_stable_and_of_their_kind() -> None:
    text = """
    func.func @main(%x: tensor<64x64xf32>, %w: tensor<3x200x56xf32> {tile.parameter},
        %b: tensor<4096xbf16> {tile.parameter}, %i: tensor<999xi32>) { return }"""
    first, again = default_arguments(parse(text)), default_arguments(parse(text))
    assert list(first) == ["x", "w", "b", "i"]
    for name, array in first.items():
        np.testing.assert_array_equal(array, again[name])
    assert not np.array_equal(first["x"], default_arguments(parse(text), seed=1)["x"])
    deviations = {name: float(np.std(array.astype(np.float64)))
                  for name, array in first.items()}  # fmt: skip
    assert deviations["x"] == pytest.approx(1, abs=0.05)
    assert deviations["w"] == pytest.approx(math.sqrt(2 / 256) / 2, rel=0.02)
    assert deviations["b"] == pytest.approx(0.5, abs=0.02)
    assert sorted(set(first["i"].tolist())) == list(range(-8, 8))


def test_default_arguments_clip_like_a_cast() -> None:
    text = "func.func @main(%x: tensor<4096xf8E4M3FNUZ, #tile.scale<-8>>) { return }"
    (stored,) = default_arguments(parse(text)).values()
    assert float(np.max(stored)) == 240.0
    assert not np.isnan(stored.astype(np.float64)).any()


def test_empty_arguments_have_defaults() -> None:
    text = "func.func @main(%x: tensor<0x0xf16> {tile.parameter}) { return }"
    assert default_arguments(parse(text))["x"].shape == (0, 0)


@pytest.mark.parametrize(
    "name",
    ["tiny_mlp", "matmul_ragged", "residual_mlp", "softmax_like", "elementwise_chain"],
)
def test_small_examples_run(name: str) -> None:
    module = parse((EXAMPLES / f"{name}.mlir").read_text())
    (result,) = run_reference(module, default_arguments(module))
    assert np.isfinite(result.astype(np.float64)).all()
    if name == "softmax_like":
        np.testing.assert_allclose(result.astype(np.float64).sum(-1), 1, atol=0.005)


def test_tiny_mlp_is_the_composition_of_its_roundings() -> None:
    """The tutorial's program written out in numpy."""
    module = parse((EXAMPLES / "tiny_mlp.mlir").read_text())
    arguments = default_arguments(module)
    x, w1, w2 = (array.astype(np.float64) / 4 for array in arguments.values())
    hidden = (x @ w1).astype(np.float16).astype(np.float64)
    inner = math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)
    gelu = (hidden / 2 * (1 + np.tanh(inner))).astype(np.float16)
    clipped = np.clip(gelu.astype(np.float32) * 4, -240, 240)
    small = clipped.astype(ml_dtypes.float8_e4m3fnuz).astype(np.float64) / 4
    (result,) = run_reference(module, arguments)
    np.testing.assert_array_equal(result, (small @ w2).astype(np.float16))
