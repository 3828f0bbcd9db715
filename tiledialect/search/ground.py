"""What lies on every tile while a program runs in some number of chunks, whatever its
groups choose: the surroundings of every bound of a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.codelets import code_bytes, map_cycles, reduce_cycles
from tiledialect.cost.operand import sized
from tiledialect.machine import Machine
from tiledialect.program import Group, Program

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Span:
    """A range of chunk counts."""

    low: int
    high: int


class Ground:
    """What lies on every tile in a span of chunk counts, whatever is chosen."""

    def __init__(self, program: Program, machine: Machine, span: Span) -> None:
        self.program, self.machine, self.span = program, machine, span

    def support(self, rows: Ints) -> Ints:
        """Bytes of the support with so many of rows."""
        return np.maximum(
            self.machine.memory.support_bytes, self.code_bytes + self.span.low * rows
        )

    @cached_property
    def code_bytes(self) -> int:
        """Code of all codelets that some plan uses, and profiling."""
        groups = self.program.groups
        chains = {group.stages for group in groups if group.stages}
        families = {group.family for group in groups} | {"sum", "copy"}
        code = code_bytes(self.machine, families - {"map"}, len(chains), 0)
        return code + self.machine.code.profile_bytes

    def share(self, number: int, *, chunk: bool = False) -> int:
        """A tile's part of a value, or of a chunk of one: between groups always."""
        value = self.program.values[number]
        elements = value.form.elements
        inner = value.kind == "computed" and number not in self.program.outputs
        if chunk or inner:
            elements = -(-elements // self.span.high)
        size = elements * value.form.format.bytes
        return int(sized(np.array(-(-size // self.machine.tiles))))

    def rests(self, position: int) -> bool:
        """Whether a group's result may stay as it is made."""
        value = self.program.groups[position].result.value
        users = self.program.users(value)
        read_next = value not in self.program.outputs and users == [position + 1]
        return read_next or value in self.program.packed

    def stays(self, number: int) -> bool:
        """Whether a value is there in whole beside some chunk, whatever the group: the
        second of two chunks may have used the arguments up."""
        if self.program.values[number].kind in ("input", "parameter"):
            return self.span.low > 2
        return self.span.low > 1 and number in self.program.outputs

    @cached_property
    def base(self) -> int:
        """Bytes of values that no contraction has a choice for."""
        program, total = self.program, 0
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
            return self.share(number, chunk=True)
        last = program.last_use(number) == position
        return self.share(number, chunk=True) * last

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
                live += self.share(number, chunk=True)
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
