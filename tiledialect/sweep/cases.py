"""The cases of a sweep: which programs under which budgets, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from tiledialect.diagnostics import Usage
from tiledialect.machine import Machine
from tiledialect.sizes import SizeError, parse_size
from tiledialect.sweep.workloads import PRECISIONS, workload_named


@dataclass(frozen=True)
class Program:
    """A text of rung 1 that a sweep compiles. `batch`, `precision` and `blocks` are
    None for a file."""

    workload: str
    text: str
    batch: int | None = None
    precision: str | None = None
    blocks: int | None = None

    def case_name(self, budget: str) -> str:
        """What the case of a budget is called."""
        if self.batch is None:
            return f"{PurePath(self.workload).stem}-{budget}"
        return f"b{self.batch}-{self.precision}-{budget}"


@dataclass(frozen=True)
class Setting:
    """The machine that a program is compiled for, as its module has it."""

    machine: Machine
    reserve_bytes: int

    def budget_bytes(self, budget: str) -> int:
        """The bytes that the planner is given. Raises Usage."""
        try:
            size = self.machine.budget_bytes(budget)
            if size is None:
                return parse_size(budget)
        except SizeError as error:
            raise Usage(f"--budgets: {error}, or default or max") from error
        return min(size, self.machine.max_bytes - self.reserve_bytes)


@dataclass(frozen=True)
class MachineFile:
    """A machine that the user named: the word that `--machine` takes, and the text of
    `machine.toml` where it is a file of his own."""

    word: str
    text: str | None


@dataclass(frozen=True)
class Case:
    """One cell: a program under a budget."""

    name: str
    program: Program
    budget: str
    setting: Setting
    machine_file: MachineFile | None
    reserve: str | None

    @property
    def budget_bytes(self) -> int:
        return self.setting.budget_bytes(self.budget)


@dataclass(frozen=True)
class Part:
    """A precision and the budgets it is swept over."""

    precision: str
    budgets: tuple[str, ...]


def parts_of(precisions: Sequence[str], budgets: Sequence[str]) -> tuple[Part, ...]:
    """The parts that `--precision fp8,fp16:default` asks for. Raises Usage."""
    parts: list[Part] = []
    for text in precisions:
        precision, *own = text.split(":")
        if precision not in PRECISIONS:
            known = " and ".join(PRECISIONS)
            raise Usage(f"--precision: '{precision}' is none of {known}")
        parts.append(Part(precision, tuple(own) or tuple(budgets)))
    return tuple(parts)


def workload_programs(
    name: str, batches: Sequence[int], parts: Sequence[Part], blocks: int
) -> list[tuple[Program, tuple[str, ...]]]:
    """The programs of a named workload, each with its budgets."""
    workload = workload_named(name)
    return [
        (
            Program(
                name,
                workload.text(batch, part.precision, blocks),
                batch,
                part.precision,
                blocks,
            ),
            part.budgets,
        )
        for part in parts
        for batch in batches
    ]


def unique(cases: Sequence[Case]) -> list[Case]:
    """The cases as given. Raises Usage where two have one name."""
    names: set[str] = set()
    for case in cases:
        if case.name in names:
            raise Usage(f"the case {case.name} is asked for twice")
        names.add(case.name)
    return list(cases)
