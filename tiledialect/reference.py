"""The reference: rung 1 interpreted in float64.

Values are kept as they are stored. An operation decodes its operands exactly,
computes in float64 (int64 for i32) and rounds its result once to the result's type;
nothing else rounds, so a difference of a compiled program from this is the price of
the machine's own arithmetic. Formulas are this file's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from tiledialect.dialects.interfaces import Constant
from tiledialect.dialects.tile import (
    argument_forms,
    argument_names,
    entry_function,
    parameter_flags,
    return_operation,
)
from tiledialect.dialects.tile_ops_contraction import MatmulOp, ReduceKind, ReduceOp
from tiledialect.dialects.tile_ops_elementwise import (
    AbsOp,
    AddOp,
    Approximation,
    CastOp,
    DivOp,
    ExpOp,
    GeluOp,
    LogOp,
    MaxOp,
    MinOp,
    MulOp,
    NegOp,
    ReciprocalOp,
    ReluOp,
    RsqrtOp,
    SqrtOp,
    SubOp,
    TanhOp,
)
from tiledialect.dialects.tile_ops_view import ReshapeOp, TransposeOp
from tiledialect.dialects.tile_types import TensorForm, tensor_form
from tiledialect.formats import decode, encode, stored_array

Stored = NDArray[Any]
Values = NDArray[np.float64] | NDArray[np.int64]
Arguments = Mapping[str, Stored] | Mapping[int, Stored] | Mapping[str | int, Stored]

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


def run_reference(module: ModuleOp, arguments: Arguments) -> list[Stored]:
    """The results of a program, as stored elements, in order.

    Arguments go by name or by position, as stored elements; ValueError says which is
    missing, superfluous, mis-shaped or mis-typed.
    """
    function = entry_function(module)
    values: dict[SSAValue, Stored] = dict(
        zip(function.args, checked_arguments(function, arguments), strict=True)
    )
    returned = return_operation(function)
    for operation in function.body.block.ops:
        if operation is not returned:
            values[operation.results[0]] = _evaluate(operation, values)
    return [np.array(values[operand]) for operand in returned.operands]


def checked_arguments(function: FuncOp, arguments: Arguments) -> list[Stored]:
    """Arguments in order, each of its type's shape and dtype."""
    given: dict[str | int, Stored] = dict(arguments.items())
    found: list[Stored] = []
    forms = argument_forms(function)
    for index, name in enumerate(argument_names(function)):
        key = name if name in given else index
        if key not in given:
            raise ValueError(f"argument {name} is missing")
        found.append(_checked(name, given.pop(key), forms[index]))
    if given:
        raise ValueError(f"there is no argument {next(iter(given))}")
    return found


def _checked(name: str, array: Stored, form: TensorForm) -> Stored:
    if array.shape != form.shape:
        raise ValueError(
            f"argument {name} needs shape {list(form.shape)}, it has "
            f"{list(array.shape)}"
        )
    try:
        return stored_array(array, form.format)
    except ValueError as error:
        raise ValueError(f"argument {name}: {error}") from None


def _evaluate(operation: Operation, values: Mapping[SSAValue, Stored]) -> Stored:
    """The stored result of one operation of the tensor dialect."""
    form = tensor_form(operation.results[0].type)
    if isinstance(operation, Constant):
        elements = np.frombuffer(operation.element_bytes(), form.format.dtype)
        if operation.is_splat:
            return np.broadcast_to(elements.reshape(()), form.shape)
        return elements.reshape(form.shape)
    operands = [values[operand] for operand in operation.operands]
    if isinstance(operation, ReshapeOp):
        return operands[0].reshape(form.shape)
    if isinstance(operation, TransposeOp):
        return np.transpose(operands[0], operation.permutation())
    decoded = [
        _decoded(operand, tensor_form(value.type))
        for operand, value in zip(operands, operation.operands, strict=True)
    ]
    with np.errstate(all="ignore"):
        result = _compute(operation, decoded, form)
    return encode(result, form.format, form.scale)


def _decoded(stored: Stored, form: TensorForm) -> Values:
    return decode(stored, form.format, form.scale)


