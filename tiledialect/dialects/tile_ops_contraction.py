"""Operations of the tensor dialect that sum: matmul and reduce."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, f16, f32, i32, i64
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tiledialect.dialects.interfaces import Dimension, IndexingMap, Structured
from tiledialect.dialects.tile_ops_elementwise import broadcast_shape
from tiledialect.dialects.tile_types import TensorForm, tensor_form


@dataclass(frozen=True)
class MatmulShape:
    """The extents of a matmul by role: batch axes of both, then M, K and N."""

    left_batch: tuple[int, ...]
    right_batch: tuple[int, ...]
    rows: int
    left_depth: int
    right_depth: int
    columns: int

    def result(self) -> tuple[int, ...] | None:
        """The result's shape, or None where the batch axes do not broadcast."""
        batch = broadcast_shape(self.left_batch, self.right_batch)
        return None if batch is None else (*batch, self.rows, self.columns)

    def roles(self) -> tuple[str, ...]:
        """The role of each axis of the result: b, m or n.

        A batch axis of both operands is b. One that the right operand lacks, or
        stretches, is a row axis m; one that only the right operand has is n.
        """
        rank = max(len(self.left_batch), len(self.right_batch))
        left = (None,) * (rank - len(self.left_batch)) + self.left_batch
        right = (None,) * (rank - len(self.right_batch)) + self.right_batch
        batch = [_role(*pair) for pair in zip(left, right, strict=True)]
        return (*batch, "m", "n")


def _role(left: int | None, right: int | None) -> str:
    if left == right:
        return "b"
    if right is None or (right == 1 and left is not None):
        return "m"
    return "n"


def _numbered(roles: tuple[str, ...]) -> list[str]:
    """Names by role: b0, b1, …; m, or m0, m1, … where there are several."""
    names: list[str] = []
    for position, role in enumerate(roles):
        alone = roles.count(role) == 1 and role != "b"
        names.append(role if alone else f"{role}{roles[:position].count(role)}")
    return names


