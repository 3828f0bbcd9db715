"""Parts of a contraction's candidates: ranges of what a candidate chooses, with the
least that those of them take which fit the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import block_choices, grains
from tiledialect.cost.operand import sized
from tiledialect.machine import Machine
from tiledialect.program import Group, Program
from tiledialect.search.floors import DEPTH, Floor, Floors
from tiledialect.search.ground import Ground

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

ENDLESS = int(np.iinfo(np.int64).max) // 4

STEPS, SPREAD, STORED = 4, 5, 6
"""Columns of a part's ranges behind the parts of b, m, n and k."""

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Sample:
    """A candidate: its place in every column, its own live bytes, and rows."""

    at: tuple[int, ...]
    live: int
    rows: int


@dataclass(frozen=True)
class Part:
    """Of the candidates in all ranges that fit: the least bytes of stored operands, of
    what else is live at the fullest point, of rows, and cycles. None fits: `cycles` is
    ENDLESS and `live` all that the lightest needs. `fast`, `light` and `few` are the
    candidates with the fewest cycles, live bytes and rows."""

    ranges: Ranges
    stored: int
    live: int
    rows: int
    cycles: int
    point: int
    fast: Sample = Sample((), 0, 0)
    light: Sample = Sample((), 0, 0)
    few: Sample = Sample((), 0, 0)

    @property
    def fits(self) -> bool:
        return self.cycles < ENDLESS

    @property
    def claims(self) -> tuple[int, int, int, int]:
        return self.stored, self.live, self.rows, self.cycles


@dataclass(frozen=True)
class Fitting:
    """Candidates of one kind that fit, with a range of steps: their grids and stored
    bytes (a column each), live bytes with the most steps and with the fewest, rows and
    cycles with the fewest, the fullest point."""

    columns: Ints
    live: Ints
    most_live: Ints
    rows: Ints
    cycles: Ints
    point: Ints


def shared_extents(program: Program) -> frozenset[int]:
    """Extents of dimensions that every group has, which alone may be cut in chunks."""
    shared: frozenset[int] | None = None
    for group in program.groups:
        if group.family == "matmul":
            some = {group.dims[d].extent for d in _parallel(program, group)}
        else:
            some = _runs(program.values[group.result.value].form.shape)
        shared = frozenset(some) if shared is None else shared & some
    return frozenset(extent for extent in shared or () if extent > 1)


def _runs(shape: tuple[int, ...]) -> set[int]:
    """Elements of all runs of neighbouring axes."""
    ends = range(len(shape) + 1)
    return {prod(shape[a:b]) for a in ends for b in ends if a < b}


def _parallel(program: Program, group: Group) -> list[int]:
    stored = [o for o in group.operands if program.values[o.value].is_stored]
    return [d for d in range(DEPTH) if all(d not in o.axes for o in stored)]


