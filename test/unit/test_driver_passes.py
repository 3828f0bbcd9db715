"""tile-opt runs pipelines, and says in one line why one ends early."""

from __future__ import annotations

import pytest
from driver_runs import PROGRAM, Driver


def test_a_pipeline_runs_in_order_with_options(pass_driver: Driver) -> None:
    run = pass_driver.run_text(PROGRAM, "-p", "mark{word=hello},search-plan{budget=7}")
    assert run.code == 0
    assert 'test.mark = "hello"' in run.out
    assert 'test.budget = "7"' in run.out


def test_a_pass_gets_the_default_machine(pass_driver: Driver) -> None:
    assert (
        'tile.machine = "ipu-c600"' in pass_driver.run_text(PROGRAM, "-p", "mark").out
    )
    assert "tile.machine" not in pass_driver.run_text(PROGRAM).out


def test_a_named_machine_stays(pass_driver: Driver) -> None:
    text = 'module attributes {tile.machine = "mini4"} {}'
    assert 'tile.machine = "mini4"' in pass_driver.run_text(text, "-p", "mark").out


def test_plan_budget_runs_the_ladder(pass_driver: Driver) -> None:
    run = pass_driver.run_text(
        PROGRAM, "--plan-budget=256KiB", "--stop-after=search-plan"
    )
    assert 'test.mark = "marked"' in run.out
    assert 'test.budget = "256KiB"' in run.out


@pytest.mark.parametrize("rung", [1, 2, 3])
def test_plan_budget_goes_on_from_the_rung_of_the_module(
    pass_driver: Driver, rung: int
) -> None:
    text = f"module attributes {{tile.rung = {rung} : i64}} {{}}"
    run = pass_driver.run_text(text, "--plan-budget=1KiB", "--stop-after=search-plan")
    assert run.code == 0
    assert ("test.mark" in run.out) == (rung < 2)
    assert ("test.budget" in run.out) == (rung < 3)


@pytest.mark.parametrize("budget", ["2KiB", "max"])
def test_a_plan_does_not_change_its_budget(pass_driver: Driver, budget: str) -> None:
    text = """module attributes {
      tile.rung = 3 : i64, tile.budget = 1024 : i64, tile.machine = "mini4"} {}"""
    last = "--stop-after=search-plan"
    same = pass_driver.run_text(text, "--plan-budget=1KiB", last)
    assert same.code == 0
    other = pass_driver.run_text(text, f"--plan-budget={budget}", last)
    assert other.code == 1
    assert "in.mlir:1:1: error: the module is at rung 3, made with" in other.error


@pytest.mark.parametrize("option", ["--machine=mini16", "--reserve=4KiB"])
def test_a_plan_does_not_change_its_machine(pass_driver: Driver, option: str) -> None:
    text = """module attributes {tile.rung = RUNG : i64,
      tile.machine = "mini4", tile.reserve = 1024 : i64} {}"""
    assert pass_driver.run_text(text.replace("RUNG", "1"), option).code == 0
    run = pass_driver.run_text(text.replace("RUNG", "2"), option)
    assert run.code == 1
    assert "error: the module is at rung 2, made with tile." in run.error


def test_stop_after_ends_a_given_pipeline(pass_driver: Driver) -> None:
    run = pass_driver.run_text(PROGRAM, "-p", "mark,trouble", "--stop-after=mark")
    assert run.code == 0
    assert "test.mark" in run.out


@pytest.mark.parametrize(
    ("kind", "code", "error"),
    [
        (
            "refuse",
            1,
            "in.mlir:1:1: error: it needs 700000 bytes but has 638976",
        ),
        ("infeasible", 3, "in.mlir:1:1: error: no plan"),
        ("stopped", 4, "error: no plan yet"),
        ("best", 4, "error: stopped by effort"),
        ("pass-failed", 1, "error: trouble: cannot go on"),
        ("verify", 1, "error: trouble: not valid"),
        ("size", 2, "error: trouble: no size"),
        ("machine", 1, "error: trouble: no machine"),
        ("recursion", 1, "error: trouble: nesting too deep"),
        ("memory", 1, "error: out of memory"),
        ("interrupt", 130, "error: interrupted"),
        ("fault", 1, "internal error: KeyError: 'x' (--verbose shows where)"),
    ],
)
def test_every_end_has_one_line_and_a_code(
    pass_driver: Driver, kind: str, code: int, error: str
) -> None:
    run = pass_driver.run_text(PROGRAM, "-p", f"trouble{{kind={kind}}}", "-o", "out")
    assert (run.code, run.error, run.out) == (code, error, "")
    # Only a search that was stopped with a plan in hand has something to write.
    assert (pass_driver.folder / "out").exists() == (kind == "best")


def test_a_stopped_search_goes_on_with_its_plan(pass_driver: Driver) -> None:
    run = pass_driver.run_text(PROGRAM, "-p", "trouble{kind=best},mark")
    assert run.code == 4
    assert "test.best" in run.out
    assert "test.mark" in run.out


def test_a_pass_that_breaks_the_module_is_named(pass_driver: Driver) -> None:
    run = pass_driver.run_text(PROGRAM, "-p", "trouble{kind=invalid}")
    assert run.code == 1
    assert "error: after trouble: redefinition of symbol @main" in run.error
    unchecked = ("-p", "trouble{kind=invalid}", "--disable-verify")
    assert pass_driver.run_text(PROGRAM, *unchecked).code == 0


