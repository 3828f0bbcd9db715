"""Codelets: what a tile can run in a compute set, and what each costs.

Cycle formulas take their coefficients from the machine, which names their sources, and
work on whole numbers and on arrays alike. They are facts of the machine: planner and
simulator share them, but each counts shapes and calls for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tiledialect.machine import Machine, MapTiming, ReduceTiming, SumTiming

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

N = TypeVar("N", int, "NDArray[np.int64]")

FAMILIES = ("matmul", "map", "reduce", "sum", "copy", "fill")
F8_FORMATS = ("f8E4M3FNUZ", "f8E5M2FNUZ")

# The row of the machine's map table that prices a scalar function; others are "unary".
PRICED_AS = {
    "gelu_tanh": "gelu_tanh",
    "gelu_erf": "gelu_erf",
    "cast": "cast",
    "identity": "cast",
    "div": "div",
    "sqrt": "root",
    "rsqrt": "root",
    "reciprocal": "root",
    **dict.fromkeys(("add", "sub", "rsub", "mul", "max", "min"), "binary"),
}


@dataclass(frozen=True)
class Stage:
    """One scalar function of a map: formats before and after, and for f8 the scale.

    `operands` are the numbers of the inputs that it takes besides the running value.
    """

    function: str
    source: str
    format: str
    scale: int = 0
    operands: tuple[int, ...] = ()


@dataclass(frozen=True)
class Need:
    """Where an operand may lie: alignment in bytes, and region of memory."""

    align: int = 8
    region: str = "any"


@dataclass(frozen=True)
class Needs:
    """Needs of a codelet's inputs and outputs; `apart` pairs (input, output) must not
    touch one memory element. Inputs beyond the list need what its last one does."""

    inputs: tuple[Need, ...]
    outputs: tuple[Need, ...]
    apart: tuple[tuple[int, int], ...] = ()

    def input(self, number: int) -> Need:
        return self.inputs[min(number, len(self.inputs) - 1)]


def needs(machine: Machine, family: str) -> Needs:
    """What the operands of a codelet need on this machine.

    The matrix unit reads coefficients 16 bytes at a time and writes partials through
    interleaved memory, and must not find its left operand in the element it writes
    (poplibs ConvPartial1x1Out). Maps reach their rate when source and result lie in
    different elements (C600 rows 127 to 131).
    """
    some = any(region.interleaved for region in machine.memory.regions)
    wide = Need(16, "interleaved" if some else "any")
    if family == "matmul":
        return Needs((Need(), wide), (wide,), apart=((0, 0),))
    if family == "map":
        return Needs((Need(),), (Need(),), apart=((0, 0),))
    if family in ("copy", "fill"):
        return Needs((Need(1),), (Need(1),))
    return Needs((Need(),), (Need(),))


def format_class(name: str) -> str:
    """The operand class that matrix modes are listed by: both f8 formats are "f8"."""
    return "f8" if name in F8_FORMATS else name


def _groups(elements: N, per_group: int) -> N:
    return -(-elements // per_group)


def matmul_cycles(
    machine: Machine,
    operand: str,
    accumulate: str,
    rows: N,
    columns: N,
    depth: N,
    batches: int = 1,
) -> N:
    """Cycles of a matmul call on blocks of `rows` x `depth` and `depth` x `columns`."""
    mode = machine.matrix_mode(format_class(operand), accumulate)
    if mode is None:
        raise ValueError(f"no matrix mode for {operand} accumulated in {accumulate}")
    blocks = _groups(depth, mode.k_block) * _groups(columns, mode.n_block) * batches
    each = _groups(rows, mode.row_step) * mode.row_cycles + mode.block_cycles
    return blocks * each + mode.call_cycles


def _sum_timing(machine: Machine, format: str) -> SumTiming:
    by_format = {timing.format: timing for timing in machine.sum}
    return by_format.get(format) or by_format["f32"]


def sum_cycles(machine: Machine, format: str, partials: N, elements: N) -> N:
    """Cycles to add `partials` pieces of `elements` each."""
    t = _sum_timing(machine, format)
    each = (partials - 1) * t.partial_cycles + t.group_cycles
    return _groups(elements, t.group_elements) * each + t.call_cycles


def _reduce_timing(machine: Machine, format: str) -> ReduceTiming:
    by_format = {timing.format: timing for timing in machine.reduce}
    return by_format.get(format) or by_format["f32"]


def reduce_cycles(machine: Machine, format: str, rows: N, length: N) -> N:
    """Cycles to reduce `rows` runs of `length` elements to one element each."""
    t = _reduce_timing(machine, format)
    each = _groups(length, t.group_elements) * t.group_cycles + t.row_cycles
    return _groups(rows, machine.workers) * each * machine.workers + t.call_cycles


def stage_key(stage: Stage) -> str:
    """The name under which the machine's map table prices a stage."""
    if stage.function in ("cast", "identity") and format_class(stage.format) == "f8":
        return "cast_f8"
    return PRICED_AS.get(stage.function, "unary")


