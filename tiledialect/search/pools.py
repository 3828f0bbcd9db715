"""The candidates of a stage as one table, without those that another always beats.

Two candidates are of one *entry* class if their operands have equal blocks and come the
same way, and of one *rest* class if their results rest alike where the next group takes
them as they lie. So whatever comes before and after, a candidate of the same classes
that is no worse in cycles, resident, transient and row bytes can stand in for another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import SPREAD, STORED, Variant
from tiledialect.cost.spec import Spec
from tiledialect.search.delivery import Delivered, delivered, least_cycles, spec_rows
from tiledialect.search.fronts import classes, undominated
from tiledialect.search.problem import Priced, Problem, Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Pool:
    """Candidates of a stage, sorted by entry class and then cycles; a row each.

    variant, row    the candidate
    cycles          of its own steps, settling included; arrival too where there is no
                    link
    resident, transient, rows   bytes: held for good, live in the fullest step (other
                    values included), of control words
    least_arrival   cycles that the link takes at least to arrive
    entry, rest     classes
    entries, rests  a candidate (variant, row) of each class
    """

    variant: Ints
    row: Ints
    cycles: Ints
    resident: Ints
    transient: Ints
    rows: Ints
    least_arrival: Ints
    entry: Ints
    rest: Ints
    entries: tuple[Ints, Ints]
    rests: tuple[Ints, Ints]

    def __len__(self) -> int:
        return len(self.cycles)

    def take(self, chosen: Ints | Mask) -> Pool:
        """Some of the candidates; classes stay as they are."""
        return Pool(
            self.variant[chosen],
            self.row[chosen],
            self.cycles[chosen],
            self.resident[chosen],
            self.transient[chosen],
            self.rows[chosen],
            self.least_arrival[chosen],
            self.entry[chosen],
            self.rest[chosen],
            self.entries,
            self.rests,
        )

    def best(self, *, timed: bool) -> Pool:
        """Without those that another of their classes always beats; `timed`: cycles
        count, not bytes alone."""
        group, _ = classes([self.entry, self.rest])
        columns = [self.resident, self.transient, self.rows]
        return self.take(undominated([self.cycles] * timed + columns, group))


def make_pools(problem: Problem) -> tuple[Pool, ...]:
    """The pool of each stage."""
    return tuple(_pool(problem, at).best(timed=True) for at in range(problem.count))


def _pool(problem: Problem, position: int) -> Pool:
    stage = problem.stages[position]
    sizes = [len(v) for v in stage.variants]
    number = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    row = np.concatenate([np.arange(n, dtype=np.int64) for n in sizes])
    entry, entries = classes(_entry_columns(stage))
    linked = problem.links(position)
    rest, rests = classes(_rest_columns(stage) if linked else [number * 0])
    cycles = _all(stage, [v.cycles for v in stage.variants])
    transient = _all(stage, [v.transient_bytes for v in stage.variants])
    rows = _all(stage, [v.row_bytes for v in stage.variants])
    if stage.link < 0:
        given = _given(problem, stage, number[entries], row[entries])
        cycles = cycles + given.cycles[entry]
        rows = rows + given.rows[entry]
        transient = np.maximum(transient, given.live[entry])
        entry, entries = entry * 0, entries[:1]
    least = [least_cycles(problem.machine, stage, v) for v in stage.variants]
    made = Pool(
        number,
        row,
        cycles,
        _all(stage, [v.cost.resident_bytes for v in stage.variants]),
        transient + stage.others,
        rows,
        _all(stage, least),
        entry,
        rest,
        (number[entries], row[entries]),
        (number[rests], row[rests]),
    )
    return made.take(np.lexsort((cycles, entry)))


def _all(stage: Stage, parts: list[Ints]) -> Ints:
    """The arrays of all variants behind each other; one row stands for all."""
    pairs = zip(parts, stage.variants, strict=True)
    return np.concatenate([np.broadcast_to(part, len(v)) for part, v in pairs])


def _entry_columns(stage: Stage) -> list[Ints]:
    """What tells operands' arrivals apart: ways, blocks, and tiles that share them."""
    columns: list[list[Ints]] = []
    for variant in stage.variants:
        mine = [np.array([_first_like(stage, variant.table.variant)])]
        for operand in variant.cost.operands:
            here = operand.path != STORED
            mine += [np.asarray(block) * here for block in operand.block.blocks]
            by_count = operand.path in SPREAD
            shared = operand.users if by_count else np.minimum(operand.users, 2)
            mine.append(shared * here)
        columns.append(mine)
    return [_all(stage, list(parts)) for parts in zip(*columns, strict=True)]


def _first_like(stage: Stage, variant: Variant) -> int:
    """The first variant whose operands come in the same ways and steps."""
    kinds = [(v.table.variant.paths, v.table.variant.steps) for v in stage.variants]
    return kinds.index((variant.paths, variant.steps))


def _rest_columns(stage: Stage) -> list[Ints]:
    """What tells resting results apart: kind and order of the layout, and blocks."""
    kinds = [_kind(v.cost.rest) for v in stage.variants]
    columns = [
        [np.array([kinds.index(kind)]), *v.cost.rest.blocks, *_outer(v.cost.rest)]
        for v, kind in zip(stage.variants, kinds, strict=True)
    ]
    return [_all(stage, list(parts)) for parts in zip(*columns, strict=True)]


def _outer(spec: Spec) -> tuple[Ints, ...]:
    return spec.blocks if spec.outer is None else spec.outer


def _kind(spec: Spec) -> object:
    return spec.order, spec.element_bytes, spec.linear, spec.outer is None


def _given(problem: Problem, stage: Stage, variant: Ints, row: Ints) -> Delivered:
    """Delivery where nothing is linked: it depends on the entry class alone."""
    found = np.zeros((3, len(row)), dtype=np.int64)
    for number in np.unique(variant):
        at = np.flatnonzero(variant == number)
        way = delivered(
            problem.machine, stage, stage.variants[int(number)], row[at], None
        )
        found[:, at] = way.cycles, way.rows, way.live
    return Delivered(*found)


def rest_spec(stage: Stage, variant: int, rows: Ints) -> Spec:
    """How the results of some candidates of a variant rest."""
    priced: Priced = stage.variants[variant]
    return spec_rows(priced.cost.rest, rows)
