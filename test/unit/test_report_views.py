"""What the page shows of a program, against the package and the simulator.

Everything is counted again here, tile by tile and byte by byte.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from ladder import Checked, checked, compiled

from tiledialect.machine import Machine
from tiledialect.report.gather import source_lines
from tiledialect.report.plan_view import plan_groups
from tiledialect.report.program_view import ProgramData, program_data
from tiledialect.report.tile_classes import TileClasses, tile_classes
from tiledialect.runtime.package import (
    ComputeStep,
    ExchangeStep,
    Package,
    Step,
    read,
)
from tiledialect.runtime.rows_decoder import decode
from tiledialect.runtime.timing import compute_cycles
from tiledialect.tools.report_session import parse_plan

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module", params=["matmul_ragged", "tiny_mlp"])
def done(request: pytest.FixtureRequest) -> Checked:
    """A simulated program; the ragged one has several classes of tiles."""
    return checked(compiled((EXAMPLES / f"{request.param}.mlir").read_text()))


@pytest.fixture(scope="module")
def package(done: Checked) -> Package:
    return done.package


@pytest.fixture(scope="module")
def program(package: Package) -> ProgramData:
    return program_data(package)


def classes_of(program: ProgramData) -> list[int]:
    """The class of every tile."""
    return [number for number, run in program["class_runs"] for _ in range(run)]


def test_classes_partition_the_tiles(program: ProgramData) -> None:
    of_tile = classes_of(program)
    assert len(of_tile) == program["tiles"]
    for number, one in enumerate(program["classes"]):
        assert of_tile.count(number) == one["tiles"]
        assert of_tile.index(number) == one["first"]
    sizes = [one["tiles"] for one in program["classes"]]
    assert sizes == sorted(sizes, reverse=True)


def test_tiles_of_a_class_hold_the_same_buffers(package: Package) -> None:
    classes = tile_classes(Machine.from_fields(package.machine), package)
    for buffer in package.buffers:
        for number in set(classes.of_tile[buffer.tiles.array()].tolist()):
            own = np.flatnonzero(classes.of_tile == number)
            assert set(own.tolist()) <= set(buffer.tiles.array().tolist())


def test_classes_find_their_extremes_and_who_has_them() -> None:
    classes = TileClasses(np.array([0, 1, 0, 0, 1]), np.array([0, 1]), np.array([3, 2]))
    values = np.array([4, 9, 7, 7, 9])
    most, tiles = classes.most(values)
    assert (most.tolist(), tiles.tolist()) == ([7, 9], [2, 1])
    assert classes.least(values).tolist() == [4, 9]
    assert classes.runs() == [[0, 1], [1, 1], [0, 2], [1, 1]]


def test_steps_add_up_to_the_cycles_of_the_simulator(
    program: ProgramData, done: Checked
) -> None:
    assert sum(step["cycles"] for step in program["steps"]) == done.result.cycles
    assert program["cycles"] == done.result.cycles
    for step, result in zip(program["steps"], done.result.steps, strict=True):
        assert (step["name"], step["kind"]) == (result.name, result.kind)
        assert (step["cycles"], step["estimate"]) == (result.cycles, result.estimate)


def test_the_slowest_tile_makes_a_step_as_long_as_it_is(
    package: Package, program: ProgramData
) -> None:
    machine = Machine.from_fields(package.machine)
    of_tile = classes_of(program)
    for step, data in zip(package.steps, program["steps"], strict=True):
        assert max(data["busy"]) + data["fixed"] == data["cycles"]
        at = of_tile[data["slowest_tile"]]
        assert data["busy"][at] == max(data["busy"])
        own = busy_by_hand(machine, step)
        for number in range(len(program["classes"])):
            mine = [value for tile, value in enumerate(own) if of_tile[tile] == number]
            assert data["busy"][number] == max(mine)
            assert data["least"][number] == min(mine)
            assert own[data["slowest"][number]] == max(mine)


def busy_by_hand(machine: Machine, step: Step) -> list[int]:
    """How long each tile computes, or when it is through with a phase, message by
    message."""
    if isinstance(step, ComputeStep):
        return [int(value) for value in compute_cycles(machine, step)]
    phase = decode(step.rows, machine.exchange, machine.tiles)
    end: list[int] = [0] * machine.tiles
    ends = [(phase.tiles, phase.controls)]
    ends += [(p.tile, p.cycle + p.words) for p in (phase.sends, phase.receives)]
    for tiles, cycles in ends:
        for tile, cycle in zip(tiles, cycles, strict=True):
            end[int(tile)] = max(end[int(tile)], int(cycle))
    return end


def test_bytes_add_up_to_the_live_peak_and_the_footprint(
    package: Package, program: ProgramData
) -> None:
    memory = program["memory"]
    assert max(map(max, memory["live"])) == package.live_peak
    assert max(memory["ever"]) == package.footprint
    support = program["support"]["bytes"]
    for number in range(len(program["classes"])):
        ever = np.zeros(program["memory_bytes"], np.bool_)
        for step in range(len(package.steps)):
            now = np.zeros_like(ever)
            for buffer in memory["buffers"]:
                if number in buffer["classes"] and any(
                    first <= step < end for first, end in buffer["live"]
                ):
                    now[buffer["address"] : buffer["address"] + buffer["bytes"]] = True
            assert memory["live"][number][step] == support + int(now.sum())
            ever |= now
        assert memory["ever"][number] == support + int(ever.sum())


def test_buffers_are_those_of_the_package(
    package: Package, program: ProgramData
) -> None:
    of_tile = classes_of(program)
    for buffer, data in zip(package.buffers, program["memory"]["buffers"], strict=True):
        tiles = [t for t, number in enumerate(of_tile) if number in data["classes"]]
        assert buffer.tiles.array().tolist() == tiles
        assert (buffer.name, buffer.address, buffer.bytes) == (
            data["name"],
            data["address"],
            data["bytes"],
        )
    assert program["region_edges"][-1] == program["memory_bytes"]


def test_traffic_adds_up_to_the_words_received(
    package: Package, program: ProgramData
) -> None:
    machine = Machine.from_fields(package.machine)
    exchange = program["exchange"]
    assert exchange["bins"] * exchange["bin_tiles"] >= machine.tiles
    received: dict[str, dict[int, int]] = {}
    for data in exchange["phases"]:
        step = package.steps[data["step"]]
        assert isinstance(step, ExchangeStep)
        phase = decode(step.rows, machine.exchange, machine.tiles)
        cells = received.setdefault(step.name, {})
        for source, tile, words in zip(
            phase.receives.source,
            phase.receives.tile,
            phase.receives.words,
            strict=True,
        ):
            row, column = source // exchange["bin_tiles"], tile // exchange["bin_tiles"]
            at = int(row * exchange["bins"] + column)
            cells[at] = cells.get(at, 0) + int(words)
        assert data["words"] == int(phase.receives.words.sum())
        assert exchange["traffic"][data["traffic"]]["name"] == data["name"]
        assert data["length"] == max(busy_by_hand(machine, step)) == step.length
        assert max(data["bound"]) <= data["length"]
        tile, words = data["busiest_out"]
        sent = phase.sends.words[phase.sends.tile == tile]
        assert words == int(sent.sum())
    for one in exchange["traffic"]:
        assert {cell: words for cell, words in one["cells"]} == received[one["name"]]
        assert one["words"] == sum(received[one["name"]].values())
        assert all(a[1] >= b[1] for a, b in pairwise(one["ports_in"]))


def test_the_plan_says_what_the_package_was_made_from(small_sweep: Path) -> None:
    case = small_sweep / "cases" / "b1-fp8-default"
    package = read(str(case / "case.tilepkg"))
    path = case / "plan.mlir"
    groups = plan_groups(parse_plan(path.read_text(), str(path)))
    estimates = sum(
        row["compute"] + row["exchange"] for group in groups for row in group["rows"]
    )
    assert estimates == package.estimated_cycles
    places = {step.location for step in package.steps}
    assert {group["location"] for group in groups} == places
    for group in groups:
        assert 1 <= group["tiles"] <= 16
        assert group["grid"].startswith("b 1, m ")
        kinds = [row["kind"] for row in group["rows"]]
        assert "compute" in kinds
        assert "relayout" in kinds


STEPS = """
module attributes {tile.machine = "mini16", tile.rung = 3 : i64} {
  func.func @f(%x: tensor<32xf16>) -> tensor<32xf16> {
    %a = plan.load %x for "g" : tensor<32xf16> layout <[32] bytes 2>
    %b = plan.relayout %a for "g" slot "s" estimate 1 exchange 2
      : tensor<32xf16> layout <[32 / 4 step 1] bytes 2 window [0 from 0 for 4]>
    %c = plan.relayout %a for "g" slot "s" estimate 1 exchange 3
      : tensor<32xf16> layout <[32 / 4 step 1] bytes 2 window [0 from 4 for 4]>
    %d = plan.relayout %a for "g" estimate 0 exchange 7
      : tensor<32xf16> layout <[32 / 4 step 1] bytes 2>
    func.return %d : tensor<32xf16>
  }
}
"""


def test_steps_that_differ_in_their_window_are_one_row() -> None:
    (group,) = plan_groups(parse_plan(STEPS, "steps.mlir"))
    rows = [(r["kind"], r["count"], r["compute"], r["exchange"]) for r in group["rows"]]
    assert rows == [("load", 1, 0, 0), ("relayout", 2, 2, 5), ("relayout", 1, 0, 7)]
    assert group["rows"][1]["what"] == "a moved to the slot s"
    assert group["rows"][1]["where"] == "4 blocks, a window at a time"


CHUNKS = """
module attributes {tile.machine = "mini16", tile.rung = 3 : i64} {
  func.func @f(%x: tensor<32xf16>) -> tensor<32xf16> {
    %a = plan.compute map (m) grid <[32 / 4 step 1] bytes 1 range [0 from 0 for 4]>
      (%x [m] : tensor<32xf16>) -> [m] for "g" {stages = []} estimate 5
      : tensor<32xf16> layout <[32 / 4 step 1] bytes 2 range [0 from 0 for 4]>
    %b = plan.compute reduce (m) grid <[32 / 4 step 1] bytes 1 range [0 from 0 for 4]>
      (%a [m] : tensor<32xf16>) -> [m] for "g" {function = "sum"} estimate 7
      : tensor<32xf16> layout <[32 / 4 step 1] bytes 2 range [0 from 0 for 4]>
    %c = plan.compute reduce (m) grid <[32 / 4 step 1] bytes 1 range [0 from 4 for 4]>
      (%a [m] : tensor<32xf16>) -> [m] for "g" {function = "sum"} estimate 8
      : tensor<32xf16> layout <[32 / 4 step 1] bytes 2 range [0 from 4 for 4]>
    func.return %c : tensor<32xf16>
  }
}
"""


def test_chunks_are_counted_apart_from_steps_in_time() -> None:
    (group,) = plan_groups(parse_plan(CHUNKS, "chunks.mlir"))
    assert (group["chunks"], group["steps"], group["tiles"]) == (2, 1, 4)
    assert [(row["count"], row["compute"]) for row in group["rows"]] == [
        (1, 5),
        (2, 15),
    ]
    assert group["rows"][1]["where"] == "4 blocks, a chunk at a time"


def test_locations_lead_to_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "input.mlir"
    path.write_text("one\n  two\n")
    places = ["other/name.mlir:2:3", "x:9:1", "<unknown>"]
    assert source_lines(path, places) == {"other/name.mlir:2:3": "two"}
    assert source_lines(tmp_path / "absent", places) == {}
