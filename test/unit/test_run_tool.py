"""`tile-run`: what it prints and writes, and what bad files get."""

from __future__ import annotations

import io
import json
import math
import pickle
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from handmade import BASE, bind, buffer, compute, package, tiles, view
from test_compute_sets import MATMUL, SUM

from tiledialect.formats import FORMATS
from tiledialect.machine import Machine
from tiledialect.runtime.package import Bind, Call, Package, to_bytes
from tiledialect.tools.run import main
from tiledialect.tools.run_arrays import read_arrays, write_arrays
from tiledialect.tools.run_tolerance import allowed_error, relative_tolerance, unit

A, B = BASE, BASE + 1024
SOURCE = """builtin.module attributes {tile.machine = "mini4"} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %y = tile.neg %x : tensor<8xf32>
    func.return %y : tensor<8xf32>
  }
}
"""


def negated(function: str = "neg") -> Package:
    """y = -x on mini4, two elements a tile; 497 + 73 cycles by the C600's row."""
    call = Call(
        "map",
        tiles(0, 1, 2, 3),
        ("d0",),
        (2,),
        (view(A, "f32", [(2, 4)]),),
        (view(B, "f32", [(2, 4)]),),
        {"stages": [{"function": function, "format": "f32"}]},
    )
    made = package(
        [replace(compute(call), estimate=300)],
        [bind("input", "x", (8,), A), bind("output", "y", (8,), B)],
        [buffer("x", A, 8, 0, 1), buffer("y", B, 8, 0, 1)],
    )
    return replace(made, source=SOURCE, estimated_cycles=300)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "neg.tilepkg"
    path.write_bytes(to_bytes(negated()))
    return path


def run(*words: str | Path) -> int:
    return main([str(word) for word in words])


def refused(capsys: pytest.CaptureFixture[str], code: int, *words: str | Path) -> str:
    """The one line that a refused run prints."""
    assert run(*words) == code
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "internal" not in captured.err
    return captured.err


def test_a_checked_run_prints_cycles_bytes_and_error(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(written, "--check") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "step",
        "name",
        "location",
        "kind",
        "cycles",
        "estimate",
    ]
    assert lines[1].split() == ["0", "C", "f.mlir:2:3", "compute", "360", "300"]
    assert lines[3] == "360 cycles (0.36 us at 1 GHz), estimated 300 (-16.7 %)"
    assert lines[4] == "  exchange: 0 cycles in 0 steps, estimated 0 (+0.0 %)"
    assert lines[5] == "  compute: 360 cycles in 1 step, estimated 300 (-16.7 %)"
    assert lines[6].startswith("2064 bytes on the fullest tile, placed 2064,")
    assert lines[7].startswith("'y': max abs error 0, within ")
    assert run(written, "--check", "--quiet") == 0
    assert capsys.readouterr().out.splitlines() == lines[3:]


def test_json_and_outputs_hold_what_was_found(written: Path, tmp_path: Path) -> None:
    report, outputs = tmp_path / "report.json", tmp_path / "y.npz"
    assert (
        run(written, "--check", "--quiet", "--json", report, "--outputs", outputs) == 0
    )
    found = json.loads(report.read_text())
    assert found["cycles"] == 360
    assert found["estimated_cycles"] == 300
    assert found["peak_tile_bytes"] == 2064
    assert found["max_abs_error"] == 0
    assert found["passed"] is True
    assert found["microseconds"] == 0.36
    assert found["steps"] == [
        {
            "step": 0,
            "name": "C",
            "location": "f.mlir:2:3",
            "kind": "compute",
            "cycles": 360,
            "estimated_cycles": 300,
        }
    ]
    from tiledialect.reference import default_arguments
    from tiledialect.tools.run_check import parse_source

    with np.load(outputs) as arrays:
        x = default_arguments(parse_source(negated(), "p"), 0)["x"]
        assert arrays["y"].tolist() == (-x).tolist()


def test_inputs_and_seeds_are_used(written: Path, tmp_path: Path) -> None:
    inputs, outputs = tmp_path / "x.npz", tmp_path / "y.npz"
    np.savez(inputs, x=np.arange(8, dtype=np.float32))
    assert run(written, "--quiet", "--inputs", inputs, "--outputs", outputs) == 0
    with np.load(outputs) as arrays:
        assert arrays["y"].tolist() == [-i for i in range(8)]
    seen: set[bytes] = set()
    for seed in ("1", "2", "1"):
        run(written, "--quiet", "--seed", seed, "--outputs", outputs)
        seen.add(outputs.read_bytes())
    assert len(seen) == 2


