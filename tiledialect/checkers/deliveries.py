"""What a phase delivers: by its rows, and by its moves' transfers.

Both are brought to one form, runs of words of one source that lie behind each other
at the source and at the destination, as long as can be. Equal tables then mean that
every word arrives once, from where it should, and nothing else arrives anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tiledialect.checkers.disproof import Disproof
from tiledialect.checkers.row_reader import Receives, Rows, Sends, ragged
from tiledialect.layout import WORD_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.checkers.window import Window

    Ints = NDArray[np.int64]

TILE_SPAN = 1 << 40
"""Room for one tile's addresses or cycles in a key that sorts by tile first."""


@dataclass(frozen=True)
class Runs:
    """Words that arrive: `words` of them at `address` of `tile`, each from `source`,
    where the first lies at `source_address`."""

    tile: Ints
    address: Ints
    words: Ints
    source: Ints
    source_address: Ints


class TransferTable(Protocol):
    """The part of a relayout that the exchange does: for each run its source, the set
    of its destinations, offsets in bytes, and whether it goes to staging."""

    @property
    def source(self) -> Ints: ...
    @property
    def source_offset(self) -> Ints: ...
    @property
    def words(self) -> Ints: ...
    @property
    def destinations(self) -> Ints: ...
    @property
    def offset(self) -> Ints: ...
    @property
    def to_staging(self) -> NDArray[np.bool_]: ...
    @property
    def set_start(self) -> Ints: ...
    @property
    def set_tiles(self) -> Ints: ...


@dataclass(frozen=True)
class MoveTable:
    """A move: its buffers' numbers in the window, and its transfers. `staging` is -1
    for a move without."""

    source: int
    destination: int
    staging: int
    transfers: TransferTable


def expected_runs(window: Window, moves: Sequence[MoveTable]) -> Runs:
    """What the moves of a phase should deliver, in canonical form."""
    parts = [_runs_of_move(window, move) for move in moves]
    return canonical(window, concatenated(parts), "the moves write")


def concatenated(parts: Sequence[Runs]) -> Runs:
    none = np.zeros(0, np.int64)
    return Runs(
        *(
            np.concatenate([none, *(getattr(part, name) for part in parts)])
            for name in Runs.__dataclass_fields__
        )
    )


def _runs_of_move(window: Window, move: MoveTable) -> Runs:
    table = move.transfers
    staged = table.to_staging.astype(np.bool_)
    if move.staging < 0 and staged.any():
        raise Disproof("a move that needs staging has none")
    buffer = np.where(staged, move.staging, move.destination)
    first = table.set_start[table.destinations]
    count = table.set_start[table.destinations + 1] - first
    runs = Runs(
        tile=table.set_tiles[ragged(first, count)],
        address=np.repeat(window.bases[buffer] + table.offset, count),
        words=np.repeat(table.words, count),
        source=np.repeat(table.source, count),
        source_address=np.repeat(
            window.bases[move.source] + table.source_offset, count
        ),
    )
    from_buffer = np.full(len(table.source), move.source, np.int64)
    _check_inside(window, from_buffer, table.source, table.source_offset, table.words)
    _check_inside(
        window,
        np.repeat(buffer, count),
        runs.tile,
        np.repeat(table.offset, count),
        runs.words,
    )
    return runs


def _check_inside(
    window: Window, buffer: Ints, tile: Ints, offset: Ints, words: Ints
) -> None:
    """Every run lies in its buffer, on a tile that has the buffer."""
    for number, block in enumerate(window.buffers):
        mine = buffer == number
        room = window.bases[number + 1] - window.bases[number] - WORD_BYTES
        end = (offset + words * WORD_BYTES)[mine]
        if len(end) and (end.max() > room or offset[mine].min() < 0):
            raise Disproof(
                f"a move needs bytes up to {end.max()} of {block.name},"
                f" which has {block.bytes}"
            )
        stray = ~np.isin(tile[mine], block.tiles)
        if stray.any():
            where = tile[mine][np.argmax(stray)]
            raise Disproof(f"a move uses {block.name} on tile {where}, which lacks it")


def canonical(window: Window, runs: Runs, who: str) -> Runs:
    """The runs by tile and address, adjacent ones joined. Raises Disproof where two
    write one word; `who` begins the error."""
    kept = runs.words > 0
    order = np.argsort(_key(runs)[kept])  # equal keys are refused below
    at = np.flatnonzero(kept)[order]
    tile, address, words = runs.tile[at], runs.address[at], runs.words[at]
    source, source_address = runs.source[at], runs.source_address[at]
    end = address + words * WORD_BYTES
    same_tile = tile[1:] == tile[:-1]
    twice = same_tile & (address[1:] < end[:-1])
    if twice.any():
        first = int(np.argmax(twice))
        raise Disproof(
            f"{who} {window.name(int(address[first + 1]))} of tile {tile[first]} twice"
        )
    source_end = source_address + words * WORD_BYTES
    joined = same_tile & (address[1:] == end[:-1])
    joined &= (source[1:] == source[:-1]) & (source_address[1:] == source_end[:-1])
    starts = np.flatnonzero(np.concatenate([[True], ~joined])) if len(at) else at
    total = np.add.reduceat(words, starts) if len(at) else words
    return Runs(
        tile[starts], address[starts], total, source[starts], source_address[starts]
    )


