"""What a contraction takes at least on each grid, whatever else is chosen.

The rules are those of docs/plan-space.md, "Bounds that a certificate proves". The
checker of certificates has code of its own for them, which has to agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import grains, matrix_mode, neighbours
from tiledialect.codelets import (
    map_cycles,
    matmul_cycles,
    sum_cycles,
)
from tiledialect.cost.operand import phase_start, sized
from tiledialect.cost.pairs import run_bytes
from tiledialect.cost.spec import block_extent, ceil_div
from tiledialect.formats import format_named
from tiledialect.group_layouts import RUN_BYTES
from tiledialect.search.ground import Ground

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

DEPTH = 3
WORD = 4


@dataclass(frozen=True)
class Floor:
    """Arrays (rests, grids); of `stored` one row stands for all."""

    stored: Ints
    live: Ints
    point: Ints
    rows: Ints


class Floors:
    """The floors of one contraction: `dim` is the dimension that chunks are of."""

    def __init__(self, ground: Ground, position: int, grids: Ints, dim: int) -> None:
        self.ground, self.position, self.grids, self.dim = ground, position, grids, dim
        program, machine = ground.program, ground.machine
        self.group = group = program.groups[position]
        self.grain = grains(program, group, machine)
        self.extents = [d.extent for d in group.dims]
        operands = [program.values[o.value] for o in group.operands]
        self.width = [value.form.format.bytes for value in operands]
        self.stored = [value.is_stored for value in operands]
        self.users = [
            grids[:, [d for d in range(4) if d not in o.axes]].prod(axis=1)
            for o in group.operands
        ]
        self.partials = grids[:, DEPTH]
        self.splits = self.partials > 1
        self.sum_width = format_named(group.format).bytes
        result = program.values[group.result.value].form
        self.rest_width = result.format.bytes
        self.settled = ground.settled(position)

    def _extents(self, chunks: int) -> list[int]:
        """The extents of a chunk; of nothing, where there are 0."""
        some = list(self.extents)
        if self.dim >= 0:
            some[self.dim] = -(-some[self.dim] // chunks) if chunks else 0
        return some

    def _blocks(self, extents: list[int]) -> list[Ints]:
        return [
            block_extent(extent, grain, self.grids[:, at])
            for at, (extent, grain) in enumerate(zip(extents, self.grain, strict=True))
        ]

    def _elements(self, blocks: list[Ints], axes: tuple[int, ...]) -> Ints:
        return np.multiply.reduce([blocks[d] for d in axes])

    def _rests(self, extents: list[int], blocks: list[Ints]) -> list[tuple[Ints, bool]]:
        """Elements of a tile's piece of the sum for each place where it may rest, and
        whether that is linear ownership."""
        axes = self.group.result.axes
        found: list[tuple[Ints, bool]] = []
        for axis in sorted(axes):
            grain = self.grain[axis]
            cut = list(blocks)
            piece = ceil_div(ceil_div(cut[axis], grain), self.partials) * grain
            cut[axis] = np.minimum(cut[axis], piece)
            found.append((self._elements(cut, axes), False))
        if not self.group.stages:
            total = prod(extents[axis] for axis in axes)
            each = -(-total // self.ground.machine.tiles)
            found.append((np.full_like(self.partials, each), True))
        return found

    def bytes(self, steps: tuple[int, int], spread: bool | None) -> Floor:
        """Least bytes with a number of steps in a range; `spread`: how stored operands
        lie."""
        extents = self._extents(self.ground.span.high)
        blocks = self._blocks(extents)
        depth, panel = blocks[DEPTH], self.grain[DEPTH]
        window = [*blocks[:DEPTH]]
        window.append(
            np.minimum(depth, ceil_div(ceil_div(depth, panel), steps[1]) * panel)
        )
        zero = 0 * depth
        stored, arriving, held = zero, zero, zero
        for number, operand in enumerate(self.group.operands):
            whole = self._elements(blocks, operand.axes) * self.width[number]
            part = sized(self._elements(window, operand.axes) * self.width[number])
            if self.stored[number]:
                lies = whole if spread is False else ceil_div(whole, self.users[number])
                stored = stored + sized(lies)
                held = held + part * bool(spread)
                continue
            total = prod(extents[d] for d in operand.axes) * self.width[number]
            each = sized(zero + -(-total // self.ground.machine.tiles))
            few = np.minimum(sized(whole), part + each * (steps[1] > 1))
            held = held + few
            source = self.ground.source(self.position, operand.value)
            arriving = np.maximum(arriving, part + source)
        live, point = self._fullest(extents, blocks, arriving, held)
        rows = self._rows(blocks, steps[0], spread)
        return Floor(stored, live + self.ground.alive(self.position), point, rows)

    def _moves(self, number: int, spread: bool | None) -> Mask:
        """Where an operand moves, whatever is chosen."""
        if self.stored[number]:
            return np.full_like(self.splits, bool(spread))
        operand = self.group.operands[number]
        linked = self.ground.comes_linked(self.position, operand.value)
        return (self.users[number] > 1) | (not linked)

    def _piece(self, number: int, blocks: list[Ints]) -> Ints:
        """Bytes of a tile's piece of a block that is spread over the tiles that share
        it."""
        axes = self.group.operands[number].axes
        full = [ceil_div(b, g) * g for b, g in zip(blocks, self.grain, strict=True)]
        size = self._elements(full, axes) * self.width[number]
        return ceil_div(ceil_div(size, self.users[number]), RUN_BYTES) * RUN_BYTES

    def _paired(self, number: int, blocks: list[Ints]) -> Mask:
        """Where an operand's words may come two at once: whole pairs of tiles share its
        block. A stored one comes in runs of no more than a piece."""
        if self.ground.machine.exchange.pair_tiles == 1:
            return np.zeros_like(self.splits)
        axes = self.group.operands[number].axes
        paired = neighbours(self.group, axes, self.grids) % 2 == 0
        if self.stored[number]:
            least = run_bytes(self.ground.machine)
            paired = paired & (self._piece(number, blocks) >= least)
        return paired

    def _doubled(self, number: int, size: Ints) -> Ints:
        """Cycles in which a block comes two words at once, at least. Pieces of the own
        pair come word by word; from linear ownership it is spread first or packed, and
        the copy codelet runs either way."""
        half, piece = ceil_div(size, 2 * WORD), size // self.users[number] // WORD
        if self.stored[number]:
            return half + piece
        operand, machine = self.group.operands[number], self.ground.machine
        if self.ground.comes_linked(self.position, operand.value):
            return half
        packed = ceil_div(size, RUN_BYTES) * machine.copy.run_cycles
        spread = 2 * piece + phase_start(machine)
        return half + np.minimum(spread, packed) + machine.copy.call_cycles

    def _messages(self, number: int, blocks: list[Ints]) -> Ints:
        """Messages in which an operand comes to a tile, at least."""
        operand, one = self.group.operands[number], np.ones_like(self.partials)
        if self.ground.comes_linked(self.position, operand.value):
            return one
        full = [ceil_div(b, g) * g for b, g in zip(blocks, self.grain, strict=True)]
        size = self._elements(full, operand.axes) * self.width[number]
        users = self.users[number]
        piece = self._piece(number, blocks)
        gathered = np.minimum(users, ceil_div(size, np.maximum(piece, 1)))
        if not self.stored[number]:
            outer = tuple(axis for axis in operand.axes if axis != DEPTH)
            panels = ceil_div(blocks[DEPTH], self.grain[DEPTH])
            lines = np.where(panels > 1, self._elements(blocks, outer), one)
            gathered = np.minimum(gathered, lines * panels)
        return np.maximum(gathered, one)

    def _rows(self, blocks: list[Ints], steps: int, spread: bool | None) -> Ints:
        """Bytes of control words, and of steps of the program, of one chunk: what its
        phases and compute sets take at least."""
        x, code = self.ground.machine.exchange, self.ground.machine.code
        word = x.control_word_bytes
        phase, send = x.phase_controls * word, (x.send_controls + x.gap_controls) * word
        hear = (x.source_controls + x.pointer_controls) * word
        moves = [self._moves(n, spread) for n in range(len(self.stored))]
        heard = [m * self._messages(n, blocks) for n, m in enumerate(moves)]
        moved, words = sum(moves, 0 * self.partials), sum(heard, 0 * self.partials)
        phases = moved
        if steps > 1:
            words = words + np.maximum(0, steps - np.maximum.reduce(heard))
            phases = np.maximum(moved, steps)
        total = moved * (phase + send) + (steps - 1) * phase + words * hear
        total = total + (phases + steps + bool(self.group.stages)) * code.step_bytes
        sums = phase + send + (self.partials - 1) * hear + 2 * code.step_bytes
        total = total + np.where(self.splits, sums, 0)
        away = 0 * total
        if self.settled is not None:
            away = away + phase + send + hear + code.step_bytes
        found = [total + away for _ in self.group.result.axes]
        if not self.group.stages:
            found.append(total + np.where(self.splits, 0, away))
        return np.stack(found)

    def _fullest(
        self, extents: list[int], blocks: list[Ints], arriving: Ints, held: Ints
    ) -> tuple[Ints, Ints]:
        """Bytes of the fullest point, and which it is."""
        axes, zero = self.group.result.axes, 0 * held
        whole = self._elements(blocks, axes)
        computed = sized(whole * self.sum_width)
        live: list[Ints] = []
        point: list[Ints] = []
        for piece, linear in self._rests(extents, blocks):
            one = sized(piece * self.sum_width)
            pieces = self.partials - (not linear)
            beside = np.maximum(computed, one) if linear else computed + one
            summing = sized(piece * pieces * self.sum_width) + beside
            rest = np.where(self.splits, piece, whole)
            resting = sized(rest * self.rest_width)
            tail = zero
            if self.group.stages:
                tail = sized(rest * self.sum_width) + resting
            settling = zero
            if self.settled is not None:
                there = self.splits if linear else np.zeros_like(self.splits)
                settling = np.where(there, 0, resting) + self.settled
            steps = [arriving, held + computed, summing * self.splits, tail, settling]
            every = np.stack(steps)
            live.append(every.max(axis=0))
            point.append(every.argmax(axis=0))
        return np.stack(live), np.stack(point)

    def cycles(self, steps: int, spread: bool | None) -> Ints:
        """Least cycles with at least so many steps, over all chunks."""
        low, high = self.ground.span.low, self.ground.span.high
        each = self._cycles(self._extents(high), steps, spread)
        if low == high:
            return each * low
        once = self._cycles(self._extents(1), steps, spread)
        again = self._cycles(self._extents(0), steps, spread)
        return np.maximum(each * low, once + again * (low - 1))

    def _cycles(self, extents: list[int], steps: int, spread: bool | None) -> Ints:
        program, machine = self.ground.program, self.ground.machine
        group, blocks = self.group, self._blocks(extents)
        mode = matrix_mode(program, group, machine)
        first = program.values[group.operands[0].value].form.format.name
        b, m, n, k = blocks
        one = matmul_cycles(machine, first, group.accumulate, m, n, k)
        total = b * (one - mode.call_cycles) + steps * mode.call_cycles
        phases = 0 * total
        for number, operand in enumerate(group.operands):
            moves = self._moves(number, spread)
            size = self._elements(blocks, operand.axes) * self.width[number]
            words = ceil_div(size, WORD)
            twice = np.minimum(words, self._doubled(number, size))
            come = np.where(self._paired(number, blocks), twice, words)
            total = total + np.where(moves, come, 0)
            phases = phases + moves
        start = phase_start(machine)
        total = total + start * (phases if steps == 1 else steps)
        return np.stack([total + end for end in self._endings(extents, blocks, start)])

    def _endings(
        self, extents: list[int], blocks: list[Ints], start: int
    ) -> list[Ints]:
        """Cycles from the partial sums to the resting result, for each place of it."""
        machine, group = self.ground.machine, self.group
        whole = self._elements(blocks, group.result.axes)
        found: list[Ints] = []
        for piece, linear in self._rests(extents, blocks):
            pieces = self.partials - (not linear)
            words = ceil_div(piece * pieces * self.sum_width, WORD)
            if linear:
                words = np.maximum(words, ceil_div(whole * self.sum_width, WORD))
            sums = sum_cycles(machine, group.format, self.partials, piece)
            total = np.where(self.splits, words + start + sums, 0)
            rest = np.where(self.splits, piece, whole)
            if group.stages:
                total = total + map_cycles(machine, group.stages, rest, False)
            if self.settled is not None:
                away = start + ceil_div(rest * self.rest_width, WORD)
                there = self.splits if linear else np.zeros_like(self.splits)
                total = total + np.where(there, 0, away)
            found.append(total)
        return found
