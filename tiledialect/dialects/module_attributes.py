"""What a module carries through every rung: machine, budget, reserve, rung, source."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation

from tiledialect.diagnostics import fail
from tiledialect.dialects.syntax import integer
from tiledialect.machine import Machine, MachineError

P = TypeVar("P", bound=Operation)

MACHINE = "tile.machine"
BUDGET = "tile.budget"
BUDGET_CHOICE = "tile.budget_choice"
RESERVE = "tile.reserve"
RUNG = "tile.rung"
SOURCE = "tile.source"
ENTRY = "tile.entry"
CERTIFICATE = "tile.certificate"
CHOICES = "tile.choices"

RUNG_NAMES = {
    1: "tensor program",
    2: "catalogue",
    3: "plan",
    4: "BSP program",
    5: "scheduled program",
    6: "placed program",
}


def machine_of(module: ModuleOp) -> Machine:
    """The machine that the module names. Refuses a module that names none."""
    attribute = module.attributes.get(MACHINE)
    if attribute is None:
        fail(module, f'the module names no machine; give it {MACHINE} = "ipu-c600"')
    try:
        return _machine(attribute)
    except (MachineError, ValueError) as error:
        fail(module, str(error))


@lru_cache(maxsize=64)
def _machine(attribute: Attribute) -> Machine:
    """The machine of a name, or of a dictionary of fields over a base."""
    value = plain_value(attribute)
    if isinstance(value, str):
        return Machine.load(value)
    if isinstance(value, dict):
        return Machine.from_fields(value)  # pyright: ignore[reportUnknownArgumentType]
    raise MachineError(f"{MACHINE} must be a name or a dictionary, is {attribute}")


def plain_value(attribute: Attribute) -> Any:
    """The Python value of a string, number, flag, list or dictionary attribute."""
    match attribute:
        case StringAttr():
            return attribute.data
        case FloatAttr():
            return attribute.value.data
        case IntegerAttr():
            flag = attribute.type == IntegerType(1)
            return bool(attribute.value.data) if flag else attribute.value.data
        case UnitAttr():
            return True
        case DenseArrayBase():
            array = cast("DenseArrayBase[IntegerType]", attribute)
            return list(array.get_values())
        case ArrayAttr():
            return [plain_value(item) for item in attribute.data]
        case DictionaryAttr():
            return {key: plain_value(item) for key, item in attribute.data.items()}
        case _:
            raise ValueError(f"{attribute} is no plain value")


def budget_of(module: ModuleOp) -> int | None:
    """Bytes of a tile's footprint that the plan was made for; None: no bound."""
    return _bytes_of(module, BUDGET)


def reserve_of(module: ModuleOp) -> int:
    """Bytes at the top of each tile that belong to others."""
    return _bytes_of(module, RESERVE) or 0


def _bytes_of(module: ModuleOp, name: str) -> int | None:
    attribute = module.attributes.get(name)
    if attribute is None:
        return None
    if not isinstance(attribute, IntegerAttr) or attribute.value.data < 0:
        fail(module, f"{name} must be a number of bytes, is {attribute}")
    return attribute.value.data


def text_of(module: ModuleOp, name: str) -> str | None:
    """A string attribute of the module, None where it is missing."""
    attribute = module.attributes.get(name)
    return attribute.data if isinstance(attribute, StringAttr) else None


def rung_of(module: ModuleOp) -> int:
    """The rung that the module is at; one without the attribute is at 1."""
    attribute = module.attributes.get(RUNG)
    if attribute is None:
        return 1
    if not isinstance(attribute, IntegerAttr) or attribute.value.data not in RUNG_NAMES:
        fail(module, f"{RUNG} must be 1 to {max(RUNG_NAMES)}, is {attribute}")
    return attribute.value.data


def require_rung(module: ModuleOp, pass_name: str, rung: int) -> None:
    """Refuses a module at any other rung."""
    have = rung_of(module)
    if have != rung:
        fail(
            module,
            f"{pass_name} reads rung {rung} ({RUNG_NAMES[rung]}),"
            f" the module is at rung {have} ({RUNG_NAMES[have]})",
        )


def set_rung(module: ModuleOp, rung: int) -> None:
    module.attributes[RUNG] = integer(rung)


def the_program(module: ModuleOp, kind: type[P]) -> P:
    """The one operation of that kind in the module's body."""
    found = [op for op in module.body.block.ops if isinstance(op, kind)]
    if len(found) != 1:
        fail(module, f"the module needs one {kind.name}, it has {len(found)}")
    return found[0]
