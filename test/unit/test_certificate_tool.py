"""`tile-opt --verify-certificate` on files of every rung, true and falsified."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tiledialect.tools import opt

TINY = Path(__file__).parents[2] / "examples" / "tiny_mlp.mlir"
PASSES = ("search-plan", "select-plan", "lower-plan", "check-exchange", "place-memory")


def run(*words: str) -> int:
    return opt.main(list(words))


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The text of one program after each of these passes, made from the one before."""
    folder = tmp_path_factory.mktemp("planned")
    found: dict[str, str] = {}
    before = TINY
    for name in PASSES:
        path = folder / f"{name}.mlir"
        words = ["--plan-budget=8KiB", f"--stop-after={name}", "-o", str(path)]
        assert run(*words, str(before)) == 0
        found[name] = path.read_text()
        before = path
    return found


def verdict(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of a module: the proof, or why it is refused."""
    path = folder / "module.mlir"
    path.write_text(text)
    code = run("--verify-certificate", str(path))
    said = capsys.readouterr()
    assert (code, bool(said.out), bool(said.err)) in (
        (0, True, False),
        (1, False, True),
    )
    return said.out or said.err.removeprefix(f"{path}:1:1: error: ")


@pytest.mark.parametrize("name", PASSES)
def test_every_rung_carries_its_proof(
    name: str,
    planned: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = verdict(planned[name], tmp_path, capsys)
    assert said.startswith("proven: no plan within 8192 bytes a tile takes fewer than")
    assert len(said.splitlines()) == 1


LIES = (
    ("tile.budget = 8192", "tile.budget = 5500", "plan 0 takes {bytes} bytes"),
    ("cycles = {cycles}", "cycles = 2000", "takes {cycles} cycles"),
    ("bytes = {bytes}", "bytes = 6000", "takes {cycles} cycles and {bytes} bytes, not"),
    ('status = "optimal"', 'status = "within 1%"', "status 'within 1%', the gap is"),
    ('status = "optimal"', 'status = "infeasible"', "'infeasible', but the module"),
    ("bound = {{cycles = 1", "bound = {{cycles = 2", "does not follow"),
    ("estimate {one}", "estimate 1", "the steps of plan 0 are estimated at"),
    ("array<i64: 1, 1>", "array<i64: 1, 0>", "no case has 1 chunks"),
    ("tensor<64x128xf8E4M3FNUZ", "tensor<64x64xf8E4M3FNUZ", "certificate: tile.source"),
    ("tile.certificate", "tile.certificat", "the module has no tile.certificate"),
)


def figures(planned: dict[str, str]) -> dict[str, int]:
    """What the certificate says, and the estimate of the longest step."""
    text = planned["search-plan"]
    found: dict[str, int] = {}
    for name, pattern in (
        ("cycles", r"cycles = (\d+) : i64, bytes"),
        ("bytes", r"bytes = (\d+) : i64"),
    ):
        match = re.search(pattern, text)
        assert match is not None
        found[name] = int(match[1])
    found["one"] = max(int(one) for one in re.findall(r" estimate (\d+)", text))
    return found


@pytest.mark.parametrize(("true", "false", "why"), LIES, ids=lambda text: text)
def test_a_falsified_module_is_refused(
    true: str,
    false: str,
    why: str,
    planned: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text, known = planned["search-plan"], figures(planned)
    assert true.format(**known) in text
    told = text.replace(true.format(**known), false.format(**known), 1)
    assert why.format(**known) in verdict(told, tmp_path, capsys)


def test_a_plan_takes_what_its_choices_do(
    planned: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also where all places agree on the wrong figure, or choose what there is not."""
    text, size = planned["search-plan"], figures(planned)["bytes"]
    told = text.replace(f"{size} bytes", "4200 bytes")
    told = told.replace(f"bytes = {size}", "bytes = 4200")
    assert "claims 4200 bytes" in verdict(told, tmp_path, capsys)
    chosen = re.search(r"choices \[\{.*?m = (\d+)", text)
    assert chosen is not None
    told = f"{text[: chosen.start(1)]}9{text[chosen.end(1) :]}"
    assert "'h' has no candidate like" in verdict(told, tmp_path, capsys)


@pytest.mark.parametrize("name", PASSES[1:])
def test_a_plan_faster_than_its_certificate_is_refused(
    name: str,
    planned: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = figures(planned)
    told = planned[name].replace(f"estimate {known['one']}", "estimate 1", 1)
    cycles = known["cycles"] - known["one"] + 1
    assert f"the steps are estimated at {cycles} cycles" in verdict(
        told, tmp_path, capsys
    )


def test_a_refusal_is_proven_in_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "certificate.json"
    words = ["--plan-budget=5KiB", "--verify-certificate", f"--certificate={path}"]
    assert run(*words, str(TINY)) == 3
    said = capsys.readouterr()
    proven = "proven: no plan fits a budget of 5120 bytes a tile: 2 parts in 1 case\n"
    assert said.out == proven
    assert "error: no plan fits a budget of 5120 bytes" in said.err
    written = json.loads(path.read_text())
    assert written["format"] == "tiledialect-certificate"
    assert (written["machine"], written["budget"]) == ("mini16", 5120)
    assert written["certificate"]["status"] == "infeasible"


def test_a_certificate_is_written_beside_the_module(
    tmp_path: Path, planned: dict[str, str]
) -> None:
    path, module = tmp_path / "certificate.json", tmp_path / "module.mlir"
    words = ["--plan-budget=8KiB", "--stop-after=search-plan", "-o", str(module)]
    assert run(*words, f"--certificate={path}", "--verify-certificate", str(TINY)) == 0
    assert module.read_text() == planned["search-plan"]
    cycles = json.loads(path.read_text())["certificate"]["cycles"]
    assert cycles == figures(planned)["cycles"]


def test_a_module_without_a_certificate_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--verify-certificate", str(TINY)) == 1
    assert "has no tile.certificate" in capsys.readouterr().err
