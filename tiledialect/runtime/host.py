"""The host's part: tensors to the tiles before a run, results from them after it.

A tensor goes where its layout says. Layouts with padding are filled with zeros first,
on the tiles that hold an element: so parameters are packed at load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tiledialect.diagnostics import Refused
from tiledialect.formats import FORMATS
from tiledialect.relayout import element_places, replica_offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.runtime.calls import Limits
    from tiledialect.runtime.memory import Memory
    from tiledialect.runtime.package import Bind, Ints

    Stored = NDArray[Any]


def upload(memory: Memory, bind: Bind, stored: Stored, limits: Limits) -> None:
    """Put a tensor's stored elements on all tiles that its layout names."""
    tile, offset = _places(memory, bind, limits)
    elements = np.ascontiguousarray(stored).reshape(-1, 1)
    bytes = elements.view(np.uint8)
    inside = np.arange(bytes.shape[1])
    data, written = memory.data.reshape(-1), memory.written.reshape(-1)
    for more in replica_offsets(bind.layout).tolist():
        if not bind.layout.packed:
            tiles = np.unique(tile + more)
            end = bind.address + bind.layout.tile_bytes
            memory.data[tiles, bind.address : end] = 0
            memory.written[tiles, bind.address : end] = 1
        place = ((tile + more) * memory.span + bind.address + offset)[:, None] + inside
        data[place], written[place] = bytes, 1


def download(memory: Memory, bind: Bind, limits: Limits) -> Stored:
    """A tensor's stored elements; refuses bytes that nobody wrote."""
    tile, offset = _places(memory, bind, limits)
    format = FORMATS[bind.element]
    place = (tile * memory.span + bind.address + offset)[:, None]
    place = place + np.arange(format.bytes)
    missing = memory.written.reshape(-1)[place] == 0
    if missing.any():
        element = int(missing.any(axis=1).argmax())
        raise Refused(
            f"{bind.kind} '{bind.name}': nobody wrote its element {element}, on tile"
            f" {tile[element]} at address {bind.address + offset[element]}"
        )
    return memory.data.reshape(-1)[place].view(format.dtype).reshape(bind.shape)


def _places(memory: Memory, bind: Bind, limits: Limits) -> tuple[Ints, Ints]:
    """Tile and offset of each element of the first replica, checked."""
    tile, offset = element_places(bind.layout)
    if len(tile) == 0:
        return tile, offset
    more = replica_offsets(bind.layout)
    first, last = int(tile.min() + more.min()), int(tile.max() + more.max())
    if first < 0 or last >= len(memory.data):
        raise Refused(
            f"{bind.kind} '{bind.name}' lies on tiles {first} to {last}, the machine"
            f" has {len(memory.data)}"
        )
    end = bind.address + max(
        int(offset.max()) + bind.layout.element_bytes,
        0 if bind.layout.packed else bind.layout.tile_bytes,
    )
    if bind.address < limits.low or end > limits.high:
        raise Refused(
            f"{bind.kind} '{bind.name}' lies at {bind.address} to {end}, outside the"
            f" addresses of tensors, {limits.low} to {limits.high}"
        )
    return tile, offset
