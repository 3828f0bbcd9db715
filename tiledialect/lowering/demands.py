"""What the steps of a program ask of its buffers: alignment, region, pairs apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import lcm

from xdsl.ir import SSAValue

from tiledialect.codelets import Need, needs
from tiledialect.diagnostics import fail
from tiledialect.dialects.buffers import BufferOp
from tiledialect.dialects.codelet import RunOp
from tiledialect.dialects.exchange import PhaseOp
from tiledialect.dialects.memory import ProgramOp
from tiledialect.layout import WORD_BYTES
from tiledialect.machine import Machine


@dataclass
class Demands:
    """The buffers of a program and what each needs; buffers go by their position."""

    buffers: list[BufferOp]
    align: list[int]
    region: list[str]
    exchanged: list[bool]
    apart: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def number(self, value: SSAValue) -> int:
        return self._numbers[value]

    def __post_init__(self) -> None:
        self._numbers: dict[SSAValue, int] = {
            buffer.result: i for i, buffer in enumerate(self.buffers)
        }

    def take(self, call: RunOp, value: SSAValue, offset: int, need: Need) -> None:
        """Add what a call needs of an operand that begins `offset` bytes in."""
        i = self.number(value)
        name = self.buffers[i].buffer_name.data
        if offset % need.align:
            fail(
                call,
                f'{call.family.data} needs "{name}" aligned to {need.align} bytes,'
                f" its view begins at byte {offset}",
            )
        self.align[i] = lcm(self.align[i], need.align)
        if "any" in (self.region[i], need.region) or self.region[i] == need.region:
            self.region[i] = need.region if self.region[i] == "any" else self.region[i]
            return
        fail(
            call,
            f'{call.family.data} needs "{name}" in {need.region} memory,'
            f" the buffer is for {self.region[i]} memory",
        )


def demands_of(machine: Machine, program: ProgramOp) -> Demands:
    """What the program asks of its buffers, and what its steps need of them."""
    buffers = program.buffers
    demands = Demands(
        buffers,
        [buffer.align.value.data for buffer in buffers],
        [buffer.region.data for buffer in buffers],
        [False] * len(buffers),
    )
    for apart in program.aparts:
        for left, right in apart.pairs:
            demands.apart.append((demands.number(left), demands.number(right)))
    for step in program.steps:
        for op in step.regions[0].block.ops:
            if isinstance(op, RunOp):
                _take_call(demands, machine, op)
            elif isinstance(step, PhaseOp):
                for value in op.operands:
                    i = demands.number(value)
                    demands.exchanged[i] = True
                    demands.align[i] = lcm(demands.align[i], WORD_BYTES)
    return demands


def _take_call(demands: Demands, machine: Machine, call: RunOp) -> None:
    """A codelet's needs, on the buffers of one call."""
    need = needs(machine, call.family.data)
    inputs, outputs = list(call.inputs), list(call.outputs)
    views = call.views.data
    for i, value in enumerate(inputs):
        demands.take(call, value, views[i].offset, need.input(i))
    for i, value in enumerate(outputs):
        demands.take(call, value, views[len(inputs) + i].offset, need.outputs[i])
    for i, j in need.apart:
        if i < len(inputs) and j < len(outputs):
            pair = demands.number(inputs[i]), demands.number(outputs[j])
            if pair[0] == pair[1]:
                name = demands.buffers[pair[0]].buffer_name.data
                fail(call, f'{call.family.data} cannot work in place on "{name}"')
            demands.apart.append(pair)
