"""tile-opt as a process: how fast it starts, what it imports, how pipes end it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "tiledialect.tools.opt"]
PROGRAM = "func.func @main(%x: tensor<2xf32>) { return }\n"


def cpu_seconds(arguments: list[str]) -> float:
    """User and system time of one run, the best of three."""
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*COMMAND, *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        user, system = (
            after.ru_utime - before.ru_utime,
            after.ru_stime - before.ru_stime,
        )
        best = min(best, user + system)
    return best


def test_the_version_is_told_at_once() -> None:
    assert cpu_seconds(["--version"]) <= 0.3


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["--version"], ["xdsl", "argparse", "numpy"]),
        (["--list-passes"], ["xdsl", "numpy"]),
        (["small.mlir"], ["numpy", "ml_dtypes", "numba"]),
    ],
)
def test_a_run_imports_only_what_it_needs(
    tmp_path: Path, arguments: list[str], absent: list[str]
) -> None:
    (tmp_path / "small.mlir").write_text(PROGRAM)
    script = (
        "import sys\nfrom tiledialect.tools.opt import main\n"
        f"assert main({arguments}) == 0\n"
        f"found = [name for name in {absent} if name in sys.modules]\n"
        "assert not found, found\n"
    )
    environment = {**os.environ, "COVERAGE_PROCESS_START": ""}
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    path = tmp_path / "long.mlir"
    names = (f"func.func private @f{i}()" for i in range(3000))
    path.write_text("\n".join(names))
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, path], stdout=pipe, stderr=pipe) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == b""
        assert run.wait() == 141


def test_an_interrupt_ends_in_one_line() -> None:
    pipe = subprocess.PIPE
    # a shell's background jobs, and so their children, ignore SIGINT
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run = subprocess.Popen(COMMAND, stdin=pipe, stderr=pipe)
    finally:
        signal.signal(signal.SIGINT, before)
    with run:
        assert run.stderr is not None
        wait_until_reading(run.pid)
        run.send_signal(signal.SIGINT)
        assert run.stderr.read() == b"error: interrupted\n"
        assert run.wait() == 130


def wait_until_reading(pid: int) -> None:
    """Wait, for at most 20 s, until a process sleeps: it then waits for its input."""
    asleep = 0
    for _ in range(400):
        time.sleep(0.05)
        is_asleep = Path(f"/proc/{pid}/stat").read_text().split()[2] == "S"
        asleep = asleep + 1 if is_asleep else 0
        if asleep == 5:
            return
    pytest.fail("the process does not read its input")
