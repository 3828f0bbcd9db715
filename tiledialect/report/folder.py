"""Finished sweeps: the folders that `tile-sweep -o DIR` leaves.

`sweep.json` names the cases in order; a case is done when its `case.json` is there. A
folder is data from outside: a file that is not what it should be is refused with its
name, and a field that is missing is None.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tiledialect.diagnostics import Refused
from tiledialect.layout_json import Json

FORMAT = "tiledialect-sweep"
VERSION = 1
UNFINISHED = "unfinished"

Fields = Mapping[str, Json]


@dataclass(frozen=True)
class Case:
    """One cell of a sweep. Bytes and cycles are None where there are none.

    `status` is "ok", "infeasible", "refused", "timeout", "check-failed", or
    "unfinished" where the sweep was stopped before it.
    """

    name: str
    folder: Path
    workload: str
    batch: int | None
    precision: str
    blocks: int
    machine: str
    budget: str
    budget_bytes: int | None
    reserve_bytes: int
    status: str
    reason: str | None
    smallest_budget: int | None
    smallest_is_proven: bool | None
    cycles: int | None
    estimated_cycles: int | None
    estimated_bytes: int | None
    placed_bytes: int | None
    live_peak: int | None
    max_abs_error: float | None
    rms_error: float | None
    output_rms: float | None
    stage_seconds: Mapping[str, float]
    build_seconds: float | None
    build_cpu_seconds: float | None
    simulate_seconds: float | None
    peak_memory_bytes: int | None
    certificate: Fields | None
    sha256: Mapping[str, str]

    @property
    def package(self) -> Path:
        """The compiled program, where there is one."""
        return self.folder / "case.tilepkg"


@dataclass(frozen=True)
class Sweep:
    """A folder of cases, in the order in which they were asked for."""

    folder: Path
    label: str
    workload: str
    arguments: Fields
    cases: tuple[Case, ...]


def read_sweeps(folders: list[Path]) -> list[Sweep]:
    """The sweeps in these folders, each with a label of its own. Raises Refused."""
    names = [folder.resolve().name for folder in folders]
    labels = [
        name if names.count(name) == 1 else str(folder)
        for name, folder in zip(names, folders, strict=True)
    ]
    return [read_sweep(*pair) for pair in zip(folders, labels, strict=True)]


def read_sweep(folder: Path, label: str) -> Sweep:
    """The sweep in one folder. Raises Refused."""
    path = folder / "sweep.json"
    fields = read_object(path)
    if fields.get("format") != FORMAT or fields.get("version") != VERSION:
        raise Refused(f"is no {FORMAT} of version {VERSION}", str(path))
    names = fields.get("cases")
    if not isinstance(names, list) or not all(_is_plain(name) for name in names):
        raise Refused("'cases' must list names of folders", str(path))
    arguments = fields.get("arguments")
    return Sweep(
        folder,
        label,
        _Reader(path, fields).text("workload"),
        arguments if isinstance(arguments, dict) else {},
        tuple(read_case(folder / "cases" / str(name)) for name in names),
    )


def _is_plain(name: Json) -> bool:
    """Whether a name stays inside its folder."""
    return isinstance(name, str) and name not in ("", ".", "..") and "/" not in name


def read_case(folder: Path) -> Case:
    """The case in a folder. One without `case.json` is unfinished."""
    path = folder / "case.json"
    fields: Fields = {"status": UNFINISHED, "reason": "the sweep was stopped before it"}
    if path.exists():
        fields = read_object(path)
    read = _Reader(path, fields)
    certificate = fields.get("certificate")
    return Case(
        name=read.text("name") or folder.name,
        folder=folder,
        workload=read.text("workload"),
        batch=read.whole("batch"),
        precision=read.text("precision"),
        blocks=read.whole("blocks") or 1,
        machine=read.text("machine"),
        budget=read.text("budget"),
        budget_bytes=read.whole("budget_bytes"),
        reserve_bytes=read.whole("reserve_bytes") or 0,
        status=read.text("status"),
        reason=read.text("reason") or None,
        smallest_budget=read.whole("smallest_budget"),
        smallest_is_proven=read.flag("smallest_is_proven"),
        cycles=read.whole("cycles"),
        estimated_cycles=read.whole("estimated_cycles"),
        estimated_bytes=read.whole("estimated_bytes"),
        placed_bytes=read.whole("placed_bytes"),
        live_peak=read.whole("live_peak"),
        max_abs_error=read.number("max_abs_error"),
        rms_error=read.number("rms_error"),
        output_rms=read.number("output_rms"),
        stage_seconds=read.numbers("stage_seconds"),
        build_seconds=read.number("build_seconds"),
        build_cpu_seconds=read.number("build_cpu_seconds"),
        simulate_seconds=read.number("simulate_seconds"),
        peak_memory_bytes=read.whole("peak_memory_bytes"),
        certificate=certificate if isinstance(certificate, dict) else None,
        sha256=read.texts("sha256"),
    )


def read_json(path: Path) -> Json:
    """The JSON in a file, without NaN and infinities. Raises Refused with its name."""
    try:
        text = path.read_text(encoding="utf-8")
        return cast(Json, json.loads(text, parse_constant=_refuse_constant))
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}", str(path)) from error
    except (ValueError, RecursionError) as error:
        raise Refused(f"is no JSON: {error}", str(path)) from error


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is no number")


def read_object(path: Path) -> Fields:
    """The JSON object in a file. Raises Refused with its name."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise Refused("must hold an object", str(path))
    return value


@dataclass(frozen=True)
class _Reader:
    """Fields of one file, each of the kind asked for or None."""

    path: Path
    fields: Fields

    def _refuse(self, name: str, kind: str) -> Refused:
        value = json.dumps(self.fields[name])[:60]
        return Refused(f"'{name}' must be {kind}, is {value}", str(self.path))

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        if value is not None and not isinstance(value, str):
            raise self._refuse(name, "a text")
        return value or ""

    def whole(self, name: str) -> int | None:
        value = self.fields.get(name)
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int)
        ):
            raise self._refuse(name, "a whole number")
        return value

    def number(self, name: str) -> float | None:
        value = self.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise self._refuse(name, "a number")
        return value

    def flag(self, name: str) -> bool | None:
        value = self.fields.get(name)
        if value is not None and not isinstance(value, bool):
            raise self._refuse(name, "true or false")
        return value

    def _table(self, name: str) -> Mapping[str, Json]:
        value = self.fields.get(name)
        if value is not None and not isinstance(value, dict):
            raise self._refuse(name, "an object")
        return value or {}

    def numbers(self, name: str) -> Mapping[str, float]:
        inner = _Reader(self.path, self._table(name))
        read = {key: inner.number(key) for key in inner.fields}
        return {key: value for key, value in read.items() if value is not None}

    def texts(self, name: str) -> Mapping[str, str]:
        inner = _Reader(self.path, self._table(name))
        return {key: inner.text(key) for key in inner.fields}
