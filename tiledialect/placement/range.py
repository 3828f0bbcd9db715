"""How good addresses are, and the range of ends that is not settled yet."""

from __future__ import annotations

from dataclasses import dataclass

from tiledialect.placement.boxes import Boxes
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


def rating(boxes: Boxes, address: Ints) -> tuple[int, int]:
    """Boxes without a place, then the highest end: less is better."""
    missing = int((address < 0).sum())
    return missing, int((address + boxes.bytes).max())


def settled(boxes: Boxes, address: Ints, bound: int, *, minimise: bool) -> bool:
    """Whether nothing better is wanted."""
    missing, end = rating(boxes, address)
    return missing == 0 and (not minimise or end <= bound)