class Table:
    """The candidates of the contraction at a position, for a budget.

    others  bytes of tensors that lie on every tile besides this group's
    """

    def __init__(self, ground: Ground, position: int, budget: int) -> None:
        self.ground, self.position, self.budget = ground, position, budget
        self.others = 0
        program, machine = ground.program, ground.machine
        self.group = program.groups[position]
        self.dims = [-1]
        if ground.span.high > 1:
            shared = shared_extents(program)
            some = _parallel(program, self.group)
            self.dims = [d for d in some if self.group.dims[d].extent in shared]
        grain = grains(program, self.group, machine)
        self.most_steps = max(1, -(-self.group.dims[DEPTH].extent // grain[DEPTH]))
        self.grids = self._grids(program, machine)
        self.floors = [Floors(ground, position, self.grids, d) for d in self.dims]
        stored = self.floors[0].stored
        self.kinds = (False, True) if sum(stored) == 1 else (None,)
        self.parts: dict[Ranges, Part | None] = {}
        self.known: dict[tuple[int, int, int, int, bool], Floor] = {}
        self.light: dict[tuple[int, int], tuple[Ints, Floors]] = {}
        self.fitting: dict[tuple[int, int, int, int], Fitting] = {}

    def _grids(self, program: Program, machine: Machine) -> Ints:
        grids = np.ones((1, 0), dtype=np.int64)
        grain = grains(program, self.group, machine)
        for at, dim in enumerate(self.group.dims):
            count = min(machine.tiles, -(-dim.extent // grain[at]))
            some = block_choices(dim.extent, grain[at], machine.tiles)
            if at in self.dims:  # the blocks of chunks are of any size
                some = list(range(1, count + 1))
            rows = np.repeat(grids, len(some), axis=0)
            column = np.tile(np.array(some, dtype=np.int64), len(grids))
            grids = np.column_stack([rows, column])
            grids = grids[grids.prod(axis=1) <= machine.tiles]
        return grids

    @cached_property
    def least_stored(self) -> int:
        """Bytes that the stored operands hold on a tile at least."""
        floors = [self.floors[0].bytes((1, 1), kind) for kind in self.kinds]
        return min(int(floor.stored.min()) for floor in floors)

    def whole(self) -> Part:
        """All candidates."""
        machine, group = self.ground.machine, self.group
        grain = self.floors[0].grain
        counts = [
            max(1, -(-d.extent // g)) for d, g in zip(group.dims, grain, strict=True)
        ]
        stored = 0
        for number, operand in enumerate(group.operands):
            size = prod(group.extents(operand.axes)) * self.floors[0].width[number]
            stored += int(sized(np.array(size))) * self.floors[0].stored[number]
        ranges = [(1, min(machine.tiles, count)) for count in counts]
        ranges += [(1, counts[DEPTH]), (0, len(self.kinds) - 1), (0, stored)]
        part = self.part(tuple(ranges))
        assert part is not None, "there is always a grid of one tile"
        return part

    def part(self, ranges: Ranges) -> Part | None:
        """The part of these ranges; None where no candidate is in them."""
        if ranges not in self.parts:
            self.parts[ranges] = self._joined(ranges, self._fit) or self._joined(
                ranges, self._unfit
            )
        return self.parts[ranges]

    def _joined(
        self, ranges: Ranges, of_kind: Callable[[Ranges, int, int], Part | None]
    ) -> Part | None:
        """The part made of those of each kind of storage and dimension of chunks."""
        kinds = range(ranges[SPREAD][0], ranges[SPREAD][1] + 1)
        every = [of_kind(ranges, k, d) for k in kinds for d in range(len(self.dims))]
        some = [part for part in every if part is not None]
        if not some:
            return None
        light = min(some, key=lambda part: part.live)
        fast = min(some, key=lambda part: part.cycles)
        few = min(some, key=lambda part: part.rows)
        return Part(
            ranges,
            min(part.stored for part in some),
            light.live,
            few.rows,
            fast.cycles,
            light.point,
            fast.fast,
            light.light,
            few.few,
        )

    def _fit(self, ranges: Ranges, number: int, which: int) -> Part | None:
        """The part of the candidates that fit; None where none does."""
        some = self._fitting(which, ranges[STEPS], number)
        low, high = np.array((*ranges[:STEPS], ranges[STORED])).T
        inside = ((some.columns >= low) & (some.columns <= high)).all(axis=1)
        at = np.flatnonzero(inside)
        if not len(at):
            return None
        fast = int(at[some.cycles[at].argmin()])
        light = int(at[some.live[at].argmin()])
        few = int(at[some.rows[at].argmin()])

        def sample(one: int, steps: int, live: Ints) -> Sample:
            *grid, stored = (int(column) for column in some.columns[one])
            kind = int(self.kinds[number] is True)
            at = (*grid, steps, kind, stored)
            return Sample(at, int(live[one]), int(some.rows[one]))

        return Part(
            ranges,
            int(some.columns[at, -1].min()),
            int(some.live[light]),
            int(some.rows[few]),
            int(some.cycles[fast]),
            int(some.point[light]),
            sample(fast, ranges[STEPS][0], some.most_live),
            sample(light, ranges[STEPS][1], some.live),
            sample(few, ranges[STEPS][0], some.most_live),
        )

    def _unfit(self, ranges: Ranges, number: int, which: int) -> Part | None:
        """A part of which no candidate fits; None where it has none."""
        floor = self._bytes(which, ranges[STEPS], number)
        low, high = np.array(ranges[:STEPS]).T
        chosen = ((self.grids >= low) & (self.grids <= high)).all(axis=1)
        low, high = ranges[STORED]
        rows = np.flatnonzero(chosen & (floor.stored >= low) & (floor.stored <= high))
        if not len(rows):
            return None
        total = self._total(floor)[:, rows]
        at = np.unravel_index(total.argmin(), total.shape)
        point = int(floor.point[:, rows][at])
        return Part(ranges, 0, int(total[at]), 0, ENDLESS, point)

    def _total(self, floor: Floor) -> Ints:
        """All bytes of a tile at the fullest point."""
        tensors = floor.live + floor.stored + self.others
        return tensors + self.ground.support(floor.rows)

    def _fitting(self, which: int, steps: tuple[int, int], number: int) -> Fitting:
        """The candidates of so many steps that fit."""
        key = (which, *steps, number)
        if key not in self.fitting:
            rows, floors = self._light(which, number)
            floor = self._bytes(which, steps, number, floors)
            before = self._bytes(which, (steps[0], steps[0]), number, floors)
            place = np.flatnonzero(self._total(floor).ravel() <= self.budget)
            column = place % max(1, len(rows))
            cycles = floors.cycles(steps[0], self.kinds[number])
            self.fitting[key] = Fitting(
                np.column_stack([self.grids[rows[column]], floor.stored[column]]),
                floor.live.ravel()[place],
                before.live.ravel()[place],
                floor.rows.ravel()[place] * self.ground.span.low,
                cycles.ravel()[place],
                floor.point.ravel()[place],
            )
        return self.fitting[key]

    def _light(self, which: int, number: int) -> tuple[Ints, Floors]:
        """The grids that fit in some number of steps: all others never do."""
        key = (which, number)
        if key not in self.light:
            floor = self._bytes(which, (1, self.most_steps), number)
            rows = np.flatnonzero((self._total(floor) <= self.budget).any(axis=0))
            dim = self.dims[which]
            some = Floors(self.ground, self.position, self.grids[rows], dim)
            self.light[key] = rows, some
        return self.light[key]

    def _bytes(
        self,
        which: int,
        steps: tuple[int, int],
        number: int,
        floors: Floors | None = None,
    ) -> Floor:
        """The bytes of all grids, or of those that these floors are of."""
        key = (which, *steps, number, floors is None)
        if key not in self.known:
            chosen = floors or self.floors[which]
            self.known[key] = chosen.bytes(steps, self.kinds[number])
        return self.known[key]

    def halves(self, part: Part) -> Iterator[tuple[Part, Part]]:
        """The ways to cut a part in two between its fastest and its lightest, or that
        with the fewest rows."""
        for column, (low, high) in enumerate(part.ranges):
            samples = (part.fast, part.light, part.few)
            between = sorted(one.at[column] for one in samples)
            if column == STORED:
                between = [part.stored, part.fast.at[column]]
            middle = (between[0] + between[-1]) // 2
            if column == STEPS:
                between = [low, high]
                middle = low if low < 4 else min(high - 1, low * 3 // 2)
            if between[0] == between[-1]:
                continue
            cuts = [(low, middle), (middle + 1, high)]
            halves = [
                self.part((*part.ranges[:column], cut, *part.ranges[column + 1 :]))
                for cut in cuts
            ]
            first, second = halves
            if first is not None and second is not None:
                yield first, second
