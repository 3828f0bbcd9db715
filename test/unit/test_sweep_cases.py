"""What `tile-sweep` is asked for: workloads' texts, cases, names, options, machines."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tiledialect.diagnostics import Refused
from tiledialect.machine import Machine
from tiledialect.scripting import parse_text
from tiledialect.sweep.machine_file import machine_file, toml_text
from tiledialect.sweep.workloads import PRECISIONS, WORKLOADS, Mlp, workload_named
from tiledialect.tools.sweep import main
from tiledialect.tools.sweep_arguments import parse_options
from tiledialect.tools.sweep_session import cases_of

EXAMPLES = Path(__file__).parents[2] / "examples"


def names(*words: str) -> list[str]:
    return [case.name for case in cases_of(parse_options([*words, "-o", "out"]))]


@pytest.mark.parametrize("batch", [1, 2, 4])
@pytest.mark.parametrize(("precision", "word"), [("fp8", "f8"), ("fp16", "f16")])
def test_texts_are_those_of_the_examples(batch: int, precision: str, word: str) -> None:
    example = EXAMPLES / f"siglip_mlp_{word}_b{batch}.mlir"
    text = workload_named("siglip-mlp").text(batch, precision, 1)
    assert text == example.read_text()


def test_the_tutorials_text_is_a_workload() -> None:
    text = workload_named("tiny-mlp").text(1, "fp8", 1)
    assert text == (EXAMPLES / "tiny_mlp.mlir").read_text()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_blocks_are_a_chain_with_weights_of_their_own(
    workload: Mlp, precision: str
) -> None:
    module = parse_text(workload.text(2, precision, 3))
    operations = [op.name for op in module.walk()]
    assert operations.count("tile.matmul") == 6
    # a block reads 8-bit values, the one before it gives f16
    assert operations.count("tile.cast") == (5 if precision == "fp8" else 0)
    function = next(op for op in module.walk() if op.name == "func.func")
    arguments = function.regions[0].block.args
    assert len(arguments) == 7
    assert all(argument.uses for argument in arguments)


def test_the_reference_sweep_is_one_command() -> None:
    budgets = ["default", "384KiB", "256KiB", "128KiB", "64KiB"]
    found = names(
        "siglip-mlp",
        "--batches=1,2,4",
        f"--budgets={','.join(budgets)}",
        "--precision=fp8,fp16:default",
    )
    assert found[:5] == [f"b1-fp8-{budget}" for budget in budgets]
    assert found[15:] == [f"b{batch}-fp16-default" for batch in (1, 2, 4)]
    assert len(found) == 18


def test_budgets_are_bytes_of_the_machine() -> None:
    words = ["tiny-mlp", "--budgets=default,max,8KiB", "--reserve=1KiB", "-o", "out"]
    cases = cases_of(parse_options(words))
    assert [case.budget_bytes for case in cases] == [64256, 64256, 8192]
    assert {case.setting.machine.name for case in cases} == {"mini16"}
    big = cases_of(parse_options(["siglip-mlp", "-o", "out"]))
    assert big[0].budget_bytes == 586_960


def test_a_file_is_named_by_its_stem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    assert names("tiny_mlp.mlir", "--budgets=8KiB") == ["tiny_mlp-8KiB"]
    with pytest.raises(Refused, match="cannot read"):
        names("nowhere.mlir")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["siglip-mlp"], "-o DIR is needed"),
        (["-o", "d"], "name a workload"),
        (["siglip", "-o", "d"], r"no workload is called 'siglip' \(known: siglip-mlp"),
        (["tiny-mlp", "-o", "d", "--budgets=8KB"], "'8KB' is not a size"),
        (["tiny-mlp", "-o", "d", "--budgets=1KiB,1KiB"], "b1-fp8-1KiB is asked for"),
        (["tiny-mlp", "-o", "d", "--budgets=1KiB,"], "has an empty item"),
        (["tiny-mlp", "-o", "d", "--precision=f8"], "'f8' is none of fp8 and fp16"),
        (["tiny-mlp", "-o", "d", "--batches=0"], "'0' is no positive whole number"),
        (["tiny-mlp", "-o", "d", "--jobs=0"], "'0' is no positive whole number"),
        (["tiny-mlp", "-o", "d", "--timeout=0"], "'0' is no number of seconds"),
        (["tiny-mlp", "-o", "d", "--machine=mini17"], "did you mean mini16"),
        (["tiny-mlp", "-o", "d", "--reserve=x"], "--reserve: 'x' is not a size"),
        (["a.mlir", "-o", "d", "--batches=2"], "--batches is for named workloads"),
        (["-o", "d", "--resume", "--blocks=2"], "--blocks needs a workload"),
        (["-o", "d", "--resume"], "d holds no sweep to resume"),
        (["tiny-mlp", "-o", "d", "--job=1"], "unknown option '--job'; did you mean"),
        (["tiny-mlp", "x", "-o", "d"], "one workload at a time"),
        (["tiny-mlp", "-o", "d", "--jobs=1", "--scheduler=x"], "--jobs is for this"),
    ],
)
def test_wrong_usage_is_told_before_anything_runs(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    error = capsys.readouterr().err
    assert re.search(message, error), error
    assert len(error.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_workloads_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-workloads"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [each.name for each in WORKLOADS]


def test_a_machine_file_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "below.toml").write_text('name = "b"\nbase = "mini16"\ntiles = 8\n')
    above = tmp_path / "above.toml"
    above.write_text(f'name = "a"\nbase = "{tmp_path}/below.toml"\nworkers = 3\n')
    assert machine_file("mini16").text is None
    below = machine_file(str(tmp_path / "below.toml"))
    assert below.text == (tmp_path / "below.toml").read_text()
    copied = machine_file(str(above)).text
    assert copied is not None
    (tmp_path / "copy.toml").write_text(copied)
    (tmp_path / "below.toml").unlink()
    machine = Machine.load(str(tmp_path / "copy.toml"))
    assert (machine.name, machine.tiles, machine.workers) == ("a", 8, 3)
    assert machine.matrix == Machine.load("mini16").matrix


@pytest.mark.parametrize("name", ["ipu-c600", "mini4", "mini16"])
def test_machines_are_written_as_toml(name: str) -> None:
    fields = Machine.load(name).fields
    assert tomllib.loads(toml_text(fields)) == fields
    odd: dict[str, Any] = {
        "a b": 'x"\\\n',
        "on": True,
        "list": [1, 2.5],
        "t": {"u": {}, "v": [{}]},
    }
    assert tomllib.loads(toml_text(odd)) == odd
