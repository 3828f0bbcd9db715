"""The profile of a package as Chrome trace JSON, which Perfetto opens.

Trace Event Format: complete events ("ph": "X") by process and thread, and metadata
events with their names. The first process is the machine as a whole, one event a step;
the second has a thread for each class of tile, and there each step is its work
("compute" or "exchange") and then its "wait". The events of a thread follow each other
without a gap, and sum to the cycles of the program.

The format's microseconds stand for cycles. At the true clock events would begin and end
between nanoseconds, and readers that round drop those that then overlap.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tiledialect.runtime.profile import Profile, StepProfile, profile
from tiledialect.tools.run_arrays import write_file

if TYPE_CHECKING:
    from tiledialect.runtime.package import Ints, Package

MACHINE_PROCESS, TILES_PROCESS = 1, 2

STEPS_THREAD, FIRST_CLASS_THREAD = 1, 2
"""Perfetto knows a thread by its number alone, whatever its process, and has plans of
its own for number 0."""

Event = dict[str, Any]


def write_profile(path: str, package: Package) -> None:
    """Write the profile of a package; the file is there whole or not at all."""
    text = json.dumps(chrome_trace(profile(package)), indent=0, allow_nan=False)
    write_file(path, f"{text}\n".encode())


def chrome_trace(measured: Profile) -> dict[str, Any]:
    """A profile in the Trace Event Format."""
    events = [
        _named(
            "process_name",
            MACHINE_PROCESS,
            STEPS_THREAD,
            f"{measured.machine.name}: steps",
        ),
        _named("thread_name", MACHINE_PROCESS, STEPS_THREAD, "every step"),
        _named("process_name", TILES_PROCESS, FIRST_CLASS_THREAD, "classes of tile"),
    ]
    events += [
        _event(step.name, step.kind, (0, step.cycles), step)
        | {
            "pid": MACHINE_PROCESS,
            "tid": STEPS_THREAD,
            "args": _step_args(number, step),
        }
        for number, step in enumerate(measured.steps)
    ]
    for thread, tiles in enumerate(measured.classes, FIRST_CLASS_THREAD):
        name = f"{len(tiles)} tiles, first {tiles[0]}"
        events.append(_named("thread_name", TILES_PROCESS, thread, name))
        for number, step in enumerate(measured.steps):
            events += _class_events(number, step, thread, tiles)
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {
            "machine": measured.machine.name,
            "clock_ghz": measured.machine.clock_ghz,
            "cycles": measured.cycles,
        },
    }


def _class_events(
    number: int, step: StepProfile, thread: int, tiles: Ints
) -> list[Event]:
    """What a class of tile does in a step: its work up to its slowest tile, a wait."""
    busy = step.busy[tiles]
    slowest = int(tiles[busy.argmax()])
    work = int(busy.max())
    parts = ((step.kind, 0, work), ("wait", work, step.cycles))
    return [
        _event(step.name if kind != "wait" else "wait", kind, (begin, end), step)
        | {
            "pid": TILES_PROCESS,
            "tid": thread,
            "args": {
                "step": number,
                "cycles": end - begin,
                "slowest_tile": slowest,
                "location": step.location,
            },
        }
        for kind, begin, end in parts
        if end > begin
    ]


def _event(name: str, kind: str, part: tuple[int, int], step: StepProfile) -> Event:
    """A complete event over a part of a step, in cycles from its beginning."""
    begin, end = part
    return {
        "name": name,
        "cat": kind,
        "ph": "X",
        "ts": step.start + begin,
        "dur": end - begin,
    }


def _step_args(number: int, step: StepProfile) -> Event:
    slowest = int(step.busy.argmax())
    return {
        "step": number,
        "cycles": step.cycles,
        "estimated_cycles": step.estimate,
        "slowest_tile": slowest,
        "tiles_at_work": int((step.busy > 0).sum()),
        "codelets": list(step.codelets),
        "location": step.location,
    }


def _named(what: str, process: int, thread: int, name: str) -> Event:
    """A metadata event that names a process or thread."""
    return {
        "name": what,
        "cat": "__metadata",
        "ph": "M",
        "ts": 0,
        "pid": process,
        "tid": thread,
        "args": {"name": name},
    }
