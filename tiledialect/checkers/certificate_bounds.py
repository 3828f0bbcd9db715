"""Least bytes and cycles of a contraction on each of many grids.

The rules are those of docs/plan-space.md, "Bounds that a certificate proves", written
here apart from the cost model: vectorised over grids, one row a place where the sum may
rest. Everything left out (staging, packing, gaps, most control words) only adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.checkers.certificate_program import Task, Work
from tiledialect.codelets import map_cycles, matmul_cycles, sum_cycles
from tiledialect.formats import format_named
from tiledialect.machine import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

WORD = 4
PIECE = 32
"""Pieces of a block that is spread are whole multiples of so many bytes."""
ITEM = 8
"""Two tiles that share a block may receive items of so many bytes together."""
ALIGN = 16
DEPTH = 3
"""The dimension that is summed over."""

STORED, LINEAR, LINKED = range(3)
"""Where an operand comes from."""

POINTS = ("deliver", "compute", "sum", "stages", "settle")
"""The program points of a group, in order."""


def up(size: Ints) -> Ints:
    """A buffer's bytes in whole multiples of the alignment."""
    return -(-size // ALIGN) * ALIGN


def per(value: Ints, count: Ints | int) -> Ints:
    return -(-value // count)


@dataclass(frozen=True)
class Place:
    """What surrounds a contraction in one case of a proof.

    alive    bytes of values in linear ownership that are not its own
    sources  for each operand bytes of where it comes from, 0 where `alive` has them
    fetched  for each operand: STORED, LINEAR, or LINKED: where the group before left it
    settled  bytes that the result takes in linear ownership at least, 0 where `alive`
             has them; None: it need not settle
    """

    alive: int
    sources: tuple[int, ...]
    fetched: tuple[int, ...]
    settled: int | None


@dataclass(frozen=True)
class Bytes:
    """Of stored operands (grids); of what else lives at the fullest point, and which of
    POINTS it is; of control words and the program's steps (rests, grids)."""

    stored: Ints
    live: Ints
    point: Ints
    rows: Ints


class Contraction:
    """The bounds of one contraction with its place. `extents` may be those of a chunk;
    `spread`: stored operands lie spread over the tiles that share a block; None: each
    as it costs least."""

    def __init__(self, task: Task, machine: Machine, work: Work, place: Place) -> None:
        self.machine, self.work, self.place = machine, work, place
        forms = [task.values[use.value].form for use in work.uses]
        self.widths = [form.format.bytes for form in forms]
        self.operand = forms[0].format.name
        self.sum_width = format_named(work.format).bytes
        self.result_width = task.values[work.result].form.format.bytes
        last = machine.latency(machine.tiles - 1)
        self.phase_start = last + machine.exchange.phase_cycles

    @property
    def stored_operands(self) -> list[int]:
        """Numbers of the operands that are known before the run."""
        kinds = enumerate(self.place.fetched)
        return [number for number, kind in kinds if kind == STORED]

    def most_stored(self) -> int:
        """Bytes that stored operands hold on a tile at most."""
        total = 0
        for number in self.stored_operands:
            axes = self.work.uses[number].axes
            whole = prod(self.work.extents[d] for d in axes) * self.widths[number]
            total += -(-whole // ALIGN) * ALIGN
        return total

    def blocks(self, extents: Sequence[int], grids: Ints) -> list[Ints]:
        """The largest block along each dimension, cut in whole grains."""
        found: list[Ints] = []
        for at, (extent, grain) in enumerate(
            zip(extents, self.work.grains, strict=True)
        ):
            whole = np.full(len(grids), -(-extent // grain), dtype=np.int64)
            found.append(np.minimum(per(whole, grids[:, at]) * grain, extent))
        return found

    def _sharing(self, number: int, grids: Ints) -> Ints:
        """Tiles that share a block of an operand."""
        others = [d for d in range(4) if d not in self.work.uses[number].axes]
        return grids[:, others].prod(axis=1)

    def _block_bytes(self, number: int, blocks: Sequence[Ints]) -> Ints:
        axes = self.work.uses[number].axes
        return _product([blocks[d] for d in axes]) * self.widths[number]

    def _share(self, number: int, extents: Sequence[int]) -> int:
        """Bytes of an operand on a tile at least, where all tiles hold it once."""
        axes = self.work.uses[number].axes
        whole = prod(extents[d] for d in axes) * self.widths[number]
        return -(-whole // self.machine.tiles)

    def _pieces(
        self, extents: Sequence[int], blocks: Sequence[Ints], grids: Ints
    ) -> list[tuple[bool, Ints]]:
        """For each place where a sum may rest, whether it is linear ownership, and the
        elements of a tile's piece of it."""
        partials, axes = grids[:, DEPTH], self.work.axes
        found: list[tuple[bool, Ints]] = []
        for cut in axes:
            grain = self.work.grains[cut]
            piece = per(per(blocks[cut], grain), partials) * grain
            some = [
                np.minimum(piece, blocks[d]) if d == cut else blocks[d] for d in axes
            ]
            found.append((False, _product(some)))
        if not self.work.stages:
            whole = prod(extents[d] for d in axes)
            linear = np.full(len(grids), -(-whole // self.machine.tiles))
            found.append((True, linear))
        return found

    def bytes(
        self,
        extents: Sequence[int],
        grids: Ints,
        steps: tuple[int, int],
        spread: bool | None,
    ) -> Bytes:
        """Bytes with a number of steps in a range: buffers with the last of them, rows
        with the first."""
        blocks = self.blocks(extents, grids)
        zero = np.zeros(len(grids), dtype=np.int64)
        stored, deliver, read = zero, zero, zero
        panel = self.work.grains[DEPTH]
        window = list(blocks)
        deep = per(per(blocks[DEPTH], panel), steps[1]) * panel
        window[DEPTH] = np.minimum(deep, blocks[DEPTH])
        for number, fetched in enumerate(self.place.fetched):
            block = self._block_bytes(number, blocks)
            part = self._block_bytes(number, window)
            if fetched == STORED:
                held = per(block, self._sharing(number, grids))
                stored = stored + up(block if spread is False else held)
                read = read + (up(part) if spread else zero)
                continue
            share = zero + self._share(number, extents)
            streamed = up(part) + up(share) if steps[1] > 1 else up(block)
            read = read + np.minimum(up(block), streamed)
            deliver = np.maximum(deliver, up(part) + self.place.sources[number])
        points = self._after(extents, blocks, grids, read)
        stacked = np.stack([np.broadcast_to(deliver, points[0].shape), *points], axis=0)
        live = stacked.max(axis=0) + self.place.alive
        rows = self._rows(blocks, grids, steps[0], spread)
        return Bytes(stored, live, stacked.argmax(axis=0), rows)

    def _after(
        self, extents: Sequence[int], blocks: Sequence[Ints], grids: Ints, read: Ints
    ) -> list[Ints]:
        """Bytes at the points from `compute` on, a row for each place of the sum."""
        many = grids[:, DEPTH] > 1
        whole = _product([blocks[d] for d in self.work.axes])
        computed = up(whole * self.sum_width)
        rows: list[list[Ints]] = []
        for linear, piece in self._pieces(extents, blocks, grids):
            left = np.where(many, piece, whole)
            summed = up(piece * self.sum_width)
            received = grids[:, DEPTH] - (0 if linear else 1)
            stack = up(piece * received * self.sum_width)
            beside = np.maximum(computed, summed) if linear else computed + summed
            sums = np.where(many, stack + beside, 0)
            resting = up(left * self.result_width)
            stages = up(left * self.sum_width) + resting
            settle = 0 * resting
            if self.place.settled is not None:
                moved = np.where(many & linear, 0, resting)
                settle = moved + self.place.settled
            if not self.work.stages:
                stages = 0 * stages
            rows.append([read + computed, sums, stages, settle])
        return [np.stack(point) for point in zip(*rows, strict=True)]

    def _moved(self, number: int, grids: Ints, spread: bool | None) -> Mask:
        """Where an operand moves for certain: a link's block that no other tile shares
        may lie there already."""
        fetched = self.place.fetched[number]
        if fetched == LINKED:
            return self._sharing(number, grids) > 1
        return np.full(len(grids), fetched == LINEAR or spread is True)

    def _spread_piece(
        self, number: int, blocks: Sequence[Ints], grids: Ints
    ) -> tuple[Ints, Ints]:
        """Bytes of a block in whole grains, and of a tile's piece of it."""
        grains = self.work.grains
        padded = [per(block, grains[d]) * grains[d] for d, block in enumerate(blocks)]
        size = self._block_bytes(number, padded)
        return size, per(per(size, self._sharing(number, grids)), PIECE) * PIECE

    def _arriving(self, number: int, blocks: Sequence[Ints], grids: Ints) -> Ints:
        """Cycles in which the words of a block come to a tile. Two a cycle take at
        least: half; of a block that is spread, that of the own pair's pieces; and the
        way there from linear ownership, in a phase more or by a codelet that packs, and
        a call of the codelet that copies in both cases."""
        size = self._block_bytes(number, blocks)
        one, two = per(size, WORD), per(size, ITEM)
        piece = size // self._sharing(number, grids) // WORD
        if self.place.fetched[number] == STORED:
            two = two + piece
        elif self.place.fetched[number] == LINEAR:
            packing = per(size, PIECE) * self.machine.copy.run_cycles
            two = two + np.minimum(2 * piece + self.phase_start, packing)
            two = two + self.machine.copy.call_cycles
        paired = self._in_pairs(number, blocks, grids)
        return np.where(paired, np.minimum(one, two), one)

    def _in_pairs(self, number: int, blocks: Sequence[Ints], grids: Ints) -> Mask:
        """Where tiles 2i and 2i + 1 have the same block of an operand, for each i, and
        may receive two words of it a cycle. Tile numbers run over k, b, m, n."""
        exchange = self.machine.exchange
        row = np.ones(len(grids), dtype=np.int64)
        same = np.ones(len(grids), dtype=np.bool_)
        for dim in (2, 1, 0, DEPTH):
            if dim in self.work.uses[number].axes:
                same = same & (grids[:, dim] == 1)
            else:
                row = row * np.where(same, grids[:, dim], 1)
        paired = (row % 2 == 0) & (exchange.pair_tiles == 2)
        if self.place.fetched[number] == STORED:
            _, piece = self._spread_piece(number, blocks, grids)
            paired = paired & (piece >= exchange.pair_least_items * ITEM)
        return paired

    def _messages(self, number: int, blocks: Sequence[Ints], grids: Ints) -> Ints:
        """Messages that bring an operand to a tile that needs it: of a block that is
        gathered one from each tile that has a piece, of one from linear ownership maybe
        one for each row of a panel instead."""
        if self.place.fetched[number] == LINKED:
            return np.ones(len(grids), dtype=np.int64)
        grains, sharing = self.work.grains, self._sharing(number, grids)
        size, piece = self._spread_piece(number, blocks, grids)
        pieces = np.minimum(sharing, per(size, np.maximum(piece, 1)))
        if self.place.fetched[number] == LINEAR:
            panels = per(blocks[DEPTH], grains[DEPTH])
            outer = [d for d in self.work.uses[number].axes if d != DEPTH]
            short = np.where(panels > 1, _product([blocks[d] for d in outer]), 1)
            pieces = np.minimum(pieces, short * panels)
        return np.maximum(pieces, 1)

    def _rows(
        self, blocks: Sequence[Ints], grids: Ints, steps: int, spread: bool | None
    ) -> Ints:
        """Bytes of control words and of the program's steps, for each place of the sum:
        what all phases and compute sets take at least."""
        x, step_bytes = self.machine.exchange, self.machine.code.step_bytes
        phase = x.phase_controls * x.control_word_bytes
        send = (x.send_controls + x.gap_controls) * x.control_word_bytes
        hear = (x.source_controls + x.pointer_controls) * x.control_word_bytes
        moves, messages, most = (np.zeros(len(grids), dtype=np.int64) for _ in "abc")
        for number in range(len(self.place.fetched)):
            moved = self._moved(number, grids, spread)
            some = moved * self._messages(number, blocks, grids)
            moves, messages = moves + moved, messages + some
            most = np.maximum(most, some)
        messages = messages + np.maximum(0, steps - most) * (steps > 1)
        rows = moves * (phase + send) + (steps - 1) * phase + messages * hear
        rows = (
            rows + (np.maximum(moves, steps if steps > 1 else 0) + steps) * step_bytes
        )
        rows = rows + step_bytes * bool(self.work.stages)
        partials = grids[:, DEPTH]
        summed = phase + send + (partials - 1) * hear + 2 * step_bytes
        rows = rows + np.where(partials > 1, summed, 0)
        away = 0 if self.place.settled is None else phase + send + hear + step_bytes
        linear = [False] * len(self.work.axes) + [True] * (not self.work.stages)
        return np.stack(
            [rows + np.where((partials > 1) & there, 0, away) for there in linear]
        )

    def cycles(
        self, extents: Sequence[int], grids: Ints, steps: int, spread: bool | None
    ) -> Ints:
        """Cycles with at least so many steps, a row for each place of the sum."""
        blocks = self.blocks(extents, grids)
        b, m, n, k = blocks
        mode, machine = self.work.mode, self.machine
        assert mode is not None
        one = matmul_cycles(machine, self.operand, self.work.format, m, n, k)
        compute = (one - mode.call_cycles) * b + mode.call_cycles * steps
        words, phases = 0 * b, 0 * b
        for number, fetched in enumerate(self.place.fetched):
            moved = np.full(len(grids), spread is True)
            if (
                fetched == LINKED
            ):  # a block that no other tile uses may lie there already
                moved = self._sharing(number, grids) > 1
            elif fetched == LINEAR:
                moved = np.ones(len(grids), dtype=np.bool_)
            words = words + moved * self._arriving(number, blocks, grids)
            phases = phases + moved
        if steps > 1:
            phases = np.full(len(grids), steps)
        before = compute + words + phases * self.phase_start
        return before + self._ending(extents, blocks, grids)

    def _ending(
        self, extents: Sequence[int], blocks: Sequence[Ints], grids: Ints
    ) -> Ints:
        """Cycles from the partial sums on, a row for each place of the sum."""
        partials, machine = grids[:, DEPTH], self.machine
        many = partials > 1
        whole = _product([blocks[d] for d in self.work.axes])
        rows: list[Ints] = []
        for linear, piece in self._pieces(extents, blocks, grids):
            left = np.where(many, piece, whole)
            received = partials - (0 if linear else 1)
            words = per(piece * received * self.sum_width, WORD)
            if linear:  # every tile sends all of its partial sums
                words = np.maximum(words, per(whole * self.sum_width, WORD))
            sums = sum_cycles(machine, self.work.format, partials, piece)
            total = np.where(many, words + self.phase_start + sums, 0)
            if self.work.stages:
                total = total + map_cycles(machine, self.work.stages, left, False)
            if self.place.settled is not None:
                moved = per(left * self.result_width, WORD) + self.phase_start
                total = total + np.where(many & linear, 0, moved)
            rows.append(total)
        return np.stack(rows)


def _product(values: Sequence[Ints]) -> Ints:
    found = values[0]
    for value in values[1:]:
        found = found * value
    return found
