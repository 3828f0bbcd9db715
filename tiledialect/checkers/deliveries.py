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
    Flags = NDArray[np.bool_]

TILE_SPAN = 1 << 40
"""Room for one tile's addresses or cycles in a key that sorts by tile first."""


@dataclass(frozen=True)
class Runs:
    """Words that arrive: `words` of them from one place on. A place is a tile and an
    address in one number (two columns less to sort, of millions of runs)."""

    place: Ints  # where the first word goes
    words: Ints
    origin: Ints  # where the first word lies on the tile that sends it

    @property
    def tile(self) -> Ints:
        return self.place // TILE_SPAN

    @property
    def source(self) -> Ints:
        return self.origin // TILE_SPAN


def place(tile: Ints, address: Ints) -> Ints:
    return tile * TILE_SPAN + address


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
    if len(parts) == 1:
        return parts[0]
    none = np.zeros(0, np.int64)
    return Runs(
        np.concatenate([none, *(part.place for part in parts)]),
        np.concatenate([none, *(part.words for part in parts)]),
        np.concatenate([none, *(part.origin for part in parts)]),
    )


def _runs_of_move(window: Window, move: MoveTable) -> Runs:
    table = move.transfers
    staged = table.to_staging.astype(np.bool_)
    every = np.ones_like(staged)
    if move.staging < 0 and staged.any():
        raise Disproof("a move that needs staging has none")
    _check_inside(window, move.source, table.source_offset, table.words, every)
    _check_tiles(window, move.source, table.source)
    for number, kept in ((move.destination, ~staged), (move.staging, staged)):
        _check_inside(window, number, table.offset, table.words, kept)
        sets = np.flatnonzero(
            np.bincount(table.destinations[kept], minlength=len(table.set_start) - 1)
        )
        first = table.set_start[sets]
        count = table.set_start[sets + 1] - first
        _check_tiles(window, number, table.set_tiles[ragged(first, count)])
    buffer = np.where(staged, move.staging, move.destination)
    first = table.set_start[table.destinations]
    count = table.set_start[table.destinations + 1] - first
    return Runs(
        place=place(
            table.set_tiles[ragged(first, count)],
            np.repeat(window.bases[buffer] + table.offset, count),
        ),
        words=np.repeat(table.words, count),
        origin=np.repeat(sent_places(window, move), count),
    )


def sent_places(window: Window, move: MoveTable) -> Ints:
    """Where each transfer of a move reads."""
    table = move.transfers
    return place(table.source, window.bases[move.source] + table.source_offset)


def _check_inside(
    window: Window, number: int, offset: Ints, words: Ints, kept: Flags
) -> None:
    """The runs that are kept lie in a buffer."""
    if kept.any():
        block = window.buffers[number]
        end = int((offset + words * WORD_BYTES)[kept].max())
        if end > block.room or offset[kept].min() < 0:
            raise Disproof(
                f"a move needs bytes up to {end} of {block.name}, which has"
                f" {block.bytes}"
            )


def _check_tiles(window: Window, number: int, tiles: Ints) -> None:
    """All these tiles have a buffer."""
    if len(tiles):
        stray = ~np.isin(tiles, window.buffers[number].tiles)
        if stray.any():
            raise Disproof(
                f"a move uses {window.buffers[number].name} on tile"
                f" {tiles[np.argmax(stray)]}, which lacks it"
            )


def canonical(window: Window, runs: Runs, who: str) -> Runs:
    """The runs in order of their places, adjacent ones joined. Raises Disproof where
    two write one word; `who` begins the error."""
    order = np.argsort(runs.place)  # equal places are refused below
    place, words, origin = runs.place[order], runs.words[order], runs.origin[order]
    end = place + words * WORD_BYTES
    twice = place[1:] < end[:-1]
    if twice.any():
        at = int(place[int(np.argmax(twice)) + 1])
        raise Disproof(
            f"{who} {window.name(at % TILE_SPAN)} of tile {at // TILE_SPAN} twice"
        )
    joined = (place[1:] == end[:-1]) & (
        origin[1:] == origin[:-1] + words[:-1] * WORD_BYTES
    )
    if not joined.any():
        return Runs(place, words, origin)
    starts = np.flatnonzero(np.concatenate([[True], ~joined]))
    return Runs(place[starts], np.add.reduceat(words, starts), origin[starts])


