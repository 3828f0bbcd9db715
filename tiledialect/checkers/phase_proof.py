"""The proof of one exchange phase, on plain tables.

Method: decode the rows, pair receives with sends by cycle and latency, bring what is
delivered and what the moves ask for to one form and compare; then the phase's figures,
and the memory that is read and written in one cycle.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.checkers.deliveries import (
    TILE_SPAN,
    MoveTable,
    Runs,
    compare,
    delivered_runs,
    expected_runs,
    sent_places,
)
from tiledialect.checkers.disproof import Disproof
from tiledialect.checkers.doubling import Doubling, doubling_of
from tiledialect.checkers.pair_rules import check_pairs
from tiledialect.checkers.row_reader import (
    Receives,
    Rows,
    RowTable,
    Sends,
    decode_rows,
)
from tiledialect.layout import WORD_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.checkers.window import Window
    from tiledialect.machine import Machine

    Ints = NDArray[np.int64]


MOST_RECEIVED = 1024
"""Items that one RECEIVE takes at most, by its field."""

LONGEST = 1 << 31
"""No phase lasts longer, so that tile and cycle fit in one key."""


@dataclass(frozen=True)
class Claims:
    """What an exchange phase says of itself, in cycles, messages and bytes."""

    length: int
    bound_receive: int
    bound_send: int
    bound_control: int
    messages: int
    row_bytes: int


def prove_phase(
    machine: Machine,
    window: Window,
    moves: Sequence[MoveTable],
    table: RowTable,
    claims: Claims,
    apart: frozenset[tuple[int, int]],
) -> Rows:
    """The decoded rows of a phase that is right. Raises Disproof on the first fault.

    `apart` holds the pairs of buffers (numbers in the window, either way round) that
    touch no memory element in common.
    """
    latency = np.array([machine.latency(t) for t in range(machine.tiles)], np.int64)
    want = expected_runs(window, moves)
    rows = decode_rows(machine, table)
    _check_horizon(rows, claims.length)
    got = delivered_runs(latency, window, rows)
    if rows.doubled:
        check_pairs(machine, window, rows)
    compare(window, got, want)
    doubling = doubling_of(machine, window, moves)
    _check_figures(machine, window, moves, rows, want, doubling, claims)
    _check_bounds(moves, want, doubling, latency, claims)
    _check_in_place(window, moves, rows)
    _check_elements(window, rows, apart)
    return rows


def _check_horizon(rows: Rows, length: int) -> None:
    """Nothing happens after the phase's end, and that lies within reason."""
    if not 0 <= length <= LONGEST:
        raise Disproof(f"the phase says that its length is {length}")
    for verb, runs in (("sends", rows.sends), ("receives", rows.receives)):
        late = runs.cycle + runs.cycles > length
        if late.any():
            at = int(np.argmax(late))
            last = runs.cycle[at] + runs.cycles[at] - 1
            raise Disproof(
                f"tile {runs.tile[at]} {verb} in cycle {last},"
                f" the phase says that its length is {length}"
            )


def _check_figures(
    machine: Machine,
    window: Window,
    moves: Sequence[MoveTable],
    rows: Rows,
    want: Runs,
    doubling: Doubling,
    claims: Claims,
) -> None:
    receives = rows.receives
    arrivals = int((receives.cycle + receives.cycles).max(initial=0))
    controls = int(rows.controls.max(initial=0))
    _equal("length", claims.length, max(arrivals, controls))
    row_bytes = controls * machine.exchange.control_word_bytes
    _equal("row bytes", claims.row_bytes, row_bytes)
    fewest = fewest_controls(machine, window, moves, want, doubling)
    if not fewest <= claims.bound_control <= controls:
        raise Disproof(
            f"the phase says that its control bound is {claims.bound_control}; its"
            f" transfers need {fewest} control words, its fullest row has {controls}"
        )
    least = fewest_messages(machine, rows)
    if not least <= claims.messages <= len(rows.sends.tile):
        raise Disproof(
            f"the phase says that it has {claims.messages} messages; its rows hold"
            f" {len(rows.sends.tile)} sends in {least} runs of at most"
            f" {machine.exchange.max_message_words} words"
        )


