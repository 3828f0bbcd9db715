"""Schedule one phase: the start of every message, close to the phase's bound.

Closed forms first, then first fit in several orders with repair, of bundles, then of
messages, then of pieces; multicasts are split where that does not do. The shortest
wins, and among equals the first tried. The search stops as soon as a schedule is
within GOOD of the bound.
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
from tiledialect.schedule.levels import Level, Sends, bundled, cut, expand, single
from tiledialect.schedule.table import Index, Messages

GOOD = 1.005
"""A ratio to the bound at which no other method is tried."""

FAIR = 1.02
"""A ratio at which no dearer method is tried."""

PASSABLE = 1.05
"""A ratio at which no method is tried that costs more control words."""

TARGETS = (1.02, 1.05, 1.1, 1.2, 1.4, 1.7)
"""Ratios aimed at, one after the other, by sending multicasts in turns."""

FEWEST_MOVES = 2_000
"""Phases of fewer messages have the moves of one with so many."""

PIECES = 32
"""A message that is cut is cut to at most one in so many words of the bound."""

SHORTEST_PIECE = 16
"""But pieces may always have this many words."""


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
    moves of the repair for each message.
    """
    load = loads(messages, latency)
    moves = effort * max(messages.count, FEWEST_MOVES)
    search = _Search(messages, latency, load, bound_of(load, control), moves, split)
    search.run()
    assert search.best is not None
    level, sends = search.best
    sent, origin, offset, start = expand(level, sends)
    return Schedule(
        sent, origin, offset, start, search.length, search.bound, search.method
    )


@dataclass
class _Search:
    """The best schedule of a phase so far, and the methods that look for better."""

    messages: Messages
    latency: Index
    load: Loads
    bound: Bound
    moves: int
    split: bool
    best: tuple[Level, Sends] | None = None
    length: int = 0
    method: str = "empty"

    def offer(self, level: Level, sends: Sends, method: str) -> None:
        """Keep a schedule if it is shorter than all before."""
        last = arrival(sends.messages, self.latency, sends.start)
        length = max(last, self.bound.control)
        if self.best is None or length < self.length:
            self.best, self.length, self.method = (level, sends), length, method

    def within(self, ratio: float) -> bool:
        """The best schedule is within this ratio of the bound."""
        return self.best is not None and self.length <= ratio * self.bound.cycles

    def run(self) -> None:
        """Try methods from cheap to dear until a schedule is good."""
        self.closed_forms()
        if self.within(GOOD):
            return
        bundles = bundled(self.messages)
        self.pack(bundles)
        enough = GOOD if _even(self.messages) else FAIR
        if not bundles.whole and not self.within(enough):
            self.pack(single(self.messages))
        longest = max(self.bound.cycles // PIECES, SHORTEST_PIECE)
        fits = self.messages.words.max() <= longest
        if self.split and not fits and not self.within(PASSABLE):
            self.pack(cut(self.messages, longest))

    def closed_forms(self) -> None:
        """Offer what holds for a phase of a known family."""
        messages = self.messages
        level = single(messages)
        every = level.origin
        if messages.count == 0:
            self.offer(level, Sends(messages, every, every), "empty")
            return
        forms = [("rotation", rotation)] if messages.unicast else []
        for method, form in [*forms, ("turns", turns)]:
            start = form(messages)
            if start is not None:
                self.offer(level, Sends(messages, every, start), method)
            if self.within(GOOD):
                return

    def pack(self, level: Level) -> None:
        """Offer first fits of a level's items, repaired, and then in turns."""
        from tiledialect.schedule.first_fit import first_fit

        items = level.items
        every = np.arange(items.count)
        longest = int(max(self.load.sent.max(), self.load.received.max()))
        for method, order in self.orders(items):
            start = first_fit(items, order, longest)
            self.offer(level, Sends(items, every, start), f"first fit by {method}")
            if self.within(GOOD):
                return
            if _even(items):
                start = self.color(level, start)
            if items.unicast or not self.within(PASSABLE):
                self.repair(level, start)
            if self.within(FAIR):
                return
        if self.split and not items.unicast and not self.within(PASSABLE):
            self.in_turns(level)

    def color(self, level: Level, start: Index) -> Index:
        """Offer unicasts of one length in as few slots as can be; their starts."""
        from tiledialect.schedule.coloring import recolor

        start = recolor(level.items, start)
        every = np.arange(start.size)
        self.offer(level, Sends(level.items, every, start), "edge colouring")
        return start

    def repair(self, level: Level, start: Index) -> None:
        """Offer the schedule with its late items moved."""
        if self.within(GOOD):
            return
        from tiledialect.schedule.ejection import repair

        items = level.items
        _, farthest = set_extremes(items, self.latency)
        start, self.moves = repair(
            items,
            start,
            farthest[items.destinations],
            self.bound.cycles,
            int(self.bound.cycles * (GOOD - 1)),
            self.moves,
        )
        self.offer(level, Sends(items, np.arange(items.count), start), "repair")

    def in_turns(self, level: Level) -> None:
        """Offer multicasts split to fit into a target, the least one that does."""
        from tiledialect.schedule.multicast import send_in_turns

        order = np.lexsort((-level.items.fan_out, -level.items.words))
        for target in TARGETS:
            if self.within(target):
                return
            sends = send_in_turns(
                level.items, order, self.latency, int(target * self.bound.cycles)
            )
            if sends is not None:
                self.offer(level, sends, "turns to subsets")

    def orders(self, items: Messages) -> Iterator[tuple[str, Index]]:
        """Orders for first fit: the best for most phases first, the one given last."""
        _, farthest = set_extremes(items, self.load.receive_bound)
        pressure = np.maximum(
            self.load.send_bound[items.source], farthest[items.destinations]
        )
        if items.unicast:
            yield "pressure", np.lexsort((-items.words, -pressure))
            yield "length", np.lexsort((-pressure, -items.words))
        else:
            fan_out = items.fan_out
            yield "fan-out", np.lexsort((-items.words, -fan_out))
            yield "length", np.lexsort((-fan_out, -items.words))
        yield "position", np.arange(items.count)


def _even(messages: Messages) -> bool:
    """All messages have one receiver each and one length."""
    return messages.unicast and messages.words.min() == messages.words.max()
