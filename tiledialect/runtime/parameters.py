"""Parameters of calls: read from a package, checked, given as plain values."""

from __future__ import annotations

from tiledialect.formats import FORMATS
from tiledialect.layout_json import Json
from tiledialect.machine import Machine
from tiledialect.runtime.kernels import Element, MapStage, map_arity
from tiledialect.runtime.package import Call

REDUCTIONS = ("sum", "max")


class CallError(Exception):
    """A call that the machine would refuse. The message says why."""


def element_of(machine: Machine, format: str, scale: int) -> Element:
    """How this machine stores elements of a format. Refuses formats it lacks."""
    facts = machine.formats
    if format not in facts.supported:
        raise CallError(f"machine {machine.name} has no format {format}")
    if not facts.scale_min <= scale <= facts.scale_max:
        raise CallError(
            f"scale {scale} is not from {facts.scale_min} to {facts.scale_max}"
        )
    if scale and not FORMATS[format].is_float8:
        raise CallError(f"format {format} has no scale, {scale} is given")
    return Element(FORMATS[format], scale, facts.f8_overflow)


def matmul_accumulate(call: Call) -> str:
    """The format of a matmul's partial sums."""
    _only(call, "accumulate")
    return _text(call.parameters, "accumulate", ("f16", "f32"))


def reduction(call: Call) -> str:
    """What a sum or a reduce does: "sum" or "max"."""
    return _text(call.parameters, "function", REDUCTIONS)


def reduced_dims(call: Call) -> tuple[int, ...]:
    """Positions of the dims that a reduce takes away, ascending."""
    _only(call, "function", "reduced")
    names = call.parameters.get("reduced")
    if not isinstance(names, list):
        raise CallError("parameter 'reduced' must list dims")
    found: list[int] = []
    for name in names:
        if name not in call.dims:
            raise CallError(f"parameter 'reduced' names {name!r}, which is no dim")
        found.append(call.dims.index(str(name)))
    return tuple(sorted(set(found)))


def sum_own(call: Call) -> tuple[int, int, int] | None:
    """First tile, stride and count of a sum's partials, where tiles hold their own."""
    _only(call, "function", "own")
    own = call.parameters.get("own")
    if own is None:
        return None
    if not isinstance(own, list) or len(own) != 3:
        raise CallError("parameter 'own' must hold three numbers")
    first, stride, count = (_number(item, "own") for item in own)
    if stride < 1 or count < 1:
        raise CallError("parameter 'own' needs a stride and a count of at least 1")
    return first, stride, count


def map_stages(machine: Machine, call: Call) -> list[MapStage]:
    """The scalar functions of a map, in turn."""
    _only(call, "stages")
    stages = call.parameters.get("stages")
    if not isinstance(stages, list) or not stages:
        raise CallError("parameter 'stages' must list at least one function")
    return [_stage(machine, call, stage) for stage in stages]


def _stage(machine: Machine, call: Call, stage: Json) -> MapStage:
    if not isinstance(stage, dict) or not stage.keys() <= {
        "function",
        "operands",
        "format",
        "scale",
    }:
        raise CallError("a stage has the fields function, operands, format and scale")
    function = _text(stage, "function")
    operands = stage.get("operands", [])
    if not isinstance(operands, list):
        raise CallError(f"stage '{function}' must list its operands")
    numbers = tuple(_number(item, "operands") for item in operands)
    arity = map_arity(function)
    if arity is None:
        raise CallError(f"no map computes '{function}'")
    if len(numbers) != arity - 1:
        raise CallError(f"'{function}' takes {arity} operands, {len(numbers) + 1} come")
    if not all(0 <= number < len(call.inputs) for number in numbers):
        raise CallError(f"stage '{function}' takes an operand that is not there")
    format = _text(stage, "format", tuple(FORMATS))
    scale = _number(stage.get("scale", 0), "scale")
    return MapStage(function, numbers, element_of(machine, format, scale))


def _only(call: Call, *names: str) -> None:
    for name in call.parameters:
        if name not in names:
            raise CallError(f"a {call.family} has no parameter '{name}'")


def _text(
    values: dict[str, Json], key: str, among: tuple[str, ...] | None = None
) -> str:
    value = values.get(key)
    if not isinstance(value, str):
        raise CallError(f"parameter '{key}' must be a text")
    if among is not None and value not in among:
        raise CallError(f"parameter '{key}' is '{value}', not one of {list(among)}")
    return value


def _number(value: Json, key: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > 1 << 21:
        raise CallError(f"parameter '{key}' must hold whole numbers up to 2097152")
    return value
