"""What `--machine`, `--reserve` and `--plan-budget` mean for a module.

From rung 1 on the module itself names its machine, the bytes that are not ours and its
budget, so any rung can be continued without these options. Below rung 1 they are part
of the plan and cannot change any more.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f64,
    i1,
    i64,
)

from tiledialect.diagnostics import Refused, Usage, fail
from tiledialect.dialects.module_attributes import BUDGET, budget_of, machine_of
from tiledialect.machine import Machine, MachineError, machine_names
from tiledialect.sizes import AUTO, SizeError, parse_size
from tiledialect.tools.command_line import suggestion

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute

DEFAULT_MACHINE = "ipu-c600"
PLANNED_RUNG = 3


def machine_attribute(name: str) -> Attribute:
    """The machine of that name or file. Raises Usage or Refused."""
    if not name.endswith(".toml"):
        if name not in machine_names():
            known = ", ".join(machine_names())
            hint = suggestion(name, machine_names())
            raise Usage(f"no machine is called '{name}'{hint} (known: {known})")
        return StringAttr(name)
    try:
        machine = Machine.load(name)
    except MachineError as error:
        raise Refused(str(error)) from error
    return fields_attribute(_self_contained(name, machine))


def _self_contained(path: str, machine: Machine) -> Mapping[str, Any]:
    """The fields of a machine file, over a base only where everybody has that base."""
    with open(path, "rb") as stream:
        fields = tomllib.load(stream)
    return fields if fields.get("base") in machine_names() else machine.fields


def fields_attribute(value: object) -> Attribute:
    """A value of a TOML file as an attribute: tables, lists, numbers and strings."""
    match value:
        case bool():
            return IntegerAttr(int(value), i1)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case Mapping():
            table = cast(Mapping[str, object], value)
            return DictionaryAttr({k: fields_attribute(v) for k, v in table.items()})
        case Sequence():
            items = cast(Sequence[object], value)
            return ArrayAttr([fields_attribute(item) for item in items])
        case _:
            raise Refused(f"a machine has no such value: {value}")


def reserve_attribute(size: str) -> Attribute:
    """The reserved bytes of a tile. Raises Usage."""
    try:
        return IntegerAttr(parse_size(size), i64)
    except SizeError as error:
        raise Usage(f"--reserve: {error}") from error


def put_setting(module: ModuleOp, name: str, value: Attribute, rung: int) -> None:
    """Set an attribute of the module, where the rung still allows it."""
    old = module.attributes.get(name)
    if old is not None and old != value and rung > 1:
        fail(module, f"the module is at rung {rung}, made with {name} = {old}")
    module.attributes[name] = value


def check_budget(module: ModuleOp, budget: str, rung: int) -> None:
    """Refuse to continue a plan with another budget than it was made for."""
    made_for = budget_of(module)
    if rung < PLANNED_RUNG or made_for is None or budget == AUTO:
        return
    size = machine_of(module).budget_bytes(budget) or parse_size(budget)
    if size != made_for:
        fail(module, f"the module is at rung {rung}, made with {BUDGET} = {made_for}")
