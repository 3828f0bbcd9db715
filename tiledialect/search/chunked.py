"""The search over all numbers of chunks: each is a problem of its own.

The whole program goes first; the others have only to be searched for plans that beat
the best one known, and those of whose grids none can are not priced at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from tiledialect.candidates import (
    Candidates,
)
from tiledialect.chunks import Chunking, chunkings
from tiledialect.machine import Machine
from tiledialect.program import Program
from tiledialect.search.certificate import Bound, least_in_chunks, lower_bound
from tiledialect.search.chunk_curve import ChunkSmallest
from tiledialect.search.problem import Problem, make_problem
from tiledialect.search.rough import RoughSpace, Tables, chunk_tables, rough_space
from tiledialect.search.solve import (
    SLACK,
    Outcome,
    Plan,
    kept_plans,
    search,
    small_plan,
    smallest_plan,
)

Finder = Callable[[Problem, int], Plan | None]
"""What finds the smallest plan of a problem within so many bytes, or a small one."""

FEW = 20_000
"""Candidates of each group that are priced first, for a plan to beat."""

MANY = 60_000
"""Candidates up to which none are priced first, nor where a plan is known already."""

MOST_PROVEN = 20_000
"""Candidates up to which the smallest budget is proven and not only bounded."""

STAIRS = 32
"""Where it is not, budgets are tried so many parts of a tile's memory apart."""

CHUNKINGS = 2
"""The numbers of chunks, the fewest first, with which they are tried."""


def search_chunked(
    program: Program,
    machine: Machine,
    tables: Tables,
    budget: int,
    count: int,
    ways: Sequence[Chunking] | None = None,
) -> Outcome:
    """The best plans within a budget over all numbers of chunks, or over these."""
    run = _Run(program, machine, tables, budget, count)
    ways = chunkings(program) if ways is None else ways
    bound = run.refuted_first()
    for chunking in ways if bound is None else ():
        run.search(chunking)
        bound = run.refuted()
        if bound is not None:
            break
    outcome = run.optimal() if run.plans else run.refusal(ways, prove=bound is None)
    return replace(outcome, candidates=run.candidates, priced=run.priced, bound=bound)


