"""Forced plans that were measured, stated and timed here by the simulator's clock.

`calibration/forced_plans/rows.toml` says for each row which constraints state its plan,
which kernels it was measured with, what it leaves open, and why it cannot be stated
where that is so. A plan that constraints cannot say whole is changed at rung 3: results
cut along two axes, partial sums that come in batches.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiledialect.diagnostics import Refused
from tiledialect.dialects.layout_attribute import LayoutAttr
from tiledialect.dialects.plan_part_op import PartOp
from tiledialect.dialects.plan_step import StepOp
from tiledialect.dialects.plan_step_ops import ComputeOp, ReduceOp
from tiledialect.dialects.tile import entry_function
from tiledialect.layout import Cut, Group, Layout
from tiledialect.machine import Machine
from tiledialect.runtime.timing import step_cycles
from tiledialect.scripting import package, parse, run_passes
from tiledialect.select_plan import choose
from tiledialect.text.source import read_text

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tiledialect.runtime.package import Package

FOLDER = Path(__file__).parents[1] / "calibration" / "forced_plans"
ROWS, COLUMNS = 1, 2
"""Axes of a result that is cut along both."""

BEFORE = "expand-candidates,search-plan{{budget=max plans=1 constraints={file}}}"
AFTER = "lower-plan,schedule-exchange,check-exchange,place-memory,check-memory"

Entries = Mapping[str, Sequence[Mapping[str, Any]]]
"""Timings by the table of the machine that they belong to: `sum`, `map`."""


@dataclass(frozen=True)
class ForcedPlan:
    """A plan, and the rows that measured it. By group, besides what constraints can
    say: the cuts (along rows, along columns) of its result, and in how many batches its
    partial sums come."""

    rows: tuple[str, ...]
    name: str
    constraints: str
    cuts: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, Any])
    batches: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Said:
    """Something that is true of some rows."""

    rows: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Kernels:
    """Timings that replace the machine's for some rows."""

    rows: tuple[str, ...]
    name: str
    entries: Entries

    def on(self, machine: Machine) -> Machine:
        """The machine with these entries in place of its own of the same names."""
        fields = dict(machine.fields)
        for table, entries in self.entries.items():
            known = [dict(entry) for entry in fields[table]]
            for entry in entries:
                same = [old for old in known if _names(old) == _names(entry)]
                if len(same) != 1:
                    raise Refused(f"{machine.name} has no {table} {_names(entry)}")
                same[0].update(entry)
            fields[table] = known
        return Machine.from_fields(fields)


def _names(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if isinstance(value, str)}


@dataclass(frozen=True)
class PlanTable:
    """All that the file says."""

    program: str
    open: tuple[str, ...]
    plans: tuple[ForcedPlan, ...]
    remarks: tuple[Said, ...]
    not_stated: tuple[Said, ...]
    kernels: tuple[Kernels, ...]


@dataclass(frozen=True)
class TimedRow:
    """A measured row and its plan's cycles by the simulator's clock, with the machine's
    kernels and with those that the row was measured with."""

    row: str
    plan: ForcedPlan
    measured: int
    simulated: int
    kernels: str
    of_its_date: int


def read_plans(folder: Path = FOLDER) -> PlanTable:
    """The table of plans in a folder."""
    fields = tomllib.loads((folder / "rows.toml").read_text(encoding="utf-8"))
    return PlanTable(
        fields["program"],
        tuple(fields["open"]),
        tuple(_plan(one) for one in fields["plan"]),
        tuple(Said(tuple(o["rows"]), o["text"]) for o in fields.get("remark", ())),
        tuple(
            Said(tuple(o["rows"]), o["reason"]) for o in fields.get("not_stated", ())
        ),
        tuple(_kernels(one) for one in fields.get("kernels", ())),
    )


def _plan(said: dict[str, Any]) -> ForcedPlan:
    cuts = {group: (rows, cols) for group, (rows, cols) in said.get("cuts", {}).items()}
    return ForcedPlan(
        tuple(said["rows"]),
        said["name"],
        said["constraints"],
        cuts,
        said.get("batches", {}),
    )


def _kernels(said: dict[str, Any]) -> Kernels:
    entries = {key: said[key] for key in ("sum", "map") if key in said}
    return Kernels(tuple(said["rows"]), said["name"], entries)


def whole_programs(path: str) -> dict[str, int]:
    """The cycles of the table's rows that measured a whole program, by id."""
    rows = csv.DictReader(io.StringIO(read_text(path)))
    return {
        row["id"]: int(row["value"])
        for row in rows
        if row.get("op") == "whole program" and row.get("unit") == "cycles"
    }


