"""A certificate's figures against those of the module that carries it.

The cycles of a plan are the sum of what its steps are estimated at, whatever rung they
are written on; and the module must be of the program that the proof is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from tiledialect.checkers.certificate_plans import check_plan
from tiledialect.checkers.certificate_program import read_task
from tiledialect.checkers.disproof import Disproof
from tiledialect.dialects.codelet import ComputeOp as ComputeSetOp
from tiledialect.dialects.exchange import PhaseOp
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import (
    MACHINE,
    machine_of,
    plain_value,
    rung_of,
)
from tiledialect.dialects.plan import AlternativesOp
from tiledialect.dialects.plan_step import StepOp
from tiledialect.dialects.plan_step_ops import RelayoutOp
from tiledialect.dialects.tile import argument_forms, entry_function, result_forms
from tiledialect.machine import Machine

PLANNED, STEPPED = 3, 4

NEAR = 4
"""Steps are estimated one by one, from their layouts: their sum may be more than the
plan's cycles, and less by 1 part in so many."""


def check_figures(
    module: ModuleOp, source: ModuleOp, certificate: Mapping[str, object], budget: int
) -> None:
    """Raises Disproof where a module says other than its certificate."""
    if module.attributes.get(MACHINE) != source.attributes.get(MACHINE):
        raise Disproof("the program was written for another machine")
    if certificate.get("status") == "infeasible":
        if rung_of(module) >= PLANNED:
            raise Disproof("'infeasible', but the module has a plan")
        return
    if rung_of(module) < PLANNED:
        raise Disproof("the module has no plan yet")
    if rung_of(module) >= STEPPED:
        _check_chosen(certificate, _program_cycles(module))
        return
    _check_interface(module, source)
    block = entry_function(module).body.block
    several = [op for op in block.ops if isinstance(op, AlternativesOp)]
    if several:
        _check_alternatives(several[0], certificate, budget)
        _check_choices(several[0], source, machine_of(module), certificate)
    else:
        _check_chosen(certificate, _plan_cycles(block))


def _check_interface(module: ModuleOp, source: ModuleOp) -> None:
    ours, theirs = entry_function(module), entry_function(source)
    same = argument_forms(ours) == argument_forms(theirs)
    if not same or result_forms(ours) != result_forms(theirs):
        raise Disproof("the plan is of another program than the text in tile.source")


def _check_alternatives(
    op: AlternativesOp, certificate: Mapping[str, object], budget: int
) -> None:
    """The first plan is that of the certificate, none is faster, all fit."""
    estimates: Sequence[int] = op.estimates.get_values()
    footprints: Sequence[int] = op.footprints.get_values()
    for number, plan in enumerate(op.plans):
        cycles = _plan_cycles(plan.block)
        if _too_few(cycles, estimates[number]):
            raise Disproof(
                f"the steps of plan {number} are estimated at {cycles} cycles,"
                f" the plan at {estimates[number]}"
            )
        if footprints[number] > budget:
            size = footprints[number]
            raise Disproof(f"plan {number} takes {size} bytes, the budget is {budget}")
    first = estimates[0], footprints[0]
    if first != (certificate.get("cycles"), certificate.get("bytes")):
        raise Disproof(
            f"the first plan takes {first[0]} cycles and {first[1]} bytes,"
            f" not {certificate.get('cycles')} and {certificate.get('bytes')}"
        )
    if min(estimates) < first[0]:
        raise Disproof(f"a plan behind the first takes {min(estimates)} cycles")


def _check_choices(
    op: AlternativesOp,
    source: ModuleOp,
    machine: Machine,
    certificate: Mapping[str, object],
) -> None:
    """No plan claims less than its own choices take at least."""
    if op.choices is None:
        raise Disproof("the plans do not say what they chose")
    task = read_task(source, machine)
    estimates: Sequence[int] = op.estimates.get_values()
    footprints: Sequence[int] = op.footprints.get_values()
    for number, choices in enumerate(op.choices):
        said = plain_value(choices)
        check_plan(task, machine, said, estimates[number], footprints[number])
        if number == 0 and said.get("chunks", 1) != certificate.get("chunks"):
            raise Disproof("the first plan runs in another number of chunks")


def _check_chosen(certificate: Mapping[str, object], cycles: int) -> None:
    """A plan that was chosen among several may be any of them."""
    least = certificate.get("cycles")
    if not isinstance(least, int) or _too_few(cycles, least):
        raise Disproof(f"the steps are estimated at {cycles} cycles, not {least}")


def _too_few(cycles: int, estimate: int) -> bool:
    return (estimate - cycles) * NEAR > estimate


def _plan_cycles(block: Block) -> int:
    """Estimated cycles of the steps of a plan."""
    total = 0
    for op in block.ops:
        if isinstance(op, StepOp):
            total += op.cycles + op.exchange_cycles + _zeros(op)
    return total


def _zeros(op: Operation) -> int:
    """Cycles of the padding that a step has filled first."""
    return op.zero_cycles if isinstance(op, RelayoutOp) else 0


def _program_cycles(module: ModuleOp) -> int:
    """Estimated cycles of a program in steps."""
    total = 0
    for program in module.body.block.ops:
        for op in program.steps if isinstance(program, ProgramOp) else ():
            if isinstance(op, (PhaseOp, ComputeSetOp)) and op.estimate is not None:
                total += op.estimate.value.data
    return total