class _Run:
    """One search: the plans found so far, of all chunkings."""

    def __init__(
        self,
        program: Program,
        machine: Machine,
        tables: Tables,
        budget: int,
        count: int,
    ) -> None:
        self.program, self.machine, self.tables = program, machine, tables
        self.budget, self.count = budget, count
        self.plans: list[Plan] = []
        self.labels = 0
        self.candidates, self.priced = 0, 0
        self.known: int | None = None
        self._is_sought = False

    def search(self, chunking: Chunking) -> None:
        """Look for plans of these chunks that are not much worse than the best."""
        if not self._may_win(chunking.count):
            return
        space = self._within(self._rough(chunking), chunking, self.budget)
        if space and len(space) > MANY and self.known is None:
            self._search(space.fewest(FEW), chunking, few=True)
            space = self._within(space, chunking, self.budget)
        if space:
            self._search(space, chunking, few=False)

    def refuted_first(self) -> Bound | None:
        """The proof that no plan fits, where one bound of all is enough."""
        if least_in_chunks(self.program, self.machine, self.budget, 1) is not None:
            return None
        return self._bound()

    def refuted(self) -> Bound | None:
        """The same, sought once where the first search has found no plan."""
        if self.plans or self.known is not None or self._is_sought:
            return None
        self._is_sought = True
        bound = self._bound()
        return bound if bound.cycles is None else None

    def _bound(self) -> Bound:
        return lower_bound(self.program, self.machine, self.budget, None)

    def _rough(self, chunking: Chunking) -> RoughSpace:
        tables = chunk_tables(self.program, self.machine, self.tables, chunking)
        space = rough_space(self.program, self.machine, tables, chunking)
        self.candidates += len(space)
        return space

    def _within(self, space: RoughSpace, chunking: Chunking, budget: int) -> RoughSpace:
        """What plans of a budget, no slower than those known, may have."""
        room = budget - self.machine.memory.support_bytes
        return space.within(room, self.known and self._most(chunking))

    def _may_win(self, count: int) -> bool:
        """Whether so many chunks, or any number but 1, are not ruled out by a bound."""
        if count == 1:
            return True
        beyond = self._least_in_chunks
        return self._in_reach(beyond) and self._in_reach(
            least_in_chunks(self.program, self.machine, self.budget, count, count)
        )

    @cached_property
    def _least_in_chunks(self) -> int | None:
        return least_in_chunks(self.program, self.machine, self.budget, 2)

    def _in_reach(self, cycles: int | None) -> bool:
        if cycles is None or self.known is None:
            return cycles is not None
        return cycles <= self.known * (1 + SLACK)

    def _most(self, chunking: Chunking) -> int:
        """Cycles of one chunk that a plan may take."""
        return int((self.known or 0) * (1 + SLACK)) // chunking.count

    def _problem(self, space: RoughSpace, chunking: Chunking) -> Problem:
        self.priced += len(space)
        return make_problem(self.program, self.machine, space.tables, chunking)

    def _search(self, space: RoughSpace, chunking: Chunking, *, few: bool) -> None:
        problem = self._problem(space, chunking)
        outcome = search(
            problem, self.budget, self.count, known=self.known, refuse=False
        )
        self.labels += outcome.labels
        if outcome.plans:
            best = outcome.plans[0].cycles
            self.known = best if self.known is None else min(self.known, best)
        if not few:
            self.plans += outcome.plans

    def optimal(self) -> Outcome:
        """The best plans of all chunkings."""
        most = int(min(plan.cycles for plan in self.plans) * (1 + SLACK))
        order = sorted(self.plans, key=lambda p: (p.cycles, p.footprint, p.chunks))
        plans: list[Plan] = []
        for plan in order:
            smaller = not plans or plan.footprint < plans[-1].footprint
            if smaller and plan.cycles <= most:
                plans.append(plan)
        kept = kept_plans(plans, self.count, self.budget)
        return Outcome("optimal", kept, self.labels)

    def refusal(self, ways: Sequence[Chunking], *, prove: bool) -> Outcome:
        """The smallest budget that works. Where there are many candidates one that does
        is sought in steps up from the one that does not, over few chunks, and then, to
        `prove`, a smaller one over all."""
        top = self.machine.max_bytes
        if sum(_rows(table) for table in self.tables) <= MOST_PROVEN:
            plan = self._smaller(ways, top, smallest_plan)
            known = None if plan is None else plan.footprint
            return Outcome("infeasible", (), 0, known, plan)
        plan, budget = None, self.budget
        while plan is None and budget < top:
            budget = min(top, budget + top // STAIRS)
            plan = self._smaller(ways[:CHUNKINGS], budget, small_plan)
        if plan is None:
            return Outcome("infeasible", (), 0)
        if prove:
            rest = (self.program, self.machine, self.tables, plan.footprint - 1)
            smaller = ChunkSmallest(*rest)
            for chunking in ways:
                smaller.add(chunking)
            self.priced += smaller.candidates
            plan = smaller.plan or plan
        return Outcome("infeasible", (), 0, plan.footprint, plan, is_smallest=prove)

    def _smaller(
        self, ways: Sequence[Chunking], most: int, find: Finder
    ) -> Plan | None:
        """The smallest plan of at most so many bytes that is found."""
        plan: Plan | None = None
        for chunking in ways:
            space = self._within(self._rough(chunking), chunking, most)
            if space:
                problem = self._problem(space, chunking)
                better = find(problem, most)
                plan, most = better or plan, better.footprint - 1 if better else most
        return plan


def _rows(table: list[Candidates]) -> int:
    return sum(map(len, table))
