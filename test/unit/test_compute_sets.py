"""Compute sets on hand-made packages: numbers, refusals, memory, cycles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from handmade import (
    BASE,
    MINI4,
    bind,
    buffer,
    compute,
    package,
    shift_package,
    tiles,
    view,
)

from tiledialect.diagnostics import Refused
from tiledialect.machine import Machine
from tiledialect.runtime.package import Call, ComputeStep, Moves, Package, View
from tiledialect.runtime.simulator import Result, Simulator
from tiledialect.runtime.timing import compute_cycles, step_cycles

X = np.arange(1, 9, dtype=np.float32)
A, B, C = BASE, BASE + 1024, BASE + 2048  # in different memory elements
UPPER = 8192  # interleaved memory


def run(made: Package) -> Result:
    return Simulator(made).run({"x": X})


def refuse(made: Package, words: str) -> None:
    with pytest.raises(Refused, match=re.escape(words)) as caught:
        run(made)
    assert "\n" not in str(caught.value)


def f32(address: int, *axes: Sequence[tuple[int, int]]) -> View:
    return view(address, "f32", *axes)


def map_call(source: int, target: int, function: str = "neg", **changes: Any) -> Call:
    """A map of two f32 on every tile."""
    call = Call(
        "map",
        tiles(0, 1, 2, 3),
        ("d0",),
        (2,),
        (f32(source, [(2, 4)]),),
        (f32(target, [(2, 4)]),),
        {"stages": [{"function": function, "format": "f32"}]},
    )
    return replace(call, **changes)


def compute_package(*calls: Call | Moves, steps: int = 1) -> Package:
    """x at A, y at B, and z above both, in use by one step that makes the calls."""
    return package(
        [compute(*calls)] * steps,
        [bind("input", "x", (8,), A), bind("output", "y", (8,), B)],
        [buffer("x", A, 8, 0, 9), buffer("y", B, 8, 0, 9), buffer("z", C, 9000, 0, 9)],
    )


def test_calls_of_a_set_follow_each_other() -> None:
    made = compute_package(map_call(A, C), map_call(C, B))
    assert run(made).outputs["y"].tolist() == X.tolist()
    refuse(compute_package(map_call(C, B)), f"tile 0 reads address {C}, which nobody")


MATMUL = Call(
    "matmul",
    tiles(0, 1),
    ("b", "m", "n", "k"),
    (1, 3, 5, 12),
    (
        # panels of 8 along k for f16, padded to 16; 8 columns a panel
        view(4352, "f16", [], [(3, 16)], [], [(2, 48), (8, 2)]),
        view(UPPER, "f16", [], [], [(8, 16)], [(2, 128), (8, 2)]),
    ),
    (view(UPPER + 2048, "f16", [], [(3, 16)], [(8, 2)], []),),
    {"accumulate": "f16"},
)


def matmul_run(call: Call) -> tuple[Simulator, Any, Any]:
    """Run a matmul on random operands; padding behind k = 12 is zero."""
    generator = np.random.default_rng(0)
    left = generator.standard_normal((2, 3, 16)).astype(np.float16)
    right = generator.standard_normal((2, 5, 16)).astype(np.float16)
    left[..., 12:], right[..., 12:] = 0, 0
    simulator = Simulator(compute_package(call, map_call(A, B)))
    memory = simulator.memory
    for tile in range(2):
        for panel in range(2):
            ours = slice(8 * panel, 8 * panel + 8)
            for address, block in ((4352, left), (UPPER, right)):
                rows_of = block[tile, :, ours].reshape(-1).view(np.uint8)
                at = address + panel * (48 if block is left else 128)
                memory.data[tile, at : at + rows_of.size] = rows_of
                memory.written[tile, at : at + rows_of.size] = 1
    return simulator, left, right


def test_a_matmul_lies_in_panels() -> None:
    simulator, left, right = matmul_run(MATMUL)
    simulator.run({"x": X})
    for tile in range(2):
        there = simulator.memory.data[tile, UPPER + 2048 : UPPER + 2048 + 48]
        made = there.view(np.float16).reshape(3, 8)[:, :5]
        partial = np.zeros((3, 5))
        for begin in (0, 8):  # k_block of mini4
            part = slice(begin, begin + 8)
            block = (
                left[tile, :, part].astype(float) @ right[tile, :, part].astype(float).T
            )
            partial = (partial + block).astype(np.float16).astype(float)
        assert np.array_equal(made.astype(float), partial)
        written = simulator.memory.written[tile, UPPER + 2048 : UPPER + 2048 + 48]
        assert written.reshape(3, 16)[:, :10].all()
        assert not written.reshape(3, 16)[:, 10:].any()  # nor the padding of columns


def test_padding_along_k_must_be_written_and_zero() -> None:
    for address in (4352 + 48 + 8, UPPER + 128 + 8):  # k = 12 of row 0
        simulator, _, _ = matmul_run(MATMUL)
        simulator.memory.data[1, address] = 1
        with pytest.raises(Refused, match=r"tile 1: operand . at .* holds no zeros"):
            simulator.run({"x": X})
        simulator, _, _ = matmul_run(MATMUL)
        simulator.memory.written[1, address] = 0
        with pytest.raises(Refused, match=f"tile 1 reads address {address}, which"):
            simulator.run({"x": X})


def test_a_depth_may_come_in_steps() -> None:
    whole, _, _ = matmul_run(MATMUL)
    whole.run({"x": X})
    first = replace(MATMUL, extents=(1, 3, 5, 8))
    rest = with_view(replace(MATMUL, extents=(1, 3, 5, 4)), 0, address=4352 + 48)
    rest = with_view(rest, 1, address=UPPER + 128)
    rest = replace(rest, inputs=(*rest.inputs, *rest.outputs))
    steps, _, _ = matmul_run(first)
    made = replace(steps.package, steps=(compute(first, rest, map_call(A, B)),))
    steps.package = made
    steps.run({"x": X})
    block = slice(UPPER + 2048, UPPER + 2048 + 48)
    assert np.array_equal(steps.memory.data[:2, block], whole.memory.data[:2, block])
    away = replace(rest, inputs=(*rest.inputs[:2], with_view(rest, -1).inputs[0]))
    simulator, _, _ = matmul_run(away)
    with pytest.raises(Refused, match="adds to partial sums only where they lie"):
        simulator.run({"x": X})
    simulator, _, _ = matmul_run(rest)  # nothing lies there yet
    with pytest.raises(Refused, match=f"reads address {UPPER + 2048}, which nobody"):
        simulator.run({"x": X})


def test_a_single_row_lies_in_order_as_it_is() -> None:
    one = replace(MATMUL, extents=(1, 1, 5, 16))
    row = with_view(one, 0, axes=((), ((1, 0),), (), ((16, 2),)))
    simulator, _, _ = matmul_run(row)
    simulator.run({"x": X})


def with_view(call: Call, operand: int, **changes: Any) -> Call:
    """The call with other fields in one view; -1 is the result."""
    views = [*call.inputs, *call.outputs]
    views[operand] = replace(views[operand], **changes)
    return replace(call, inputs=tuple(views[:-1]), outputs=(views[-1],))


NO_MODE = {"accumulate": "f32"}
STAGE = {"function": "neg", "format": "f32"}
SUM = Call(
    "sum",
    tiles(0),
    ("p", "d0"),
    (2, 2),
    (f32(C, [(2, 8)], [(2, 4)]), f32(A, [], [(2, 4)])),
    (f32(B, [], [(2, 4)]),),
    {"function": "sum", "own": [0, 1, 3]},
)
REDUCE = Call(
    "reduce",
    tiles(0),
    ("r", "d0"),
    (2, 1),
    (f32(A, [(2, 4)], []),),
    (f32(B, [], []),),
    {"function": "sum", "reduced": ["r"]},
)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (replace(MATMUL, tiles=tiles(4)), "a tile that is not one of 4"),
        (replace(MATMUL, outputs=()), "exactly one result"),
        (replace(MATMUL, dims=("b", "n", "m", "k")), "has the dims b, m, n, k"),
        (replace(MATMUL, parameters={}), "'accumulate' must be a text"),
        (replace(MATMUL, parameters={"accumulate": "f16", "x": 1}), "no parameter 'x'"),
        (replace(MATMUL, parameters=NO_MODE), "sums in f32 cannot go to f16"),
        (with_view(MATMUL, 0, format="f32"), "multiplies no f32 with f16 in f16"),
        (replace(MATMUL, extents=(1, 3, 5, 17)), "has 16 elements along k"),
        (replace(MATMUL, extents=(1, 3, 9, 12)), "no place for 9 indices of 'n'"),
        (replace(MATMUL, extents=(2, 3, 5, 12)), "the dim 'b' is missing"),
        (with_view(MATMUL, 0, address=4354), "operand 0 at 4354 is not aligned to 8"),
        (with_view(MATMUL, 1, address=UPPER + 8), "is not aligned to 16 bytes"),
        (with_view(MATMUL, 1, address=5120), "operand 1 at 5120 is not in interleaved"),
        (with_view(MATMUL, -1, address=6144), "result at 6144 is not in interleaved"),
        (with_view(MATMUL, 0, address=UPPER + 2304), "touch one memory element"),
        (with_view(MATMUL, -1, address=UPPER + 64), "overlaps operand 1"),
        (with_view(MATMUL, -1, address=16336), "outside the addresses of tensors"),
        (with_view(MATMUL, -1, scale=1), "format f16 has no scale"),
        (with_view(MATMUL, 0, format="bf16"), "multiplies no bf16"),
        (
            with_view(MATMUL, 0, axes=((), ((3, 32),), (), ((16, 2),))),
            "the left operand does not lie in panels of 8 elements",
        ),
        (
            with_view(MATMUL, 0, axes=((), ((3, 2),), (), ((2, 48), (8, 6)))),
            "the left operand does not lie in panels of 8 elements",
        ),
        (
            with_view(MATMUL, 1, axes=((), (), ((8, 2),), ((16, 16),))),
            "the right operand does not lie in panels of 8 elements",
        ),
        (
            with_view(MATMUL, -1, axes=((), ((3, 2),), ((8, 6),), ())),
            "the result does not lie in panels of 8 elements",
        ),
        (map_call(A, B, "sum"), "no map computes 'sum'"),
        (map_call(A, B, "add"), "'add' takes 2 operands, 1 come"),
        (map_call(A, B, parameters={"stages": []}), "at least one function"),
        (map_call(A, B, parameters={"stages": [{"x": 1}]}), "a stage has the fields"),
        (
            map_call(A, B, parameters={"stages": [{**STAGE, "operands": [3]}]}),
            "'neg' takes 1 operands, 2 come",
        ),
        (
            map_call(A, B, parameters={"stages": [{**STAGE, "format": "f16"}]}),
            "another format than the result",
        ),
        (
            map_call(
                A,
                B,
                parameters={
                    "stages": [
                        {"function": "cast", "format": "f8E4M3FNUZ", "scale": 40},
                        STAGE,
                    ]
                },
            ),
            "scale 40 is not from -32 to 31",
        ),
        (
            map_call(
                A,
                A,
                extents=(4,),
                inputs=(f32(A, [(4, 4)]),),
                outputs=(f32(A + 8, [(4, 4)]),),
            ),
            "the result at 2184 to 2200 overlaps operand 0",
        ),
        (map_call(A, A + 16), "operand 0 and the result touch one memory element"),
        (map_call(A, 120), "result at 120 to 128 is outside"),
        (map_call(A, B, outputs=(f32(B, [(2, 2)]),)), "are not aligned to 4"),
        (map_call(A, B, outputs=(f32(B, [(2, 0)]),)), "two elements in one place"),
        (map_call(A, B, outputs=(f32(B, [(2, 4), (2, 4)]),)), "two elements in one"),
        (map_call(A, B, outputs=(f32(B, []),)), "the dim 'd0' is missing"),
        (replace(REDUCE, parameters={"function": "sum"}), "'reduced' must list dims"),
        (
            replace(REDUCE, parameters={"function": "min", "reduced": []}),
            "'function' is 'min'",
        ),
        (
            replace(REDUCE, parameters={"function": "sum", "reduced": ["x"]}),
            "names 'x', which is no dim",
        ),
        (
            replace(REDUCE, outputs=(f32(B, [(2, 4)], []),)),
            "the dim 'r' is in an operand too many",
        ),
        (replace(SUM, inputs=SUM.inputs[:1]), "has two operands and a slot less"),
        (replace(SUM, extents=(1, 2)), "has two operands and a slot less"),
        (replace(SUM, parameters={"function": "sum"}), "a sum has one operand"),
        (
            replace(SUM, parameters={"function": "sum", "own": [0, 0, 3]}),
            "needs a stride and a count",
        ),
    ],
)
def test_a_call_that_the_machine_would_not_make_is_refused(
    call: Call, words: str
) -> None:
    simulator, _, _ = matmul_run(call)
    with pytest.raises(Refused, match=re.escape(words)) as caught:
        simulator.run({"x": X})
    start = rf"f.mlir:2:3: error: step 0 'C': call 0 \({call.family}\): "
    assert re.match(start, str(caught.value))


def test_a_map_may_be_made_in_place() -> None:
    made = compute_package(map_call(A, A), map_call(A, B, "abs"))
    assert run(made).outputs["y"].tolist() == X.tolist()


def test_sums_take_the_own_piece_where_it_lies() -> None:
    fill = Moves(
        "fill", np.array([0]), np.zeros(0, np.int64), np.array([C]), np.array([16])
    )
    simulator = Simulator(compute_package(map_call(A, B), fill, SUM))
    assert simulator.run({"x": X}).outputs["y"].tolist()[:2] == [1, 2]
    assert run(compute_package(map_call(A, B), REDUCE)).outputs["y"][0] == 3


def moves(family: str, *table: tuple[int, int, int, int]) -> Moves:
    """Runs (tile, from, to, bytes)."""
    columns = np.array(table, np.int64).reshape(-1, 4).T
    source = columns[1] if family == "copy" else columns[1][:0]
    return Moves(family, columns[0], source, columns[2], columns[3])


def test_copies_and_fills_move_bytes() -> None:
    copied = moves("copy", *((t, A, B + 1, 3) for t in range(4)), (2, A, B, 1))
    filled = moves("fill", *((t, 0, B, 8) for t in range(4)))
    simulator = Simulator(compute_package(filled, copied))
    simulator.run({"x": X})
    there = simulator.memory.data[:, B : B + 8]
    x = X.view(np.uint8).reshape(4, 8)
    assert np.array_equal(there[:, 1:4], x[:, :3])
    assert there[2, 0] == x[2, 0]
    assert not there[:, 4:].any()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (moves("copy", (0, A, B, 4), (0, A, B + 3, 4)), "a copy writes a byte twice"),
        (moves("fill", (0, 0, B, 4), (0, 0, B + 3, 4)), "a fill writes a byte twice"),
        (moves("copy", (0, A, A + 4, 8)), "reads a byte that it also writes"),
        (moves("copy", (0, A + 4, B, 8)), f"copies from {A + 4} a byte that nobody"),
        (moves("copy", (4, A, B, 8)), "a tile that is not one of 4"),
        (moves("copy", (-1, A, B, 8)), "a tile that is not one of 4"),
        (moves("fill", (0, 0, BASE - 1, 8)), "outside the addresses of tensors"),
        (moves("fill", (0, 0, C, 9001)), "outside the addresses of tensors"),
        (moves("fill", (0, 0, B, -1)), "outside the addresses of tensors"),
    ],
)
def test_moves_that_the_machine_would_not_make_are_refused(
    call: Moves, words: str
) -> None:
    refuse(compute_package(map_call(A, B), call), words)


# Buffers and bytes


def test_a_dead_buffer_is_forgotten() -> None:
    steps = [compute(map_call(A, C)), compute(map_call(C, B))]
    made = compute_package()
    for end, fine in ((2, True), (1, False)):
        z = replace(made.buffers[2], live=((0, end), (5, 6)))
        lives = replace(made, steps=tuple(steps), buffers=(*made.buffers[:2], z))
        if fine:
            run(lives)
        else:
            refuse(lives, f"step 1 'C': call 0 (map): tile 0 reads address {C}")


def test_bytes_that_a_living_buffer_shares_are_kept() -> None:
    steps = (compute(map_call(A, C)), compute(map_call(C, B)))
    made = replace(compute_package(), steps=steps)
    dead, shared = buffer("z", C, 8, 0, 1), buffer("t", C, 8, 0, 2)
    run(replace(made, buffers=(*made.buffers[:2], dead, shared)))
    half = replace(shared, bytes=4)
    refuse(
        replace(made, buffers=(*made.buffers[:2], dead, half)),
        f"tile 0 reads address {C + 4}",
    )
    others = replace(shared, tiles=tiles(0, 1, 2))
    refuse(
        replace(made, buffers=(*made.buffers[:2], dead, others)),
        f"tile 3 reads address {C}",
    )


def test_bytes_are_counted_and_bounded() -> None:
    made = replace(
        compute_package(map_call(A, C), map_call(C, B)),
        buffers=(buffer("x", A, 8, 0, 9), buffer("y", B, 2048, 0, 9)),
    )
    result = run(made)
    assert result.peak_tile_bytes == 2048 + 24
    assert result.placed_bytes == 2048 + 8 + 2048
    claims = {"footprint": 2048 + 8 + 2048, "budget": 2048 + 8 + 2048}
    assert run(replace(made, **claims)).cycles == result.cycles
    refuse(replace(made, footprint=4103), "bytes placed 4104 exceed the footprint 4103")
    refuse(
        replace(made, footprint=4104, budget=4103),
        "footprint 4104 exceed the budget 4103",
    )
    refuse(replace(made, reserve=1), "footprint 16256 exceeds the 16255 bytes")
    stray = replace(made, buffers=(*made.buffers[:1], buffer("y", C, 8, 0, 9)))
    refuse(stray, "bytes touched 2072 exceed the bytes placed 2064")
    refuse(
        replace(made, buffers=(buffer("x", 0, 8, 0, 9),)),
        "buffer 'x' lies at 0 to 8, outside 2176 to 16384",
    )
    refuse(replace(made, reserve=15000), "leave nothing of the 16256 of a tile")


def test_arguments_must_fit() -> None:
    simulator = Simulator(shift_package())
    with pytest.raises(Refused, match="input 'x' is not given"):
        simulator.run({})
    with pytest.raises(Refused, match=r"needs float32\[8\], given is float64\[8\]"):
        simulator.run({"x": X.astype(float)})
    far = replace(shift_package(), binds=(bind("input", "x", (8,), 16384),))
    refuse(far, "input 'x' lies at 16384 to 16392, outside the addresses")


# Cycles


def test_a_compute_set_takes_as_long_as_its_slowest_tile() -> None:
    # one row of 8 columns: 60 + blocks along k * (8 * ceil(3 / 2) + 30)
    assert step_cycles(MINI4, compute(MATMUL)) == 60 + 2 * (8 * 2 + 30)
    twice = compute(MATMUL, replace(MATMUL, tiles=tiles(1, 2)))
    assert compute_cycles(MINI4, twice).tolist() == [152, 304, 152, 0]
    assert step_cycles(MINI4, twice) == 304
    empty = replace(MATMUL, extents=(1, 0, 5, 12))
    assert step_cycles(MINI4, compute(empty)) == 0
    batches = replace(MATMUL, extents=(3, 3, 5, 12))
    assert step_cycles(MINI4, compute(batches)) == 60 + 3 * 2 * (8 * 2 + 30)
    # three partials of 2: 50 + ceil(2 / 4) * (10 + 2 * 2)
    assert step_cycles(MINI4, compute(SUM)) == 64
    assert step_cycles(MINI4, ComputeStep("", "", None, ())) == 0


def test_runs_are_priced_by_alignment_and_breaks() -> None:
    # 8-byte atoms: 24 bytes at 500 and two runs at 4, behind 20 a call
    runs_of_8 = moves("copy", (0, A, B, 8), (0, A + 8, B + 8, 8), (0, A, B + 64, 8))
    assert step_cycles(MINI4, compute(runs_of_8)) == 20 + 12 + 2 * 4
    odd = moves("copy", (0, A, B, 8), (0, A + 8, B + 8, 7), (1, A + 2, B, 2))
    assert compute_cycles(MINI4, compute(odd)).tolist()[:2] == [20 + 60 + 4, 20 + 4]
    filled = moves("fill", (0, 0, B, 8), (0, 0, B + 8, 9), (1, 0, B, 0))
    assert compute_cycles(MINI4, compute(filled)).tolist()[:2] == [20 + 5 + 4, 0]
    c600 = Machine.load("ipu-c600")
    # row 41 of the C600 kernel rows: 318 runs of 32 bytes in 29,280 cycles
    many = moves(
        "copy", *((0, 100_000 + 64 * i, 200_000 + 32 * i, 32) for i in range(318))
    )
    assert abs(step_cycles(c600, compute(many)) - 29_280) < 300


def test_a_changed_order_costs_more_in_a_map() -> None:
    turned = map_call(
        A,
        B,
        dims=("d0", "d1"),
        extents=(4, 3),
        inputs=(f32(A, [(4, 12)], [(3, 4)]),),
        outputs=(f32(B, [(4, 4)], [(3, 16)]),),
    )
    straight = replace(turned, outputs=(f32(B, [(4, 12)], [(3, 4)]),))
    more = step_cycles(MINI4, compute(turned)) - step_cycles(MINI4, compute(straight))
    assert more == MINI4.copy.regroup_cycles * 1