def timed_rows(
    table: PlanTable,
    measured: Mapping[str, int],
    machine: str = "ipu-c600",
    folder: Path = FOLDER,
) -> list[TimedRow]:
    """Each row of each plan, in the order of their numbers. Raises Refused where the
    table of measured rows lacks one."""
    found: list[TimedRow] = []
    for plan in table.plans:
        compiled = plan_package(plan, folder / table.program, machine)
        own = Machine.from_fields(compiled.machine)
        simulated = _cycles(own, compiled)
        for row in plan.rows:
            if row not in measured:
                raise Refused(f"no row {row} of a whole program's cycles")
            kernels = next((k for k in table.kernels if row in k.rows), None)
            then = _cycles(kernels.on(own), compiled) if kernels else simulated
            name = kernels.name if kernels else ""
            found.append(TimedRow(row, plan, measured[row], simulated, name, then))
    return sorted(found, key=lambda row: int(row.row))


def _cycles(machine: Machine, compiled: Package) -> int:
    return sum(step_cycles(machine, step) for step in compiled.steps)


def plan_package(plan: ForcedPlan, program: Path, machine: str) -> Package:
    """The package of a program in the plan, all checks passed; the constraints' file
    lies beside the program."""
    module = parse(program)
    file = f'"{program.parent / plan.constraints}"'
    run_passes(module, BEFORE.format(file=file), machine=machine)
    choose(module, 0)
    for group, (rows, columns) in plan.cuts.items():
        cut_result(module, group, rows, columns)
    for group, count in plan.batches.items():
        sum_in_batches(module, group, count)
    run_passes(module, AFTER)
    return package(module)


def cut_result(module: ModuleOp, group: str, rows: int, columns: int) -> None:
    """Change a plan: the tiles whose partial sums make a block of the group's result
    share it, cut along rows and columns; more than rows times columns stay idle."""
    for op in _reductions(module, group):
        block, partial = _partial_sums(op)
        if rows * columns > partial.count:
            raise Refused(f"'{group}' has {partial.count} partial sums to cut by")
        stride, cuts = partial.stride, list(block.cuts)
        grain = max((cut.grain for cut in cuts[COLUMNS]), default=1)
        cuts[ROWS] = (*cuts[ROWS], Cut(rows, columns * stride))
        cuts[COLUMNS] = (*cuts[COLUMNS], Cut(columns, stride, grain))
        _put_cuts(op, tuple(cuts))


def _put_cuts(summed: ReduceOp, cuts: tuple[tuple[Cut, ...], ...]) -> None:
    """Give the sum, and the stages that run where it lies, these cuts."""
    summed.properties["layout"] = LayoutAttr(summed.layout.data.with_(cuts=cuts))
    for use in summed.result.uses:
        op = use.operation
        if isinstance(op, ComputeOp) and op.group == summed.group:
            op.properties["layout"] = LayoutAttr(op.layout.data.with_(cuts=cuts))
            op.properties["grid"] = LayoutAttr(op.grid.data.with_(cuts=cuts))


def sum_in_batches(module: ModuleOp, group: str, count: int) -> None:
    """Change a plan: the group's partial sums come in so many batches, the first ones
    larger by one where they are not equal; each is added onto the sum of those before.
    """
    for op in _reductions(module, group):
        block, partial = _partial_sums(op)
        if not 0 < count <= partial.count:
            raise Refused(f"'{group}' has {partial.count} partial sums to batch")
        total, first, steps = None, block.first, list[StepOp]()
        for number in range(count):
            some = (partial.count + count - 1 - number) // count
            layout = block.with_(first=first, partial=Group(some, partial.stride))
            part = PartOp(op.source, group, layout, location=_place(op))
            made = ReduceOp(
                op.function.data,
                part.result,
                group,
                op.layout.data,
                own=False,
                onto=total,
                location=_place(op),
            )
            steps += [part, made]
            total, first = made.result, first + some * partial.stride
        _replace(op, steps)


def _replace(op: StepOp, steps: Sequence[StepOp]) -> None:
    """Put steps in the place of one; the last one's result stands for its own."""
    for step in steps:
        step.result.name_hint = op.result.name_hint
    block = op.parent_block()
    assert block is not None, "a step lies in a plan"
    block.insert_ops_before(list(steps), op)
    op.result.replace_all_uses_with(steps[-1].result)
    op.detach()
    op.erase()


def _reductions(module: ModuleOp, group: str) -> list[ReduceOp]:
    steps = entry_function(module).body.block.ops
    return [op for op in steps if isinstance(op, ReduceOp) and op.group.data == group]


def _partial_sums(op: ReduceOp) -> tuple[Layout, Group]:
    """Where the partial sums of a reduction lie."""
    maker = op.source.owner
    assert isinstance(maker, StepOp), "a plan's sums are made by its steps"
    block = maker.layout.data
    assert block.partial is not None, "plan.reduce takes partial sums"
    return block, block.partial


def _place(op: StepOp) -> str | None:
    return None if op.loc_text is None else op.loc_text.data