def test_a_wrong_result_fails_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, report = tmp_path / "wrong.tilepkg", tmp_path / "r.json"
    path.write_bytes(to_bytes(negated("abs")))
    line = refused(capsys, 1, path, "--check", "--json", report)
    assert line.startswith(f"{path}: error: the results lie too far from the reference")
    found = json.loads(report.read_text())
    assert found["passed"] is False
    assert found["max_abs_error"] > 0.1
    assert run(path, "--check", "--max-abs-error", "100") == 0
    assert run(path) == 0  # nothing is compared
    path.write_bytes(to_bytes(negated("log")))  # of negative numbers: NaN
    refused(capsys, 1, path, "--check", "--max-abs-error=1e9", "--json", report)
    assert json.loads(report.read_text())["max_abs_error"] is None


def test_an_error_of_the_bound_itself_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, report = tmp_path / "wrong.tilepkg", tmp_path / "r.json"
    path.write_bytes(to_bytes(negated("abs")))
    refused(capsys, 1, path, "--check", "--json", report)
    largest = json.loads(report.read_text())["max_abs_error"]
    assert run(path, "--check", f"--max-abs-error={largest!r}") == 0
    below = float(np.nextafter(largest, 0))
    refused(capsys, 1, path, "--check", f"--max-abs-error={below!r}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--chek"], "unknown option '--chek'; did you mean --check?"),
        (["--che"], "unknown option '--che'; did you mean --check?"),
        (["more.tilepkg"], "one package at a time: unexpected 'more.tilepkg'"),
        (["--seed=-1"], "'-1' is no whole number"),
        (["--check", "--max-abs-error=nan"], "'nan' is no number of at least 0"),
        (["--max-abs-error=1"], "--max-abs-error needs --check"),
        (["--machine=mini5"], "no machine is called 'mini5'; did you mean mini"),
    ],
)
def test_wrong_usage(
    written: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, 2, written, *words)


def test_no_package_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert "arguments are required: package" in refused(capsys, 2)


