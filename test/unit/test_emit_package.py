"""The package holds what the placed program says, at true addresses."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest
from layout_oracle import places, random_pair, random_reduce_scatter
from row_words import words_received, words_sent
from xdsl.dialects.builtin import ModuleOp

from tiledialect.backend.call_runs import copy_runs, fill_runs
from tiledialect.backend.emit_package import package_bytes
from tiledialect.diagnostics import Refused
from tiledialect.dialects.exchange import PhaseOp
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import the_program
from tiledialect.layout import Cut, Factor, Group, Layout
from tiledialect.machine import Machine
from tiledialect.passes.place_memory import PlaceMemoryPass
from tiledialect.passes.schedule_exchange import ScheduleExchangePass
from tiledialect.pipeline import make_context
from tiledialect.rows import Rows, window_bases
from tiledialect.runtime.package import (
    Call,
    ComputeStep,
    ExchangeStep,
    Moves,
    Package,
    from_bytes,
)
from tiledialect.text.parser import parse_module
from tiledialect.text.printer import print_module

TEXT = """
module attributes {
  tile.machine = {base = "mini4", clock_ghz = 2.0}, tile.rung = 4, tile.budget = 9000,
  tile.reserve = 64, tile.source = "func.func @f() {}\\n", tile.entry = "f",
  tile.certificate = {words = "optimal", bound = 7}
} {
  memory.program @f {
    %x = memory.buffer input "x" 16 bytes on <0 [4:1]> live [0, 1) from "f.mlir":1:8
    %c = memory.buffer constant "c" 8 bytes on <0> live [0, 3) from "f.mlir":2:8
    %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> live [0, 2) from "f.mlir":3:8
    %z = memory.buffer output "z" 64 bytes on <0 [4:1]> live [1, 3) from "f.mlir":3:8
    memory.bind input 0 "x" %x : tensor<4x4xf32>
      layout <[16] bytes 4 spread [4 step 1] packed> from "f.mlir":1:8
    memory.bind constant 0 "c" %c : tensor<2xf32>
      layout <[2] bytes 4> = dense<[1.0, 2.0]> : tensor<2xf32> from "f.mlir":2:8
    memory.bind output 0 "z" %z : tensor<4x8xf8E4M3FNUZ, #tile.scale<-2>>
      layout <[32] bytes 1 replicas [4 step 1]> from "f.mlir":3:8
    exchange.phase 0 "gather" estimate 70 {
      exchange.move %x to %y : <[16] bytes 4 spread [4 step 1]>
        to <[16] bytes 4 replicas [4 step 1]> from "f.mlir":3:8
    } from "f.mlir":3:8
    codelet.compute 1 "C" estimate 9 {
      codelet.fill whole %z on <0 [4:1]> : <[64] bytes 1> from "f.mlir":3:8
      codelet.copy %y to %z : <[8, 8] bytes 1>
        to <[8, 8] bytes 1 order [1, 0]> from "f.mlir":3:8
      codelet.run map (d0 8) on <1, 2> (%y: f16 at 8 d0 [8:2]) -> (%z: f16 d0 [8:4])
        {stages = [{function = "add", operands = [], format = "f16", scale = 0}]}
        from "f.mlir":3:8
    } from "f.mlir":3:8
    exchange.phase 2 "none" {
    }
  }
}
"""


def placed() -> ModuleOp:
    context = make_context()
    module = parse_module(context, TEXT, "t.mlir")
    ScheduleExchangePass().apply(context, module)
    PlaceMemoryPass().apply(context, module)
    module.verify()
    return module


def read_back() -> tuple[Package, dict[str, int]]:
    """The package of TEXT as a reader finds it, and the buffers' addresses."""
    package = from_bytes(package_bytes(placed()))
    return package, {buffer.name: buffer.address for buffer in package.buffers}


def test_what_the_module_carries() -> None:
    package, _ = read_back()
    assert (package.budget, package.reserve, package.entry) == (9000, 64, "f")
    assert package.source == "func.func @f() {}\n"
    assert package.certificate == {"words": "optimal", "bound": 7}
    assert package.estimated_cycles == 79
    machine = Machine.from_fields(package.machine)
    assert (machine.tiles, machine.clock_ghz) == (4, 2.0)
    map = the_program(placed(), ProgramOp).map
    assert map is not None
    assert package.footprint == map.number("footprint")
    assert package.live_peak == map.number("live_peak")
    assert package.support.rows == map.number("row_bytes")
    assert package.support.bytes == 2048


def test_binds_and_buffers() -> None:
    package, at = read_back()
    x, c, z = package.binds
    assert (x.kind, x.index, x.name) == ("input", 0, "x")
    assert (x.element, x.shape) == ("f32", (4, 4))
    assert (x.address, x.bytes) == (at["x"], 16)
    assert x.layout.spread == (Group(4, 1),)
    assert np.frombuffer(c.data, np.float32).tolist() == [1.0, 2.0]
    assert (z.element, z.scale, z.shape) == ("f8E4M3FNUZ", -2, (4, 8))
    assert z.address == at["z"]
    assert [b.location for b in package.buffers][:2] == ["f.mlir:1:8", "f.mlir:2:8"]
    assert package.buffers[3].live == ((1, 3),)
    assert package.buffers[3].purpose == "output"


