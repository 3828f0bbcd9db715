"""One run of `tile-explain`: from options to what is printed and written."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from tiledialect.atomic import write_atomically
from tiledialect.constraints import Constraints
from tiledialect.diagnostics import Infeasible, Refused, Usage, fail
from tiledialect.dialects.tile import entry_function
from tiledialect.plan_file import read_plan_file
from tiledialect.plan_terms import PlanTerms, plan_terms
from tiledialect.sizes import BUDGET_WORDS, SizeError, parse_size
from tiledialect.text.source import read_text, shown_name
from tiledialect.tools import explain_report as report
from tiledialect.tools.explain_budgets import capped_searches, selected
from tiledialect.tools.explain_space import Source, Space, filters
from tiledialect.tools.explain_why import WhyNot, parse_named, why_not

if TYPE_CHECKING:
    from tiledialect.search.solve import Outcome, Plan
    from tiledialect.tools.explain_arguments import Options

Report = dict[str, object]


def run(options: Options) -> int:
    """Explain, print, and write the report. The exit code."""
    source = _source(options)
    for budget in (options.plan_budget, *options.cross_budgets):
        _check_budget(budget)
    found = _cross(options, source) if options.cross_budgets else _one(options, source)
    if options.json is not None:
        text = json.dumps(found, indent=1) + "\n"
        try:
            write_atomically(options.json, text.encode())
        except OSError as error:
            message = f"cannot write '{options.json}': {error.strerror}"
            raise Refused(message) from error
    return 0


def _source(options: Options) -> Source:
    return Source(
        read_text(options.input_file),
        shown_name(options.input_file),
        options.machine,
        options.reserve,
        options.constraints,
    )


def _check_budget(text: str) -> None:
    if text not in BUDGET_WORDS:
        try:
            parse_size(text)
        except SizeError as error:
            raise Usage(f"{error}, or default or max") from error


def _one(options: Options, source: Source) -> Report:
    """The plan of one budget, and what stands beside it."""
    space = Space.of(source)
    budget = space.budget(options.plan_budget)
    named = [parse_named(space, text) for text in options.why_not]
    outcome = space.search(budget)
    plan = best_plan(space, outcome, budget)
    priced = space.priced(plan)
    terms = plan_terms(space.program, space.machine, plan)
    dropped = filters(priced, plan, budget)
    print(
        f"{source.name} on {space.machine.name}, budget {budget} bytes:"
        f" {outcome.status} by estimate, {plan.cycles} cycles, {plan.footprint} bytes,"
        f" {outcome.labels} labels\n"
    )
    _print(report.filter_lines(dropped))
    found: Report = {
        "program": source.name,
        "machine": space.machine.name,
        "budget": budget,
        "status": outcome.status,
        "labels": outcome.labels,
        "filters": [asdict(one) for one in dropped],
        "plan": _plan_json(terms),
    }
    if options.against is not None:
        other = _other_plan(space, budget, options.against)
        beside = plan_terms(space.program, space.machine, other)
        _print(report.plan_lines((terms, beside), ("this", options.against)))
        found["against"] = {"name": options.against, **_plan_json(beside)}
    elif not named:
        _print(report.plan_lines((terms,), ("this",)))
    whys = [why_not(priced, plan, budget, one) for one in named]
    found["why_not"] = [_explain(space, terms, why) for why in whys]
    return found


def best_plan(
    space: Space, outcome: Outcome, budget: int, more: Constraints | None = None
) -> Plan:
    """The best plan of a search, for which more may have been asked. Raises Infeasible
    where it found none."""
    if outcome.plans:
        return outcome.plans[0]
    which = "" if space.asked.are_open and more is None else " that is as asked"
    message = f"no plan{which} fits a budget of {budget} bytes a tile"
    smallest = outcome.smallest
    place = entry_function(space.module)
    if smallest is None:
        fail(place, f"{message}, nor all of a tile", Infeasible)
    terms = plan_terms(space.program, space.machine, smallest)
    need = f"{message}; {smallest.footprint} bytes are enough"
    if not terms.groups:
        fail(place, need, Infeasible)
    group = terms.groups[terms.fullest]
    where = f"fullest in '{group.name}', step '{group.fullest}'"
    fail(space.catalogues[terms.fullest], f"{need}, {where}", Infeasible)


def _other_plan(space: Space, budget: int, text: str) -> Plan:
    """The plan of a second budget, or that a file asks for."""
    more: Constraints | None = None
    if text.endswith(".json"):
        more = read_plan_file(text, space.program).constraints
    else:
        _check_budget(text)
        budget = space.budget(text)
    return best_plan(space, space.search(budget, more), budget, more)


def _explain(space: Space, chosen: PlanTerms, why: WhyNot) -> Report:
    """Print why a candidate lost, with the best plan with it beside the one chosen."""
    plan = why.plan or why.smallest
    terms = None
    if plan is not None:
        terms = plan_terms(space.program, space.machine, plan)
    print()
    _print(report.why_lines(why, chosen, terms))
    if terms is not None and terms != chosen:
        _print(report.plan_lines((chosen, terms), ("chosen", "with it")))
    return {
        "group": why.group,
        "named": why.named,
        "budget": why.budget,
        "reason": why.reason,
        "matches": why.matches,
        "fates": why.fates,
        "fits": why.plan is not None,
        "plan": None if terms is None else _plan_json(terms),
        "beaten": None if why.beaten is None else asdict(why.beaten),
    }


def _plan_json(terms: PlanTerms) -> Report:
    return {**asdict(terms), "cycles": terms.cycles, "bytes": terms.bytes}


def _cross(options: Options, source: Source) -> Report:
    """What each of several budgets selects."""
    found = [selected(source, budget) for budget in options.cross_budgets]
    _print(report.budget_lines(found))
    result: Report = {"budgets": [asdict(one) for one in found]}
    if options.cap is not None:
        space = Space.of(source)
        lost = capped_searches(space, options.cross_budgets, options.cap)
        print()
        _print(report.capped_lines(lost, options.cap))
        result["capped"] = [asdict(one) for one in lost]
    return result


def _print(lines: list[str]) -> None:
    for line in lines:
        print(line)
