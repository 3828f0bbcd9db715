"""Doubled messages beside others: first fits on all ports, one of them in pairs first.

A doubled message takes both lanes of its sender's pair and the receive ports of whole
pairs, which first fit and repair treat as any other ports. Doubled messages alone are
plain multicasts on a machine whose tiles are the pairs, for which every method of the
search will do: one fit takes their starts from there.
"""

from collections.abc import Iterator

import numpy as np

from tiledialect.schedule.bounds import (
    Bound,
    arrival,
    bound_of,
    loads,
    set_extremes,
)
from tiledialect.schedule.ejection import repair
from tiledialect.schedule.first_fit import LONGEST_BITMAP_SLOTS, FirstFit
from tiledialect.schedule.search import GOOD, PASSABLE
from tiledialect.schedule.solve import Schedule, schedule
from tiledialect.schedule.table import Index, Messages, take_sets

MOVES = 8_000
"""Moves that repair makes at most."""


def schedule_in_pairs(messages: Messages, latency: Index) -> Schedule | None:
    """The shortest fit of a phase with doubled messages, none of which is split; None
    where the phase is too long."""
    messages = messages.widened()
    load = loads(messages, latency)
    longest = int(max(load.sent.max(initial=0), load.received.max(initial=0)))
    if longest > LONGEST_BITMAP_SLOTS:
        return None
    bound = bound_of(load, None)
    best: Schedule | None = None
    for start, method in fits(messages, latency, longest):
        length = arrival(messages, latency, start)
        if best is None or length < best.length:
            best = whole(messages, start, length, bound, method)
        if best.length <= bound.cycles * GOOD:
            break
    return best


def repaired(fit: Schedule, latency: Index) -> Schedule:
    """A schedule of whole messages after repair, unless it is passable as it is."""
    messages, bound = fit.messages, fit.bound
    if fit.length <= bound.cycles * PASSABLE:
        return fit
    _, farthest = set_extremes(messages, latency)
    farthest = farthest[messages.destinations]
    good = int(bound.cycles * GOOD)
    start, _ = repair(messages, fit.start, farthest, bound.cycles, good, MOVES)
    length = arrival(messages, latency, start)
    return whole(messages, start, length, bound, f"{fit.method}, repaired")


def whole(
    messages: Messages, start: Index, length: int, bound: Bound, method: str
) -> Schedule:
    """A schedule that sends each message once."""
    every = np.arange(messages.count)
    return Schedule(messages, every, 0 * every, start, length, bound, method)


def fits(
    messages: Messages, latency: Index, longest: int
) -> Iterator[tuple[Index, str]]:
    """First fits of all messages, from cheap to dear."""
    double = np.zeros(messages.count, np.bool_)
    double[messages.partners[0]] = True
    slots, fan_out = messages.slots, messages.fan_out
    fitter = FirstFit(messages, longest)
    pair = messages.source >> 1
    orders = (
        ("fan-out", np.lexsort((-slots, -fan_out))),
        ("sender, doubled first", np.lexsort((pair, -fan_out, ~double))),
        ("length", np.lexsort((-fan_out, -slots))),
        ("fan-out, words first", np.lexsort((-slots, -fan_out, double))),
    )
    for name, order in orders:
        yield fitter.starts(order), f"first fit by {name}"
    found = schedule(between_pairs(messages), latency[::2], split=False)
    fixed = np.full(messages.count, -1)
    fixed[messages.partners[0][found.origin]] = found.start
    order = np.lexsort((-slots * (1 + fan_out), ~double))
    yield fitter.starts(order, fixed), f"in pairs: {found.method}"


def between_pairs(messages: Messages) -> Messages:
    """The doubled messages between pairs of tiles, their items as words."""
    some = messages.select(messages.partners[0])
    used, number = np.unique(some.destinations, return_inverse=True)
    start, tiles = take_sets(messages.set_start, messages.set_tiles, used)
    return Messages(
        -(-messages.tiles // 2),
        some.source >> 1,
        some.slots,
        number.ravel(),
        start // 2,
        tiles[::2] >> 1,
    )
