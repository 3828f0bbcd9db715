"""`select-plan` keeps the plan that simulates fastest of those it times."""

from __future__ import annotations

from pathlib import Path

import pytest
from ladder import checked, package_bytes, parse, run_passes
from xdsl.dialects.builtin import ModuleOp

from tiledialect import select_plan
from tiledialect.diagnostics import Refused, Usage
from tiledialect.dialects.module_attributes import CHOICES, plain_value
from tiledialect.passes.search_plan import SearchPlanPass
from tiledialect.pipeline import KEPT_PLANS, PASSES, make_context
from tiledialect.select_plan import SELECTION, SelectPlanPass, Tried, choose
from tiledialect.tools.opt_arguments import Options
from tiledialect.tools.opt_passes import steps_of

TINY = (Path(__file__).parents[2] / "examples" / "tiny_mlp.mlir").read_text()
NAMES = [entry.name for entry in PASSES]
SELECT = NAMES.index("select-plan")


def planned(budget: str, plans: int = 4) -> ModuleOp:
    """The tiny MLP with its best plans."""
    module = run_passes(parse(TINY), last=SELECT - 1)
    SearchPlanPass(budget, plans).apply(make_context(), module)
    return module


def simulated(module: ModuleOp) -> int:
    """Cycles of a chosen plan in a run with data."""
    return checked(package_bytes(run_passes(module, first=SELECT + 1))).result.cycles


@pytest.mark.parametrize("budget", ["8KiB", "6600"])
def test_the_fastest_in_simulation_is_kept(budget: str) -> None:
    module = planned(budget)
    alternatives = select_plan.find_alternatives(module)
    assert alternatives is not None
    every: list[int] = []
    for index in range(len(alternatives.plans)):
        one = module.clone()
        choose(one, index)
        every.append(simulated(one))
    SelectPlanPass(rerank=4).apply(make_context(), module)
    said = plain_value(module.attributes[SELECTION])
    assert [one["cycles"] for one in said] == every
    assert [one["plan"] for one in said] == list(range(len(every)))
    assert simulated(module) == min(every)


def stand_in(
    monkeypatch: pytest.MonkeyPatch, outcomes: dict[int, int | None]
) -> list[tuple[int, bool]]:
    """Let plans come to these cycles, None: refused; what was tried, and if timed."""
    asked: list[tuple[int, bool]] = []

    def tried(
        ctx: object, module: ModuleOp, index: int, estimate: int, *, timed: bool
    ) -> Tried:
        asked.append((index, timed))
        cycles = outcomes[index]
        if cycles is None:
            return Tried(index, estimate, refused=Refused("too large"))
        return Tried(index, estimate, None, 5000, cycles)

    monkeypatch.setattr(select_plan, "tried", tried)
    return asked


def four_plans() -> ModuleOp:
    """A module with four plans that differ by name."""
    plans = " ".join(
        f"""plan {1000 + n} cycles 5000 bytes {{
          %0 = plan.load %x for "p{n}"
            : !x layout <[512] bytes 4 spread [4 step 1] packed>
          plan.yield %0 : !x
        }}"""
        for n in range(4)
    )
    choices = ", ".join(f"{{p{n} = {{steps = 1}}}}" for n in range(4))
    return parse(f"""
    !x = tensor<512xf32>
    module attributes {{tile.machine = "mini4", tile.rung = 3, tile.budget = 9000}} {{
      func.func @main(%x: !x) -> !x {{
        %r = plan.alternatives : (!x) {plans} choices [{choices}]
        return %r : !x
      }}
    }}""")


ESTIMATES = [1000, 1010, 1020, 1021, 1022]


