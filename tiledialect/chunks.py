"""Chunks: a program whose groups all share a parallel dimension, run part by part.

Each chunk goes through all groups before the next one begins, so what lies between them
is never whole. Arguments and results are, in linear ownership, all through the run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tiledialect.layout import Window, ceil_div
from tiledialect.program import Group, Operand, Program

CHUNKS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
"""Numbers of chunks that are tried."""


@dataclass(frozen=True)
class Chunking:
    """`count` chunks of a dimension of `extent` elements: number `dims[i]` of group i.
    One of `count` 1 is the program as it is, whatever its dimensions."""

    dims: tuple[int, ...]
    extent: int
    count: int

    @property
    def rows(self) -> int:
        """Elements of all chunks but the last, which may have fewer."""
        return ceil_div(self.extent, self.count)

    def part(self, position: int, number: int) -> Window | None:
        """What chunk `number` takes of the domain of the group at a position."""
        if self.count == 1:
            return None
        start = number * self.rows
        return Window(self.dims[position], start, min(self.rows, self.extent - start))

    def has(self, position: int, operand: Operand) -> bool:
        """Whether an operand of a group is cut by chunks."""
        return self.count > 1 and self.dims[position] in operand.axes

    def leads(self, group: Group, position: int, operand: Operand) -> bool:
        """Whether a chunk of an operand is one stretch of its row-major elements."""
        if not self.has(position, operand):
            return False
        before = operand.axes[: operand.axes.index(self.dims[position])]
        return all(group.dims[axis].extent == 1 for axis in before)


WHOLE = Chunking((), 1, 1)
"""No chunks."""


def chunked(program: Program, chunking: Chunking, number: int = 0) -> Program:
    """The program that one chunk goes through. Its values keep their whole shapes."""
    if chunking.count == 1:
        return program
    groups = [
        _chunked_group(group, chunking.part(position, number))
        for position, group in enumerate(program.groups)
    ]
    return replace(program, groups=tuple(groups))


def _chunked_group(group: Group, part: Window | None) -> Group:
    assert part is not None
    dims = list(group.dims)
    dims[part.axis] = replace(dims[part.axis], extent=part.count)
    return replace(group, dims=tuple(dims))


def chunkings(program: Program, counts: tuple[int, ...] = CHUNKS) -> list[Chunking]:
    """The ways to run a program in chunks, the whole first; of those with chunks of one
    size the one with the fewest."""
    found = [WHOLE]
    dims = shared_dimension(program)
    if dims is None:
        return found
    extent = program.groups[0].dims[dims[0]].extent
    for count in counts:
        one = Chunking(dims, extent, count)
        if count > 1 and extent > 0 and ceil_div(extent, one.rows) == count:
            found.append(one)
    return found


def chunking_of(program: Program, count: int) -> Chunking:
    """The way to run a program in so many chunks. Raises ValueError: there is none."""
    for chunking in chunkings(program, (count,)):
        if chunking.count == count:
            return chunking
    raise ValueError(f"the program cannot be run in {count} chunks")


def shared_dimension(program: Program) -> tuple[int, ...] | None:
    """For each group the dimension that all of them share, or None: it goes through
    every result, is summed over nowhere, and no stored value has it."""
    if not program.groups:
        return None
    for dim in range(len(program.groups[0].dims)):
        dims = _followed(program, dim)
        if dims is not None:
            return dims
    return None


def _followed(program: Program, dim: int) -> tuple[int, ...] | None:
    found = [dim]
    last = len(program.groups) - 1
    for position, group in enumerate(program.groups):
        if not _may_cut(program, group, dim):
            return None
        if position == last:
            ends = program.outputs == (group.result.value,) and not program.packed
            return tuple(found) if ends else None
        if not program.is_link(position):
            return None
        after = program.groups[position + 1]
        place = group.result.axes.index(dim)
        value = group.result.value
        use = next(operand for operand in after.operands if operand.value == value)
        dim = use.axes[place]
        found.append(dim)
    return None


def _may_cut(program: Program, group: Group, dim: int) -> bool:
    one = group.dims[dim]
    inner = group.result.axes[-1]
    if one.reduced or one.extent < 2 or dim == inner or dim not in group.result.axes:
        return False
    used = [operand for operand in group.operands if dim in operand.axes]
    stored = any(program.values[operand.value].is_stored for operand in used)
    return not stored and all(operand.axes[-1] != dim for operand in used)
