"""The machine: every size and rate of the hardware, read from a file.

A machine is plain data. Files stand in `tiledialect/machines/*.toml`; a file or an
attribute of a module may name a `base` and override any of its fields. Nothing else
in the project holds a hardware figure. Sizes are bytes, times are tile clock cycles.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

FOLDER = Path(__file__).parent / "machines"


class MachineError(Exception):
    """A machine that does not exist or whose description is not valid."""


@dataclass(frozen=True)
class Region:
    """A stretch of a tile's SRAM; regions follow each other from address 0."""

    name: str
    bytes: int
    element_bytes: int  # bytes that one memory port serves
    interleaved: bool  # 128-bit loads are possible
    executable: bool  # instructions can be fetched from here


@dataclass(frozen=True)
class Memory:
    """A tile's SRAM, and what of it is not free for tensors."""

    bytes: int
    fixed_bytes: int  # runtime state at the very bottom
    tail_bytes: int  # cannot be used, at the very top
    support_bytes: int  # reservation for code, rows and profiling, above fixed
    default_budget_bytes: int | None
    regions: tuple[Region, ...]


@dataclass(frozen=True)
class MatrixMode:
    """One mode of the matrix unit: operand and accumulation format, block, cycles.

    A call on `rows` rows, K and C extents takes
    call + ceil(K / k_block) * ceil(C / n_block)
         * (row_cycles * ceil(rows / row_step) + block_cycles).
    """

    operand: str
    accumulate: str
    k_block: int
    n_block: int
    row_step: int
    row_cycles: int
    block_cycles: int
    call_cycles: int


@dataclass(frozen=True)
class MapTiming:
    """Cycles of a scalar function over n elements, per group of elements.

    call + ceil(n / group_elements) * group_cycles; a fused chain pays the largest call
    and the sum of the groups, unless the chain has an entry of its own.
    """

    function: str  # "gelu_tanh", or a chain: "gelu_tanh+cast_f8"
    format: str  # of the elements computed: f16, f32, …
    call_cycles: int
    group_elements: int
    group_cycles: int


@dataclass(frozen=True)
class SumTiming:
    """Adding p partials of n elements:
    call + ceil(n / group_elements) * (group_cycles + partial_cycles * (p - 1))."""

    format: str
    call_cycles: int
    group_elements: int
    group_cycles: int
    partial_cycles: int


@dataclass(frozen=True)
class ReduceTiming:
    """Reducing rows of `length`: call + workers * ceil(rows / workers)
    * (row_cycles + ceil(length / group_elements) * group_cycles)."""

    format: str
    call_cycles: int
    row_cycles: int
    group_elements: int
    group_cycles: int


@dataclass(frozen=True)
class CopyTiming:
    """Moving bytes inside a tile, by the largest power of two that divides every
    offset and length of a call's runs (thousandths of a cycle a byte)."""

    call_cycles: int
    milli_cycles_per_byte_8: int
    milli_cycles_per_byte_4: int
    milli_cycles_per_byte_2: int
    milli_cycles_per_byte_1: int
    run_cycles: int  # a run of at least 8 bytes that does not continue the last
    fill_call_cycles: int
    fill_milli_cycles_per_byte: int
    regroup_cycles: int  # extra per map group when element order changes on the way


@dataclass(frozen=True)
class Code:
    """Code bytes on every tile: the runtime, and each codelet that is used."""

    runtime_bytes: int
    matmul_bytes: int
    map_bytes: int
    sum_bytes: int
    reduce_bytes: int
    copy_bytes: int
    step_bytes: int  # control program, per step
    profile_bytes: int


@dataclass(frozen=True)
class Exchange:
    """The fabric between tiles; words are `word_bytes` long, one a cycle each way."""

    word_bytes: int
    latency_cycles: int  # send to arrival, receiver in row 0
    row_latency_cycles: int  # more per row of the receiver
    row_tiles: int  # tiles a row: row = tile // row_tiles
    phase_cycles: int  # fixed cost of a phase beyond its schedule
    send_chunk_words: int  # words that one send control word covers
    max_message_words: int
    control_word_bytes: int
    send_controls: int  # control words per send chunk
    gap_controls: int  # per idle gap before a send
    source_controls: int  # per change of source at the receiver
    pointer_controls: int  # per jump of the receive address
    phase_controls: int  # per tile and phase that the tile takes part in
    pair_tiles: int  # tiles that can send 64-bit items together: 2; 1: none can
    pair_least_items: int  # items of 64 bits that such a run has at least


