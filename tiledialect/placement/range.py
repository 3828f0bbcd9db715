"""The range of end addresses that a search has yet to settle."""

from __future__ import annotations

from dataclasses import dataclass

from tiledialect.placement.problem import Ints


@dataclass
class Range:
    """Ends of the topmost box that are open: [low, high), and the best placement.

    `top` is where the regions end: the bound that any placement keeps.
    """

    low: int
    high: int
    top: int
    address: Ints | None = None
    nodes: int = 0

    @property
    def closed(self) -> bool:
        return self.low >= self.high
