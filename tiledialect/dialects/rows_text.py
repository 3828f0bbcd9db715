"""Rows as text: a table that people read, or a compressed one that only says its size.

The table has one tile a line: `tile 3 send 0:16 at 0, 32:48 at 9 receive 64:80 from 1
at 22`, which are byte ranges and cycles; a range of 64-bit items is `0:512 doubled`.
The table is used for small phases, and only where reading it back gives the same rows.
"""

from __future__ import annotations

import base64
import binascii
import zlib

import numpy as np
from numpy.typing import NDArray
from xdsl.parser import AttrParser

from tiledialect.dialects.syntax import parse_count
from tiledialect.rows import (
    TILE_LIMIT,
    Ints,
    Receives,
    Rows,
    RowsError,
    Sends,
    check_rows,
    decode,
    encode,
)

READABLE_WORDS = 64
"""Phases whose tiles together follow more control words are compressed."""

MOST_WORDS = 1 << 26
_PACKED = np.dtype("<u4")


def rows_text(rows: Rows) -> str:
    """The text between the angle brackets."""
    if _followed_words(rows) <= READABLE_WORDS and is_canonical(rows):
        lines = [f"\n{line}" for line in _table(rows)]
        return "".join(lines)
    return _packed_text(rows)


def is_canonical(rows: Rows) -> bool:
    """Whether encoding what the rows say gives the same rows again."""
    try:
        return encode(*decode(rows)) == rows
    except RowsError:
        return False


def _followed_words(rows: Rows) -> int:
    length = np.append(np.diff(rows.start), 0)  # entry -1: no program
    return int((length[rows.send] + length[rows.receive]).sum())


def _table(rows: Rows) -> list[str]:
    sends, receives = decode(rows)
    lines: list[str] = []
    for tile in rows.tiles:
        sent = np.flatnonzero(sends.tile == tile)
        received = np.flatnonzero(receives.tile == tile)
        parts: list[str] = []
        if sent.size:
            parts.append("send " + ", ".join(_send(sends, int(i)) for i in sent))
        if received.size:
            parts.append(
                "receive " + ", ".join(_receive(receives, int(i)) for i in received)
            )
        lines.append(f"tile {tile} " + " ".join(parts))
    return lines


def _send(sends: Sends, i: int) -> str:
    return f"{_range(sends, i)} at {sends.cycle[i]}"


def _receive(receives: Receives, i: int) -> str:
    return f"{_range(receives, i)} from {receives.source[i]} at {receives.cycle[i]}"


def _range(runs: Sends | Receives, i: int) -> str:
    first = runs.address[i]
    doubled = runs.double is not None and runs.double[i]
    return f"{first}:{first + 4 * runs.words[i]}" + (" doubled" if doubled else "")


def _packed_text(rows: Rows) -> str:
    """The sizes, and all fields as words whose bytes are sorted by significance."""
    lengths = np.diff(rows.start)
    fields = (rows.tiles, rows.send + 1, rows.receive + 1, rows.receive_start, lengths)
    numbers = np.concatenate([*(f.astype(_PACKED) for f in fields), rows.words])
    planes = numbers.astype(_PACKED).view(np.uint8).reshape(-1, 4).T
    text = base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode()
    sizes = f"{rows.tiles.size} tiles {rows.programs} programs {rows.words.size} words"
    return f'{sizes} "{text}"'


def parse_rows(parser: AttrParser) -> Rows:
    """The inverse of `rows_text`."""
    start = parser.pos
    tiles = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
    try:
        rows = _parse_table(parser) if tiles is None else _parse_packed(parser, tiles)
        check_rows(rows)
        return rows
    except RowsError as error:
        parser.raise_error(str(error), start, parser.pos)


def _parse_table(parser: AttrParser) -> Rows:
    sends: list[tuple[int, ...]] = []
    receives: list[tuple[int, ...]] = []
    while parser.parse_optional_keyword("tile"):
        tile = parse_count(parser)
        if parser.parse_optional_keyword("send"):
            sends += _parse_runs(parser, tile, with_source=False)
        if parser.parse_optional_keyword("receive"):
            receives += _parse_runs(parser, tile, with_source=True)
    tile, address, words, double, cycle = _columns(sends, 5)
    sent = Sends(tile, cycle, address, words, double > 0)
    tile, address, words, double, source, cycle = _columns(receives, 6)
    return encode(sent, Receives(tile, cycle, source, address, words, double > 0))


def _columns(table: list[tuple[int, ...]], columns: int) -> list[Ints]:
    array = np.array(table, np.int64).reshape(-1, columns)
    return list(array.T)


def _parse_runs(
    parser: AttrParser, tile: int, *, with_source: bool
) -> list[tuple[int, ...]]:
    """`0:16 from 1 at 22, …`: tile, address, words, whether doubled, source if any,
    cycle."""
    runs: list[tuple[int, ...]] = []
    while True:
        first = parse_count(parser)
        parser.parse_punctuation(":")
        length = parse_count(parser) - first
        if length % 4:
            raise RowsError(f"a run of {length} bytes is no whole number of words")
        double = parser.parse_optional_keyword("doubled") is not None
        run = (tile, first, length // 4, int(double))
        if with_source:
            parser.parse_keyword("from")
            run = (*run, parse_count(parser))
        parser.parse_keyword("at")
        runs.append((*run, parse_count(parser)))
        if parser.parse_optional_punctuation(",") is None:
            return runs


def _parse_packed(parser: AttrParser, tiles: int) -> Rows:
    parser.parse_keyword("tiles")
    programs = parse_count(parser)
    parser.parse_keyword("programs")
    words = parse_count(parser)
    parser.parse_keyword("words")
    text = parser.parse_str_literal()
    if tiles >= TILE_LIMIT or programs > 2 * tiles or words > MOST_WORDS:
        raise RowsError("no machine has so many tiles, programs or words")
    sizes = [tiles, tiles, tiles, tiles, programs, words]
    planes = _unpacked(text, 4 * sum(sizes)).reshape(4, -1)
    numbers = np.ascontiguousarray(planes.T).reshape(-1).view(_PACKED)
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    tile, send, receive, first, length = (part.astype(np.int64) for part in parts[:5])
    start = np.append(0, np.cumsum(length))
    return Rows(tile, send - 1, receive - 1, first, start, parts[5].astype(np.uint32))


def _unpacked(text: str, size: int) -> NDArray[np.uint8]:
    """The bytes of a compressed text that must hold exactly `size`."""
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(base64.b64decode(text, validate=True), size + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise RowsError(f"the compressed rows are damaged: {error}") from error
    if len(data) != size or not unpacker.eof or unpacker.unused_data:
        raise RowsError(f"the compressed rows are not the {size} bytes announced")
    return np.frombuffer(data, np.uint8)
