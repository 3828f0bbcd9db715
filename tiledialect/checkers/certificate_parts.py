"""Parts of a contraction's candidates: ranges, what they cover, and their bounds.

A candidate is a grid (parts of b, m, n and k), a number of steps, whether the stored
operand lies whole or spread, and where the sum rests. A part is a range of each of the
first six, and one of the bytes that stored operands hold; it has every candidate in all
of its ranges, wherever the sum rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.checkers.certificate_bounds import Bytes, Contraction
from tiledialect.checkers.certificate_cases import Chunks, Support
from tiledialect.checkers.disproof import Disproof

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

COLUMNS = ("b", "m", "n", "k", "steps", "spread", "stored")
"""What a part has a range of, first to last."""

MOST_CELLS = 1 << 22
ENDLESS = int(np.iinfo(np.int64).max) // 4

Ranges = tuple[tuple[int, int], ...]
State = tuple[int, int, int, int]
"""Stored bytes, live bytes, bytes of rows, cycles."""


@dataclass(frozen=True)
class Claim:
    """The least of a part's candidates that fit the budget: bytes of stored operands,
    bytes of what else lives at the group's fullest point, bytes of rows, cycles. None
    fits: `cycles` is ENDLESS, and `live` all bytes that the lightest needs, others' and
    the support included."""

    stored: int
    live: int
    rows: int
    cycles: int
    point: int

    @property
    def fits(self) -> bool:
        return self.cycles < ENDLESS


class Space:
    """All candidates of one contraction in one case.

    tops    the last number of each column
    others  bytes of tensors that lie there besides this group's, at least
    """

    def __init__(
        self,
        contraction: Contraction,
        chunks: Chunks,
        dims: Sequence[int],
        support: Support,
        budget: int,
    ) -> None:
        self.contraction, self.chunks, self.dims = contraction, chunks, list(dims)
        self.support, self.others, self.budget = support, 0, budget
        self.tiles = contraction.machine.tiles
        work = contraction.work
        whole = [
            max(1, -(-extent // grain))
            for extent, grain in zip(work.extents, work.grains, strict=True)
        ]
        stored = contraction.stored_operands
        self.tops = (
            *(min(self.tiles, count) for count in whole),
            whole[3],
            int(len(stored) == 1),
            contraction.most_stored(),
        )
        self.grids = self._grids(whole)

    def _grids(self, whole: Sequence[int]) -> Ints:
        """All ways to cut the domain over at most all tiles. Where the block does not
        depend on the chunks, the fewest parts stand for all with the same block."""
        grids = np.ones((1, 0), dtype=np.int64)
        for at, count in enumerate(whole):
            free = self.chunks.high > 1 and at in self.dims
            some = np.arange(1, min(count, self.tiles) + 1, dtype=np.int64)
            if not free:
                some = some[-(-count // -(-count // some)) == some]
            rows = np.repeat(grids, len(some), axis=0)
            more = np.tile(some, len(grids))[:, None]
            grids = np.concatenate([rows, more], axis=1)
            grids = grids[grids.prod(axis=1) <= self.tiles]
        return grids

    def check_cover(self, parts: Sequence[Ranges]) -> None:
        """Raises Disproof where some candidate is in no part."""
        edges = [
            sorted({0, *(r[at][0] for r in parts), *(r[at][1] + 1 for r in parts)})
            for at in range(len(COLUMNS))
        ]
        cells = [list(pairwise(some)) for some in edges]
        if np.prod([len(some) for some in cells], dtype=np.float64) > MOST_CELLS:
            raise Disproof("the parts are too many to be checked")
        covered = np.zeros([len(some) for some in cells], dtype=np.bool_)
        for ranges in parts:
            covered[
                tuple(
                    slice(some.index(low), some.index(high + 1))
                    for some, (low, high) in zip(edges, ranges, strict=True)
                )
            ] = True
        lows = (1, 1, 1, 1, 1, 0, 0)
        for at, (low, top) in enumerate(zip(lows, self.tops, strict=True)):
            self._check_ends(edges[at], COLUMNS[at], low, top)
        inside = [
            [i for i, (a, b) in enumerate(some) if b > low and a <= top]
            for some, low, top in zip(cells, lows, self.tops, strict=True)
        ]
        missing = np.argwhere(~covered[np.ix_(*inside)])
        if len(missing):
            first = [inside[at][int(i)] for at, i in enumerate(missing[0])]
            self._refuse_hole([cells[at][i] for at, i in enumerate(first)])

    def _check_ends(self, edges: list[int], name: str, low: int, top: int) -> None:
        if not any(edge <= low for edge in edges) or edges[-1] <= top:
            raise Disproof(f"the parts end at {name} {edges[-1] - 1}, not at {top}")

    def _refuse_hole(self, cell: Sequence[tuple[int, int]]) -> None:
        """Raises Disproof, unless more tiles than there are make the hole."""
        if int(np.prod([max(1, low) for low, _ in cell[:4]])) > self.tiles:
            return
        text = ", ".join(
            f"{name} {low} to {end - 1}"
            for name, (low, end) in zip(COLUMNS, cell, strict=True)
        )
        raise Disproof(f"no part has the candidates with {text}")

    def least(self, ranges: Ranges) -> Claim | None:
        """The true bounds of a part; None where it has no candidate."""
        chosen = np.ones(len(self.grids), dtype=np.bool_)
        for at in range(4):
            low, high = ranges[at]
            chosen &= (self.grids[:, at] >= low) & (self.grids[:, at] <= high)
        grids = self.grids[chosen]
        found: list[Claim | None] = []
        steps, (spread_low, spread_high) = ranges[4], ranges[5]
        steps = max(1, steps[0]), min(steps[1], self.tops[4])
        for spread in range(spread_low, min(spread_high, self.tops[5]) + 1):
            kind = bool(spread) if self.tops[5] else None
            found.append(self._least(grids, steps, kind, ranges[6]))
        return joined(found)

    def _least(
        self,
        grids: Ints,
        steps: tuple[int, int],
        spread: bool | None,
        stored: tuple[int, int],
    ) -> Claim | None:
        if steps[0] > steps[1] or not len(grids):
            return None
        found = [
            self._claim(grids, steps, spread, stored, dim)
            for dim in (self.dims if self.chunks.high > 1 else [-1])
        ]
        return joined(found)

    def _claim(
        self,
        grids: Ints,
        steps: tuple[int, int],
        spread: bool | None,
        stored: tuple[int, int],
        dim: int,
    ) -> Claim | None:
        """The bounds with chunks of one dimension."""
        last, size = self._extents(dim, self.chunks.high), self.contraction
        need: Bytes = size.bytes(last, grids, steps, spread)
        inside = (need.stored >= stored[0]) & (need.stored <= stored[1])
        if not inside.any():
            return None
        rows = need.rows * self.chunks.low
        total = need.live + need.stored + self.others + self.support.bytes(rows)
        fits = inside & (total <= self.budget)
        if not fits.any():
            lightest, at = _least_of(total, inside)
            return Claim(0, lightest, 0, ENDLESS, int(need.point[at]))
        columns = fits.any(axis=0)
        cycles = self._cycles(grids[columns], steps[0], spread, dim)
        live, at = _least_of(need.live, fits)
        return Claim(
            int(need.stored[columns].min()),
            live,
            int(rows[fits].min()),
            int(cycles[fits[:, columns]].min()),
            int(need.point[at]),
        )

    def least_stored(self) -> int:
        """Bytes that stored operands hold on a tile at least."""
        kinds = (False, True) if self.tops[5] else (None,)
        extents = self.contraction.work.extents
        found = [self.contraction.bytes(extents, self.grids, (1, 1), k) for k in kinds]
        return min(int(one.stored.min()) for one in found)

    def _extents(self, dim: int, chunks: int) -> list[int]:
        extents = list(self.contraction.work.extents)
        if dim >= 0:
            extents[dim] = -(-extents[dim] // chunks)
        return extents

    def _cycles(self, grids: Ints, steps: int, spread: bool | None, dim: int) -> Ints:
        """Cycles of all chunks: what does not shrink with them counts for each."""
        low, high, size = self.chunks.low, self.chunks.high, self.contraction
        each = size.cycles(self._extents(dim, high), grids, steps, spread)
        if low == high:
            return each * low
        whole = size.cycles(self._extents(dim, 1), grids, steps, spread)
        none = self._extents(dim, 1)
        none[dim] = 0
        again = size.cycles(none, grids, steps, spread)
        return np.maximum(each * low, whole + again * (low - 1))


def _least_of(values: Ints, chosen: Mask) -> tuple[int, tuple[int, ...]]:
    """The least of some values, and where it is."""
    some = np.where(chosen, values, ENDLESS)
    at = np.unravel_index(some.argmin(), some.shape)
    return int(some[at]), tuple(int(i) for i in at)


def joined(claims: Sequence[Claim | None]) -> Claim | None:
    """The bounds of several parts together."""
    every = [claim for claim in claims if claim is not None]
    some = [claim for claim in every if claim.fits] or every
    if not some:
        return None
    lightest = min(some, key=lambda claim: claim.live)
    return Claim(
        min(claim.stored for claim in some),
        lightest.live,
        min(claim.rows for claim in some),
        min(claim.cycles for claim in some),
        lightest.point,
    )


def combined(
    groups: Sequence[Sequence[Claim]], support: Support, base: int, budget: int
) -> int:
    """The least cycles of all ways to take a part of each group that fit the budget;
    ENDLESS: none does."""
    states: list[State] = [(0, 0, 0, 0)]
    for claims in groups:
        made = {
            (
                stored + claim.stored,
                max(live, claim.live),
                rows + claim.rows,
                cycles + claim.cycles,
            )
            for (stored, live, rows, cycles), claim in product(states, claims)
            if claim.fits
        }
        states = _front(
            [
                one
                for one in sorted(made)
                if base + one[0] + one[1] + support.least(one[2]) <= budget
            ]
        )
    return min((cycles for *_, cycles in states), default=ENDLESS)


def _front(states: Sequence[State]) -> list[State]:
    """The states, sorted, that no other is at least as good as in everything."""
    kept: list[State] = []
    for one in states:
        if not any(all(a <= b for a, b in zip(k, one, strict=True)) for k in kept):
            kept.append(one)
    return kept
