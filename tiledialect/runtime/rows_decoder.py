"""From control words to what a phase does: sends and receives with their cycles.

The decoder of the runtime; it shares no code with the encoder or with the checkers. All
programs of a phase are decoded at once, then repeated for the tiles that run them.

Method: each word has a duration; a running sum inside each program gives cycles. The
address of a receive is that of the last POINT plus the bytes received since. A doubled
run moves items of two words, one a cycle; it counts in items wherever time is meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.machine import Exchange

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.runtime.package import Ints, Rows, Words

    Flags = NDArray[np.bool_]

WORD_BYTES = 4
SEND, WAIT, RECEIVE, POINT, PAUSE = 1, 2, 3, 4, 5
SEND_PAIR, RECEIVE_PAIR = 6, 7


class RowsError(Exception):
    """Control words that mean nothing on any machine."""


@dataclass(frozen=True)
class Sends:
    """Words that leave tiles in so many cycles, one or two in each; sorted by tile,
    then by cycle."""

    tile: Ints
    cycle: Ints  # of the first word
    cycles: Ints
    words: Ints
    address: Ints

    @property
    def doubled(self) -> Flags:
        return self.cycles != self.words


@dataclass(frozen=True)
class Receives:
    """Words that tiles take in in so many cycles, one or two in each; sorted by tile,
    then by cycle."""

    tile: Ints
    cycle: Ints  # of the arrival of the first word
    cycles: Ints
    words: Ints
    address: Ints
    source: Ints  # tile

    @property
    def doubled(self) -> Flags:
        return self.cycles != self.words


@dataclass(frozen=True)
class Phase:
    """All that a phase does; `controls` counts each of its tiles' control words."""

    tiles: Ints
    sends: Sends
    receives: Receives
    controls: Ints


@dataclass(frozen=True)
class _Programs:
    """All control words of a phase with their programs, and what words last."""

    start: Ints
    program: Ints
    opcode: Ints  # SEND or RECEIVE for items of two words as well
    doubled: Flags  # whether its items are
    word: Ints
    cycles: Ints  # that pass until the next word's turn

    def since_start(self, amounts: Ints) -> Ints:
        """For each word the sum of amounts before it in its program."""
        before = np.cumsum(amounts) - amounts
        first = np.append(before, 0)[self.start[:-1]]
        return before - first[self.program]


def decode(rows: Rows, exchange: Exchange, tiles: int) -> Phase:
    """The sends and receives of a phase on a machine of `tiles` tiles."""
    _check_tables(rows, tiles)
    programs = _programs(rows.start, rows.words, exchange)
    _check_use(rows, programs)
    return Phase(
        rows.tiles,
        _sends(rows, programs),
        _receives(rows, programs),
        _controls(rows, programs, exchange),
    )


def length(rows: Rows, exchange: Exchange, tiles: int) -> int:
    """Cycles until the last word of a phase has arrived and every control word was
    issued, which its programs alone say: they are not repeated for their tiles."""
    _check_tables(rows, tiles)
    programs = _programs(rows.start, rows.words, exchange)
    _check_use(rows, programs)
    receives = np.flatnonzero(programs.opcode == RECEIVE)
    program = programs.program[receives]
    last = receives[np.append(program[1:] != program[:-1], True)[: len(program)]]
    passed = np.append(0, np.cumsum(programs.cycles))
    ends = np.full(len(rows.start), -1, dtype=np.int64)  # -1: nothing arrives
    which = programs.program[last]
    ends[which] = passed[last + 1] - passed[programs.start[which]]
    arrived = ends[rows.receive]
    arrived = np.where(arrived < 0, 0, arrived + rows.receive_start)
    controls = _controls(rows, programs, exchange)
    return max(int(arrived.max(initial=0)), int(controls.max(initial=0)))


def _check_tables(rows: Rows, tiles: int) -> None:
    count = len(rows.tiles)
    if not len(rows.send) == len(rows.receive) == len(rows.receive_start) == count:
        raise RowsError("tables of the tiles differ in length")
    if count and (rows.tiles[0] < 0 or rows.tiles[-1] >= tiles):
        raise RowsError(f"a tile is not one of {tiles}")
    if (np.diff(rows.tiles) <= 0).any():
        raise RowsError("tiles are not in ascending order")
    if len(rows.start) == 0 or rows.start[0] != 0 or rows.start[-1] != len(rows.words):
        raise RowsError("programs do not cover the words")
    if (np.diff(rows.start) < 1).any():
        raise RowsError("a program is empty or begins before the last")
    for numbers in (rows.send, rows.receive):
        if count and not -1 <= numbers.min() <= numbers.max() < len(rows.start) - 1:
            raise RowsError("a tile runs a program that is not there")
    if count and rows.receive_start.min() < 0:
        raise RowsError("a receive program starts before cycle 0")


