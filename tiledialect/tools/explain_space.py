"""The plan space of a program, and what each filter of the search takes from it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from tiledialect.candidates import Candidates
from tiledialect.chunks import WHOLE, Chunking, chunking_of
from tiledialect.constraints import (
    Constraints,
    Impossible,
    constrained,
    joined,
)
from tiledialect.diagnostics import Refused, fail
from tiledialect.dialects.module_attributes import MACHINE, RESERVE, machine_of, rung_of
from tiledialect.dialects.plan import CatalogueOp
from tiledialect.forced_plans import forced_plan
from tiledialect.machine import Machine
from tiledialect.passes.expand_candidates import ExpandCandidatesPass
from tiledialect.passes.search_plan import (
    budget_bytes,
    read_candidates,
    read_catalogues,
)
from tiledialect.pipeline import make_context
from tiledialect.program import Program, read_program
from tiledialect.search.bounds import Limits, least_to_come
from tiledialect.search.chunked import search_chunked
from tiledialect.search.pools import Pool, whole_pool
from tiledialect.search.problem import Problem, make_problem
from tiledialect.search.rough import chunk_tables
from tiledialect.search.solve import Outcome, Plan
from tiledialect.text.parser import parse_module
from tiledialect.text.printer import print_operation
from tiledialect.text.verify import verify_module
from tiledialect.tools.settings import (
    DEFAULT_MACHINE,
    machine_attribute,
    put_setting,
    reserve_attribute,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

Tables = list[list[Candidates]]


@dataclass(frozen=True)
class Source:
    """A program as the command names it."""

    text: str
    name: str
    machine: str | None = None
    reserve: str | None = None
    constraints: str | None = None


def catalogued(source: Source) -> ModuleOp:
    """The module of a source at rung 2. Refuses one that is planned already."""
    context = make_context()
    module = parse_module(context, source.text, source.name)
    verify_module(module)
    rung = rung_of(module)
    if rung > 2:
        fail(module, f"a plan space is read from rung 1 or 2, this is rung {rung}")
    if source.machine is not None:
        put_setting(module, MACHINE, machine_attribute(source.machine), rung)
    elif MACHINE not in module.attributes:
        module.attributes[MACHINE] = machine_attribute(DEFAULT_MACHINE)
    if source.reserve is not None:
        put_setting(module, RESERVE, reserve_attribute(source.reserve), rung)
    if rung == 1:
        ExpandCandidatesPass().apply(context, module)
    return module


def catalogue_digest(module: ModuleOp) -> str:
    """SHA-256 of the text of all catalogues."""
    found = hashlib.sha256()
    for op in module.body.block.ops:
        if isinstance(op, CatalogueOp):
            found.update(print_operation(op).encode())
    return found.hexdigest()


@dataclass(frozen=True)
class Space:
    """All candidates of a program, and what is asked of its plan."""

    module: ModuleOp
    program: Program
    machine: Machine
    catalogues: tuple[CatalogueOp, ...]
    tables: Tables
    asked: Constraints

    @staticmethod
    def of(source: Source) -> Space:
        """The space of a source. Raises TileError."""
        module = catalogued(source)
        machine = machine_of(module)
        program = read_program(module, machine)
        catalogues = read_catalogues(module, program)
        tables = [
            read_candidates(program, machine, catalogue, index)
            for index, catalogue in enumerate(catalogues)
        ]
        asked = forced_plan(module, program, source.constraints).constraints
        return Space(module, program, machine, tuple(catalogues), tables, asked)

    def budget(self, text: str) -> int:
        """The bytes of a budget as people write it. Raises TileError."""
        return budget_bytes(self.module, self.machine, text)

    def as_asked(self, more: Constraints | None = None) -> Tables:
        """The candidates that are as asked, and as asked besides. Raises Impossible."""
        asked = self.asked if more is None else joined(self.asked, more)
        return constrained(self.program, self.machine, self.tables, asked)

    def search(self, budget: int, more: Constraints | None = None) -> Outcome:
        """The best plan within a budget. Raises Refused where nothing is as asked."""
        try:
            tables = self.as_asked(more)
        except Impossible as error:
            fail(self.catalogues[error.position], str(error))
        ways = [self.chunking(count) for count in self._chunk_counts(more)]
        return search_chunked(self.program, self.machine, tables, budget, 1, ways)

    def _chunk_counts(self, more: Constraints | None) -> tuple[int, ...]:
        """The numbers of chunks to try: what is asked, or what the catalogues list."""
        for asked in (self.asked, more):
            if asked is not None and asked.chunks is not None:
                return (asked.chunks,)
        return self.catalogues[0].chunk_counts if self.catalogues else (1,)

    def chunking(self, count: int) -> Chunking:
        """The way to run the program in so many chunks. Raises Refused."""
        try:
            return WHOLE if count == 1 else chunking_of(self.program, count)
        except ValueError as error:
            raise Refused(str(error)) from error

    def priced(self, plan: Plan) -> Priced:
        """The space with the plan's number of chunks, priced."""
        chunking = self.chunking(plan.chunks)
        asked = self.as_asked()
        some = chunk_tables(self.program, self.machine, asked, chunking)
        problem = make_problem(self.program, self.machine, some, chunking)
        return Priced(self, problem, _rows(asked), _rows(some))