def fewest_messages(machine: Machine, rows: Rows) -> int:
    """The least number of messages, none too long, that the sends can be."""
    s = rows.sends
    ends = s.cycle + s.cycles
    joined = (s.tile[1:] == s.tile[:-1]) & (s.cycle[1:] == ends[:-1])
    joined &= s.doubled[1:] == s.doubled[:-1]
    joined &= s.address[1:] == s.address[:-1] + s.words[:-1] * WORD_BYTES
    if not len(s.tile):
        return 0
    starts = np.flatnonzero(np.concatenate([[True], ~joined]))
    words = np.add.reduceat(s.words, starts)
    return int((-(-words // machine.exchange.max_message_words)).sum())


def fewest_controls(
    machine: Machine,
    window: Window,
    moves: Sequence[MoveTable],
    want: Runs,
    doubling: Doubling,
) -> int:
    """Control words that some tile needs for these transfers on any schedule. A tile
    that may move items of two words is taken to move nothing else."""
    x = machine.exchange
    other = np.append(True, want.source[1:] != want.source[:-1])[: len(want.place)]
    taker, words = _stretches(want.place, want.words, other)
    receives = -(-words // (MOST_RECEIVED << doubling.takes[taker]))
    needed = np.bincount(taker, receives * x.source_controls, machine.tiles)
    needed += np.where(needed > 0, x.pointer_controls, 0)
    none = np.zeros(0, np.int64)
    sent = np.concatenate([none, *(sent_places(window, move) for move in moves)])
    sizes = np.concatenate([none, *(move.transfers.words for move in moves)])
    order = np.argsort(sent, kind="stable")
    nowhere = np.zeros(len(sent), np.bool_)
    sender, words = _stretches(sent[order], sizes[order], nowhere)
    sends = -(-words // (x.send_chunk_words << doubling.puts[sender]))
    needed += np.bincount(sender, sends * x.send_controls, machine.tiles)
    return int(np.where(needed > 0, needed + x.phase_controls, 0).max())


def _stretches(key: Ints, words: Ints, breaks: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Tile and words of the longest stretches of words that follow each other, of runs
    that start at ascending keys and may overlap; `breaks` begin a new one."""
    reach = np.maximum.accumulate(key + words * WORD_BYTES)
    apart = breaks[1:] | (key[1:] > reach[:-1])
    starts = np.flatnonzero(np.append(True, apart)[: len(key)])
    ends = np.append(starts[1:] - 1, len(key) - 1)[: len(starts)]
    return key[starts] // TILE_SPAN, (reach[ends] - key[starts]) // WORD_BYTES


def _check_bounds(
    moves: Sequence[MoveTable],
    want: Runs,
    doubling: Doubling,
    latency: Ints,
    claims: Claims,
) -> None:
    """The printed bounds are those of the transfer table, and the length meets them.
    Words that may come or go two a cycle are counted so."""
    tiles = len(latency)
    taker = want.tile
    words_in = np.bincount(taker, want.words, tiles).astype(np.int64)
    cycles_in = words_in - doubling.saved_in
    received = np.where(words_in > 0, cycles_in + latency, 0)
    words_out = np.zeros(tiles, np.int64)
    for move in moves:
        np.add.at(words_out, move.transfers.source, move.transfers.words)
    least = np.full(tiles, TILE_SPAN, np.int64)
    np.minimum.at(least, want.source, latency[taker])
    cycles_out = words_out - doubling.saved_out
    sent = np.where(words_out > 0, cycles_out + least, 0)
    _equal("receive bound", claims.bound_receive, int(received.max(initial=0)))
    _equal("send bound", claims.bound_send, int(sent.max(initial=0)))
    bound = max(claims.bound_receive, claims.bound_send, claims.bound_control)
    if claims.length < bound:
        raise Disproof(f"the phase's length {claims.length} is below its bound {bound}")


def _equal(what: str, said: int, found: int) -> None:
    if said != found:
        raise Disproof(f"the phase says that its {what} is {said}, it is {found}")


def _check_in_place(window: Window, moves: Sequence[MoveTable], rows: Rows) -> None:
    """No tile sends from where it receives in the same phase, or receives a byte of
    storage twice through aliases."""
    if not window.shares_storage(
        [move.source for move in moves],
        [n for move in moves for n in (move.destination, move.staging) if n >= 0],
    ):
        return
    receives, sends = rows.receives, rows.sends
    into = receives.tile * (1 << 48) + window.storage_at(receives.address)
    order = np.argsort(into)
    start = into[order]
    end = start + receives.words[order] * WORD_BYTES
    twice = start[1:] < end[:-1]
    if twice.any():
        at = order[int(np.argmax(twice)) + 1]
        raise Disproof(
            f"tile {receives.tile[at]} receives in cycle {receives.cycle[at]}"
            f" {window.name(int(receives.address[at]))}, and the same bytes once more"
            " through an alias"
        )
    read = sends.tile * (1 << 48) + window.storage_at(sends.address)
    below = np.searchsorted(start, read + sends.words * WORD_BYTES, side="left") - 1
    clash = (below >= 0) & (np.append(end, 0)[below] > read)
    if clash.any():
        at = int(np.argmax(clash))
        raise Disproof(
            f"tile {sends.tile[at]} sends {window.name(int(sends.address[at]))} in"
            f" cycle {sends.cycle[at]}, where it receives in the same phase"
        )


def _check_elements(
    window: Window, rows: Rows, apart: frozenset[tuple[int, int]]
) -> None:
    """Buffers read and written in one cycle of a tile are kept in other elements."""
    sends, receives = rows.sends, rows.receives
    from_buffer = window.buffer_at(sends.address)
    into_buffer = window.buffer_at(receives.address)
    numbers = range(len(window.buffers))
    for pair in itertools.product(numbers, numbers):
        if pair not in apart and pair[::-1] not in apart:
            reads = _select_sends(sends, from_buffer == pair[0])
            writes = _select_receives(receives, into_buffer == pair[1])
            _check_never_together(window, reads, writes, pair)


def _select_sends(sends: Sends, kept: NDArray[np.bool_]) -> Sends:
    return Sends(
        sends.tile[kept],
        sends.cycle[kept],
        sends.address[kept],
        sends.words[kept],
        sends.cycles[kept],
    )


def _select_receives(receives: Receives, kept: NDArray[np.bool_]) -> Receives:
    return Receives(
        receives.tile[kept],
        receives.cycle[kept],
        receives.address[kept],
        receives.words[kept],
        receives.cycles[kept],
        receives.source[kept],
    )


def _check_never_together(
    window: Window, reads: Sends, writes: Receives, pair: tuple[int, int]
) -> None:
    start = reads.tile * TILE_SPAN + reads.cycle
    arrive = writes.tile * TILE_SPAN + writes.cycle
    below = np.searchsorted(start, arrive + writes.cycles, side="left") - 1
    end = np.append(start + reads.cycles, 0)
    clash = (below >= 0) & (end[below] > arrive)
    if clash.any():
        at = int(np.argmax(clash))
        cycle = int(max(arrive[at], start[below[at]])) % TILE_SPAN
        names = [window.buffers[number].name for number in pair]
        raise Disproof(
            f"tile {writes.tile[at]} reads {names[0]} and writes {names[1]} in cycle"
            f" {cycle}, but nothing keeps them in different memory elements"
        )
