"""`tile-explain` against every plan of a small program, and what it prints."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ladder import checked, compiled
from plan_oracle import Choice, Costed, every_plan

from tiledialect.constraints import exact_choice
from tiledialect.search.pools import Pool
from tiledialect.tools.explain import main
from tiledialect.tools.explain_budgets import capped_searches
from tiledialect.tools.explain_space import Priced, Source, Space, filters
from tiledialect.tools.explain_why import COSTS, Named, parse_named, why_not

EXAMPLES = Path(__file__).parents[2] / "examples"
TINY = EXAMPLES / "tiny_mlp.mlir"

SMALL = """
!x = tensor<6x32xf16>
!w = tensor<32x32xf16>
!h = tensor<6x32xf16>
!y = tensor<6xf16>
module attributes {tile.machine = "mini4"} {
  func.func @main(%x: !x, %w: !w {tile.parameter}) -> !y
      attributes {tile.plan = {chunks = 1}} {
    %h = tile.matmul %x, %w : (!x, !w) -> !h
    %y = tile.reduce max %h over [1] : !h -> !y
    return %y : !y
  }
}
"""


@dataclass(frozen=True)
class Known:
    """A small program with all its plans."""

    space: Space
    plans: list[Costed]

    def best(self, budget: int, position: int = 0, choice: Choice | None = None) -> int:
        """The least cycles within a budget, with that choice of a group."""
        return min(
            plan.cycles
            for plan in self.plans
            if plan.need <= budget
            if choice is None or plan.choices[position] == choice
        )


@cache
def known() -> Known:
    space = Space.of(Source(SMALL, "in.mlir"))
    tables = space.as_asked()
    plan = space.search(space.machine.max_bytes).plans[0]
    problem = space.priced(plan).problem
    plans = every_plan(
        space.program,
        space.machine,
        tables,
        problem.code_bytes,
        problem.interface_bytes,
    )
    assert 500 < len(plans) < 5000
    return Known(space, plans)


def budgets() -> list[int]:
    """The least that works, and some where more candidates do."""
    needs = sorted({plan.need for plan in known().plans})
    return [needs[0], needs[len(needs) // 8], needs[len(needs) // 3], needs[-1]]


def choice(priced: Priced, position: int, pool: Pool, row: int) -> Choice:
    variant = priced.problem.stages[position].variants[int(pool.variant[row])]
    parts = variant.table.parts[int(pool.row[row])]
    return variant.table.variant, tuple(int(n) for n in parts)


@pytest.mark.parametrize("at", range(4))
def test_what_a_filter_drops_is_in_no_plan(at: int) -> None:
    """And what is left, or dominated, adds up to all candidates."""
    space, budget = known().space, budgets()[at]
    plan = space.search(budget).plans[0]
    assert plan.cycles == known().best(budget)
    priced = space.priced(plan)
    found = filters(priced, plan, budget)
    for position, one in enumerate(found):
        fit = {p.choices[position] for p in known().plans if p.need <= budget}
        fast = {p.choices[position] for p in known().plans if p.cycles <= plan.cycles}
        pool = priced.best[position]
        rows = [choice(priced, position, pool, row) for row in range(len(pool))]
        fits = priced.fits(position, pool, budget)
        is_fast = priced.is_fast(position, pool, plan.cycles)
        for row, chosen in enumerate(rows):
            assert fits[row] or chosen not in fit
            assert is_fast[row] or chosen not in fast
        assert one.candidates == sum(map(len, space.tables[position]))
        assert one.grids - sum(one.dropped.values()) == int(
            space.catalogues[position].table.get_shape()[0]
        )
        taken = one.asked + one.chunks + one.dominated + one.bytes + one.cycles
        assert one.candidates == taken + one.left
        assert one.left >= 1
        assert (one.asked, one.chunks) == (0, 0)
    if at == 0:
        assert all(one.bytes > 0 for one in found)
    if at == 3:
        assert all(one.bytes == 0 and one.cycles > 0 for one in found)


@pytest.mark.parametrize("at", range(4))
def test_why_a_candidate_lost(at: int) -> None:
    """Candidates of the first group, each named by all that it chooses: every 9th, and
    all that no other always beats."""
    space, budget = known().space, budgets()[at]
    chosen = space.search(budget).plans[0]
    priced = space.priced(chosen)
    pool = priced.whole[0]
    kept = {
        choice(priced, 0, priced.best[0], row) for row in range(len(priced.best[0]))
    }
    seen: set[str] = set()
    for row in range(len(pool)):
        one = choice(priced, 0, pool, row)
        if row % 9 != at and one not in kept:
            continue
        named = Named(0, exact_choice(space.program.groups[0], *one))
        why = why_not(priced, chosen, budget, named)
        assert (why.reason, why.matches) == (None, 1)
        assert why.fates is not None
        fate = next(name for name, count in why.fates.items() if count)
        seen.add(fate)
        assert (fate == "dominated") == (one not in kept)
        possible = [p for p in known().plans if p.choices[0] == one]
        fitting = [p.cycles for p in possible if p.need <= budget]
        assert (why.plan is not None) == bool(fitting)
        if why.plan is not None:
            assert why.plan.cycles == min(fitting) >= chosen.cycles
        else:
            assert why.smallest is not None
            assert why.smallest.footprint == min(p.need for p in possible)
        assert (why.beaten is not None) == (fate == "dominated")
        if why.beaten is not None:
            assert all(mine >= other for mine, other in why.beaten.costs.values())
            assert set(why.beaten.costs) <= set(COSTS)
            assert why.beaten.loser != why.beaten.winner
    assert seen >= {"dominated", "left"}
    assert len(seen) > 2


def explained(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the command prints; it must end well."""
    code = main(list(words))
    done = capsys.readouterr()
    assert (code, done.err) == (0, "")
    return done.out


