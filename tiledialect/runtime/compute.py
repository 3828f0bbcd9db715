"""One compute set: every call on every tile of its class, at its addresses."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.machine import Machine
from tiledialect.runtime import kernels
from tiledialect.runtime.blocks import UnwrittenError, gather, scatter, small_boxes
from tiledialect.runtime.calls import (
    Limits,
    check_call,
    is_empty,
    matmul_mode,
    read_extents,
)
from tiledialect.runtime.kernels import Element
from tiledialect.runtime.parameters import (
    CallError,
    element_of,
    map_stages,
    matmul_accumulate,
    reduced_dims,
    reduction,
    sum_own,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.runtime.memory import Memory
    from tiledialect.runtime.package import Call, Moves, View
    from tiledialect.tiles import Box

NUMBERS_AT_ONCE = (
    1 << 19
)  # float64s of a call in work at a time: they stay in the cache


def run_call(machine: Machine, memory: Memory, call: Call, limits: Limits) -> None:
    """Make a call. Raises CallError for what the machine would refuse."""
    check_call(machine, call, limits)
    if is_empty(call):
        return
    try:
        _FAMILIES[call.family](machine, memory, call)
    except UnwrittenError as error:
        raise CallError(str(error)) from error


def _boxes(call: Call, numbers: int) -> Iterator[Box]:
    """The call's tiles, so many at once that their `numbers` each stay few."""
    most = max(1, NUMBERS_AT_ONCE // max(1, numbers))
    for box in call.tiles.boxes:
        yield from small_boxes(box, most)


def _element(machine: Machine, view: View) -> Element:
    return element_of(machine, view.format, view.scale)


def _result(
    machine: Machine, memory: Memory, call: Call, box: Box, values: NDArray[np.generic]
) -> None:
    view = call.outputs[0]
    stored = kernels.store(values, _element(machine, view))
    scatter(memory, box, view, call.extents, stored)


def _matmul(machine: Machine, memory: Memory, call: Call) -> None:
    batches, rows, columns, depth = call.extents
    mode, accumulate = matmul_mode(machine, call), matmul_accumulate(call)
    numbers = batches * (rows * depth + columns * depth + 2 * rows * columns)
    for box in _boxes(call, numbers):
        left = _padded(machine, memory, call, box, 0)[:, :, :, 0]
        right = _padded(machine, memory, call, box, 1)[:, :, 0]
        initial = None
        if len(call.inputs) == 3:
            view = call.inputs[2]
            stored = gather(memory, box, view, call.extents)
            initial = kernels.load(stored, _element(machine, view), "float64")[..., 0]
        made = kernels.matmul(left, right, mode.k_block, accumulate, initial)
        _result(machine, memory, call, box, made[..., None])


def _padded(
    machine: Machine, memory: Memory, call: Call, box: Box, number: int
) -> NDArray[np.float64]:
    """A matmul's operand up to its true depth; refuses padding that is not zero."""
    view, depth = call.inputs[number], call.extents[3]
    stored = gather(memory, box, view, read_extents(machine, call, view))
    values = kernels.load(stored, _element(machine, view), "float64")
    if values[..., depth:].any():
        tile = box.array()[np.argwhere(values[..., depth:])[0][0]]
        raise CallError(
            f"tile {tile}: operand {number} at {view.address} holds no zeros in its"
            " padding along k"
        )
    return values[..., :depth]


def _map(machine: Machine, memory: Memory, call: Call) -> None:
    stages = map_stages(machine, call)
    shape = call.extents
    for box in _boxes(call, prod(shape)):
        operands = [
            (gather(memory, box, view, shape), _element(machine, view))
            for view in call.inputs
        ]
        # spread operand 0, which may lack dims, over the whole domain
        first = np.broadcast_to(operands[0][0], (len(box), *shape))
        made = kernels.run_map([(first, operands[0][1]), *operands[1:]], stages)
        scatter(memory, box, call.outputs[0], shape, np.ascontiguousarray(made))


def _reduce(machine: Machine, memory: Memory, call: Call) -> None:
    view = call.inputs[0]
    axes = tuple(dim + 1 for dim in reduced_dims(call))
    for box in _boxes(call, prod(call.extents)):
        stored = gather(memory, box, view, call.extents)
        values = kernels.load(stored, _element(machine, view), "float32")
        made = kernels.reduce(values, axes, reduction(call))
        _result(machine, memory, call, box, made)


def _sum(machine: Machine, memory: Memory, call: Call) -> None:
    own = sum_own(call)
    for box in _boxes(call, prod(call.extents)):
        values = [
            kernels.load(
                gather(memory, box, view, call.extents),
                _element(machine, view),
                "float32",
            )
            for view in call.inputs
        ]
        piece = values[1][:, 0] if own else None
        position = (box.array() - own[0]) // own[1] % own[2] if own else None
        made = kernels.add_partials(values[0], piece, position, reduction(call))
        _result(machine, memory, call, box, made[:, None])


_FAMILIES = {"matmul": _matmul, "map": _map, "reduce": _reduce, "sum": _sum}


def run_moves(machine: Machine, memory: Memory, moves: Moves, limits: Limits) -> None:
    """Copy or fill runs of bytes. Raises CallError.

    A copy reads all it moves before it writes: a run must not read what another one of
    the same call writes, nor two write one byte.
    """
    places = [moves.destination, *([moves.source] if moves.family == "copy" else [])]
    if len(moves.tile) == 0:
        return
    if moves.tile.min() < 0 or moves.tile.max() >= machine.tiles:
        raise CallError(f"runs on a tile that is not one of {machine.tiles}")
    low = min(int(place.min()) for place in places)
    high = max(int((place + moves.bytes).max()) for place in places)
    if moves.bytes.min() < 0 or low < limits.low or high > limits.high:
        raise CallError(
            f"touches {low} to {high}, outside the addresses of tensors,"
            f" {limits.low} to {limits.high}"
        )
    _check_runs(moves)
    for index, target, source in _bytes_of(moves, memory.span):
        data, written = memory.data.reshape(-1), memory.written.reshape(-1)
        if source is None:
            data[target], written[target] = 0, 1
            continue
        state = written[source]
        if not state.all():
            at = index[int(state.argmin())]
            raise CallError(
                f"tile {moves.tile[at]} copies from {moves.source[at]} a byte that"
                " nobody wrote"
            )
        data[target], written[target] = data[source], 1


def _check_runs(moves: Moves) -> None:
    """Refuse runs that write one byte twice or read what another run writes."""
    begin = (moves.tile << 32) + moves.destination
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], (begin + moves.bytes)[order]
    if (begin[1:] < end[:-1]).any():
        raise CallError(f"a {moves.family} writes a byte twice")
    if moves.family == "copy":
        low = (moves.tile << 32) + moves.source
        first = np.searchsorted(end, low, side="right")
        last = np.searchsorted(begin, low + moves.bytes, side="left")
        if (last > first).any():
            raise CallError("a copy reads a byte that it also writes")


def _bytes_of(
    moves: Moves, span: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64] | None]]:
    """Runs of one length at a time: run, place to and place from of each byte."""
    for length in map(int, np.unique(moves.bytes[moves.bytes > 0])):
        which = np.flatnonzero(moves.bytes == length)
        inside = np.arange(length, dtype=np.int64)
        base = moves.tile[which] * span
        target = (base + moves.destination[which])[:, None] + inside
        source = None
        if moves.family == "copy":
            source = (base + moves.source[which])[:, None] + inside
            source = source.reshape(-1)
        yield np.repeat(which, length), target.reshape(-1), source
