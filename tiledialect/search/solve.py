"""The search: a narrow pass for a plan to beat, then the exact one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import Variant
from tiledialect.search.apart import Pair, group_pairs, live_apart
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

    from tiledialect.search.certificate import Bound

    Ints = NDArray[np.int64]

SLACK = 0.02
"""Plans behind the best one may take so much more."""

NARROW = 128
"""Labels, and then candidates, that a narrow pass keeps of each stage."""

MOST_MADE = 64
"""Plans among which those kept are sought."""

WIDEN = 1.25
"""Where a narrow pass finds no plan, the exact one is asked for plans of so many times
the cycles as before, until it finds one."""


@dataclass(frozen=True)
class Plan:
    """A choice for every group: variant and parts of its grid. `fullest` is the first
    group in which as many bytes are live as in any. All groups run once a chunk. Where
    pairs that must lie apart need more than is live, tensors may take `apart_bytes`."""

    choices: tuple[tuple[Variant, tuple[int, ...]], ...]
    cycles: int
    tensor_bytes: int
    support_bytes: int
    fullest: int
    chunks: int = 1
    apart_bytes: int = 0

    @property
    def footprint(self) -> int:
        return self.support_bytes + self.tensor_bytes

    @property
    def most_bytes(self) -> int:
        """Bytes that placement may take, if the budget allows them."""
        return self.support_bytes + max(self.tensor_bytes, self.apart_bytes)


@dataclass(frozen=True)
class Outcome:
    """How a search ended: `optimal` with the best plans in order; `infeasible` with
    the smallest budget that works and its plan, or (not `is_smallest`) with one that is
    known to work; `beaten` where no plan is better than one that is known. Of so many
    `candidates` the least was known, so many of them were `priced`, where counted.
    `bound`: the proof that no plan fits, if it was made."""

    status: str
    plans: tuple[Plan, ...]
    labels: int
    smallest_budget: int | None = None
    smallest: Plan | None = None
    is_smallest: bool = True
    candidates: int | None = None
    priced: int | None = None
    bound: Bound | None = None


def search(
    problem: Problem,
    budget: int,
    count: int,
    slack: float = SLACK,
    pools: tuple[Pool, ...] | None = None,
    known: int | None = None,
    refuse: bool = True,
) -> Outcome:
    """The best plan within the budget, and behind it up to `count` - 1 that take fewer
    bytes and at most `slack` more cycles. Searches of one problem may share `pools`.
    With `known` only plans of at most that many cycles, and slack, are looked for; not
    to `refuse` leaves out what budget would work."""
    pools = pools or make_pools(problem)
    least = least_to_come(pools)
    most = ENDLESS if known is None else int(known * (1 + slack))
    found = _narrow(problem, pools, Limits(budget, most, least))[1][-1]
    if len(found):
        beat = int(found.cycles.min())
        beat = beat if known is None else min(beat, known)
    elif known is not None:
        beat = known
    else:
        light = tuple(pool.best(timed=False) for pool in pools)
        bound = Limits(budget, ENDLESS, least_to_come(light), timed=False)
        found = _narrow(problem, light, bound)[1][-1]
        if not len(found):
            found = _exact(problem, light, bound)[-1]
        if not len(found) and not refuse:
            return Outcome("infeasible", (), 0)
        if not len(found):
            plan = _smallest(problem, light, problem.machine.max_bytes)
            known = None if plan is None else plan.footprint
            return Outcome("infeasible", (), 0, known, plan)
        beat = _first_cycles(problem, pools, budget, int(found.cycles.min()))
    bound = Limits(budget, int(beat * (1 + slack)), least)
    layers = _exact(problem, pools, bound)
    last = layers[-1]
    if not len(last):
        return Outcome("beaten", (), 0)
    order = np.lexsort([np.arange(len(last)), last.rows, last.transient, last.cycles])
    plans = kept_plans(
        (plan_of(problem, pools, layers, int(i)) for i in order[:MOST_MADE]),
        count,
        budget,
    )
    return Outcome("optimal", plans, sum(map(len, layers[1:])))


def kept_plans(plans: Iterable[Plan], count: int, budget: int) -> tuple[Plan, ...]:
    """The first `count` plans, so that one of them, if there is any, has room for all
    pairs apart: it may take the place of the last."""
    found: list[Plan] = []
    for plan in plans:
        roomy = plan.most_bytes <= budget
        if len(found) < count:
            found.append(plan)
        elif roomy:
            found[-1] = plan
        if len(found) == count and any(p.most_bytes <= budget for p in found):
            break
    return tuple(found)


def small_plan(problem: Problem, most: int) -> Plan | None:
    """A small plan of at most so many bytes, if narrow passes find one."""
    return _small(problem, _light(problem), most)


def smallest_plan(problem: Problem, most: int) -> Plan | None:
    """The smallest plan there is, if it has at most so many bytes."""
    return _smallest(problem, _light(problem), most)


def _light(problem: Problem) -> tuple[Pool, ...]:
    """Candidates without those that take no fewer bytes than others."""
    return tuple(pool.best(timed=False) for pool in make_pools(problem))


def _small(problem: Problem, light: tuple[Pool, ...], most: int) -> Plan | None:
    """The smallest plan of at most so many bytes that narrow passes find."""
    least = least_to_come(light)
    plan: Plan | None = None
    while True:
        bound = Limits(most, ENDLESS, least, timed=False)
        better = _least_plan(problem, *_narrow(problem, light, bound))
        if better is None:
            return plan
        plan, most = better, better.footprint - 1


def _smallest(problem: Problem, light: tuple[Pool, ...], most: int) -> Plan | None:
    """The smallest plan of at most so many bytes."""
    known = _small(problem, light, most)
    most = most if known is None else known.footprint
    bound = Limits(most, ENDLESS, least_to_come(light), timed=False)
    return _least_plan(problem, light, _exact(problem, light, bound))


def _least_plan(
    problem: Problem, pools: tuple[Pool, ...], layers: list[Labels]
) -> Plan | None:
    """Of the plans found the one that needs the fewest bytes."""
    last = layers[-1]
    if not len(last):
        return None
    needs = need(problem, last.resident, last.transient, last.rows)
    return plan_of(problem, pools, layers, int(np.argmin(needs)))


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


def _narrow(
    problem: Problem, pools: tuple[Pool, ...], bound: Limits
) -> tuple[tuple[Pool, ...], list[Labels]]:
    """Plans found by keeping only the most promising labels and candidates, in cycles
    or (if not timed) in bytes: these candidates, and the labels of every stage."""
    some = tuple(_promising(problem, pool, bound) for pool in pools)
    layers = [_begin(problem, bound)]
    for position in range(problem.count):
        labels = extend(problem, some, position, layers[-1], bound)
        best = np.argsort(_rank(problem, labels, bound), kind="stable")[:NARROW]
        layers.append(labels.take(best))
    return some, layers


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
    plan = smallest_plan(problem, problem.machine.max_bytes)
    return (None, None) if plan is None else (plan.footprint, plan)


def plan_of(
    problem: Problem, pools: tuple[Pool, ...], layers: list[Labels], label: int
) -> Plan:
    """The plan of a label of the last stage."""
    last = layers[-1]
    choices: list[tuple[Variant, tuple[int, ...]]] = []
    at, fullest = label, 0
    pairs: list[tuple[list[Pair], int]] = []
    for position in range(problem.count - 1, -1, -1):
        labels, pool = layers[position + 1], pools[position]
        if labels.transient[at] == last.transient[label]:
            fullest = position
        candidate = int(labels.candidate[at])
        stage, row = problem.stages[position], int(pool.row[candidate])
        variant = stage.variants[int(pool.variant[candidate])]
        mine = group_pairs(stage.group, variant.cost, row)
        pairs.append((mine, stage.others))
        parts = variant.table.parts[row]
        choices.append((variant.table.variant, tuple(int(p) for p in parts)))
        at = int(labels.before[at])
    lasting = last.resident[label : label + 1] + problem.interface_bytes
    tensor = footprint(lasting + last.transient[label])
    support = problem.support_bytes(last.rows[label : label + 1])
    return Plan(
        tuple(reversed(choices)),
        int(last.cycles[label]),
        int(tensor[0]),
        int(support[0]),
        fullest,
        problem.chunks,
        int(lasting[0]) + live_apart(pairs),
    )
