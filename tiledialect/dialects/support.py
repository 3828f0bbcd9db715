"""The support of a program: what lies at the bottom of every tile, below all tensors.

Rows come first, then code, the program's own steps and room for profiling. A machine
reserves so many bytes for it; a program that needs more takes more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tiledialect.codelets import code_bytes
from tiledialect.dialects.codelet import CopyOp, FillOp, RunOp
from tiledialect.dialects.exchange import PhaseOp
from tiledialect.dialects.memory import ProgramOp
from tiledialect.machine import Machine
from tiledialect.rows import control_words


@dataclass(frozen=True)
class Support:
    """Bytes that every tile keeps for the program itself."""

    rows: int
    code: int
    program: int
    profile: int
    bytes: int  # of all, or the machine's reservation if that is more


def support_of(machine: Machine, program: ProgramOp) -> Support:
    """The support of a program: rows of its fullest tile, codelets used, steps."""
    families: set[str] = set()
    chains: set[object] = set()
    row_words = np.zeros(machine.tiles, np.int64)
    steps = program.steps
    for step in steps:
        if isinstance(step, PhaseOp) and step.rows is not None:
            rows = step.rows.data
            row_words[rows.tiles] += control_words(rows, machine.exchange)
        for call in step.regions[0].block.ops:
            family = family_of(call)
            families.update([family] if family else [])
            if isinstance(call, RunOp) and family == "map":
                chains.add(chain_of(call))
    code = code_bytes(machine, families, len(chains), 0)
    parts = (
        int(row_words.max(initial=0)) * machine.exchange.control_word_bytes,
        code,
        code_bytes(machine, families, len(chains), len(steps)) - code,
        machine.code.profile_bytes,
    )
    return Support(*parts, max(sum(parts), machine.memory.support_bytes))


def family_of(call: object) -> str:
    """The codelet family whose code an operation needs; "" for none."""
    match call:
        case RunOp():
            return call.family.data
        case CopyOp():
            return "copy"
        case FillOp():
            return "fill"
        case _:
            return ""


def chain_of(call: RunOp) -> object:
    """What the code of a map is made for: its stages, and the format they start in."""
    return call.parameters.data.get("stages"), call.views.data[0].format
