"""Groups that planning cannot tell apart are priced once."""

from __future__ import annotations

from typing import Any

import pytest
from planning_programs import tables
from tile_programs import parse

from tiledialect.machine import Machine
from tiledialect.program import read_program
from tiledialect.search import problem as problem_module
from tiledialect.search.problem import make_problem
from tiledialect.search.solve import search


def blocks(count: int) -> str:
    """A chain of so many blocks, each of two products and an activation."""
    lines: list[str] = []
    names = [f"%{n}{i}: !{n} {{tile.parameter}}" for i in range(count) for n in "wv"]
    value = "%x"
    for i in range(count):
        lines += [
            f"%h{i} = tile.matmul {value}, %w{i} : (!x, !w) -> !h",
            f"%g{i} = tile.gelu tanh %h{i} : !h",
            f"%y{i} = tile.matmul %g{i}, %v{i} : (!h, !v) -> !x",
        ]
        value = f"%y{i}"
    types = {"x": "12x16", "h": "12x40", "w": "16x40", "v": "40x16"}
    aliases = "".join(f"!{n} = tensor<{t}xf16>\n" for n, t in types.items())
    body = "\n  ".join(lines)
    return (
        f"{aliases}func.func @main(%x: !x, {', '.join(names)}) -> !x {{\n  {body}\n"
        f"  func.return {value} : !x\n}}"
    )


def priced(count: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Variants that are priced for a chain of blocks, and the best plan's cycles."""
    machine = Machine.load("mini16")
    program = read_program(parse(blocks(count)), machine)
    calls = 0
    real = problem_module.group_cost

    def counting(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        return real(*arguments)

    monkeypatch.setattr(problem_module, "group_cost", counting)
    problem = make_problem(program, machine, tables(program, machine))
    monkeypatch.undo()
    return calls, search(problem, machine.max_bytes, 1).plans[0].cycles


def test_more_blocks_are_no_more_pricing(monkeypatch: pytest.MonkeyPatch) -> None:
    # the first block's input comes linear, the last one's result settles: two blocks
    # have all four kinds of group, and what lies between is priced once
    two, few_cycles = priced(2, monkeypatch)
    three, more_cycles = priced(3, monkeypatch)
    four, most_cycles = priced(4, monkeypatch)
    assert two == three == four
    assert few_cycles < more_cycles < most_cycles


def test_what_is_shared_costs_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    _, shared = priced(3, monkeypatch)

    def none(*arguments: Any) -> None:
        del arguments

    monkeypatch.setattr(problem_module, "_known_variants", none)
    calls, alone = priced(3, monkeypatch)
    assert alone == shared
    assert calls > priced(2, monkeypatch)[0]