def delivered_runs(latency: Ints, window: Window, rows: Rows) -> Runs:
    """What the rows deliver, in canonical form: each received word is the one that its
    source put out a latency earlier. Raises Disproof where there is none, and where a
    word that is put out reaches nobody. `latency` is indexed by tile."""
    sends, receives = rows.sends, rows.receives
    pieces = _paired(latency, sends, receives)
    if rows.doubled:
        pieces = _in_words(window, sends, receives, pieces)
    got = np.bincount(pieces.receive, pieces.words, len(receives.tile))
    if (got != receives.words).any():
        _refuse_silence(window, receives, int(np.argmax(got != receives.words)))
    _check_heard(window, sends, pieces)
    receive, send = pieces.receive, pieces.send
    runs = Runs(
        place=place(receives.tile, receives.address)[receive]
        + pieces.receive_offset * WORD_BYTES,
        words=pieces.words,
        origin=place(sends.tile, sends.address)[send] + pieces.send_offset * WORD_BYTES,
    )
    return canonical(window, runs, "the rows write")


@dataclass(frozen=True)
class _Pieces:
    """Stretches of one receive that meet one send: run numbers, and the first word of
    the stretch counted from the start of either run. `_paired` counts items instead."""

    receive: Ints
    send: Ints
    receive_offset: Ints
    send_offset: Ints
    words: Ints


def _paired(latency: Ints, sends: Sends, receives: Receives) -> _Pieces:
    """The stretches in which the items of a receive are put out by its source."""
    start = sends.tile * TILE_SPAN + sends.cycle
    wanted = receives.source * TILE_SPAN + receives.cycle - latency[receives.tile]
    last_wanted = wanted + receives.cycles - 1
    first = np.maximum(np.searchsorted(start, wanted, side="right") - 1, 0)
    last = first.copy()
    wide = last_wanted >= np.append(start + sends.cycles, 0)[first]
    last[wide] = np.searchsorted(start, last_wanted[wide], side="right") - 1
    count = np.maximum(last - first + 1, 0)
    receive = np.repeat(np.arange(len(count), dtype=np.int64), count)
    send = ragged(first, count)
    begin = np.maximum(start[send], wanted[receive])
    end = np.minimum(start[send] + sends.cycles[send], last_wanted[receive] + 1)
    kept = end > begin
    receive, send, begin, end = receive[kept], send[kept], begin[kept], end[kept]
    return _Pieces(
        receive, send, begin - wanted[receive], begin - start[send], end - begin
    )


def _in_words(
    window: Window, sends: Sends, receives: Receives, pieces: _Pieces
) -> _Pieces:
    """Stretches of items as stretches of words. Raises Disproof where the two sides of
    one hold items of different size."""
    receive, send = pieces.receive, pieces.send
    double = receives.doubled[receive]
    differ = double != sends.doubled[send]
    if differ.any():
        at = int(np.argmax(differ))
        size, other = (2, 1) if double[at] else (1, 2)
        run, by = int(receive[at]), int(send[at])
        cycle = int(sends.cycle[by] + pieces.send_offset[at])
        raise Disproof(
            f"tile {receives.tile[run]} takes items of {size} words for"
            f" {window.name(int(receives.address[run]))}, but tile {sends.tile[by]}"
            f" sends items of {other} in cycle {cycle}"
        )
    return _Pieces(
        receive,
        send,
        pieces.receive_offset << double,
        pieces.send_offset << double,
        pieces.words << double,
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
        inside = word - int(position[at])
        address = int(sends.address[at]) + inside * WORD_BYTES
        cycle = int(sends.cycle[at]) + (inside >> int(sends.doubled[at]))
        raise Disproof(
            f"tile {sends.tile[at]} sends {window.name(address)} in cycle {cycle},"
            " which no tile receives"
        )


def compare(window: Window, got: Runs, want: Runs) -> None:
    """Raises Disproof at the first run that differs."""
    shared = min(len(got.place), len(want.place))
    differs = got.place[:shared] != want.place[:shared]
    differs |= got.words[:shared] != want.words[:shared]
    differs |= got.origin[:shared] != want.origin[:shared]
    at = int(np.argmax(differs)) if differs.any() else shared
    if at == len(got.place) == len(want.place):
        return
    found = int(np.append(got.place, 1 << 62)[at])
    wanted = int(np.append(want.place, 1 << 62)[at])
    if found > wanted:
        raise Disproof(f"the rows do not deliver {_run_text(window, want, at)}")
    if found < wanted:
        raise Disproof(f"no move asks for {_run_text(window, got, at)}")
    raise Disproof(
        f"the rows deliver {_run_text(window, got, at)},"
        f" the moves ask for {_run_text(window, want, at)}"
    )


def _run_text(window: Window, runs: Runs, at: int) -> str:
    source, sent = divmod(int(runs.origin[at]), TILE_SPAN)
    tile, received = divmod(int(runs.place[at]), TILE_SPAN)
    return (
        f"{runs.words[at]} words of {window.name(sent)} of tile {source} to"
        f" {window.name(received)} of tile {tile}"
    )
