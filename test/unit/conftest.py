"""Fixtures that several test files share."""

from __future__ import annotations

import fcntl
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver_runs import PASSES, TARGETS, Driver
from small_sweep import make_small_sweep

from tiledialect import pipeline
from tiledialect.text.parser import RECURSION_LIMIT

# Nothing that collecting makes is garbage: looking for some took 2 s of 7.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture
def driver(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Driver:
    """`tile-opt` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Driver(tmp_path, capsys)


@pytest.fixture
def pass_driver(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """`tile-opt` with a pipeline of test passes in place of the compiler's."""
    monkeypatch.setattr(pipeline, "PASSES", PASSES)
    monkeypatch.setattr(pipeline, "TARGETS", TARGETS)
    return driver


@pytest.fixture
def deep_recursion() -> Iterator[None]:
    """As many Python frames as the commands allow themselves."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(RECURSION_LIMIT)
    yield
    sys.setrecursionlimit(before)


@pytest.fixture(scope="session")
def small_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small sweep, made once for all tests, which only read it; also
    for those of the other process where two share the work."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder = root / "small"
    with (root / "small.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            make_small_sweep(root / "unfinished").rename(folder)
    return folder