def _rows(tables: Tables) -> tuple[int, ...]:
    return tuple(sum(map(len, table)) for table in tables)


@dataclass(frozen=True)
class Priced:
    """All candidates of a space as asked, priced for one number of chunks. `asked` and
    `chunked` count what was left of each group's."""

    space: Space
    problem: Problem
    asked: tuple[int, ...]
    chunked: tuple[int, ...]

    @cached_property
    def whole(self) -> tuple[Pool, ...]:
        """The candidates of each group."""
        return tuple(whole_pool(self.problem, at) for at in range(self.problem.count))

    @cached_property
    def best(self) -> tuple[Pool, ...]:
        """Those that no other of their classes always beats."""
        return tuple(pool.best(timed=True) for pool in self.whole)

    def fits(self, position: int, pool: Pool, budget: int) -> Mask:
        """Candidates with which some plan may be within the budget: with what the other
        groups need at least."""
        return self._allowed(position, pool, budget, None)

    def is_fast(self, position: int, pool: Pool, cycles: int) -> Mask:
        """Candidates with which some plan may take no more cycles than these."""
        return self._allowed(position, pool, None, cycles)

    def _allowed(
        self, position: int, pool: Pool, budget: int | None, cycles: int | None
    ) -> Mask:
        others = [p for at, p in enumerate(self.best) if at != position]
        endless = np.iinfo(np.int64).max // 4
        limits = Limits(
            endless if budget is None else budget,
            endless if cycles is None else cycles,
            least_to_come(tuple(others))[:1],
        )
        transient = np.maximum.reduce(
            [pool.transient, pool.waiting, pool.beside, pool.running]
        )
        spent = pool.cycles + pool.least
        return limits.allow(self.problem, 0, spent, pool.resident, transient, pool.rows)


@dataclass(frozen=True)
class Filters:
    """How many grids, and then candidates, of a group each filter took away.

    grids       all with up to one part a grain; `dropped` by what the catalogue says
    candidates  grids with every choice that makes sense with them
    asked       not as the constraints ask
    chunks      of no use in the plan's number of chunks
    dominated   another of the same operand and result layouts is no worse in anything
    bytes       no plan with it can be within the budget
    cycles      no plan with it can be as fast as the best
    left        the rest, that only whole plans tell apart
    """

    name: str
    grids: int
    dropped: dict[str, int]
    candidates: int
    asked: int
    chunks: int
    dominated: int
    bytes: int
    cycles: int
    left: int


def filters(priced: Priced, plan: Plan, budget: int) -> list[Filters]:
    """What happened to all candidates of each group, when that plan was found."""
    space = priced.space
    every = _rows(space.tables)
    found: list[Filters] = []
    for position, catalogue in enumerate(space.catalogues):
        whole, best = priced.whole[position], priced.best[position]
        fits = priced.fits(position, best, budget)
        fast = priced.is_fast(position, best, plan.cycles)
        found.append(
            Filters(
                name=catalogue.group.data,
                grids=catalogue.considered.value.data,
                dropped=_dropped(catalogue),
                candidates=every[position],
                asked=every[position] - priced.asked[position],
                chunks=priced.asked[position] - priced.chunked[position],
                dominated=len(whole) - len(best),
                bytes=int((~fits).sum()),
                cycles=int((fits & ~fast).sum()),
                left=int((fits & fast).sum()),
            )
        )
    return found


def _dropped(catalogue: CatalogueOp) -> dict[str, int]:
    return {
        name: count.value.data
        for name, count in catalogue.dropped.data.items()
        if isinstance(count, IntegerAttr)
    }


def capped(pools: Sequence[Pool], most: int) -> tuple[Pool, ...]:
    """The `most` best candidates of each group by a coarse rank: the cycles of its own
    steps, the least for what depends on the group before; ties by position."""
    return tuple(
        pool.take(np.sort(np.argsort(pool.cycles + pool.least, kind="stable")[:most]))
        for pool in pools
    )
