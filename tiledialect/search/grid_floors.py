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
from tiledialect.cost.group import Entry, Held, entry_cost, least_live
from tiledialect.cost.operand import OperandCost
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
        self.held: dict[tuple[tuple[int, ...], int], tuple[Ints, Ints]] = {}
        self.entries: dict[tuple[int, int, int], Entry] = {}
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
        key = paths, steps
        if key not in self.held:
            resident, held = self.zero, self.computed
            for operand in self.operands(paths, steps):
                resident = resident + operand.stored_bytes
                held = held + operand.held_bytes
            self.held[key] = resident, held
        return self.held[key]

    def operands(self, paths: tuple[int, ...], steps: int) -> list[OperandCost]:
        """The operands; that the steps of one go in the phases of another's is left
        out."""
        return [
            self._entry(at, path, steps if path in IN_STEPS else 1).operands[at]
            for at, path in enumerate(paths)
        ]

    def live(self, variant: Variant) -> Ints:
        """Live bytes from the result on, wherever the operands lie."""
        key = variant.rest, variant.order
        if key not in self.summing:
            table = self._table(Variant(self.stored, *key))
            blocks = self._entry(0, STORED, 1).blocks
            nothing = Held(blocks, self.zero, self.zero)
            self.summing[key] = least_live(*self._group, table, nothing)
        return self.summing[key]

    def _entry(self, at: int, path: int, steps: int) -> Entry:
        """The entry of candidates of which one operand comes so, and all others are
        stored."""
        key = (at, path, steps) if path != STORED else (0, STORED, 1)
        if key not in self.entries:
            paths = (*self.stored[:at], path, *self.stored[at + 1 :])
            table = self._table(Variant(paths, BLOCK, ROW_MAJOR, steps))
            self.entries[key] = entry_cost(*self._group, table)
        return self.entries[key]

    def _table(self, variant: Variant) -> Candidates:
        return Candidates(variant, self.parts)

    @property
    def _group(self) -> tuple[Program, Group, Machine]:
        return self.program, self.group, self.machine
