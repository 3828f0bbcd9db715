"""The checkers' own decoder of exchange rows.

A phase's rows are programs of 32-bit control words, shared by the tiles that run equal
ones. Decoded, they are two tables: which words each tile puts out in which cycles, and
which words it takes in. The top three bits of a word are its opcode:

1 SEND     bits 24..19 words - 1, bits 18..0 address / 4
2 WAIT     bits 28..0 idle cycles before the next send
3 RECEIVE  bits 28..18 source tile, 17..10 idle cycles, 9..0 words - 1
4 POINT    bits 18..0 address / 4 of the next received word
5 PAUSE    bits 28..0 idle cycles before the next receive
6 SEND_PAIR     as SEND, in items of two words
7 RECEIVE_PAIR  as RECEIVE, in items of two words

Addresses are those of the phase's window, in bytes; cycles count from the phase's
start, for a receive at the arrival of the word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tiledialect.checkers.disproof import Disproof

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.machine import Machine

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

SEND, WAIT, RECEIVE, POINT, PAUSE, SEND_PAIR, RECEIVE_PAIR = 1, 2, 3, 4, 5, 6, 7
NAMES = {
    SEND: "SEND",
    WAIT: "WAIT",
    RECEIVE: "RECEIVE",
    POINT: "POINT",
    PAUSE: "PAUSE",
    SEND_PAIR: "SEND_PAIR",
    RECEIVE_PAIR: "RECEIVE_PAIR",
}
KINDS = np.array([0, SEND, WAIT, RECEIVE, POINT, PAUSE, SEND, RECEIVE], np.int64)
"""What a word does, by opcode, be its items of one word or of two."""

LOW_29 = (1 << 29) - 1
LOW_19 = (1 << 19) - 1


class RowTable(Protocol):
    """The stored rows of a phase: tiles with their programs, programs as words."""

    @property
    def tiles(self) -> Ints: ...  # (t,) tiles that take part, ascending
    @property
    def send(self) -> Ints: ...  # (t,) number of the send program, or -1
    @property
    def receive(self) -> Ints: ...  # (t,) number of the receive program, or -1
    @property
    def receive_start(self) -> Ints: ...  # (t,) cycle where the receive clock starts
    @property
    def start(self) -> Ints: ...  # (p + 1,) where each program starts in words
    @property
    def words(self) -> NDArray[np.uint32]: ...


@dataclass(frozen=True)
class Sends:
    """Runs of words put out, by tile and then cycle: word i of a run leaves `tile` in
    `cycle + i`, read at `address + 4 i`; of a doubled run two words leave in each of
    its `cycles`, the one at the lower address first."""

    tile: Ints
    cycle: Ints
    address: Ints
    words: Ints
    cycles: Ints

    @property
    def doubled(self) -> Flags:
        return self.words > self.cycles


@dataclass(frozen=True)
class Receives:
    """Runs of words taken in, by tile and then cycle: word i of a run arrives in
    `cycle + i` from `source` and goes to `address + 4 i`; of a doubled run two words
    arrive in each of its `cycles`."""

    tile: Ints
    cycle: Ints
    address: Ints
    words: Ints
    cycles: Ints
    source: Ints

    @property
    def doubled(self) -> Flags:
        return self.words > self.cycles


@dataclass(frozen=True)
class Rows:
    """A phase's rows, decoded: `controls` are the control words of each of `tiles`."""

    tiles: Ints
    controls: Ints
    sends: Sends
    receives: Receives
    doubled: bool  # whether any run is


@dataclass(frozen=True)
class _Words:
    """Every stored word taken apart; fields that an opcode lacks are 0."""

    kind: Ints  # SEND for SEND_PAIR too, RECEIVE for RECEIVE_PAIR
    program: Ints  # number of the program that the word is in
    items: Ints  # that a SEND or RECEIVE moves, one a cycle
    moved: Ints  # words that these items are
    idle: Ints  # cycles before it, or of it
    address: Ints
    source: Ints

    @property
    def cycles(self) -> Ints:
        return self.items + self.idle

    @property
    def doubled(self) -> bool:
        """Whether some item is of two words; if not, the two tables are one."""
        return self.moved is not self.items


