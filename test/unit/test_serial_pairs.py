"""Pairs that placement cannot keep apart are serialised: which, how, and the proofs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from ladder import checked, package_bytes, parse, run_passes
from placement_oracle import brute_force, random_problem
from xdsl.dialects.builtin import ModuleOp

from tiledialect.checkers.check_exchange import CheckExchangePass
from tiledialect.checkers.check_memory import CheckMemoryPass
from tiledialect.diagnostics import Infeasible, Refused
from tiledialect.dialects.buffers import buffer_of
from tiledialect.dialects.exchange import PhaseOp
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import machine_of, the_program
from tiledialect.lowering.phase_schedule import schedule_phase
from tiledialect.lowering.serial_pairs import phase_of
from tiledialect.machine import Machine
from tiledialect.passes.place_memory import PlaceMemoryPass
from tiledialect.passes.schedule_exchange import ScheduleExchangePass
from tiledialect.pipeline import make_context
from tiledialect.placement.drop_pairs import is_placed_without, pairs_to_drop, without
from tiledialect.placement.problem import Problem
from tiledialect.select_plan import serial_cycles
from tiledialect.tools.serial_remarks import serial_remarks

EXAMPLES = Path(__file__).parents[2] / "examples"
MINI4 = Machine.load("mini4")

ELEMENTS = """{{base = "mini4", memory = {{bytes = {bytes}, support_bytes = 1900,
  default_budget_bytes = {most}, regions = [{{name = "all", bytes = {bytes},
  element_bytes = 2048, interleaved = true, executable = true}}]}}}}"""
"""Memory elements of 2048 bytes, the first of them for support and rows."""


def with_elements(count: int) -> str:
    """The machine with so many elements besides the first."""
    bytes = 2048 * (count + 1)
    return ELEMENTS.format(bytes=bytes, most=bytes - 128)


SWAP = """
    exchange.phase {step} "{name}" {{
      exchange.move %{one} to %{other}
        : <[{words}] bytes 4> to <[{words}] bytes 4 first 1>
      exchange.move %{one} to %{other}
        : <[{words}] bytes 4 first 1> to <[{words}] bytes 4>
    }}"""


def swaps(elements: int, *phases: tuple[str, str, int], more: str = "") -> ModuleOp:
    """A program of phases in which tiles 0 and 1 swap words, from one buffer to the
    other."""
    names = sorted({name for one, other, _ in phases for name in (one, other)})
    size = 4 * max(words for _, _, words in phases)
    buffers = [
        f'%{name} = memory.buffer operand "{name}" {size} bytes on <0, 1>'
        f" live [0, {len(phases)})"
        for name in names
    ]
    steps = [
        SWAP.format(step=i, name=f"{one}{other}", one=one, other=other, words=words)
        for i, (one, other, words) in enumerate(phases)
    ]
    lines = "\n".join([*buffers, more, *steps])
    machine = with_elements(elements)
    return parse(
        f"module attributes {{tile.machine = {machine}, tile.rung = 4}}"
        f" {{ memory.program @main {{ {lines} }} }}"
    )


def placed(module: ModuleOp) -> list[PhaseOp]:
    """The phases of a program at rung 6."""
    for one in (ScheduleExchangePass(), CheckExchangePass(), PlaceMemoryPass()):
        one.apply(make_context(), module)
        module.verify()
    return phases_of(module)


def phases_of(module: ModuleOp) -> list[PhaseOp]:
    return [op for op in module.walk() if isinstance(op, PhaseOp)]


def serial_names(phase: PhaseOp) -> list[tuple[str, str]]:
    return [
        (buffer_of(left).buffer_name.data, buffer_of(right).buffer_name.data)
        for op in phase.serials
        for left, right in op.pairs
    ]


def apart_names(module: ModuleOp) -> list[tuple[str, str]]:
    program = the_program(module, ProgramOp)
    return [
        (buffer_of(left).buffer_name.data, buffer_of(right).buffer_name.data)
        for op in program.aparts
        for left, right in op.pairs
    ]


# Which pairs


def test_nothing_is_given_up_where_elements_suffice() -> None:
    module = swaps(2, ("a", "b", 64))
    (phase,) = placed(module)
    assert not phase.serials
    assert phase.number("length") == 74
    assert apart_names(module) == [("a", "b")]


def test_the_pair_that_loses_the_fewest_cycles_is_given_up() -> None:
    """Three buffers, each apart from both others, in two elements: one pair must go.
    Words out and in take 128, 32 and 64 cycles in turn; the phases have 74, 26, 42."""
    module = swaps(2, ("a", "b", 64), ("a", "c", 16), ("b", "c", 32))
    phases = placed(module)
    assert [serial_names(phase) for phase in phases] == [[], [("a", "c")], []]
    assert [phase.number("length") for phase in phases] == [74, 36, 42]
    assert apart_names(module) == [("a", "b"), ("b", "c")]


def test_a_pair_is_serial_in_every_phase_that_it_meets_in() -> None:
    """In one element all pairs go, each in its own phases; 10 words never meet."""
    module = swaps(1, ("a", "b", 16), ("b", "a", 30), ("a", "c", 10), ("a", "b", 16))
    first, back, short, again = placed(module)
    assert serial_names(first) == [("a", "b")]
    assert serial_names(back) == [("b", "a")]
    assert not short.serials
    assert first.rows == again.rows
    assert short.number("length") == 20
    assert not apart_names(module)
    costs = [op.cost.value.data for op in first.serials if op.cost is not None]
    assert costs == [first.number("length") - 26]
    assert len(serial_remarks(module)) == 3
    assert 'phase "ba" never reads and writes b / a in one' in serial_remarks(module)[1]


def test_the_same_program_gives_up_the_same() -> None:
    phases = [("a", "b", 20), ("c", "b", 20), ("a", "c", 20), ("d", "a", 20)]
    one, other = swaps(2, *phases), swaps(2, *phases)
    placed(one)
    placed(other)
    assert str(one) == str(other)
    assert any(phase.serials for phase in phases_of(one))


def test_what_others_keep_apart_stays_apart() -> None:
    """The same pair, for a reason that is not the exchange's."""
    hard = 'memory.apart %a / %b because "a codelet needs it"'
    module = swaps(1, ("a", "b", 64), more=hard)
    with pytest.raises(Infeasible, match="fragmentation"):
        placed(module)


