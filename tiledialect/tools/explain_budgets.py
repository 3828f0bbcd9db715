"""What several budgets select, and what a catalogue that is cut short would lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import DictionaryAttr

from tiledialect.backend.emit_package import package_of
from tiledialect.diagnostics import TileError
from tiledialect.dialects.module_attributes import (
    CERTIFICATE,
    CHOICES,
    machine_of,
    plain_value,
)
from tiledialect.pipeline import make_context
from tiledialect.runtime.timing import step_cycles
from tiledialect.search.pools import Pool
from tiledialect.search.solve import Plan, search
from tiledialect.tools.explain_space import (
    Priced,
    Source,
    Space,
    capped,
    catalogue_digest,
    catalogued,
)
from tiledialect.tools.opt_arguments import Options
from tiledialect.tools.opt_passes import PassTimes, run_pass, steps_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@dataclass(frozen=True)
class Selected:
    """What the whole compiler makes of a program under one budget: the plan, and its
    cycles and bytes, as estimated and as timed and placed; or why there is none."""

    budget: str
    catalogue: str
    reason: str | None = None
    plan: dict[str, object] | None = None
    estimated_cycles: int | None = None
    simulated_cycles: int | None = None
    estimated_bytes: int | None = None
    placed_bytes: int | None = None


def selected(source: Source, budget: str) -> Selected:
    """Compile a program for a budget, catalogue and all."""
    module = catalogued(source)
    digest = catalogue_digest(module)
    options = Options(plan_budget=budget, constraints=source.constraints)
    context, times = make_context(), PassTimes()
    try:
        for step in steps_of(options, 2):
            run_pass(step, context, module, times)
    except TileError as error:
        return Selected(budget, digest, str(error))
    package = package_of(module)
    machine = machine_of(module)
    certificate = _table(module, CERTIFICATE)
    return Selected(
        budget=budget,
        catalogue=digest,
        plan=_table(module, CHOICES),
        estimated_cycles=package.estimated_cycles,
        simulated_cycles=sum(step_cycles(machine, step) for step in package.steps),
        estimated_bytes=cast("int | None", certificate.get("bytes")),
        placed_bytes=package.footprint,
    )


def _table(module: ModuleOp, name: str) -> dict[str, object]:
    attribute = module.attributes.get(name)
    if not isinstance(attribute, DictionaryAttr):
        return {}
    return cast("dict[str, object]", plain_value(attribute))


@dataclass(frozen=True)
class Searched:
    """The best plan that a catalogue has at a budget: its cycles (None where none of
    its plans fits), beside those of the whole catalogue."""

    catalogue: str
    budget: str
    cycles: int | None
    whole: int


def capped_searches(space: Space, budgets: Sequence[str], most: int) -> list[Searched]:
    """For each budget a catalogue of the `most` best candidates of each group of those
    that may fit it, searched at each budget."""
    found: list[Searched] = []
    plans: dict[str, Plan] = {}
    for budget in budgets:
        outcome = space.search(space.budget(budget))
        if outcome.plans:
            plans[budget] = outcome.plans[0]
    priced: dict[int, Priced] = {}
    for budget, plan in plans.items():
        if plan.chunks not in priced:
            priced[plan.chunks] = space.priced(plan)
        one = priced[plan.chunks]
        for made_for in budgets:
            pools = _catalogue(one, space.budget(made_for), most)
            cycles = None
            if all(len(pool) for pool in pools):
                size = space.budget(budget)
                some = search(one.problem, size, 1, pools=pools).plans
                cycles = some[0].cycles if some else None
            found.append(Searched(made_for, budget, cycles, plan.cycles))
    return found


def _catalogue(priced: Priced, budget: int, most: int) -> tuple[Pool, ...]:
    """A capped catalogue made for a budget."""
    fitting = tuple(
        pool.take(priced.fits(position, pool, budget))
        for position, pool in enumerate(priced.whole)
    )
    return tuple(pool.best(timed=True) for pool in capped(fitting, most))
