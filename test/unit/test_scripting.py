"""`import tiledialect`: each function does what its command does."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tiledialect
from tiledialect.tools.opt import main as tile_opt

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "examples" / "matmul_ragged.mlir"
BUDGET = "8KiB"

pytestmark = pytest.mark.usefixtures("deep_recursion")


@pytest.fixture(scope="module")
def package() -> tiledialect.Package:
    return tiledialect.compile(PROGRAM, plan_budget=BUDGET)


def test_a_package_is_the_commands(
    tmp_path: Path, package: tiledialect.Package
) -> None:
    ours, theirs = tmp_path / "ours.tilepkg", tmp_path / "theirs.tilepkg"
    tiledialect.write_package(package, ours)
    words = [f"--plan-budget={BUDGET}", "-t", "package", "-o", str(theirs)]
    assert tile_opt([*words, str(PROGRAM)]) == 0
    assert ours.read_bytes() == theirs.read_bytes()
    assert tiledialect.read_package(ours).source == package.source


def test_rungs_are_texts_that_go_on(package: tiledialect.Package) -> None:
    module = tiledialect.parse(PROGRAM)
    tiledialect.run_passes(module, plan_budget=BUDGET, stop_after="select-plan")
    again = tiledialect.parse_text(tiledialect.show(module))
    assert tiledialect.show(again) == tiledialect.show(module)
    made = tiledialect.compile(again, plan_budget=BUDGET)
    assert made.estimated_cycles == package.estimated_cycles
    assert made.source_sha256 == package.source_sha256


def test_a_plan_is_its_steps_and_its_certificate() -> None:
    program = ROOT / "examples" / "tiny_mlp.mlir"
    module = tiledialect.parse(program)
    passes = f"expand-candidates,search-plan{{budget={BUDGET}}}"
    plan = tiledialect.plan(tiledialect.run_passes(module, passes))
    assert plan.budget == 8192
    assert plan.cycles == plan.certificate["cycles"] > 0
    assert plan.steps[0].operation == "load"
    assert all(step.layout.startswith("<") for step in plan.steps)
    assert all(str(program) in (step.location or "") for step in plan.steps)
    tiledialect.run_passes(module, "select-plan")
    assert tiledialect.plan(module).steps == plan.steps


def test_a_plan_stands_at_rung_3() -> None:
    with pytest.raises(TypeError, match="rung 3, the module is at 1"):
        tiledialect.plan(tiledialect.parse(PROGRAM))


def test_a_run_is_checked_and_takes_arrays(package: tiledialect.Package) -> None:
    done = tiledialect.run(package, check=True)
    assert done.passed is True
    assert done.result.cycles == sum(step.cycles for step in done.result.steps)
    assert tiledialect.run(package, check=True, max_abs_error=0.0).passed is False
    zeros = {
        bind.name: np.zeros(bind.shape, dtype=np.float16)
        for bind in package.binds
        if bind.kind in ("input", "parameter")
    }
    outputs = tiledialect.run(package, inputs=zeros).result.outputs
    assert not any(array.any() for array in outputs.values())


def test_settings_reach_the_module() -> None:
    module = tiledialect.parse(PROGRAM)
    made = tiledialect.compile(module, "max", machine="mini16", reserve="1KiB")
    assert made.reserve == 1024
    assert made.budget == 65536 - 256 - 1024  # less the fixed bytes and the reserve
    with pytest.raises(tiledialect.Usage, match="no machine is called 'mini17'"):
        tiledialect.compile(PROGRAM, machine="mini17")


def test_errors_are_those_of_the_commands() -> None:
    with pytest.raises(tiledialect.Infeasible, match="no plan fits") as caught:
        tiledialect.compile(PROGRAM, plan_budget=4200)
    assert caught.value.exit_code == 3
    assert str(caught.value).startswith(str(PROGRAM))
    with pytest.raises(tiledialect.Refused, match="cannot read 'nowhere'"):
        tiledialect.parse("nowhere")
    with pytest.raises(tiledialect.Usage, match="unknown pass 'search'"):
        tiledialect.run_passes(tiledialect.parse(PROGRAM), "search")
    with pytest.raises(TypeError, match="either passes or plan_budget"):
        tiledialect.run_passes(tiledialect.parse(PROGRAM))


def test_every_name_is_there_and_no_other() -> None:
    for name in tiledialect.__all__:
        assert getattr(tiledialect, name) is not None
    assert dir(tiledialect) == sorted(tiledialect.__all__)
    with pytest.raises(AttributeError, match="no attribute 'sweeps'"):
        tiledialect.sweeps  # noqa: B018  # pyright: ignore


def test_importing_loads_nothing() -> None:
    script = (
        "import sys\nimport tiledialect\n"
        "loaded = [n for n in sys.modules if n.startswith('tiledialect.')]\n"
        "assert not loaded, loaded\n"
        "assert tiledialect.Usage and 'xdsl' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_example_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    runpy.run_path("examples/scripting.py", run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("optimal: ")
    assert [line.split(":")[0] for line in lines[-2:]] == ["8KiB", "4200"]
    assert "passed True" in lines[-2]
    assert "no plan fits" in lines[-1]
