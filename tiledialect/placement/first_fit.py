"""First fit: each box at the best free place, in a given order.

Reads   Boxes and their conflict matrix (problems of up to some thousand boxes).
Writes  addresses, -1 where a box found no place.
Holds   every address keeps regions, pins, alignment, elements and lifetimes.

The free places of a box are the gaps between the stretches that boxes in its way
take; a partner that it must stay apart from takes all elements that it touches.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.live import crowding, largest_classes, widths
from tiledialect.placement.problem import Bools, Ints

Fit = Literal["lowest", "tightest"]


@dataclass(frozen=True)
class Gaps:
    """Free stretches [start, end) inside the region of one box, from low to high."""

    start: Ints
    end: Ints


def partners_of(boxes: Boxes) -> list[list[int]]:
    """The boxes that each box must stay apart from."""
    partners: list[list[int]] = [[] for _ in range(len(boxes))]
    pairs: list[list[int]] = boxes.apart.tolist()
    for one, two in pairs:
        partners[one].append(two)
        partners[two].append(one)
    return partners


class Room:
    """A growing placement that answers where a box may still lie."""

    def __init__(self, boxes: Boxes, conflicts: Bools) -> None:
        self.boxes = boxes
        self.conflicts = conflicts
        self.partners = partners_of(boxes)
        self.largest: Bools = largest_classes(boxes)
        self.address: Ints = np.full(len(boxes), -1, np.int64)
        self.placed: Bools = np.zeros(len(boxes), np.bool_)

    def holding(self, address: Ints) -> Room:
        """A room for the same boxes with these addresses, -1 = not placed."""
        room = copy(self)
        room.address = address.copy()
        room.placed = address >= 0
        return room

    def emptied(self) -> Room:
        """A room for the same boxes with nothing placed."""
        return self.holding(np.full(len(self.boxes), -1, np.int64))

    def put(self, box: int, address: int) -> None:
        self.address[box] = address
        self.placed[box] = True

    def lift(self, box: int) -> None:
        self.address[box] = -1
        self.placed[box] = False

    def gaps(self, box: int) -> Gaps:
        """Where the box may lie now."""
        in_way = np.flatnonzero(self.conflicts[box] & self.placed)
        start = self.address[in_way]
        end = start + self.boxes.bytes[in_way]
        partners = [other for other in self.partners[box] if self.placed[other]]
        if partners:
            below, above = self.elements_of(np.array(partners, np.int64))
            start = np.concatenate([start, below])
            end = np.concatenate([end, above])
        order = np.argsort(start)
        low = int(self.boxes.first[box])
        high = int(self.boxes.last[box] + self.boxes.bytes[box])
        reach = np.maximum.accumulate(np.concatenate([[low], end[order]]))
        until = np.minimum(np.concatenate([start[order], [high]]), high)
        free = until - reach >= self.boxes.bytes[box]
        return Gaps(reach[free], until[free])

    def elements_of(self, chosen: Ints) -> tuple[Ints, Ints]:
        """The stretch of whole elements that each chosen box touches."""
        edges = self.boxes.edges
        start = self.address[chosen]
        end = start + self.boxes.bytes[chosen]
        below = np.searchsorted(edges, start, side="right") - 1
        above = np.searchsorted(edges, end, side="left")
        ends = np.int64(1) << 62
        padded = np.concatenate([[-ends], edges, [ends]])
        return padded[below + 1], padded[above + 1]


def first_fit(boxes: Boxes, conflicts: Bools, order: Ints, fit: Fit = "lowest") -> Room:
    """All boxes placed in the order given, as far as they fit."""
    room = Room(boxes, conflicts)
    for box in order.tolist():
        gaps = room.gaps(box)
        size, align = int(boxes.bytes[box]), int(boxes.align[box])
        begin = gaps.start + (int(boxes.phase[box]) - gaps.start) % align
        fits = np.flatnonzero(begin + size <= gaps.end)
        if not len(fits):
            continue
        choice = fits[0]
        if fit == "tightest":
            choice = fits[np.argmin((gaps.end - begin)[fits])]
        room.put(box, int(begin[choice]))
    return room


def orders(boxes: Boxes) -> list[Ints]:
    """Orders worth trying, the most promising first; ties by position."""
    size, width, crowd = boxes.bytes, widths(boxes), crowding(boxes)
    area = size.astype(np.float64) * width
    born = np.full(len(boxes), np.iinfo(np.int64).max)
    np.minimum.at(born, boxes.piece_box, boxes.piece_start)
    keys = [
        (-size, -width),
        (-area,),
        (-crowd, -width, -size),
        (-width, -size),
        (-crowd, -size),
        (born, -size),
        (-size, born),
    ]
    return [constrained_first(boxes, list(key)) for key in keys]


def footprint_orders(boxes: Boxes) -> list[Ints]:
    """Orders for small footprints: what is alive at the crowded steps goes first."""
    size, width, crowd = boxes.bytes, widths(boxes), crowding(boxes)
    keys = [(-crowd, -size), (-crowd, -width, -size), (-size, -width), (-size * width,)]
    return [constrained_first(boxes, list(key)) for key in keys]


def constrained_first(boxes: Boxes, keys: list[Ints] | list[np.ndarray]) -> Ints:
    """Boxes sorted by the keys, but those with one possible address before all."""
    free = (boxes.last > boxes.first).astype(np.int64)
    return np.lexsort([*reversed(keys), free])
