"""tile-opt reads, splits, prints and writes; whatever is wrong is one line."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from driver_runs import PROGRAM, Driver

from tiledialect.tools.opt_arguments import FLAGS

PRINTED = """builtin.module {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    func.return %x : tensor<2xf32>
  }
}
"""


def test_a_program_is_printed(driver: Driver) -> None:
    run = driver.run_text(PROGRAM)
    assert (run.code, run.out, run.err) == (0, PRINTED, "")


def test_output_reads_back_as_it_was(driver: Driver) -> None:
    for flags in ((), ("--print-op-generic",), ("--print-debuginfo",)):
        once = driver.run_text(PROGRAM, *flags).out
        assert driver.run_text(once, *flags).out == once


def test_the_generic_form_has_properties(driver: Driver) -> None:
    generic = driver.run_text(PROGRAM, "--print-op-generic").out
    assert '"func.func"() <{sym_name = "main"' in generic
    older = ("--print-op-generic", "--print-no-properties")
    assert '}) {sym_name = "main"' in driver.run_text(PROGRAM, *older).out


def test_debug_information_is_printed(driver: Driver) -> None:
    out = driver.run_text(PROGRAM, "--print-debuginfo").out
    assert 'return %x : tensor<2xf32> loc("in.mlir":2:3)' in out


def test_stdin_is_read(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in ((), ("-",)):
        stdin = io.TextIOWrapper(io.BytesIO(PROGRAM.encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert driver.run(*arguments).out == PRINTED
    stdin = io.TextIOWrapper(io.BytesIO(b"module { foo }"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert driver.run().error.startswith("<stdin>:1:10: error: Operation foo")


@pytest.mark.parametrize("text", ["", "// nothing here\n", "\ufeff", "\ufeffmodule {}"])
def test_an_empty_program_is_an_empty_module(driver: Driver, text: str) -> None:
    run = driver.run_text(text)
    assert (run.code, run.out) == (0, "builtin.module {\n}\n")


def test_a_byte_order_mark_moves_no_column(driver: Driver) -> None:
    assert driver.run_text("\ufefffoo").error.startswith(
        "in.mlir:1:1: error: Operation"
    )


def test_an_output_file_is_written(driver: Driver) -> None:
    run = driver.run_text(PROGRAM, "-o", "out.mlir")
    assert (run.code, run.out, run.err) == (0, "", "")
    assert (driver.folder / "out.mlir").read_text() == PRINTED
    assert driver.run_text(PROGRAM, "-o", "-").out == PRINTED


def test_a_file_may_be_its_own_output(driver: Driver) -> None:
    assert driver.run_text(PROGRAM, "-o", "in.mlir").code == 0
    assert (driver.folder / "in.mlir").read_text() == PRINTED


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"module {\n  \xff }", "in.mlir:2:3: error: not UTF-8 text: byte 0xFF"),
        ("module { foo }", "in.mlir:1:10: error: Operation foo is not registered"),
        ("module {", "in.mlir:1:9: error: unexpected end of text"),
        ("func.func @f() -> i32 {\n return\n}", "in.mlir:2:2: error: 'func.return'"),
    ],
)
def test_bad_input_leaves_no_file(
    driver: Driver, text: str | bytes, error: str
) -> None:
    run = driver.run_text(text, "-o", "out.mlir")
    assert (run.code, run.out) == (1, "")
    assert run.error.startswith(error)
    assert [path.name for path in driver.folder.iterdir()] == ["in.mlir"]


def test_files_that_cannot_be_read_or_written(driver: Driver) -> None:
    (driver.folder / "folder").mkdir()
    missing = driver.run("missing.mlir")
    assert (
        missing.error == "error: cannot read 'missing.mlir': No such file or directory"
    )
    assert driver.run("folder").error == "error: cannot read 'folder': Is a directory"
    for output in ("folder", "missing/out.mlir"):
        run = driver.run_text(PROGRAM, "-o", output)
        assert run.code == 1
        assert run.error.startswith(f"error: cannot write '{output}': ")


CHUNKS = """module @a {}
// -----
module @b { foo }
// ----- a remark
func.func @c() -> i32 {
  return
}
  // -----
