"""Rows: the control words of each tile's part in an exchange phase.

A tile has a send program and a receive program, lists of 32-bit words with the opcode
in bits 31..29. Equal programs of a phase are stored once.

    SEND     bits 24..19 words - 1 (1..64), bits 18..0 address / 4
    WAIT     bits 28..0 idle cycles before the next send
    RECEIVE  bits 28..18 source tile, 17..10 idle cycles, 9..0 words - 1 (1..1024)
    POINT    bits 18..0 address / 4 of the next word received
    PAUSE    bits 28..0 more idle cycles before the next receive
    SEND_PAIR     as SEND, of items of 8 bytes (1..64)
    RECEIVE_PAIR  as RECEIVE, of items of 8 bytes (1..1024)

An item of 8 bytes is two words, sent in one cycle by a tile that borrows the send lane
of its partner (tile ^ 1).
A send program starts at cycle 0. A receive program starts at its tile's
`receive_start` and counts arrivals; idle cycles count from the end of the last receive.
Words received without a POINT lie behind the last one. Addresses are bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiledialect.machine import Exchange
from tiledialect.row_sharing import share, take
from tiledialect.sorting import order_of

Ints = NDArray[np.int64]
Words = NDArray[np.uint32]
Flags = NDArray[np.bool_]

SEND, WAIT, RECEIVE, POINT, PAUSE, SEND_PAIR, RECEIVE_PAIR = 1, 2, 3, 4, 5, 6, 7
OPCODE_SHIFT = 29
SEND_WORDS = 64
RECEIVE_WORDS = 1024
RECEIVE_IDLE = 255
TILE_LIMIT = 1 << 11
ADDRESS_LIMIT = 1 << 21
CYCLE_LIMIT = 1 << 29
_LOW_ADDRESS = (1 << 19) - 1
_LOW_CYCLES = CYCLE_LIMIT - 1


@dataclass(frozen=True)
class Sends:
    """Words that leave a tile, one a cycle from `cycle` on, read from `address` on; two
    a cycle, the one at the lower address first, where `double` is true (None: never).
    """

    tile: Ints
    cycle: Ints
    address: Ints
    words: Ints
    double: Flags | None = None


@dataclass(frozen=True)
class Receives:
    """Words that arrive at a tile from `source`, one a cycle from `cycle` on, or two
    where `double` is true (None: never)."""

    tile: Ints
    cycle: Ints
    source: Ints
    address: Ints
    words: Ints
    double: Flags | None = None


@dataclass(frozen=True)
class Rows:
    """The programs of all tiles that take part in a phase."""

    tiles: Ints
    """(t,) tiles that take part, ascending."""
    send: Ints
    """(t,) number of the send program, or -1."""
    receive: Ints
    """(t,) number of the receive program, or -1."""
    receive_start: Ints
    """(t,) cycle of the first arrival; 0 without a receive program."""
    start: Ints
    """(p + 1,) where each program begins in `words`."""
    words: Words

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and all(
            np.array_equal(mine, theirs)
            for mine, theirs in zip(self.arrays(), other.arrays(), strict=True)
        )

    def __hash__(self) -> int:
        return hash((self.tiles.size, self.words.tobytes()))

    def arrays(self) -> tuple[Ints | Words, ...]:
        """The fields in order."""
        return tuple(vars(self).values())

    @property
    def programs(self) -> int:
        return int(self.start.size) - 1


class RowsError(ValueError):
    """Rows that break the format, or a phase that the format cannot say."""


def check_rows(rows: Rows) -> None:
    """Refuses fields that do not belong together; raises RowsError."""
    tiles = rows.tiles.size
    if any(a.size != tiles for a in (rows.send, rows.receive, rows.receive_start)):
        raise RowsError(f"{tiles} tiles need as many program numbers")
    if np.any(np.diff(rows.tiles) <= 0) or np.any(rows.tiles < 0):
        raise RowsError("tiles must grow")
    if rows.start.size < 1 or rows.start[0] or rows.start[-1] != rows.words.size:
        raise RowsError(f"programs must cover the {rows.words.size} words")
    if np.any(np.diff(rows.start) <= 0):
        raise RowsError("every program has at least one word")
    numbers = np.concatenate([rows.send, rows.receive])
    if np.any(numbers < -1) or np.any(numbers >= rows.programs):
        raise RowsError(f"a program number is none of the {rows.programs} programs")
    if np.any(rows.receive_start < 0) or np.any(rows.receive_start >= CYCLE_LIMIT):
        raise RowsError("a receive program starts at an impossible cycle")
    _check_opcodes(rows)


def _check_opcodes(rows: Rows) -> None:
    """A send program sends and waits, a receive program receives, points, pauses."""
    opcode = rows.words >> OPCODE_SHIFT
    sends = np.isin(opcode, (SEND, WAIT, SEND_PAIR))
    receives = np.isin(opcode, (RECEIVE, POINT, PAUSE, RECEIVE_PAIR))
    if not np.all(sends | receives):
        raise RowsError("a word has no known opcode")
    for numbers, allowed in ((rows.send, sends), (rows.receive, receives)):
        used = np.zeros(rows.programs, np.bool_)
        used[numbers[numbers >= 0]] = True
        if not np.all(allowed[np.repeat(used, np.diff(rows.start))]):
            raise RowsError("a program mixes sending and receiving")


# Encoding


def encode(sends: Sends, receives: Receives, send_words: int = SEND_WORDS) -> Rows:
    """The rows of a phase in which these words move, a SEND for up to `send_words`
    cycles.

    The runs may come in any order. Raises RowsError where a tile sends or receives
    twice in one cycle; what it lends to its partner is not looked at.
    """
    sent_tile, sent_words = _encode_sends(sends, send_words)
    received_tile, received_words, first = _encode_receives(receives)
    tiles = np.union1d(
        sent_tile[_firsts(sent_tile)], received_tile[_firsts(received_tile)]
    )
    # One program a tile and direction: a tile's send before its receive.
    key = np.concatenate([sent_tile * 2, received_tile * 2 + 1])
    order = order_of(key)
    key = key[order]
    words = np.concatenate([sent_words, received_words])[order]
    begin = _firsts(key)
    keys, start = key[begin], np.append(begin, words.size)
    number, start, words = share(start, words)
    send = np.full(tiles.size, -1, np.int64)
    receive = np.full(tiles.size, -1, np.int64)
    row = np.searchsorted(tiles, keys // 2)
    is_send = keys % 2 == 0
    send[row[is_send]] = number[is_send]
    receive[row[~is_send]] = number[~is_send]
    receive_start = np.zeros(tiles.size, np.int64)
    receive_start[row[~is_send]] = first
    return Rows(tiles, send, receive, receive_start, start, words)


def spread(rows: Rows, first: Ints, delay: Ints) -> Rows:
    """Each tile t runs the receive program of tile first[t], delay[t] cycles later; of
    those with -1 there none has one. The rows have programs of first tiles alone."""
    tiles = np.union1d(rows.tiles, np.flatnonzero(first >= 0))
    send = np.full(tiles.size, -1, np.int64)
    send[np.searchsorted(tiles, rows.tiles)] = rows.send
    hears = first[tiles] >= 0
    place = np.searchsorted(rows.tiles, first[tiles][hears])
    receive = np.full(tiles.size, -1, np.int64)
    receive[hears] = rows.receive[place]
    start = np.zeros(tiles.size, np.int64)
    start[hears] = rows.receive_start[place] + delay[tiles][hears]
    return Rows(tiles, send, receive, start, rows.start, rows.words)


def _firsts(ascending: Ints) -> Ints:
    """Where each distinct value of a sorted array begins."""
    return np.flatnonzero(np.diff(ascending, prepend=-1))


def _items(runs: Sends | Receives) -> tuple[Ints, Ints]:
    """(n,) 1 where the items of a run are of two words, else 0; and its items."""
    if runs.double is None:
        return np.zeros_like(runs.words), runs.words
    pair = runs.double.astype(np.int64)
    if np.any((runs.words | runs.address >> 2) & pair):
        raise RowsError("a run of 64-bit items is no whole number of 8-byte words")
    return pair, runs.words >> pair


def _by_tile_and_cycle(tile: Ints, cycle: Ints, items: Ints, what: str) -> Ints:
    """The order of events on each tile, once it is clear that no two overlap."""
    if np.any(tile < 0) or np.any(tile >= TILE_LIMIT - 1):
        raise RowsError(f"a tile that {what} has no number below {TILE_LIMIT - 1}")
    if np.any(items < 1) or np.any(cycle < 0) or np.any(cycle + items > CYCLE_LIMIT):
        raise RowsError(f"a run that a tile {what} has no words or no cycle")
    order = order_of(tile, cycle)
    tile, cycle, items = tile[order], cycle[order], items[order]
    late = (cycle[1:] < (cycle + items)[:-1]) & (tile[1:] == tile[:-1])
    if late.any():
        at = int(np.flatnonzero(late)[0])
        raise RowsError(f"tile {tile[at]} {what} two words at cycle {cycle[at + 1]}")
    return order


def _chunks(items: Ints, most: int) -> tuple[Ints, Ints, Ints]:
    """Runs cut into chunks of at most `most` items: run, items before, items."""
    count = -(-items // most)
    run = np.repeat(np.arange(items.size), count)
    before = (np.arange(run.size) - np.repeat(np.cumsum(count) - count, count)) * most
    return run, before, np.minimum(items[run] - before, most)


def _word_addresses(address: Ints) -> Ints:
    if np.any(address % 4) or np.any(address < 0) or np.any(address >= ADDRESS_LIMIT):
        raise RowsError("an address is no word of a tile's memory")
    return address // 4


def _gaps(tile: Ints, cycle: Ints, items: Ints) -> tuple[Flags, Ints]:
    """Of events in order: which is its tile's first, and idle cycles before each."""
    first = np.ones(tile.size, np.bool_)
    first[1:] = tile[1:] != tile[:-1]
    idle = cycle.copy()
    idle[1:] -= np.where(first[1:], 0, (cycle + items)[:-1])
    return first, idle


