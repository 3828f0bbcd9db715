"""Every rung, printed and read again, goes on to the same package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ladder import package_bytes, parse, run_passes

from tiledialect.pipeline import PASSES
from tiledialect.runtime.package import from_bytes
from tiledialect.text.printer import print_module

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = ("tiny_mlp", "softmax_like", "matmul_ragged", "residual_mlp")


def read(name: str) -> str:
    return (EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SMALL[:2])
def test_every_rung_goes_on_to_the_same_package(name: str) -> None:
    """Locations are part of the package, so they survive too: the rungs are read back
    under another file's name. In generic form each is the same module."""
    module = parse(read(name), "first.mlir")
    texts: list[str] = []
    for position in range(len(PASSES)):
        run_passes(module, first=position, last=position + 1)
        texts.append(print_module(module))
        generic = print_module(module, generic=True)
        again = parse(generic, "again.mlir")
        assert print_module(again, generic=True) == generic
        assert print_module(again) == texts[-1]
    whole = package_bytes(module)
    assert all("first.mlir" in step.location for step in from_bytes(whole).steps)
    for position, text in enumerate(texts, 1):
        again = parse(text, "again.mlir")
        assert print_module(again) == text
        run_passes(again, first=position)
        assert package_bytes(again) == whole, PASSES[position - 1].name


SCRIPT = """
import sys
from ladder import package_bytes, parse, run_passes
for name in sys.argv[1:]:
    text = open(name, encoding="utf-8").read()
    sys.stdout.buffer.write(package_bytes(run_passes(parse(text, "in.mlir"))))
"""


def packages_under(seed: str) -> bytes:
    """The packages of the small examples, made by a process with this hash seed."""
    paths = [str(EXAMPLES / f"{name}.mlir") for name in SMALL]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    environment["PYTHONPATH"] = str(Path(__file__).parent)
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, *paths],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout


def test_packages_do_not_depend_on_the_hash_seed() -> None:
    one = packages_under("1")
    assert one == packages_under("4242")
    assert one.startswith(b"PK")