module @d {}
"""


def test_chunks_fail_one_by_one_with_the_lines_of_the_file(driver: Driver) -> None:
    run = driver.run_text(CHUNKS, "--split-input-file")
    assert run.code == 1
    places = [line.split(" error: ")[0] for line in run.err.splitlines()]
    assert places == ["in.mlir:3:13:", "in.mlir:6:3:"]
    a, b, c, d = run.out.split("// -----\n")
    assert a == "builtin.module @a {\n}\n"
    assert (b, c) == ("", "")
    assert d == "builtin.module @d {\n}\n"


def test_a_chunk_that_fails_leaves_no_file(driver: Driver) -> None:
    run = driver.run_text(CHUNKS, "--split-input-file", "-o", "out.mlir")
    assert run.code == 1
    assert not (driver.folder / "out.mlir").exists()


def test_the_exit_code_is_the_worst_of_all_chunks(pass_driver: Driver) -> None:
    text = f"module {{}}\n// -----\n{PROGRAM}// -----\nfoo\n"
    arguments = ("--split-input-file", "-p", "trouble{kind=infeasible}")
    run = pass_driver.run_text(text.replace("module {}", PROGRAM), *arguments)
    assert run.code == 3
    assert len(run.err.splitlines()) == 3


def test_chunks_share_nothing(driver: Driver) -> None:
    """Two chunks with one resource key; xDSL alone loses the second one's data."""
    chunk = (
        "module attributes {a = dense_resource<w> : tensor<1xf32>} {}\n"
        '{-# dialect_resources: { builtin: { w: "0x04000000%s" } } #-}\n'
    )
    text = chunk % "0000803F" + "// -----\n" + chunk % "00000040"
    out = driver.run_text(text, "--split-input-file").out
    assert "dense<1.000000e+00>" in out
    assert "dense<2.000000e+00>" in out


def test_diagnostics_can_be_the_output(driver: Driver) -> None:
    run = driver.run_text("foo", "--parsing-diagnostics")
    assert (run.code, run.err) == (0, "")
    assert run.out == "in.mlir:1:1: error: Operation foo is not registered\n"
    text = "func.func @f() -> i32 {\n return\n}"
    run = driver.run_text(text, "--verify-diagnostics")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith("in.mlir:2:2: error: 'func.return'")
    assert driver.run_text(text, "--parsing-diagnostics").code == 1


def test_verification_can_be_left_out(driver: Driver) -> None:
    text = "func.func @f() -> i32 {\n return\n}"
    assert driver.run_text(text, "--disable-verify").code == 0


def test_unregistered_operations_are_accepted_on_demand(driver: Driver) -> None:
    assert driver.run_text('"a.b"() : () -> ()').code == 1
    flag = "--allow-unregistered-dialect"
    assert driver.run_text('"a.b"() : () -> ()', flag).code == 0
    # A misspelt operation of a known dialect is one of them; nothing compiles it.
    assert driver.run_text('"func.retrun"() : () -> ()', flag).code == 0


def test_a_module_can_be_required(driver: Driver) -> None:
    run = driver.run_text(PROGRAM, "--no-implicit-module")
    assert run.error == "in.mlir:1:1: error: builtin.module operation expected"


def test_a_machine_by_name(driver: Driver) -> None:
    out = driver.run_text(PROGRAM, "--machine=mini4", "--reserve=1KiB").out
    assert 'attributes {tile.machine = "mini4", tile.reserve = 1024 : i64}' in out