@irdl_op_definition
class MatmulOp(IRDLOperation, Structured):
    """`tile.matmul %a, %b : (tensor<…xMxK>, tensor<…xKxN>) -> tensor<…xMxN>`.

    Axes before the last two are batch axes and broadcast as in numpy. `transpose_a`
    reads the left operand as [K, M], `transpose_b` the right one as [N, K].
    `accumulate f16|f32` names the type of partial sums. Left out, it is f16 where
    the operands are f16 or of 8 bits and the result is f16, and f32 elsewhere.
    """

    name = "tile.matmul"
    left = operand_def(AnyAttr())
    right = operand_def(AnyAttr())
    transpose_a = opt_prop_def(UnitAttr)
    transpose_b = opt_prop_def(UnitAttr)
    accumulate = opt_prop_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    assembly_format = (
        "$left `,` $right (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)?"
        " (`accumulate` $accumulate^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        left: SSAValue,
        right: SSAValue,
        result_type: Attribute,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        accumulate: Attribute | None = None,
    ):
        super().__init__(
            operands=[left, right],
            result_types=[result_type],
            properties={
                "transpose_a": UnitAttr() if transpose_a else None,
                "transpose_b": UnitAttr() if transpose_b else None,
                "accumulate": accumulate,
            },
        )

    @property
    def codelet_family(self) -> str:
        return "matmul"

    @property
    def scalar_function(self) -> str:
        return "multiply_add"

    def matmul_shape(self) -> MatmulShape:
        """The extents by role; both operands must have rank 2 or more."""
        left, right = tensor_form(self.left.type).shape, tensor_form(self.right.type)
        rows, left_depth = left[-2:] if self.transpose_a is None else left[:-3:-1]
        depth, columns = (
            right.shape[-2:] if self.transpose_b is None else right.shape[:-3:-1]
        )
        return MatmulShape(
            left[:-2], right.shape[:-2], rows, left_depth, depth, columns
        )

    def iteration_domain(self) -> tuple[Dimension, ...]:
        """The axes of the result in order, then k."""
        shape = self.matmul_shape()
        result = tensor_form(self.result.type).shape
        names = _numbered(shape.roles())
        return (
            *(Dimension(name, e) for name, e in zip(names, result, strict=True)),
            Dimension("k", shape.left_depth, reduced=True),
        )

    def indexing_maps(self) -> tuple[IndexingMap, ...]:
        shape = self.matmul_shape()
        roles = shape.roles()
        rows, columns, depth = len(roles) - 2, len(roles) - 1, len(roles)
        left = self._batch_map(len(shape.left_batch), "n")
        right = self._batch_map(len(shape.right_batch), "m")
        left_axes = (rows, depth) if self.transpose_a is None else (depth, rows)
        right_axes = (depth, columns) if self.transpose_b is None else (columns, depth)
        return ((*left, *left_axes), (*right, *right_axes), tuple(range(depth)))

    def _batch_map(self, batch_rank: int, others_role: str) -> IndexingMap:
        """Batch axes of one operand; those that only the other one has are None."""
        roles = self.matmul_shape().roles()[:-2]
        first = len(roles) - batch_rank
        return tuple(
            None if roles[axis] == others_role else axis
            for axis in range(first, len(roles))
        )

    def accumulation_type(self) -> Attribute:
        if self.accumulate is not None:
            return self.accumulate
        result = tensor_form(self.result.type).format.name
        return f16 if self._may_accumulate_f16() and result == "f16" else f32

    def _may_accumulate_f16(self) -> bool:
        forms = (tensor_form(self.left.type), tensor_form(self.right.type))
        return all(form.format.is_float8 or form.format.name == "f16" for form in forms)

    def verify_(self) -> None:
        left, right = tensor_form(self.left.type), tensor_form(self.right.type)
        result = tensor_form(self.result.type)
        _check_matmul_formats(left, right, result)
        _check_matmul_accumulation(self.accumulate, self._may_accumulate_f16())
        if left.rank < 2 or right.rank < 2:
            raise VerifyException(
                "needs operands of rank 2 or more, these have rank "
                f"{left.rank} and {right.rank}; reshape vectors"
            )
        _check_matmul_extents(self.matmul_shape(), result)


def _check_matmul_formats(
    left: TensorForm, right: TensorForm, result: TensorForm
) -> None:
    if left.format.is_integer or right.format.is_integer:
        raise VerifyException("has no i32 form; cast the operands to f32")
    both_float8 = left.format.is_float8 and right.format.is_float8
    if left.format != right.format and not both_float8:
        raise VerifyException(
            "needs operands of one format, or both of 8 bits; these are "
            f"{left.format.name} and {right.format.name}"
        )
    if result.format.kind != "float":
        raise VerifyException(
            "gives f32, f16 or bf16, its result is "
            f"{result.format.name}; cast the result"
        )


def _check_matmul_accumulation(
    accumulate: Attribute | None, may_accumulate_f16: bool
) -> None:
    if accumulate not in (None, f16, f32):
        raise VerifyException(f"accumulates in f16 or f32, not {accumulate}")
    if accumulate == f16 and not may_accumulate_f16:
        raise VerifyException("accumulates in f16 for f16 and 8-bit operands only")


def _check_matmul_extents(shape: MatmulShape, result: TensorForm) -> None:
    if shape.left_depth != shape.right_depth:
        raise VerifyException(
            "needs one extent to sum over, the left operand has "
            f"{shape.left_depth} and the right one {shape.right_depth}"
        )
    needed = shape.result()
    if needed is None:
        raise VerifyException(
            f"cannot broadcast batch axes {list(shape.left_batch)} with "
            f"{list(shape.right_batch)}"
        )
    if needed != result.shape:
        raise VerifyException(
            f"gives {TensorForm(needed, result.format)}, its result is {result}"
        )


