"""Cycles of steps, counted from the package's own calls and rows.

Formulas and coefficients are the machine's; shapes, counts, the slowest tile and the
length of a phase are found here, from what the package says, without any data.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.codelets import (
    Stage,
    copy_cycles,
    fill_cycles,
    map_cycles,
    matmul_cycles,
    reduce_cycles,
    same_order,
    sum_cycles,
)
from tiledialect.formats import FORMATS
from tiledialect.machine import Machine
from tiledialect.runtime.calls import is_empty
from tiledialect.runtime.package import Call, ComputeStep, ExchangeStep, Moves, Step
from tiledialect.runtime.parameters import (
    map_stages,
    matmul_accumulate,
    reduced_dims,
    sum_own,
)
from tiledialect.runtime.rows_decoder import Phase, length

if TYPE_CHECKING:
    from tiledialect.runtime.package import Ints


def step_cycles(machine: Machine, step: Step) -> int:
    """Cycles of a step: the slowest tile of a compute set, or a whole phase."""
    if isinstance(step, ExchangeStep):
        cycles = length(step.rows, machine.exchange, machine.tiles)
        return cycles + machine.exchange.phase_cycles
    return int(compute_cycles(machine, step).max(initial=0))


def phase_length(phase: Phase) -> int:
    """Cycles until the last word has arrived and every control word was issued."""
    receives = phase.receives
    last = int((receives.cycle + receives.cycles).max(initial=0))
    return max(last, int(phase.controls.max(initial=0)))


def compute_cycles(machine: Machine, step: ComputeStep) -> Ints:
    """The sum of each tile's calls."""
    cycles = np.zeros(machine.tiles, dtype=np.int64)
    for call in step.calls:
        if isinstance(call, Moves):
            tiles, each = moves_cycles(machine, call)
            cycles[tiles] += each
        else:
            cycles[call.tiles.array()] += call_cycles(machine, call)
    return cycles


def call_cycles(machine: Machine, call: Call) -> int:
    """Cycles of a structured call on one tile; nothing where it has no result."""
    if is_empty(call):
        return 0
    return _FORMULAS[call.family](machine, call)


def result_extents(call: Call) -> tuple[int, ...]:
    """Extents of the dims that the result has."""
    axes = call.outputs[0].axes
    return tuple(n for n, axis in zip(call.extents, axes, strict=True) if axis)


def _matmul(machine: Machine, call: Call) -> int:
    batches, rows, columns, depth = call.extents
    accumulate = matmul_accumulate(call)
    operand = call.inputs[0].format
    return matmul_cycles(machine, operand, accumulate, rows, columns, depth, batches)


def _map(machine: Machine, call: Call) -> int:
    source = call.inputs[0].format
    stages: list[Stage] = []
    for stage in map_stages(machine, call):
        format, scale = stage.element.format.name, stage.element.scale
        stages.append(Stage(stage.function, source, format, scale, stage.operands))
        source = format
    regroup = not same_order(
        call.inputs[0].axes,
        FORMATS[call.inputs[0].format].bytes,
        call.outputs[0].axes,
        FORMATS[call.outputs[0].format].bytes,
        call.extents,
    )
    return map_cycles(machine, stages, prod(call.extents), regroup)


def _reduce(machine: Machine, call: Call) -> int:
    length = prod(call.extents[dim] for dim in reduced_dims(call))
    rows = prod(result_extents(call))
    return reduce_cycles(machine, call.inputs[0].format, rows, length)


def _sum(machine: Machine, call: Call) -> int:
    own = sum_own(call)
    partials = call.extents[0] + (own is not None)
    elements = prod(call.extents[1:])
    return sum_cycles(machine, call.inputs[0].format, partials, elements)


_FORMULAS = {"matmul": _matmul, "map": _map, "reduce": _reduce, "sum": _sum}


def moves_cycles(machine: Machine, moves: Moves) -> tuple[Ints, Ints]:
    """The tiles that copy or fill, and the cycles of each. A run costs extra when it is
    of at least 8 bytes and does not continue the last one of its tile."""
    some = moves.bytes > 0
    tile, to, bytes = moves.tile[some], moves.destination[some], moves.bytes[some]
    tiles, index = np.unique(tile, return_inverse=True)
    end = to + bytes
    continues = (tile[1:] == tile[:-1]) & (to[1:] == end[:-1])
    bits = to | bytes
    if moves.family == "copy":
        source = moves.source[some]
        continues &= source[1:] == source[:-1] + bytes[:-1]
        bits = bits | source
    fresh = (bytes >= 8) & ~np.append(False, continues)[: len(bytes)]
    total = np.bincount(index, bytes, len(tiles)).astype(np.int64)
    runs = np.bincount(index, fresh, len(tiles)).astype(np.int64)
    if moves.family == "fill":
        return tiles, fill_cycles(machine, total, runs)
    every = np.zeros(len(tiles), dtype=np.int64)
    np.bitwise_or.at(every, index, bits)
    align = np.gcd(every, 8)
    cycles = np.zeros(len(tiles), dtype=np.int64)
    for value in np.unique(align):
        at = align == value
        cycles[at] = copy_cycles(machine, total[at], runs[at], int(value))
    return tiles, cycles
