"""A program on tiles while it is being written: buffers and steps as plain records.

Lifetimes follow from use: a buffer lives from the first step that writes it to one past
the last that reads it. So steps are appended first, and the operations of rung 4 are
made at the end, when every lifetime is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tiledialect.codelets import Need
from tiledialect.dialects.buffers import BufferOp
from tiledialect.dialects.codelet import ComputeOp
from tiledialect.dialects.exchange import PhaseOp
from tiledialect.dialects.memory import ProgramOp
from tiledialect.layout import round_up
from tiledialect.tiles import TileSet

Make = Callable[[], Operation]


@dataclass(eq=False)
class Buffer:
    """A buffer to be: where, how large, and what is known of its use so far."""

    name: str
    bytes: int
    tiles: TileSet
    purpose: str
    location: str | None
    align: int = 8
    region: str = "any"
    first: int | None = None
    last: int = -1
    always: bool = False
    to_end: bool = False
    op: BufferOp | None = None

    @property
    def value(self) -> SSAValue:
        assert self.op is not None, "buffers are made before the steps that use them"
        return self.op.result

    def use(self, step: int) -> None:
        """Count a read or a write in this step."""
        self.first = step if self.first is None else min(self.first, step)
        self.last = max(self.last, step)

    def need(self, need: Need) -> None:
        """Take on what an operand of a codelet needs."""
        self.align = max(self.align, need.align)
        if need.region != "any":
            self.region = need.region

    def lifetime(self, steps: int) -> tuple[tuple[int, int], ...]:
        end = max(steps, 1)
        if self.always:
            return ((0, end),)
        first = self.first or 0  # 0: no step touches it, as when it holds no element
        last = end if self.to_end else self.last + 1
        return ((first, max(last, first + 1)),)


@dataclass
class Step:
    """An exchange phase or a compute set; `makes` give its inner operations."""

    kind: str
    name: str
    estimate: int
    location: str | None
    makes: list[Make]


@dataclass
class Draft:
    """Buffers, binds and steps in order; all but buffers are made when these are."""

    buffers: list[Buffer] = field(default_factory=list[Buffer])
    binds: list[Make] = field(default_factory=list[Make])
    steps: list[Step] = field(default_factory=list[Step])
    names: set[str] = field(default_factory=set[str])

    def buffer(
        self,
        name: str,
        size: int,
        tiles: TileSet,
        purpose: str,
        location: str | None,
    ) -> Buffer:
        """A new buffer under a name that no other has."""
        unique, number = name, 1
        while unique in self.names:
            unique, number = f"{name}.{number}", number + 1
        self.names.add(unique)
        made = Buffer(unique, size, tiles, purpose, location)
        self.buffers.append(made)
        return made

    def step(
        self,
        kind: str,
        name: str,
        estimate: int,
        location: str | None,
        makes: Sequence[Make],
        uses: Sequence[Buffer],
    ) -> None:
        """Append a step that uses these buffers."""
        for buffer in uses:
            buffer.use(len(self.steps))
        self.steps.append(Step(kind, name, estimate, location, list(makes)))

    def join(
        self, estimate: int, make: Make, uses: Sequence[Buffer], *, back: int = 1
    ) -> None:
        """Let the last step, or the one so far `back`, do this too."""
        for buffer in uses:
            buffer.use(len(self.steps) - back)
        self.steps[-back].estimate += estimate
        self.steps[-back].makes.append(make)

    def program(self, name: str) -> ProgramOp:
        """The operations of rung 4."""
        count = len(self.steps)
        operations: list[Operation] = []
        for buffer in self.buffers:
            buffer.op = BufferOp(
                buffer.name,
                round_up(buffer.bytes, buffer.align),
                buffer.tiles,
                purpose=buffer.purpose,
                live=buffer.lifetime(count),
                align=buffer.align,
                region=buffer.region,
                location=buffer.location,
            )
            operations.append(buffer.op)
        operations += [make() for make in self.binds]
        for number, step in enumerate(self.steps):
            inner = [make() for make in step.makes]
            operations.append(_step(number, step, inner))
        return ProgramOp(name, operations)


def _step(number: int, step: Step, inner: list[Operation]) -> Operation:
    kind = PhaseOp if step.kind == "exchange" else ComputeOp
    return kind(
        number, step.name, inner, estimate=step.estimate, location=step.location
    )