class ReduceKind(StrEnum):
    """What a reduction does to the elements it meets."""

    SUM = "sum"
    MAX = "max"


@irdl_attr_definition
class ReduceKindAttr(EnumAttribute[ReduceKind], SpacedOpaqueSyntaxAttribute):
    """The kind of a reduction."""

    name = "tile.reduce_kind"


@irdl_op_definition
class ReduceOp(IRDLOperation, Structured):
    """`tile.reduce max %x over [2] keepdims : tensor<4x5x6xf16> -> tensor<4x5x1xf16>`.

    The sum or the maximum over axes, which go, or stay with extent 1 (`keepdims`).
    Over no element a sum is 0 and a maximum -inf, or -2^31 in i32.
    """

    name = "tile.reduce"
    kind = prop_def(ReduceKindAttr)
    operand = operand_def(AnyAttr())
    axes = prop_def(DenseArrayBase.constr(i64))
    keepdims = opt_prop_def(UnitAttr)
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    assembly_format = (
        "$kind $operand `over` $axes (`keepdims` $keepdims^)? attr-dict"
        " `:` type($operand) `->` type($result)"
    )

    def __init__(
        self,
        operand: SSAValue,
        kind: ReduceKind,
        axes: tuple[int, ...],
        result_type: Attribute,
        *,
        keepdims: bool = False,
    ):
        super().__init__(
            operands=[operand],
            result_types=[result_type],
            properties={
                "kind": ReduceKindAttr(kind),
                "axes": DenseArrayBase.from_list(i64, axes),
                "keepdims": UnitAttr() if keepdims else None,
            },
        )

    @property
    def codelet_family(self) -> str:
        return "reduce"

    @property
    def scalar_function(self) -> str:
        return self.kind.data.value

    def reduced_axes(self) -> tuple[int, ...]:
        return self.axes.get_values()

    def iteration_domain(self) -> tuple[Dimension, ...]:
        """The axes of the operand, in order."""
        axes = self.reduced_axes()
        shape = tensor_form(self.operand.type).shape
        return tuple(Dimension(f"d{i}", e, i in axes) for i, e in enumerate(shape))

    def indexing_maps(self) -> tuple[IndexingMap, ...]:
        axes = self.reduced_axes()
        every = range(tensor_form(self.operand.type).rank)
        if self.keepdims is not None:
            return tuple(every), tuple(None if i in axes else i for i in every)
        return tuple(every), tuple(i for i in every if i not in axes)

    def accumulation_type(self) -> Attribute:
        """A maximum loses nothing in the operand's type; a sum of floats needs f32."""
        form = tensor_form(self.operand.type)
        if self.kind.data == ReduceKind.MAX:
            return form.type.element_type
        return i32 if form.format.is_integer else f32

    def _result_shape(self) -> tuple[int, ...]:
        axes = self.reduced_axes()
        shape = tensor_form(self.operand.type).shape
        if self.keepdims is not None:
            return tuple(1 if i in axes else e for i, e in enumerate(shape))
        return tuple(e for i, e in enumerate(shape) if i not in axes)

    def verify_(self) -> None:
        operand, result = tensor_form(self.operand.type), tensor_form(self.result.type)
        axes = self.reduced_axes()
        if operand.format.is_float8:
            raise VerifyException(
                f"computes in f32, f16, bf16 or i32, its operand is "
                f"{operand}; cast it first"
            )
        if not axes or list(axes) != sorted(set(axes)):
            raise VerifyException(
                "needs one axis or more, each once and in order, these "
                f"are {list(axes)}"
            )
        if axes[0] < 0 or axes[-1] >= operand.rank:
            raise VerifyException(
                f"over {list(axes)} needs axes of an operand of rank {operand.rank}"
            )
        needed = TensorForm(self._result_shape(), operand.format)
        if needed != result:
            raise VerifyException(f"gives {needed}, its result is {result}")


CONTRACTION_OPS = (MatmulOp, ReduceOp)
