"""Packages that were altered and sealed again: refused or run, never a fault."""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from handmade import BASE, buffer, compute, package, shift_package
from test_compute_sets import MATMUL, REDUCE, SUM, A, B, C, map_call, moves

from tiledialect.diagnostics import Refused
from tiledialect.runtime import archive
from tiledialect.runtime.package import Package, Support, from_bytes
from tiledialect.runtime.package_writer import MANIFEST, members_of
from tiledialect.runtime.simulator import Simulator

KEPT = ("source", "source_sha256", "sha256", "member", "dtype")
WORDS = ("", "x", "f16", "f32", "i32", "bf16", "f8E4M3FNUZ", "sum", "max", "add")
UPPER = 8192


def everything() -> Package:
    """A phase and calls of every family; both matmul operands are filled with zeros."""
    shift = shift_package()
    zeros = moves(
        "fill", *((t, 0, a, n) for t in (0, 1) for a, n in ((4352, 96), (UPPER, 256)))
    )
    slots = moves("fill", (0, 0, C, 16))
    last = moves("copy", (0, A, B + 4, 4), (1, A, B, 8))
    calls = (map_call(A, B), zeros, MATMUL, slots, SUM, REDUCE, last)
    places = (("x", A, 1024), ("y", B, 1024), ("z", C, 9000))
    buffers = [buffer(name, address, size, 0, 2) for name, address, size in places]
    every = package([*shift.steps, compute(*calls)], shift.binds, buffers)
    return replace(every, support=Support(1920, 20, 16, 64, 2048))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all numbers and texts that an attacker would change."""
    if isinstance(value, dict):
        items = list(cast(dict[str, Any], value).items())
    elif isinstance(value, list):
        items = list(enumerate(cast(list[Any], value)))
    else:
        return [path]
    return [
        leaf
        for key, item in items
        if key not in KEPT
        for leaf in leaves(item, (*path, key))
    ]


def altered(value: Any, generator: np.random.Generator) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, str):
        return WORDS[int(generator.integers(len(WORDS)))]
    near = [0, 1, -1, value + 1, value - 1, 2 * value, value + 16, int(value) ^ 4]
    numbers = [*near, 1 << 21, 1 << 31, 1 << 40, 1 << 63]
    return numbers[int(generator.integers(len(numbers)))]


def resealed(members: dict[str, bytes], manifest: Any) -> bytes:
    """An archive whose hashes and seal fit what is in it."""

    def renew(value: Any) -> None:
        if isinstance(value, dict):
            entry = cast(dict[str, Any], value)
            if entry.get("member") in members and "sha256" in entry:
                data = members[entry["member"]]
                entry["sha256"] = hashlib.sha256(data).hexdigest()
            for item in entry.values():
                renew(item)
        elif isinstance(value, list):
            for item in cast(list[Any], value):
                renew(item)

    renew(manifest)
    text = json.dumps(manifest, sort_keys=True).encode()
    return archive.pack({**members, MANIFEST: text})


def test_the_package_runs_as_it_is() -> None:
    outputs = Simulator(everything()).run({"x": np.ones(8, np.float32)}).outputs
    assert outputs["y"].shape == (8,)
    assert BASE == A


@pytest.mark.parametrize("seed", range(8))
def test_no_alteration_is_a_fault(seed: int) -> None:
    generator = np.random.default_rng(seed)
    members = members_of(everything())
    original = json.loads(members[MANIFEST])
    paths = leaves(original)
    refusals = 0
    for _ in range(60):
        manifest, tables = copy.deepcopy(original), dict(members)
        if generator.random() < 0.3:
            names = [name for name in tables if name != MANIFEST and tables[name]]
            name = names[int(generator.integers(len(names)))]
            data = bytearray(tables[name])
            data[int(generator.integers(len(data)))] ^= 1 << int(generator.integers(8))
            tables[name] = bytes(data)
        else:
            path = paths[int(generator.integers(len(paths)))]
            place = manifest
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = altered(place[path[-1]], generator)
        try:
            made = from_bytes(resealed(tables, manifest))
            Simulator(made).run({"x": np.ones(8, np.float32)})
        except Refused as error:
            refusals += "\n" not in str(error)
    assert 15 < refusals < 60
