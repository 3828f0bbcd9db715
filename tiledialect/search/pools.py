"""The candidates of a stage as one table, without those that another always beats.

Two candidates are of one *entry* class if the link's operand makes the same first hop
for both, and of one *rest* class if their results rest alike where the next group takes
them as they lie. So whatever comes before and after, a candidate of the same classes
that is no worse in all its costs can stand in for another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from tiledialect.candidates import DIRECT_STEPS, RELAY, RELAY_STEPS
from tiledialect.cost.operand import OperandCost
from tiledialect.cost.spec import Spec
from tiledialect.search.delivery import Fixed, fixed
from tiledialect.search.fronts import classes, undominated
from tiledialect.search.problem import Arrived, Left, Problem, Stage
from tiledialect.search.rows import (
    joined_arrivals,
    joined_operands,
    joined_specs,
    kind_of,
    operand_rows,
    taken,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

T = TypeVar("T")
S = TypeVar("S", bound=Sized)
_S = TypeVar("_S", bound=Sized)


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
    stage, variants = problem.stages[position], problem.stages[position].variants
    sizes = [len(v) for v in variants]
    number = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    row = np.concatenate([np.arange(n, dtype=np.int64) for n in sizes])
    before = Parts.of([(v.arrived, v.coming) for v in variants])
    behind = Parts.of([(v.left, v.leaving) for v in variants])
    entry, entries = classes(_entry_columns(stage, before))
    linked = problem.links(position)
    rest, rests = classes(_rest_columns(behind) if linked else [number * 0])
    given = _given(problem, stage, before)
    compute = before.rows([one.cost.compute for one in before.parts])
    cycles = compute + behind.rows([one.cycles for one in behind.parts]) + given.cycles
    more = before.rows([np.array([one.more_step_bytes]) for one in before.parts])
    running = before.rows([one.running_bytes for one in before.parts])
    transient = np.maximum(
        running, behind.rows([one.transient_bytes for one in behind.parts])
    )
    rows = behind.rows([one.row_bytes for one in behind.parts]) + more + given.rows
    made = Pool(
        number,
        row,
        cycles * problem.chunks,
        rows * problem.chunks,
        given.least * problem.chunks,
        before.rows([one.resident_bytes for one in before.parts]),
        np.maximum(transient, given.live) + stage.others,
        given.waiting + stage.others * (given.waiting > 0),
        given.beside + stage.others * (stage.link >= 0),
        given.running + stage.others * (given.running > 0),
        entry,
        rest,
        _hops(stage, before, entries),
        _rests(behind, rests),
    )
    return made.take(np.lexsort((cycles, entry)))


@dataclass(frozen=True)
class Parts(Generic[S]):
    """What variants share, each once in the order of the variants; for each candidate
    which of them, and which row of it, is its own."""

    parts: list[S]
    which: Ints
    row: Ints
    place: Ints  # the row among those of all parts behind each other
    sizes: list[int]

    @staticmethod
    def of(shares: Sequence[tuple[_S, Ints]]) -> Parts[_S]:
        """The parts of some variants, given with the rows of their candidates."""
        numbers: dict[int, int] = {}
        parts: list[_S] = []
        for one, _ in shares:
            if numbers.setdefault(id(one), len(parts)) == len(parts):
                parts.append(one)
        counts = [len(row) for _, row in shares]
        mine = np.array([numbers[id(one)] for one, _ in shares], dtype=np.int64)
        which = np.repeat(mine, counts)
        row = np.concatenate([row for _, row in shares])
        sizes = list(map(len, parts))
        begin = np.cumsum([0, *sizes[:-1]])
        return Parts(parts, which, row, begin[which] + row, sizes)

    def rows(self, column: Sequence[Ints]) -> Ints:
        """A column, given for each part, for each candidate; one row stands for all."""
        pairs = zip(column, self.sizes, strict=True)
        every = [np.broadcast_to(some, size) for some, size in pairs]
        return np.concatenate(every)[self.place]


def _given(problem: Problem, stage: Stage, before: Parts[Arrived]) -> Fixed:
    """The fixed part of deliveries. Operands that come on the same ways are priced
    together, in however many steps."""
    kinds: dict[object, list[int]] = {}
    for at, one in enumerate(before.parts):
        kinds.setdefault(tuple(map(kind_of, one.cost.operands)), []).append(at)
    found: dict[int, tuple[Ints, ...]] = {}
    names = [f.name for f in fields(Fixed)]
    for some in kinds.values():
        sizes = [before.sizes[at] for at in some]
        joint = joined_arrivals([before.parts[at].cost for at in some], sizes)
        mine = fixed(problem.machine, stage, joint)
        every = [np.broadcast_to(getattr(mine, name), sum(sizes)) for name in names]
        parts = [np.split(column, np.cumsum(sizes)[:-1]) for column in every]
        found |= {at: columns for at, *columns in zip(some, *parts, strict=True)}
    columns = zip(*(found[at] for at in range(len(before.parts))), strict=True)
    return Fixed(*(before.rows(column) for column in columns))


def _entry_columns(stage: Stage, before: Parts[Arrived]) -> list[Ints]:
    """What tells first hops of the link's operand apart."""
    if stage.link < 0:
        return [before.which * 0]
    kinds: list[object] = []
    columns: list[list[Ints]] = []
    for one in before.parts:
        operand = one.cost.operands[stage.link]
        kind = _hop_kind(operand)
        if kind not in kinds:
            kinds.append(kind)
        relayed = kind == "relay"
        target = operand.relay if relayed else operand.block
        shared = operand.users if relayed else np.minimum(operand.users, 2)
        mine = [np.array([kinds.index(kind)]), *target.blocks, *_outer(target), shared]
        columns.append([*mine, 0 * shared if relayed else _pairing(target)])
    return [before.rows(some) for some in zip(*columns, strict=True)]


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