@dataclass(frozen=True)
class Formats:
    """Number formats the tiles compute with, and how an f8 cast ends at its edges."""

    supported: tuple[str, ...]
    scale_min: int
    scale_max: int
    f8_overflow: str  # "clip" or "nan"


@dataclass(frozen=True)
class Machine:
    """A machine of many tiles. `tiles` is their number, `clock_ghz` their clock."""

    name: str
    tiles: int
    clock_ghz: float
    workers: int
    memory: Memory
    exchange: Exchange
    formats: Formats
    copy: CopyTiming
    code: Code
    matrix: tuple[MatrixMode, ...]
    map: tuple[MapTiming, ...]
    sum: tuple[SumTiming, ...]
    reduce: tuple[ReduceTiming, ...]
    fields: Mapping[str, Any] = field(repr=False, compare=False, hash=False)

    @staticmethod
    def load(name: str) -> Machine:
        """The machine of that name, or of that TOML file. Raises MachineError."""
        return _load(name)

    @staticmethod
    def from_fields(values: Mapping[str, Any]) -> Machine:
        """A machine from nested fields; `base` names what they are laid over."""
        return _build(_over_base(dict(values)))

    @property
    def max_bytes(self) -> int:
        """The largest footprint of a tile: its memory less tail and fixed state."""
        return self.memory.bytes - self.memory.tail_bytes - self.memory.fixed_bytes

    def budget_bytes(self, word: str) -> int | None:
        """Bytes of the budget words `max` and `default`; None for another word."""
        if word == "max":
            return self.max_bytes
        if word == "default":
            return self.memory.default_budget_bytes or self.max_bytes
        return None

    def matrix_mode(self, operand: str, accumulate: str) -> MatrixMode | None:
        """The matrix unit's mode for these formats, or None where it has none."""
        for mode in self.matrix:
            if (mode.operand, mode.accumulate) == (operand, accumulate):
                return mode
        return None

    def latency(self, tile: int) -> int:
        """Cycles from a word's sending to its arrival at `tile`."""
        x = self.exchange
        return x.latency_cycles + x.row_latency_cycles * (tile // x.row_tiles)

    def partner(self, tile: int) -> int | None:
        """The tile whose send lane `tile` can borrow; None where there is none."""
        other = tile ^ 1
        return other if self.exchange.pair_tiles == 2 and other < self.tiles else None

    def element_edges(self) -> list[int]:
        """The addresses where a memory element begins or ends, sorted."""
        edges = [0]
        for region in self.memory.regions:
            end = edges[-1] + region.bytes
            while edges[-1] < end:
                edges.append(min(end, edges[-1] + region.element_bytes))
        return edges


def machine_names() -> tuple[str, ...]:
    """The machines that come with the project."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


@cache
def _load(name: str) -> Machine:
    return _build(_over_base(_read(name)))


def _read(name: str) -> dict[str, Any]:
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not name.endswith(".toml") and name not in machine_names():
        near = difflib.get_close_matches(name, machine_names(), 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        known = ", ".join(machine_names())
        raise MachineError(f"no machine is called '{name}'{hint} (known: {known})")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MachineError(f"machine file '{name}': {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MachineError(f"machine file '{name}': {error}") from error


def _over_base(values: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    base = values.pop("base", None)
    if base is None:
        return values
    if not isinstance(base, str) or depth > 8:
        raise MachineError("'base' must name a machine, and not lead back to itself")
    below = _over_base(_read(base), depth + 1)
    return _merged(below, values)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = _merged(
                cast(Mapping[str, Any], old), cast(Mapping[str, Any], value)
            )
        else:
            result[key] = value
    return result


T = TypeVar("T")


def _build(values: Mapping[str, Any]) -> Machine:
    plain = dict(values)
    machine = _record(Machine, {**plain, "fields": plain}, "machine")
    _check(machine)
    return machine


def _record(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    hints = _hints(kind)
    names = [f.name for f in fields(cast(Any, kind))]
    for key in values:
        if key not in names:
            near = difflib.get_close_matches(key, names, 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise MachineError(f"{where} has no field '{key}'{hint}")
    made: dict[str, Any] = {}
    for name in names:
        optional = type(None) in get_args(hints[name])
        if name not in values and not optional:
            raise MachineError(f"{where} lacks the field '{name}'")
        made[name] = _value(hints[name], values.get(name), f"{where}.{name}")
    return kind(**made)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _value(kind: Any, value: Any, where: str) -> Any:
    if get_origin(kind) is Mapping:
        return value
    if get_origin(kind) is tuple:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise MachineError(f"{where} must be a list")
        inner = get_args(kind)[0]
        items = cast(Sequence[Any], value)
        return tuple(_value(inner, v, f"{where}[{i}]") for i, v in enumerate(items))
    if is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise MachineError(f"{where} must be a table of fields")
        return _record(cast(Any, kind), cast(Mapping[str, Any], value), where)
    if type(None) in get_args(kind):
        return value if value is None else _value(get_args(kind)[0], value, where)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise MachineError(f"{where} must be of kind {kind.__name__}, is {value!r}")
    return value


def _check(machine: Machine) -> None:
    """Refuse sizes that no machine can have."""
    memory = machine.memory
    if not 1 <= machine.tiles < 2047:
        raise MachineError(f"machine.tiles must be 1 to 2046, is {machine.tiles}")
    if sum(region.bytes for region in memory.regions) != memory.bytes:
        raise MachineError(
            f"machine.memory.regions hold {sum(r.bytes for r in memory.regions)} bytes,"
            f" machine.memory.bytes is {memory.bytes}"
        )
    if memory.bytes > 1 << 21:
        raise MachineError("machine.memory.bytes must be at most 2097152 (21 bits)")
    if machine.max_bytes < memory.support_bytes:
        raise MachineError(
            f"machine.memory.support_bytes {memory.support_bytes} is more than the"
            f" {machine.max_bytes} bytes that can be used"
        )
    _check_rows(machine)
    _check_positive(machine)
    _check_exchange(machine.exchange)


def _check_rows(machine: Machine) -> None:
    """Refuse timing tables without the rows that price what no other row does."""
    rows = {("map", row.function, row.format) for row in machine.map}
    rows |= {("sum", "", row.format) for row in machine.sum}
    rows |= {("reduce", "", row.format) for row in machine.reduce}
    needed = [("map", "cast", "any"), ("map", "unary", "any")]
    for table, function, format in [*needed, ("sum", "", "f32"), ("reduce", "", "f32")]:
        if (table, function, format) not in rows:
            row = f"of function '{function}' and format" if function else "of format"
            raise MachineError(f"machine.{table} lacks the row {row} '{format}'")


def _check_positive(machine: Machine) -> None:
    positive: list[tuple[str, float]] = [
        ("clock_ghz", machine.clock_ghz),
        ("workers", machine.workers),
        ("exchange.row_tiles", machine.exchange.row_tiles),
        ("exchange.send_chunk_words", machine.exchange.send_chunk_words),
        ("exchange.max_message_words", machine.exchange.max_message_words),
        ("exchange.pair_least_items", machine.exchange.pair_least_items),
    ]
    for i, mode in enumerate(machine.matrix):
        positive += [
            (f"matrix[{i}].k_block", mode.k_block),
            (f"matrix[{i}].n_block", mode.n_block),
            (f"matrix[{i}].row_step", mode.row_step),
        ]
    tables = {"map": machine.map, "sum": machine.sum, "reduce": machine.reduce}
    for table, rows in tables.items():
        for i, row in enumerate(rows):
            positive.append((f"{table}[{i}].group_elements", row.group_elements))
    for i, region in enumerate(machine.memory.regions):
        positive.append((f"memory.regions[{i}].element_bytes", region.element_bytes))
    for name, value in positive:
        if value <= 0:
            raise MachineError(f"machine.{name} must be more than 0, is {value}")


def _check_exchange(exchange: Exchange) -> None:
    """Refuse a fabric that the rows of a phase cannot speak of."""
    if exchange.word_bytes != 4:
        raise MachineError("machine.exchange.word_bytes must be 4")
    if exchange.send_chunk_words > 64:
        raise MachineError("machine.exchange.send_chunk_words must be at most 64")
    if exchange.pair_tiles not in (1, 2):
        raise MachineError(
            f"machine.exchange.pair_tiles must be 1 or 2, is {exchange.pair_tiles}"
        )
    if exchange.pair_tiles == 2 and exchange.row_tiles % 2:
        raise MachineError(
            "machine.exchange.row_tiles must be even where pair_tiles is 2, is"
            f" {exchange.row_tiles}"
        )
    if exchange.pair_tiles == 2 and (
        exchange.max_message_words < 4 * exchange.pair_least_items
    ):
        raise MachineError(
            "machine.exchange.max_message_words must be at least 4 *"
            f" {exchange.pair_least_items} (pair_least_items) where pair_tiles is 2"
        )
