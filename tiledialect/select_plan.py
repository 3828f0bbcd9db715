"""Selection: the best of several plans, lowered, scheduled, placed and timed.

Reads   rung 3, with `plan.alternatives` in the entry function's body.
Writes  rung 3 with one plan, and its bytes as foretold from its buffers and phases into
        the certificate; `tile.selection` where several were timed.
Holds   the plan chosen fits the budget as placed, not only as estimated; of the first
        `rerank` that do and whose estimates are near the best of them, none has fewer
        cycles by the simulator's clock.
Fails   when none of the plans can be placed within the budget.

Method: plans are carried to rung 6 on copies, best estimate first, until enough fit;
their packages are timed without data. Of equals the first by estimate stands. A module
that has one plan already is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass

from tiledialect.backend.emit_package import package_of
from tiledialect.diagnostics import TileError, Usage, fail
from tiledialect.dialects.memory import ProgramOp
from tiledialect.dialects.module_attributes import (
    CERTIFICATE,
    CHOICES,
    machine_of,
    require_rung,
    the_program,
)
from tiledialect.dialects.plan import AlternativesOp, YieldOp
from tiledialect.dialects.syntax import integer
from tiledialect.dialects.tile import entry_function
from tiledialect.lowering.foretold import foretold_bytes
from tiledialect.lowering.serial_pairs import phases_of
from tiledialect.passes.lower_plan import LowerPlanPass
from tiledialect.passes.place_memory import PlaceMemoryPass
from tiledialect.passes.schedule_exchange import ScheduleExchangePass
from tiledialect.runtime.timing import step_cycles

SELECTION = "tile.selection"
RERANK = 1
"""Plans that are timed unless another number is asked for."""

NEAR = 0.02
"""Plans whose estimates are so near to the best are timed; as the search keeps them."""


def find_alternatives(module: ModuleOp) -> AlternativesOp | None:
    """The plans to choose from; None where one is chosen already."""
    for op in entry_function(module).body.block.ops:
        if isinstance(op, AlternativesOp):
            return op
    return None


def choose(module: ModuleOp, index: int) -> int:
    """Put the steps of one plan in place of all; its bytes by the search."""
    alternatives = find_alternatives(module)
    assert alternatives is not None
    searched = alternatives.footprints.get_values()[index]
    if alternatives.choices is not None:
        module.attributes[CHOICES] = alternatives.choices.data[index]
    block = alternatives.plans[index].block
    last = block.last_op
    assert isinstance(last, YieldOp)
    for result, value in zip(alternatives.res, list(last.values), strict=True):
        result.replace_all_uses_with(value)
    parent = alternatives.parent_block()
    assert parent is not None
    for op in list(block.ops):
        op.detach()
        if op is not last:
            parent.insert_op_before(op, alternatives)
    last.erase()
    alternatives.detach()
    alternatives.erase()
    return searched


@dataclass(frozen=True)
class Tried:
    """What became of a plan: why it cannot be placed within the budget, or its
    footprint and, where that was asked, its cycles by the simulator's clock, elsewhere
    its estimate and the cycles that serial pairs cost; and the certificate with what
    was foretold of it, if there is one."""

    index: int
    estimate: int
    refused: TileError | None = None
    footprint: int = 0
    cycles: int = 0
    certificate: DictionaryAttr | None = None

    def attribute(self) -> DictionaryAttr:
        """For people: what `tile.selection` says of a plan."""
        said = {"plan": integer(self.index), "estimate": integer(self.estimate)}
        if self.refused is not None:
            return DictionaryAttr({**said, "refused": StringAttr(self.refused.message)})
        timed = {"cycles": self.cycles, "bytes": self.footprint}
        return DictionaryAttr(said | {k: integer(v) for k, v in timed.items()})


def tried(
    ctx: Context, module: ModuleOp, index: int, estimate: int, *, timed: bool
) -> Tried:
    """Carry a plan to rung 6 on a copy, and time it there."""
    copy = module.clone()
    searched = choose(copy, index)
    try:
        LowerPlanPass().apply(ctx, copy)
        certificate = foretell(copy, searched)
        for one in (ScheduleExchangePass(), PlaceMemoryPass()):
            one.apply(ctx, copy)
    except TileError as error:
        return Tried(index, estimate, refused=error)
    if not timed:
        cycles = estimate + serial_cycles(copy)
        return Tried(index, estimate, cycles=cycles, certificate=certificate)
    package, machine = package_of(copy), machine_of(copy)
    cycles = sum(step_cycles(machine, step) for step in package.steps)
    return Tried(index, estimate, None, package.footprint, cycles, certificate)


def serial_cycles(module: ModuleOp) -> int:
    """Cycles by which phases are longer for pairs that share a memory element."""
    program = the_program(module, ProgramOp)
    costs = [op.cost for phase in phases_of(program) for op in phase.serials]
    return sum(cost.value.data for cost in costs if cost is not None)


def foretell(module: ModuleOp, searched: int) -> DictionaryAttr | None:
    """Let the certificate of a module on rung 4 say the bytes that follow from its
    buffers and phases; those by which the search compared it are then `searched`."""
    certificate = module.attributes.get(CERTIFICATE)
    if not isinstance(certificate, DictionaryAttr):
        return None
    size = integer(foretold_bytes(module, searched))
    fields = {**certificate.data, "bytes": size, "searched": integer(searched)}
    module.attributes[CERTIFICATE] = DictionaryAttr(fields)
    return DictionaryAttr(fields)


def try_plans(
    ctx: Context, module: ModuleOp, estimates: Sequence[int], count: int
) -> list[Tried]:
    """Plans in order. Of several, until `count` fit or no other is near the first that
    does; of one, until no other can be faster, by its estimate, than what fits."""
    found: list[Tried] = []
    near = max(estimates)
    fit = 0
    for index, estimate in enumerate(estimates):
        if fit == count > 1 or estimate > near:
            break
        one = tried(ctx, module, index, estimate, timed=count > 1)
        found.append(one)
        if one.refused is None:
            fit += 1
            if count == 1:
                near = min(near, one.cycles - 1)
            elif fit == 1:
                near = int(estimate * (1 + NEAR))
    return found


@dataclass(frozen=True)
class SelectPlanPass(ModulePass):
    """Keeps the fastest of the first `rerank` plans that fit when they are placed."""

    name = "select-plan"
    rerank: int = RERANK

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.rerank < 1:
            raise Usage(f"{self.name} times at least 1 plan, not rerank={self.rerank}")
        require_rung(op, self.name, 3)
        alternatives = find_alternatives(op)
        if alternatives is None:
            return
        estimates = alternatives.estimates.get_values()
        found = try_plans(ctx, op, estimates, self.rerank)
        fitting = [one for one in found if one.refused is None]
        if not fitting:
            first = found[0].refused
            fail(
                alternatives,
                f"none of {len(found)} plans can be placed within the budget;"
                f" the first: {first.message if first else ''}",
            )
        best = min(fitting, key=lambda one: one.cycles)
        choose(op, best.index)
        if best.certificate is not None:
            op.attributes[CERTIFICATE] = best.certificate
        if self.rerank > 1:
            op.attributes[SELECTION] = ArrayAttr([one.attribute() for one in found])
