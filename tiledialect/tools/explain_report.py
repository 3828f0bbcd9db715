"""What `tile-explain` prints: tables of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from tiledialect.plan_terms import GroupTerms, PlanTerms
    from tiledialect.tools.explain_budgets import Searched, Selected
    from tiledialect.tools.explain_space import Filters
    from tiledialect.tools.explain_why import Beaten, WhyNot

INDENT = "  "
SHOWN = 12  # letters of a digest


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines with their columns aligned, the first `left` ones to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        INDENT.join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def indented(lines: Iterable[str]) -> list[str]:
    return [f"{INDENT}{line}" for line in lines]


def choice_words(choice: dict[str, object]) -> str:
    """A choice on one line: `grid m2 n8, steps 1, ways direct stored, …`."""
    parts: list[str] = []
    grid = cast("dict[str, int]", choice.get("grid", {}))
    if grid:
        words = [_parts(name, count) for name, count in grid.items()]
        parts.append(f"grid {' '.join(words)}")
    if "steps" in choice:
        parts.append(f"steps {choice['steps']}")
    ways = choice.get("paths", [])
    if isinstance(ways, dict):
        table = cast("dict[str, str]", ways)
        parts.append("ways " + " ".join(f"{n}:{word}" for n, word in table.items()))
    elif ways:
        parts.append("ways " + " ".join(cast("list[str]", ways)))
    for name in ("rest", "order"):
        if name in choice:
            parts.append(f"{name} {choice[name]}")
    return ", ".join(parts) or "anything"


def _parts(name: str, count: int) -> str:
    return f"{name}:{count}" if name[-1].isdigit() else f"{name}{count}"


def filter_lines(found: Sequence[Filters]) -> list[str]:
    """What each filter took from each group."""
    names = list(dict.fromkeys(name for one in found for name in one.dropped))
    head = ["group", "grids", *(name.replace("_", " ") for name in names)]
    head += ["candidates", "not asked", "chunks", "dominated", "bytes", "cycles"]
    rows = [[*head, "left"]]
    for one in found:
        counts = [one.grids, *(-one.dropped.get(name, 0) for name in names)]
        counts += [one.candidates, -one.asked, -one.chunks, -one.dominated]
        counts += [-one.bytes, -one.cycles, one.left]
        rows.append([one.name, *map(str, counts)])
    return aligned(rows)


def plan_lines(plans: Sequence[PlanTerms], names: Sequence[str]) -> list[str]:
    """One plan, or two side by side, term by term."""
    lines: list[str] = []
    for groups in zip(*(plan.groups for plan in plans), strict=True):
        first = groups[0]
        lines += ["", f"group {first.name}: {first.family}, {first.location}"]
        for name, group in zip(names, groups, strict=True):
            lead = f"{name}: " if len(plans) > 1 else ""
            lines.append(f"{INDENT}{lead}{choice_words(group.choice)}")
        lines += indented(_group_lines(groups, names))
    return [*lines, "", *_total_lines(plans, names)]


def _group_lines(groups: Sequence[GroupTerms], names: Sequence[str]) -> list[str]:
    rows = [_head("cycles", names)]
    rows += _term_rows([group.cycles for group in groups])
    rows.append(_row("all", [group.total for group in groups]))
    rows.append(_head("bytes, * in the fullest step", names))
    bytes_of = [
        {"resident": group.resident, **group.live, "control words": group.rows}
        for group in groups
    ]
    rows += _term_rows(bytes_of, [group.fullest for group in groups])
    return aligned(rows)


def _head(what: str, names: Sequence[str]) -> list[str]:
    if len(names) == 1:
        return [what, ""]
    return [what, *names, "difference"]


def _term_rows(
    columns: Sequence[dict[str, int]], marked: Sequence[str] = ()
) -> list[list[str]]:
    """A row for each term that any column has; the marked one of each has a star."""
    rows: list[list[str]] = []
    for term in _merged([list(column) for column in columns]):
        stars = [term == mark for mark in marked] or [False] * len(columns)
        values = [column.get(term) for column in columns]
        rows.append(_row(f"{INDENT}{term}", values, stars))
    return rows


def _merged(lists: Sequence[list[str]]) -> list[str]:
    """All words of some lists; a word that the first lacks stands behind the one that
    it follows in its own."""
    merged = list(lists[0])
    for words in lists[1:]:
        at = 0
        for word in words:
            if word not in merged:
                merged.insert(at, word)
            at = merged.index(word) + 1
    return merged


def _row(
    term: str, values: Sequence[int | None], stars: Sequence[bool] = ()
) -> list[str]:
    cells = [term, *("-" if value is None else str(value) for value in values)]
    for at, star in enumerate(stars):
        cells[at + 1] = "*" * star + cells[at + 1]
    if len(values) > 1:
        cells.append(f"{(values[1] or 0) - (values[0] or 0):+d}")
    return cells


def _total_lines(plans: Sequence[PlanTerms], names: Sequence[str]) -> list[str]:
    rows = [_head("plan", names)]
    for what, values in (
        ("chunks", [plan.chunks for plan in plans]),
        ("cycles", [plan.cycles for plan in plans]),
        ("support bytes", [plan.support for plan in plans]),
        ("resident bytes", [plan.resident for plan in plans]),
        ("live bytes of the fullest step", [plan.peak for plan in plans]),
        ("interface bytes", [plan.interface for plan in plans]),
        ("footprint, gaps included", [plan.bytes for plan in plans]),
    ):
        rows.append(_row(f"{INDENT}{what}", values))
    lines = aligned(rows)
    for plan, name in zip(plans, names, strict=True):
        if plan.groups:
            group = plan.groups[plan.fullest]
            lead = f"{name}: " if len(plans) > 1 else ""
            lines.append(
                f"{INDENT}{lead}fullest in '{group.name}', step '{group.fullest}'"
            )
    return lines


def why_lines(why: WhyNot, chosen: PlanTerms, other: PlanTerms | None) -> list[str]:
    """Why the candidates named are not in the plan, without the plans side by side."""
    lines = [f"why not '{why.group}' with {choice_words(why.named)}?"]
    if why.reason is not None:
        return [*lines, f"{INDENT}{why.reason}"]
    fates = why.fates or {}
    lines.append(
        f"{INDENT}{why.matches} such candidates: {fates['dominated']} dominated,"
        f" {fates['bytes']} need more bytes, {fates['cycles']} more cycles,"
        f" {fates['left']} left"
    )
    if why.beaten is not None:
        lines += indented(beaten_lines(why.beaten))
    return [*lines, *indented(_verdict(why, chosen, other))]


def _verdict(why: WhyNot, chosen: PlanTerms, other: PlanTerms | None) -> list[str]:
    if other is None:
        return ["no plan with it fits the memory of a tile"]
    if why.plan is None:
        group = other.groups[other.fullest]
        return [
            f"it does not fit: the smallest plan known with it needs {other.bytes}"
            f" bytes, the budget is {why.budget}; fullest in '{group.name}', step"
            f" '{group.fullest}'"
        ]
    if other == chosen:
        return ["it is in the plan chosen"]
    more = other.cycles - chosen.cycles
    if more == 0:
        return ["a plan with it is as fast; of equals the first stands"]
    percent = more / chosen.cycles * 100 if chosen.cycles else 0.0
    return [
        f"it is slower: the best plan with it takes {other.cycles} cycles, {more}"
        f" ({percent:.1f} %) more than {chosen.cycles}"
    ]


def beaten_lines(beaten: Beaten) -> list[str]:
    """A candidate beside the one that always beats it."""
    rows = [["", "it", "the other", "difference"]]
    for name, (mine, other) in beaten.costs.items():
        rows.append([f"{INDENT}{name}", str(mine), str(other), f"{other - mine:+d}"])
    return [
        f"it is {choice_words(beaten.loser)}",
        f"dominated by {choice_words(beaten.winner)}",
        *aligned(rows),
    ]


def budget_lines(found: Sequence[Selected]) -> list[str]:
    """What each budget selects, and whether the catalogue was the same."""
    rows = [["budget", "catalogue", "estimated", "simulated", "bytes", "placed"]]
    for one in found:
        numbers = (
            one.estimated_cycles,
            one.simulated_cycles,
            one.estimated_bytes,
            one.placed_bytes,
        )
        cells = ["-" if number is None else str(number) for number in numbers]
        rows.append([one.budget, one.catalogue[:SHOWN], *cells])
    lines = aligned(rows, left=2)
    for one in found:
        lines += ["", f"{one.budget}: {one.reason or 'the plan selected'}"]
        for name, choice in (one.plan or {}).items():
            if isinstance(choice, dict):
                words = choice_words(cast("dict[str, object]", choice))
                lines.append(f"{INDENT}{name}: {words}")
            else:
                lines.append(f"{INDENT}{name} {choice}")
    same = len({one.catalogue for one in found}) == 1
    verdict = "the same at every budget" if same else "NOT the same at every budget"
    return [*lines, "", f"the catalogue is {verdict}"]


def capped_lines(found: Sequence[Searched], most: int) -> list[str]:
    """What catalogues cut short lose, each made for one budget and searched at all."""
    rows = [["made for", "searched at", "cycles", "whole catalogue", "lost"]]
    for one in found:
        lost = "every plan"
        if one.cycles is not None:
            share = (one.cycles - one.whole) / one.whole * 100 if one.whole else 0.0
            lost = f"{share:.1f} %"
        cycles = "-" if one.cycles is None else str(one.cycles)
        rows.append([one.catalogue, one.budget, cycles, str(one.whole), lost])
    head = f"catalogues of the {most} best candidates of each group by their own cycles"
    return [head, *indented(aligned(rows, left=2))]
