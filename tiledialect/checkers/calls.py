"""What a codelet needs of its operands' places, proved at their true bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiledialect.checkers.blocks import Blocks
from tiledialect.checkers.disproof import Disproof
from tiledialect.checkers.overlap import region_problem, shared_element
from tiledialect.codelets import Need, needs

if TYPE_CHECKING:
    from tiledialect.machine import Machine

IN_PLACE = ("map", "sum", "matmul")
"""Families that finish with an element before they write its result."""


@dataclass(frozen=True)
class Operand:
    """Bytes [first, end) of a buffer that a call uses; `order` says how elements are
    walked: equal orders from one first byte are the same elements in turn."""

    block: int
    first: int
    end: int
    order: object = None


@dataclass(frozen=True)
class Call:
    """A codelet on a set of tiles."""

    family: str
    inputs: Sequence[Operand]
    outputs: Sequence[Operand]


def check_call(machine: Machine, blocks: Blocks, call: Call) -> None:
    """Raises Disproof where an operand lies as the codelet cannot use it."""
    wanted = needs(machine, call.family)
    edges = machine.element_edges()
    for number, operand in enumerate(call.inputs):
        _check_need(machine, blocks, call, operand, wanted.input(number))
    for number, operand in enumerate(call.outputs):
        need = wanted.outputs[min(number, len(wanted.outputs) - 1)]
        _check_need(machine, blocks, call, operand, need)
    for left, right in wanted.apart:
        if left >= len(call.inputs) or right >= len(call.outputs):
            continue
        one, other = call.inputs[left], call.outputs[right]
        element = shared_element(edges, at(blocks, one), at(blocks, other))
        if element is not None:
            raise Disproof(
                f"{call.family} reads {_text(blocks, one)} and writes"
                f" {_text(blocks, other)} in one memory element"
                f" [{edges[element]}, {edges[element + 1]}); it needs two"
            )
    _check_in_place(blocks, call)


def at(blocks: Blocks, operand: Operand) -> tuple[int, int]:
    """The addresses of an operand's bytes."""
    base = blocks[operand.block].address
    return base + operand.first, base + operand.end


def _text(blocks: Blocks, operand: Operand) -> str:
    first, end = at(blocks, operand)
    return f"{blocks[operand.block].name} [{first}, {end})"


def _check_need(
    machine: Machine, blocks: Blocks, call: Call, operand: Operand, need: Need
) -> None:
    first, end = at(blocks, operand)
    if first == end:
        return
    if first % need.align:
        raise Disproof(
            f"{call.family} needs {need.align}-byte alignment,"
            f" {_text(blocks, operand)} has less"
        )
    who = f"{call.family} on {_text(blocks, operand)}"
    problem = region_problem(machine.memory, who, need.region, first, end)
    if problem is not None:
        raise Disproof(problem)


def _check_in_place(blocks: Blocks, call: Call) -> None:
    """A result may overwrite an operand only element by element."""
    for read in call.inputs:
        for write in call.outputs:
            one, other = at(blocks, read), at(blocks, write)
            if max(one[0], other[0]) >= min(one[1], other[1]):
                continue
            same = one == other and read.order == write.order
            if call.family not in IN_PLACE or not same:
                raise Disproof(
                    f"{call.family} overwrites its operand {_text(blocks, read)} with"
                    f" its result {_text(blocks, write)}"
                )
