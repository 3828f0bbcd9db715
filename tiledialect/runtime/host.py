"""The host's part: tensors to the tiles before a run, results from them after it.

A tensor goes where its layout says. Layouts with padding are filled with zeros first,
on the tiles that hold an element: so parameters are packed at load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tiledialect.blocks import tile_blocks
from tiledialect.diagnostics import Refused
from tiledialect.formats import FORMATS
from tiledialect.relayout import element_places, replica_offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.layout import Layout
    from tiledialect.runtime.calls import Limits
    from tiledialect.runtime.memory import Memory
    from tiledialect.runtime.package import Bind, Ints

    Stored = NDArray[Any]


def upload(memory: Memory, bind: Bind, stored: Stored, limits: Limits) -> None:
    """Put a tensor's stored elements on all tiles that its layout names."""
    tile, offset = _places(memory, bind, limits)
    tiles = _holders(bind.layout, tile)
    block = slice(bind.address, bind.address + bind.layout.tile_bytes)
    replicas = replica_offsets(bind.layout)
    if not bind.layout.packed:
        memory.data[tiles + replicas[0], block] = 0
        memory.written[tiles + replicas[0], block] = 1
    first = (tile + replicas[0]) * memory.span + bind.address + offset
    bytes = np.ascontiguousarray(stored).reshape(-1).view(np.uint8)
    place = _each_byte(first, bind.layout.element_bytes)
    memory.data.reshape(-1)[place] = bytes
    memory.written.reshape(-1)[place] = 1
    for more in replicas[1:]:
        for table in (memory.data, memory.written):
            table[tiles + more, block] = table[tiles + replicas[0], block]


def _holders(layout: Layout, tile: Ints) -> Ints:
    """The tiles of the first replica that set bytes aside: those that hold an element,
    and of a block's pieces also the ones that are nothing but padding."""
    if layout.packed or not layout.spread or not layout.tile_bytes:
        return np.flatnonzero(np.bincount(tile))
    blocks = tile_blocks(layout.with_(spread=(), spread_bytes=8, replicas=()))
    first = blocks.tiles[(blocks.extents > 0).all(axis=1)]
    used = -(-layout.block_bytes // layout.tile_bytes)
    steps = layout.tile_groups(layout.spread)[:used]
    return np.unique(first[:, None] + steps[None, :])


def _each_byte(first: Ints, bytes: int) -> Ints:
    """The places of all bytes of elements that begin at these places."""
    return first if bytes == 1 else (first[:, None] + np.arange(bytes)).reshape(-1)


def download(memory: Memory, bind: Bind, limits: Limits) -> Stored:
    """A tensor's stored elements; refuses bytes that nobody wrote."""
    tile, offset = _places(memory, bind, limits)
    format = FORMATS[bind.element]
    first = tile * memory.span + bind.address + offset
    place = _each_byte(first, format.bytes)
    missing = memory.written.reshape(-1)[place] == 0
    if missing.any():
        element = int(missing.argmax()) // format.bytes
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
