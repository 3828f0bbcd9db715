"""From the members of an archive to a package: the form of every field is checked.

What the fields mean on the machine (addresses, regions, lengths) is checked by the
simulator, where it is used.
"""

from __future__ import annotations

import hashlib
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.formats import FORMATS
from tiledialect.layout import Layout
from tiledialect.layout_json import layout_from_json
from tiledialect.machine import Machine, MachineError
from tiledialect.runtime.archive import Archive
from tiledialect.runtime.fields import Fields, Json, parse_json
from tiledialect.runtime.package import (
    FORMAT,
    VERSION,
    Axes,
    Bind,
    Buffer,
    Call,
    ComputeStep,
    ExchangeStep,
    Moves,
    Package,
    Rows,
    Step,
    Support,
    View,
)
from tiledialect.runtime.package_rows import TABLES, unpack
from tiledialect.runtime.package_writer import MANIFEST
from tiledialect.tiles import Box, TileSet

if TYPE_CHECKING:
    from tiledialect.runtime.package import Ints

BIND_KINDS = ("input", "parameter", "constant", "output")
CALL_FAMILIES = ("matmul", "map", "reduce", "sum")
MOVE_FAMILIES = ("copy", "fill")
MAX_ADDRESS = 1 << 21
MAX_TILES = 2046
MAX_ELEMENTS = 1 << 32
MAX_FIGURE = 1 << 24  # of a machine


def package_of(archive: Archive) -> Package:
    """The package in an archive. Raises Refused, naming the archive's file."""
    value = parse_json(archive.take(MANIFEST), archive.path)
    top = Fields(archive, value, "")
    top.text("format", (FORMAT,))
    top.number("version", VERSION, VERSION)
    source = top.text("source")
    if hashlib.sha256(source.encode()).hexdigest() != top.text("source_sha256"):
        raise top.error("does not match its source", "source_sha256")
    package = Package(
        compiler=top.text("compiler"),
        source=source,
        machine=_machine(top),
        budget=top.number("budget"),
        reserve=top.number("reserve"),
        entry=top.text("entry"),
        binds=tuple(_bind(item) for item in top.objects("binds")),
        buffers=tuple(_buffer(item) for item in top.objects("buffers")),
        support=_support(top.inside("support")),
        footprint=top.number("footprint"),
        live_peak=top.number("live_peak"),
        estimated_cycles=top.number("estimated_cycles"),
        certificate=top.take("certificate"),
        steps=tuple(_step(item) for item in top.objects("steps")),
    )
    top.close()
    archive.close()
    return package


def _machine(top: Fields) -> dict[str, Json]:
    value = top.take("machine")
    if not isinstance(value, dict):
        raise top.error("must be an object", "machine")
    if "base" in value:  # would read another file
        raise top.error("must stand alone, it names a base", "machine")
    try:
        Machine.from_fields(value)
    except MachineError as error:
        raise top.error(f"is no machine: {error}", "machine") from error
    if not _is_small(value):
        raise top.error(f"has a figure beyond {MAX_FIGURE}", "machine")
    return value


def _is_small(value: Json) -> bool:
    """Whether all numbers are such that products of a few stay exact."""
    if isinstance(value, dict):
        return all(_is_small(item) for item in value.values())
    if isinstance(value, list):
        return all(_is_small(item) for item in value)
    return not isinstance(value, int | float) or -MAX_FIGURE <= value <= MAX_FIGURE


def _bind(item: Fields) -> Bind:
    kind = item.text("kind", BIND_KINDS)
    bind = Bind(
        kind=kind,
        index=item.number("index"),
        name=item.text("name"),
        element=item.text("element", tuple(FORMATS)),
        scale=item.number("scale", -64, 64),
        shape=tuple(item.numbers("shape", 0, MAX_ELEMENTS)),
        layout=_layout(item),
        address=item.number("address", 0, MAX_ADDRESS),
        bytes=item.number("bytes", 0, MAX_ADDRESS),
        data=_constant(item, kind),
    )
    item.close()
    _check_bind(item, bind)
    return bind


def _constant(item: Fields, kind: str) -> bytes:
    if kind == "constant":
        return item.member("data", "|u1")
    if item.take("data") is not None:
        raise item.error("must be null, only constants have data", "data")
    return b""


def _check_bind(item: Fields, bind: Bind) -> None:
    element_bytes = FORMATS[bind.element].bytes
    elements = prod(bind.shape)
    if elements > MAX_ELEMENTS:
        raise item.error(f"has {elements} elements, limit {MAX_ELEMENTS}")
    if prod(bind.layout.shape) != elements:
        raise item.error(f"has {elements} elements, its layout another number")
    if bind.layout.element_bytes != element_bytes or bind.layout.partial is not None:
        raise item.error("has a layout of other elements, or of partial sums", "layout")
    if bind.bytes != bind.layout.tile_bytes:
        raise item.error(
            f"has {bind.bytes} bytes, its layout takes {bind.layout.tile_bytes}"
        )
    if bind.kind == "constant" and len(bind.data) != elements * element_bytes:
        raise item.error(f"holds {len(bind.data)} bytes for {elements} elements")


def _layout(item: Fields) -> Layout:
    try:
        return layout_from_json(item.take("layout"))
    except ValueError as error:
        raise item.error(f"is no layout: {error}", "layout") from error