def test_another_machine_may_be_slower(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = tmp_path / "slow.toml"
    slow.write_text('base = "mini4"\nname = "slow"\nclock_ghz = 0.5\n')
    assert run(written, "--quiet", f"--machine={slow}") == 0
    assert "360 cycles (0.72 us at 0.5 GHz)" in capsys.readouterr().out


# Array files


def npz(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


GOOD = np.arange(8, dtype=np.float32)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "lacks the array 'x'"),
        (
            {"x": GOOD, "z": GOOD},
            "holds the array 'z', which the program does not take",
        ),
        ({"x": GOOD[:7]}, "array 'x' has shape [7], not [8]"),
        ({"x": GOOD.reshape(2, 4)}, "array 'x' has shape [2, 4], not [8]"),
        ({"x": GOOD.astype(np.float64)}, "array 'x' is of another type: f32 is stored"),
        ({"x": GOOD.astype(np.int32)}, "array 'x' is of another type: f32 is stored"),
        ({"x": GOOD.astype(">f4")}, "array 'x' is of another type: f32 is stored"),
        ({"x": np.array([None] * 8)}, "array 'x' holds Python objects"),
        ({"x": np.zeros(8, [("a", "O")])}, "array 'x' holds Python objects"),
    ],
)
def test_arrays_must_be_the_programs(
    written: Path,
    tmp_path: Path,
    arrays: dict[str, Any],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = npz(tmp_path / "in.npz", **arrays)
    outputs = tmp_path / "y.npz"
    line = refused(capsys, 1, written, "--inputs", path, "--outputs", outputs)
    assert line.startswith(f"{path}: error: {message}")
    assert not outputs.exists()


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (open, (self.path, "w"))


def member(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def test_hostile_array_files(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, trace = tmp_path / "in.npz", tmp_path / "trace"
    plain = "{'descr': '<f4', 'fortran_order': False, 'shape': (8,), }"
    huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (1<<40,), }"
    for content, words in (
        (pickle.dumps(Bomb(str(trace))), "is damaged"),
        (member(plain, b"1234"), "has 4 bytes of data, its shape needs 32"),
        (member(plain, bytes(40)), "has 40 bytes of data, its shape needs 32"),
        (member(huge), "is damaged"),
        (member(plain.replace("(8,)", f"({1 << 40},)")), "has shape [1099511627776]"),
        (member("x" * 60000), "is damaged"),
        (member("__import__('os').system('true')"), "is damaged"),
        (member("(" * 3000), "is damaged"),
        (b"", "is damaged"),
        (b"\x93NUMPY\x09\x00", "is damaged"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", content)
        line = refused(capsys, 1, written, "--inputs", path)
        assert line.startswith(f"{path}: error: array 'x' ")
        assert words in line
    assert not trace.exists()


def test_damaged_array_files_are_one_line(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.BytesIO()
    np.savez_compressed(stream, x=GOOD)
    data = stream.getvalue()
    generator = np.random.default_rng(0)
    path = tmp_path / "in.npz"
    refusals = 0
    for attempt in range(120):
        changed = bytearray(data)
        if attempt % 2:
            del changed[int(generator.integers(len(data))) :]
        else:
            changed[int(generator.integers(len(data)))] ^= 1 << int(
                generator.integers(8)
            )
        path.write_bytes(changed)
        code = run(written, "--quiet", "--inputs", path)
        captured = capsys.readouterr()
        assert code in (0, 1)
        assert captured.err.count("\n") == code  # a time stamp may change unseen
        assert "internal" not in captured.err
        refusals += code
    assert refusals > 90


def test_files_that_cannot_be_read_or_written(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = tmp_path / "absent" / "file"
    assert refused(capsys, 1, absent) == (
        f"{absent}: error: cannot be read: No such file or directory\n"
    )
    line = refused(capsys, 1, written, "--inputs", absent)
    assert line.startswith(f"{absent}: error: cannot be read: No such file")
    for option in ("--json", "--outputs"):
        line = refused(capsys, 1, written, "--quiet", option, absent)
        assert line.startswith(f"{absent}: error: cannot be written: No such file")


@pytest.mark.parametrize("name", ["f8E4M3FNUZ", "f8E5M2FNUZ", "bf16", "f16", "i32"])
def test_arrays_of_every_format_come_back(name: str, tmp_path: Path) -> None:
    dtype = FORMATS[name].dtype
    generator = np.random.default_rng(0)
    raw = generator.integers(0, 256, 6 * dtype.itemsize).astype(np.uint8)
    stored = raw.view(dtype).reshape(2, 3)
    path = tmp_path / "a.npz"
    write_arrays(str(path), {"x": stored})
    layout = bind("input", "x", (6,), A).layout
    made = Bind("input", 0, "x", name, 0, (2, 3), layout, A, 8)
    assert read_arrays(str(path), [made])["x"].tobytes() == stored.tobytes()
    np.savez(path, x=np.asfortranarray(stored.view(f"u{dtype.itemsize}")))
    if name in ("f8E4M3FNUZ", "f8E5M2FNUZ", "bf16"):
        assert read_arrays(str(path), [made])["x"].tobytes() == stored.tobytes()


# Packages


def test_damaged_packages_are_one_line_and_leave_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = to_bytes(negated())
    generator = np.random.default_rng(0)
    path, outputs = tmp_path / "bad.tilepkg", tmp_path / "y.npz"
    for attempt in range(100):
        changed = bytearray(data)
        place = int(generator.integers(len(data)))
        if attempt % 2:
            del changed[place:]
        else:
            changed[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(changed)
        line = refused(capsys, 1, path, "--check", "--outputs", outputs)
        assert line.startswith(f"{path}: error: ")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.tilepkg"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": "nothing"}, "source in "),
        ({"source": "builtin.module {\n}\n"}, "one public function"),
        ({"source": SOURCE.replace("neg", "abc")}, "tile.abc"),
        ({"source": SOURCE.replace("8x", "9x")}, "given is float32[9]"),
        ({"source": SOURCE.replace("%x", "%other")}, "input 'x' is not given"),
        ({"binds": negated().binds[:1]}, "package has 0 outputs, its program 1"),
        ({"binds": negated().binds * 2}, "package has 2 outputs, its program 1"),
    ],
)
def test_packages_of_another_program_are_refused(
    tmp_path: Path,
    changes: dict[str, Any],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "p.tilepkg"
    path.write_bytes(to_bytes(replace(negated(), **changes)))
    line = refused(capsys, 1, path, "--check", "--quiet")
    assert words in line
    assert str(path) in line


def test_the_simulators_errors_have_the_place_on_rung_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.tilepkg"
    path.write_bytes(to_bytes(negated("erf")))
    line = refused(capsys, 1, path)
    assert (
        line == "f.mlir:2:3: error: step 0 'C': call 0 (map): no map computes 'erf'\n"
    )


def test_version_loads_no_numpy() -> None:
    code = (
        "import sys; from tiledialect.tools.run import main; main(['--version']);"
        "sys.exit('numpy' in sys.modules or 'xdsl' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_the_default_bound_follows_the_roundings() -> None:
    machine = Machine.load("mini4")
    f32 = 2.0**-24
    assert relative_tolerance(machine, package([], [], []), "f32") == 8 * f32
    # one function of 4 units, and a rounding that both make
    variance = 1 + 16 + 2 * math.sqrt(17)
    expected = 8 * math.sqrt(variance) * f32
    assert math.isclose(relative_tolerance(machine, negated(), "f32"), expected)
    # two coefficient blocks and then a rounding of partials to f16
    f16 = 2.0**-11
    made = package([compute(MATMUL, with_f16_result())], [], [])
    expected = 8 * math.sqrt(1 + max(2 / 6, 1 / 3)) * f16
    assert math.isclose(relative_tolerance(machine, made, "f16"), expected)
    assert allowed_error(0.5, 2.0, 15.0) == 1.0
    assert allowed_error(0.5, 2.0, 32.0) == 2.0


def with_f16_result() -> Call:
    return replace(SUM, outputs=(replace(SUM.outputs[0], format="f16"),))


def test_units_are_half_a_step() -> None:
    assert unit("f16") == 2.0**-11
    assert unit("f8E4M3FNUZ") == 2.0**-4
    assert unit("i32") == 0
