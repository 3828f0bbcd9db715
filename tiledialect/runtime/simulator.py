"""The simulator: runs a package on given tensors as the machine would.

Holds the SRAM of every tile byte for byte and refuses, naming step, tile and cycle,
whatever the machine would refuse. Counts cycles and bytes by itself; what the package
claims of them is compared, never used.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tiledialect.diagnostics import Refused
from tiledialect.formats import FORMATS
from tiledialect.machine import Machine
from tiledialect.runtime.calls import Limits
from tiledialect.runtime.compute import run_call, run_moves
from tiledialect.runtime.exchange import ExchangeError, Room, check_phase, move
from tiledialect.runtime.host import download, upload
from tiledialect.runtime.memory import Memory, all_tiles, placed_bytes
from tiledialect.runtime.package import (
    Bind,
    Buffer,
    ComputeStep,
    ExchangeStep,
    Moves,
    Package,
    Step,
)
from tiledialect.runtime.parameters import CallError
from tiledialect.runtime.rows_decoder import Phase, RowsError, decode
from tiledialect.runtime.support import check_support
from tiledialect.runtime.timing import compute_cycles, phase_length

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiledialect.runtime.package import Ints

    Stored = NDArray[Any]


@dataclass(frozen=True)
class StepResult:
    """What a step took. `kind` is "exchange" or "compute"; cycles of the whole step."""

    name: str
    location: str
    kind: str
    cycles: int
    estimate: int | None


@dataclass(frozen=True)
class Result:
    """What a run gave. Bytes include support; `peak_tile_bytes` are those of the
    fullest tile that were ever touched, `placed_bytes` those set aside."""

    outputs: dict[str, Stored]
    steps: tuple[StepResult, ...]
    peak_tile_bytes: int
    placed_bytes: int

    @property
    def cycles(self) -> int:
        return sum(step.cycles for step in self.steps)


class Simulator:
    """A package on its machine, ready to run."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.machine = Machine.from_fields(package.machine)
        check_support(self.machine, package)
        self.limits = tensor_limits(self.machine, package)
        self.memory = Memory(self.machine.tiles, self.limits.high)
        self.row_words: Ints = np.zeros(self.machine.tiles, dtype=np.int64)

    def run(self, arguments: Mapping[str, Stored]) -> Result:
        """Upload the arguments and constants, run all steps, fetch the outputs.

        `arguments` holds stored elements for every input and parameter, by name. Raises
        Refused for what the machine would refuse.
        """
        for bind in self.package.binds:
            if bind.kind != "output":
                upload(self.memory, bind, self._tensor(bind, arguments), self.limits)
        results = [
            self._step(number, step) for number, step in enumerate(self.package.steps)
        ]
        outputs = {
            bind.name: download(self.memory, bind, self.limits)
            for bind in self.package.binds
            if bind.kind == "output"
        }
        peak = int(self.memory.touched_bytes().max()) + self.package.support.bytes
        placed = int(placed_bytes(self.package.buffers, self.machine.tiles).max())
        placed += self.package.support.bytes
        self._check_bytes(peak, placed)
        return Result(outputs, tuple(results), peak, placed)

    def _tensor(self, bind: Bind, arguments: Mapping[str, Stored]) -> Stored:
        """The stored elements that a bind uploads."""
        dtype = FORMATS[bind.element].dtype
        if bind.kind == "constant":
            return np.frombuffer(bind.data, dtype=dtype).reshape(bind.shape)
        if bind.name not in arguments:
            raise Refused(f"{bind.kind} '{bind.name}' is not given")
        stored = arguments[bind.name]
        if stored.dtype != dtype or stored.shape != bind.shape:
            raise Refused(
                f"{bind.kind} '{bind.name}' needs {dtype}{list(bind.shape)}, given is"
                f" {stored.dtype}{list(stored.shape)}"
            )
        return stored

    def _step(self, number: int, step: Step) -> StepResult:
        """Do one step, then forget the buffers that end with it."""
        try:
            if isinstance(step, ExchangeStep):
                cycles, kind = self._exchange(step), "exchange"
            else:
                cycles, kind = self._compute(step), "compute"
        except (CallError, ExchangeError, RowsError) as error:
            raise Refused(
                f"step {number} '{step.name}': {error}", step.location
            ) from error
        if number + 1 < len(self.package.steps):  # results stay to be fetched
            self._release(number + 1)
        return StepResult(step.name, step.location, kind, cycles, step.estimate)

    def _exchange(self, step: ExchangeStep) -> int:
        phase = decode(step.rows, self.machine.exchange, self.machine.tiles)
        length = phase_length(phase)
        if length != step.length:
            raise ExchangeError(
                f"its rows take {length} cycles, the package says {step.length}"
            )
        self._check_rows(phase)
        room = Room(self.limits.low, self.limits.high, self._rows_end())
        move(self.memory, check_phase(self.machine, phase, room))
        return length + self.machine.exchange.phase_cycles

    def _rows_end(self) -> int:
        """Where the last memory element ends that holds control words."""
        support = self.package.support
        if support.rows == 0:
            return 0
        last = self.machine.memory.fixed_bytes + support.rows
        return next(edge for edge in self.machine.element_edges() if edge >= last)

    def _check_rows(self, phase: Phase) -> None:
        """Refuse rows that do not fit, together with all before, in their place."""
        self.row_words[phase.tiles] += phase.controls
        need = int(self.row_words.max()) * self.machine.exchange.control_word_bytes
        if need > self.package.support.rows:
            raise ExchangeError(
                f"tile {int(self.row_words.argmax())}: control words up to this phase"
                f" need {need} bytes, their place has {self.package.support.rows}"
            )

    def _compute(self, step: ComputeStep) -> int:
        for position, call in enumerate(step.calls):
            try:
                if isinstance(call, Moves):
                    run_moves(self.machine, self.memory, call, self.limits)
                else:
                    run_call(self.machine, self.memory, call, self.limits)
            except CallError as error:
                raise CallError(f"call {position} ({call.family}): {error}") from error
        try:
            return int(compute_cycles(self.machine, step).max(initial=0))
        except (ValueError, ArithmeticError) as error:  # a machine without such a row
            raise CallError(f"its cycles cannot be counted: {error}") from error

    def _release(self, now: int) -> None:
        """Forget what buffers held that are dead from step `now` on."""
        living = [b for b in self.package.buffers if _lives(b, now)]
        for buffer in self.package.buffers:
            if any(end == now for _, end in buffer.live) and not _lives(buffer, now):
                self.memory.release(buffer, [b for b in living if _lives(b, now - 1)])

    def _check_bytes(self, touched: int, placed: int) -> None:
        """touched <= placed <= footprint <= budget <= what a tile has."""
        package = self.package
        most = self.machine.max_bytes - package.reserve
        chain = (
            ("bytes touched", touched),
            ("bytes placed", placed),
            ("footprint", package.footprint),
            ("budget", package.budget),
        )
        for (name, low), (limit, high) in itertools.pairwise(chain):
            if low > high:
                raise Refused(f"{name} {low} exceed the {limit} {high} of a tile")
        if package.footprint > most:
            raise Refused(
                f"footprint {package.footprint} exceeds the {most} bytes of a tile"
            )


def _lives(buffer: Buffer, step: int) -> bool:
    return any(first <= step < end for first, end in buffer.live)


def tensor_limits(machine: Machine, package: Package) -> Limits:
    """The addresses from the end of the support to that of the highest buffer. Refuses
    buffers that lie outside a tile's free memory."""
    low = machine.memory.fixed_bytes + package.support.bytes
    high = machine.memory.bytes - machine.memory.tail_bytes - package.reserve
    if low > high:
        raise Refused(
            f"support of {package.support.bytes} and reserve of {package.reserve}"
            f" bytes leave nothing of the {machine.max_bytes} of a tile"
        )
    top = low
    for buffer in package.buffers:
        end = buffer.address + buffer.bytes
        if not all_tiles(buffer.tiles, machine.tiles):
            raise Refused(
                f"buffer '{buffer.name}' lies on a tile that is not there",
                buffer.location,
            )
        if buffer.address < low or end > high:
            raise Refused(
                f"buffer '{buffer.name}' lies at {buffer.address} to {end}, outside"
                f" {low} to {high}",
                buffer.location,
            )
        top = max(top, end)
    return Limits(low, top)