def _buffer(item: Fields) -> Buffer:
    buffer = Buffer(
        name=item.text("name"),
        address=item.number("address", 0, MAX_ADDRESS),
        bytes=item.number("bytes", 0, MAX_ADDRESS),
        tiles=_tiles(item),
        live=tuple(item.pairs("live")),
        region=item.text("region", ("any", "interleaved", "executable")),
        purpose=item.text("purpose"),
        location=item.text("location"),
    )
    item.close()
    return buffer


def _tiles(item: Fields) -> TileSet:
    """A set of tiles, each named once, none beyond the largest machine's."""
    boxes: list[Box] = []
    for box in item.items("tiles"):
        if not isinstance(box, list) or len(box) != 2 or not isinstance(box[1], list):
            raise item.error("must hold pairs of a first tile and steps", "tiles")
        first, _ = item.pair([box[0], 0], "tiles")
        boxes.append(Box(first, tuple(item.pair(s, "tiles") for s in box[1])))
    tiles = TileSet(tuple(boxes))
    last = [b.first + sum((c - 1) * s for c, s in b.steps) for b in boxes]
    if any(count < 1 for b in boxes for count, _ in b.steps):
        raise item.error("must have steps of at least one tile", "tiles")
    if len(tiles) > MAX_TILES or max(last, default=0) >= MAX_TILES:
        raise item.error(f"must name at most {MAX_TILES} tiles", "tiles")
    if len(np.unique(tiles.array())) != len(tiles):
        raise item.error("must name each tile once", "tiles")
    return tiles


def _support(item: Fields) -> Support:
    support = Support(
        code=item.number("code", 0, MAX_ADDRESS),
        rows=item.number("rows", 0, MAX_ADDRESS),
        program=item.number("program", 0, MAX_ADDRESS),
        profile=item.number("profile", 0, MAX_ADDRESS),
        bytes=item.number("bytes", 0, MAX_ADDRESS),
    )
    item.close()
    parts = support.code + support.rows + support.program + support.profile
    if parts > support.bytes:
        raise item.error(f"has parts of {parts} bytes in {support.bytes}")
    return support


def _step(item: Fields) -> Step:
    kind = item.text("kind", ("exchange", "compute"))
    name, location = item.text("name"), item.text("location")
    estimate = item.optional_number("estimate")
    step: Step
    if kind == "compute":
        calls = tuple(_call(call) for call in item.objects("calls"))
        step = ComputeStep(name, location, estimate, calls)
    else:
        bound = item.numbers("bound")
        if len(bound) != 3:
            raise item.error("must hold three numbers", "bound")
        step = ExchangeStep(
            name=name,
            location=location,
            length=item.number("length"),
            bound=(bound[0], bound[1], bound[2]),
            messages=item.number("messages"),
            estimate=estimate,
            rows=_rows(item.inside("rows")),
        )
    item.close()
    return step


def _rows(item: Fields) -> Rows:
    tables = {name: item.table(name, dtype) for name, dtype in TABLES.items()}
    item.close()
    try:
        return unpack(tables)
    except ValueError as error:
        raise item.error(str(error)) from error


def _call(item: Fields) -> Call | Moves:
    family = item.text("family", CALL_FAMILIES + MOVE_FAMILIES)
    call = _moves(item, family) if family in MOVE_FAMILIES else _codelet(item, family)
    item.close()
    return call


def _moves(item: Fields, family: str) -> Moves:
    runs = item.inside("runs")
    names = ("tile", "source", "destination", "bytes")
    tables: list[Ints] = [runs.table(name, "<i4") for name in names]
    runs.close()
    lengths = [len(table) for table in tables]
    if lengths[1] != (lengths[0] if family == "copy" else 0):
        raise runs.error("has a wrong number of sources")
    if lengths[0] != lengths[2] or lengths[0] != lengths[3]:
        raise runs.error("has tables of different lengths")
    return Moves(family, *tables)


def _codelet(item: Fields, family: str) -> Call:
    dims: list[str] = []
    for dim in item.items("dims"):
        if not isinstance(dim, str):
            raise item.error("must be texts", "dims")
        dims.append(dim)
    extents = item.numbers("extents", 0, MAX_ADDRESS)
    if len(dims) > 16 or len(set(dims)) != len(dims) or len(extents) != len(dims):
        raise item.error("must be at most 16 names, with an extent each", "dims")
    parameters = item.take("parameters")
    if not isinstance(parameters, dict):
        raise item.error("must be an object", "parameters")
    return Call(
        family=family,
        tiles=_tiles(item),
        dims=tuple(dims),
        extents=tuple(extents),
        inputs=tuple(_view(view, len(dims)) for view in item.objects("inputs")),
        outputs=tuple(_view(view, len(dims)) for view in item.objects("outputs")),
        parameters=parameters,
    )


def _view(item: Fields, rank: int) -> View:
    view = View(
        address=item.number("address", 0, MAX_ADDRESS),
        format=item.text("format", tuple(FORMATS)),
        scale=item.number("scale", -64, 64),
        axes=_axes(item),
    )
    item.close()
    if len(view.axes) != rank:
        raise item.error(f"must say the factors of {rank} dims", "axes")
    return view


def _axes(item: Fields) -> Axes:
    axes: list[tuple[tuple[int, int], ...]] = []
    for axis in item.items("axes"):
        if not isinstance(axis, list) or len(axis) > 8:
            raise item.error("must hold lists of at most 8 factors", "axes")
        axes.append(tuple(item.pair(factor, "axes") for factor in axis))
    if any(max(factor) > MAX_ADDRESS for axis in axes for factor in axis):
        raise item.error(f"must hold numbers up to {MAX_ADDRESS}", "axes")
    return tuple(axes)