def test_calls_lie_at_their_addresses() -> None:
    package, at = read_back()
    step = package.steps[1]
    assert isinstance(step, ComputeStep)
    assert (step.name, step.location, step.estimate) == ("C", "f.mlir:3:8", 9)
    fill, copy, run = step.calls
    assert isinstance(fill, Moves)
    assert fill.family == "fill"
    assert (fill.tile.tolist(), fill.bytes.tolist()) == ([0, 1, 2, 3], [64] * 4)
    assert fill.destination.tolist() == [at["z"]] * 4
    assert isinstance(copy, Moves)
    runs = zip(copy.source.tolist(), copy.destination.tolist(), strict=True)
    assert {(s - at["y"], d - at["z"]) for s, d in runs} == {
        (8 * i + j, 8 * j + i) for i in range(8) for j in range(8)
    }
    assert isinstance(run, Call)
    assert run.tiles.array().tolist() == [1, 2]
    assert (run.dims, run.extents) == (("d0",), (8,))
    assert run.inputs[0].address == at["y"] + 8
    assert run.outputs[0].axes == (((8, 4),),)
    stage = '{"format": "f16", "function": "add", "operands": [], "scale": 0}'
    assert json.dumps(run.parameters, sort_keys=True) == f'{{"stages": [{stage}]}}'


def test_rows_name_true_addresses() -> None:
    module = placed()
    package, at = read_back()
    step = package.steps[0]
    assert isinstance(step, ExchangeStep)
    phase = the_program(module, ProgramOp).steps[0]
    assert isinstance(phase, PhaseOp)
    assert phase.rows is not None
    moved = Rows(*vars(step.rows).values())
    base = window_bases([16, 64]).tolist()
    assert words_sent(moved) == {
        slot: address + at["x"] for slot, address in words_sent(phase.rows.data).items()
    }
    assert words_received(moved) == {
        slot: (source, address - base[1] + at["y"])
        for slot, (source, address) in words_received(phase.rows.data).items()
    }
    assert (step.length, step.bound) == (28, (28, 14, 8))
    assert (step.messages, step.estimate) == (4, 70)


def test_every_rung_leads_to_the_same_bytes() -> None:
    module = placed()
    text = print_module(module)
    again = parse_module(make_context(), text, "elsewhere.mlir")
    assert print_module(again) == text
    assert package_bytes(again) == package_bytes(module)


def test_a_module_that_is_not_placed_is_refused() -> None:
    context = make_context()
    module = parse_module(context, TEXT, "t.mlir")
    with pytest.raises(Refused, match="package reads rung 6"):
        package_bytes(module)


@pytest.mark.parametrize("seed", range(40))
def test_copies_are_those_of_the_relayout(seed: int) -> None:
    """The bytes that lie on their tile already are copied where they belong."""
    random = Random(seed)
    source, destination = random_pair(random)
    runs = copy_runs(source, destination, stack=False)
    written: dict[tuple[int, int], tuple[int, bool]] = {}
    for tile, start, to, size, staged in zip(*vars(runs).values(), strict=True):
        for i in range(int(size)):
            written[int(tile), int(to) + i] = (int(start) + i, bool(staged))
    alone = not source.replicas and not destination.replicas
    for one, other in zip(places(source), places(destination), strict=True):
        for byte in range(source.element_bytes):
            found = written.get((other.tile, other.offset + byte))
            if alone and one.tile == other.tile:
                assert found is not None
            if found is not None and not found[1]:
                assert found[0] == one.offset + byte


@pytest.mark.parametrize("seed", range(10))
def test_copies_of_a_stack(seed: int) -> None:
    source, destination = random_reduce_scatter(Random(seed))
    runs = copy_runs(source, destination, stack=True)
    assert source.partial is not None
    columns = (runs.tile, runs.destination, runs.bytes)
    written = [
        (tile, to + i)
        for tile, to, size in zip(*(c.tolist() for c in columns), strict=True)
        for i in range(size)
    ]
    assert len(set(written)) == len(written)
    ends = [at for _, at in written]
    assert max(ends, default=0) < source.partial.count * destination.tile_bytes
    assert bool(written) == (seed not in (5, 6, 7)), "some lie where they belong"


RAGGED = Layout(
    (7, 5),
    2,
    ((Cut(2, 1),), (Cut(2, 2),)),
    (Factor(0), Factor(1)),
    replicas=(Group(2, 8),),
)


def test_a_fill_covers_what_holds_no_element() -> None:
    """Blocks of 4 x 3 elements of 2 bytes, their rows padded to 8: 32 bytes."""
    tiles = np.array([0, 3, 8])
    held: dict[int, set[int]] = {}
    for place in places(RAGGED):
        for tile in (place.tile, place.tile + 8):
            held.setdefault(tile, set()).update({place.offset, place.offset + 1})
    filled: dict[int, set[int]] = {}
    runs = fill_runs(RAGGED, tiles, whole=False)
    for tile, to, size in zip(*vars(runs).values(), strict=True):
        filled.setdefault(int(tile), set()).update(range(int(to), int(to + size)))
    assert filled == {t: set(range(32)) - held[t] for t in (0, 3, 8)}


def test_a_fill_of_an_axis_is_one_stretch() -> None:
    """Tile 3 has 2 of 3 columns (of 4 places, 8 bytes) in 3 of 4 rows; tile 1 all 3."""
    runs = fill_runs(RAGGED, np.array([1, 3]), whole=False, axis=1)
    assert runs.tile.tolist() == [1, 3]
    assert runs.destination.tolist() == [6, 4]
    assert (runs.destination + runs.bytes).tolist() == [24, 24]
