"""The folder of a sweep: its list of cases, and a folder of files for each case done.

Only the sweep itself writes here, one case at a time: a case's files go to a folder of
another name that is then renamed, so a case is there whole or not at all, whenever the
sweep is ended. `docs/sweeps.md` describes the files.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from tiledialect.atomic import write_atomically
from tiledialect.diagnostics import Refused, Usage
from tiledialect.sweep.record import TIMEOUT
from tiledialect.sweep.run_case import Finished, to_json

FORMAT, VERSION = "tiledialect-sweep", 1
HEAD, CASES, WORK = "sweep.json", "cases", ".work"
CASE = "case.json"
UNFINISHED = ".unfinished-"

Json = dict[str, Any]


class SweepFolder:
    """A sweep's folder, open and locked against other sweeps until the process ends."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        try:
            (self.path / CASES).mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Refused("another sweep is writing here", path) from error
        except OSError as error:
            raise Refused(f"cannot be written: {error.strerror}", path) from error

    def close(self) -> None:
        """Let others write here, and leave nothing behind but results."""
        self.remove_leftovers()
        os.close(self._lock)

    @property
    def work(self) -> Path:
        """Where cases are made while they run."""
        folder = self.path / WORK
        folder.mkdir(exist_ok=True)
        return folder

    def remove_leftovers(self) -> None:
        """Remove what cases left that did not end."""
        shutil.rmtree(self.path / WORK, ignore_errors=True)
        for path in (self.path / CASES).glob(f"{UNFINISHED}*"):
            shutil.rmtree(path, ignore_errors=True)

    def begin(self, head: Json) -> None:
        """Write what the sweep is. Where it stands already it must be the same."""
        present = read_head(self.path)
        if present is None:
            write_atomically(self.path / HEAD, to_json(head))
            return
        for field, value in head.items():
            if present.get(field) != value:
                raise Usage(
                    f"{self.path} was begun with {_shown(present, head, field)};"
                    " go on with that, or name a new folder"
                )

    def write(self, done: Finished) -> None:
        """Put a finished case in its place."""
        target = self.path / CASES / done.name
        made = target.with_name(f"{UNFINISHED}{done.name}")
        try:
            for old in (made, target):
                if old.exists():
                    shutil.rmtree(old)
            made.mkdir()
            for name, content in done.files.items():
                (made / name).write_bytes(content)
            (made / CASE).write_bytes(to_json(done.record))
            made.rename(target)
        except OSError as error:
            raise Refused(f"cannot be written: {error.strerror}", str(made)) from error

    def kept(self, names: Sequence[str]) -> dict[str, Json]:
        """The records of cases that need not run again. One that ran out of time, or
        that a signal ended, may do better."""
        records = {name: read_case(self.path, name) for name in names}
        return {
            name: record
            for name, record in records.items()
            if record is not None
            and record["status"] != TIMEOUT
            and min(record["exit_codes"]) >= 0
        }


def head_of(workload: str, arguments: Mapping[str, Any], names: Sequence[str]) -> Json:
    """What `sweep.json` holds."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "workload": workload,
        "arguments": dict(arguments),
        "cases": list(names),
    }


def read_head(path: Path) -> Json | None:
    """What `sweep.json` says; None where there is none. Raises Refused."""
    try:
        found: object = json.loads((path / HEAD).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Refused(f"cannot be read: {error}", str(path / HEAD)) from error
    head = cast(Json, found) if isinstance(found, dict) else {}
    if head.get("format") != FORMAT:
        raise Refused("is no sweep's", str(path / HEAD))
    if head.get("version") != VERSION:
        raise Refused(f"has a version other than {VERSION}", str(path / HEAD))
    return head


def read_case(path: Path, name: str) -> Json | None:
    """The record of a case; None where it has not ended. Raises Refused."""
    file = path / CASES / name / CASE
    try:
        return json.loads(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise Refused(f"cannot be read: {error}", str(file)) from error


def _shown(present: Json, head: Json, field: str) -> str:
    """Which field of the list of arguments differs, and how."""
    old, new = present.get(field), head[field]
    if field == "arguments" and isinstance(old, dict):
        arguments = cast(Json, old)
        for name, value in new.items():
            if arguments.get(name) != value:
                return f"{name} {arguments.get(name)}, not {value}"
    return f"{field} {old}, not {new}"
