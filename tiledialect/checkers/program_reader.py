"""A placed program as plain data: its buffers, their uses, its codelet calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from xdsl.ir import Operation, SSAValue

from tiledialect.blocks import tile_blocks
from tiledialect.byte_runs import byte_runs
from tiledialect.checkers.blocks import Block, Blocks
from tiledialect.checkers.calls import Call, Operand
from tiledialect.checkers.lifetimes import AFTER_ALL, BEFORE_ALL, Stretches, Use
from tiledialect.checkers.moves import transfers_of
from tiledialect.checkers.row_reader import ragged
from tiledialect.diagnostics import fail
from tiledialect.dialects.buffers import BufferOp
from tiledialect.dialects.codelet import ComputeOp, CopyOp, FillOp, RunOp, View
from tiledialect.dialects.exchange import MoveOp, PhaseOp
from tiledialect.dialects.memory import ProgramOp, step_of
from tiledialect.formats import format_named
from tiledialect.layout import WORD_BYTES, Layout
from tiledialect.relayout import Transfers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.machine import Machine

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


Numbers = dict[SSAValue, int]


@dataclass
class PlacedProgram:
    """What check-memory reads of a program; `calls` come with their operation."""

    blocks: Blocks
    operations: list[BufferOp]
    uses: list[Use] = field(default_factory=list[Use])
    calls: list[tuple[RunOp, Call]] = field(default_factory=list[tuple[RunOp, Call]])
    exchanged: set[int] = field(default_factory=set[int])


def read_placed(program: ProgramOp, machine: Machine) -> PlacedProgram:
    """Refuses a program in which some living buffer has no address."""
    operations = program.buffers
    numbers: Numbers = {op.result: number for number, op in enumerate(operations)}
    blocks = [_block(op, numbers, machine) for op in operations]
    # A program without steps still holds its arguments: their lifetimes count.
    ends = [end for block in blocks for _, end in block.live]
    steps = max([program.step_count, *ends])
    placed = PlacedProgram(Blocks(blocks, machine.tiles, steps), operations)
    reader = _Reader(placed, numbers)
    if program.step_count:
        reader.read_binds(program)
    for time, step in enumerate(program.steps):
        reader.read_step(step, time * (1 << 20))
    return placed


def _block(op: BufferOp, numbers: Numbers, machine: Machine) -> Block:
    address = op.place
    if address is None:
        if op.lifetime and op.size:
            fail(op, f"{op.buffer_name.data} has no address")
        address = 0
    tiles = op.tile_set.array()
    if len(tiles) and not 0 <= tiles[0] <= tiles[-1] < machine.tiles:
        fail(op, f"{machine.name} has no tile {tiles[-1]} for {op.buffer_name.data}")
    alias, offset = op.alias, op.alias_offset
    return Block(
        name=op.buffer_name.data,
        bytes=op.size,
        tiles=tiles,
        address=address,
        live=op.lifetime,
        align=op.align.value.data,
        region=op.region.data,
        purpose=op.purpose.data,
        parent=-1 if alias is None else numbers[alias],
        offset=0 if offset is None else offset.value.data,
    )


class _Reader:
    """Collects the uses and calls of a program's steps."""

    def __init__(self, placed: PlacedProgram, numbers: Numbers) -> None:
        self.placed = placed
        self.numbers = numbers

    def read_binds(self, program: ProgramOp) -> None:
        """Arguments and constants are there before all, results are fetched after."""
        last = program.step_count - 1
        for bind in program.binds:
            output = bind.kind.data == "output"
            number = self.numbers[bind.buffer]
            block = self.placed.blocks[number]
            tiles = _filled_tiles(bind.layout.data) if output else block.tiles
            what = f'{bind.kind.data} "{bind.bind_name.data}"'
            moments = [(last, AFTER_ALL)] if output else [(0, BEFORE_ALL)]
            if bind.kind.data in ("parameter", "constant"):
                moments.append((last, AFTER_ALL))  # every call of the program uses it
            for step, time in moments:
                writes = time == BEFORE_ALL
                self._use(number, step, time, writes, tiles, 0, block.bytes, what)

    def read_step(self, op: Operation, time: int) -> None:
        step = step_of(op)
        if isinstance(op, PhaseOp):
            for move in op.moves:
                self._read_move(move, step, time, op.phase_name.data)
        elif isinstance(op, ComputeOp):
            for position, call in enumerate(op.body.block.ops):
                self._read_call(call, step, time + position, op.set_name.data)

    def _read_call(self, op: Operation, step: int, time: int, name: str) -> None:
        if isinstance(op, RunOp):
            self._read_run(op, step, time, name)
        elif isinstance(op, CopyOp):
            self._read_copy(op, step, time, name)
        elif isinstance(op, FillOp):
            number = self.numbers[op.buffer]
            self._use(
                number,
                step,
                time,
                True,
                op.tiles.data.array(),
                0,
                op.layout.data.tile_bytes,
                f"fill of {name}",
                partly=op.whole is None,
            )

    def _use(
        self,
        block: int,
        step: int,
        time: int,
        writes: bool,
        tiles: Ints,
        first: int,
        end: int,
        what: str,
        partly: bool = False,
        stretches: Callable[[], Stretches] | None = None,
    ) -> None:
        if len(tiles):
            self.placed.uses.append(
                Use(
                    block,
                    step,
                    time,
                    writes,
                    tiles,
                    first,
                    end,
                    what,
                    partly,
                    stretches,
                )
            )

    def _read_run(self, op: RunOp, step: int, time: int, name: str) -> None:
        extents = list(op.extents.get_values())
        operands = [
            self._operand(value, view, extents) for value, view in op.operand_views
        ]
        inputs = len(op.inputs)
        tiles = op.tiles.data.array()
        for position, o in enumerate(operands):
            if o.end > o.first:
                writes = position >= inputs
                what = f"{op.family.data} of {name}"
                self._use(o.block, step, time, writes, tiles, o.first, o.end, what)
        call = Call(op.family.data, operands[:inputs], operands[inputs:])
        self.placed.calls.append((op, call))

    def _operand(self, value: SSAValue, view: View, extents: list[int]) -> Operand:
        order = (format_named(view.format).bytes, view.axes)
        end = view.end(extents)
        return Operand(self.numbers[value], view.offset, end, order)

    def _read_move(self, op: MoveOp, step: int, time: int, name: str) -> None:
        table = transfers_of(op)
        what = f"move of {name}"
        source = self.numbers[op.source]
        size = table.words * WORD_BYTES
        self._stretches(
            source, step, time, False, table.source, table.source_offset, size, what
        )
        self.placed.exchanged.add(source)
        staged = table.to_staging.astype(np.bool_)
        for value, kept in ((op.destination, ~staged), (op.staging, staged)):
            if value is None or not kept.any():
                continue
            number = self.numbers[value]
            self.placed.exchanged.add(number)
            sets = np.unique(table.destinations[kept])
            starts = table.set_start[sets]
            tiles = table.set_tiles[ragged(starts, table.set_start[sets + 1] - starts)]
            end = int((table.offset + size)[kept].max())
            self._use(
                number,
                step,
                time,
                True,
                np.unique(tiles),
                int(table.offset[kept].min()),
                end,
                what,
                stretches=_arrivals(table, kept),
            )

    def _stretches(
        self,
        block: int,
        step: int,
        time: int,
        writes: bool,
        tile: Ints,
        offset: Ints,
        size: Ints,
        what: str,
    ) -> None:
        """A use of the bytes [offset, offset + size) of each tile listed."""
        if len(tile):
            self._use(
                block,
                step,
                time,
                writes,
                np.unique(tile),
                int(offset.min()),
                int((offset + size).max()),
                what,
                stretches=lambda: Stretches(tile, offset, offset + size),
            )

    def _read_copy(self, op: CopyOp, step: int, time: int, name: str) -> None:
        table = transfers_of(op)
        staged = table.copy_staged.astype(np.bool_)
        what = f"copy of {name}"
        for value, kept in ((op.source, ~staged), (op.staging, staged)):
            if not kept.any():
                continue
            if value is None:
                fail(op, "a copy out of staging names none")
            tile, size = table.copy_tile[kept], table.copy_bytes[kept]
            at = table.copy_from[kept]
            number = self.numbers[value]
            self._stretches(number, step, time, False, tile, at, size, what)
        number = self.numbers[op.destination]
        tile, size = table.copy_tile, table.copy_bytes
        self._stretches(number, step, time, True, tile, table.copy_to, size, what)


def _filled_tiles(layout: Layout) -> Ints:
    """The tiles that hold an element."""
    try:
        blocks = tile_blocks(layout)
    except ValueError:  # spread blocks that are no boxes
        return np.unique(byte_runs(layout, layout).source)
    return blocks.tiles[(blocks.extents > 0).all(axis=1)]


def _arrivals(table: Transfers, kept: Flags) -> Callable[[], Stretches]:
    """The bytes that the transfers `kept` write, on every tile of their sets."""

    def expand() -> Stretches:
        starts = table.set_start[table.destinations[kept]]
        count = table.set_start[table.destinations[kept] + 1] - starts
        first = np.repeat(table.offset[kept], count)
        size = np.repeat(table.words[kept] * WORD_BYTES, count)
        return Stretches(table.set_tiles[ragged(starts, count)], first, first + size)

    return expand
