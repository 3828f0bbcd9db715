"""What the machine demands of a call: formats, places, order, no overlap.

All checks are on the views alone, once for all tiles of the call, before any byte is
read. Numbers of a stranger's package come in here, so nothing is assumed of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tiledialect.codelets import Need, format_class, needs
from tiledialect.formats import FORMATS
from tiledialect.layout import ceil_div, round_up
from tiledialect.machine import Machine, MatrixMode
from tiledialect.runtime.kernels import MapStage
from tiledialect.runtime.memory import all_tiles
from tiledialect.runtime.package import Call, View
from tiledialect.runtime.panels import check_panels
from tiledialect.runtime.parameters import (
    CallError,
    element_of,
    map_stages,
    matmul_accumulate,
    reduced_dims,
    reduction,
    sum_own,
)

MATMUL_DIMS = ("b", "m", "n", "k")


@dataclass(frozen=True)
class Limits:
    """Addresses [low, high) that hold tensors."""

    low: int
    high: int


def is_empty(call: Call) -> bool:
    """Whether the result has no elements."""
    return has_no_element(call.outputs[0], call)


def has_no_element(view: View, call: Call) -> bool:
    """Whether an operand is a tensor of no elements: then nothing of it is read."""
    return any(n == 0 and axis for n, axis in zip(call.extents, view.axes, strict=True))


def read_extents(machine: Machine, call: Call, view: View) -> tuple[int, ...]:
    """The extents of a view that a call touches: the call's own, but for a matmul's
    operands whole coefficient blocks along k."""
    if call.family != "matmul" or not view.axes[3]:
        return call.extents
    *others, depth = call.extents
    return (*others, round_up(depth, matmul_mode(machine, call).k_block))


def matmul_mode(machine: Machine, call: Call) -> MatrixMode:
    """The mode of the matrix unit that a matmul runs in."""
    accumulate = matmul_accumulate(call)
    left, right = (format_class(view.format) for view in call.inputs[:2])
    mode = machine.matrix_mode(left, accumulate)
    if mode is None or left != right:
        raise CallError(
            f"machine {machine.name} multiplies no {call.inputs[0].format} with"
            f" {call.inputs[1].format} in {accumulate}"
        )
    return mode


def check_call(machine: Machine, call: Call, limits: Limits) -> None:
    """Refuse, with CallError, a call that the machine cannot make."""
    if not all_tiles(call.tiles, machine.tiles):
        raise CallError(f"runs on a tile that is not one of {machine.tiles}")
    if len(call.outputs) != 1 or not call.inputs:
        raise CallError("needs at least one operand and exactly one result")
    _FAMILY_CHECKS[call.family](machine, call)
    if is_empty(call):
        return
    facts = needs(machine, call.family)
    named = [
        (f"operand {i}", view, facts.input(i)) for i, view in enumerate(call.inputs)
    ]
    named.append(("result", call.outputs[0], facts.outputs[0]))
    for name, view, need in named:
        _check_view(machine, call, view, name)
        _check_place(machine, call, view, need, limits, name)
    _check_overlap(machine, call)
    for operand, _ in facts.apart:
        _check_apart(machine, call, call.inputs[operand], operand)


def ends(machine: Machine, call: Call, view: View) -> tuple[int, int]:
    """The first address of a block, and one past the last, padding along k included."""
    if has_no_element(view, call):
        return view.address, view.address
    extents = read_extents(machine, call, view)
    last = view.address + FORMATS[view.format].bytes
    for axis, extent in zip(view.axes, extents, strict=True):
        left = extent
        for position, (_, stride) in enumerate(axis):
            inner = prod(count for count, _ in axis[position + 1 :])
            last += max(0, ceil_div(left, inner) - 1) * stride
            left = min(left, inner)
    return view.address, last


def _check_view(machine: Machine, call: Call, view: View, name: str) -> None:
    element_of(machine, view.format, view.scale)
    if has_no_element(view, call):
        return
    element_bytes = FORMATS[view.format].bytes
    digits: list[tuple[int, int]] = []
    for dim, axis, extent in zip(call.dims, view.axes, call.extents, strict=True):
        if axis and prod(count for count, _ in axis) < extent:
            raise CallError(f"{name} has no place for {extent} indices of '{dim}'")
        digits += [(stride, count) for count, stride in axis if count > 1]
    if view.address % element_bytes or any(s % element_bytes for s, _ in digits):
        raise CallError(f"{name} has elements that are not aligned to {element_bytes}")
    reach = element_bytes
    for stride, count in sorted(digits):
        if stride < reach:
            raise CallError(f"{name} has two elements in one place")
        reach += (count - 1) * stride


def _check_place(
    machine: Machine, call: Call, view: View, need: Need, limits: Limits, name: str
) -> None:
    low, high = ends(machine, call, view)
    if low < limits.low or high > limits.high:
        raise CallError(
            f"{name} at {low} to {high} is outside the addresses of tensors,"
            f" {limits.low} to {limits.high}"
        )
    if low % need.align:
        raise CallError(f"{name} at {low} is not aligned to {need.align} bytes")
    begin = 0
    for region in machine.memory.regions:
        end = begin + region.bytes
        fits = need.region == "any" or getattr(region, need.region)
        if low < end and begin < high and not fits:
            raise CallError(
                f"{name} at {low} is not in {need.region} memory but in '{region.name}'"
            )
        begin = end


def _check_overlap(machine: Machine, call: Call) -> None:
    """Refuse a result over an operand, but a map in place, element over element."""
    result = call.outputs[0]
    low, high = ends(machine, call, result)
    for number, view in enumerate(call.inputs):
        first, last = ends(machine, call, view)
        if low < last and first < high and not in_place(call, view):
            raise CallError(f"the result at {low} to {high} overlaps operand {number}")


def in_place(call: Call, view: View) -> bool:
    """Whether the result lies exactly where this operand does: a map's, or the partial
    sums that a matmul adds to."""
    result = call.outputs[0]
    if call.family == "matmul":
        return view == result
    return (
        call.family == "map"
        and (view.address, view.axes) == (result.address, result.axes)
        and FORMATS[view.format].bytes == FORMATS[result.format].bytes
    )


def _check_apart(machine: Machine, call: Call, view: View, number: int) -> None:
    if in_place(call, view):
        return
    touched = [
        _elements(machine, ends(machine, call, v)) for v in (view, call.outputs[0])
    ]
    if touched[0] & touched[1]:
        raise CallError(f"operand {number} and the result touch one memory element")


def _elements(machine: Machine, block: tuple[int, int]) -> set[int]:
    """The memory elements that a stretch of addresses touches."""
    edges = machine.element_edges()
    return {
        number
        for number, edge in enumerate(edges[:-1])
        if edge < block[1] and block[0] < edges[number + 1]
    }


def _has(view: View, call: Call, *dims: int) -> None:
    """Refuse a result that lacks a dim, or has one too many."""
    for dim, (axis, extent) in enumerate(zip(view.axes, call.extents, strict=True)):
        if dim in dims and not axis and extent != 1:
            raise CallError(f"the dim '{call.dims[dim]}' is missing in an operand")
        if dim not in dims and axis:
            raise CallError(f"the dim '{call.dims[dim]}' is in an operand too many")


def _check_matmul(machine: Machine, call: Call) -> None:
    if call.dims != MATMUL_DIMS or len(call.inputs) not in (2, 3):
        raise CallError(
            "a matmul has the dims b, m, n, k, two operands, and maybe partial sums"
        )
    left, right, result = call.inputs[0], call.inputs[1], call.outputs[0]
    if len(call.inputs) == 3 and call.inputs[2] != result:
        raise CallError("a matmul adds to partial sums only where they lie")
    mode, accumulate = matmul_mode(machine, call), matmul_accumulate(call)
    if result.format != accumulate:
        raise CallError(f"sums in {accumulate} cannot go to {result.format}")
    _has(left, call, 0, 1, 3)
    _has(right, call, *((0, 2, 3) if right.axes[0] else (2, 3)))
    _has(result, call, 0, 1, 2)
    depth = call.extents[3]
    for name, view in (("left", left), ("right", right)):
        room = prod(count for count, _ in view.axes[3])
        if room < ceil_div(depth, mode.k_block) * mode.k_block:
            raise CallError(
                f"{name} operand has {room} elements along k, the matrix unit reads"
                f" blocks of {mode.k_block} for {depth}"
            )
    check_panels(call, mode)


def _check_map(machine: Machine, call: Call) -> None:
    stages: list[MapStage] = map_stages(machine, call)
    result, last = call.outputs[0], stages[-1].element
    _has(result, call, *range(len(call.dims)))
    if (last.format.name, last.scale) != (result.format, result.scale):
        raise CallError("the last stage has another format than the result")


def _check_reduce(machine: Machine, call: Call) -> None:
    reduction(call)
    reduced = reduced_dims(call)
    every = range(len(call.dims))
    _one_operand(call)
    _has(call.inputs[0], call, *every)
    _has(call.outputs[0], call, *(dim for dim in every if dim not in reduced))


def _one_operand(call: Call) -> None:
    if len(call.inputs) != 1:
        raise CallError(f"a {call.family} has one operand")


def _check_sum(machine: Machine, call: Call) -> None:
    reduction(call)
    own = sum_own(call)
    every = range(len(call.dims))
    if not call.dims:
        raise CallError("a sum needs a dim of partials")
    _has(call.inputs[0], call, *every)
    _has(call.outputs[0], call, *every[1:])
    if own is None:
        return _one_operand(call)
    if len(call.inputs) != 2 or call.extents[0] != own[2] - 1:
        raise CallError("a sum with its own piece has two operands and a slot less")
    _has(call.inputs[1], call, *every[1:])
    return None


_FAMILY_CHECKS = {
    "matmul": _check_matmul,
    "map": _check_map,
    "reduce": _check_reduce,
    "sum": _check_sum,
}