def decode_rows(machine: Machine, table: RowTable) -> Rows:
    """The runs that the rows send and receive. Raises Disproof on a malformed row."""
    _check_table(machine, table)
    words = _take_apart(table)
    _check_fields(machine, table, words)
    clock = _since_program_start(words.cycles, table.start)
    return Rows(
        tiles=table.tiles,
        controls=_control_words(machine, table, words.kind),
        sends=_sends(table, words, clock),
        receives=_receives(table, words, clock),
        doubled=words.doubled,
    )


def row_controls(machine: Machine, table: RowTable) -> Ints:
    """The control words of each of the table's tiles, rows not looked into further."""
    _check_table(machine, table)
    return _control_words(machine, table, KINDS[table.words >> 29])


def ragged(starts: Ints, counts: Ints) -> Ints:
    """starts[0], starts[0] + 1, … counts[0] of them, then those of starts[1], …"""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total, dtype=np.int64) + np.repeat(starts - ends + counts, counts)


def _check_table(machine: Machine, table: RowTable) -> None:
    tiles, start = table.tiles, table.start
    programs = len(start) - 1
    if (
        not len(tiles)
        == len(table.send)
        == len(table.receive)
        == len(table.receive_start)
    ):
        raise Disproof("the rows' lists of tiles and programs differ in length")
    if programs < 0 or start[0] != 0 or start[-1] != len(table.words):
        raise Disproof("the rows' programs do not cover the rows' words")
    if (np.diff(start) < 0).any():
        raise Disproof("the rows' programs overlap")
    if (np.diff(tiles) <= 0).any():
        raise Disproof("the rows name a tile twice or out of order")
    if len(tiles) and (tiles[0] < 0 or tiles[-1] >= machine.tiles):
        raise Disproof(f"the rows name a tile that {machine.name} does not have")
    _check_use(table, programs)


def _check_use(table: RowTable, programs: int) -> None:
    """Every program has one role, every tile a program."""
    used = np.zeros((2, programs), dtype=np.bool_)
    for role, numbers in enumerate((table.send, table.receive)):
        wrong = (numbers < -1) | (numbers >= programs)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise Disproof(
                f"tile {table.tiles[at]} runs program {numbers[at]},"
                f" there are {programs}"
            )
        used[role, numbers[numbers >= 0]] = True
    for program in np.flatnonzero(used[0] == used[1])[:1]:
        how = "both sends and receives" if used[0, program] else "is run by no tile"
        raise Disproof(f"program {program} of the rows {how}")
    idle = (table.send < 0) & (table.receive < 0)
    if idle.any():
        tile = table.tiles[np.argmax(idle)]
        raise Disproof(f"tile {tile} has rows but neither sends nor receives")
    early = (table.receive >= 0) & (table.receive_start < 0)
    if early.any():
        tile = table.tiles[np.argmax(early)]
        raise Disproof(f"tile {tile} starts to receive before cycle 0")


def _take_apart(table: RowTable) -> _Words:
    word = table.words.astype(np.int64)
    opcode = word >> 29
    kind = KINDS[opcode]
    is_send, is_receive = kind == SEND, kind == RECEIVE
    is_idle = (kind == WAIT) | (kind == PAUSE)
    counts = np.diff(table.start)
    zero = np.zeros_like(word)
    items = np.where(is_send, (word >> 19 & 63) + 1, zero)
    items += np.where(is_receive, (word & 1023) + 1, zero)
    double = opcode >= SEND_PAIR
    return _Words(
        kind=kind,
        program=np.repeat(np.arange(len(counts), dtype=np.int64), counts),
        items=items,
        moved=np.where(double, 2 * items, items) if double.any() else items,
        idle=np.where(is_idle, word & LOW_29, zero)
        + np.where(is_receive, word >> 10 & 255, zero),
        address=np.where(is_send | (kind == POINT), (word & LOW_19) * 4, zero),
        source=np.where(is_receive, word >> 18 & 2047, -1),
    )


