"""Sweeps on a Dask cluster: a real scheduler and worker, processes of their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_sweep import CASES, WORDS
from test_sweep import contents

from tiledialect.tools.sweep import main

distributed = pytest.importorskip(
    "distributed", reason="needs Dask: pip install 'tiledialect[dask]'"
)


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler with one worker process."""
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=True,
        dashboard_address=None,
        local_directory=str(tmp_path_factory.mktemp("dask")),
    ) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_gives_the_same_folder(
    scheduler: str, small_sweep: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    shutil.copytree(small_sweep, folder)
    shutil.rmtree(folder / "cases" / CASES[1])
    words = [*WORDS, "--resume", f"--scheduler={scheduler}", "-o", str(folder)]
    assert main(words) == 0
    assert contents(folder) == contents(small_sweep)


def test_no_scheduler_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tiledialect.sweep.pool.CONNECT_SECONDS", 1)
    folder = tmp_path / "sweep"
    assert main([*WORDS, "--scheduler=tcp://127.0.0.1:9", "-o", str(folder)]) == 1
    error = capsys.readouterr().err
    assert "no scheduler answers at tcp://127.0.0.1:9" in error
    assert len(error.splitlines()) == 1
