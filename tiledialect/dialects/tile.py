"""The tensor dialect `tile`: rung 1, a program on whole tensors with value semantics.

A program is one public `func.func` whose body holds tile operations. An argument
marked `{tile.parameter}` is a parameter, resident on the machine for good; one marked
`{tile.packed}` is an input that the host lays out for the operations that read it, and
a result with that mark lies for the host as the last operation left it. The
operations are of three kinds (`interfaces.py`) and stand by kind in `tile_ops_*.py`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Dialect
from xdsl.utils.exceptions import VerifyException

from tiledialect.dialects.tile_ops_contraction import CONTRACTION_OPS, ReduceKindAttr
from tiledialect.dialects.tile_ops_elementwise import (
    ELEMENTWISE_OPS,
    ApproximationAttr,
)
from tiledialect.dialects.tile_ops_view import VIEW_OPS
from tiledialect.dialects.tile_types import ScaleAttr, TensorForm, tensor_form

PARAMETER = "tile.parameter"
PACKED = "tile.packed"

Tile = Dialect(
    "tile",
    [*CONTRACTION_OPS, *ELEMENTWISE_OPS, *VIEW_OPS],
    [ScaleAttr, ApproximationAttr, ReduceKindAttr],
)


def entry_function(module: ModuleOp) -> FuncOp:
    """The one public function of a rung-1 program, its interface checked."""
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    public = [f for f in functions if _is_public(f) and not f.is_declaration]
    if len(public) != 1:
        raise VerifyException(
            f"a program needs one public function with a body, this has {len(public)}"
        )
    argument_forms(public[0])
    _check_marks(public[0])
    stored_flags(public[0])
    result_forms(public[0])
    return public[0]


def _is_public(function: FuncOp) -> bool:
    visibility = function.sym_visibility
    return visibility is None or visibility.data == "public"


def argument_forms(function: FuncOp) -> tuple[TensorForm, ...]:
    """The tensor form of each argument."""
    return tuple(tensor_form(type) for type in function.function_type.inputs)


def result_forms(function: FuncOp) -> tuple[TensorForm, ...]:
    """The tensor form of each result."""
    return tuple(tensor_form(type) for type in function.function_type.outputs)


def argument_names(function: FuncOp) -> tuple[str, ...]:
    """A name for each argument, all different: as in the text, else arg0, arg1, …"""
    names: list[str] = []
    for index, argument in enumerate(function.args):
        name = argument.name_hint or f"arg{index}"
        while name in names:
            name += "_"
        names.append(name)
    return tuple(names)


def parameter_flags(function: FuncOp) -> tuple[bool, ...]:
    """Which arguments are marked `{tile.parameter}`."""
    return _flags(function, PARAMETER)


def stored_flags(function: FuncOp) -> tuple[bool, ...]:
    """Which arguments the host lays out as the plan likes: parameters, and inputs that
    are marked `{tile.packed}`. Raises VerifyException for one that is both."""
    parameters, packed = parameter_flags(function), _flags(function, PACKED)
    for name, both in zip(
        argument_names(function), zip(parameters, packed, strict=True), strict=True
    ):
        if all(both):
            raise VerifyException(
                f"argument '{name}' is marked {PARAMETER} and {PACKED}: a parameter is"
                " packed anyway, and stays for good; an input is there to its last use"
            )
    return tuple(map(any, zip(parameters, packed, strict=True)))


def _check_marks(function: FuncOp) -> None:
    """Refuse a mark of ours that would be overlooked. Raises VerifyException."""
    for what, marks, known in (
        ("an argument", function.arg_attrs, (PARAMETER, PACKED)),
        ("a result", function.res_attrs, (PACKED,)),
    ):
        for name, value in [pair for one in marks or () for pair in one.data.items()]:
            if not name.startswith("tile."):
                continue
            if name not in known or not isinstance(value, UnitAttr):
                raise VerifyException(
                    f"{what} is marked {name}{'' if name not in known else ' = …'};"
                    f" its marks are {', '.join(known)}, without a value"
                )


def _flags(function: FuncOp, name: str) -> tuple[bool, ...]:
    return _marked(function.arg_attrs, len(function.args), name)


def packed_results(function: FuncOp) -> tuple[bool, ...]:
    """Which results are marked `{tile.packed}`."""
    count = len(function.function_type.outputs)
    return _marked(function.res_attrs, count, PACKED)


def _marked(
    marks: ArrayAttr[DictionaryAttr] | None, count: int, name: str
) -> tuple[bool, ...]:
    if marks is None:
        return (False,) * count
    return tuple(isinstance(one.data.get(name), UnitAttr) for one in marks)


def return_operation(function: FuncOp) -> ReturnOp:
    """The `func.return` that ends a program of one block."""
    last = function.body.block.last_op
    if not isinstance(last, ReturnOp):
        raise VerifyException("a program ends with func.return")
    return last
