"""A race of searches: several ranks and several bounds take turns.

Reads   Boxes, conflicts, the range of peaks that is still open, an effort.
Writes  the lowest placement found and the proven lower bound.
Holds   what is found lies at or below its bound; `low` only rises by proofs.

Method: no bound and no rank is best everywhere (no slack prunes well, much slack
finds quickly, a little does neither), so every (rank, bound) gets the same node
limit, which then grows fourfold. A found peak or a proof shrinks the range.
"""

from __future__ import annotations

import numpy as np

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.problem import Bools
from tiledialect.placement.range import Range
from tiledialect.placement.search import (
    ADDRESS,
    AREA_FIRST,
    CROWD_FIRST,
    FOUND,
    LIMIT,
    NONE,
    SIZE,
    WIDTH,
    WIDTH_FIRST,
    Space,
    descend,
)
from tiledialect.placement.tables import fresh, make_space, step_widths

FIRST_LIMIT, GROWTH = 4096, 8
BOXES_A_NODE = 300  # problems above this size get fewer nodes for one effort


def race(
    boxes: Boxes, conflicts: Bools, span: Range, effort: int, *, minimise: bool
) -> None:
    """Narrows the range; stops when closed, out of effort, or (fit) at a find."""
    space = make_space(boxes, conflicts)
    in_rows = space.box[:, WIDTH].copy()
    arms = (
        (CROWD_FIRST, step_widths(boxes)),
        (AREA_FIRST, in_rows),
        (WIDTH_FIRST, in_rows),
    )
    unit = _unit(boxes)
    effort = effort * BOXES_A_NODE**2 // max(len(boxes), BOXES_A_NODE) ** 2
    limit = FIRST_LIMIT
    while not span.closed and span.nodes < effort:
        progress = False
        for bound in ladder(span, unit, minimise=minimise):
            for kind, width in arms:
                room = min(limit, effort - span.nodes)
                if room <= 0 or not span.low <= bound < span.high:
                    break
                answer = _run(fresh(space, width, room), kind, bound, unit, span)
                progress |= answer != LIMIT
                if answer == FOUND and not minimise:
                    return
        if not progress:
            limit *= GROWTH


def _run(space: Space, kind: int, bound: int, unit: int, span: Range) -> int:
    """One search; the range takes in what it found."""
    answer = int(descend(space, kind, bound, len(space.box)))
    span.nodes += int(space.nodes.min())
    if answer == FOUND:
        span.address = space.box[:, ADDRESS].copy()
        span.high = int((span.address + space.box[:, SIZE]).max())
    elif answer == NONE:
        span.low = max(span.low, bound + unit)
    return answer


def ladder(span: Range, unit: int, *, minimise: bool) -> list[int]:
    """The bounds to try next: the loosest, that a find is likely at, comes first."""
    loosest = max(min(span.top, span.high - unit), span.low)
    gap = loosest - span.low
    steps = [gap, 0]
    if minimise:
        steps += [gap // 8 // unit * unit, gap // 2 // unit * unit]
    return [span.low + step for step in dict.fromkeys(steps)]


def _unit(boxes: Boxes) -> int:
    """Ends of pushed-down placements differ by multiples of this."""
    rules = [boxes.bytes, boxes.align, boxes.phase, boxes.first, boxes.edges]
    return max(int(np.gcd.reduce(np.concatenate(rules))), 1)