def _encode_sends(sends: Sends, most: int) -> tuple[Ints, Words]:
    """Tile and word of every send program, program after program."""
    pair, items = _items(sends)
    order = _by_tile_and_cycle(sends.tile, sends.cycle, items, "sends")
    run, before, items = _chunks(items[order], most)
    tile, cycle = sends.tile[order][run], sends.cycle[order][run] + before
    pair = pair[order][run]
    address = _word_addresses(sends.address)[order][run] + (before << pair)
    _, idle = _gaps(tile, cycle, items)
    waits = np.where(idle > 0, WAIT << OPCODE_SHIFT | idle, 0)
    opcode = SEND + (SEND_PAIR - SEND) * pair
    send = opcode << OPCODE_SHIFT | (items - 1) << 19 | address
    return _flatten(tile, [waits, send])


def _encode_receives(receives: Receives) -> tuple[Ints, Words, Ints]:
    """Tile and word of every receive program, and each one's first cycle."""
    pair, items = _items(receives)
    order = _by_tile_and_cycle(receives.tile, receives.cycle, items, "receives")
    tile, cycle = receives.tile[order], receives.cycle[order]
    source, words = receives.source[order], receives.words[order]
    pair, items = pair[order], items[order]
    if np.any(source < 0) or np.any(source >= TILE_LIMIT):
        raise RowsError(f"a source has no number below {TILE_LIMIT}")
    address = _word_addresses(receives.address)[order]
    first, idle = _gaps(tile, cycle, items)
    jumps = np.ones(tile.size, np.bool_)
    jumps[1:] = address[1:] != (address + words)[:-1]
    begins = first | jumps | (idle > 0)
    begins[1:] |= (source[1:] != source[:-1]) | (pair[1:] != pair[:-1])
    merged = np.flatnonzero(begins)
    if merged.size:
        items = np.add.reduceat(items, merged)
    start = cycle[first]
    idle = np.where(first, 0, idle)[merged]
    run, before, items = _chunks(items, RECEIVE_WORDS)
    head = before == 0
    idle = np.where(head, idle[run], 0)
    run = merged[run]
    short = np.where(idle <= RECEIVE_IDLE, idle, 0)
    jumps = head & (first | jumps)[run]
    points = np.where(jumps, POINT << OPCODE_SHIFT | address[run], 0)
    pauses = np.where(idle > RECEIVE_IDLE, PAUSE << OPCODE_SHIFT | idle, 0)
    opcode = RECEIVE + (RECEIVE_PAIR - RECEIVE) * pair[run]
    receive = opcode << OPCODE_SHIFT | source[run] << 18 | short << 10 | (items - 1)
    tile, control = _flatten(tile[run], [points, pauses, receive])
    return tile, control, start


