"""Where the cycles of each step go on every tile: work, and waiting for the slowest.

Steps follow one another on all tiles at once, so a step lasts as long as its slowest
tile; what a tile does not use of it, it waits. In an exchange a tile is busy until its
last word has come or gone and its control words are issued, and then for the fixed
cycles of a phase; a tile that takes no part waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.machine import Machine
from tiledialect.runtime.package import ComputeStep, ExchangeStep, Package, Step
from tiledialect.runtime.rows_decoder import Phase, decode
from tiledialect.runtime.timing import compute_cycles, phase_length

if TYPE_CHECKING:
    from tiledialect.runtime.package import Ints


@dataclass(frozen=True)
class StepProfile:
    """One step: it begins at cycle `start`, takes `cycles`; `busy` is for each tile."""

    name: str
    location: str
    kind: str  # "exchange" or "compute"
    codelets: tuple[str, ...]  # that run somewhere; none in an exchange
    start: int
    cycles: int
    estimate: int | None
    busy: Ints


@dataclass(frozen=True)
class Profile:
    """All steps of a package, and its tiles in classes that compute alike."""

    machine: Machine
    steps: tuple[StepProfile, ...]
    classes: tuple[Ints, ...]  # tiles, ascending; classes by their first tile

    @property
    def cycles(self) -> int:
        return sum(step.cycles for step in self.steps)


def profile(package: Package) -> Profile:
    """Count the cycles of a package's steps on every tile."""
    machine = Machine.from_fields(package.machine)
    busy = [_busy(machine, step) for step in package.steps]
    ends = list(accumulate(cycles for cycles, _ in busy))
    steps = tuple(
        StepProfile(
            step.name,
            step.location,
            "exchange" if isinstance(step, ExchangeStep) else "compute",
            _codelets(step),
            end - cycles,
            cycles,
            step.estimate,
            tiles,
        )
        for step, end, (cycles, tiles) in zip(package.steps, ends, busy, strict=True)
    )
    return Profile(machine, steps, tile_classes(machine.tiles, steps))


def tile_classes(tiles: int, steps: tuple[StepProfile, ...]) -> tuple[Ints, ...]:
    """The tiles with the same cycles in every compute step, class by class."""
    computing = [step.busy for step in steps if step.kind == "compute"]
    if not computing:
        return (np.arange(tiles, dtype=np.int64),)
    _, number = np.unique(np.stack(computing, axis=1), axis=0, return_inverse=True)
    order = np.argsort(number.reshape(-1), kind="stable").astype(np.int64)
    sizes = np.bincount(number.reshape(-1))
    classes = np.split(order, np.cumsum(sizes)[:-1])
    return tuple(sorted(classes, key=lambda members: int(members[0])))


def _busy(machine: Machine, step: Step) -> tuple[int, Ints]:
    """The cycles of a step, and those that each tile works."""
    if isinstance(step, ComputeStep):
        cycles = compute_cycles(machine, step)
        return int(cycles.max(initial=0)), cycles
    phase = decode(step.rows, machine.exchange, machine.tiles)
    busy = _exchange_busy(phase, machine.tiles)
    busy[phase.tiles] += machine.exchange.phase_cycles
    return phase_length(phase) + machine.exchange.phase_cycles, busy


def _exchange_busy(phase: Phase, tiles: int) -> Ints:
    """Cycles from the start of a phase until each tile has done its part."""
    busy = np.zeros(tiles, dtype=np.int64)
    for moved in (phase.receives, phase.sends):
        np.maximum.at(busy, moved.tile, moved.cycle + moved.cycles)
    busy[phase.tiles] = np.maximum(busy[phase.tiles], phase.controls)
    return busy


def _codelets(step: Step) -> tuple[str, ...]:
    if isinstance(step, ExchangeStep):
        return ()
    return tuple(sorted({call.family for call in step.calls}))
