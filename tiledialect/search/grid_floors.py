"""Lower bounds of many variants' candidates, each term worked out once for a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tiledialect.candidates import (
    BLOCK,
    IN_STEPS,
    ROW_MAJOR,
    STORED,
    Candidates,
    Variant,
)
from tiledialect.cost.group import Held, held_bytes, least_live
from tiledialect.machine import Machine
from tiledialect.program import Group, Program
from tiledialect.search.grid_bounds import LeastCycles, least_in_steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


class GridFloors:
    """What the candidates of a group take at least: arrays of a row each grid."""

    def __init__(
        self, program: Program, group: Group, machine: Machine, parts: Ints
    ) -> None:
        self.program, self.group, self.machine = program, group, machine
        self.parts = parts
        self.stored = (STORED,) * len(group.operands)
        self.least: dict[tuple[int, ...], LeastCycles] = {}
        self.held: dict[tuple[tuple[int, ...], int], Held] = {}
        self.summing: dict[tuple[int, int], Ints] = {}
        self.zero = np.zeros(len(parts), dtype=np.int64)
        self.computed = self.live(Variant(self.stored, BLOCK, ROW_MAJOR))

    def cycles(self, paths: tuple[int, ...]) -> LeastCycles:
        """Cycles with these ways, in any number of steps."""
        if paths not in self.least:
            table = self._table(Variant(paths, BLOCK, ROW_MAJOR))
            self.least[paths] = least_in_steps(*self._group, table)
        return self.least[paths]

    def bytes(self, paths: tuple[int, ...], steps: int) -> tuple[Ints, Ints]:
        """Bytes held for good, and live bytes while the codelet runs."""
        base = self._held(self.stored, 1)
        resident, held = base.resident, base.held + self.computed
        for at, path in enumerate(paths):  # each operand's bytes are its own
            if path != STORED:
                one = (*self.stored[:at], path, *self.stored[at + 1 :])
                mine = self._held(one, steps if path in IN_STEPS else 1)
                resident = resident + mine.resident - base.resident
                held = held + mine.held - base.held
        return resident, held

    def live(self, variant: Variant) -> Ints:
        """Live bytes from the result on, wherever the operands lie."""
        key = variant.rest, variant.order
        if key not in self.summing:
            table = self._table(Variant(self.stored, *key))
            blocks = self._held(self.stored, 1).blocks
            nothing = Held(blocks, self.zero, self.zero)
            self.summing[key] = least_live(*self._group, table, nothing)
        return self.summing[key]

    def _held(self, paths: tuple[int, ...], steps: int) -> Held:
        key = paths, steps
        if key not in self.held:
            table = self._table(Variant(paths, BLOCK, ROW_MAJOR, steps))
            self.held[key] = held_bytes(*self._group, table)
        return self.held[key]

    def _table(self, variant: Variant) -> Candidates:
        return Candidates(variant, self.parts)

    @property
    def _group(self) -> tuple[Program, Group, Machine]:
        return self.program, self.group, self.machine
