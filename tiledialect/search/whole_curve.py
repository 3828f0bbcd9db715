"""The curve of a program, what a search for one budget takes from it, and its knee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tiledialect.chunks import Chunking
from tiledialect.machine import Machine
from tiledialect.program import Program
from tiledialect.search.chunk_curve import ChunkCurve
from tiledialect.search.curve import knee
from tiledialect.search.rough import Tables
from tiledialect.search.solve import Outcome, Plan

SLACK = 0.02
"""Plans behind the best one may take so much more, as in a search."""


@dataclass(frozen=True)
class Curve:
    """Every breakpoint up to `most_bytes` with its plan, the smallest budget first."""

    most_bytes: int
    plans: tuple[Plan, ...]
    candidates: int

    def outcome(self, budget: int, count: int) -> Outcome:
        """What a search within a budget comes to: the best plan, and behind it up to
        `count` - 1 of fewer bytes and little more cycles."""
        within = [plan for plan in self.plans if plan.footprint <= budget]
        labels = len(self.plans)
        if not within:
            smallest = self.plans[0] if self.plans else None
            known = None if smallest is None else smallest.footprint
            return Outcome(
                "infeasible", (), labels, known, smallest, candidates=self.candidates
            )
        most = int(within[-1].cycles * (1 + SLACK))
        near = [plan for plan in reversed(within) if plan.cycles <= most]
        plans = tuple(near[:count])
        return Outcome("optimal", plans, labels, candidates=self.candidates)

    def choice(self) -> tuple[int, str]:
        """The budget that the knee asks for, and why it is that one."""
        if not self.plans:
            return self.most_bytes, "no budget works"
        at, last = knee(self.plans), len(self.plans) - 1
        place = f"the knee of a curve of {len(self.plans)} budgets"
        if at == last:
            place = "the fastest of all, as no budget lies below the curve's chord"
        if last == 0:
            place = "the only budget at which cycles change"
        ends = (
            f"from {_said(self.plans[0])} to {_said(self.plans[-1])} it lies furthest"
            " below the chord"
        )
        reason = f"auto takes {_said(self.plans[at])}: {place}"
        return self.plans[at].footprint, reason if at == last else f"{reason}; {ends}"


def _said(plan: Plan) -> str:
    return f"{plan.footprint} bytes ({plan.cycles} cycles)"


def whole_curve(
    program: Program,
    machine: Machine,
    tables: Tables,
    most_bytes: int,
    ways: Sequence[Chunking],
) -> Curve:
    """The curve of a program over all ways to run it in chunks."""
    found = ChunkCurve(program, machine, tables, most_bytes)
    for chunking in ways:
        found.add(chunking)
    return Curve(most_bytes, found.plans, found.candidates)
