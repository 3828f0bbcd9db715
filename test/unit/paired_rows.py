"""Phases with items of two words, for both readers of rows: written, run and judged
here one item at a time, by code that shares nothing with the compiler or the readers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from handmade import pause, point, receive, rows, send, wait

from tiledialect.machine import Machine
from tiledialect.runtime.package import Rows

LEAST = 4
PAIRED = Machine.from_fields(
    {"base": "mini16", "exchange": {"pair_tiles": 2, "pair_least_items": LEAST}}
)


def send_pair(address: int, items: int) -> int:
    return 6 << 29 | items - 1 << 19 | address // 4


def receive_pair(source: int, items: int, idle: int = 0) -> int:
    return 7 << 29 | source << 18 | idle << 10 | items - 1


@dataclass(frozen=True)
class Part:
    """A message as it is sent: `words` from byte `read` of `x` on `source` to byte
    `written` of `y` on each of `tiles`, from `cycle` on (-1: as early as can be)."""

    source: int
    read: int
    words: int
    tiles: tuple[int, ...]
    written: int
    double: bool = False
    cycle: int = -1

    @property
    def cycles(self) -> int:
        return self.words // 2 if self.double else self.words

    def slots(self, machine: Machine, cycle: int) -> set[tuple[str, int, int]]:
        """The ports that the part takes when it starts in that cycle."""
        out = [self.source, self.source ^ 1] if self.double else [self.source]
        ports = [("out", tile, cycle) for tile in out]
        ports += [("in", tile, cycle + machine.latency(tile)) for tile in self.tiles]
        return {
            (side, tile, first + i)
            for side, tile, first in ports
            for i in range(self.cycles)
        }


def scheduled(machine: Machine, parts: Iterable[Part]) -> list[Part]:
    """The parts with cycles, each at the first in which its ports are free."""
    busy: set[tuple[str, int, int]] = set()
    placed: list[Part] = []
    for part in parts:
        cycle = max(0, part.cycle)
        while part.cycle < 0 and part.slots(machine, cycle) & busy:
            cycle += 1
        busy |= part.slots(machine, cycle)
        placed.append(replace(part, cycle=cycle))
    return placed


def encoded(machine: Machine, parts: Iterable[Part], x: int, y: int) -> Rows:
    """The rows of parts with cycles; `x` and `y` are where the two buffers lie."""
    sends: dict[int, list[int]] = {}
    receives: dict[int, tuple[int, list[int]]] = {}
    free: dict[tuple[str, int], int] = {}
    behind: dict[int, int] = {}
    for part in sorted(parts, key=lambda part: part.cycle):
        program = sends.setdefault(part.source, [])
        gap = part.cycle - free.get(("out", part.source), 0)
        program += [wait(gap)] if gap else []
        write, step = (send_pair, 8) if part.double else (send, 4)
        for done in range(0, part.cycles, 64):
            count = min(64, part.cycles - done)
            program.append(write(x + part.read + step * done, count))
        free["out", part.source] = part.cycle + part.cycles
        for tile in part.tiles:
            arrival = part.cycle + machine.latency(tile)
            _, program = receives.setdefault(tile, (arrival, []))
            gap = arrival - free.get(("in", tile), arrival)
            program += [pause(gap - 255)] if gap > 255 else []
            if behind.get(tile) != y + part.written:
                program.append(point(y + part.written))
            take = receive_pair if part.double else receive
            for done in range(0, part.cycles, 1024):
                count = min(1024, part.cycles - done)
                program.append(take(part.source, count, 0 if done else min(gap, 255)))
            free["in", tile] = arrival + part.cycles
            behind[tile] = y + part.written + 4 * part.words
    return rows(sends, receives)


class Illegal(Exception):
    """The machine would refuse these rows."""


Item = tuple[int, int]
"""Address and words."""


@dataclass
class Outcome:
    """What rows do: (tile, address) of each word received → (source, address)."""

    out: dict[tuple[int, int], Item]  # by tile and cycle
    taken: dict[tuple[int, int], tuple[int, int, int]]  # source, address, words
    controls: dict[int, int]

    @property
    def arrived(self) -> dict[tuple[int, int], tuple[int, int]]:
        return self._arrived

    @property
    def length(self) -> int:
        last = max((cycle + 1 for _, cycle in self.taken), default=0)
        return max(last, *self.controls.values(), 0)

    def settle(self, machine: Machine) -> None:
        """Find what arrives where. Raises Illegal for a rule that is broken."""
        self._arrived: dict[tuple[int, int], tuple[int, int]] = {}
        heard: set[tuple[int, int]] = set()
        for (tile, cycle), (source, address, words) in self.taken.items():
            sent = (source, cycle - machine.latency(tile))
            if self.out.get(sent, (0, 0))[1] != words:
                raise Illegal("silence, or another size")
            if words == 2:
                self._check_taken(tile, cycle)
            heard.add(sent)
            for i in range(words):
                place = (tile, address + 4 * i)
                if place in self._arrived:
                    raise Illegal("twice")
                self._arrived[place] = (source, self.out[sent][0] + 4 * i)
        if heard != set(self.out):
            raise Illegal("unheard")
        self._check_put_out(machine)

    def _check_taken(self, tile: int, cycle: int) -> None:
        source, address, _ = self.taken[tile, cycle]
        other, _, size = self.taken.get((tile ^ 1, cycle), (-1, 0, 0))
        if (other, size) != (source, 2):
            raise Illegal("half a pair")
        if tile // 2 == source // 2:
            raise Illegal("own pair")
        if address % 8:
            raise Illegal("odd")

    def _check_put_out(self, machine: Machine) -> None:
        for tile, cycle in self.out:
            address, words = self.out[tile, cycle]
            if words == 1:
                continue
            if tile ^ 1 >= machine.tiles or (tile ^ 1, cycle) in self.out:
                raise Illegal("lane")
            if address % 8:
                raise Illegal("odd")
            if self.out.get((tile, cycle - 1)) == (address - 8, 2):
                continue
            items = 1
            while self.out.get((tile, cycle + items)) == (address + 8 * items, 2):
                items += 1
            if items < machine.exchange.pair_least_items:
                raise Illegal("few")


def run_rows(machine: Machine, table: Rows) -> Outcome:
    """Executes rows an item at a time. Raises Illegal."""
    found = Outcome({}, {}, {})
    programs = len(table.start) - 1
    used = {*table.send.tolist(), *table.receive.tolist()} - {-1}
    if used != set(range(programs)) or {*table.send} & {*table.receive} - {-1}:
        raise Illegal("programs")
    for i, tile in enumerate(table.tiles.tolist()):
        found.controls[tile] = machine.exchange.phase_controls
        for numbers, run in ((table.send, _send), (table.receive, _receive)):
            n = int(numbers[i])
            words = table.words[table.start[n] : table.start[n + 1]].tolist()
            first = int(table.receive_start[i]) if run is _receive else 0
            if n >= 0:
                run(machine, found, tile, first, words)
    found.settle(machine)
    return found


def _send(
    machine: Machine, found: Outcome, tile: int, clock: int, program: list[int]
) -> None:
    for word in program:
        found.controls[tile] += 1
        if word >> 29 == 2:
            clock += word & (1 << 29) - 1
            continue
        if word >> 29 not in (1, 6) or word >> 25 & 15:
            raise Illegal("no send")
        size = 2 if word >> 29 == 6 else 1
        if size > machine.exchange.pair_tiles:
            raise Illegal("no pairs")
        address = (word & (1 << 19) - 1) * 4
        for i in range((word >> 19 & 63) + 1):
            found.out[tile, clock] = (address + 4 * size * i, size)
            clock += 1


def _receive(
    machine: Machine, found: Outcome, tile: int, clock: int, program: list[int]
) -> None:
    address = -1
    for word in program:
        found.controls[tile] += 1
        if word >> 29 == 5:
            clock += word & (1 << 29) - 1
        elif word >> 29 == 4:
            if word >> 19 & 1023:
                raise Illegal("no point")
            address = (word & (1 << 19) - 1) * 4
        elif word >> 29 in (3, 7) and address >= 0:
            size = 2 if word >> 29 == 7 else 1
            if size > machine.exchange.pair_tiles:
                raise Illegal("no pairs")
            clock += word >> 10 & 255
            for _ in range((word & 1023) + 1):
                found.taken[tile, clock] = (word >> 18 & 2047, address, size)
                clock, address = clock + 1, address + 4 * size
        else:
            raise Illegal("no receive")


def longest_idle(table: Rows) -> int:
    """What the slow machine would have to walk through."""
    idle = [int(w) & (1 << 29) - 1 for w in table.words if int(w) >> 29 in (2, 5)]
    return max(idle, default=0)
