"""A file is there whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tiledialect.atomic import write_atomically


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_content_is_written(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"new")
    write_atomically(tmp_path / "a", b"newer")
    assert (tmp_path / "a").read_bytes() == b"newer"
    assert names(tmp_path) == ["a"]


def test_a_file_has_the_usual_permissions(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"")
    (tmp_path / "b").write_bytes(b"")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "ab"}
    assert len(modes) == 1


@pytest.mark.parametrize("error", [OSError("disk is full"), KeyboardInterrupt()])
def test_an_error_leaves_the_older_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def refuse(*_: object) -> None:
        raise error

    write_atomically(tmp_path / "a", b"older")
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(type(error)):
        write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"older"
    assert names(tmp_path) == ["a"]


def test_a_link_keeps_pointing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        write_atomically(tmp_path, b"new")


def test_a_device_is_written_in_place() -> None:
    write_atomically("/dev/null", b"new")
    assert not os.path.isfile("/dev/null")
