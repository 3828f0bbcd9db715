"""Proof that no plan within the budget is faster than a certificate says, or that
there is none.

Reads   rung 1, the machine, a budget, and a certificate as plain data.
Holds   the parts of each group cover every candidate of docs/plan-space.md; no
        candidate of a part takes fewer bytes or cycles than the part says; and from
        these the bound follows, or that nothing fits.
Fails   with a Disproof that names what does not hold.

Method: the rules of "Bounds that a certificate proves", by enumeration of grids, with
no code of the search or of the cost model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ModuleOp

from tiledialect.checkers.certificate_bounds import POINTS, Contraction
from tiledialect.checkers.certificate_cases import (
    Chunks,
    Support,
    Surroundings,
    chunked_dimensions,
    shared_extents,
)
from tiledialect.checkers.certificate_parts import (
    COLUMNS,
    ENDLESS,
    Claim,
    Ranges,
    Space,
    combined,
)
from tiledialect.checkers.certificate_program import Task, Work, read_task
from tiledialect.checkers.disproof import Disproof
from tiledialect.machine import Machine

CLAIMS = 5
PER_PART = 2 * len(COLUMNS) + CLAIMS
"""Numbers of a part: its ranges, then what it claims."""

GAP_OF = 10_000
"""A gap is in parts of so many."""


@dataclass(frozen=True)
class Proven:
    """What was proven: the least cycles of any plan within the budget (None: there is
    no plan), from so many cases and parts."""

    cycles: int | None
    cases: int
    parts: int


def prove(
    source: ModuleOp, machine: Machine, budget: int, certificate: Mapping[str, object]
) -> Proven:
    """Check a certificate against the program it is of. Raises Disproof."""
    task = read_task(source, machine)
    bound = _mapping(certificate.get("bound"), "bound")
    top = max(shared_extents(task), default=1)
    ends = 0
    least, count = ENDLESS, 0
    cases = _list(bound.get("cases"), "bound.cases")
    for entry in cases:
        case = _mapping(entry, "a case")
        low, high = _numbers(case.get("chunks"), "chunks", 2)
        if low != ends + 1 or high < low:
            raise Disproof(f"no case has {ends + 1} chunks")
        if high > top:
            raise Disproof(f"a case has {high} chunks, there are {top} at most")
        ends = high
        chunks = Chunks(low, high, shared_extents(task))
        cycles, parts = _prove_case(task, machine, budget, chunks, case)
        least, count = min(least, cycles), count + parts
    if ends < top:
        raise Disproof(f"no case has {ends + 1} to {top} chunks")
    _check_words(certificate, bound, least, budget)
    claimed = None if least >= ENDLESS else _number(bound.get("cycles"), "cycles")
    return Proven(claimed, len(cases), count)


def _prove_case(
    task: Task,
    machine: Machine,
    budget: int,
    chunks: Chunks,
    case: Mapping[str, object],
) -> tuple[int, int]:
    """Least cycles in one case, and how many parts say so."""
    around = Surroundings(task, machine, chunks)
    base = around.base()
    entries = _list(case.get("groups"), "groups")
    if len(entries) != len(task.groups):
        raise Disproof(
            f"a case has {len(entries)} groups, the program {len(task.groups)}"
        )
    spaces = [
        make_space(task, machine, at, chunks, budget) if is_enumerated(group) else None
        for at, group in enumerate(task.groups)
    ]
    stored = [0 if space is None else space.least_stored() for space in spaces]
    claims: list[list[Claim]] = []
    for at, (group, entry) in enumerate(zip(task.groups, entries, strict=True)):
        fields, space = _mapping(entry, "a group"), spaces[at]
        try:
            if fields.get("name") != group.name:
                raise Disproof(f"'{fields.get('name')}' stands in its place")
            if space is None:
                claims.append([_plain_claim(around, at, fields)])
            else:
                space.others = base + sum(stored) - stored[at]
                claims.append(_part_claims(space, fields))
        except Disproof as error:
            raise Disproof(f"'{group.name}': {error}") from error
    support = Support.of(task, machine)
    return combined(claims, support, base, budget), sum(map(len, claims))


def is_enumerated(group: Work) -> bool:
    """Whether a group's candidates are cut in parts: contractions' are."""
    return group.family == "matmul" and all(group.extents)


def make_space(
    task: Task, machine: Machine, position: int, chunks: Chunks, budget: int
) -> Space:
    """The candidates of the contraction at a position."""
    group = task.groups[position]
    place = Surroundings(task, machine, chunks).place(position)
    contraction = Contraction(task, machine, group, place)
    dims = chunked_dimensions(task, group, chunks)
    return Space(contraction, chunks, dims, Support.of(task, machine), budget)


def _part_claims(space: Space, fields: Mapping[str, object]) -> list[Claim]:
    """What the parts of a group claim: all of it true, and no candidate left out."""
    claims: list[Claim] = []
    every: list[Ranges] = []
    for number, row in enumerate(_list(fields.get("parts"), "parts")):
        numbers = _numbers(row, "a part", PER_PART)
        stored, live, rows, cycles, point = numbers[-CLAIMS:]
        claim = Claim(stored, live, rows, ENDLESS if cycles < 0 else cycles, point)
        ends = numbers[:-CLAIMS]
        ranges = tuple(zip(ends[::2], ends[1::2], strict=True))
        try:
            _check_part(space, ranges, claim)
        except Disproof as error:
            raise Disproof(f"part {number}: {error}") from error
        claims.append(claim)
        every.append(ranges)
    space.check_cover(every)
    return claims


def _check_part(space: Space, ranges: Ranges, claim: Claim) -> None:
    """No candidate of a part needs less than the part says."""
    for column, (low, high) in zip(COLUMNS, ranges, strict=True):
        if low > high or low < 0:
            raise Disproof(f"{column} from {low} to {high}")
    if not claim.fits and claim.live <= space.budget:
        raise Disproof(f"{claim.live} bytes fit a budget of {space.budget}")
    least = space.least(ranges)
    if least is None or (claim.fits and not least.fits):
        return
    if least.fits and not claim.fits:
        raise Disproof(f"a candidate with {least.cycles} cycles may fit the budget")
    _check_least("bytes of stored operands", claim.stored, least.stored)
    _check_least("bytes", claim.live, least.live)
    _check_least("bytes of rows", claim.rows, least.rows)
    _check_least("cycles", claim.cycles, least.cycles)
    if claim.live == least.live and claim.point != least.point:
        raise Disproof(f"it is fullest at '{POINTS[least.point]}'")


def _check_least(what: str, claimed: int, least: int) -> None:
    if claimed > least:
        raise Disproof(f"{claimed} {what} are claimed, {least} are possible")


def _plain_claim(
    around: Surroundings, position: int, fields: Mapping[str, object]
) -> Claim:
    """What a group that is no contraction claims."""
    least = around.plain(position)
    live = _number(fields.get("live"), "live")
    cycles = _number(fields.get("cycles"), "cycles")
    _check_least("bytes", live, least.live)
    _check_least("cycles", cycles, least.cycles)
    return Claim(0, live, 0, cycles, 0)


def _check_words(
    certificate: Mapping[str, object],
    bound: Mapping[str, object],
    least: int,
    budget: int,
) -> None:
    """The status, the cycles, the bytes and the gap agree with what was proven."""
    status = certificate.get("status")
    if not isinstance(status, str):
        raise Disproof("the certificate has no status")
    if status == "infeasible":
        if least < ENDLESS:
            raise Disproof(
                f"'infeasible' is not proven: {least} cycles may fit the budget"
            )
        return
    if least >= ENDLESS:
        raise Disproof(f"status '{status}', but nothing fits the budget")
    cycles = _number(certificate.get("cycles"), "cycles")
    size = _number(certificate.get("bytes"), "bytes")
    if size > budget:
        raise Disproof(f"the plan takes {size} bytes, the budget is {budget}")
    claimed = _number(bound.get("cycles"), "bound.cycles")
    if claimed > least:
        raise Disproof(f"bound.cycles {claimed} does not follow, {least} does")
    if claimed > cycles:
        raise Disproof(f"the plan takes {cycles} cycles, the bound is {claimed}")
    gap = -(-(cycles - claimed) * GAP_OF // max(1, cycles))
    if bound.get("gap") != gap:
        raise Disproof(f"bound.gap is {bound.get('gap')}, it should be {gap}")
    _check_status(status, gap)


def _check_status(status: str, gap: int) -> None:
    if status in ("optimal", "stopped"):
        return
    percent = status.removeprefix("within ").removesuffix("%")
    if f"within {percent}%" != status or not percent.isdecimal():
        raise Disproof(f"status '{status}' is none that there is")
    if int(percent) * GAP_OF < gap * 100:
        raise Disproof(f"status '{status}', the gap is {gap} in {GAP_OF}")


def _mapping(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise Disproof(f"the certificate has no {name}")
    return cast("Mapping[str, object]", value)


def _list(value: object, name: str) -> list[object]:
    if not isinstance(value, list):
        raise Disproof(f"the certificate has no list '{name}'")
    return cast("list[object]", value)


def _number(value: object, name: str) -> int:
    if type(value) is not int or value < 0:
        raise Disproof(f"the certificate has no number '{name}'")
    return value


def _numbers(value: object, name: str, count: int) -> list[int]:
    some = _list(value, name)
    if len(some) != count or not all(type(one) is int for one in some):
        raise Disproof(f"{name} must be {count} whole numbers")
    return cast("list[int]", some)