def _rest_columns(behind: Parts[Left]) -> list[Ints]:
    """What tells resting results apart: kind and order of the layout, and blocks."""
    rests = [one.cost.rest for one in behind.parts]
    kinds = [_kind(rest) for rest in rests]
    columns = [
        [np.array([kinds.index(kind)]), *rest.blocks, *_outer(rest)]
        for rest, kind in zip(rests, kinds, strict=True)
    ]
    return [behind.rows(some) for some in zip(*columns, strict=True)]


def _outer(spec: Spec) -> tuple[Ints, ...]:
    return spec.blocks if spec.outer is None else spec.outer


def _kind(spec: Spec) -> object:
    return spec.order, spec.element_bytes, spec.linear, spec.outer is None


def _hops(stage: Stage, before: Parts[Arrived], chosen: Ints) -> Examples[OperandCost]:
    """The link's operands of these candidates."""
    if stage.link < 0:
        return Examples(chosen[:0], chosen[:0], ())
    operands = [_hopping(one.cost.operands[stage.link]) for one in before.parts]
    kinds = list(map(kind_of, operands))
    which, row = before.which[chosen], before.row[chosen]
    return _examples(which, row, operands, kinds, operand_rows, joined_operands)


def _hopping(operand: OperandCost) -> OperandCost:
    """All that the first hop of an operand depends on."""
    if operand.path not in (RELAY, RELAY_STEPS):
        return operand
    relay = operand.relay
    return OperandCost(RELAY, relay, operand.users, relay, relay, operand.fill)


def _rests(behind: Parts[Left], chosen: Ints) -> Examples[Spec]:
    """The resting results of these candidates."""
    rests = [one.cost.rest for one in behind.parts]
    kinds = [_kind(rest) for rest in rests]
    which, row = behind.which[chosen], behind.row[chosen]
    return _examples(which, row, rests, kinds, taken, joined_specs)


def _examples(
    which: Ints,
    row: Ints,
    parts: Sequence[T],
    kinds: Sequence[object],
    some: Callable[[T, Ints], T],
    joined: Callable[[list[T], list[int]], T],
) -> Examples[T]:
    """Rows of parts gathered in one table for each kind of part."""
    known: list[object] = []
    tables: list[list[tuple[int, T]]] = []
    kind = np.zeros(len(which), dtype=np.int64)
    place = np.zeros(len(which), dtype=np.int64)
    for number in map(int, np.unique(which)):
        at = np.flatnonzero(which == number)
        if kinds[number] not in known:
            known.append(kinds[number])
            tables.append([])
        table = known.index(kinds[number])
        before = sum(count for count, _ in tables[table])
        kind[at], place[at] = table, before + np.arange(len(at))
        tables[table].append((len(at), some(parts[number], row[at])))
    made = [joined([t for _, t in p], [count for count, _ in p]) for p in tables]
    return Examples(kind, place, tuple(made))
