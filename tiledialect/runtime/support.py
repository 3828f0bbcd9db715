"""Whether a package's support is as large as its own calls and steps need."""

from __future__ import annotations

import json

from tiledialect.codelets import code_bytes
from tiledialect.diagnostics import Refused
from tiledialect.machine import Machine
from tiledialect.runtime.package import ComputeStep, Moves, Package


def check_support(machine: Machine, package: Package) -> None:
    """Refuse a support that has less than the code, the steps and profiling take, than
    the machine reserves, or that does not lie in executable memory. Rows are checked
    where they are decoded."""
    code, program = _code(machine, package)
    support = package.support
    for name, has, needs in (
        ("code", support.code, code),
        ("program", support.program, program),
        ("profile", support.profile, machine.code.profile_bytes),
        ("bytes", support.bytes, machine.memory.support_bytes),
    ):
        if has < needs:
            raise Refused(f"support.{name} is {has} bytes, {needs} are needed")
    end, room = machine.memory.fixed_bytes + support.bytes, _executable_end(machine)
    if end > room:
        raise Refused(f"the support ends at {end}, executable memory at {room}")


def _code(machine: Machine, package: Package) -> tuple[int, int]:
    """Bytes of the codelets that are used, and of the program of all steps."""
    families: set[str] = set()
    chains: set[tuple[str, str]] = set()
    for step in package.steps:
        for call in step.calls if isinstance(step, ComputeStep) else ():
            families.add(call.family)
            if not isinstance(call, Moves) and call.family == "map" and call.inputs:
                stages = json.dumps(call.parameters.get("stages"), sort_keys=True)
                chains.add((stages, call.inputs[0].format))
    code = code_bytes(machine, families, len(chains), 0)
    every = code_bytes(machine, families, len(chains), len(package.steps))
    return code, every - code


def _executable_end(machine: Machine) -> int:
    """Where the executable memory from address 0 on ends."""
    end = 0
    for region in machine.memory.regions:
        if not region.executable:
            break
        end += region.bytes
    return end
