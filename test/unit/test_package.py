"""The package format: round trips, determinism, and what damage does to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from handmade import BASE, compute, shift_package, tiles, view

from tiledialect.diagnostics import Refused
from tiledialect.layout import Cut, Factor, Group, Layout
from tiledialect.layout_json import layout_from_json, layout_to_json
from tiledialect.runtime import archive
from tiledialect.runtime.package import (
    Bind,
    Call,
    Moves,
    Package,
    from_bytes,
    read,
    to_bytes,
)
from tiledialect.runtime.package_writer import MANIFEST, members_of


def rich_package() -> Package:
    """One of everything that a package can hold."""
    runs = np.arange(3, dtype=np.int64)
    call = Call(
        "map",
        tiles(0, 1, 3),
        ("d0",),
        (5,),
        (view(BASE, "f32", [(5, 4)]),),
        (view(BASE + 64, "f8E4M3FNUZ", [(5, 1)]),),
        {"stages": [{"function": "cast", "format": "f8E4M3FNUZ", "scale": -2}]},
    )
    copy = Moves("copy", runs, runs * 4, runs * 8, runs + 1)
    fill = Moves("fill", runs, runs[:0], runs * 8, runs + 1)
    made = shift_package()
    layout = Layout((3,), 4, ((Cut(2, 1),),), (Factor(0),), replicas=(Group(2, 2),))
    constant = Bind(
        "constant", 0, "c", "f32", 0, (3,), layout, BASE + 512, 8, bytes(range(12))
    )
    return replace(
        made,
        binds=(*made.binds, constant),
        steps=(*made.steps, compute(call, copy, fill)),
        certificate={"word": "optimal", "parts": [1, 2]},
    )


def flat(made: Package) -> tuple[bytes, ...]:
    return tuple(v for _, v in sorted(members_of(made).items()))


@pytest.mark.parametrize("made", [shift_package(), rich_package()])
def test_reading_gives_what_was_written(made: Package) -> None:
    again = from_bytes(to_bytes(made))
    assert flat(again) == flat(made)
    assert again.steps[0].name == made.steps[0].name
    assert again.binds == made.binds
    assert again.buffers == made.buffers


def test_equal_content_gives_equal_bytes() -> None:
    first = to_bytes(rich_package())
    assert first == to_bytes(rich_package())
    turned = replace(
        rich_package(), machine=dict(reversed(rich_package().machine.items()))
    )
    assert first == to_bytes(turned)


@pytest.mark.parametrize(
    "layout",
    [
        Layout.linear((3, 5), 1, 4),
        Layout(
            (81, 192),
            2,
            ((Cut(9, 6, 4, True), Cut(2, 1)), ()),
            (Factor(1), Factor(0), Factor(1, 16)),
            first=3,
            replicas=(Group(2, 54),),
            partial=Group(6, 1),
            spread=(Group(2, 7), Group(3, 1)),
            spread_bytes=16,
        ),
    ],
)
def test_layouts_survive_json(layout: Layout) -> None:
    text = json.dumps(layout_to_json(layout))
    assert layout_from_json(json.loads(text)) == layout


def test_any_flipped_byte_is_refused_in_one_line() -> None:
    data = to_bytes(rich_package())
    generator = np.random.default_rng(1)
    places = {*range(64), *range(len(data) - 100, len(data))}
    places |= set(generator.integers(0, len(data), 300).tolist())
    for place in sorted(places):
        changed = bytearray(data)
        changed[place] ^= 1 << int(generator.integers(8))
        assert_refused(bytes(changed))


def test_any_cut_is_refused_in_one_line() -> None:
    data = to_bytes(shift_package())
    for length in [*range(0, 100), *range(100, len(data), 29), len(data) - 1]:
        assert_refused(data[:length])
    assert_refused(data + b"0")


def assert_refused(data: bytes, words: str = "") -> None:
    with pytest.raises(Refused, match=r"^bad\.tilepkg: error: .") as caught:
        from_bytes(data, "bad.tilepkg")
    assert "\n" not in str(caught.value)
    assert words in str(caught.value)


def places_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside a JSON value."""
    found = [path]
    if isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            found += places_of(item, (*path, key))
    elif isinstance(value, list):
        for position, item in enumerate(cast(list[Any], value)):
            found += places_of(item, (*path, position))
    return found


def changed_manifest(edit: Callable[[Any], None]) -> bytes:
    """The rich package with an edited manifest and a seal that fits."""
    members = members_of(rich_package())
    manifest = json.loads(members[MANIFEST])
    edit(manifest)
    return archive.pack({**members, MANIFEST: json.dumps(manifest).encode()})


