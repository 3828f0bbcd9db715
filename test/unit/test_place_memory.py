"""place-memory: buffers lie where they may, and the map tells the truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import pytest
from placement_oracle import faults

from tiledialect.diagnostics import Infeasible, Refused, Usage
from tiledialect.dialects.buffers import BufferOp, buffer_of
from tiledialect.dialects.codelet import ComputeOp, RunOp
from tiledialect.dialects.memory import ApartOp, ProgramOp
from tiledialect.dialects.module_attributes import the_program
from tiledialect.dialects.support import support_of
from tiledialect.dialects.syntax import integer
from tiledialect.dialects.views import View
from tiledialect.lowering.memory_problem import region_range, tile_classes
from tiledialect.machine import Machine
from tiledialect.passes.place_memory import PlaceMemoryPass
from tiledialect.pipeline import make_context
from tiledialect.placement.csv_format import read_problem
from tiledialect.text.parser import parse_module
from tiledialect.tiles import TileSet

MINI4 = Machine.load("mini4")
STEPS = 5


@dataclass
class Program:
    """A module of random buffers, and its parts."""

    buffers: list[BufferOp]
    steps: list[ComputeOp]

    def place(
        self, dump: Path | None = None, tile: int = 0, **attributes: int
    ) -> ProgramOp:
        """Place it on mini4; the program with addresses and a map."""
        text = 'module attributes {tile.machine = "mini4", tile.rung = 5} {}'
        module = parse_module(make_context(), text, "t.mlir")
        for name, value in attributes.items():
            module.attributes[f"tile.{name}"] = integer(value)
        program = ProgramOp("main", [*self.buffers, *self.aparts, *self.steps])
        module.body.block.add_op(program)
        module.verify()
        path = None if dump is None else str(dump)
        PlaceMemoryPass(dump=path, tile=tile).apply(make_context(), module)
        module.verify()
        return the_program(module, ProgramOp)

    @property
    def aparts(self) -> list[ApartOp]:
        pairs = [(a.result, b.result) for a, b in self.pairs]
        return [ApartOp(pairs, "a test")] if pairs else []

    pairs: list[tuple[BufferOp, BufferOp]]


def random_lifetime(random: Random) -> tuple[tuple[int, int], ...]:
    edges = sorted(random.sample(range(STEPS + 1), 2 * random.randint(1, 2)))
    return tuple(zip(edges[::2], edges[1::2], strict=True))


def random_program(random: Random, most: int) -> Program:
    """Buffers of all kinds, some inside others, some apart, some used by a matmul."""
    buffers: list[BufferOp] = []
    for i in range(random.randint(1, 14)):
        tiles = np.array(random.sample(range(4), random.randint(1, 4)))
        outer = random.choice(buffers) if buffers and random.random() < 0.2 else None
        size, offset = random.randint(0, most), 0
        if outer is not None:
            size = random.randint(0, outer.size)
            offset = random.randint(0, outer.size - size) // 4 * 4
            tiles = outer.tile_set.array()
        buffers.append(
            BufferOp(
                f"b{i}",
                size,
                TileSet.of(tiles),
                purpose="scratch",
                live=random_lifetime(random),
                align=random.choice([1, 2, 4]) if outer else random.choice([4, 8, 24]),
                region="any" if outer else random.choice(["any", "any", "interleaved"]),
                alias=None if outer is None else outer.result,
                alias_offset=offset,
            )
        )
    plain = [buffer for buffer in buffers if buffer.alias is None]
    pairs = [
        (a, b) for a in plain for b in plain if a is not b and random.random() < 0.03
    ]
    steps = [ComputeOp(step, f"C{step}", []) for step in range(STEPS)]
    return Program(buffers, steps, pairs=pairs)


def root(buffer: BufferOp) -> BufferOp:
    while buffer.alias is not None:
        buffer = buffer_of(buffer.alias)
    return buffer


def place_of(buffer: BufferOp) -> int:
    assert buffer.place is not None
    return buffer.place


def meets(one: BufferOp, other: BufferOp) -> bool:
    """Both exist on some tile in some step."""
    tiles = set(one.tile_set.array().tolist()) & set(other.tile_set.array().tolist())
    steps = any(one.is_alive(s) and other.is_alive(s) for s in range(STEPS))
    return bool(tiles) and steps


def addresses(buffer: BufferOp) -> set[int]:
    return set(range(place_of(buffer), place_of(buffer) + buffer.size))


def elements(buffer: BufferOp) -> set[int]:
    edges = MINI4.element_edges()
    return {int(np.searchsorted(edges, at, side="right")) for at in addresses(buffer)}


def taken(program: ProgramOp, tile: int, step: int | None = None) -> set[int]:
    """Addresses that buffers occupy on a tile in a step, or ever."""
    found: set[int] = set()
    for buffer in program.buffers:
        here = tile in buffer.tile_set.array()
        alive = bool(buffer.lifetime) if step is None else buffer.is_alive(step)
        if here and alive:
            found |= addresses(buffer)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_what_placement_holds(seed: int) -> None:
    random = Random(seed)
    made = random_program(random, 600)
    reserve = random.choice([0, 1000])
    program = made.place(reserve=reserve)
    bottom, top = 128 + 2048, 16384 - reserve
    for buffer in program.buffers:
        first, end = place_of(buffer), place_of(buffer) + buffer.size
        assert first % buffer.align.value.data == 0
        assert bottom <= first
        assert end <= top
        assert buffer.region.data == "any" or first >= 8192 or not buffer.size
        if buffer.alias is not None and buffer.alias_offset is not None:
            outer = buffer_of(buffer.alias)
            assert first == place_of(outer) + buffer.alias_offset.value.data
    for one in program.buffers:
        for other in program.buffers:
            if root(one) is not root(other) and meets(one, other):
                assert not addresses(one) & addresses(other)
    for one, other in made.pairs:
        if meets(one, other):
            assert not elements(one) & elements(other)


@pytest.mark.parametrize("seed", range(30))
def test_the_map_counts_bytes(seed: int) -> None:
    program = random_program(Random(seed), 600).place()
    placed = program.map
    assert placed is not None
    peaks = [
        2048 + max(len(taken(program, tile, step)) for tile in range(4))
        for step in range(STEPS)
    ]
    assert list(placed.peaks.get_values()) == peaks
    assert placed.number("live_peak") == max(peaks)
    assert placed.number("peak_step") == peaks.index(max(peaks))
    ever = max(len(taken(program, tile)) for tile in range(4))
    assert placed.number("footprint") == 2048 + ever


@pytest.mark.parametrize("seed", range(30))
def test_a_budget_is_kept_or_refused(seed: int) -> None:
    free = random_program(Random(seed), 600).place().map
    assert free is not None
    # The solver counts a buffer up to its alignment, so a few bytes more are needed.
    made = random_program(Random(seed), 600)
    gaps = sum(-b.size % b.align.value.data for b in made.buffers)
    enough = made.place(budget=free.number("footprint") + gaps).map
    assert enough is not None
    assert enough.number("footprint") <= enough.number("limit")
    least = free.number("live_peak")
    with pytest.raises(Infeasible, match=f"the limit is {least - 1}"):
        random_program(Random(seed), 600).place(budget=least - 1)


@pytest.mark.parametrize("seed", range(40))
def test_the_problem_of_a_tile_is_what_placement_solved(
    seed: int, tmp_path: Path
) -> None:
    """The addresses of the program break no rule of any tile's own problem, and the
    problem has all buffers of the tile, as large as they are."""
    edges = np.array(MINI4.element_edges(), np.int64)
    for tile in range(MINI4.tiles):
        path = tmp_path / f"{tile}.csv"
        program = random_program(Random(seed), 160).place(path, tile)
        here = [b for b in program.buffers if tile in b.tile_set.array()]
        problem = read_problem(path.read_text(), MINI4.memory.bytes, edges).problem
        assert problem.bytes.tolist() == [buffer.size for buffer in here]
        assert list(problem.lifetimes) == [buffer.lifetime for buffer in here]
        assert faults(problem, [place_of(b) for b in here]) == []


def test_a_problem_is_written_whole_or_refused(tmp_path: Path) -> None:
    with pytest.raises(Usage, match="mini4 has no tile 4 to write the problem of"):
        random_program(Random(1), 16).place(tmp_path / "a.csv", 4)
    with pytest.raises(Refused, match=r"cannot write '.*/no/a\.csv': No such file"):
        random_program(Random(1), 16).place(tmp_path / "no" / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_equal_programs_have_equal_addresses() -> None:
    one = random_program(Random(5), 600).place()
    other = random_program(Random(5), 600).place()
    assert [b.place for b in one.buffers] == [b.place for b in other.buffers]


def test_the_reserve_is_taken_from_the_top() -> None:
    """16256 bytes less 2048 of support leave 14208 for one buffer and the reserve."""
    buffer = BufferOp("b", 14208, TileSet.of(np.arange(4)), purpose="scratch")

    def program() -> Program:
        step = ComputeOp(0, "C", [])
        live = BufferOp(
            "b", 14200, buffer.tile_set, purpose="scratch", live=((0, 1),), align=8
        )
        return Program([live], [step], pairs=[])

    assert program().place(reserve=8).buffers[0].place == 2176
    with pytest.raises(Infeasible, match="the limit is 16247"):
        program().place(reserve=9)


def test_classes_are_tiles_that_hold_the_same() -> None:
    sets = ([0, 1, 2], [1, 2, 3], [1, 2])
    buffers = [
        BufferOp(f"b{i}", 4, TileSet.of(np.array(tiles)), purpose="scratch")
        for i, tiles in enumerate(sets)
    ]
    classes, first = tile_classes(MINI4, buffers)
    assert first.tolist() == [0, 1, 3]
    held = [[True, False, False], [True, True, True], [False, True, False]]
    assert classes.T.tolist() == held


def test_regions_are_stretches_of_memory() -> None:
    assert region_range(MINI4, "any") == (0, 16384)
    assert region_range(MINI4, "executable") == (0, 8192)
    assert region_range(MINI4, "interleaved") == (8192, 16384)


def test_equal_maps_are_one_chain() -> None:
    """Code is kept once a chain: stages, and the format they start in."""
    everywhere = TileSet.of(np.arange(4))
    one, other = (
        BufferOp(n, 64, everywhere, purpose="scratch", live=((0, 1),)) for n in "ab"
    )
    calls = [
        map_call(one, other, "gelu_tanh", "f16"),
        map_call(one, other, "gelu_tanh", "f16"),
        map_call(one, other, "gelu_tanh", "f32"),
        map_call(one, other, "exp", "f16"),
    ]
    program = ProgramOp("main", [one, other, ComputeOp(0, "C", calls)])
    code = MINI4.code
    support = support_of(MINI4, program)
    assert support.code == code.runtime_bytes + 3 * code.map_bytes
    assert support.program == code.step_bytes
    assert support.bytes == MINI4.memory.support_bytes


def map_call(one: BufferOp, other: BufferOp, function: str, format: str) -> RunOp:
    from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr

    width = 4 if format == "f32" else 2
    view = View(format, (((16, width),),))
    stage = {"function": StringAttr(function), "format": StringAttr(format)}
    stages = ArrayAttr([DictionaryAttr(stage)])
    return RunOp(
        "map",
        one.tile_set,
        {"d0": 16},
        [(one.result, view)],
        [(other.result, view)],
        {"stages": stages},
    )