def _programs(start: Ints, words: Words, exchange: Exchange) -> _Programs:
    """The words apart."""
    last = RECEIVE_PAIR if exchange.pair_tiles == 2 else PAUSE
    word = words.astype(np.int64)
    opcode = word >> 29
    if len(word) and not (opcode.min() >= SEND and opcode.max() <= last):
        raise RowsError("a control word has an unknown operation")
    doubled = opcode > PAUSE
    if doubled.any():
        opcode[opcode == SEND_PAIR] = SEND
        opcode[opcode == RECEIVE_PAIR] = RECEIVE
    cycles = np.zeros_like(word)
    sends, receives = opcode == SEND, opcode == RECEIVE
    idle = (opcode == WAIT) | (opcode == PAUSE)
    cycles[sends] = (word[sends] >> 19 & 63) + 1
    cycles[receives] = (word[receives] & 1023) + 1 + (word[receives] >> 10 & 255)
    cycles[idle] = word[idle] & (1 << 29) - 1
    program = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return _Programs(start, program, opcode, doubled, word, cycles)


def _check_use(rows: Rows, programs: _Programs) -> None:
    """Refuse programs with words of the other kind, and those that nobody runs."""
    sending = programs.opcode <= WAIT
    for name, numbers, wrong in (
        ("send", rows.send, ~sending),
        ("receive", rows.receive, sending),
    ):
        bad = np.zeros(len(rows.start), dtype=np.bool_)
        bad[programs.program[wrong]] = True
        if (bad[numbers] & (numbers >= 0)).any():
            raise RowsError(f"a {name} program holds words of the other kind")
    used = np.zeros(len(rows.start), dtype=np.bool_)
    used[rows.send], used[rows.receive] = True, True
    if not used[: len(rows.start) - 1].all():
        raise RowsError("a program is run by no tile")


def _on_tiles(
    rows: Rows, programs: _Programs, numbers: Ints, which: Ints
) -> tuple[Ints, Ints]:
    """Each tile's words among those at positions `which`: index of the tile, and index
    into `which`."""
    counts = np.bincount(programs.program[which], minlength=len(rows.start))
    first = np.cumsum(counts) - counts
    runs = np.where(numbers >= 0, counts[numbers], 0)
    tile = np.repeat(np.arange(len(numbers)), runs)
    inside = np.arange(len(tile)) - np.repeat(np.cumsum(runs) - runs, runs)
    return tile, first[numbers[tile]] + inside


def _sends(rows: Rows, programs: _Programs) -> Sends:
    which = np.flatnonzero(programs.opcode == SEND)
    word = programs.word[which]
    cycle = programs.since_start(programs.cycles)[which]
    tile, index = _on_tiles(rows, programs, rows.send, which)
    cycles = (word >> 19 & 63)[index] + 1
    return Sends(
        rows.tiles[tile],
        cycle[index],
        cycles,
        _words(cycles, programs.doubled[which], index),
        (word & (1 << 19) - 1)[index] * WORD_BYTES,
    )


def _receives(rows: Rows, programs: _Programs) -> Receives:
    which = np.flatnonzero(programs.opcode == RECEIVE)
    word = programs.word[which]
    cycle = programs.since_start(programs.cycles)[which] + (word >> 10 & 255)
    address = _receive_addresses(programs)[which]
    tile, index = _on_tiles(rows, programs, rows.receive, which)
    cycles = (word & 1023)[index] + 1
    return Receives(
        rows.tiles[tile],
        cycle[index] + rows.receive_start[tile],
        cycles,
        _words(cycles, programs.doubled[which], index),
        address[index],
        (word >> 18 & 2047)[index],
    )


def _words(items: Ints, doubled: Flags, index: Ints) -> Ints:
    """The words that runs of so many items move; `doubled` says it of run `index`."""
    return items * np.where(doubled, 2, 1)[index] if doubled.any() else items


def _receive_addresses(programs: _Programs) -> Ints:
    """For each control word where a receive that stands there would put its words."""
    receives, points = programs.opcode == RECEIVE, programs.opcode == POINT
    words = np.where(receives, (programs.word & 1023) + 1, 0)
    words[programs.doubled] *= 2
    before = programs.since_start(words) * WORD_BYTES
    position = np.arange(len(words))
    last = np.maximum.accumulate(np.where(points, position, -1))
    if (receives & (last < programs.start[programs.program])).any():
        raise RowsError("a receive has no address: no POINT stands before it")
    target = (programs.word & (1 << 19) - 1) * WORD_BYTES
    return (target - before)[last] + before if len(words) else before


def _controls(rows: Rows, programs: _Programs, exchange: Exchange) -> Ints:
    """Control words that each tile issues in the phase."""
    weight = np.array(
        [
            0,
            exchange.send_controls,
            exchange.gap_controls,
            exchange.source_controls,
            exchange.pointer_controls,
            1,
        ],
        dtype=np.int64,
    )
    words = np.bincount(
        programs.program, weight[programs.opcode], minlength=len(rows.start)
    ).astype(np.int64)
    words[-1] = 0  # what program -1 costs
    return words[rows.send] + words[rows.receive] + exchange.phase_controls
