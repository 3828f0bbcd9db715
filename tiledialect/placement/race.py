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
from tiledialect.placement.search import FOUND, LIMIT, NONE, Tables, descend
from tiledialect.placement.tables import fresh_state, make_tables, step_widths

CROWD_FIRST, AREA_FIRST, WIDTH_FIRST = 0, 1, 2
FIRST_LIMIT, GROWTH = 4096, 4
BOXES_A_NODE = 400  # problems above this size get fewer nodes for one effort


def race(
    boxes: Boxes, conflicts: Bools, span: Range, effort: int, *, minimise: bool
) -> None:
    """Narrows the range; stops when closed, out of effort, or (fit) at a find."""
    tables = make_tables(boxes, conflicts)
    arms = (
        (CROWD_FIRST, tables._replace(width=step_widths(boxes))),
        (AREA_FIRST, tables),
        (WIDTH_FIRST, tables),
    )
    unit = _unit(boxes)
    effort = effort * BOXES_A_NODE // max(len(boxes), BOXES_A_NODE)
    limit = FIRST_LIMIT
    while not span.closed and span.nodes < effort:
        progress = False
        for bound in ladder(span, unit, minimise=minimise):
            for kind, table in arms:
                room = min(limit, effort - span.nodes)
                if room <= 0 or not span.low <= bound < span.high:
                    break
                answer = _run(table, kind, bound, room, unit, span)
                progress |= answer != LIMIT
                if answer == FOUND and not minimise:
                    return
        if not progress:
            limit *= GROWTH


def _run(
    table: Tables, kind: int, bound: int, limit: int, unit: int, span: Range
) -> int:
    """One search; the range takes in what it found."""
    state = fresh_state(table, limit)
    answer = int(descend(table, state, kind, bound, len(table.size)))
    span.nodes += int(min(state.nodes[0], limit))
    if answer == FOUND:
        span.address = state.address
        span.high = int((state.address + table.size).max())
    elif answer == NONE:
        span.low = max(span.low, bound + unit)
    return answer


def ladder(span: Range, unit: int, *, minimise: bool) -> list[int]:
    """The bounds to try next, the lowest first."""
    gap = span.high - unit - span.low
    bounds = {span.low, min(span.top, span.high - unit)}
    if minimise:
        bounds |= {span.low + gap // 8, span.low + gap // 2}
    return sorted(
        bound // unit * unit if bound != span.low else bound
        for bound in bounds
        if bound >= span.low
    )


def _unit(boxes: Boxes) -> int:
    """Ends of pushed-down placements differ by multiples of this."""
    rules = [boxes.bytes, boxes.align, boxes.phase, boxes.first, boxes.edges]
    return max(int(np.gcd.reduce(np.concatenate(rules))), 1)
