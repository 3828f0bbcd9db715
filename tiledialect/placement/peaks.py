"""The lowest peak: cheap orders first, then the complete search.

Reads   Problem and Boxes.
Writes  an Outcome whose value is the highest end above the lowest address that
        any rule allows.
Holds   numba is loaded only where the cheap orders leave something open.
"""

from __future__ import annotations

import numpy as np

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.first_fit import first_fit, orders
from tiledialect.placement.live import conflict_matrix, peak_bound
from tiledialect.placement.outcome import Outcome, found, unplaced
from tiledialect.placement.problem import Ints, Problem
from tiledialect.placement.range import Range, rating, settled

SEARCHED = 1500  # boxes up to which the complete search runs
FEW = 600  # boxes up to which no compiled sweep is worth its start


def solve_peak(problem: Problem, boxes: Boxes, minimise: bool, effort: int) -> Outcome:
    """The lowest peak, or any placement inside the regions."""
    base = int(boxes.first.min())
    bound = peak_bound(boxes)
    tried, spent = _cheap_peak(boxes, base + bound, effort, minimise)
    top = int((boxes.last + boxes.bytes).max())
    address = tried if (tried >= 0).all() else None
    high = top + 1 if address is None else int((address + boxes.bytes).max())
    span = Range(base + bound, high, top, address)
    if minimise or address is None:
        search(boxes, span, effort, minimise)
    spent += span.nodes
    if span.address is None:
        return unplaced(problem, boxes, tried, span, spent)
    return found(span.address, span.high - base, span.low - base, spent)


def _cheap_peak(
    boxes: Boxes, bound: int, effort: int, minimise: bool
) -> tuple[Ints, int]:
    """The best addresses of the cheap orders (-1: no place), and boxes placed."""
    if len(boxes) > FEW and not len(boxes.apart):
        from tiledialect.placement.many import place_many

        return place_many(boxes, bound, effort, minimise=minimise)
    conflicts = conflict_matrix(boxes)
    best = np.full(len(boxes), -1, np.int64)
    spent = 0
    for order in orders(boxes):
        address = first_fit(boxes, conflicts, order).address
        spent += len(boxes)
        if rating(boxes, address) < rating(boxes, best):
            best = address
        if settled(boxes, best, bound, minimise=minimise):
            break
    return best, spent


def search(boxes: Boxes, span: Range, effort: int, minimise: bool) -> None:
    """The complete search of what a range leaves open."""
    if span.closed or len(boxes) > SEARCHED:
        return
    from tiledialect.placement.race import race

    race(boxes, conflict_matrix(boxes), span, effort, minimise=minimise)
