"""Schedule one phase: the start of every message, close to the phase's bound.

Closed forms first, then first fit in several orders; the shortest wins, and among
equals the first tried. The search stops as soon as a schedule is within GOOD of the
bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tiledialect.schedule.bounds import (
    Bound,
    Loads,
    arrival,
    bound_of,
    loads,
    set_extremes,
)
from tiledialect.schedule.families import rotation, turns
from tiledialect.schedule.table import Index, Messages

GOOD = 1.005
"""A ratio to the bound at which no other method is tried."""


@dataclass(frozen=True)
class Schedule:
    """When each message of a phase is sent.

    `messages` are those sent: the ones asked for, unless some were split. Message i
    carries words [offset[i], offset[i] + words[i]) of the message origin[i] asked for,
    to some or all of its receivers.
    """

    messages: Messages
    origin: Index
    offset: Index
    start: Index
    """(n,) the cycle at which the first word leaves."""
    length: int
    """The last arrival, or the most control words of a tile if that is more."""
    bound: Bound
    """Of the messages asked for."""
    method: str

    @property
    def ratio(self) -> float:
        """Length over bound; 1 for an empty phase."""
        return self.length / max(self.bound.cycles, 1) if self.length else 1.0


@dataclass(frozen=True)
class Problem:
    """A phase with what all methods need to know of it."""

    messages: Messages
    latency: Index
    control: Index | None
    load: Loads
    bound: Bound


def schedule(
    messages: Messages,
    latency: Index,
    *,
    control: Index | None = None,
    split: bool = True,
    effort: int = 200_000,
) -> Schedule:
    """A schedule of the phase on tiles of the given latencies.

    `latency` (tiles,) is the cycles from sending a word to its arrival, by receiver;
    `control` (tiles,) the control words of each tile. With `split`, a multicast may be
    sent in turns to parts of its set and a long message in pieces. `effort` bounds the
    moves of the repair.
    """
    load = loads(messages, latency)
    bound = bound_of(load, control)
    problem = Problem(messages, latency, control, load, bound)
    best: Schedule | None = None
    for method, start in _candidates(problem):
        found = _whole(problem, start, method)
        if best is None or found.length < best.length:
            best = found
        if best.ratio <= GOOD:
            break
    assert best is not None
    return best


def _whole(problem: Problem, start: Index, method: str) -> Schedule:
    """The schedule that sends every message as asked for."""
    messages = problem.messages
    last = arrival(messages, problem.latency, start)
    return Schedule(
        messages,
        np.arange(messages.count),
        np.zeros(messages.count, np.int64),
        start,
        max(last, problem.bound.control),
        problem.bound,
        method,
    )


def _candidates(problem: Problem) -> Iterator[tuple[str, Index]]:
    """Starts by each method that applies, cheap and promising ones first."""
    messages = problem.messages
    if messages.count == 0:
        yield "empty", np.zeros(0, np.int64)
        return
    if messages.unicast:
        start = rotation(messages)
        if start is not None:
            yield "rotation", start
    start = turns(messages)
    if start is not None:
        yield "turns", start
    from tiledialect.schedule.first_fit import first_fit

    longest = int(max(problem.load.sent.max(), problem.load.received.max()))
    for name, order in _orders(problem):
        yield f"first fit by {name}", first_fit(messages, order, longest)


def _orders(problem: Problem) -> Iterator[tuple[str, Index]]:
    """Orders for first fit: the best for most phases first, the one given last."""
    messages = problem.messages
    sent = problem.load.send_bound[messages.source]
    pressure = np.maximum(sent, _set_pressure(problem)[messages.destinations])
    if messages.unicast:
        yield "pressure", np.lexsort((-messages.words, -pressure))
        yield "length", np.lexsort((-pressure, -messages.words))
    else:
        fan_out = messages.fan_out
        yield "fan-out", np.lexsort((-messages.words, -fan_out))
        yield "pressure", np.lexsort((-messages.words, -fan_out, -pressure))
    yield "position", np.arange(messages.count)


def _set_pressure(problem: Problem) -> Index:
    """The greatest bound among the receivers of each set."""
    return set_extremes(problem.messages, problem.load.receive_bound)[1]
