"""The search: a narrow pass for a plan to beat, then the exact one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import Variant
from tiledialect.search.labels import (
    ENDLESS,
    Labels,
    Limits,
    extend,
    footprint,
    limits,
    start,
)
from tiledialect.search.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

NARROW = 64
"""Labels that the narrow pass keeps after each stage."""


@dataclass(frozen=True)
class Plan:
    """A choice for every group: variant and parts of its grid."""

    choices: tuple[tuple[Variant, tuple[int, ...]], ...]
    cycles: int
    tensor_bytes: int
    support_bytes: int

    @property
    def footprint(self) -> int:
        return self.support_bytes + self.tensor_bytes


@dataclass(frozen=True)
class Outcome:
    """How a search ended: `optimal` with the best plans in order, or `infeasible` with
    the smallest budget that works."""

    status: str
    plans: tuple[Plan, ...]
    labels: int
    smallest_budget: int | None = None


def search(problem: Problem, budget: int, count: int, slack: float = 0.02) -> Outcome:
    """The `count` best plans within the budget whose cycles exceed the best by at most
    `slack`."""
    beat = _narrow(problem, budget)
    bound = ENDLESS if beat is None else int(beat * (1 + slack))
    layers, tried = _exact(problem, limits(problem, budget, bound))
    last = layers[-1]
    if not len(last):
        least, _ = smallest_budget(problem)
        return Outcome("infeasible", (), tried, least)
    order = np.lexsort([np.arange(len(last)), last.rows, last.transient, last.cycles])
    plans = tuple(_plan(problem, layers, int(label)) for label in order[:count])
    return Outcome("optimal", plans, tried)


def _exact(problem: Problem, bound: Limits) -> tuple[list[Labels], int]:
    layers = [start()]
    tried = 0
    for position in range(len(problem.stages)):
        before = problem.stages[position - 1] if position else None
        layers.append(extend(problem, position, layers[-1], before, bound))
        tried += len(layers[-1])
    return layers, tried


def _narrow(problem: Problem, budget: int) -> int | None:
    """Cycles of a plan found by keeping only the most promising labels, or None."""
    bound = limits(problem, budget)
    labels = start()
    for position in range(len(problem.stages)):
        before = problem.stages[position - 1] if position else None
        labels = extend(problem, position, labels, before, bound)
        order = np.lexsort([np.arange(len(labels)), labels.cycles])
        labels = labels.take(order[:NARROW])
    return int(labels.cycles.min()) if len(labels) else None


def smallest_budget(problem: Problem) -> tuple[int | None, Plan | None]:
    """The least budget that some plan fits, and that plan; None where the machine's
    whole memory is not enough."""
    high = problem.machine.max_bytes
    layers, _ = _exact(problem, limits(problem, high))
    last = layers[-1]
    if not len(last):
        return None, None
    needs = problem.support_bytes(last.rows) + footprint(last.resident + last.transient)
    best = int(np.argmin(needs))
    return int(needs[best]), _plan(problem, layers, best)


def _plan(problem: Problem, layers: list[Labels], label: int) -> Plan:
    last = layers[-1]
    choices: list[tuple[Variant, tuple[int, ...]]] = []
    at = label
    for position in range(len(problem.stages) - 1, -1, -1):
        labels = layers[position + 1]
        table = problem.stages[position].variants[int(labels.variant[at])].table
        parts = tuple(int(p) for p in table.parts[int(labels.row[at])])
        choices.append((table.variant, parts))
        at = int(labels.before[at])
    tensor = footprint(last.resident[label : label + 1] + last.transient[label])
    support = problem.support_bytes(last.rows[label : label + 1])
    return Plan(
        tuple(reversed(choices)),
        int(last.cycles[label]),
        int(tensor[0]),
        int(support[0]),
    )
