"""Which methods a phase needs: from cheap to dear, until a schedule is good.

Closed forms first. Then first fit in several orders, repaired: of bundles, of messages
if bundles are too coarse, of pieces if messages are. Multicasts are split where that
does not do. The shortest schedule wins, and among equals the first found.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tiledialect.schedule.bounds import Bound, Loads, arrival, set_extremes
from tiledialect.schedule.families import rotation, turns
from tiledialect.schedule.levels import (
    Level,
    Sends,
    bundled,
    cut,
    expand,
    in_order,
    pieces,
    single,
)
from tiledialect.schedule.table import Index, Messages

OPEN_SHOP = "open shop"

GOOD = 1.005
"""A ratio to the bound at which no other method is tried."""

FAIR = 1.02
"""A ratio at which no dearer method is tried."""

PASSABLE = 1.05
"""A ratio at which no method is tried that costs more control words."""

HOPELESS = 1.5
"""A ratio of a first fit of multicasts above which they are split at once."""

TARGETS = (1.02, 1.05, 1.1, 1.2, 1.4, 1.7)
"""Ratios aimed at, one after the other, by sending multicasts in turns."""

ON_AIR = (1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08, 1.1, 1.12, 1.15, 1.2, 1.3)
"""Ratios aimed at, one after the other, by sending multicasts again and again."""

MOST_ON_AIR = 1 << 20
"""Slots of the ports of all items, above which that takes too long."""

LOOKS_ON_AIR = 128
"""How often it looks at them for one target."""

PIECES = 32
"""A message that is cut is cut to at most one in so many words of the bound."""

BUNDLE_SHARE = 4
"""One in so many moves is for bundles of unicasts: messages gain more by them."""

MOST_REFINED = 400_000
"""Messages above which bundles are not taken apart: repair could move few of them."""

SHORTEST_PIECE = 16
"""But pieces may always have this many words."""


@dataclass
class Search:
    """The best schedule of a phase so far, and the methods that look for better."""

    messages: Messages
    latency: Index
    load: Loads
    bound: Bound
    moves: int
    """Moves that repair may still make."""
    steps: int
    """Words of bitmaps that splitting may still look at."""
    split: bool
    best: tuple[Level, Sends] | None = None
    length: int = 0
    method: str = "empty"
    closed: bool = True
    """No method but the closed forms was tried."""
    closed_form_passes: bool = False
    """A closed form is so short that only the best orders are tried besides."""

    def offer(self, level: Level, sends: Sends, method: str) -> None:
        """Keep a schedule if it is shorter than all before."""
        last = arrival(sends.messages, self.latency, sends.start)
        length = max(last, self.bound.control)
        if self.best is None or length < self.length:
            self.best, self.length, self.method = (level, sends), length, method

    def offer_whole(self, level: Level, start: Index, method: str) -> None:
        """Offer a schedule that sends each item of a level once."""
        self.offer(level, Sends(level.items, np.arange(start.size), start), method)

    def found(self) -> tuple[Messages, Index, Index, Index]:
        """The messages of the best schedule; their origin, offset in it, and start.

        They are in the order asked for, pieces by offset, and turns by start.
        """
        assert self.best is not None
        level, sends = self.best
        messages, origin, offset, start = expand(level, sends)
        if not self.closed and level.whole:
            start = in_order(messages, start)
        if not level.plain or sends.messages is not level.items:
            order = np.lexsort((start, offset, origin))
            messages = messages.select(order)
            origin, offset, start = origin[order], offset[order], start[order]
        return messages, origin, offset, start

    def within(self, ratio: float) -> bool:
        """The best schedule is within this ratio of the bound."""
        return self.best is not None and self.length <= ratio * self.bound.cycles

    def run(self) -> None:
        """Try methods until a schedule is good."""
        self.closed_forms()
        if self.within(GOOD):
            return
        self.closed, messages = False, self.messages
        self.closed_form_passes = self.within(PASSABLE)
        level = bundled(messages)
        start = self.improve(level, self.fit(level, GOOD))
        enough = GOOD if even(messages) else FAIR
        many = messages.count > MOST_REFINED and not even(messages)
        if many and messages.unicast and not self.within(FAIR):
            self.as_open_shop(single(messages))
        elif not (level.whole or self.within(enough) or many):
            start = self.refine(level, start, single(messages))
        if self.split and not messages.unicast:
            self.on_air(level)
            self.in_turns(level)
        longest = max(self.bound.cycles // PIECES, SHORTEST_PIECE)
        fits = messages.words.max() <= longest
        if self.split and not fits and not self.within(PASSABLE):
            self.refine(single(messages), start, cut(messages, longest))

    def closed_forms(self) -> None:
        """Offer what holds for a phase of a known family."""
        messages = self.messages
        level = single(messages)
        if messages.count == 0:
            self.offer_whole(level, messages.words, "empty")
            return
        forms = [("rotation", rotation)] if messages.unicast else []
        for method, form in [*forms, ("turns", turns)]:
            start = form(messages)
            if start is not None:
                self.offer(level, Sends(messages, level.origin, start), method)
            if self.within(GOOD):
                return

    def fit(self, level: Level, enough: float) -> Index:
        """Offer first fits of a level's items, up to one that is good enough; the best
        of those to repair. An open shop leaves no gaps, and less to gain by repair."""
        best, least = level.items.words, -1
        for method, start in self.fits(level.items):
            self.offer_whole(level, start, method)
            length = arrival(level.items, self.latency, start)
            if method != OPEN_SHOP and (least < 0 or length < least):
                best, least = start, length
            hopeless = not level.items.unicast and not self.within(HOPELESS)
            if self.within(enough) or (self.split and hopeless):
                break
        return best

    def as_open_shop(self, level: Level) -> None:
        """Offer unicasts as an open shop."""
        from tiledialect.schedule.open_shop import open_shop

        start = open_shop(level.items, self.latency)
        if start is not None:
            self.offer_whole(level, start, OPEN_SHOP)

    def fits(self, items: Messages) -> Iterator[tuple[str, Index]]:
        """First fits of items, in orders of which the best for most phases come first;
        of unicasts of many lengths also as an open shop."""
        from tiledialect.schedule.first_fit import FirstFit
        from tiledialect.schedule.open_shop import open_shop

        longest = int(max(self.load.sent.max(), self.load.received.max()))
        fitter = FirstFit(items, longest)
        for name, order in self.orders(items):
            yield f"first fit by {name}", fitter.starts(order)
            if items.unicast and not even(items) and name == "pressure":
                start = open_shop(items, self.latency)
                if start is not None:
                    yield OPEN_SHOP, start

    def orders(self, items: Messages) -> Iterator[tuple[str, Index]]:
        """Orders for first fit, the best for most phases first."""
        _, farthest = set_extremes(items, self.load.receive_bound)
        pressure = np.maximum(
            self.load.send_bound[items.source], farthest[items.destinations]
        )
        if items.unicast:
            yield "pressure", np.lexsort((-items.words, -pressure))
            if not even(items):
                yield "length", np.lexsort((-pressure, -items.words))
        else:
            fan_out = items.fan_out
            yield "fan-out", np.lexsort((-items.words, -fan_out))
            yield "length", np.lexsort((-fan_out, -items.words))
            if self.closed_form_passes:
                return
            yield "pressure", np.lexsort((-items.words, -pressure))
            yield "position", np.arange(items.count)

    def improve(self, level: Level, start: Index) -> Index:
        """Offer better schedules made from one of a level's items; the last of them."""
        items = level.items
        if self.within(GOOD):
            return start
        if even(items):
            from tiledialect.schedule.coloring import recolor

            start = recolor(items, start)
            self.offer_whole(level, start, "edge colouring")
        if self.within(GOOD if items.unicast else PASSABLE):
            return start
        from tiledialect.schedule.ejection import repair

        _, farthest = set_extremes(items, self.latency)
        good = int(self.bound.cycles * GOOD)
        moves = self.moves
        if items.unicast and not level.whole:
            moves //= BUNDLE_SHARE
        start, rest = repair(
            items,
            start,
            farthest[items.destinations],
            self.bound.cycles,
            good,
            moves,
        )
        self.moves += rest - moves
        self.offer_whole(level, start, "repair")
        return start

    def refine(self, level: Level, start: Index, finer: Level) -> Index:
        """Go on with a finer level, from its own first fit, or where that is longer and
        there are multicasts from this one's schedule."""
        fitted = self.fit(finer, FAIR)
        if finer.items.unicast:
            return self.improve(finer, fitted)
        item = np.repeat(np.arange(level.items.count), np.diff(level.first_part))
        of_message = np.empty(self.messages.count, np.int64)
        of_message[level.origin] = start[item] + level.shift
        inherited = of_message[finer.origin] + finer.offset
        lengths = [
            arrival(finer.items, self.latency, each) for each in (inherited, fitted)
        ]
        return self.improve(finer, inherited if lengths[0] < lengths[1] else fitted)

    def in_turns(self, level: Level) -> None:
        """Offer multicasts split to fit into a target, the least one that does."""
        if self.within(PASSABLE):
            return
        from tiledialect.schedule.multicast import send_in_turns

        items = level.items
        order = np.lexsort((-items.fan_out, -items.words))
        steps = int(((items.fan_out + 1) * np.log2(8 * items.words)).sum())
        work = steps * self.bound.cycles // 64
        for target in TARGETS:
            self.steps -= work
            if self.within(target) or self.steps < 0:
                return
            aim = int(target * self.bound.cycles)
            sends = send_in_turns(items, order, self.latency, aim)
            if sends is not None:
                self.offer(level, sends, "turns to subsets")

    def on_air(self, level: Level) -> None:
        """Offer carousels of few long multicasts, the shortest that go."""
        pairs = int(level.items.fan_out.sum()) + level.items.count
        slots = pairs * self.bound.cycles // int(np.gcd.reduce(level.items.words))
        if self.within(PASSABLE) or slots > MOST_ON_AIR:
            return
        from tiledialect.schedule.carousel import Carousels

        carousels = Carousels(level.items, self.latency, self.load)
        for target in ON_AIR:
            self.steps -= LOOKS_ON_AIR * slots
            if self.within(target) or self.steps < 0:
                return
            airing = carousels.within(int(target * self.bound.cycles))
            if airing is not None:
                sent = airing.messages
                finer = pieces(level, sent, airing.item, airing.offset)
                self.offer_whole(finer, airing.start, "carousels")
                return


def even(messages: Messages) -> bool:
    """All messages have one receiver each and one length."""
    return messages.unicast and messages.words.min() == messages.words.max()