@pytest.mark.parametrize(
    ("rerank", "outcomes", "indices"),
    [
        (1, {0: 900}, [0]),
        (1, {0: None, 1: 900}, [0, 1]),
        (1, {0: 1015, 1: 1012}, [0, 1]),  # with serial pairs others may be faster
        (1, {0: 1021, 1: None, 2: 1030}, [0, 1, 2]),
        (2, {0: 900, 1: 800}, [0, 1]),
        (2, {0: None, 1: 900, 2: 800}, [0, 1, 2]),
        (9, {0: 900, 1: 800, 2: 700}, [0, 1, 2]),  # 1021 is no near tie of 1000
        (9, {0: None, 1: 900, 2: 800, 3: None, 4: 600}, [0, 1, 2, 3, 4]),
        (9, dict.fromkeys(range(5)), [0, 1, 2, 3, 4]),
    ],
)
def test_plans_are_tried_until_enough_fit(
    monkeypatch: pytest.MonkeyPatch,
    rerank: int,
    outcomes: dict[int, int | None],
    indices: list[int],
) -> None:
    asked = stand_in(monkeypatch, outcomes)
    module = ModuleOp([])
    found = select_plan.try_plans(make_context(), module, ESTIMATES, rerank)
    assert asked == [(index, rerank > 1) for index in indices]
    assert [one.index for one in found] == indices


@pytest.mark.parametrize(
    ("rerank", "cycles", "kept"),
    [
        (4, {0: 9, 1: 8, 2: 8, 3: 9}, 1),  # of equals the first
        (4, {0: None, 1: 9, 2: 7, 3: 8}, 2),
        (1, {0: None, 1: 9}, 1),
        (1, {0: 1005, 1: 1004, 2: 1002, 3: 1003}, 2),
    ],
)
def test_of_equals_the_better_estimate_stands(
    monkeypatch: pytest.MonkeyPatch,
    rerank: int,
    cycles: dict[int, int | None],
    kept: int,
) -> None:
    module = four_plans()
    stand_in(monkeypatch, cycles)
    SelectPlanPass(rerank=rerank).apply(make_context(), module)
    assert plain_value(module.attributes[CHOICES]) == {f"p{kept}": {"steps": 1}}
    assert (SELECTION in module.attributes) == (rerank > 1)


def test_what_became_of_each_plan_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    module = four_plans()
    stand_in(monkeypatch, {0: None, 1: 9, 2: 7, 3: 8})
    SelectPlanPass(rerank=2).apply(make_context(), module)
    said = plain_value(module.attributes[SELECTION])
    assert [set(one) for one in said] == [
        {"plan", "estimate", "refused"},
        {"plan", "estimate", "cycles", "bytes"},
        {"plan", "estimate", "cycles", "bytes"},
    ]
    assert said[0]["refused"] == "too large"
    assert (said[2]["cycles"], said[2]["bytes"]) == (7, 5000)


def test_none_that_fits_is_refused_with_the_first_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = four_plans()
    stand_in(monkeypatch, dict.fromkeys(range(4)))
    with pytest.raises(Refused, match=r"none of 4 plans can be placed.*too large"):
        SelectPlanPass(rerank=3).apply(make_context(), module)


def test_fewer_than_one_plan_is_a_usage_error() -> None:
    with pytest.raises(Usage, match="times at least 1 plan, not rerank=0"):
        SelectPlanPass(rerank=0).apply(make_context(), ModuleOp([]))


def test_the_search_keeps_as_many_plans_as_the_pipeline_says() -> None:
    assert SearchPlanPass().plans == KEPT_PLANS


@pytest.mark.parametrize(
    ("count", "plans"), [(None, None), ("1", 4), ("4", 4), ("6", 6)]
)
def test_an_option_asks_both_passes(count: str | None, plans: int | None) -> None:
    options = Options(plan_budget="8KiB", rerank=count)
    given = {step.name: step.spec.parameters for step in steps_of(options, 1)}
    kept = given["search-plan"].get("plans")
    assert kept == (None if plans is None else (plans,))
    timed = given["select-plan"].get("rerank")
    assert timed == (None if count is None else (int(count),))


@pytest.mark.parametrize("count", ["0", "-1", "two", "²", ""])
def test_a_count_is_a_positive_whole_number(count: str) -> None:
    with pytest.raises(Usage, match=r"--rerank: '.*' is no positive whole number"):
        steps_of(Options(plan_budget="8KiB", rerank=count), 1)
