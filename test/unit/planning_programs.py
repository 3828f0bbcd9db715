"""Small random programs for the tests of planning, and their candidates."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
from tile_programs import parse
from xdsl.dialects.builtin import ModuleOp

from tiledialect.candidates import (
    Candidates,
    all_grids,
    all_variants,
    candidates,
    panel_depth,
)
from tiledialect.machine import Machine
from tiledialect.program import Program, read_program

EXTENTS = (1, 2, 3, 5, 7, 8, 9, 12, 16, 17, 24)
FORMATS = ("f16", "f16", "f32", "f8E4M3FNUZ")


def random_machine(rng: random.Random) -> Machine:
    """Four or sixteen tiles, whose pairs may send 64-bit items, or not."""
    machine = Machine.load(rng.choice(("mini4", "mini16")))
    return in_pairs(machine, rng.choice((4, 8))) if rng.random() < 0.5 else machine


def in_pairs(machine: Machine, items: int) -> Machine:
    """The same machine, with pairs of tiles that send so many items of 64 bits or more
    at once."""
    exchange = replace(machine.exchange, pair_tiles=2, pair_least_items=items)
    return replace(machine, exchange=exchange)


def tables(program: Program, machine: Machine) -> list[list[Candidates]]:
    """Every candidate of every group."""
    return [
        candidates(
            group,
            all_grids(program, group, machine),
            variants,
            panel_depth(program, group, machine),
        )
        for group, variants in (
            (group, all_variants(program, group, machine)) for group in program.groups
        )
    ]


def sampled(
    table: list[Candidates], rng: random.Random, variants: int, rows: int
) -> list[Candidates]:
    """A few variants of a table with a few candidates each, in order."""
    some = sorted(rng.sample(range(len(table)), min(variants, len(table))))
    return [
        table[v].take(
            np.array(sorted(rng.sample(range(len(table[v])), min(rows, len(table[v])))))
        )
        for v in some
    ]


def random_program(rng: random.Random, machine: Machine, groups: int) -> Program:
    """A program of at most so many groups, with at least one."""
    return random_module(rng, machine, groups)[1]


def random_module(
    rng: random.Random, machine: Machine, groups: int
) -> tuple[ModuleOp, Program]:
    """The same with the module that it is read from."""
    while True:
        module = parse(_Writer(rng).write(groups))
        program = read_program(module, machine)
        if 1 <= len(program.groups) <= groups:
            return module, program


class _Writer:
    """Writes a random function; values are (name, shape, format)."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.arguments: list[str] = []
        self.lines: list[str] = []
        self.values: list[tuple[str, tuple[int, ...], str]] = []

    def write(self, operations: int) -> str:
        extents = [self.rng.choice(EXTENTS) for _ in range(2)]
        self.argument(tuple(extents), self.rng.choice(FORMATS), parameter=False)
        for _ in range(self.rng.randint(1, operations)):
            self.operation()
        results = [self.values[-1]]
        if self.rng.random() < 0.3:
            results.append(self.rng.choice(self.values))
        names = ", ".join(name for name, _, _ in results)
        types = ", ".join(tensor(shape, form) for _, shape, form in results)
        body = "\n  ".join(self.lines)
        return (
            f"func.func @main({', '.join(self.arguments)}) -> ({types}) {{\n  {body}\n"
            f"  func.return {names} : {types}\n}}"
        )

    def argument(self, shape: tuple[int, ...], form: str, parameter: bool) -> str:
        name = f"%a{len(self.arguments)}"
        mark = " {tile.parameter}" if parameter else ""
        self.arguments.append(f"{name}: {tensor(shape, form)}{mark}")
        if not parameter:
            self.values.append((name, shape, form))
        return name

    def result(self, text: str, shape: tuple[int, ...], form: str) -> None:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values.append((name, shape, form))

    def operation(self) -> None:
        recent = self.values[-1] if self.rng.random() < 0.7 else None
        name, shape, form = recent or self.rng.choice(self.values)
        computes = form != "f8E4M3FNUZ"  # such are multiplied, cast, moved
        kinds = ["unary", "binary", "row", "cast"] if computes else ["cast"]
        if len(shape) == 2:
            kinds += ["matmul", "matmul", "transpose"] + ["reduce"] * computes
        getattr(self, self.rng.choice(kinds))(name, shape, form)

    def unary(self, name: str, shape: tuple[int, ...], form: str) -> None:
        self.result(f"tile.gelu tanh {name} : {tensor(shape, form)}", shape, form)

    def cast(self, name: str, shape: tuple[int, ...], form: str) -> None:
        new = self.rng.choice(FORMATS)
        types = f"{tensor(shape, form)} to {tensor(shape, new)}"
        self.result(f"tile.cast {name} : {types}", shape, new)

    def binary(self, name: str, shape: tuple[int, ...], form: str) -> None:
        same = [v for v, s, f in self.values if (s, f) == (shape, form)]
        other = self.rng.choice(same)
        text = f"tile.add {name}, {other} : {tensor(shape, form)}"
        self.result(text, shape, form)

    def row(self, name: str, shape: tuple[int, ...], form: str) -> None:
        other = self.argument(shape[-1:], form, self.rng.random() < 0.5)
        full, row = tensor(shape, form), tensor(shape[-1:], form)
        text = f"tile.mul {name}, {other} : ({full}, {row}) -> {full}"
        self.result(text, shape, form)

    def matmul(self, name: str, shape: tuple[int, ...], form: str) -> None:
        columns = self.rng.choice(EXTENTS)
        right = (shape[1], columns)
        other = self.argument(right, form, self.rng.random() < 0.7)
        made = "f32" if form == "f32" else "f16"
        types = f"({tensor(shape, form)}, {tensor(right, form)})"
        result = (shape[0], columns)
        text = f"tile.matmul {name}, {other} : {types} -> {tensor(result, made)}"
        self.result(text, result, made)

    def reduce(self, name: str, shape: tuple[int, ...], form: str) -> None:
        axis = self.rng.randrange(2)
        kept = (shape[1 - axis],)
        types = f"{tensor(shape, form)} -> {tensor(kept, form)}"
        function = self.rng.choice(("sum", "max"))
        self.result(
            f"tile.reduce {function} {name} over [{axis}] : {types}", kept, form
        )

    def transpose(self, name: str, shape: tuple[int, ...], form: str) -> None:
        made = (shape[1], shape[0])
        types = f"{tensor(shape, form)} -> {tensor(made, form)}"
        self.result(f"tile.transpose {name} [1, 0] : {types}", made, form)


def tensor(shape: tuple[int, ...], form: str) -> str:
    """A tensor's type."""
    return f"tensor<{'x'.join(map(str, shape))}{'x' if shape else ''}{form}>"
