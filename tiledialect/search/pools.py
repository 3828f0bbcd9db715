"""The candidates of a stage as one table, without those that another always beats.

Two candidates are of one *entry* class if the link's operand makes the same first hop
for both, and of one *rest* class if their results rest alike where the next group takes
them as they lie. So whatever comes before and after, a candidate of the same classes
that is no worse in all its costs can stand in for another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from tiledialect.candidates import DIRECT_STEPS, RELAY, RELAY_STEPS
from tiledialect.cost.operand import OperandCost
from tiledialect.cost.spec import Spec
from tiledialect.search.delivery import (
    Fixed,
    fixed,
    joined_operands,
    joined_specs,
    operand_rows,
    spec_rows,
)
from tiledialect.search.fronts import classes, undominated
from tiledialect.search.problem import Problem, Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

T = TypeVar("T")


@dataclass(frozen=True)
class Examples(Generic[T]):
    """An example of each class: row `row` of table `kind`. Those of one table differ
    in numbers only, so they are priced together."""

    kind: Ints
    row: Ints
    tables: tuple[T, ...]


@dataclass(frozen=True)
class Pool:
    """Candidates of a stage, sorted by entry class and then cycles; a row each.

    variant, row    the candidate
    cycles, rows    of all its steps but the link's first hop; bytes of control words;
                    of all chunks together
    least           cycles that this hop takes at least
    resident        bytes held for good
    transient       bytes live in the fullest step that the hop is no part of
    waiting, beside, running
                    bytes that are live besides the source of the link, or the hop's
                    own, before the hop, in it, and while the codelet runs; 0: none
    entry, rest     classes
    hops, rests     the link's operand, and the resting result, of each class
    """

    variant: Ints
    row: Ints
    cycles: Ints
    rows: Ints
    least: Ints
    resident: Ints
    transient: Ints
    waiting: Ints
    beside: Ints
    running: Ints
    entry: Ints
    rest: Ints
    hops: Examples[OperandCost]
    rests: Examples[Spec]

    def __len__(self) -> int:
        return len(self.cycles)

    def take(self, chosen: Ints | Mask) -> Pool:
        """Some of the candidates; classes stay as they are."""
        names = [f.name for f in fields(self) if f.name not in ("hops", "rests")]
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def best(self, *, timed: bool) -> Pool:
        """Without those that another of their classes always beats; `timed`: cycles
        count, not bytes alone."""
        group, _ = classes([self.entry, self.rest])
        columns = [self.resident, self.transient, self.rows]
        columns += [self.waiting, self.beside, self.running]
        columns = [self.cycles] * timed + [c for c in columns if len(c) and c.any()]
        columns = columns or [self.cycles * 0]
        return self.take(undominated(columns, group))


def make_pools(problem: Problem) -> tuple[Pool, ...]:
    """The pool of each stage."""
    return tuple(
        whole_pool(problem, at).best(timed=True) for at in range(problem.count)
    )


def whole_pool(problem: Problem, position: int) -> Pool:
    """All candidates of a stage, those that others always beat as well."""
    stage = problem.stages[position]
    sizes = [len(v) for v in stage.variants]
    number = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    row = np.concatenate([np.arange(n, dtype=np.int64) for n in sizes])
    entry, entries = classes(_entry_columns(stage, number))
    linked = problem.links(position)
    rest, rests = classes(_rest_columns(stage) if linked else [number * 0])
    given = _given(problem, stage)
    cycles = _all(stage, [v.cycles for v in stage.variants]) + given.cycles
    rows = _all(stage, [v.row_bytes for v in stage.variants]) + given.rows
    transient = _all(stage, [v.transient_bytes for v in stage.variants])
    made = Pool(
        number,
        row,
        cycles * problem.chunks,
        rows * problem.chunks,
        given.least * problem.chunks,
        _all(stage, [v.cost.resident_bytes for v in stage.variants]),
        np.maximum(transient, given.live) + stage.others,
        given.waiting + stage.others * (given.waiting > 0),
        given.beside + stage.others * (stage.link >= 0),
        given.running + stage.others * (given.running > 0),
        entry,
        rest,
        _hops(stage, number[entries], row[entries]),
        _rests(stage, number[rests], row[rests]),
    )
    return made.take(np.lexsort((cycles, entry)))


def _all(stage: Stage, parts: list[Ints]) -> Ints:
    """The arrays of all variants behind each other; one row stands for all."""
    pairs = zip(parts, stage.variants, strict=True)
    return np.concatenate([np.broadcast_to(part, len(v)) for part, v in pairs])


def _given(problem: Problem, stage: Stage) -> Fixed:
    """The fixed part of deliveries; variants that share an entry share it."""
    known: dict[int, Fixed] = {}
    parts: list[Fixed] = []
    for variant in stage.variants:
        key = id(variant.cost.operands)
        if key not in known:
            known[key] = fixed(problem.machine, stage, variant.cost)
        parts.append(known[key])
    names = [f.name for f in fields(Fixed)]
    return Fixed(*(_all(stage, [getattr(p, n) for p in parts]) for n in names))


def _entry_columns(stage: Stage, number: Ints) -> list[Ints]:
    """What tells first hops of the link's operand apart."""
    if stage.link < 0:
        return [number * 0]
    kinds: list[object] = []
    columns: list[list[Ints]] = []
    for variant in stage.variants:
        operand = variant.cost.operands[stage.link]
        kind = _hop_kind(operand)
        if kind not in kinds:
            kinds.append(kind)
        relayed = kind == "relay"
        target = operand.relay if relayed else operand.block
        shared = operand.users if relayed else np.minimum(operand.users, 2)
        mine = [np.array([kinds.index(kind)]), *target.blocks, *_outer(target), shared]
        columns.append([*mine, 0 * shared if relayed else _pairing(target)])
    return [_all(stage, list(parts)) for parts in zip(*columns, strict=True)]


