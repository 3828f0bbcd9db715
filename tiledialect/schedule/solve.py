"""Schedule one phase: the start of every message, close to the phase's bound."""

from dataclasses import dataclass

import numpy as np

from tiledialect.schedule.bounds import Bound, bound_of, loads
from tiledialect.schedule.search import Search
from tiledialect.schedule.table import Index, Messages

FEWEST_MOVES = 2_000
"""Phases of fewer messages have the moves of one with so many."""

MOST_MOVES = 100_000
"""Phases of more messages have the moves of one with so many."""

STEPS_OF_SPLITTING = 1_000_000_000
"""Words of bitmaps that splitting multicasts looks at, for each unit of effort."""


@dataclass(frozen=True)
class Schedule:
    """When each message of a phase is sent.

    `messages` are those sent: the ones asked for, unless some were split. Message i
    carries words [offset[i], offset[i] + words[i]) of the message origin[i] asked for,
    to some or all of its receivers. Origins rise: if none was split, message i is the
    i-th asked for.
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


def schedule(
    messages: Messages,
    latency: Index,
    *,
    control: Index | None = None,
    split: bool = True,
    effort: int = 4,
) -> Schedule:
    """A schedule of the phase on tiles of the given latencies.

    `latency` (tiles,) is the cycles from sending a word to its arrival, by receiver;
    `control` (tiles,) the control words of each tile. With `split`, a multicast may be
    sent in turns to parts of its set and a long message in pieces. `effort` bounds the
    moves of the repair for each message, and in proportion the steps of splitting.
    Phases with doubled messages are refused: see `in_pairs`.
    """
    if messages.double is not None:
        raise ValueError("doubled messages are scheduled by schedule_in_pairs")
    messages, latency = messages.widened(), latency.astype(np.int64, copy=False)
    load = loads(messages, latency)
    moves = effort * min(max(messages.count, FEWEST_MOVES), MOST_MOVES)
    steps = effort * STEPS_OF_SPLITTING
    search = Search(
        messages, latency, load, bound_of(load, control), moves, steps, split
    )
    search.run()
    sent, origin, offset, start = search.found()
    return Schedule(
        sent, origin, offset, start, search.length, search.bound, search.method
    )