def _check_fields(machine: Machine, table: RowTable, words: _Words) -> None:
    """Every word is one that its program may hold, with nothing in unused bits."""
    sends = np.zeros(len(table.start) - 1, dtype=np.bool_)
    sends[table.send[table.send >= 0]] = True
    kind, raw = words.kind, table.words
    in_send = sends[words.program]
    sending = (kind == SEND) | (kind == WAIT)
    receiving = (kind == RECEIVE) | (kind == POINT) | (kind == PAUSE)
    misfits = (in_send & ~sending) | (~in_send & ~receiving)
    if misfits.any():
        at = int(np.argmax(misfits))
        role = "send" if sends[words.program[at]] else "receive"
        opcode = int(raw[at]) >> 29
        name = NAMES.get(opcode, f"opcode {opcode}")
        raise Disproof(_where(table, words, at) + f"{name} in a {role} program")
    unused = ((kind == SEND) & (raw >> 25 & 15 != 0)) | (
        (kind == POINT) & (raw >> 19 & 1023 != 0)
    )
    _refuse(table, words, unused, "bits that mean nothing are set")
    chunk = machine.exchange.send_chunk_words
    _refuse(
        table, words, (kind == SEND) & (words.items > chunk), f"more than {chunk} words"
    )
    unknown = (kind == RECEIVE) & ~np.isin(words.source, table.tiles)
    _refuse(table, words, unknown, "receives from a tile without a row")
    if words.doubled and machine.exchange.pair_tiles != 2:
        double = words.moved > words.items
        _refuse(table, words, double, f"{machine.name} has no items of two words")


def _refuse(table: RowTable, words: _Words, wrong: Flags, what: str) -> None:
    if wrong.any():
        raise Disproof(_where(table, words, int(np.argmax(wrong))) + what)


def _where(table: RowTable, words: _Words, at: int) -> str:
    """The place of a stored word, with the first tile that runs it."""
    program = int(words.program[at])
    runs = (table.send == program) | (table.receive == program)
    tile = int(table.tiles[np.argmax(runs)])
    position = at - int(table.start[program])
    return (
        f"tile {tile}, program {program}, word {position}"
        f" ({int(table.words[at]):#010x}): "
    )


def _since_program_start(amounts: Ints, start: Ints) -> Ints:
    """Sum of the amounts before each word in its own program."""
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(amounts)])
    return before[:-1] - np.repeat(before[start[:-1]], np.diff(start))


def _sends(table: RowTable, words: _Words, clock: Ints) -> Sends:
    kept = np.flatnonzero(words.kind == SEND)
    tile, at = _by_tile(table, table.send, words, kept)
    return Sends(
        tile=table.tiles[tile],
        cycle=clock[at],
        address=words.address[at],
        words=words.moved[at],
        cycles=words.items[at],
    )


def _receives(table: RowTable, words: _Words, clock: Ints) -> Receives:
    kept = np.flatnonzero(words.kind == RECEIVE)
    address = _receive_addresses(table, words)
    tile, at = _by_tile(table, table.receive, words, kept)
    return Receives(
        tile=table.tiles[tile],
        cycle=table.receive_start[tile] + clock[at] + words.idle[at],
        address=address[at],
        words=words.moved[at],
        cycles=words.items[at],
        source=words.source[at],
    )


def _receive_addresses(table: RowTable, words: _Words) -> Ints:
    """Where each RECEIVE writes: behind the last word, counted from the last POINT."""
    position = np.arange(len(words.kind), dtype=np.int64)
    pointed = np.where(words.kind == POINT, position, -1)
    last = np.maximum.accumulate(pointed) if len(pointed) else pointed
    lost = (words.kind == RECEIVE) & (last < table.start[:-1][words.program])
    _refuse(table, words, lost, "receives before its program has set an address")
    moved = _since_program_start(words.moved, table.start)
    return words.address[last] + 4 * (moved - moved[last])


def _by_tile(
    table: RowTable, programs: Ints, words: _Words, kept: Ints
) -> tuple[Ints, Ints]:
    """For every tile the kept words of its program: (index of the tile, word)."""
    edges = np.searchsorted(kept, table.start)
    runs = np.flatnonzero(programs >= 0)
    first = edges[programs[runs]]
    counts = edges[programs[runs] + 1] - first
    return np.repeat(runs, counts), kept[ragged(first, counts)]


def _control_words(
    machine: Machine, table: RowTable, kind: NDArray[np.integer]
) -> Ints:
    """Control words that each tile issues in the phase."""
    x = machine.exchange
    issued = np.zeros(8, np.int64)
    issued[[SEND, WAIT, RECEIVE]] = x.send_controls, x.gap_controls, x.source_controls
    issued[[POINT, PAUSE]] = x.pointer_controls, 1
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(issued[kind])])
    of_program = np.append(np.diff(before[table.start]), 0)  # program -1: none
    return x.phase_controls + of_program[table.send] + of_program[table.receive]
