"""What surrounds each group while a program runs in so many chunks.

A case of a proof is a range of chunk counts. In each, arguments, results and other
values in linear ownership take bytes that no choice of a group can save.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.checkers.certificate_bounds import (
    ALIGN,
    LINEAR,
    LINKED,
    STORED,
    Place,
)
from tiledialect.checkers.certificate_program import Task, Work
from tiledialect.codelets import code_bytes, map_cycles, reduce_cycles
from tiledialect.machine import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Chunks:
    """From `low` to `high` chunks; `extents`: of dimensions that may be cut so."""

    low: int
    high: int
    extents: frozenset[int]


@dataclass(frozen=True)
class Plain:
    """A group that is no contraction: the least of its cycles and live bytes."""

    cycles: int
    live: int


def shared_extents(task: Task) -> frozenset[int]:
    """Extents of dimensions that every group has, which alone can be cut in chunks."""
    shared: set[int] | None = None
    for group in task.groups:
        if group.family == "matmul":
            mine = {group.extents[d] for d in _parallel(task, group)}
        else:
            mine = _products(task.values[group.result].form.shape)
        shared = mine if shared is None else shared & mine
    return frozenset(extent for extent in shared or () if extent > 1)


def chunked_dimensions(task: Task, group: Work, chunks: Chunks) -> list[int]:
    """The dimensions of a contraction that the chunks may be of."""
    some = _parallel(task, group)
    return [d for d in some if group.extents[d] in chunks.extents]


def _parallel(task: Task, group: Work) -> list[int]:
    """Dimensions of a contraction that are not summed over, and that no stored operand
    has."""
    stored = [use for use in group.uses if task.values[use.value].stored]
    used = {d for use in stored for d in use.axes}
    return [d for d in (0, 1, 2) if d not in used]


def _products(shape: tuple[int, ...]) -> set[int]:
    """Elements of each run of neighbouring axes: what one dimension may stand for."""
    found: set[int] = set()
    for first in range(len(shape)):
        size = 1
        for extent in shape[first:]:
            size *= extent
            found.add(size)
    return found


@dataclass(frozen=True)
class Support:
    """Bytes of a tile that hold no tensor: the machine's reservation, or code with
    rows where these are more."""

    reserved: int
    code: int

    @staticmethod
    def of(task: Task, machine: Machine) -> Support:
        families = {group.family for group in task.groups} | {"sum", "copy"}
        chains = {group.stages for group in task.groups if group.stages}
        code = code_bytes(machine, families - {"map"}, len(chains), 0)
        code += machine.code.profile_bytes
        return Support(machine.memory.support_bytes, code)

    def bytes(self, rows: Ints) -> Ints:
        """With so many bytes of rows."""
        return np.maximum(self.reserved, self.code + rows)

    def least(self, rows: int) -> int:
        return max(self.reserved, self.code + rows)


class Surroundings:
    """The bytes around every group in one case."""

    def __init__(self, task: Task, machine: Machine, chunks: Chunks) -> None:
        self.task, self.machine, self.chunks = task, machine, chunks

    def share(self, value: int, *, chunk: bool = False) -> int:
        """Bytes of a value on a tile at least: whole where it is an argument or a
        result, a `chunk` of it elsewhere."""
        form = self.task.values[value].form
        elements = form.elements
        whole = self.task.values[value].argument or value in self.task.outputs
        if chunk or not whole:
            elements = -(-elements // self.chunks.high)
        size = -(-elements * form.format.bytes // self.machine.tiles)
        return -(-size // ALIGN) * ALIGN

    def base(self) -> int:
        """Bytes that lie on every tile all through the run besides the support: values
        that no group reads, and stored ones of groups that are no contractions."""
        task = self.task
        products = {
            use.value
            for group in task.groups
            if group.family == "matmul"
            for use in group.uses
        }
        total = 0
        for index, value in enumerate(task.values):
            readers = task.readers(index)
            if (
                (value.argument and not readers)
                or (value.stored and index in task.outputs)
                or (value.stored and readers and index not in products)
            ):
                total += self.share(index)
        return total

    def alive(self, position: int) -> int:
        """Bytes of values in linear ownership while a group runs, but for those that
        it uses up. In chunks, results are there all the time; in three or more of them
        arguments too."""
        task = self.task
        used_up = {
            use.value
            for use in task.groups[position].uses
            if task.last_use(use.value) == position
        }
        total = 0
        for index, value in enumerate(task.values):
            if value.stored or (value.argument and not task.readers(index)):
                continue
            made = task.made_by(index)
            rests = 0 <= made < position and not task.may_link(made)
            there = (value.argument or rests) and task.last_use(index) >= position
            if self._always(index) or (there and index not in used_up):
                total += self.share(index)
        return total

    def _always(self, value: int) -> bool:
        """Whether a value lies there whole while some chunk runs. Of two chunks the
        second may have used up the arguments."""
        if self.task.values[value].argument:
            return self.chunks.low > 2
        return self.chunks.low > 1 and value in self.task.outputs

    def place(self, position: int) -> Place:
        """What surrounds the contraction at a position."""
        task, group = self.task, self.task.groups[position]
        sources: list[int] = []
        fetched: list[int] = []
        for use in group.uses:
            value, made = task.values[use.value], task.made_by(use.value)
            linked = made == position - 1 and made >= 0 and task.may_link(made)
            fetched.append(STORED if value.stored else LINKED if linked else LINEAR)
            used_up = linked or task.last_use(use.value) == position
            there = value.stored or not used_up or self._always(use.value)
            sources.append(0 if there else self.share(use.value, chunk=True))
        settled: int | None = None
        if not task.may_link(position):
            settled = 0 if self._always(group.result) else self.share(group.result)
        return Place(self.alive(position), tuple(sources), tuple(fetched), settled)

    def plain(self, position: int) -> Plain:
        """The least of a group that is no contraction: its elements are on all tiles
        equally, its operands and its result are there."""
        task, group = self.task, self.task.groups[position]
        live = self.alive(position)
        for value in {use.value for use in group.uses}:
            read = not task.values[value].stored and task.last_use(value) == position
            used_up = read and not self._always(value)
            live += self.share(value, chunk=True) * used_up
        live += self.share(group.result) * (not self._always(group.result))
        return Plain(self._plain_cycles(group), live)

    def _plain_cycles(self, group: Work) -> int:
        if not group.elements:
            return 0
        machine = self.machine
        mine = -(-group.elements // machine.tiles)
        if group.family == "map":
            return int(map_cycles(machine, group.stages, mine, False))
        call = int(reduce_cycles(machine, group.format, 0, mine))
        one = int(reduce_cycles(machine, group.format, 1, mine))
        made = self.task.values[group.result].form.elements
        total = call + (one - call) // machine.workers
        if group.stages and made:
            rest = -(-made // machine.tiles)
            total += int(map_cycles(machine, group.stages, rest, False))
        return total
