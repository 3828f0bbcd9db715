"""Expansion: every way to run each group of operations.

Reads   rung 1: the entry function's tensor operations.
Writes  rung 2: a `plan.catalogue` for each group behind the function, and the module's
        canonical text in `tile.source`.
Holds   every candidate that uses at most the machine's tiles is a row of its table
        with one of its variants; two rows differ in some block.
Fails   at operations of no known interface, and formats the machine does not have.

Method: the product of the part counts of the domain's dimensions, those that give
different blocks, cut off at the number of tiles; no budget is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntElementsAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i32,
)
from xdsl.passes import ModulePass

from tiledialect.candidates import (
    all_choices,
    all_grids,
    grains,
    part_choices,
)
from tiledialect.chunks import chunkings
from tiledialect.diagnostics import fail
from tiledialect.dialects.module_attributes import (
    SOURCE,
    machine_of,
    require_rung,
    set_rung,
)
from tiledialect.dialects.plan import CatalogueOp
from tiledialect.layout import ceil_div
from tiledialect.machine import Machine
from tiledialect.program import Group, Program, read_program

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def considered_grids(program: Program, group: Group, machine: Machine) -> int:
    """All grids with up to one part a grain, before any is dropped."""
    grain = grains(program, group, machine)
    return prod(
        max(1, min(machine.tiles, ceil_div(dim.extent, grain[i])))
        for i, dim in enumerate(group.dims)
    )


def catalogue(program: Program, group: Group, machine: Machine) -> CatalogueOp:
    """The catalogue of one group."""
    grids = all_grids(program, group, machine)
    considered = considered_grids(program, group, machine)
    distinct = prod(len(c) for c in part_choices(program, group, machine))
    choices = all_choices(program, group, machine)
    return CatalogueOp(
        group.name,
        {dim.name: dim.extent for dim in group.dims},
        [f"parts.{dim.name}" for dim in group.dims],
        considered,
        {"same_block": considered - distinct, "tiles": distinct - len(grids)},
        choices.path_words(),
        choices.result_words(),
        choices.steps,
        table_attribute(grids),
        chunks=[chunking.count for chunking in chunkings(program)],
        location=group.location,
    )


def table_attribute(table: NDArray[np.int64]) -> DenseIntElementsAttr:
    """A table of small integers as `dense<…> : tensor<rows x columns x i32>`."""
    import numpy as np

    data = np.ascontiguousarray(table, dtype="<i4").tobytes()
    return DenseIntElementsAttr(TensorType(i32, table.shape), BytesAttr(data))


def check_formats(program: Program, machine: Machine, module: ModuleOp) -> None:
    """Refuse number formats that the machine's tiles do not compute with."""
    for value in program.values:
        name = value.form.format.name
        if name not in machine.formats.supported:
            fail(
                module,
                f"'{value.name}' is {name}, machine {machine.name} computes with "
                + ", ".join(machine.formats.supported),
            )
        low, high = machine.formats.scale_min, machine.formats.scale_max
        if not low <= value.form.scale <= high:
            fail(
                module,
                f"'{value.name}' has scale {value.form.scale}, machine"
                f" {machine.name} has {low} to {high}",
            )


@dataclass(frozen=True)
class ExpandCandidatesPass(ModulePass):
    """Adds the catalogue of every group."""

    name = "expand-candidates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_rung(op, self.name, 1)
        machine = machine_of(op)
        program = read_program(op, machine)
        check_formats(program, machine, op)
        source = canonical_text(op)
        for group in program.groups:
            op.body.block.add_op(catalogue(program, group, machine))
        op.attributes[SOURCE] = StringAttr(source)
        set_rung(op, 2)


def canonical_text(module: ModuleOp) -> str:
    """The module's text in generic spelling of locations: what it was made from."""
    from io import StringIO

    from xdsl.printer import Printer

    stream = StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue()