def _flatten(tile: Ints, columns: list[Ints]) -> tuple[Ints, Words]:
    """The words that are not 0, row after row, each with its tile."""
    table = np.empty((tile.size, len(columns)), np.uint32)
    for i, column in enumerate(columns):
        table[:, i] = column
    chosen = table != 0
    return np.repeat(tile, np.count_nonzero(chosen, axis=1)), table[chosen]


# Decoding


def decode(rows: Rows) -> tuple[Sends, Receives]:
    """The words that move, tile after tile, one entry a SEND or RECEIVE word."""
    tile, cycle, word = _expand(rows, rows.send, np.zeros(rows.tiles.size, np.int64))
    opcode = word >> OPCODE_SHIFT
    chosen = (opcode == SEND) | (opcode == SEND_PAIR)
    tile, cycle, word = tile[chosen], cycle[chosen], word[chosen]
    address, pair = (word & _LOW_ADDRESS) * 4, opcode[chosen] == SEND_PAIR
    sent = (word >> 19 & 63) + 1 << pair
    sends = Sends(tile, cycle, address, sent, pair if pair.any() else None)
    tile, cycle, word = _expand(rows, rows.receive, rows.receive_start)
    address, received = _places(word)
    chosen = received > 0
    word, pair = word[chosen], word[chosen] >> OPCODE_SHIFT == RECEIVE_PAIR
    receives = Receives(
        tile[chosen],
        cycle[chosen],
        word >> 18 & 2047,
        address[chosen],
        received[chosen],
        pair if pair.any() else None,
    )
    return sends, receives


