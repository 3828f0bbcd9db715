"""Many boxes: the best of several sweeps, then the order mended where it hurts.

Reads   Boxes without element pairs.
Writes  addresses of a low peak, and the boxes placed to find them.
Holds   effort bounds the work: sweeps cost the square of the number of boxes.

Method: orders whose ties follow birth do best on long programs; then the box that
ends highest goes in earlier, as long as the peak does not rise.
"""

from __future__ import annotations

import numpy as np

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.live import crowding
from tiledialect.placement.problem import Ints
from tiledialect.placement.range import rating, settled
from tiledialect.placement.sweep import BORN, DIES, Sweep

ORDER_WORK = 800_000_000  # boxes looked at in the first sweeps
MEND_WORK = 300_000_000  # boxes looked at while mending
FEWEST_ORDERS = 2


def place_many(
    boxes: Boxes, bound: int, effort: int, *, minimise: bool
) -> tuple[Ints, int]:
    """The best addresses found (-1 where there is no place) and boxes placed."""
    sweep = Sweep(boxes)
    count = len(boxes)
    tries = sweep_orders(boxes, sweep)
    tries = tries[: max(FEWEST_ORDERS, ORDER_WORK // count**2)]
    best, spent = np.full(count, -1, np.int64), 0
    chosen = tries[0]
    for order, tightest in tries:
        address = sweep.place(order, tightest=tightest)
        spent += count
        if rating(boxes, address) < rating(boxes, best):
            best, chosen = address, (order, tightest)
        if settled(boxes, best, bound, minimise=minimise):
            return best, spent
    moves = min(MEND_WORK // count**2, effort // count)
    return _mend(boxes, sweep, chosen, best, bound, moves, spent, minimise=minimise)


def sweep_orders(boxes: Boxes, sweep: Sweep) -> list[tuple[Ints, bool]]:
    """Orders and whether the tightest gap is taken, the most promising first."""
    born, size = boxes.steps[sweep.box[:, BORN]], boxes.bytes
    width = boxes.steps[sweep.box[:, DIES]] - born
    crowd = crowding(boxes)
    area = size.astype(np.float64) * width
    power = np.floor(np.log2(size))
    keys: list[tuple[tuple[np.ndarray, ...], bool]] = [
        ((-crowd, -width, -size), True),
        ((-size, born), False),
        ((-power, born), False),
        ((-area,), False),
        ((born, -width, -size), True),
        ((-width, -size), True),
        ((-size, -width), False),
        ((-size, born), True),
        ((-crowd, -width, -size), False),
    ]
    free = (boxes.last > boxes.first).astype(np.int64)
    return [(np.lexsort([*key[::-1], free]), tightest) for key, tightest in keys]


def _mend(
    boxes: Boxes,
    sweep: Sweep,
    chosen: tuple[Ints, bool],
    best: Ints,
    bound: int,
    moves: int,
    spent: int,
    *,
    minimise: bool,
) -> tuple[Ints, int]:
    """Moves the box that ends highest, or has no place, to the front of others."""
    random = np.random.default_rng(0)
    order, tightest = chosen
    current, score = best, rating(boxes, best)
    for _ in range(moves):
        if settled(boxes, current, bound, minimise=minimise):
            break
        trial_order = _earlier(boxes, current, order, random)
        trial = sweep.place(trial_order, tightest=tightest)
        spent += len(boxes)
        if rating(boxes, trial) <= score:
            order, current, score = trial_order, trial, rating(boxes, trial)
    return current, spent


def _earlier(
    boxes: Boxes, address: Ints, order: Ints, random: np.random.Generator
) -> Ints:
    """The order with the worst box somewhere before its place."""
    ends = np.where(address < 0, np.iinfo(np.int64).max, address + boxes.bytes)
    worst = int(np.argmax(ends))
    place = int(np.flatnonzero(order == worst)[0])
    target = int(random.integers(0, max(place, 1)))
    rest = np.delete(order, place)
    return np.insert(rest, target, worst)
