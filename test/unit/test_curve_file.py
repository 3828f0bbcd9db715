"""`--pareto` and `--plan-budget=auto`: the curve as a file, its knee as a budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driver_runs import Driver

from tiledialect.plan_file import digest
from tiledialect.runtime.package import read

TINY = (Path(__file__).parents[2] / "examples" / "tiny_mlp.mlir").read_text()
PLANNED = "--stop-after=search-plan"


@pytest.fixture
def driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Driver:
    monkeypatch.chdir(tmp_path)
    return Driver(tmp_path, capsys)


def curve(driver: Driver, *options: str) -> dict[str, Any]:
    run = driver.run_text(TINY, PLANNED, "--pareto=curve.json", "-o=p.mlir", *options)
    assert run.code == 0, run.err
    return json.loads((driver.folder / "curve.json").read_text())


def figures(text: str) -> tuple[int, int]:
    """Bytes and cycles of the best plan, as the certificate says."""
    said = text.split("tile.certificate = {")[1]
    number = {
        name: int(said.split(f"{name} = ")[1].split(" ")[0])
        for name in ("bytes", "cycles")
    }
    return number["bytes"], number["cycles"]


def test_every_breakpoint_is_written_with_a_plan_that_can_be_replayed(
    driver: Driver,
) -> None:
    made = curve(driver, "--plan-budget=8KiB")
    points = made["breakpoints"]
    assert (made["format"], made["version"]) == ("tiledialect-curve", 1)
    assert (made["status"], made["most_bytes"]) == ("exact", 65280)
    budgets = [point["budget_bytes"] for point in points]
    cycles = [point["cycles"] for point in points]
    assert len(points) > 3
    assert budgets == sorted(set(budgets))
    assert cycles == sorted(set(cycles), reverse=True)
    for point in points[::3]:
        assert point["tensor_bytes"] + point["support_bytes"] == point["budget_bytes"]
        assert point["plan"]["chunks"] == point["chunks"]
        (driver.folder / "plan.json").write_text(json.dumps(point["plan"]))
        budget = f"--plan-budget={point['budget_bytes']}"
        run = driver.run_text(TINY, budget, PLANNED, "--constraints=plan.json")
        assert figures(run.out) == (point["budget_bytes"], point["cycles"])
        free = driver.run_text(TINY, budget, PLANNED)
        assert figures(free.out) == (point["budget_bytes"], point["cycles"])
    less = driver.run_text(TINY, f"--plan-budget={budgets[0] - 1}", PLANNED)
    assert less.code == 3
    assert f"the smallest budget that works is {budgets[0]} bytes" in less.err


def test_the_curve_is_of_the_program_and_what_is_left_of_a_tile(
    driver: Driver,
) -> None:
    made = curve(driver, "--plan-budget=default", "--reserve=16KiB")
    assert (made["machine"], made["reserve_bytes"]) == ("mini16", 16384)
    assert made["most_bytes"] == 65280 - 16384
    words = ["--plan-budget=8KiB", "--reserve=16KiB", "-t=package", "-o=t.tilepkg"]
    assert driver.run_text(TINY, *words).code == 0
    assert made["source_sha256"] == read("t.tilepkg").source_sha256
    assert made["source_sha256"] == digest(read("t.tilepkg").source)


def test_the_compile_goes_on_within_its_budget(driver: Driver) -> None:
    curve(driver, "--plan-budget=6000")
    with_curve = (driver.folder / "p.mlir").read_text()
    alone = driver.run_text(TINY, "--plan-budget=6000", PLANNED).out
    assert figures(with_curve) == figures(alone)
    assert "tile.budget = 6000" in with_curve
    assert "tile.budget_choice" not in with_curve


def test_auto_takes_the_knee_and_says_why(driver: Driver) -> None:
    made = curve(driver, "--plan-budget=auto")
    knee = made["breakpoints"][made["knee"]]
    run = driver.run_text(TINY, "--plan-budget=auto", PLANNED)
    assert run.error.startswith(
        f"auto takes {knee['budget_bytes']} bytes ({knee['cycles']} cycles): the knee"
        f" of a curve of {len(made['breakpoints'])} budgets; from "
    )
    assert f'tile.budget_choice = "{run.error}"' in run.out
    assert f"tile.budget = {knee['budget_bytes']} " in run.out
    assert figures(run.out) == (knee["budget_bytes"], knee["cycles"])
    passes = "expand-candidates,search-plan{budget=auto}"
    assert driver.run_text(TINY, "-p", passes).out == run.out


def test_auto_is_compiled_to_the_end_and_goes_on_from_text(driver: Driver) -> None:
    whole = driver.run_text(TINY, "--plan-budget=auto")
    assert whole.code == 0, whole.err
    plan = driver.run_text(TINY, "--plan-budget=auto", PLANNED).out
    assert driver.run_text(plan, "--plan-budget=auto").out == whole.out


def test_auto_where_nothing_fits_is_infeasible(driver: Driver) -> None:
    text = """module attributes {tile.machine = "mini4"} {
      func.func @main(%x: tensor<262144xf32>) -> tensor<262144xf32> {
        %y = tile.gelu tanh %x : tensor<262144xf32>
        func.return %y : tensor<262144xf32>
      }
    }"""
    run = driver.run_text(text, "--plan-budget=auto", PLANNED)
    assert run.code == 3
    assert "no plan fits the" in run.error


def test_a_file_that_cannot_be_written_is_refused(driver: Driver) -> None:
    run = driver.run_text(TINY, "--plan-budget=8KiB", PLANNED, "--pareto=no/curve.json")
    assert run.code == 1
    assert "cannot write 'no/curve.json'" in run.error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pareto=c.json"], "--pareto goes with --plan-budget"),
        (["--rerank=2"], "--rerank goes with --plan-budget; with -p write select-plan"),
        (
            ["--plan-budget=8KiB", "--pareto=c.json", "--split-input-file"],
            "--pareto takes one module",
        ),
        (["--plan-budget=aut"], "or default, max or auto"),
    ],
)
def test_wrong_usage_is_said(driver: Driver, words: list[str], message: str) -> None:
    run = driver.run_text(TINY, *words)
    assert run.code == 2
    assert message in run.error


def test_estimates_are_printed_beside_simulated_cycles(driver: Driver) -> None:
    run = driver.run_text(TINY, "--plan-budget=8KiB", "--print-estimates")
    lines = run.err.splitlines()
    assert lines[0].split() == [
        "step",
        "name",
        "location",
        "kind",
        "cycles",
        "estimate",
    ]
    steps = [line.split() for line in lines[1:-2]]
    sums = {"exchange": [0, 0], "compute": [0, 0]}
    for words in steps:
        for at in (0, 1):
            sums[words[-3]][at] += int(words[-2 + at])
    for line, (kind, (cycles, estimate)) in zip(lines[-2:], sums.items(), strict=True):
        assert line.startswith(f"  {kind}: {cycles} cycles in ")
        assert f"estimated {estimate} (" in line
    early = driver.run_text(TINY, "--plan-budget=8KiB", "--print-estimates", PLANNED)
    assert early.code == 2
    assert "--print-estimates needs a placed program, this one is at 3" in early.error
