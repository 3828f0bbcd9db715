"""The exchange: how long phases take against their bounds, and who talks to whom.

Words are counted where they arrive: one that is sent once and received by four tiles
is four words of traffic, and one word of its sender's port.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from tiledialect.machine import Machine
    from tiledialect.runtime.package import ExchangeStep, Ints
    from tiledialect.runtime.rows_decoder import Phase

MOST_BINS = 64
BUSIEST = 8


class PhaseData(TypedDict):
    """An exchange phase. `length` excludes the fixed cost; `bound` is (receive, send,
    control). `traffic` is the position of its name's heat map."""

    step: int
    name: str
    location: str
    length: int
    bound: list[int]
    messages: int
    words: int
    controls: int
    busiest_in: list[int]  # tile, words
    busiest_out: list[int]  # tile, words
    traffic: int


class TrafficData(TypedDict):
    """Traffic of all phases of one name. `cells` are [source bin * bins + destination
    bin, words], ascending; ports are [tile, words], the busiest first."""

    name: str
    phases: int
    words: int
    cells: list[list[int]]
    ports_in: list[list[int]]
    ports_out: list[list[int]]


class ExchangeData(TypedDict):
    """All phases. A bin holds `bin_tiles` tiles."""

    bins: int
    bin_tiles: int
    phases: list[PhaseData]
    traffic: list[TrafficData]
    ports_in: list[list[int]]
    ports_out: list[list[int]]


class Exchange:
    """Gathers the phases of a program, one by one."""

    def __init__(self, machine: Machine) -> None:
        self.tiles = machine.tiles
        self.bin_tiles = -(-machine.tiles // MOST_BINS)
        self.bins = -(-machine.tiles // self.bin_tiles)
        self.phases: list[PhaseData] = []
        self._numbers: dict[str, int] = {}
        self._sums: list[_Sums] = []

    def add(self, number: int, step: ExchangeStep, phase: Phase) -> None:
        """Count one phase; `number` is its step."""
        at = self._numbers.setdefault(step.name, len(self._numbers))
        if at == len(self._sums):
            self._sums.append(_Sums(step.name, self.tiles, self.bins))
        words_in, words_out = _port_words(phase, self.tiles)
        self._sums[at].add(phase, words_in, words_out, self.bin_tiles)
        self.phases.append(
            {
                "step": number,
                "name": step.name,
                "location": step.location,
                "length": step.length,
                "bound": list(step.bound),
                "messages": step.messages,
                "words": int(words_in.sum()),
                "controls": int(phase.controls.max(initial=0)),
                "busiest_in": _busiest(words_in, 1)[0],
                "busiest_out": _busiest(words_out, 1)[0],
                "traffic": at,
            }
        )

    def _all(self, words: Callable[[_Sums], Ints]) -> Ints:
        """Words of each tile's port, over all phases."""
        none = np.zeros(self.tiles, dtype=np.int64)
        return none + sum(words(sums) for sums in self._sums)

    def data(self) -> ExchangeData:
        return {
            "bins": self.bins,
            "bin_tiles": self.bin_tiles,
            "phases": self.phases,
            "traffic": [sums.data() for sums in self._sums],
            "ports_in": _busiest(self._all(lambda sums: sums.words_in), BUSIEST),
            "ports_out": _busiest(self._all(lambda sums: sums.words_out), BUSIEST),
        }


class _Sums:
    """Words of all phases of one name, by pair of bins and by port."""

    def __init__(self, name: str, tiles: int, bins: int) -> None:
        self.name = name
        self.bins = bins
        self.phases = 0
        self.cells = np.zeros(bins * bins, dtype=np.int64)
        self.words_in = np.zeros(tiles, dtype=np.int64)
        self.words_out = np.zeros(tiles, dtype=np.int64)

    def add(
        self, phase: Phase, words_in: Ints, words_out: Ints, bin_tiles: int
    ) -> None:
        received = phase.receives
        cell = received.source // bin_tiles * self.bins + received.tile // bin_tiles
        np.add.at(self.cells, cell, received.words)
        self.words_in += words_in
        self.words_out += words_out
        self.phases += 1

    def data(self) -> TrafficData:
        used = np.flatnonzero(self.cells)
        return {
            "name": self.name,
            "phases": self.phases,
            "words": int(self.cells.sum()),
            "cells": np.column_stack([used, self.cells[used]]).tolist(),
            "ports_in": _busiest(self.words_in, BUSIEST),
            "ports_out": _busiest(self.words_out, BUSIEST),
        }


def _port_words(phase: Phase, tiles: int) -> tuple[Ints, Ints]:
    """Words that each tile takes in, and those that it sends."""
    words_in = np.zeros(tiles, dtype=np.int64)
    words_out = np.zeros(tiles, dtype=np.int64)
    np.add.at(words_in, phase.receives.tile, phase.receives.words)
    np.add.at(words_out, phase.sends.tile, phase.sends.words)
    return words_in, words_out


def _busiest(words: Ints, count: int) -> list[list[int]]:
    """[tile, words] of the tiles with the most, ties by tile number."""
    order = np.argsort(-words, kind="stable")[:count]
    return np.column_stack([order, words[order]]).tolist()
