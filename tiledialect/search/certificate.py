"""Certificates: what a search says of its result, with a proof of its bound.

A proof is a list of cases, one for a range of chunk counts. In each, the candidates of
every contraction are cut into parts by ranges, and of each part the least bytes and
cycles are stated (docs/plan-space.md, "Bounds that a certificate proves"). Parts are
cut where that raises the bound, a few dozen at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from tiledialect.machine import Machine
from tiledialect.program import Program
from tiledialect.search.ground import Ground, Span
from tiledialect.search.parts import (
    ENDLESS,
    STORED,
    Part,
    Table,
    shared_extents,
)

if TYPE_CHECKING:
    from tiledialect.search.solve import Outcome

GAP_OF = 10_000
"""A gap is in parts of so many."""

MOST_PARTS = 46
"""Parts that a case has at most."""

MOST_TRIED = 10
"""Ways to cut that are tried for each cut."""

MOST_STATES = 60
"""Ways to take parts that are told apart."""

MOST_CASES = 8

State = tuple[int, int, int, int, tuple[int, ...]]
"""Stored bytes, live bytes, bytes of rows, cycles, and the parts they are of."""

Plain = int | str | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True)
class Case:
    """The parts of every group in a span of chunk counts; `cycles` of whatever fits.
    `base`: bytes of tensors beside all; `reserved` or `code`: of the support."""

    span: Span
    tables: tuple[Table | None, ...]
    parts: tuple[tuple[Part, ...], ...]
    base: int
    reserved: int
    code: int
    cycles: int


@dataclass(frozen=True)
class Bound:
    """Cycles that every plan within the budget takes at least; None: there is none."""

    cycles: int | None
    cases: tuple[Case, ...]

    def plain(self, program: Program, plan_cycles: int | None) -> dict[str, Plain]:
        """As data; with the gap to a plan's cycles, if there is a plan."""
        found: dict[str, Plain] = {}
        if self.cycles is not None:
            found["cycles"] = self.cycles
            if plan_cycles is not None:
                found["gap"] = gap(plan_cycles, self.cycles)
        found["cases"] = [_plain_case(program, case) for case in self.cases]
        return found


