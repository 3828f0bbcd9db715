"""The least footprint of a tiny problem, by trying every address on a grid.

Reads   Boxes and conflicts of a few boxes in a small space.
Writes  the addresses of a least footprint, or the proof that nothing fits.
Holds   complete: all sizes, rules and borders are multiples of the granule, and
        pushing every address down to one keeps all rules and some least footprint.

Method: depth first over boxes, larger first, with the bytes taken so far as bit
sets by class; a branch ends where its footprint cannot be less than the best.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.first_fit import partners_of
from tiledialect.placement.problem import Bools, Ints

GRID = 256  # addresses a box may have
STEPS = 20_000  # addresses tried


@dataclass
class Exact:
    """The best addresses so far; `complete` when nothing better exists."""

    address: Ints | None = None
    footprint: int = -1
    complete: bool = False
    steps: int = 0


@dataclass
class _Grid:
    """The problem in granules, with bit sets for places."""

    unit: int
    size: list[int]
    padded: list[int]
    places: list[range]
    classes: list[list[int]]
    conflicts: Bools
    partners: list[list[int]]
    edges: list[int]
    order: list[int]
    goal: int
    best: Exact
    limit: int
    chosen: dict[int, int] = field(default_factory=dict)


def least_footprint(
    boxes: Boxes, conflicts: Bools, best: Exact, goal: int, limit: int = STEPS
) -> Exact:
    """The least footprint, never worse than `best`; stops at `goal`."""
    rules = [boxes.bytes, boxes.align, boxes.phase, boxes.first, boxes.edges]
    unit = max(int(np.gcd.reduce(np.concatenate(rules))), 1)
    places = [
        range(int(first) // unit, int(last) // unit + 1, int(align) // unit)
        for first, last, align in zip(boxes.first, boxes.last, boxes.align, strict=True)
    ]
    if max((len(one) for one in places), default=0) > GRID:
        return best
    grid = _Grid(
        unit=unit,
        size=(boxes.bytes // unit).tolist(),
        padded=(boxes.padded // unit).tolist(),
        places=places,
        classes=[np.flatnonzero(row).tolist() for row in boxes.classes],
        conflicts=conflicts,
        partners=partners_of(boxes),
        edges=(boxes.edges // unit).tolist(),
        order=np.lexsort([-boxes.bytes, np.array([len(p) for p in places])]).tolist(),
        goal=goal,
        best=best,
        limit=limit,
    )
    best.complete = _try_all(grid, 0, [0] * boxes.classes.shape[1])
    return best


def _try_all(grid: _Grid, depth: int, used: list[int]) -> bool:
    """Whether all addresses of the boxes from `depth` on were tried or excluded."""
    best = grid.best
    if depth == len(grid.order):
        best.footprint = max(mask.bit_count() for mask in used) * grid.unit
        best.address = np.array(
            [grid.chosen[box] * grid.unit for box in range(depth)], np.int64
        )
        return True
    box = grid.order[depth]
    for place in grid.places[box]:
        best.steps += 1
        if best.steps > grid.limit:
            return False
        if not _free(grid, box, place):
            continue
        after = list(used)
        for tile_class in grid.classes[box]:
            after[tile_class] |= ((1 << grid.padded[box]) - 1) << place
        footprint = max(mask.bit_count() for mask in after) * grid.unit
        if best.address is not None and footprint >= best.footprint:
            continue
        grid.chosen[box] = place
        complete = _try_all(grid, depth + 1, after)
        del grid.chosen[box]
        if not complete:
            return False
        if best.address is not None and best.footprint <= grid.goal:
            return True
    return True


def _free(grid: _Grid, box: int, place: int) -> bool:
    """Whether a place is clear of the boxes chosen before."""
    end = place + grid.size[box]
    for other, start in grid.chosen.items():
        stop = start + grid.size[other]
        if grid.conflicts[box, other] and place < stop and start < end:
            return False
        if other in grid.partners[box]:
            low, high = _elements(grid, start, stop)
            if place < high and low < end:
                return False
    return True


def _elements(grid: _Grid, start: int, stop: int) -> tuple[float, float]:
    """The whole elements that a stretch touches, as a stretch."""
    below = [edge for edge in grid.edges if edge <= start]
    above = [edge for edge in grid.edges if edge >= stop]
    return below[-1] if below else -np.inf, above[0] if above else np.inf
