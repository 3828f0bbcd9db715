"""The timeline: what each class of tiles does in each step, and who is slowest.

Cycles are counted as the simulator counts them. A step lasts as long as its slowest
tile: `busy` and the wait behind it add up to the step, the steps to the program.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from tiledialect.runtime.package import ExchangeStep, Moves
from tiledialect.runtime.timing import call_cycles, compute_cycles, moves_cycles

if TYPE_CHECKING:
    from tiledialect.machine import Machine
    from tiledialect.report.tile_classes import TileClasses
    from tiledialect.runtime.package import Call, ComputeStep, Ints, Step
    from tiledialect.runtime.rows_decoder import Phase


class StepData(TypedDict):
    """A step. `busy`, `least` and `slowest` have one entry a class: cycles of its
    slowest and its fastest tile, and the slowest tile's number. `fixed` are the cycles
    that a phase takes beyond its schedule."""

    name: str
    location: str
    kind: str
    cycles: int
    estimate: int | None
    fixed: int
    slowest_tile: int
    codelets: list[str]
    busy: list[int]
    least: list[int]
    slowest: list[int]


def step_data(
    machine: Machine, classes: TileClasses, step: Step, phase: Phase | None
) -> StepData:
    """One step of the timeline; `phase` is what an exchange step's rows decode to."""
    if phase is not None:
        own, fixed = exchange_cycles(machine, phase), machine.exchange.phase_cycles
    else:
        assert not isinstance(step, ExchangeStep)
        own, fixed = compute_cycles(machine, step), 0
    busy, slowest = classes.most(own)
    return {
        "name": step.name,
        "location": step.location,
        "kind": "compute" if phase is None else "exchange",
        "cycles": int(own.max(initial=0)) + fixed,
        "estimate": step.estimate,
        "fixed": fixed,
        "slowest_tile": int(own.argmax()),
        "codelets": [] if isinstance(step, ExchangeStep) else codelets(machine, step),
        "busy": busy.tolist(),
        "least": classes.least(own).tolist(),
        "slowest": slowest.tolist(),
    }


def exchange_cycles(machine: Machine, phase: Phase) -> Ints:
    """When each tile is through with a phase: its last word in or out, its controls."""
    end = np.zeros(machine.tiles, dtype=np.int64)
    for part in (phase.sends, phase.receives):
        np.maximum.at(end, part.tile, part.cycle + part.cycles)
    np.maximum.at(end, phase.tiles, phase.controls)
    return end


def codelets(machine: Machine, step: ComputeStep) -> list[str]:
    """One line for each kind of call of a compute set, in order."""
    tiles: Counter[tuple[str, str]] = Counter()
    for call in step.calls:
        if isinstance(call, Moves):
            who, cycles = moves_cycles(machine, call)
            bytes = int(call.bytes.sum())
            what = f"{call.family} {len(call.bytes):,} runs of {bytes:,} bytes in all"
            most = int(cycles.max(initial=0))
            tiles[(what, f"at most {most:,} cycles")] += len(who)
        else:
            taken = call_cycles(machine, call)
            tiles[(_call_text(call), f"{taken:,} cycles")] += len(call.tiles)
    return [
        f"{what} on {count:,} tiles: {took}" for (what, took), count in tiles.items()
    ]


def _call_text(call: Call) -> str:
    """Family, functions, format and extents of a call."""
    words = [call.family]
    stages = call.parameters.get("stages")
    if isinstance(stages, list):
        functions = [s["function"] for s in stages if isinstance(s, dict)]
        words.append("+".join(str(name) for name in functions))
    function = call.parameters.get("function")
    if isinstance(function, str) and function != call.family:
        words.append(function)
    extents = zip(call.dims, call.extents, strict=True)
    words.append("(" + ", ".join(f"{dim} {extent}" for dim, extent in extents) + ")")
    formats = [view.format for view in (*call.inputs[:1], *call.outputs[:1])]
    words.append(" to ".join(dict.fromkeys(formats)))
    return " ".join(words)
