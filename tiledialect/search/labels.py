"""Labels: choices for every group up to some stage, and how they go on.

A label costs cycles, and holds resident bytes for good, transient bytes in its fullest
step and row bytes. It is dropped only if another one of its rest class is no worse in
all four, if no completion of it fits the budget, or if none beats the cycles asked for.
So the best label of the last stage is the optimum of the space.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.cost.operand import sized
from tiledialect.search.bounds import Limits, need
from tiledialect.search.delivery import Hop, hop, least_beside
from tiledialect.search.fronts import (
    classes,
    count_up_to,
    expanded,
    segments_of,
    undominated,
)
from tiledialect.search.pools import Pool
from tiledialect.search.problem import Problem
from tiledialect.search.rows import operand_rows, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

CHUNK = 1 << 19
"""Pairs of labels and candidates that are priced at once."""

PILE = 1 << 21
"""Labels that are gathered before the beaten ones are dropped."""


@dataclass(frozen=True)
class Labels:
    """Labels after a stage; `candidate` is a row of its pool, `before` the label of the
    previous stage that it continues."""

    cycles: Ints
    resident: Ints
    transient: Ints
    rows: Ints
    candidate: Ints
    before: Ints

    def __len__(self) -> int:
        return len(self.cycles)

    def take(self, chosen: Ints | Mask) -> Labels:
        return Labels(*(getattr(self, f.name)[chosen] for f in fields(self)))


def start() -> Labels:
    """The one label before the first stage."""
    zero = np.zeros(1, dtype=np.int64)
    return Labels(zero, zero, zero, zero, zero, zero)


def joined(parts: list[Labels]) -> Labels:
    """All labels of some tables."""
    if not parts:
        return start().take(np.zeros(0, dtype=np.int64))
    names = [f.name for f in fields(Labels)]
    return Labels(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))


@dataclass(frozen=True)
class _Side:
    """Labels, or candidates, by class: where each class begins and ends in the sorted
    table, and its least costs; the last three of candidates alone."""

    numbers: Ints
    begin: Ints
    end: Ints
    cycles: Ints
    resident: Ints
    transient: Ints
    rows: Ints
    waiting: Ints
    beside: Ints
    running: Ints


def _side(numbers: Ints, table: Labels | Pool) -> _Side:
    found, begin, end = segments_of(numbers)
    costs = [table.cycles, table.resident, table.transient, table.rows]
    if isinstance(table, Pool):
        costs += [table.waiting, table.beside, table.running]
    least = [np.minimum.reduceat(cost, begin) for cost in costs]
    return _Side(found, begin, end, *least, *[begin * 0] * (7 - len(least)))


def extend(
    problem: Problem,
    pools: tuple[Pool, ...],
    position: int,
    labels: Labels,
    bound: Limits,
) -> Labels:
    """The undominated labels of the next stage that continue these within limits."""
    pool = pools[position]
    if not len(labels) or not len(pool):
        return joined([])
    step = _Step(problem, pools, position, labels, bound)
    pile: list[Labels] = []
    for found in step.pairs():
        pile.append(found)
        if sum(map(len, pile)) > PILE:
            pile = [step.front(joined(pile))]
    return step.front(joined(pile))


def _transient(pool: _Side | Pool, rows: Ints, way: Hop) -> Ints:
    """Live bytes of the fullest step of candidates with that first hop."""
    waiting, running = pool.waiting[rows], pool.running[rows]
    return np.maximum.reduce(
        [
            pool.transient[rows],
            pool.beside[rows] + way.beside,
            np.where(waiting > 0, waiting + way.held, 0),
            np.where(running > 0, running + way.lasting, 0),
        ]
    )


class _Step:
    """One stage: pairs of label and candidate, narrowed class by class."""

    def __init__(
        self,
        problem: Problem,
        pools: tuple[Pool, ...],
        position: int,
        labels: Labels,
        bound: Limits,
    ) -> None:
        self.problem, self.position, self.bound = problem, position, bound
        self.pool = pools[position]
        self.linked = problem.stages[position].link >= 0
        self.before = pools[position - 1] if self.linked else None
        rest = labels.candidate * 0
        if self.before is not None:
            rest = self.before.rest[labels.candidate]
        self.order = np.lexsort((labels.cycles, rest))
        self.labels = labels.take(self.order)
        self.rests = _side(rest[self.order], self.labels)
        self.entries = _side(self.pool.entry, self.pool)
        least = self.pool.cycles + self.pool.least
        self.arrived = np.minimum.reduceat(least, self.entries.begin)
        self.held, self.hop_bytes = self._least_bytes()

    def _least_bytes(self) -> tuple[Ints, Ints]:
        """Bytes of the link's source by rest class, and what a first hop needs at least
        besides it by entry class."""
        held, hop_bytes = self.rests.numbers * 0, self.entries.numbers * 0
        if self.before is None:
            return held, hop_bytes
        rests, hops = self.before.rests, self.pool.hops
        for table, spec in enumerate(rests.tables):
            at = np.flatnonzero(rests.kind[self.rests.numbers] == table)
            rows = rests.row[self.rests.numbers[at]]
            held[at] = sized(taken(spec, rows).tile_bytes)
        for table, operand in enumerate(hops.tables):
            at = np.flatnonzero(hops.kind[self.entries.numbers] == table)
            rows = hops.row[self.entries.numbers[at]]
            hop_bytes[at] = least_beside(operand_rows(operand, rows))
        return held, hop_bytes

    def pairs(self) -> Iterator[Labels]:
        """Labels of all pairs within the limits, in pieces."""
        for rest, entry in self._class_pairs():
            way = self._hops(rest, entry)
            fits = self._allow(self.rests, rest, self.entries, entry, way)
            yield from self._candidates(rest[fits], entry[fits], way.take(fits))

    def _class_pairs(self) -> Iterator[tuple[Ints, Ints]]:
        """Pairs of rest and entry class of which some pair may be within the limits."""
        rests, entries = len(self.rests.numbers), len(self.entries.numbers)
        step = max(1, CHUNK // entries)
        every = np.arange(entries, dtype=np.int64)
        for first in range(0, rests, step):
            some = np.arange(first, min(first + step, rests), dtype=np.int64)
            rest, entry = np.repeat(some, entries), np.tile(every, len(some))
            # Only the least that any hop takes is known yet.
            beside, zero = self.held[rest] + self.hop_bytes[entry], rest * 0
            least = Hop(zero, zero, self.held[rest], beside, zero)
            fits = self._allow(self.rests, rest, self.entries, entry, least)
            cycles = self.rests.cycles[rest] + self.arrived[entry]
            fits &= cycles <= self.bound.room(self.position + 1)
            if fits.any():
                yield rest[fits], entry[fits]

    def _allow(
        self,
        before: _Side | Labels,
        old: Ints,
        pool: _Side | Pool,
        new: Ints,
        way: Hop,
    ) -> Mask:
        """Whether what rows of both sides and the way between cost is within limits."""
        transient = _transient(pool, new, way)
        return self.bound.allow(
            self.problem,
            self.position + 1,
            before.cycles[old] + pool.cycles[new] + way.cycles,
            before.resident[old] + pool.resident[new],
            np.maximum(before.transient[old], transient),
            before.rows[old] + pool.rows[new] + way.rows,
        )

    def _hops(self, rest: Ints, entry: Ints) -> Hop:
        """The link's first hop from each rest class for each entry class."""
        found = np.zeros((5, len(rest)), dtype=np.int64)
        if self.before is None:
            return Hop(*found)
        rests, hops = self.before.rests, self.pool.hops
        old, new = self.rests.numbers[rest], self.entries.numbers[entry]
        both, first = classes([rests.kind[old], hops.kind[new]])
        for number, example in enumerate(first):
            at = np.flatnonzero(both == number)
            spec = rests.tables[rests.kind[old[example]]]
            operand = hops.tables[hops.kind[new[example]]]
            way = hop(
                self.problem.machine,
                operand_rows(operand, hops.row[new[at]]),
                taken(spec, rests.row[old[at]]),
            )
            found[:, at] = (
                way.cycles * self.problem.chunks,
                way.rows * self.problem.chunks,
                way.held,
                way.beside,
                way.lasting,
            )
        return Hop(*found)

    def _candidates(self, rest: Ints, entry: Ints, way: Hop) -> Iterator[Labels]:
        """Each pair of classes with the candidates of its entry class."""
        spent = self.rests.cycles[rest] + way.cycles
        room = self.bound.room(self.position + 1) - spent
        begin, end = self.entries.begin[entry], self.entries.end[entry]
        counts = count_up_to(self.pool.cycles, begin, end, room)
        for pair, item in expanded(counts, CHUNK):
            row = begin[pair] + item
            here = way.take(pair)
            fits = self._allow(self.rests, rest[pair], self.pool, row, here)
            yield from self._labels(rest[pair][fits], row[fits], here.take(fits))

    def _labels(self, rest: Ints, row: Ints, way: Hop) -> Iterator[Labels]:
        """Each candidate with the labels of its rest class."""
        spent = self.pool.cycles[row] + way.cycles
        room = self.bound.room(self.position + 1) - spent
        begin, end = self.rests.begin[rest], self.rests.end[rest]
        counts = count_up_to(self.labels.cycles, begin, end, room)
        for which, item in expanded(counts, CHUNK):
            label, chosen, here = begin[which] + item, row[which], way.take(which)
            fits = self._allow(self.labels, label, self.pool, chosen, here)
            yield self._made(label[fits], chosen[fits], here.take(fits))

    def _made(self, label: Ints, row: Ints, way: Hop) -> Labels:
        old, pool = self.labels, self.pool
        transient = _transient(pool, row, way)
        return Labels(
            old.cycles[label] + pool.cycles[row] + way.cycles,
            old.resident[label] + pool.resident[row],
            np.maximum(old.transient[label], transient),
            old.rows[label] + pool.rows[row] + way.rows,
            row,
            self.order[label],
        )

    def front(self, made: Labels) -> Labels:
        """The labels that no other of their rest class equals or beats. Behind the last
        stage only cycles and the bytes in all are left to compare."""
        cycles = [made.cycles] * self.bound.timed
        if self.position + 1 == self.problem.count:
            total = need(self.problem, made.resident, made.transient, made.rows)
            return made.take(undominated([*cycles, total], made.cycles * 0))
        columns = [*cycles, made.resident, made.transient, made.rows]
        return made.take(undominated(columns, self.pool.rest[made.candidate]))
