"""Rows as a package keeps them: in tables that compress well, with addresses apart.

Control words without addresses repeat from tile to tile, addresses hardly ever do; in
one table the few bits that differ would hide that the others are alike. `pack` and
`unpack` share no code, only the names of the tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tiledialect.runtime.package import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.runtime.package import Ints

TABLES = {
    "tiles": "<i4",
    "send": "<i4",
    "receive": "<i4",
    "receive_start": "<i4",
    "lengths": "<i4",
    "words": "<u4",
    "addresses": "<i4",
}
"""The tables of a phase's rows with their types."""

SEND, POINT, SEND_PAIR = 1, 4, 6
WITH_ADDRESS = (SEND, POINT, SEND_PAIR)
OPCODE_SHIFT = 29
ADDRESS_BITS = (1 << 19) - 1


def pack(rows: Rows) -> dict[str, NDArray[np.integer]]:
    """The tables of rows. Raises ValueError where the first program begins late."""
    if rows.start.size == 0 or rows.start[0] != 0:
        raise ValueError("the first program must begin with the first word")
    opcode = rows.words >> OPCODE_SHIFT
    with_address = np.isin(opcode, WITH_ADDRESS)
    return {
        "tiles": np.diff(rows.tiles, prepend=0),
        "send": np.diff(rows.send, prepend=0),
        "receive": np.diff(rows.receive, prepend=0),
        "receive_start": rows.receive_start,
        "lengths": np.diff(rows.start),
        "words": np.where(
            with_address, rows.words & ~np.uint32(ADDRESS_BITS), rows.words
        ),
        "addresses": rows.words[with_address] & ADDRESS_BITS,
    }


def unpack(tables: dict[str, Ints]) -> Rows:
    """The rows of these tables, widened. Raises ValueError where an address is missing,
    too many, too large, or stands in a word."""
    words, addresses = tables["words"], tables["addresses"]
    opcode = words >> OPCODE_SHIFT
    empty = np.flatnonzero(np.isin(opcode, WITH_ADDRESS))
    if empty.size != addresses.size:
        raise ValueError(f"has {addresses.size} addresses for {empty.size} words")
    if (words[empty] & ADDRESS_BITS).any():
        raise ValueError("has a word with an address of its own")
    if addresses.size and not 0 <= addresses.min() <= addresses.max() <= ADDRESS_BITS:
        raise ValueError(f"has an address that is none up to {ADDRESS_BITS}")
    patched = words.astype(np.uint32)
    patched[empty] |= addresses.astype(np.uint32)
    return Rows(
        tiles=np.cumsum(tables["tiles"]),
        send=np.cumsum(tables["send"]),
        receive=np.cumsum(tables["receive"]),
        receive_start=tables["receive_start"],
        start=np.append(0, np.cumsum(tables["lengths"])),
        words=patched,
    )
