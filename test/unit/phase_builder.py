"""Small exchange phases for tests: a scheduler, an encoder and a machine of its own.

`schedule` places messages one after the other at the first cycle that is free, `encode`
writes control words, and `run_rows` executes control words a word at a time. All three
are plain Python on dictionaries and share nothing with the compiler or its checkers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiledialect.machine import Machine

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Message:
    """`words` words at `address` of `source`, to (tile, address) of each place."""

    source: int
    address: int
    words: int
    places: tuple[tuple[int, int], ...]


@dataclass
class Table:
    """Rows as a phase stores them."""

    tiles: Ints
    send: Ints
    receive: Ints
    receive_start: Ints
    start: Ints
    words: NDArray[np.uint32]

    def copy(self) -> Table:
        return Table(
            self.tiles.copy(),
            self.send.copy(),
            self.receive.copy(),
            self.receive_start.copy(),
            self.start.copy(),
            self.words.copy(),
        )


Event = tuple[int, int, int, int]
"""Cycle, words, address, source (-1 for a send)."""


def schedule(
    machine: Machine, messages: list[Message]
) -> tuple[dict[int, list[Event]], dict[int, list[Event]]]:
    """Sends and receives of each tile, in order of cycles."""
    busy: set[tuple[str, int, int]] = set()
    sends: dict[int, list[Event]] = {}
    receives: dict[int, list[Event]] = {}
    for m in messages:
        ports = [("out", m.source, 0)]
        ports += [("in", tile, machine.latency(tile)) for tile, _ in m.places]
        cycle = 0
        while any(
            (side, tile, cycle + shift + i) in busy
            for side, tile, shift in ports
            for i in range(m.words)
        ):
            cycle += 1
        busy |= {
            (side, tile, cycle + shift + i)
            for side, tile, shift in ports
            for i in range(m.words)
        }
        sends.setdefault(m.source, []).append((cycle, m.words, m.address, -1))
        for tile, address in m.places:
            event = (cycle + machine.latency(tile), m.words, address, m.source)
            receives.setdefault(tile, []).append(event)
    for events in (*sends.values(), *receives.values()):
        events.sort()
    return sends, receives


def send_program(events: list[Event], chunk: int) -> list[int]:
    words: list[int] = []
    clock = 0
    for cycle, count, address, _ in events:
        if cycle > clock:
            words.append(2 << 29 | cycle - clock)
        for done in range(0, count, chunk):
            part = min(chunk, count - done)
            words.append(1 << 29 | part - 1 << 19 | (address + 4 * done) // 4)
        clock = cycle + count
    return words


def receive_program(events: list[Event]) -> tuple[int, list[int]]:
    """The cycle where the clock starts, and the words."""
    words: list[int] = []
    clock = events[0][0]
    behind = -1
    for cycle, count, address, source in events:
        idle = cycle - clock
        if address != behind:
            words.append(4 << 29 | address // 4)
        if idle > 255:
            words.append(5 << 29 | idle - 255)
            idle = 255
        for done in range(0, count, 1024):
            part = min(1024, count - done)
            words.append(3 << 29 | source << 18 | idle << 10 | part - 1)
            idle = 0
        clock, behind = cycle + count, address + 4 * count
    return events[0][0], words


def encode(machine: Machine, messages: list[Message]) -> Table:
    """The rows of the messages, equal programs once."""
    sends, receives = schedule(machine, messages)
    tiles = sorted({*sends, *receives})
    programs: dict[tuple[str, tuple[int, ...]], int] = {}

    def number(role: str, words: list[int]) -> int:
        return programs.setdefault((role, tuple(words)), len(programs))

    send: list[int] = []
    receive: list[int] = []
    receive_start: list[int] = []
    for tile in tiles:
        chunk = machine.exchange.send_chunk_words
        words = send_program(sends.get(tile, []), chunk)
        send.append(number("send", words) if words else -1)
        begin, words = receive_program(receives[tile]) if tile in receives else (0, [])
        receive.append(number("receive", words) if words else -1)
        receive_start.append(begin)
    flat = [words for _, words in programs]
    return Table(
        np.array(tiles, np.int64),
        np.array(send, np.int64),
        np.array(receive, np.int64),
        np.array(receive_start, np.int64),
        np.cumsum([0, *map(len, flat)]).astype(np.int64),
        np.array([w for words in flat for w in words], np.uint32),
    )


@dataclass(frozen=True)
class Outcome:
    """What the rows do: (tile, address) of each word received → (source, address)."""

    arrived: dict[tuple[int, int], tuple[int, int]]
    length: int
    controls: int
    sends: int


class Illegal(Exception):
    """The machine would refuse these rows."""


class _Run:
    """The machine's state while it executes rows a word at a time."""

    def __init__(self, machine: Machine, table: Table) -> None:
        self.machine, self.table = machine, table
        self.put_out: dict[tuple[int, int], int] = {}
        self.arrived: dict[tuple[int, int], tuple[int, int]] = {}
        self.heard: set[tuple[int, int]] = set()
        tiles = table.tiles.tolist()
        self.controls = dict.fromkeys(tiles, machine.exchange.phase_controls)
        self.sends = 0
        self.last = 0
        if sorted(set(tiles)) != tiles:
            raise Illegal("tiles")

    def send_program(self, tile: int, words: list[int]) -> None:
        clock = 0
        for word in words:
            if word >> 29 == 1:
                clock = self.send(tile, clock, word)
            elif word >> 29 == 2:
                clock += word & (1 << 29) - 1
                self.controls[tile] += self.machine.exchange.gap_controls
            else:
                raise Illegal("opcode")

    def send(self, tile: int, clock: int, word: int) -> int:
        count = (word >> 19 & 63) + 1
        if word >> 25 & 15 or count > self.machine.exchange.send_chunk_words:
            raise Illegal("send")
        self.sends += 1
        self.controls[tile] += self.machine.exchange.send_controls
        for j in range(count):
            self.put_out[tile, clock + j] = (word & (1 << 19) - 1) * 4 + 4 * j
        return clock + count

    def receive_program(self, tile: int, clock: int, words: list[int]) -> None:
        address = None
        if clock < 0:
            raise Illegal("start")
        for word in words:
            if word >> 29 == 3:
                if address is None:
                    raise Illegal("no address")
                clock += word >> 10 & 255
                count = (word & 1023) + 1
                self.receive(tile, clock, address, word >> 18 & 2047, count)
                clock, address = clock + count, address + 4 * count
            elif word >> 29 == 4:
                if word >> 19 & 1023:
                    raise Illegal("point")
                address = (word & (1 << 19) - 1) * 4
                self.controls[tile] += self.machine.exchange.pointer_controls
            elif word >> 29 == 5:
                clock += word & (1 << 29) - 1
                self.controls[tile] += 1
            else:
                raise Illegal("opcode")

    def receive(
        self, tile: int, clock: int, address: int, source: int, count: int
    ) -> None:
        self.controls[tile] += self.machine.exchange.source_controls
        self.last = max(self.last, clock + count)
        for j in range(count):
            sent = (source, clock + j - self.machine.latency(tile))
            place = (tile, address + 4 * j)
            if sent not in self.put_out or place in self.arrived:
                raise Illegal("silence or twice")
            self.heard.add(sent)
            self.arrived[place] = (source, self.put_out[sent])

    def outcome(self) -> Outcome:
        if self.heard != set(self.put_out):
            raise Illegal("unheard")
        most = max(self.controls.values(), default=0)
        return Outcome(self.arrived, max(self.last, most), most, self.sends)


def run_rows(machine: Machine, table: Table) -> Outcome:
    """Executes the rows a word at a time. Raises Illegal."""
    run = _Run(machine, table)
    tiles = table.tiles.tolist()
    if any(table.send[i] < 0 and table.receive[i] < 0 for i in range(len(tiles))):
        raise Illegal("idle tile")
    for i, tile in enumerate(tiles):
        if table.send[i] >= 0:
            run.send_program(tile, _program(table, int(table.send[i])))
    for i, tile in enumerate(tiles):
        if table.receive[i] >= 0:
            begin = int(table.receive_start[i])
            run.receive_program(tile, begin, _program(table, int(table.receive[i])))
    return run.outcome()


def _program(table: Table, number: int) -> list[int]:
    if number >= len(table.start) - 1:
        raise Illegal("program")
    return table.words[table.start[number] : table.start[number + 1]].tolist()
