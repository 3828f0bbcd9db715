"""The search: a narrow pass for a plan to beat, then the exact one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import Variant
from tiledialect.search.bounds import (
    ENDLESS,
    Limits,
    footprint,
    least_to_come,
    need,
)
from tiledialect.search.labels import Labels, extend, start
from tiledialect.search.pools import Pool, make_pools
from tiledialect.search.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

MOST_FOR_SMALLEST = 20_000
"""Candidates up to which the smallest budget is proven and not only bounded."""

NARROW = 128
"""Labels, and then candidates, that a narrow pass keeps of each stage."""

WIDEN = 1.25
"""Where a narrow pass finds no plan, the exact one is asked for plans of so many times
the cycles as before, until it finds one."""


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
    the smallest budget that works and its plan, or (not `is_smallest`) with one that is
    known to work."""

    status: str
    plans: tuple[Plan, ...]
    labels: int
    smallest_budget: int | None = None
    smallest: Plan | None = None
    is_smallest: bool = True


def search(
    problem: Problem,
    budget: int,
    count: int,
    slack: float = 0.02,
    pools: tuple[Pool, ...] | None = None,
) -> Outcome:
    """The best plan within the budget, and behind it up to `count` - 1 that take fewer
    bytes and at most `slack` more cycles. Searches of one problem may share `pools`."""
    pools = pools or make_pools(problem)
    least = least_to_come(pools)
    found = _narrow(problem, pools, Limits(budget, ENDLESS, least))
    if len(found):
        beat = int(found.cycles.min())
    else:
        light = tuple(pool.best(timed=False) for pool in pools)
        bound = Limits(budget, ENDLESS, least_to_come(light), timed=False)
        found = _narrow(problem, light, bound)
        if not len(found):
            found = _exact(problem, light, bound)[-1]
        if not len(found):
            return _infeasible(problem, light)
        beat = _first_cycles(problem, pools, budget, int(found.cycles.min()))
    bound = Limits(budget, int(beat * (1 + slack)), least)
    layers = _exact(problem, pools, bound)
    last = layers[-1]
    order = np.lexsort([np.arange(len(last)), last.rows, last.transient, last.cycles])
    plans = tuple(_plan(problem, pools, layers, int(i)) for i in order[:count])
    return Outcome("optimal", plans, sum(map(len, layers[1:])))


def _infeasible(problem: Problem, light: tuple[Pool, ...]) -> Outcome:
    """No plan fits; the least budget that does is sought where that is quick, else one
    that is known to do."""
    if sum(map(len, light)) <= MOST_FOR_SMALLEST:
        small, plan = _smallest(problem, light)
        return Outcome("infeasible", (), 0, small, plan)
    known = _least_known(problem, light)
    enough = known if known <= problem.machine.max_bytes else None
    return Outcome("infeasible", (), 0, enough, None, is_smallest=False)


def _least_known(problem: Problem, light: tuple[Pool, ...]) -> int:
    """Bytes of the smallest plan that narrow passes find; more than all if none."""
    known = problem.machine.max_bytes + 1
    least = least_to_come(light)
    bound = Limits(known - 1, ENDLESS, least, timed=False)
    while len(better := _narrow(problem, light, bound)):
        known = int(need(problem, better.resident, better.transient, better.rows).min())
        bound = Limits(known - 1, ENDLESS, least, timed=False)
    return known


def _exact(problem: Problem, pools: tuple[Pool, ...], bound: Limits) -> list[Labels]:
    """The labels of every stage, all that matter within the limits."""
    layers = [_begin(problem, bound)]
    for position in range(problem.count):
        layers.append(extend(problem, pools, position, layers[-1], bound))
    return layers


def _begin(problem: Problem, bound: Limits) -> Labels:
    """The label before the first stage, if the least of all stages is within limits."""
    label = start()
    costs = (label.cycles, label.resident, label.transient, label.rows)
    return label.take(bound.allow(problem, 0, *costs))


def _narrow(problem: Problem, pools: tuple[Pool, ...], bound: Limits) -> Labels:
    """Plans found by keeping only the most promising labels and candidates, in cycles
    or (if not timed) in bytes."""
    some = tuple(_promising(problem, pool, bound) for pool in pools)
    labels = _begin(problem, bound)
    for position in range(problem.count):
        labels = extend(problem, some, position, labels, bound)
        rank = _rank(problem, labels, bound)
        labels = labels.take(np.argsort(rank, kind="stable")[:NARROW])
    return labels


def _rank(problem: Problem, table: Labels | Pool, bound: Limits) -> Ints:
    if bound.timed:
        return table.cycles
    return need(problem, table.resident, table.transient, table.rows)


def _promising(problem: Problem, pool: Pool, bound: Limits) -> Pool:
    """The best few candidates of each stage by their own costs."""
    fits = footprint(pool.resident + pool.transient) <= bound.budget
    rank = _rank(problem, pool, bound) + pool.least * bound.timed
    best = np.argsort(np.where(fits, rank, ENDLESS), kind="stable")[: 4 * NARROW]
    return pool.take(np.sort(best))


def _first_cycles(
    problem: Problem, pools: tuple[Pool, ...], budget: int, most: int
) -> int:
    """Cycles at which there is a plan within the budget, not far above the least."""
    least = least_to_come(pools)
    cycles = least[0].cycles
    while (cycles := int(cycles * WIDEN) + 1) < most:
        layers = _exact(problem, pools, Limits(budget, cycles, least))
        if len(layers[-1]):
            return int(layers[-1].cycles.min())
    return most


def smallest_budget(problem: Problem) -> tuple[int | None, Plan | None]:
    """The least budget that some plan fits, and that plan; None where the machine's
    whole memory is not enough."""
    pools = make_pools(problem)
    return _smallest(problem, tuple(pool.best(timed=False) for pool in pools))


def _smallest(
    problem: Problem, pools: tuple[Pool, ...]
) -> tuple[int | None, Plan | None]:
    known = min(_least_known(problem, pools), problem.machine.max_bytes)
    bound = Limits(known, ENDLESS, least_to_come(pools), timed=False)
    layers = _exact(problem, pools, bound)
    last = layers[-1]
    if not len(last):
        return None, None
    needs = need(problem, last.resident, last.transient, last.rows)
    best = int(np.argmin(needs))
    return int(needs[best]), _plan(problem, pools, layers, best)


def _plan(
    problem: Problem, pools: tuple[Pool, ...], layers: list[Labels], label: int
) -> Plan:
    last = layers[-1]
    choices: list[tuple[Variant, tuple[int, ...]]] = []
    at = label
    for position in range(problem.count - 1, -1, -1):
        labels, pool = layers[position + 1], pools[position]
        candidate = int(labels.candidate[at])
        variant = problem.stages[position].variants[int(pool.variant[candidate])]
        parts = variant.table.parts[int(pool.row[candidate])]
        choices.append((variant.table.variant, tuple(int(p) for p in parts)))
        at = int(labels.before[at])
    tensor = footprint(
        last.resident[label : label + 1]
        + last.transient[label]
        + problem.interface_bytes
    )
    support = problem.support_bytes(last.rows[label : label + 1])
    return Plan(
        tuple(reversed(choices)),
        int(last.cycles[label]),
        int(tensor[0]),
        int(support[0]),
    )