def test_what_a_codelet_keeps_apart_stays_apart() -> None:
    """A matmul's left operand and its result, and no phase that could help."""
    text = f"""
module attributes {{tile.machine = {with_elements(1)}, tile.rung = 5}} {{
  memory.program @main {{
    %left = memory.buffer operand "left" 64 bytes on <0> live [0, 1)
    %right = memory.buffer operand "right" 128 bytes on <0> live [0, 1)
    %out = memory.buffer result "out" 64 bytes on <0> live [0, 1)
    codelet.compute 0 "C" {{
      codelet.run matmul (b 1, m 4, n 8, k 16) on <0>
        (%left: f8E4M3FNUZ m [4:16] k [16:1], %right: f8E4M3FNUZ n [8:16] k [16:1]) ->
        (%out: f16 m [4:16] n [8:2]) {{accumulate = "f16"}}
    }}
  }}
}}"""
    PlaceMemoryPass().apply(make_context(), parse(text.replace("1900", "64")))
    module = parse(text.replace("4096", "2048").replace("1900", "64"))
    with pytest.raises(Infeasible, match="in one piece"):
        PlaceMemoryPass().apply(make_context(), module)


def test_too_few_bytes_are_refused_as_before() -> None:
    """No pair is to blame: two buffers of 1200 bytes have 2048 together."""
    module = swaps(1, ("a", "b", 300))
    with pytest.raises(Infeasible, match="not enough bytes"):
        placed(module)


# Dropping pairs


def soft_pairs(problem: Problem) -> list[tuple[int, int]]:
    pairs = {(min(p), max(p)) for p in problem.apart.tolist()}
    return sorted((int(one), int(other)) for one, other in pairs)


def many_pairs(seed: int) -> Problem:
    """A small problem without pins, in which most buffers are to be apart."""
    problem = random_problem(seed)
    count = len(problem.names)
    pairs = [(i, j) for i in range(count) for j in range(i) if (seed + i + j) % 4]
    return replace(
        problem,
        pinned=np.full(count, -1),
        apart=np.array(pairs, np.int64).reshape(-1, 2),
        element_edges=np.array([0, 4, 8]),
    )


def test_dropped_pairs_are_those_that_must_go() -> None:
    """Against brute force: with one more pair kept there is no placement."""
    dropped = 0
    for seed in range(300):
        problem = many_pairs(seed)
        pairs = soft_pairs(problem)
        if is_placed_without(problem, set()):
            continue
        if not is_placed_without(problem, set(pairs)):
            assert not brute_force(without(problem, set(pairs))).feasible
            continue
        gone = pairs_to_drop(problem, pairs)
        assert gone
        assert brute_force(without(problem, set(gone))).feasible
        for back in gone:
            kept = set(gone) - {back}
            assert not brute_force(without(problem, kept)).feasible
        dropped += 1
    assert dropped > 10