def test_verbose_shows_the_operation(pass_driver: Driver) -> None:
    run = pass_driver.run_text(PROGRAM, "-p", "trouble", "--verbose")
    assert run.err.splitlines()[1].startswith("func.func @main(%x: tensor<2xf32>)")


def test_verbose_shows_where_a_fault_happened(pass_driver: Driver) -> None:
    run = pass_driver.run_text(PROGRAM, "-p", "trouble{kind=fault}", "--verbose")
    assert run.err.startswith("internal error: KeyError: 'x'\nTraceback")


def test_verify_diagnostics_prints_what_a_pass_refuses(pass_driver: Driver) -> None:
    run = pass_driver.run_text(PROGRAM, "-p", "trouble", "--verify-diagnostics")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith("in.mlir:1:1: error: it needs 700000 bytes")


@pytest.mark.parametrize(
    ("pipeline", "error"),
    [
        ("marc", "unknown pass 'marc'; did you mean mark?"),
        ("mark{wort=x}", "mark has no option 'wort'; did you mean word? (it takes:"),
        ("mark{word=1}", "mark: Incompatible types"),
        ("mark{word=}", "cannot read passes 'mark{word=}': Unknown argument value"),
        ("mark,,mark", "cannot read passes 'mark,,mark': Expected pass name here"),
        ("mark{word=a.b}", "cannot read passes"),
        ("Ω", "cannot read passes 'Ω': Unknown token"),
    ],
)
def test_a_wrong_pipeline_is_wrong_usage(
    pass_driver: Driver, pipeline: str, error: str
) -> None:
    run = pass_driver.run_text(PROGRAM, "-p", pipeline)
    assert run.code == 2
    assert run.error.startswith(f"error: {error}")


def test_a_pass_that_is_not_built_fails_when_used(pass_driver: Driver) -> None:
    run = pass_driver.run_text(PROGRAM, "-p", "mark,missing")
    assert (run.code, run.error) == (1, "error: 'missing' is not part of this build")


def test_ir_goes_to_stderr_after_the_named_passes(pass_driver: Driver) -> None:
    passes = "mark,search-plan"
    one = pass_driver.run_text(PROGRAM, "-p", passes, "--print-ir-after=mark")
    assert one.err.count("// IR after") == 1
    assert "// IR after mark\nbuiltin.module attributes {" in one.err
    assert "test.budget" not in one.err
    for option in ("--print-ir-after-all", "--print-between-passes"):
        both = pass_driver.run_text(PROGRAM, "-p", passes, option)
        assert both.err.count("// IR after") == 2
        assert both.out == one.out


def test_times_go_to_stderr(pass_driver: Driver) -> None:
    run = pass_driver.run_text(PROGRAM, "-p", "mark,search-plan", "--time-passes")
    names = [line.split()[-1] for line in run.err.splitlines()]
    assert names == ["mark", "search-plan", "total"]
    assert "search-plan" not in run.out


def test_times_are_told_of_a_refused_run_too(pass_driver: Driver) -> None:
    passes = "mark,search-plan,trouble"
    run = pass_driver.run_text(PROGRAM, "-p", passes, "--time-passes")
    assert run.code == 1
    names = [line.split()[-1] for line in run.err.splitlines()[:4]]
    assert names == ["mark", "search-plan", "trouble", "total"]
    assert "error: it needs 700000 bytes" in run.err


def test_a_target_writes_its_bytes(pass_driver: Driver) -> None:
    run = pass_driver.run_text(PROGRAM, "-t", "bytes", "-o", "out.bin")
    assert (run.code, run.out, run.err) == (0, "", "")
    assert (pass_driver.folder / "out.bin").read_bytes() == b"\x00\xff"


def test_a_failed_target_keeps_the_older_file(pass_driver: Driver) -> None:
    (pass_driver.folder / "out.bin").write_bytes(b"older")
    run = pass_driver.run_text(PROGRAM, "-p", "trouble", "-t", "bytes", "-o", "out.bin")
    assert run.code == 1
    assert (pass_driver.folder / "out.bin").read_bytes() == b"older"
    assert sorted(p.name for p in pass_driver.folder.iterdir()) == [
        "in.mlir",
        "out.bin",
    ]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("-t", "byte", "-o", "x"), "unknown target 'byte'; did you mean bytes?"),
        (("-t", "bytes"), "-t bytes needs -o FILE"),
        (("-t", "bytes", "-o", "x", "--split-input-file"), "-t bytes takes one module"),
        (("-t", "bytes{", "-o", "x"), "cannot read target 'bytes{'"),
        (("--plan-budget=1KiB", "-p", "mark"), "-p and --plan-budget exclude"),
        (("--stop-after=mark",), "--stop-after: 'mark' is not among the passes"),
        (("-p", "mark", "--stop-after=mork"), "--stop-after: unknown pass 'mork'; did"),
        (("-p", "mark", "--print-ir-after=x"), "--print-ir-after: 'x' is not among"),
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(
    pass_driver: Driver, arguments: tuple[str, ...], error: str
) -> None:
    run = pass_driver.run_text(PROGRAM, *arguments)
    assert run.code == 2
    assert run.error.startswith(f"error: {error}")
    assert not (pass_driver.folder / "x").exists()
