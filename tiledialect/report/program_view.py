"""What the page shows of one compiled program: all of it from the package alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from tiledialect.machine import Machine
from tiledialect.report.memory_map import MemoryData, memory_data
from tiledialect.report.tile_classes import TileClasses, tile_classes
from tiledialect.report.timeline import StepData, step_data
from tiledialect.report.traffic import Exchange, ExchangeData
from tiledialect.runtime.package import ExchangeStep
from tiledialect.runtime.rows_decoder import decode

if TYPE_CHECKING:
    from tiledialect.runtime.package import Package


class ClassData(TypedDict):
    """A class of tiles: how many, and its lowest tile."""

    tiles: int
    first: int


class SupportData(TypedDict):
    """Bytes below the tensors, all of them and in parts."""

    bytes: int
    code: int
    rows: int
    program: int
    profile: int


class ProgramData(TypedDict):
    """A program, ready for the page. `class_runs` are [class, tiles in a row]; `peak`
    is the largest live sum of any class and step."""

    entry: str
    machine: str
    tiles: int
    clock_ghz: float
    memory_bytes: int
    region_edges: list[int]
    fixed_bytes: int
    budget: int
    reserve: int
    footprint: int
    live_peak: int
    support: SupportData
    cycles: int
    estimated_cycles: int
    classes: list[ClassData]
    class_runs: list[list[int]]
    steps: list[StepData]
    memory: MemoryData
    exchange: ExchangeData


def program_data(package: Package) -> ProgramData:
    """The views of a package. Raises what decoding its rows raises."""
    machine = Machine.from_fields(package.machine)
    classes = tile_classes(machine, package)
    exchange = Exchange(machine)
    steps: list[StepData] = []
    for number, step in enumerate(package.steps):
        phase = None
        if isinstance(step, ExchangeStep):
            phase = decode(step.rows, machine.exchange, machine.tiles)
            exchange.add(number, step, phase)
        steps.append(step_data(machine, classes, step, phase))
    return {
        "entry": package.entry,
        "machine": machine.name,
        "tiles": machine.tiles,
        "clock_ghz": machine.clock_ghz,
        "memory_bytes": machine.memory.bytes,
        "region_edges": _region_edges(machine),
        "fixed_bytes": machine.memory.fixed_bytes,
        "budget": package.budget,
        "reserve": package.reserve,
        "footprint": package.footprint,
        "live_peak": package.live_peak,
        "support": _support(package),
        "cycles": sum(step["cycles"] for step in steps),
        "estimated_cycles": package.estimated_cycles,
        "classes": _class_data(classes),
        "class_runs": classes.runs(),
        "steps": steps,
        "memory": memory_data(package, classes),
        "exchange": exchange.data(),
    }


def _region_edges(machine: Machine) -> list[int]:
    """Where the regions of a tile's memory begin and end."""
    sizes = [region.bytes for region in machine.memory.regions]
    return [0, *np.cumsum(np.array(sizes, dtype=np.int64)).tolist()]


def _support(package: Package) -> SupportData:
    support = package.support
    return {
        "bytes": support.bytes,
        "code": support.code,
        "rows": support.rows,
        "program": support.program,
        "profile": support.profile,
    }


def _class_data(classes: TileClasses) -> list[ClassData]:
    pairs = zip(classes.count.tolist(), classes.first.tolist(), strict=True)
    return [{"tiles": count, "first": first} for count, first in pairs]
