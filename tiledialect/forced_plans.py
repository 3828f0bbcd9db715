"""What is asked of a program's plan: by `tile.plan` attributes, and by a file.

An operation of rung 1 asks of the group that runs it: `tile.plan = {grid = {m = 9}}`.
The function asks of the whole program: `attributes {tile.plan = {chunks = 2}}`. A plan
that was chosen is written as such a file, which gives the same package again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DictionaryAttr,
    ModuleOp,
)
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from tiledialect.constraint_text import read_constraint, read_count
from tiledialect.constraints import (
    Constraint,
    ConstraintError,
    Constraints,
    joined,
    merged,
)
from tiledialect.diagnostics import Refused, fail
from tiledialect.dialects.module_attributes import (
    CERTIFICATE,
    CHOICES,
    SOURCE,
    budget_of,
    machine_of,
    plain_value,
    reserve_of,
    text_of,
)
from tiledialect.dialects.tile import entry_function
from tiledialect.plan_file import (
    CHUNKS,
    PlanFile,
    digest,
    plan_file_text,
    read_plan_file,
)
from tiledialect.program import Program

PLAN = "tile.plan"
MOST_RAISED = 16
"""What is foretold of a plan, or placed, is above the search's bytes by less than 1
part in so many."""

LATER = ("searched", "foretold")
"""Fields that a certificate gets behind the search, where its bytes are no longer
those of the search."""


def forced_plan(module: ModuleOp, program: Program, path: str | None) -> PlanFile:
    """What the module and, where one is given, a file ask together. Raises Refused."""
    asked = module_constraints(module, program)
    if path is None:
        return PlanFile(asked, {})
    file = read_plan_file(path, program)
    try:
        return PlanFile(joined(asked, file.constraints), file.made_from)
    except ConstraintError as error:
        message = f"{error}, by the program and by the file"
        raise Refused(message, f"{path}:1:1") from error


def module_constraints(module: ModuleOp, program: Program) -> Constraints:
    """What the attributes of a module ask."""
    function = entry_function(module)
    found: dict[int, Constraint] = {}
    known: set[Operation] = set()
    for position, group in enumerate(program.groups):
        for member in group.members:
            known.add(member.operation)
            asked = _asked(member.operation, program, position)
            if asked is not None:
                before = found.get(position, Constraint())
                found[position] = _merged(member.operation, before, asked)
    for op in function.body.block.ops:
        if PLAN in op.attributes and op not in known:
            fail(op, f"{PLAN}: {op.name} has no plan, as nothing of it is computed")
    return Constraints(found, _chunks(function))


def _asked(op: Operation, program: Program, position: int) -> Constraint | None:
    attribute = op.attributes.get(PLAN)
    if attribute is None:
        return None
    try:
        value = plain_value(attribute)
        return read_constraint(program, program.groups[position], value)
    except ValueError as error:
        fail(op, f"{PLAN}: {error}")


def _merged(op: Operation, before: Constraint, asked: Constraint) -> Constraint:
    try:
        return merged(before, asked)
    except ConstraintError as error:
        fail(op, f"{PLAN}: {error}, by operations that are planned together")


def _chunks(function: Operation) -> int | None:
    attribute = function.attributes.get(PLAN)
    if attribute is None:
        return None
    try:
        value = plain_value(attribute)
        if not isinstance(value, dict):
            raise ConstraintError(f"{{chunks = …}} is asked of a function, not {value}")
        table = cast("dict[str, object]", value)
        if list(table) != [CHUNKS]:
            known = ", ".join(table)
            raise ConstraintError(f"only chunks is asked of a function, not {known}")
        return read_count(table[CHUNKS], CHUNKS, CHUNKS)
    except ValueError as error:
        fail(function, f"{PLAN}: {error}")


def made_from(module: ModuleOp) -> dict[str, object]:
    """What a planned module was made from."""
    fields = json.dumps(machine_of(module).fields, sort_keys=True)
    return {
        "source": digest(text_of(module, SOURCE) or ""),
        "machine": digest(fields),
        "budget": budget_of(module),
        "reserve": reserve_of(module),
    }


def certificate_of(
    module: ModuleOp, forced: PlanFile, found: DictionaryAttr
) -> DictionaryAttr:
    """The certificate of a plan: that in its file as the search wrote it, if the file
    is of this program, machine and budget and says the same cycles and bytes; else
    what was found. A whole plan would only be certified as the best of itself."""
    said = dict(forced.made_from)
    text = said.pop("certificate", None)
    if not isinstance(text, str) or said != made_from(module):
        return found
    known = _parsed(text)
    if known is None or known.data.get("cycles") != found.data.get("cycles"):
        return found
    searched, last = _number(known, "searched"), _number(known, "bytes")
    searched = last if searched is None else searched
    if searched is None or last is None or searched != _number(found, "bytes"):
        return found
    if last > searched + searched // MOST_RAISED:
        return found
    fields = {name: one for name, one in known.data.items() if name not in LATER}
    return DictionaryAttr({**fields, "bytes": found.data["bytes"]})


def _number(certificate: DictionaryAttr, name: str) -> int | None:
    field = certificate.data.get(name)
    value = None if field is None else plain_value(field)
    return value if isinstance(value, int) else None


def _parsed(text: str) -> DictionaryAttr | None:
    try:
        attribute = Parser(Context(), text).parse_attribute()
    except ParseError:
        return None
    return attribute if isinstance(attribute, DictionaryAttr) else None


def written_plan(module: ModuleOp) -> str:
    """The file of the plan that a module holds. Refuses a module without one plan."""
    choices = module.attributes.get(CHOICES)
    if not isinstance(choices, DictionaryAttr):
        fail(module, "the module holds no chosen plan to write; run select-plan")
    certificate = module.attributes.get(CERTIFICATE)
    said = made_from(module)
    if certificate is not None:
        said["certificate"] = str(certificate)
    return plan_file_text(cast("Mapping[str, object]", plain_value(choices)), said)