FREE = ("parameters", "certificate", "machine")  # of any content, or checked elsewhere


def test_a_field_of_another_kind_is_refused() -> None:
    original = json.loads(members_of(rich_package())[MANIFEST])
    for path in places_of(original)[1:]:
        if any(free in path[:-1] for free in FREE) or path[-1] == "certificate":
            continue

        def put(manifest: Any, path: tuple[Any, ...] = path) -> None:
            for key in path[:-1]:
                manifest = manifest[key]
            manifest[path[-1]] = 1.5

        assert_refused(changed_manifest(put))


def test_a_missing_or_unknown_field_is_refused() -> None:
    original = json.loads(members_of(rich_package())[MANIFEST])
    for path in places_of(original)[1:]:
        if any(free in path[:-1] for free in FREE) or isinstance(path[-1], int):
            continue

        def remove(manifest: Any, path: tuple[Any, ...] = path) -> None:
            for key in path[:-1]:
                manifest = manifest[key]
            del manifest[path[-1]]
            manifest["unknown"] = 0

        assert_refused(changed_manifest(remove))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("version",), 1, "version is 1, not from 3 to 3"),
        (("format",), "zip", "format is 'zip'"),
        (("source",), "module {}", "source_sha256 does not match"),
        (("machine", "base"), "/etc/passwd.toml", "machine must stand alone"),
        (("machine", "tiles"), 1 << 40, "machine is no machine"),
        (("machine", "copy", "call_cycles"), 1 << 63, "a figure beyond"),
        (("machine", "matrix", 1, "k_block"), 0, "k_block must be more than 0"),
        (("machine", "clock_ghz"), 0.0, "clock_ghz must be more than 0"),
        (("support", "rows"), 1 << 20, "support has parts"),
        (("binds", 0, "shape"), [1 << 40], "binds[0].shape is"),
        (("binds", 0, "shape"), [7], "its layout another number"),
        (("binds", 0, "layout", "cuts"), [[[1 << 40, 1, 1, 0]]], "is no layout"),
        (("buffers", 0, "tiles"), [[0, [[1 << 50, 1]]]], "at most 2046 tiles"),
        (("buffers", 0, "tiles"), [[0, [[0, 1], [1 << 50, 1]]]], "at least one tile"),
        (("buffers", 0, "tiles"), [[0, [[2, 0]]]], "each tile once"),
        (("steps", 1, "calls", 0, "family"), "exec", "family is 'exec'"),
        (("steps", 1, "calls", 0, "extents"), [1, 2], "extent each"),
        (("steps", 1, "calls", 1, "runs", "tile", "shape"), [1 << 40], "holds 12"),
        (("steps", 0, "rows", "words", "member"), "../x", "member '../x' holds None"),
        (("steps", 0, "rows", "words", "dtype"), "|O", "dtype is '|O'"),
        (("steps", 0, "rows", "words", "sha256"), "0", "does not have the hash"),
    ],
)
def test_hostile_values_are_named(
    path: tuple[Any, ...], value: Any, words: str
) -> None:
    def put(manifest: Any) -> None:
        for key in path[:-1]:
            manifest = manifest[key]
        manifest[path[-1]] = value

    assert_refused(changed_manifest(put), words)


def test_members_must_be_the_ones_named() -> None:
    members = members_of(shift_package())
    assert_refused(archive.pack({**members, "more.bin": b""}), "extra member")
    name = "step00000.words.bin"
    less = {key: value for key, value in members.items() if key != name}
    assert_refused(archive.pack(less), f"member '{name}' holds None bytes")
    assert_refused(archive.pack({MANIFEST: b"[" * 100_000}), "no valid JSON")
    assert_refused(archive.pack({MANIFEST: b'{"a":1,"a":2}'}), "names a field twice")
    assert_refused(archive.pack({"x": b""}), "lacks the member 'manifest.json'")


def test_a_member_larger_than_any_package_is_not_unpacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 1000)
    assert_refused(to_bytes(shift_package()), "limit 1000")


def test_files_that_are_no_package(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read: No such file"):
        read(str(tmp_path / "absent.tilepkg"))
    with pytest.raises(Refused, match="cannot be read: Is a directory"):
        read(str(tmp_path))
    with pytest.raises(Refused, match="is not a regular file"):
        read("/dev/zero")
    path = tmp_path / "good.tilepkg"
    path.write_bytes(to_bytes(shift_package()))
    assert flat(read(str(path))) == flat(shift_package())