def delivered_runs(latency: Ints, window: Window, rows: Rows) -> Runs:
    """What the rows deliver, in canonical form: each received word is the one that its
    source put out a latency earlier. Raises Disproof where there is none, and where a
    word that is put out reaches nobody. `latency` is indexed by tile."""
    sends, receives = rows.sends, rows.receives
    pieces = _paired(latency, sends, receives)
    got = np.bincount(pieces.receive, pieces.words, len(receives.tile))
    if (got != receives.words).any():
        _refuse_silence(window, receives, int(np.argmax(got != receives.words)))
    _check_heard(window, sends, pieces)
    receive, send = pieces.receive, pieces.send
    runs = Runs(
        tile=receives.tile[receive],
        address=receives.address[receive] + pieces.receive_offset * WORD_BYTES,
        words=pieces.words,
        source=receives.source[receive],
        source_address=sends.address[send] + pieces.send_offset * WORD_BYTES,
    )
    return canonical(window, runs, "the rows write")


@dataclass(frozen=True)
class _Pieces:
    """Stretches of one receive that meet one send: run numbers, and the first word of
    the stretch counted from the start of either run."""

    receive: Ints
    send: Ints
    receive_offset: Ints
    send_offset: Ints
    words: Ints


def _paired(latency: Ints, sends: Sends, receives: Receives) -> _Pieces:
    """The stretches in which the words of a receive are put out by its source."""
    start = sends.tile * TILE_SPAN + sends.cycle
    wanted = receives.source * TILE_SPAN + receives.cycle - latency[receives.tile]
    last_wanted = wanted + receives.words - 1
    first = np.maximum(np.searchsorted(start, wanted, side="right") - 1, 0)
    last = first.copy()
    wide = last_wanted >= np.append(start + sends.words, 0)[first]
    last[wide] = np.searchsorted(start, last_wanted[wide], side="right") - 1
    count = np.maximum(last - first + 1, 0)
    receive = np.repeat(np.arange(len(count), dtype=np.int64), count)
    send = ragged(first, count)
    begin = np.maximum(start[send], wanted[receive])
    end = np.minimum(start[send] + sends.words[send], last_wanted[receive] + 1)
    kept = end > begin
    receive, send, begin, end = receive[kept], send[kept], begin[kept], end[kept]
    return _Pieces(
        receive, send, begin - wanted[receive], begin - start[send], end - begin
    )


def _refuse_silence(window: Window, receives: Receives, at: int) -> None:
    """Says that receive `at` takes a word that its source does not put out."""
    tile, source = int(receives.tile[at]), int(receives.source[at])
    address = window.name(int(receives.address[at]))
    cycle = int(receives.cycle[at])
    raise Disproof(
        f"tile {tile} takes {receives.words[at]} words for {address} from tile"
        f" {source} from cycle {cycle} on, but in the cycles that these words need"
        f" tile {source} is not always sending"
    )


def _check_heard(window: Window, sends: Sends, pieces: _Pieces) -> None:
    """Every word that is put out is taken by some tile."""
    total = int(sends.words.sum())
    position = np.cumsum(sends.words) - sends.words
    begin = position[pieces.send] + pieces.send_offset
    edges = np.bincount(begin, minlength=total + 1)
    edges -= np.bincount(begin + pieces.words, minlength=total + 1)
    heard = np.cumsum(edges[:total])
    if (heard <= 0).any():
        word = int(np.argmax(heard <= 0))
        at = int(np.searchsorted(position, word, side="right")) - 1
        cycle = int(sends.cycle[at]) + word - int(position[at])
        address = int(sends.address[at]) + (word - int(position[at])) * WORD_BYTES
        raise Disproof(
            f"tile {sends.tile[at]} sends {window.name(address)} in cycle {cycle},"
            " which no tile receives"
        )


def compare(window: Window, got: Runs, want: Runs) -> None:
    """Raises Disproof at the first run that differs."""
    shared = min(len(got.tile), len(want.tile))
    differs = np.zeros(shared, np.bool_)
    for name in Runs.__dataclass_fields__:
        differs |= getattr(got, name)[:shared] != getattr(want, name)[:shared]
    at = int(np.argmax(differs)) if differs.any() else shared
    if at == len(got.tile) == len(want.tile):
        return
    key = np.append(_key(got), 1 << 62)[at], np.append(_key(want), 1 << 62)[at]
    if key[0] > key[1]:
        raise Disproof(f"the rows do not deliver {_run_text(window, want, at)}")
    if key[0] < key[1]:
        raise Disproof(f"no move asks for {_run_text(window, got, at)}")
    raise Disproof(
        f"the rows deliver {_run_text(window, got, at)},"
        f" the moves ask for {_run_text(window, want, at)}"
    )


def _key(runs: Runs) -> Ints:
    """What runs are sorted by."""
    return runs.tile * TILE_SPAN + runs.address


def _run_text(window: Window, runs: Runs, at: int) -> str:
    source = window.name(int(runs.source_address[at]))
    return (
        f"{runs.words[at]} words of {source} of tile {runs.source[at]} to"
        f" {window.name(int(runs.address[at]))} of tile {runs.tile[at]}"
    )
