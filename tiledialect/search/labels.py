"""Exact search over a program's groups: labels, dominance, bounds.

A label is a choice for every group up to some stage. It costs cycles, and holds
resident bytes for good, transient bytes in its fullest step and row bytes. A label is
dropped only if another one with the same resting result is no worse in all four, if no
completion of it can fit the budget, or if none can beat the plan that a first, narrow
pass has found. So the last stage's best label is the optimum of the space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import STORED
from tiledialect.cost.group import Arrival, OperandCost, arrival
from tiledialect.cost.movement import same_place
from tiledialect.cost.spec import Spec, ceil_div
from tiledialect.search.problem import Priced, Problem, Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

CHUNK = 1 << 20
"""Pairs of labels and candidates that are priced at once."""

ENDLESS = np.iinfo(np.int64).max // 4


@dataclass(frozen=True)
class Labels:
    """Labels after a stage; `variant` and `row` say the candidate, `before` the label
    of the previous stage that it continues."""

    cycles: Ints
    resident: Ints
    transient: Ints
    rows: Ints
    variant: Ints
    row: Ints
    before: Ints

    def __len__(self) -> int:
        return len(self.cycles)

    def take(self, chosen: Ints | Mask) -> Labels:
        return Labels(
            self.cycles[chosen],
            self.resident[chosen],
            self.transient[chosen],
            self.rows[chosen],
            self.variant[chosen],
            self.row[chosen],
            self.before[chosen],
        )


def start() -> Labels:
    """The one label before the first stage."""
    zero = np.zeros(1, dtype=np.int64)
    return Labels(zero, zero, zero, zero, zero - 1, zero, zero - 1)


def joined(parts: list[Labels]) -> Labels:
    if not parts:
        return start().take(np.zeros(0, dtype=np.int64))
    names = ("cycles", "resident", "transient", "rows", "variant", "row", "before")
    return Labels(
        *(np.concatenate([getattr(p, name) for p in parts]) for name in names)
    )


@dataclass(frozen=True)
class Limits:
    """What prunes: bytes a tile, cycles to beat, and for each stage the least that the
    stages from there on add in cycles and in resident bytes."""

    budget: int
    cycles: int
    least_cycles: tuple[int, ...]
    least_resident: tuple[int, ...]


def limits(problem: Problem, budget: int, cycles: int = ENDLESS) -> Limits:
    """Bounds of what is left after each stage."""
    least_cycles, least_resident = [0], [0]
    for stage in reversed(problem.stages):
        cheap = min(
            (int(v.cycles.min() + _least_arrival(v)) for v in stage.variants), default=0
        )
        small = min(
            (int(v.cost.resident_bytes.min()) for v in stage.variants), default=0
        )
        least_cycles.append(least_cycles[-1] + cheap)
        least_resident.append(least_resident[-1] + small)
    return Limits(
        budget, cycles, tuple(reversed(least_cycles)), tuple(reversed(least_resident))
    )


def _least_arrival(variant: Priced) -> int:
    """Cycles that the operands of any candidate take at least to arrive: the words of a
    block that several tiles share cannot all be there already."""
    total = np.zeros(1, dtype=np.int64)
    for operand in variant.cost.operands:
        if operand.path != STORED:
            words = ceil_div(
                operand.block.tile_elements * operand.block.element_bytes, 4
            )
            total = total + np.where(operand.users > 1, words, 0)
    return int(total.min())


def extend(
    problem: Problem, position: int, labels: Labels, before: Stage | None, bound: Limits
) -> Labels:
    """All labels of the next stage that continue these within the limits."""
    stage = problem.stages[position]
    parts: list[Labels] = []
    for number, variant in enumerate(stage.variants):
        found: list[Labels] = []
        for source, chosen in _sources(stage, labels, before):
            found += _pairs(
                problem, position, number, variant, source, chosen, labels, bound
            )
        if found:
            parts.append(
                _undominated(joined(found), within_rows=stage_links(problem, position))
            )
    result = joined(parts)
    if not stage_links(problem, position):
        result = _undominated(result, within_rows=False)
    return result


def stage_links(problem: Problem, position: int) -> bool:
    """Whether the next stage must know how this one's result rests."""
    after = position + 1
    return after < len(problem.stages) and problem.stages[after].link >= 0


def _sources(
    stage: Stage, labels: Labels, before: Stage | None
) -> list[tuple[Spec | None, Ints]]:
    """The labels by the variant of the link that they bring, with its spec."""
    if stage.link < 0 or before is None:
        return [(None, np.arange(len(labels), dtype=np.int64))]
    found: list[tuple[Spec | None, Ints]] = []
    for number in np.unique(labels.variant):
        chosen = np.flatnonzero(labels.variant == number)
        rest = before.variants[int(number)].cost.rest
        found.append((_rows(rest, labels.row[chosen]), chosen))
    return found


def _rows(spec: Spec, rows: Ints) -> Spec:
    """A spec's rows; arrays of one row stand for all."""
    blocks = tuple(b[rows] if len(b) > 1 else b for b in spec.blocks)
    spread = spec.spread
    if spread is not None and len(spread) > 1:
        spread = spread[rows]
    return spec.with_(blocks=blocks, spread=spread)


