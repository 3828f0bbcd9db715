"""Which element pairs a problem must lose to have a placement.

Reads   a problem without placement; pairs that may go, the dearest first.
Writes  the pairs to give up: none of them can stay while all others go.
Fails   PlacementError as `place` does.

Method: pairs that are all gone come back half by half, the dearest first, where there
is a placement with them. That takes about two placements for each pair given up and
each halving of the number of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tiledialect.placement.problem import Problem
from tiledialect.placement.solve import place

NumberPair = tuple[int, int]


def without(problem: Problem, dropped: set[NumberPair]) -> Problem:
    """The problem without these element pairs, either way round."""
    either = dropped | {pair[::-1] for pair in dropped}
    rows = [tuple(pair) not in either for pair in problem.apart.tolist()]
    return replace(problem, apart=problem.apart[np.array(rows, np.bool_)])


def is_placed_without(problem: Problem, dropped: set[NumberPair]) -> bool:
    """Whether a placement without these pairs is found."""
    found = place(without(problem, dropped), minimise=False)
    return found.status in ("minimal", "fits")


def pairs_to_drop(
    problem: Problem, dearest_first: Sequence[NumberPair]
) -> list[NumberPair]:
    """The pairs to give up, of those without which, and not with which, there is a
    placement."""
    gone = set(dearest_first)
    waiting = halves(dearest_first)
    while waiting:
        pairs = waiting.pop()
        left = gone - set(pairs)
        if is_placed_without(problem, left):
            gone = left
        else:
            waiting += halves(pairs)
    return [pair for pair in dearest_first if pair in gone]


def halves(pairs: Sequence[NumberPair]) -> list[Sequence[NumberPair]]:
    """Two halves, the first last; none of a single pair."""
    middle = len(pairs) // 2
    return [pairs[middle:], pairs[:middle]] if middle else []
