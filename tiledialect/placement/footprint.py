"""Small footprints: each box where it adds the fewest new bytes to its tiles.

Reads   Boxes, their conflict matrix.
Writes  a Room whose footprint (distinct bytes ever occupied, the most over
        classes) is small; holes between boxes cost nothing.
Holds   every address keeps regions, pins, alignment, elements and lifetimes.

Method: boxes go in one by one, over several orders; each takes the free place
that makes the largest footprint least, among the ends of free gaps and places
flush with bytes already occupied. Then some boxes are taken out and put back in
another order, kept when nothing gets worse. Effort counts boxes put in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.exact import Exact
from tiledialect.placement.first_fit import Room, partners_of
from tiledialect.placement.problem import Ints

STARTS = 3  # fills that are worked on

Lean = Callable[[int, Ints], Ints]  # a box and equally good places: least goes first


@dataclass
class Best:
    """The best full placement so far, and the boxes put in to find it."""

    room: Room
    address: Ints | None = None
    footprint: int = -1
    moves: int = 0
    fills: list[tuple[int, Ints]] = field(default_factory=list[tuple[int, Ints]])

    def take(self, address: Ints) -> None:
        """Keeps a full placement if it is better than what there is."""
        footprint = footprint_of(self.room.holding(address))
        # Fills of one footprint are most often the same placement.
        if all(footprint != other for other, _ in self.fills):
            self.fills.append((footprint, address.copy()))
        if self.address is None or footprint < self.footprint:
            self.address, self.footprint = address.copy(), footprint

    def best_fills(self, count: int) -> list[Ints]:
        """The addresses of the best few fills that differ."""
        return [address for _, address in sorted(self.fills, key=_first)[:count]]

    def exact(self) -> Exact:
        """What an exact search has to beat."""
        return Exact(self.address, self.footprint)


def _first(fill: tuple[int, Ints]) -> int:
    return fill[0]


class Cover:
    """Occupied bytes of one class as disjoint stretches, with prefix sums."""

    def __init__(self, start: Ints, end: Ints) -> None:
        order = np.argsort(start)
        start, end = start[order], end[order]
        reach = np.maximum.accumulate(end)
        opens = np.ones(len(start), np.bool_)
        opens[1:] = start[1:] > reach[:-1]
        borders = np.flatnonzero(opens)
        self.start = start[borders]
        self.end = np.append(reach[borders[1:] - 1], reach[-1:])
        lengths = self.end - self.start
        self.before = np.concatenate([[0], np.cumsum(lengths)])
        self.total = int(self.before[-1])

    def below(self, address: Ints) -> Ints:
        """Occupied bytes below each address."""
        index = np.searchsorted(self.start, address, side="right")
        if not len(self.start):
            return np.zeros(len(address), np.int64)
        last = np.maximum(index - 1, 0)
        inside = np.minimum(address, self.end[last]) - self.start[last]
        return np.where(index > 0, self.before[last] + inside, 0)


def covers(room: Room) -> list[Cover]:
    """What is occupied now, for each of the largest classes."""
    boxes = room.boxes
    found: list[Cover] = []
    for held in room.largest:
        chosen = room.placed & held
        start = room.address[chosen]
        found.append(Cover(start, start + boxes.padded[chosen]))
    return found


def footprint_of(room: Room) -> int:
    """The most distinct bytes that any class occupies."""
    return max((cover.total for cover in covers(room)), default=0)


def candidates(room: Room, box: int, cover: list[Cover]) -> Ints:
    """Allowed addresses of a box worth trying, ascending."""
    boxes = room.boxes
    gaps = room.gaps(box)
    if not len(gaps.start):
        return gaps.start
    size, align = boxes.bytes[box], boxes.align[box]
    phase, padded = boxes.phase[box], boxes.padded[box]
    placed = np.flatnonzero(room.placed)
    start = room.address[placed]
    end = start + boxes.padded[placed]
    upward = [gaps.start, boxes.edges, start, end]
    downward = [gaps.end - size, boxes.edges - padded, start - padded, end - padded]
    up = np.concatenate(upward)
    down = np.concatenate(downward)
    places = np.unique(
        np.concatenate([up + (phase - up) % align, down - (down - phase) % align])
    )
    gap = np.searchsorted(gaps.start, places, side="right") - 1
    fits = (gap >= 0) & (places + size <= gaps.end[np.maximum(gap, 0)])
    return places[fits]


def put_best(room: Room, box: int, lean: Lean) -> bool:
    """Puts a box where the largest footprint grows least; False: no place."""
    cover = covers(room)
    places = candidates(room, box, cover)
    if not len(places):
        return False
    worst = np.zeros(len(places), np.int64)
    added = np.zeros(len(places), np.int64)
    padded = room.boxes.padded[box]
    for one, held in zip(cover, room.largest, strict=True):
        if not held[box]:
            continue
        new = padded - (one.below(places + padded) - one.below(places))
        worst = np.maximum(worst, one.total + new)
        added += new
    rest = max(one.total for one in cover)
    ties = lean(box, places)
    choice = np.lexsort([ties, added, np.maximum(worst, rest)])[0]
    room.put(box, int(places[choice]))
    return True


def low(_: int, places: Ints) -> Ints:
    """Of equally good places the lowest."""
    return places


def sides(boxes: Boxes) -> Lean:
    """Element partners lean to opposite ends, as far as two ends can do."""
    partners = partners_of(boxes)
    side = np.full(len(boxes), -1, np.int64)
    for seed in range(len(boxes)):
        if side[seed] >= 0:
            continue
        side[seed] = 0
        queue = [seed]
        for box in queue:
            for other in partners[box]:
                if side[other] < 0:
                    side[other] = 1 - side[box]
                    queue.append(other)
    return lambda box, places: -places if side[box] == 1 else places


def fill(room: Room, order: Ints, lean: Lean) -> bool:
    """Puts boxes in by the order; False when one finds no place."""
    return all(put_best(room, box, lean) for box in order.tolist())


def fill_all(best: Best, order_list: list[Ints], goal: int, moves: int) -> None:
    """Fills by each order, the partners on two sides or all low, until a footprint
    is `goal` or `moves` boxes were put in."""
    boxes = best.room.boxes
    for order in order_list:
        for lean in (sides(boxes), low):
            if best.moves >= moves or 0 <= best.footprint <= goal:
                return
            room = best.room.emptied()
            full = fill(room, order, lean)
            best.moves += int(room.placed.sum())
            if full:
                best.take(room.address)


def improve(best: Best, goal: int, moves: int) -> None:
    """Works on the best few fills in turn, as many moves on each."""
    random = np.random.default_rng(0)
    moves += best.moves
    starts = best.best_fills(STARTS)
    for number, address in enumerate(starts):
        share = (moves - best.moves) // (len(starts) - number)
        _mend(best, address, goal, best.moves + share, random)


def _mend(
    best: Best, address: Ints, goal: int, moves: int, random: np.random.Generator
) -> None:
    """Takes boxes out and puts them back elsewhere, while moves last."""
    boxes = best.room.boxes
    free = np.flatnonzero(boxes.last > boxes.first)
    score = _score(best.room.holding(address))

    def anywhere(_: int, places: Ints) -> Ints:
        return random.permutation(len(places))

    while best.moves < moves and best.footprint > goal and len(free):
        room = best.room.holding(address)
        out = _take_out(room, random, free)
        best.moves += len(out)
        if not fill(room, out, anywhere if random.integers(2) else low):
            continue
        trial = _score(room)
        if trial <= score:
            address, score = room.address, trial
            best.take(address)


def _score(room: Room) -> tuple[int, int]:
    """The footprint, then the bytes occupied on all classes together."""
    totals = [cover.total for cover in covers(room)]
    return max(totals), sum(totals)


def _take_out(room: Room, random: np.random.Generator, free: Ints) -> Ints:
    """Lifts a few boxes that lie close together; larger ones go back first."""
    boxes = room.boxes
    count = int(random.integers(2, 9))
    seed = int(random.choice(free))
    if random.integers(2):
        distance = np.abs(room.address[free] - room.address[seed])
        chosen = free[np.argsort(distance, kind="stable")[:count]]
    else:
        chosen = random.choice(free, min(count, len(free)), replace=False)
    for box in chosen.tolist():
        room.lift(box)
    noise = random.random(len(chosen)) * (1 + int(boxes.bytes[chosen].max()))
    return chosen[np.argsort(-(boxes.bytes[chosen] + noise), kind="stable")]