def _places(word: Ints) -> tuple[Ints, Ints]:
    """Of each word of receive programs: the address it receives at, and words then."""
    opcode = word >> OPCODE_SHIFT
    pair = opcode == RECEIVE_PAIR
    received = np.where((opcode == RECEIVE) | pair, (word & 1023) + 1 << pair, 0)
    done = np.cumsum(received) - received
    # A POINT holds until the next one, or until the tile's program ends.
    points = np.maximum.accumulate(
        np.where(opcode == POINT, np.arange(word.size), 0), dtype=np.int64
    )
    base = (word & _LOW_ADDRESS) - done
    return (base[points] + done) * 4 if word.size else done, received


def _expand(rows: Rows, numbers: Ints, begin: Ints) -> tuple[Ints, Ints, Ints]:
    """Every word of the tiles' programs: its tile, the cycle it acts at, itself."""
    has = np.flatnonzero(numbers >= 0)
    start, words = take(rows.start, rows.words, numbers[has])
    length = np.diff(start)
    word = words.astype(np.int64)
    opcode = word >> OPCODE_SHIFT
    sends = (opcode == SEND) | (opcode == SEND_PAIR)
    receives = (opcode == RECEIVE) | (opcode == RECEIVE_PAIR)
    idle = np.where((opcode == WAIT) | (opcode == PAUSE), word & _LOW_CYCLES, 0)
    idle += np.where(receives, word >> 10 & 255, 0)
    busy = np.where(sends, (word >> 19 & 63) + 1, 0)
    busy += np.where(receives, (word & 1023) + 1, 0)
    end = np.cumsum(idle + busy)
    before = np.repeat(np.append(0, end)[start[:-1]] - begin[has], length)
    return np.repeat(rows.tiles[has], length), end - busy - before, word


# Sizes and addresses


def control_words(rows: Rows, exchange: Exchange) -> Ints:
    """(t,) control words that each tile of the rows issues in the phase."""
    opcode = rows.words >> OPCODE_SHIFT
    price = np.zeros(8, np.int64)
    price[SEND] = price[SEND_PAIR] = exchange.send_controls
    price[WAIT] = exchange.gap_controls
    price[RECEIVE] = price[RECEIVE_PAIR] = exchange.source_controls
    price[POINT] = exchange.pointer_controls
    price[PAUSE] = 1
    total = np.append(0, np.cumsum(price[opcode]))
    program = np.append(np.diff(total[rows.start]), 0)  # entry -1: no program
    return exchange.phase_controls + program[rows.send] + program[rows.receive]


def window_bases(buffer_bytes: Sequence[int]) -> Ints:
    """Where the buffers of a phase's window begin.

    They lie side by side, each at a multiple of 16 and followed by a guard word at
    least, so that no run of one continues in another, and that what is a multiple of 8
    in a buffer is one in the window. Rows name these addresses until placement.
    """
    ends = np.cumsum([0, *((size + 3) // 4 * 4 + 19 & ~15 for size in buffer_bytes)])
    return ends[:-1].astype(np.int64)


def relocate(rows: Rows, bases: Ints, sizes: Ints, addresses: Ints) -> Rows:
    """The rows with every address moved from its buffer's base to its address.

    Buffer i took bytes [bases[i], bases[i] + sizes[i]) of the window, bases ascending.
    Raises RowsError where a 64-bit item would lie at no multiple of 8.
    """
    opcode = rows.words >> OPCODE_SHIFT
    at = np.flatnonzero((opcode == SEND) | (opcode == POINT) | (opcode == SEND_PAIR))
    word = rows.words[at].astype(np.int64)
    old = (word & _LOW_ADDRESS) * 4
    buffer = np.searchsorted(bases, old, side="right") - 1
    if np.any(buffer < 0) or np.any(old >= (bases + sizes)[buffer]):
        raise RowsError("an address lies in no buffer of the phase")
    new = old - bases[buffer] + addresses[buffer]
    words = rows.words.copy()
    words[at] = (word & ~_LOW_ADDRESS | _word_addresses(new)).astype(np.uint32)
    if np.any(opcode >= SEND_PAIR):
        _check_pairs(words.astype(np.int64))
    return Rows(
        rows.tiles, rows.send, rows.receive, rows.receive_start, rows.start, words
    )


def _check_pairs(word: Ints) -> None:
    """Refuses words of programs that move 64-bit items at no multiple of 8."""
    opcode = word >> OPCODE_SHIFT
    sent = (word & _LOW_ADDRESS)[opcode == SEND_PAIR]
    address, _ = _places(word)
    if np.any(sent % 2) or np.any(address[opcode == RECEIVE_PAIR] % 8):
        raise RowsError("a 64-bit item lies at no multiple of 8 bytes")