def gap(cycles: int, bound: int) -> int:
    """How far a plan may be from the best one, in parts of 10,000 of its cycles."""
    return -(-(cycles - bound) * GAP_OF // max(1, cycles))


def certificate(
    program: Program, machine: Machine, budget: int, outcome: Outcome
) -> dict[str, Plain]:
    """The certificate of a search's outcome, as data."""
    best = outcome.plans[0] if outcome.plans else None
    cycles = None if best is None else best.cycles
    bound = outcome.bound or lower_bound(program, machine, budget, cycles)
    found: dict[str, Plain] = {"status": _status(outcome, bound)}
    if best is not None:
        found["cycles"] = best.cycles
        found["bytes"] = best.footprint
    found["labels"] = outcome.labels
    if best is not None:
        found["chunks"] = int(getattr(best, "chunks", 1))
    if outcome.candidates is not None:
        found["candidates"] = outcome.candidates
    if outcome.priced is not None:
        found["priced"] = outcome.priced
    found["bound"] = bound.plain(program, cycles)
    return found


def _status(outcome: Outcome, bound: Bound) -> str:
    """The word of a certificate: a search that stopped early with a plan may still say
    how far that is from the best."""
    if outcome.status != "stopped" or not outcome.plans or not bound.cycles:
        return outcome.status
    percent = -(-gap(outcome.plans[0].cycles, bound.cycles) * 100 // GAP_OF)
    return f"within {percent}%"


def lower_bound(
    program: Program, machine: Machine, budget: int, cycles: int | None
) -> Bound:
    """A bound of the cycles of all plans within the budget, and its proof. `cycles` of
    a plan that is known: no bound above it is sought."""
    make = partial(_case, program, machine, budget)
    top = max(shared_extents(program), default=1)
    if cycles is None:
        cases = _refutation(make, budget, [Span(1, top)])
    else:
        spans = [Span(1, 1)] + [Span(2, top)] * (top > 1)
        cases = _bounded(make, budget, cycles, spans)
    least = min(case.cycles for case in cases)
    return Bound(None if least >= ENDLESS else least, tuple(cases))


def _refutation(
    make: Callable[[Span], Case], budget: int, spans: list[Span]
) -> list[Case]:
    """Cases that are refuted, as few as it takes; where one is not, or they become too
    many, the last ones are not."""
    found: list[Case] = []
    while spans:
        span = spans.pop(0)
        case = make(span)
        wide = span.high >= 2 * span.low
        if not _is_refuted(case) and (not wide or len(found) > MOST_CASES):
            case = _refined(case, budget, None)
        single = span.low == span.high
        if _is_refuted(case) or single or len(found) > MOST_CASES:
            found.append(case)
        else:
            spans[:0] = _halves(span)
        if not _is_refuted(found[-1]) if found else False:
            break
    if spans:  # what is left has no proof either
        found.append(make(Span(spans[0].low, spans[-1].high)))
    return found


def _bounded(
    make: Callable[[Span], Case], budget: int, cycles: int, spans: list[Span]
) -> list[Case]:
    """Cases of which none, if that can be shown, takes fewer than these cycles."""
    first, *others = spans
    cases = [_refined(make(first), budget, cycles)]
    target = cases[0].cycles  # the whole bound is not above that of one chunk
    cases += [_refined(make(span), budget, target) for span in others]
    while len(cases) < MOST_CASES:
        at = min(range(len(cases)), key=lambda i: cases[i].cycles)
        span = cases[at].span
        if cases[at].cycles >= target or span.low == span.high:
            break
        made = [make(half) for half in _halves(span)]
        cases[at : at + 1] = [_refined(case, budget, target) for case in made]
    return cases


def _halves(span: Span) -> list[Span]:
    """A span cut in two: small counts alone, larger ones in growing ranges."""
    middle = span.low if span.low < 4 else min(span.high - 1, span.low * 3 // 2)
    return [Span(span.low, middle), Span(middle + 1, span.high)]


def least_in_chunks(
    program: Program, machine: Machine, budget: int, low: int, high: int | None = None
) -> int | None:
    """Cycles that every plan within the budget in `low` to `high` chunks (no end: any
    number) takes at least, by one bound of all; None where none fits."""
    top = max(shared_extents(program), default=1)
    case = _case(program, machine, budget, Span(low, top if high is None else high))
    return None if _is_refuted(case) else case.cycles


def _is_refuted(case: Case) -> bool:
    return case.cycles >= ENDLESS


def _case(program: Program, machine: Machine, budget: int, span: Span) -> Case:
    """A case with one part for all candidates of each contraction."""
    ground = Ground(program, machine, span)
    tables = [
        Table(ground, at, budget)
        if group.family == "matmul" and all(dim.extent for dim in group.dims)
        else None
        for at, group in enumerate(program.groups)
    ]
    stored = [0 if table is None else table.least_stored for table in tables]
    parts: list[tuple[Part, ...]] = []
    for at, table in enumerate(tables):
        if table is None:
            cycles, live = ground.plain(at)
            parts.append((Part((), 0, live, 0, cycles, 0),))
        else:
            table.others = ground.base + sum(stored) - stored[at]
            parts.append((table.whole(),))
    reserved, code = machine.memory.support_bytes, ground.code_bytes
    case = Case(span, tuple(tables), tuple(parts), ground.base, reserved, code, 0)
    return replace(case, cycles=_best(case, budget)[0])


def _best(case: Case, budget: int) -> tuple[int, int, tuple[int, ...]]:
    """Of all ways to take a part of each group the least cycles of those that fit,
    the bytes of these parts, and which they are; ENDLESS: none fits."""
    states: list[State] = [(0, 0, 0, 0, ())]
    for parts in case.parts:
        some = [(i, part) for i, part in enumerate(parts) if part.fits]
        made = sorted(
            (
                stored + part.stored,
                max(live, part.live),
                rows + part.rows,
                cycles + part.cycles,
                (*way, i),
            )
            for (stored, live, rows, cycles, way), (i, part) in product(states, some)
        )
        states = _front([one for one in made if _bytes(case, one) <= budget])
    if not states:
        return ENDLESS, 0, ()
    best = min(states, key=lambda one: (one[3], _bytes(case, one)))
    return best[3], _bytes(case, best), best[4]


def _bytes(case: Case, state: State) -> int:
    """All bytes of a tile."""
    return case.base + state[0] + state[1] + max(case.reserved, case.code + state[2])


def _front(states: list[State]) -> list[State]:
    """The states, sorted, that no other is at least as good as in everything."""
    kept: list[State] = []
    for one in states:
        if not any(
            all(a <= b for a, b in zip(k[:4], one[:4], strict=True)) for k in kept
        ):
            kept.append(one)
    while len(kept) > MOST_STATES:  # two are told as one that is better than both
        pairs = zip(kept[::2], kept[1::2], strict=False)
        last = kept[-1:] if len(kept) % 2 else []
        kept = [*(_better(*pair) for pair in pairs), *last]
    return kept


def _better(one: State, other: State) -> State:
    """What is at least as good as two states."""
    a, b, c, d = (min(pair) for pair in zip(one[:4], other[:4], strict=True))
    return a, b, c, d, one[4]


def _refined(case: Case, budget: int, cycles: int | None) -> Case:
    """The case with parts cut where that raises its bound."""
    target = ENDLESS if cycles is None else cycles
    most = MOST_PARTS if cycles else MOST_PARTS + 16
    most -= 3 * len(case.parts)  # with more groups each cut takes longer
    while sum(map(len, case.parts)) < most:
        now, size, way = _best(case, budget)
        if now >= target or _is_taken(case, budget, way):
            break
        cuts = [cut for at, which in enumerate(way) for cut in _cuts(case, at, which)]
        cuts.sort(key=lambda one: -one[0])
        tried = [
            (*_best(made, budget)[:2], made, gains) for gains, made in cuts[:MOST_TRIED]
        ]
        # of equal ways to take parts another may stand in for the one that is cut
        best = max(tried, key=lambda one: (*one[:2], one[3]), default=None)
        if best is None or (*best[:2], best[3]) <= (now, size, 0):
            break
        case = best[2]
    return replace(case, cycles=min(target, _best(case, budget)[0]))


def _is_taken(case: Case, budget: int, way: tuple[int, ...]) -> bool:
    """Whether the fastest candidates of these parts fit together: then no other way to
    cut the parts gives a higher bound."""
    stored, live, rows = 0, 0, 0
    for table, parts, which in zip(case.tables, case.parts, way, strict=True):
        part = parts[which]
        stored += part.fast.at[STORED] if table is not None else 0
        live = max(live, part.live if table is None else part.fast.live)
        rows += part.fast.rows
    return _bytes(case, (stored, live, rows, 0, ())) <= budget


def _cuts(case: Case, at: int, which: int) -> list[tuple[int, Case]]:
    """The ways to cut a part in two: each with in how many claims the halves say more,
    0 if one of them says no more."""
    table, part = case.tables[at], case.parts[at][which]
    found: list[tuple[int, Case]] = []
    if table is None:
        return found
    for halves in table.halves(part):
        mine = (*case.parts[at][:which], *halves, *case.parts[at][which + 1 :])
        parts = (*case.parts[:at], mine, *case.parts[at + 1 :])
        gains = [_gains(half, part) for half in halves]
        made = replace(case, parts=parts)
        found.append((sum(gains) if all(gains) else 0, made))
    return found


def _gains(half: Part, part: Part) -> int:
    """In how many claims a half says more than the part it is of."""
    pairs = zip(half.claims, part.claims, strict=True)
    return sum(mine > whole for mine, whole in pairs)


def _plain_case(program: Program, case: Case) -> Plain:
    groups: list[Plain] = []
    for group, table, parts in zip(
        program.groups, case.tables, case.parts, strict=True
    ):
        fields: dict[str, Plain] = {"name": group.name}
        if table is None:
            fields["cycles"], fields["live"] = parts[0].cycles, parts[0].live
        else:
            fields["parts"] = [_row(part) for part in parts]
        groups.append(fields)
    return {"chunks": [case.span.low, case.span.high], "groups": groups}


def _row(part: Part) -> Plain:
    ends: list[Plain] = [end for both in part.ranges for end in both]
    cycles = part.cycles if part.fits else -1
    return [*ends, part.stored, part.live, part.rows, cycles, part.point]
