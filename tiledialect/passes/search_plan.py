"""Search: the best plans within a budget.

Reads   rung 2: the entry function and the catalogue of each of its groups; what is
        asked of the plan by `tile.plan` attributes and by a file of `constraints`.
Writes  rung 3: `plan.alternatives` in the function's body, the best plan first, and
        budget and certificate as attributes of the module; with `pareto` a file of the
        whole curve.
Holds   the first plan has the least estimated cycles of all that fit the budget and
        are as asked; the estimate never falls when the budget does.
Fails   with exit code 3 when no candidate fits; the error names the smallest budget
        that works (or is known to), and there the fullest group, its place in the
        source and the largest buffers. A budget below the support reservation is
        refused, and so is what no candidate meets.

Method: `tiledialect.search`, over labels on cycles and bytes. The budget `auto` is the
knee of the whole curve; `tile.budget_choice` says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from tiledialect.candidates import Candidates, Choices, candidates, panel_depth
from tiledialect.chunks import Chunking, chunking_of
from tiledialect.constraint_text import plain
from tiledialect.constraints import Constraints, Impossible, constrained, exact
from tiledialect.diagnostics import Infeasible, Refused, Usage, fail
from tiledialect.dialects.certificate_attribute import certificate_attribute
from tiledialect.dialects.interfaces import Constant
from tiledialect.dialects.module_attributes import (
    BUDGET,
    BUDGET_CHOICE,
    SOURCE,
    machine_of,
    require_rung,
    reserve_of,
    set_rung,
    text_of,
)
from tiledialect.dialects.plan import AlternativesOp, CatalogueOp, YieldOp
from tiledialect.dialects.syntax import carried_location, integer
from tiledialect.dialects.tile import entry_function
from tiledialect.forced_plans import certificate_of, forced_plan
from tiledialect.machine import Machine
from tiledialect.program import Program, read_program
from tiledialect.sizes import AUTO, parse_size

if TYPE_CHECKING:
    from tiledialect.search.solve import Outcome, Plan
    from tiledialect.search.whole_curve import Curve

CERTIFICATE = "tile.certificate"
PLANS = 4
LARGEST = 3  # buffers that a refusal names


def budget_bytes(module: ModuleOp, machine: Machine, text: str) -> int:
    """The budget in bytes; refused below the support or above the machine."""
    try:
        budget = machine.budget_bytes(text) or parse_size(text)
    except ValueError as error:
        raise Usage(str(error)) from error
    reserve = reserve_of(module)
    support = machine.memory.support_bytes
    if budget < support:
        fail(
            module,
            f"budget {budget} bytes is below the support reservation of {support}"
            f" bytes of {machine.name}; give at least that, and room for tensors",
        )
    if budget + reserve > machine.max_bytes:
        if text not in ("default", "max"):
            fail(
                module,
                f"budget {budget} and reserve {reserve} bytes are together more than"
                f" the {machine.max_bytes} bytes that a tile of {machine.name} can"
                " use; lower one of them",
            )
        budget = machine.max_bytes - reserve
    return budget


def read_catalogues(module: ModuleOp, program: Program) -> list[CatalogueOp]:
    """The catalogue of each group, in order."""
    found = [op for op in module.body.block.ops if isinstance(op, CatalogueOp)]
    names = [op.group.data for op in found]
    wanted = [group.name for group in program.groups]
    if names != wanted:
        fail(module, f"the catalogues are of {names}, the program has {wanted}")
    return found


def read_candidates(
    program: Program, machine: Machine, op: CatalogueOp, index: int
) -> list[Candidates]:
    """The candidates that a catalogue lists."""
    import numpy as np

    group = program.groups[index]
    rows, columns = op.table.get_shape()
    if columns != len(group.dims):
        fail(op, f"the table has {columns} columns for {len(group.dims)} dimensions")
    data = np.frombuffer(op.table.data.data, dtype="<i4").astype(np.int64)
    grids = (
        np.resize(data, (rows, columns))
        if op.table.is_splat()
        else data.reshape(rows, columns)
    )
    try:
        choices = Choices.from_words(
            [text.data for text in op.paths],
            [text.data for text in op.rests],
            op.steps.get_values(),
        )
    except ValueError as error:
        fail(op, f"the catalogue's choices cannot be read: {error}")
    if any(len(paths) != len(group.operands) for paths in choices.paths):
        fail(op, f"a way has a word for each of {len(group.operands)} operands")
    if (grids < 1).any() or (grids.prod(axis=1) > machine.tiles).any():
        fail(op, f"a row of the table is no grid of 1 to {machine.tiles} tiles")
    panel = panel_depth(program, group, machine)
    found = candidates(group, grids, choices.variants(), panel)
    if not found:
        fail(op, f"the catalogue of '{group.name}' has no candidate")
    return found


@dataclass(frozen=True)
class Space:
    """What is searched: candidates of every group, and ways to run it in chunks."""

    program: Program
    machine: Machine
    tables: list[list[Candidates]]
    ways: list[Chunking]


def _ways(
    module: ModuleOp,
    program: Program,
    catalogues: Sequence[CatalogueOp],
    asked: Constraints,
) -> list[Chunking]:
    """The numbers of chunks that the catalogues have, or the one that is asked for."""
    listed = {op.chunk_counts for op in catalogues}
    if len(listed) > 1:
        fail(catalogues[-1], "the catalogues differ in their numbers of chunks")
    counts = (1,) if asked.chunks is None else (asked.chunks,)
    if asked.chunks is None and listed:
        counts = listed.pop()
    try:
        return [chunking_of(program, count) for count in counts]
    except ValueError as error:
        fail(catalogues[0] if catalogues else entry_function(module), str(error))


@dataclass(frozen=True)
class SearchPlanPass(ModulePass):
    """Replaces the tensor operations by the best plans within `budget`."""

    name = "search-plan"
    budget: int | str = "default"
    plans: int = PLANS
    constraints: str | None = None
    pareto: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from tiledialect.search.chunked import search_chunked

        if self.plans < 1:
            raise Usage(f"{self.name} keeps at least 1 plan, not plans={self.plans}")
        require_rung(op, self.name, 2)
        machine = machine_of(op)
        automatic = str(self.budget) == AUTO
        budget = budget_bytes(op, machine, "max" if automatic else str(self.budget))
        program = read_program(op, machine)
        catalogues = read_catalogues(op, program)
        tables = [
            read_candidates(program, machine, catalogue, index)
            for index, catalogue in enumerate(catalogues)
        ]
        forced = forced_plan(op, program, self.constraints)
        asked = forced.constraints
        tables = _as_asked(program, machine, tables, asked, catalogues)
        space = Space(program, machine, tables, _ways(op, program, catalogues, asked))
        if automatic or self.pareto is not None:
            budget, outcome = self._from_curve(op, space, budget, automatic)
        else:
            outcome = search_chunked(
                program, machine, tables, budget, self.plans, space.ways
            )
        certificate = _certificate(program, machine, budget, outcome, asked)
        op.attributes[BUDGET] = integer(budget)
        op.attributes[CERTIFICATE] = certificate_of(op, forced, certificate)
        if not outcome.plans:
            _refuse(op, program, machine, budget, outcome, catalogues, asked)
        locations = [carried_location(catalogue) for catalogue in catalogues]
        _write(op, program, machine, outcome.plans, locations)
        for catalogue in catalogues:
            catalogue.detach()
        set_rung(op, 3)

    def _from_curve(
        self, op: ModuleOp, space: Space, budget: int, automatic: bool
    ) -> tuple[int, Outcome]:
        """The budget, which `auto` chooses, and what the whole curve says of it."""
        from tiledialect.search.whole_curve import whole_curve

        most = space.machine.max_bytes - reserve_of(op)
        curve = whole_curve(
            space.program, space.machine, space.tables, most, space.ways
        )
        if self.pareto is not None:
            _write_curve(op, space, curve, self.pareto)
        if automatic:
            budget, reason = curve.choice()
            op.attributes[BUDGET_CHOICE] = StringAttr(reason)
        return budget, curve.outcome(budget, self.plans)


def _write_curve(op: ModuleOp, space: Space, curve: Curve, path: str) -> None:
    from tiledialect.atomic import write_atomically
    from tiledialect.curve_file import curve_text

    text = curve_text(
        space.program,
        curve.plans,
        source=text_of(op, SOURCE) or "",
        machine=space.machine.name,
        reserve_bytes=reserve_of(op),
        most_bytes=curve.most_bytes,
    )
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise Refused(f"cannot write '{path}': {error.strerror}") from error


def _as_asked(
    program: Program,
    machine: Machine,
    tables: list[list[Candidates]],
    asked: Constraints,
    catalogues: Sequence[CatalogueOp],
) -> list[list[Candidates]]:
    """The candidates that are as asked of them."""
    try:
        return constrained(program, machine, tables, asked)
    except Impossible as error:
        fail(catalogues[error.position], str(error))


def _refuse(
    op: ModuleOp,
    program: Program,
    machine: Machine,
    budget: int,
    outcome: Outcome,
    catalogues: Sequence[CatalogueOp],
    asked: Constraints,
) -> None:
    """Say what no plan has room for, and what would be enough. The fullest tile is the
    first one: blocks that are not full lie behind it."""
    which = "" if asked.are_open else " that is as asked"
    message = (
        f"no plan{which} fits a budget of {budget} bytes a tile"
        f" ({machine.memory.support_bytes} of them support)"
    )
    from tiledialect.plan_terms import plan_terms

    plan, place = outcome.smallest, entry_function(op)
    if plan is None:
        either = f"no plan fits the {machine.max_bytes} bytes of a tile either"
        fail(place, f"{message}; {either}", Infeasible)
    if outcome.is_smallest:
        message += f"; the smallest budget that works is {plan.footprint} bytes"
    else:
        message += f"; a budget of {plan.footprint} bytes works"
    if catalogues:
        place = catalogues[plan.fullest]
        step = plan_terms(program, machine, plan).groups[plan.fullest].fullest
        largest = _largest(program, machine, plan)
        message += (
            f", fullest in '{place.group.data}', step '{step}', tile 0;"
            f" largest there: {largest}"
        )
    fail(place, message, Infeasible)


def _largest(program: Program, machine: Machine, plan: Plan) -> str:
    from tiledialect.search.largest import largest_buffers

    buffers = largest_buffers(program, machine, plan, LARGEST)
    return ", ".join(f"{name} {size}" for name, size in buffers)


def _certificate(
    program: Program,
    machine: Machine,
    budget: int,
    outcome: Outcome,
    asked: Constraints,
) -> DictionaryAttr:
    """What the search says, and proves, of plans within the budget."""
    from tiledialect.search.certificate import certificate

    said: dict[str, object] = {**certificate(program, machine, budget, outcome)}
    if not asked.are_open:  # what is said holds for plans that are as asked
        said["constraints"] = plain(program, asked)
    return certificate_attribute(said)


def _write(
    module: ModuleOp,
    program: Program,
    machine: Machine,
    plans: Sequence[Plan],
    locations: Sequence[str | None],
) -> None:
    """Put the plans in place of the tensor operations."""
    function = entry_function(module)
    block = function.body.block
    returned = block.last_op
    assert isinstance(returned, ReturnOp)
    sources = _sources(program, block)
    regions: list[Region] = []
    types = list(returned.operand_types)
    for plan in plans:
        regions.append(_region(program, machine, plan, sources, locations, types))
    alternatives = AlternativesOp(
        types,
        regions,
        [plan.cycles for plan in plans],
        [plan.footprint for plan in plans],
        [_choices(program, plan) for plan in plans],
    )
    constants = {program.values[v].constant for v in sources}
    block.insert_op_before(alternatives, returned)
    new = ReturnOp(*alternatives.res)
    block.insert_op_before(new, returned)
    for op in reversed(list(block.ops)):
        if op not in (alternatives, new) and op not in constants:
            op.detach()
            op.erase(safe_erase=False)


def _choices(program: Program, plan: Plan) -> DictionaryAttr:
    """What a plan is made of, as the constraints that only it meets."""
    return certificate_attribute(
        plain(program, exact(program, plan.choices, plan.chunks))
    )


def _sources(program: Program, block: Block) -> dict[int, SSAValue]:
    """The SSA value of each argument and constant, by value number."""
    sources: dict[int, SSAValue] = {}
    for number, value in enumerate(program.values):
        if value.kind in ("input", "parameter"):
            sources[number] = block.args[value.index]
        elif isinstance(value.constant, Constant):
            sources[number] = value.constant.results[0]
    return sources


def _region(
    program: Program,
    machine: Machine,
    plan: Plan,
    sources: dict[int, SSAValue],
    locations: Sequence[str | None],
    types: Sequence[Attribute],
) -> Region:
    from tiledialect.plan_steps import plan_steps

    steps, results = plan_steps(
        program, machine, plan.choices, sources, locations, types, plan.chunks
    )
    operations: list[Operation] = [*steps, YieldOp(results)]
    return Region(Block(operations))