def _compute(operation: Operation, operands: list[Values], form: TensorForm) -> Values:
    """The result before rounding."""
    formula = FORMULAS.get(type(operation))
    if formula is not None:
        return formula(*operands)
    match operation:
        case GeluOp():
            return _gelu(operation, operands[0])
        case CastOp():
            return _cast(operands[0], form)
        case ReduceOp():
            return _reduce(operation, operands[0])
        case MatmulOp():
            return _matmul(operation, *operands)
        case _:
            raise ValueError(f"{operation.name} is no operation of a tensor program")


def _quotient(x: Any, y: Any) -> Values:
    """Division; of integers toward zero, and -1 by zero."""
    if x.dtype.kind != "i":
        return x / y
    divisor = np.where(y == 0, 1, y)
    return np.where(y == 0, -1, (x - np.fmod(x, divisor)) // divisor)


def _relu(x: Any) -> Values:
    return np.maximum(x, 0)


def _rsqrt(x: Any) -> Values:
    return 1.0 / np.sqrt(x)


FORMULAS: dict[type[Operation], Callable[..., Values]] = {
    NegOp: np.negative,
    AbsOp: np.abs,
    ReluOp: _relu,
    ExpOp: np.exp,
    LogOp: np.log,
    TanhOp: np.tanh,
    SqrtOp: np.sqrt,
    RsqrtOp: _rsqrt,
    ReciprocalOp: np.reciprocal,
    AddOp: np.add,
    SubOp: np.subtract,
    MulOp: np.multiply,
    DivOp: _quotient,
    MaxOp: np.maximum,
    MinOp: np.minimum,
}
"""Formulas of the operands' values alone."""


def _gelu(operation: GeluOp, x: Any) -> Values:
    """1 + tanh(u) is 2 / (1 + e^-2u) and 1 + erf(u) is erfc(-u): nothing cancels."""
    if operation.approximation.data == Approximation.TANH:
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return x / (1.0 + np.exp(-2.0 * inner))
    return 0.5 * x * _erfc(x * -math.sqrt(0.5))


def _erfc(x: Any) -> Any:
    """The C library's erfc (within a unit or two of float64's last place)."""
    return np.vectorize(math.erfc, otypes=[np.float64])(x)


def _cast(x: Any, form: TensorForm) -> Values:
    """The same values; to i32 toward zero and clipped, NaN as 0."""
    if not form.format.is_integer or x.dtype.kind == "i":
        return x
    whole = np.trunc(np.nan_to_num(x, nan=0.0))
    return np.clip(whole, INT32_MIN, INT32_MAX).astype(np.int64)


def _reduce(operation: ReduceOp, x: Any) -> Values:
    axes, keep = operation.reduced_axes(), operation.keepdims is not None
    if operation.kind.data == ReduceKind.SUM:
        return np.sum(x, axis=axes, keepdims=keep)
    lowest = INT32_MIN if x.dtype.kind == "i" else -np.inf
    return np.max(x, axis=axes, keepdims=keep, initial=lowest)


def _matmul(operation: MatmulOp, left: Any, right: Any) -> Values:
    if operation.transpose_a is not None:
        left = np.swapaxes(left, -1, -2)
    if operation.transpose_b is not None:
        right = np.swapaxes(right, -1, -2)
    return np.matmul(left, right)


def default_arguments(module: ModuleOp, seed: int = 0) -> dict[str, Stored]:
    """Arguments by name, from numpy's PCG64 seeded with [seed, position].

    Inputs are N(0, 1). Parameters have half the Xavier deviation,
    sqrt(2 / (rows + columns)) / 2 of their last two axes, and 1/2 below rank 2. All
    are rounded to the argument's type as `encode` does; i32 lies in -8..7.
    """
    function = entry_function(module)
    flags = parameter_flags(function)
    return {
        name: _default(form, flags[index], np.random.PCG64([seed, index]))
        for index, (name, form) in enumerate(
            zip(argument_names(function), argument_forms(function), strict=True)
        )
    }


def _default(form: TensorForm, parameter: bool, source: np.random.PCG64) -> Stored:
    generator = np.random.Generator(source)
    if form.format.is_integer:
        return generator.integers(-8, 8, form.shape).astype(np.int32)
    values = np.asarray(generator.standard_normal(form.shape))
    if parameter:
        fans = sum(form.shape[-2:]) if form.rank >= 2 else 2
        values = values * (math.sqrt(2 / max(fans, 1)) / 2)
    return encode(values, form.format, form.scale)
