"""One exchange phase: what the rows say is checked as the machine would, then done.

Every received word is the one that its source put out a latency earlier. Messages are
cut into *pieces* that lie in one send and in one receive; all rules are tests on
tables of intervals, none looks at single words. What sends of two words a cycle keep
besides stands in `pairs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.runtime.intervals import LATEST, ExchangeError, meeting
from tiledialect.runtime.pairs import check_pairs
from tiledialect.runtime.rows_decoder import WORD_BYTES, Phase, Receives, Sends

if TYPE_CHECKING:
    from tiledialect.machine import Machine
    from tiledialect.runtime.memory import Memory
    from tiledialect.runtime.package import Ints, Words

WORDS_AT_ONCE = 1 << 18  # moved together: bounds the index tables of a phase


@dataclass(frozen=True)
class Pieces:
    """Words on their way: parts of a send that are part of a receive."""

    send: Ints  # position in the sends
    receive: Ints
    skip: Ints  # words of the send before the piece
    source: Ints  # tile
    source_address: Ints
    tile: Ints
    address: Ints
    words: Ints


@dataclass(frozen=True)
class Room:
    """Addresses that an exchange may touch: [low, high), and not below `rows_end`,
    where the element ends that holds the last control word."""

    low: int
    high: int
    rows_end: int


def check_phase(machine: Machine, phase: Phase, room: Room) -> Pieces:
    """The pieces of a phase. Raises ExchangeError for the first rule that it breaks."""
    sends, receives = phase.sends, phase.receives
    _check_addresses("sends from", sends, room)
    _check_addresses("receives to", receives, room)
    if len(sends.cycles) and sends.cycles.max() > machine.exchange.send_chunk_words:
        raise ExchangeError(
            f"a send of {sends.cycles.max()} cycles,"
            f" limit {machine.exchange.send_chunk_words}"
        )
    pieces = pair(machine, sends, receives)
    _check_all_received(sends, pieces)
    check_pairs(machine, sends, receives)
    _check_written_once(receives)
    _check_not_overwritten(sends, receives)
    _check_elements(machine, sends, receives)
    return pieces


def move(memory: Memory, pieces: Pieces) -> None:
    """Carry the bytes of pieces, and which of them hold something."""
    span = memory.span // WORD_BYTES
    source = pieces.source * span + pieces.source_address // WORD_BYTES
    target = pieces.tile * span + pieces.address // WORD_BYTES
    data = memory.data.view(np.uint32).reshape(-1)
    written = memory.written.view(np.uint32).reshape(-1)
    for words in map(int, np.flatnonzero(np.bincount(pieces.words))):
        of_length = np.flatnonzero(pieces.words == words)
        step = max(1, WORDS_AT_ONCE // words)
        inside = np.arange(words, dtype=np.int64)
        for begin in range(0, len(of_length), step):
            which = of_length[begin : begin + step]
            read = source[which, None] + inside
            state = written[read]
            if not state.all():
                _refuse_unwritten(pieces, which, state)
            put = target[which, None] + inside
            data[put] = data[read]
            written[put] = state


def _refuse_unwritten(pieces: Pieces, which: Ints, state: Words) -> None:
    row, word = np.argwhere(state == 0)[0]
    piece = which[row]
    raise ExchangeError(
        f"tile {pieces.source[piece]} sends the word at address"
        f" {pieces.source_address[piece] + WORD_BYTES * word}, which nobody wrote"
    )


def _check_addresses(what: str, runs: Sends | Receives, room: Room) -> None:
    end = runs.address + runs.words * WORD_BYTES
    outside = (runs.address < room.low) | (end > room.high)
    if outside.any():
        at = int(outside.argmax())
        raise ExchangeError(
            f"tile {runs.tile[at]}, cycle {runs.cycle[at]}: {what} addresses"
            f" {runs.address[at]} to {end[at]}, outside {room.low} to {room.high}"
        )
    near = runs.address < room.rows_end
    if near.any():
        at = int(near.argmax())
        raise ExchangeError(
            f"tile {runs.tile[at]}, cycle {runs.cycle[at]}: {what} address"
            f" {runs.address[at]}, in the memory element of its control words,"
            f" which end at {room.rows_end}"
        )


def latencies(machine: Machine) -> Ints:
    """The latency of each tile as receiver."""
    return np.array(
        [machine.latency(tile) for tile in range(machine.tiles)], dtype=np.int64
    )


def pair(machine: Machine, sends: Sends, receives: Receives) -> Pieces:
    """Each receive cut where its source's sends end. Refuses words that nobody sent, or
    that come in items of another size than they left in."""
    for runs in (sends, receives):
        if runs.cycle.max(initial=0) > LATEST // 2:
            raise ExchangeError(f"a phase of {runs.cycle.max()} cycles never ends")
    left = receives.cycle - latencies(machine)[receives.tile]
    if len(left) and receives.source.max() >= machine.tiles:
        raise ExchangeError(f"a receive from tile {receives.source.max()}, not there")
    key = sends.tile * LATEST + sends.cycle
    begin = receives.source * LATEST + np.maximum(left, -1)
    end = begin + receives.cycles
    first, count = meeting(key, key + sends.cycles, begin, end)
    receive = np.repeat(np.arange(len(begin)), count)
    send = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(receive))
    low = np.maximum(key[send], begin[receive])
    items = np.minimum(key[send] + sends.cycles[send], end[receive]) - low
    met = np.bincount(receive, items, minlength=len(begin)).astype(np.int64)
    _check_all_sent(receives, left, met)
    size = _item_words(sends, receives, send, receive)
    words, skip = items * size, (low - key[send]) * size
    inside = (low - begin[receive]) * size
    return Pieces(
        send,
        receive,
        skip,
        sends.tile[send],
        sends.address[send] + skip * WORD_BYTES,
        receives.tile[receive],
        receives.address[receive] + inside * WORD_BYTES,
        words,
    )


def _check_all_sent(receives: Receives, left: Ints, met: Ints) -> None:
    bad = (met != receives.cycles) | (left < 0)
    if bad.any():
        at = int(bad.argmax())
        what = "items" if receives.doubled[at] else "words"
        raise ExchangeError(
            f"tile {receives.tile[at]}, cycle {receives.cycle[at]}: receives"
            f" {receives.cycles[at]} {what} of tile {receives.source[at]}, which sent"
            f" {met[at] if left[at] >= 0 else 0} of them at cycle {left[at]}"
        )


def _item_words(
    sends: Sends, receives: Receives, send: Ints, receive: Ints
) -> Ints | int:
    """Words in the items of each piece. Refuses pieces whose ends differ in that."""
    doubled = receives.doubled
    if not doubled.any() and not sends.doubled.any():
        return 1
    differ = doubled[receive] != sends.doubled[send]
    if differ.any():
        at = int(differ.argmax())
        run, by = receive[at], send[at]
        size = 2 if doubled[run] else 1
        raise ExchangeError(
            f"tile {receives.tile[run]}, cycle {receives.cycle[run]}: receives items of"
            f" {size} words, tile {sends.tile[by]} sends them as items of {3 - size}"
        )
    return np.where(doubled, 2, 1)[receive]


def _check_all_received(sends: Sends, pieces: Pieces) -> None:
    """Refuse words that were sent and that no tile received."""
    order = np.lexsort((pieces.skip, pieces.send))
    send, low = pieces.send[order], pieces.skip[order]
    base = send * LATEST
    high = base + low + pieces.words[order]
    reached = np.maximum.accumulate(high) if len(high) else high
    before = np.append(0, reached[:-1])[: len(high)]
    fresh = np.maximum(high - np.maximum(base + low, before), 0)
    total = np.bincount(send, fresh, minlength=len(sends.words)).astype(np.int64)
    lost = total < sends.words
    if lost.any():
        at = int(lost.argmax())
        raise ExchangeError(
            f"tile {sends.tile[at]}, cycle {sends.cycle[at]}: sends"
            f" {sends.words[at]} words, of which {total[at]} are received by anybody"
        )


def _address_keys(runs: Sends | Receives) -> tuple[Ints, Ints]:
    """The addresses of runs as half-open intervals, tiles apart from each other."""
    begin = runs.tile * LATEST + runs.address
    return begin, begin + runs.words * WORD_BYTES


def _check_written_once(receives: Receives) -> None:
    begin, end = _address_keys(receives)
    order = np.argsort(begin, kind="stable")
    twice = begin[order][1:] < end[order][:-1]
    if twice.any():
        at = int(order[1:][twice][0])
        raise ExchangeError(
            f"tile {receives.tile[at]}, cycle {receives.cycle[at]}: receives to address"
            f" {receives.address[at]}, where another word of the phase goes"
        )


def _check_not_overwritten(sends: Sends, receives: Receives) -> None:
    """Refuse a send from bytes that the same tile receives in the same phase."""
    begin, end = _address_keys(receives)
    order = np.argsort(begin, kind="stable")
    low, high = _address_keys(sends)
    _, count = meeting(begin[order], end[order], low, high)
    if (count > 0).any():
        at = int((count > 0).argmax())
        raise ExchangeError(
            f"tile {sends.tile[at]}, cycle {sends.cycle[at]}: sends from address"
            f" {sends.address[at]}, to which it receives in the same phase"
        )


@dataclass(frozen=True)
class _Stays:
    """Stretches of cycles in which a port uses one memory element."""

    key: Ints  # tile and cycle
    cycles: Ints
    element: Ints


def _stays(runs: Sends | Receives, edges: Ints) -> _Stays:
    """Runs of words, cut where they pass into another memory element. An item that
    lies in two is in both."""
    end = runs.address + runs.words * WORD_BYTES
    first = np.searchsorted(edges, runs.address, side="right") - 1
    last = np.searchsorted(edges, end - 1, side="right") - 1
    count = last - first + 1
    run = np.repeat(np.arange(len(count)), count)
    element = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(run))
    low = np.maximum(edges[element], runs.address[run])
    high = np.minimum(edges[element + 1], end[run])
    begin, item_bytes = runs.address[run], _item_bytes(runs, run)
    skip = (low - begin) // item_bytes
    cycles = -((begin - high) // item_bytes) - skip
    key = runs.tile[run] * LATEST + runs.cycle[run] + skip
    return _Stays(key, cycles, element)


def _item_bytes(runs: Sends | Receives, run: Ints) -> Ints | int:
    """Bytes that these runs move in a cycle; one number where it is the same for all,
    by which tables are divided in a fraction of the time."""
    doubled = runs.doubled
    if not doubled.any():
        return WORD_BYTES
    return np.where(doubled, 2 * WORD_BYTES, WORD_BYTES)[run]


def _check_elements(machine: Machine, sends: Sends, receives: Receives) -> None:
    """Refuse a tile that reads and writes one memory element in one cycle."""
    edges = np.array(machine.element_edges(), dtype=np.int64)
    reads, writes = _stays(sends, edges), _stays(receives, edges)
    end = writes.key + writes.cycles
    first, count = meeting(reads.key, reads.key + reads.cycles, writes.key, end)
    write = np.repeat(np.arange(len(count)), count)
    read = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(write))
    same = reads.element[read] == writes.element[write]
    if same.any():
        at = int(same.argmax())
        key = max(int(reads.key[read[at]]), int(writes.key[write[at]]))
        raise ExchangeError(
            f"tile {key // LATEST}, cycle {key % LATEST}: sends from and receives to"
            f" the memory element at {edges[writes.element[write[at]]]} in one cycle"
        )