def _map_timing(machine: Machine, function: str, format: str) -> MapTiming | None:
    found = {t.format: t for t in machine.map if t.function == function}
    return found.get(format) or found.get("any") or found.get("f32")


def chain_timings(machine: Machine, stages: Sequence[Stage]) -> list[MapTiming]:
    """The table rows that price a chain: the longest known parts of it, in turn."""
    keys = [stage_key(stage) for stage in stages]
    rows: list[MapTiming] = []
    done = 0
    while done < len(keys):
        format = stages[done].source
        for end in range(len(keys), done, -1):
            row = _map_timing(machine, "+".join(keys[done:end]), format)
            if row is not None:
                rows.append(row)
                done = end
                break
        else:
            row = _map_timing(
                machine, "cast" if keys[done] == "cast_f8" else "unary", "any"
            )
            if row is None:
                raise ValueError(f"machine {machine.name} prices no '{keys[done]}'")
            rows.append(row)
            done += 1
    return rows


def map_cycles(
    machine: Machine, stages: Sequence[Stage], elements: N, regroup: bool
) -> N:
    """Cycles of a chain of scalar functions over `elements`; `regroup` when the result
    lies in another element order than input 0."""
    rows = chain_timings(machine, stages)
    cycles = elements * 0 + max(row.call_cycles for row in rows)
    for row in rows:
        cycles = cycles + _groups(elements, row.group_elements) * row.group_cycles
    if regroup:
        first = rows[0]
        cycles = cycles + _groups(elements, first.group_elements) * (
            machine.copy.regroup_cycles
        )
    return cycles


def copy_cycles(machine: Machine, bytes: N, runs: N, align: int) -> N:
    """Cycles to copy `bytes` in `runs` runs whose ends are all multiples of `align`."""
    t = machine.copy
    rate = {
        8: t.milli_cycles_per_byte_8,
        4: t.milli_cycles_per_byte_4,
        2: t.milli_cycles_per_byte_2,
        1: t.milli_cycles_per_byte_1,
    }[align]
    return _groups(bytes * rate, 1000) + runs * t.run_cycles + t.call_cycles


def fill_cycles(machine: Machine, bytes: N, runs: N) -> N:
    """Cycles to write zeros to `bytes` in `runs` runs."""
    t = machine.copy
    return (
        _groups(bytes * t.fill_milli_cycles_per_byte, 1000)
        + runs * t.run_cycles
        + t.fill_call_cycles
    )


def code_bytes(
    machine: Machine, families: Iterable[str], map_chains: int, steps: int
) -> int:
    """Bytes of code and control program on every tile: the runtime, each codelet family
    used, each distinct map chain, and the steps."""
    code = machine.code
    sizes = {
        "matmul": code.matmul_bytes,
        "sum": code.sum_bytes,
        "reduce": code.reduce_bytes,
        "copy": code.copy_bytes,
        "fill": code.copy_bytes,
    }
    used = {"copy" if family == "fill" else family for family in families}
    codelets = sum(sizes[family] for family in sorted(used - {"map"}))
    return (
        code.runtime_bytes
        + codelets
        + map_chains * code.map_bytes
        + steps * code.step_bytes
    )


Strides = tuple[tuple[int, int], ...]


def same_order(
    first: Sequence[Strides],
    first_bytes: int,
    second: Sequence[Strides],
    second_bytes: int,
    extents: Sequence[int],
) -> bool:
    """Whether two views of a block walk its elements in one order: equal strides, in
    elements, along every dimension that has more than one index."""

    def canonical(axes: Sequence[Strides], element: int) -> list[list[tuple[int, int]]]:
        result: list[list[tuple[int, int]]] = []
        for axis, extent in zip(axes, extents, strict=True):
            if extent <= 1:
                result.append([])
                continue
            # the outermost count does not matter, only where digits begin
            digits = [(count, stride // element) for count, stride in axis]
            result.append([(0, digits[0][1]), *digits[1:]] if digits else [])
        return result

    return canonical(first, first_bytes) == canonical(second, second_bytes)