@pytest.mark.usefixtures("deep_recursion")
def test_the_report_as_data_adds_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    named = "op=g, grid=m2 n8"
    (tmp_path / "plan.json").write_text('{"y": {"grid": {"k": 4}}}')
    text = explained(
        capsys,
        str(TINY),
        "--plan-budget=8KiB",
        f"--why-not={named}",
        f"--against={tmp_path / 'plan.json'}",
        f"--json={path}",
    )
    found: dict[str, Any] = json.loads(path.read_text())
    assert found["budget"] == 8192
    for name in ("plan", "against"):
        plan = found[name]
        cycles = sum(sum(group["cycles"].values()) for group in plan["groups"])
        assert plan["chunks"] * cycles == plan["cycles"]
        resident = sum(group["resident"] for group in plan["groups"])
        live = max(max(group["live"].values()) for group in plan["groups"])
        tensors = resident + live + plan["interface"]
        assert plan["support"] + tensors + tensors // 64 == plan["bytes"] <= 8192
    assert found["against"]["groups"][1]["choice"]["grid"]["k"] == 4
    assert found["against"]["cycles"] >= found["plan"]["cycles"]
    (why,) = found["why_not"]
    assert why["group"] == "h"
    assert why["plan"]["groups"][0]["choice"]["grid"]["n"] == 8
    more = why["plan"]["cycles"] - found["plan"]["cycles"]
    assert f"takes {why['plan']['cycles']} cycles, {more} (" in text


def test_more_words_of_a_candidate() -> None:
    space = known().space
    named = parse_named(space, "op = h, paths = w:stream, rest = cut1, order=row_major")
    assert named.constraint.paths == {1: 4}
    assert (named.constraint.rest, named.constraint.order) == (3, 0)
    assert parse_named(space, "op=in.mlir:9:10, paths=relay stored").constraint.paths
    other = parse_named(space, "op=y, grid=d0:2 d1:1")
    assert (other.position, dict(other.constraint.parts)) == (1, {"d0": 2, "d1": 1})


@pytest.mark.usefixtures("deep_recursion")
def test_budgets_are_compiled_and_one_catalogue_serves_all(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, program = tmp_path / "report.json", tmp_path / "in.mlir"
    program.write_text(SMALL)
    least = str(budgets()[0])
    words = (f"--cross-budgets=max,{least},2100", "--cap=3", f"--json={path}")
    text = explained(capsys, str(program), *words)
    assert "the catalogue is the same at every budget" in text
    found: dict[str, Any] = json.loads(path.read_text())
    roomy, tight, none = found["budgets"]
    assert len({one["catalogue"] for one in found["budgets"]}) == 1
    run = checked(compiled(SMALL, least))
    assert tight["simulated_cycles"] == run.result.cycles
    assert tight["estimated_cycles"] == run.package.estimated_cycles
    assert tight["placed_bytes"] == run.package.footprint
    assert roomy["plan"] != tight["plan"]
    assert none["plan"] is None
    assert "fits a budget of 2100 bytes" in none["reason"]
    assert len(found["capped"]) == 6, "each catalogue at each budget that has a plan"
    for one in found["capped"]:
        assert one["cycles"] is None or one["cycles"] >= one["whole"]
    assert any(one["cycles"] != one["whole"] for one in found["capped"])
    (one,) = capped_searches(known().space, ["max"], 100_000)
    assert one.cycles == one.whole == roomy["estimated_cycles"]


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("--why-no=x",), 2, "error: unknown option '--why-no'; did you mean"),
        (("a.mlir",), 2, "error: one program at a time: unexpected 'a.mlir'"),
        (("--cap=3",), 2, "error: --cap N goes with --cross-budgets"),
        (("--cross-budgets=1,1",), 2, "error: argument --cross-budgets: '1,1' is no"),
        (("--cross-budgets=1MB",), 2, "error: '1MB' is not a size"),
        (("--cap=0",), 2, "error: argument --cap: '0' is no count from 1 up"),
        (
            ("--cross-budgets=max", "--against=max"),
            2,
            "error: --cross-budgets goes without --why-not and --against",
        ),
        (("--plan-budget=1KB",), 2, "error: '1KB' is not a size"),
        (("--why-not=grid=m1",), 2, "error: --why-not names an operation: 'op="),
        (("--why-not=op=z",), 2, "error: --why-not: no operation is called 'z'; the"),
        (("--why-not=op=h, m1",), 2, "error: --why-not: 'm1' is no `name=value`"),
        (("--why-not=op=h, grid=9",), 2, "error: --why-not: '9' is no dimension with"),
        (("--why-not=op=h, steps=x",), 2, "error: --why-not: steps: a count from 1"),
        (("--against=none.json",), 1, "error: cannot read 'none.json': No such file"),
        (("--against=2100",), 3, "in.mlir:"),
        (("--plan-budget=2100",), 3, "in.mlir:"),
        (("--json=/nowhere/x",), 1, "error: cannot write '/nowhere/x': "),
    ],
)
def test_what_is_refused_is_one_line(
    words: tuple[str, ...],
    code: int,
    error: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.mlir").write_text(SMALL)
    assert main(["in.mlir", *words]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(error)
    if code == 3:
        assert ": error: no plan that is as asked fits a budget of 2100 bytes a" in line
        assert " bytes are enough, fullest in '" in line
        assert "', step '" in line


def test_a_planned_program_has_no_space_left(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(SMALL.replace('"mini4"', '"mini4", tile.rung = 3'))
    assert main([str(path)]) == 1
    assert "a plan space is read from rung 1 or 2, this is rung 3" in (
        capsys.readouterr().err
    )