def _pairing(spec: Spec) -> Ints:
    """Whether no pairs of tiles share a block, some do, or whole pairs."""
    if spec.neighbours is None:
        return np.zeros(1, dtype=np.int64)
    return (spec.neighbours > 1) * 1 + (spec.neighbours % 2 == 0)


def _hop_kind(operand: OperandCost) -> object:
    if operand.path in (RELAY, RELAY_STEPS):
        return "relay"
    if operand.path == DIRECT_STEPS:
        return operand.path, operand.steps, operand.joined
    return operand.path


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


def _hops(stage: Stage, variant: Ints, row: Ints) -> Examples[OperandCost]:
    """The link's operands of these candidates."""
    if stage.link < 0:
        return Examples(variant[:0], row[:0], ())

    def kind(number: int) -> object:
        operand = stage.variants[number].cost.operands[stage.link]
        return operand.path, operand.steps, operand.joined

    def some(number: int, rows: Ints) -> OperandCost:
        return operand_rows(stage.variants[number].cost.operands[stage.link], rows)

    return _examples(variant, row, kind, some, joined_operands)


def _rests(stage: Stage, variant: Ints, row: Ints) -> Examples[Spec]:
    """The resting results of these candidates."""

    def kind(number: int) -> object:
        return _kind(stage.variants[number].cost.rest)

    def some(number: int, rows: Ints) -> Spec:
        return spec_rows(stage.variants[number].cost.rest, rows)

    return _examples(variant, row, kind, some, joined_specs)


def _examples(
    variant: Ints,
    row: Ints,
    kind: Callable[[int], object],
    some: Callable[[int, Ints], T],
    joined: Callable[[list[T], list[int]], T],
) -> Examples[T]:
    """Candidates gathered in one table for each kind of variant."""
    kinds: list[object] = []
    parts: list[list[tuple[int, T]]] = []
    table = np.zeros(len(variant), dtype=np.int64)
    place = np.zeros(len(variant), dtype=np.int64)
    for number in np.unique(variant):
        at = np.flatnonzero(variant == number)
        mine = kind(int(number))
        if mine not in kinds:
            kinds.append(mine)
            parts.append([])
        which = kinds.index(mine)
        before = sum(count for count, _ in parts[which])
        table[at], place[at] = which, before + np.arange(len(at))
        parts[which].append((len(at), some(int(number), row[at])))
    tables = [joined([t for _, t in p], [count for count, _ in p]) for p in parts]
    return Examples(table, place, tuple(tables))