def _pairs(
    problem: Problem,
    position: int,
    number: int,
    variant: Priced,
    source: Spec | None,
    chosen: Ints,
    labels: Labels,
    bound: Limits,
) -> list[Labels]:
    """Labels from all pairs of a label and a candidate, in chunks."""
    rest_cycles = bound.least_cycles[position + 1]
    room = bound.cycles - rest_cycles - variant.cycles
    found: list[Labels] = []
    step = max(1, CHUNK // max(1, len(variant)))
    for first in range(0, len(chosen), step):
        part = np.arange(first, min(first + step, len(chosen)), dtype=np.int64)
        fits = labels.cycles[chosen[part]][:, None] <= room[None, :]
        left, row = np.nonzero(fits)
        if not len(left):
            continue
        pair = _priced_pairs(
            problem, position, number, variant, source, part[left], row, chosen, labels
        )
        found.append(pair.take(_feasible(problem, position, pair, bound)))
    return found


def _feasible(problem: Problem, position: int, pair: Labels, bound: Limits) -> Mask:
    """Pairs that may still become a plan within the limits."""
    support = problem.support_bytes(pair.rows)
    later = bound.least_resident[position + 1]
    bytes_needed = support + footprint(pair.resident + later + pair.transient)
    cycles = pair.cycles + bound.least_cycles[position + 1]
    return (bytes_needed <= bound.budget) & (cycles <= bound.cycles)


def footprint(tensor_bytes: Ints) -> Ints:
    """Bytes that placement may take for so many live ones: gaps between buffers of
    different alignment are allowed for by 1 part in 64."""
    return tensor_bytes + tensor_bytes // 64


def _priced_pairs(
    problem: Problem,
    position: int,
    number: int,
    variant: Priced,
    source: Spec | None,
    left: Ints,
    row: Ints,
    chosen: Ints,
    labels: Labels,
) -> Labels:
    stage = problem.stages[position]
    before = chosen[left]
    cycles = labels.cycles[before] + variant.cycles[row]
    rows = labels.rows[before] + variant.row_bytes[row]
    delivered = _delivered(problem, stage, variant, source, left, row)
    transient = np.maximum(delivered.live, variant.transient_bytes[row]) + stage.others
    return Labels(
        cycles + delivered.cycles,
        labels.resident[before] + variant.cost.resident_bytes[row],
        np.maximum(labels.transient[before], transient),
        rows + delivered.rows,
        np.full(len(row), number, dtype=np.int64),
        row,
        before,
    )


@dataclass(frozen=True)
class _Delivered:
    """All operands of a pair, delivered one after another."""

    cycles: Ints
    rows: Ints
    live: Ints


def _delivered(
    problem: Problem,
    stage: Stage,
    variant: Priced,
    source: Spec | None,
    left: Ints,
    row: Ints,
) -> _Delivered:
    total = np.zeros(len(row), dtype=np.int64)
    rows, live = total, total
    ways: list[tuple[Arrival, Ints, Ints]] = []
    for number, operand in enumerate(variant.cost.operands):
        if operand.path == STORED:
            continue
        spec = source if number == stage.link else stage.linear[number]
        assert spec is not None
        if number == stage.link:
            spec = _rows(spec, left)
        here = _operand_rows(operand, row)
        way = arrival(problem.machine, here, spec)
        held = number == stage.link or number in stage.dying
        bytes_before = _held(spec, held, len(row))
        in_place = same_place(spec, here.block) & (here.users == 1)
        block = np.where(in_place, 0, here.block_bytes)
        ways.append((way, bytes_before, np.broadcast_to(block, total.shape)))
        total = total + way.exchange + way.compute
        rows = rows + way.row_bytes
    for number, (way, _, block) in enumerate(ways):
        done = sum((w[2] for w in ways[:number]), np.zeros_like(total))
        waiting = sum((w[1] for w in ways[number:]), np.zeros_like(total))
        live = np.maximum(live, done + waiting + way.extra_bytes + block)
    return _Delivered(total, rows, live)


def _held(spec: Spec, held: bool, count: int) -> Ints:
    size = ceil_div(spec.tile_bytes, 16) * 16 if held else np.zeros(1, dtype=np.int64)
    return np.broadcast_to(size, (count,))


def _operand_rows(operand: OperandCost, rows: Ints) -> OperandCost:
    return OperandCost(
        operand.path,
        _rows(operand.block, rows),
        operand.users[rows],
        _rows(operand.relay, rows),
        _rows(operand.gathered, rows),
        operand.fill[rows] if len(operand.fill) > 1 else operand.fill,
    )


def _undominated(labels: Labels, *, within_rows: bool) -> Labels:
    """The labels that no other one equals or beats in all four costs; `within_rows`:
    only labels of one candidate are compared. Ties go to the earlier label."""
    keys = [
        np.arange(len(labels)),
        labels.rows,
        labels.transient,
        labels.resident,
        labels.cycles,
    ]
    if within_rows:
        keys += [labels.row, labels.variant]
    ordered = labels.take(np.lexsort(keys))
    starts = np.zeros(1, dtype=np.int64)
    if within_rows and len(labels):
        change = (np.diff(ordered.row) != 0) | (np.diff(ordered.variant) != 0)
        starts = np.append(starts, np.flatnonzero(change) + 1)
    ends = np.append(starts[1:], len(labels))
    keep = np.ones(len(labels), dtype=np.bool_)
    for group in np.flatnonzero(ends - starts > 1):
        first, end = int(starts[group]), int(ends[group])
        keep[first:end] = _front(ordered, first, end)
    return ordered.take(keep)


def _front(labels: Labels, first: int, end: int) -> Mask:
    """Which of the labels [first, end), sorted by cycles, are on the Pareto front."""
    keep = np.zeros(end - first, dtype=np.bool_)
    part = slice(first, end)
    costs = np.column_stack(
        [labels.resident[part], labels.transient[part], labels.rows[part]]
    )
    alive = np.arange(end - first)
    while len(alive):
        best = alive[0]
        keep[best] = True
        beaten = (costs[alive] >= costs[best]).all(axis=1)
        alive = alive[~beaten]
    return keep
