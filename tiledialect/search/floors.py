"""What a contraction takes at least on each grid, whatever else is chosen.

The rules are those of docs/plan-space.md, "Bounds that a certificate proves". The
checker of certificates has code of its own for them, which has to agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import grains, matrix_mode
from tiledialect.codelets import map_cycles, matmul_cycles, reduce_cycles, sum_cycles
from tiledialect.cost.operand import phase_start, sized
from tiledialect.cost.spec import block_extent, ceil_div
from tiledialect.formats import format_named
from tiledialect.machine import Machine
from tiledialect.program import Group, Program

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

DEPTH = 3
WORD = 4


@dataclass(frozen=True)
class Span:
    """A range of chunk counts."""

    low: int
    high: int


@dataclass(frozen=True)
class Floor:
    """Arrays (rests, grids); of `stored` one row stands for all."""

    stored: Ints
    live: Ints
    point: Ints


class Ground:
    """What lies on every tile in a span of chunk counts, whatever is chosen."""

    def __init__(self, program: Program, machine: Machine, span: Span) -> None:
        self.program, self.machine, self.span = program, machine, span

    def share(self, number: int) -> int:
        """A tile's part of a value, or of a chunk of one between groups."""
        value = self.program.values[number]
        elements = value.form.elements
        if value.kind == "computed" and number not in self.program.outputs:
            elements = -(-elements // self.span.high)
        size = elements * value.form.format.bytes
        return int(sized(np.array(-(-size // self.machine.tiles))))

    def rests(self, position: int) -> bool:
        """Whether a group's result may stay as it is made."""
        value = self.program.groups[position].result.value
        users = self.program.users(value)
        return value not in self.program.outputs and users == [position + 1]

    def stays(self, number: int) -> bool:
        """Whether a value is there in whole from chunk to chunk."""
        kind = self.program.values[number].kind
        ends = kind == "input" or number in self.program.outputs
        return self.span.low > 1 and ends

    @cached_property
    def base(self) -> int:
        """Bytes of the support and of values that no contraction has a choice for."""
        program, total = self.program, self.machine.memory.support_bytes
        groups = [group for group in program.groups if group.family == "matmul"]
        multiplied = {operand.value for g in groups for operand in g.operands}
        for number, value in enumerate(program.values):
            users = program.users(number)
            unread = value.kind in ("input", "parameter") and not users
            returned = value.is_stored and number in program.outputs
            beside = value.is_stored and users and number not in multiplied
            if unread or returned or beside:
                total += self.share(number)
        return total

    def alive(self, position: int) -> int:
        """Bytes of values that a group leaves where they are."""
        program = self.program
        makers = {g.result.value: at for at, g in enumerate(program.groups)}
        own = {operand.value for operand in program.groups[position].operands}
        total = 0
        for number, value in enumerate(program.values):
            last = program.last_use(number)
            if value.is_stored or (value.kind == "input" and not program.users(number)):
                continue
            made = makers.get(number, -1)
            came = value.kind == "input" or (
                0 <= made < position and not self.rests(made)
            )
            consumed = number in own and last == position
            if self.stays(number) or (came and last >= position and not consumed):
                total += self.share(number)
        return total

    def source(self, position: int, number: int) -> int:
        """Bytes that a value which a group uses up holds until it is delivered."""
        program = self.program
        if program.values[number].is_stored or self.stays(number):
            return 0
        if self.comes_linked(position, number):
            return self.share(number)
        return self.share(number) * (program.last_use(number) == position)

    def comes_linked(self, position: int, number: int) -> bool:
        """Whether a value rests where the group before left it."""
        if position == 0 or not self.rests(position - 1):
            return False
        return self.program.groups[position - 1].result.value == number

    def settled(self, position: int) -> int | None:
        """Bytes of a result in linear ownership; None: it need not go there."""
        if self.rests(position):
            return None
        value = self.program.groups[position].result.value
        return 0 if self.stays(value) else self.share(value)

    def plain(self, position: int) -> tuple[int, int]:
        """Cycles and live bytes of a group that is no contraction, at least."""
        group, live = self.program.groups[position], self.alive(position)
        for number in {operand.value for operand in group.operands}:
            dies = self.program.last_use(number) == position
            stored = self.program.values[number].is_stored
            if dies and not stored and not self.stays(number):
                live += self.share(number)
        value = group.result.value
        live += 0 if self.stays(value) else self.share(value)
        return self._plain_cycles(group), live

    def _plain_cycles(self, group: Group) -> int:
        points = prod(dim.extent for dim in group.dims)
        if points == 0 or group.family == "matmul":
            return 0
        machine, each = self.machine, -(-points // self.machine.tiles)
        if group.family == "map":
            return int(map_cycles(machine, group.stages, each, False))
        first = self.program.values[group.operands[0].value].form.format.name
        call = int(reduce_cycles(machine, first, 0, each))
        row = int(reduce_cycles(machine, first, 1, each)) - call
        total = call + row // machine.workers
        made = prod(group.extents(group.result.axes))
        if group.stages and made:
            mine = -(-made // machine.tiles)
            total += int(map_cycles(machine, group.stages, mine, False))
        return total


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

    def bytes(self, steps: int, spread: bool | None) -> Floor:
        """Least bytes with up to so many steps; `spread`: how stored operands lie."""
        extents = self._extents(self.ground.span.high)
        blocks = self._blocks(extents)
        depth, panel = blocks[DEPTH], self.grain[DEPTH]
        window = [*blocks[:DEPTH]]
        window.append(
            np.minimum(depth, ceil_div(ceil_div(depth, panel), steps) * panel)
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
            few = sized(whole) if steps == 1 else np.minimum(sized(whole), part + each)
            held = held + few
            source = self.ground.source(self.position, operand.value)
            arriving = np.maximum(arriving, part + source)
        live, point = self._fullest(extents, blocks, arriving, held)
        return Floor(stored, live + self.ground.alive(self.position), point)

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
            moves = np.full_like(self.splits, bool(spread))
            if not self.stored[number]:
                linked = self.ground.comes_linked(self.position, operand.value)
                moves = (self.users[number] > 1) | (not linked)
            size = self._elements(blocks, operand.axes) * self.width[number]
            total = total + np.where(moves, ceil_div(size, WORD), 0)
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