def test_the_dearest_pairs_come_back_first() -> None:
    """Of three buffers in two elements one pair goes: the last of the list."""
    problem = Problem(
        names=("a", "b", "c"),
        bytes=np.full(3, 4),
        lifetimes=(((0, 1),),) * 3,
        align=np.ones(3, np.int64),
        low=np.zeros(3, np.int64),
        high=np.full(3, 32),
        pinned=np.full(3, -1),
        classes=np.ones((3, 1), np.bool_),
        apart=np.array([(0, 1), (1, 2), (0, 2)]),
        element_edges=np.array([0, 16, 32]),
    )
    pairs = soft_pairs(problem)
    for last in pairs:
        order = [*(pair for pair in pairs if pair != last), last]
        assert pairs_to_drop(problem, order) == [last]


# Whole programs, and serialisation undone

FEW = """{base = "mini16", memory = {bytes = 16384, support_bytes = 4000,
  default_budget_bytes = 16128, regions = [
    {name = "low", bytes = 8192, element_bytes = 4096,
     interleaved = false, executable = true},
    {name = "high", bytes = 8192, element_bytes = 8192,
     interleaved = true, executable = false}]}}"""
"""mini16 with three memory elements, one of them for the support."""


def few_elements() -> ModuleOp:
    """The tiny MLP at rung 6 on a machine of three memory elements."""
    return _few_elements().clone()


@cache
def _few_elements() -> ModuleOp:
    text = (EXAMPLES / "tiny_mlp.mlir").read_text(encoding="utf-8")
    return run_passes(parse(text.replace('"mini16"', FEW)), "max")


def undo(module: ModuleOp, *, claims: bool) -> None:
    """Schedule serial phases as if they were not, and let them claim it or not."""
    for phase in phases_of(module):
        if phase.serials:
            plain = schedule_phase(machine_of(module), phase_of(phase)[0])
            phase.set_schedule(plain.numbers, plain.rows)
        for op in [] if claims else phase.serials:
            op.detach()
            op.erase()


def test_a_program_with_too_few_elements_runs() -> None:
    module = few_elements()
    serial = [phase for phase in phases_of(module) if phase.serials]
    assert [serial_names(phase) for phase in serial] == [[("h.1", "y.h")]]
    run = checked(package_bytes(module))
    assert run.passed
    plain = schedule_phase(machine_of(module), phase_of(serial[0])[0])
    (op,) = serial[0].serials
    assert op.cost is not None
    longer = serial[0].number("length") - plain.numbers["length"]
    assert op.cost.value.data == longer > 0
    assert serial_cycles(module) == longer


def test_check_memory_refuses_what_is_serial_no_more() -> None:
    module = few_elements()
    CheckMemoryPass().apply(make_context(), module)
    undo(module, claims=True)
    with pytest.raises(Refused, match=r"reads h\.1 and writes y\.h in cycle \d+, but"):
        CheckMemoryPass().apply(make_context(), module)


def test_the_simulator_refuses_what_is_serial_no_more() -> None:
    module = few_elements()
    undo(module, claims=False)
    with pytest.raises(Refused, match=r"cycle \d+: sends from and receives to the mem"):
        checked(package_bytes(module))


@pytest.mark.parametrize("claims", [True, False])
def test_check_exchange_refuses_what_is_serial_no_more(claims: bool) -> None:
    """Whether the phase claims it or not: what keeps the pair apart is not said."""
    inside = "live [0, 1) inside %a + 128"
    module = swaps(2, ("a", "b", 32))
    text = str(module).replace('"a" 128 bytes', '"a" 256 bytes')
    first, _, last = text.partition('"b"')
    module = parse(f'{first}"b"{last.replace("live [0, 1)", inside, 1)}')
    ScheduleExchangePass().apply(make_context(), module)
    (phase,) = phases_of(module)
    assert serial_names(phase) == [("a", "b")]
    CheckExchangePass().apply(make_context(), module)
    undo(module, claims=claims)
    with pytest.raises(
        Refused, match=r"tile \d reads a and writes b in cycle 1\d, but"
    ):
        CheckExchangePass().apply(make_context(), module)


def test_a_claim_is_checked_though_elements_keep_the_pair_apart() -> None:
    module = swaps(2, ("a", "b", 32))
    asked = 'exchange.serial %a / %b because "asked for"\n'
    head, _, tail = str(module).rpartition("        to <[32] bytes 4>\n")
    module = parse(f"{head}        to <[32] bytes 4>\n{asked}{tail}")
    ScheduleExchangePass().apply(make_context(), module)
    (phase,) = phases_of(module)
    assert phase.number("length") > 42
    assert not apart_names(module)
    kept = 'memory.apart %a / %b because "besides"\n    exchange.phase'
    module = parse(str(module).replace("exchange.phase", kept, 1))
    CheckExchangePass().apply(make_context(), module)
    undo(module, claims=True)
    with pytest.raises(Refused, match="reads a and writes b"):
        CheckExchangePass().apply(make_context(), module)
    for op in phases_of(module)[0].serials:
        op.detach()
        op.erase()
    CheckExchangePass().apply(make_context(), module)
