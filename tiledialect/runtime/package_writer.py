"""From a package to the members of its archive: a manifest and binary tables."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tiledialect.layout_json import Json, layout_to_json
from tiledialect.runtime.package import (
    FORMAT,
    VERSION,
    Bind,
    Buffer,
    Call,
    ExchangeStep,
    Moves,
    Package,
    Rows,
    Step,
    View,
)
from tiledialect.runtime.package_rows import TABLES, pack
from tiledialect.tiles import TileSet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MANIFEST = "manifest.json"


@dataclass
class _Members:
    """The binary members so far."""

    data: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def table(self, name: str, values: NDArray[np.integer], dtype: str) -> Json:
        """Add a table; what the manifest says of it."""
        import numpy as np

        table = np.ascontiguousarray(values, dtype=np.dtype(dtype))
        if not np.array_equal(table, values):
            raise ValueError(f"{name} holds numbers that {dtype} cannot")
        return self.raw(name, table.tobytes(), dtype, len(table))

    def raw(self, name: str, data: bytes, dtype: str, length: int) -> Json:
        self.data[name] = data
        return {
            "member": name,
            "dtype": dtype,
            "shape": [length],
            "sha256": hashlib.sha256(data).hexdigest(),
        }


def members_of(package: Package) -> dict[str, bytes]:
    """The members by name, the manifest among them."""
    members = _Members()
    manifest: dict[str, Json] = {
        "format": FORMAT,
        "version": VERSION,
        "compiler": package.compiler,
        "source": package.source,
        "source_sha256": package.source_sha256,
        "machine": package.machine,
        "budget": package.budget,
        "reserve": package.reserve,
        "entry": package.entry,
        "binds": [_bind(members, bind) for bind in package.binds],
        "buffers": [_buffer(buffer) for buffer in package.buffers],
        "support": dict(vars(package.support)),
        "footprint": package.footprint,
        "live_peak": package.live_peak,
        "estimated_cycles": package.estimated_cycles,
        "certificate": package.certificate,
        "steps": [_step(members, i, s) for i, s in enumerate(package.steps)],
    }
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return {**members.data, MANIFEST: text.encode()}


def _bind(members: _Members, bind: Bind) -> Json:
    data: Json = None
    if bind.kind == "constant":
        name = f"constant{bind.index:05}.bin"
        data = members.raw(name, bind.data, "|u1", len(bind.data))
    return {
        "kind": bind.kind,
        "index": bind.index,
        "name": bind.name,
        "element": bind.element,
        "scale": bind.scale,
        "shape": list(bind.shape),
        "layout": layout_to_json(bind.layout),
        "address": bind.address,
        "bytes": bind.bytes,
        "data": data,
    }


def _buffer(buffer: Buffer) -> Json:
    return {
        "name": buffer.name,
        "address": buffer.address,
        "bytes": buffer.bytes,
        "tiles": _tiles(buffer.tiles),
        "live": [list(interval) for interval in buffer.live],
        "region": buffer.region,
        "purpose": buffer.purpose,
        "location": buffer.location,
    }


def _tiles(tiles: TileSet) -> Json:
    return [[b.first, [list(step) for step in b.steps]] for b in tiles.boxes]


def _step(members: _Members, number: int, step: Step) -> Json:
    place = f"step{number:05}"
    common: dict[str, Json] = {
        "name": step.name,
        "location": step.location,
        "estimate": step.estimate,
    }
    if isinstance(step, ExchangeStep):
        return {
            **common,
            "kind": "exchange",
            "length": step.length,
            "bound": list(step.bound),
            "messages": step.messages,
            "rows": _rows(members, place, step.rows),
        }
    calls: list[Json] = [
        _moves(members, f"{place}.call{i:05}", call)
        if isinstance(call, Moves)
        else _call(call)
        for i, call in enumerate(step.calls)
    ]
    return {**common, "kind": "compute", "calls": calls}


def _rows(members: _Members, place: str, rows: Rows) -> Json:
    tables = pack(rows)
    described: dict[str, Json] = {
        name: members.table(f"{place}.{name}.bin", tables[name], dtype)
        for name, dtype in TABLES.items()
    }
    return described


def _moves(members: _Members, place: str, moves: Moves) -> Json:
    tables = {
        "tile": moves.tile,
        "source": moves.source,
        "destination": moves.destination,
        "bytes": moves.bytes,
    }
    runs: dict[str, Json] = {
        name: members.table(f"{place}.{name}.bin", table, "<i4")
        for name, table in tables.items()
    }
    return {"family": moves.family, "runs": runs}


def _call(call: Call) -> Json:
    return {
        "family": call.family,
        "tiles": _tiles(call.tiles),
        "dims": list(call.dims),
        "extents": list(call.extents),
        "inputs": [_view(view) for view in call.inputs],
        "outputs": [_view(view) for view in call.outputs],
        "parameters": call.parameters,
    }


def _view(view: View) -> Json:
    return {
        "address": view.address,
        "format": view.format,
        "scale": view.scale,
        "axes": [[list(factor) for factor in axis] for axis in view.axes],
    }