def test_a_machine_by_file_becomes_part_of_the_module(driver: Driver) -> None:
    fields = 'base = "mini4"\nname = "two"\ntiles = 2\nclock_ghz = 1.5\n'
    (driver.folder / "two.toml").write_text(fields)
    out = driver.run_text(PROGRAM, "--machine=two.toml").out
    assert 'tile.machine = {base = "mini4", name = "two", tiles = 2 : i64, ' in out
    assert "clock_ghz = 1.500000e+00 : f64}" in out


def test_a_machine_over_a_file_stands_for_itself(driver: Driver) -> None:
    """Another reader may not have that file, so all its fields come along."""
    (driver.folder / "a.toml").write_text('base = "mini4"\nname = "a"\ntiles = 2\n')
    (driver.folder / "b.toml").write_text('base = "a.toml"\nname = "b"\nworkers = 3\n')
    out = driver.run_text(PROGRAM, "--machine=b.toml").out
    assert 'tile.machine = {name = "b", tiles = 2 : i64' in out
    assert "base" not in out
    assert "workers = 3 : i64" in out


def test_machines_that_are_none(driver: Driver) -> None:
    run = driver.run_text(PROGRAM, "--machine=mini5")
    assert run.code == 2
    assert "no machine is called 'mini5'; did you mean mini4? (known: " in run.error
    run = driver.run_text(PROGRAM, "--machine=missing.toml")
    assert run.code == 1
    assert run.error == "error: machine file 'missing.toml': No such file or directory"
    (driver.folder / "bad.toml").write_text('base = "mini4"\ntyles = 2\n')
    run = driver.run_text(PROGRAM, "--machine=bad.toml")
    assert run.code == 1
    assert "has no field 'tyles'; did you mean 'tiles'?" in run.error


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ("--plan-budgt=1",),
            "unknown option '--plan-budgt'; did you mean --plan-budget?",
        ),
        (("--plan-b=1",), "unknown option '--plan-b'"),
        (("--split-input",), "unknown option '--split-input'; did you mean"),
        (("--nonsense", "1"), "unknown option '--nonsense'"),
        (("other.mlir",), "one input file at a time: unexpected 'other.mlir'"),
        (("-p",), "argument -p/--passes: expected one argument"),
        (("--plan-budget=256KB",), "--plan-budget: '256KB' is not a size: write plain"),
        (("--plan-budget=",), "--plan-budget: '' is not a size"),
        (("--plan-budget=-1",), "--plan-budget: '-1' is not a size"),
        (("--reserve=lots",), "--reserve: 'lots' is not a size"),
        (("--split-input-file=1",), "argument --split-input-file"),
    ],
)
def test_wrong_usage(driver: Driver, arguments: tuple[str, ...], error: str) -> None:
    run = driver.run_text(PROGRAM, *arguments)
    assert (run.code, run.out) == (2, "")
    assert run.error.startswith(f"error: {error}")


def test_wrong_usage_is_told_before_the_input_is_read(driver: Driver) -> None:
    assert driver.run("missing.mlir", "-p", "nonsense").code == 2


def test_flags_can_be_taken_back(driver: Driver) -> None:
    for name, _ in FLAGS:
        off = name.replace("--", "--no-", 1)
        assert driver.run_text(PROGRAM, name, off).out == PRINTED


def test_passes_are_listed(driver: Driver) -> None:
    out = driver.run("--list-passes").out.splitlines()
    assert out[0].startswith("expand-candidates  1 -> 2  every way")
    assert out[-1].startswith("package            target")


def test_help_names_every_option(driver: Driver) -> None:
    with pytest.raises(SystemExit) as end:
        driver.run("--help")
    assert end.value.code == 0
    text = driver.capture.readouterr().out
    for name in ("--plan-budget SIZE", "--machine NAME|FILE", *dict(FLAGS)):
        assert name in text


def test_examples_are_valid_and_read_back(driver: Driver) -> None:
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*.mlir")):
        once = driver.run(str(path))
        assert (once.code, once.err) == (0, ""), path.name
        assert driver.run_text(once.out).out == once.out
