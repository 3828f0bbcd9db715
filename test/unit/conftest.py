"""Fixtures that several test files share."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver_runs import PASSES, TARGETS, Driver

from tiledialect import pipeline


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
