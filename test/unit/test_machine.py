"""Machine files: every field changes some result, and wrong ones are refused."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from ladder import package_bytes, parse, run_passes
from machine_programs import CASTS, MAPS, MLP, PRODUCTS

from tiledialect.diagnostics import TileError
from tiledialect.machine import Machine, MachineError, machine_names
from tiledialect.reference import Stored, default_arguments
from tiledialect.runtime.package import Package, from_bytes
from tiledialect.runtime.simulator import Simulator
from tiledialect.tools.settings import fields_attribute

Path_ = tuple[str | int, ...]
Fields = dict[str, Any]

PROGRAMS = (MLP, CASTS, PRODUCTS, MAPS)


@dataclass(frozen=True)
class Result:
    """What one can see of a program on a machine; `refusal` where it does not run."""

    refusal: str = ""
    cycles: tuple[int, ...] = ()
    microseconds: float = 0.0
    bytes: tuple[int, ...] = ()
    outputs: tuple[bytes, ...] = ()
    planned: tuple[object, ...] = ()


def compiled_on(program: int, fields: Fields, budget: str) -> Package:
    """The package of a program, planned for a machine."""
    module = parse(PROGRAMS[program])
    module.attributes["tile.machine"] = fields_attribute(fields)
    return from_bytes(package_bytes(run_passes(module, budget)))


@cache
def base_package(program: int) -> Package:
    return compiled_on(program, base_fields(), "default")


@cache
def arguments_of_source(source: str) -> dict[str, Stored]:
    return default_arguments(parse(source), 0)


def arguments_of(package: Package) -> dict[str, Stored]:
    """Seeded arguments of a package's program, as often as it is run."""
    return dict(arguments_of_source(package.source))


def simulated(package: Package, fields: Fields) -> Result:
    """The same package on a machine that it may not be made for."""
    try:
        run = Simulator(replace(package, machine=fields)).run(arguments_of(package))
    except TileError as error:
        return Result(refusal=str(error))
    return Result(
        cycles=tuple(step.cycles for step in run.steps),
        microseconds=run.cycles / fields["clock_ghz"],
        bytes=(run.peak_tile_bytes, run.placed_bytes),
        outputs=tuple(array.tobytes() for array in run.outputs.values()),
    )


def planned(program: int, fields: Fields, budget: str) -> Result:
    """What the compiler makes for a machine, but for the machine's own fields."""
    try:
        package = compiled_on(program, fields, budget)
    except TileError as error:
        return Result(refusal=str(error))
    places = tuple((b.name, b.address, b.bytes) for b in package.buffers)
    steps = tuple((step.name, step.estimate) for step in package.steps)
    support = package.support
    return Result(planned=(package.budget, package.footprint, support, places, steps))


def base_fields() -> Fields:
    return dict(copy.deepcopy(Machine.load("mini16").fields))


def leaves(value: object, path: Path_ = ()) -> Iterator[Path_]:
    """The path of every number, string and flag."""
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, object]", value).items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for position, inner in enumerate(cast("Sequence[object]", value)):
            yield from leaves(inner, (*path, position))
    else:
        yield path


def at(fields: Fields, path: Path_) -> Any:
    value: Any = fields
    for key in path:
        value = value[key]
    return value


def others(path: Path_, value: Any) -> Sequence[Any]:
    """Values to try in place of one."""
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, str):
        return ("nan",) if path == ("formats", "f8_overflow") else ("f64",)
    if isinstance(value, float):
        return (value * 2,)
    return (2 * value + 1, value // 2, value + 1, 3, 1)


def with_value(path: Path_, value: Any) -> Fields:
    """mini16 with another value; the memory grows with its regions."""
    fields = base_fields()
    at(fields, path[:-1])[path[-1]] = value
    if path[:2] == ("memory", "regions") and path[-1] == "bytes":
        fields["memory"]["bytes"] += value - at(base_fields(), path)
    if path == ("memory", "bytes"):
        fields["memory"]["regions"][-1]["bytes"] += value - at(base_fields(), path)
    return fields


def variations(path: Path_) -> Iterator[Fields]:
    """Valid machines that differ from mini16 in one field."""
    for value in others(path, at(base_fields(), path)):
        fields = with_value(path, value)
        try:
            Machine.from_fields(copy.deepcopy(fields))
        except MachineError:
            continue
        yield fields


def plain(fields: Fields) -> Fields:
    """The machine as it is."""
    return fields


def swapped(fields: Fields) -> Fields:
    """The other region is interleaved."""
    changed = copy.deepcopy(fields)
    for region in changed["memory"]["regions"]:
        region["interleaved"] = not region["interleaved"]
    return changed


def moved_edge(fields: Fields) -> Fields:
    """The first region takes most of the second."""
    changed = copy.deepcopy(fields)
    first, second = changed["memory"]["regions"]
    first["bytes"], second["bytes"] = 65536 - 4096, 4096
    return changed


def much_support(fields: Fields) -> Fields:
    """More support than the first region holds."""
    changed = copy.deepcopy(fields)
    changed["memory"]["support_bytes"] = 30000
    return changed


def short_items(fields: Fields) -> Fields:
    """Two items of 64 bits are enough."""
    changed = copy.deepcopy(fields)
    changed["exchange"]["pair_least_items"] = 2
    return changed


def lent_lanes(fields: Fields) -> Fields:
    """Tiles of a pair lend each other their lane."""
    changed = copy.deepcopy(fields)
    changed["exchange"]["pair_tiles"] = 2
    return changed


Situation = Callable[[Fields], Fields]
RUN_SITUATIONS: tuple[Situation, ...] = (plain, swapped, moved_edge)
PLAN_SITUATIONS: tuple[Situation, ...] = (plain, much_support)
PAIRS: dict[str, tuple[Situation, ...]] = {
    "pair_tiles": (short_items,),
    "pair_least_items": (lent_lanes,),
}
"""Where the fields of pairs matter; to a plan, as a package keeps to its own rows."""
FIRST_PROGRAM: dict[Path_, int] = {
    ("code", "copy_bytes"): 0,
    ("code", "reduce_bytes"): 3,
    ("code", "sum_bytes"): 2,
    ("formats",): 1,
    ("map",): 3,
    ("map", 0): 1,
    ("map", 5): 1,
    ("matrix",): 2,
    ("matrix", 0): 0,
    ("reduce",): 3,
    ("sum",): 2,
}
"""The program likeliest to show a change, of the longest path that begins a field's."""
PLANNED_FIRST: dict[Path_, int] = {
    ("exchange", "max_message_words"): 0,
    ("memory", "default_budget_bytes"): 0,
    ("memory", "regions", 1, "element_bytes"): 1,
    ("memory", "regions", 1, "executable"): 0,
}
"""The same of fields that change no run: their plans are looked at first."""


def programs(path: Path_) -> list[int]:
    """All programs, the likeliest to show a change first."""
    begins = [path[:length] for length in range(len(path), 0, -1)]
    likeliest = {**FIRST_PROGRAM, **PLANNED_FIRST}
    first = next((likeliest[begin] for begin in begins if begin in likeliest), 0)
    return [first, *(p for p in range(len(PROGRAMS)) if p != first)]


def situations(path: Path_, usual: tuple[Situation, ...]) -> tuple[Situation, ...]:
    """Those in which a field may matter."""
    return PAIRS.get(str(path[-1]), usual)


def changes_a_run(path: Path_) -> bool:
    """Whether a package runs otherwise on a machine that differs in this field."""
    return any(
        simulated(base_package(program), situation(fields))
        != simulated_on_base(program, situation)
        for situation in situations(path, RUN_SITUATIONS)
        for program in programs(path)
        for fields in variations(path)
    )


def changes_a_plan(path: Path_) -> bool:
    """Whether the compiler plans otherwise for a machine that differs in this field."""
    return any(
        planned(program, situation(fields), budget)
        != planned_for_base(program, budget, situation)
        for program in programs(path)
        for situation in situations(path, PLAN_SITUATIONS)
        for budget in ("default", "1KiB")
        for fields in variations(path)
    )


def is_idle(path: Path_) -> bool:
    """Whether a field may have another value, and none changes anything."""
    if path[-1] in PAIRS:
        return not changes_a_plan(path)
    if not any(variations(path)):
        return False
    ways = [changes_a_run, changes_a_plan]
    if path in PLANNED_FIRST:
        ways.reverse()
    return not any(changes(path) for changes in ways)


@cache
def simulated_on_base(program: int, situation: Situation) -> Result:
    return simulated(base_package(program), situation(base_fields()))


@cache
def planned_for_base(program: int, budget: str, situation: Situation) -> Result:
    return planned(program, situation(base_fields()), budget)


SECTIONS = tuple(sorted({str(path[0]) for path in leaves(base_fields())}))


@pytest.mark.parametrize("section", SECTIONS)
def test_every_field_changes_some_result(section: str) -> None:
    paths = [path for path in leaves(base_fields()) if path[0] == section]
    idle = [path for path in paths if is_idle(path)]
    assert not idle


def test_the_walk_sees_every_field() -> None:
    paths = list(leaves(base_fields()))
    assert len(paths) > 170
    assert ("memory", "regions", 1, "interleaved") in paths
    assert ("matrix", 3, "call_cycles") in paths


@pytest.mark.parametrize("name", machine_names())
def test_machines_that_come_along_are_valid(name: str) -> None:
    machine = Machine.load(name)
    assert machine.name == name
    assert machine.memory.support_bytes < machine.max_bytes


BAD_FILES = {
    "tiles = 3": "lacks the field",
    'base = "mini4"\ntiles = 0': "machine.tiles must be 1 to 2046, is 0",
    'base = "mini4"\ntiles = "four"': "machine.tiles must be of kind int, is 'four'",
    'base = "mini4"\ntils = 3': "no field 'tils'; did you mean 'tiles'?",
    'base = "mini5"': "no machine is called 'mini5'; did you mean mini4",
    'base = "mini4"\n[memory]\nbytes = 5': "machine.memory.bytes is 5",
    'base = "mini4"\n[memory]\nsupport_bytes = 99999': "more than the 16256 bytes",
    'base = "mini4"\n[exchange]\nword_bytes = 8': "word_bytes must be 4",
    'base = "mini4"\n[exchange]\nrow_tiles = 0': "row_tiles must be more than 0, is 0",
    'base = "mini4"\n[exchange]\npair_tiles = 4': "pair_tiles must be 1 or 2, is 4",
    'base = "mini4"\n[exchange]\npair_tiles = 0': "pair_tiles must be 1 or 2, is 0",
    'base = "mini4"\n[exchange]\npair_tiles = 2\nrow_tiles = 3': "even where pair_ti",
    'base = "mini4"\n[exchange]\npair_tiles = 2\nmax_message_words = 255': "4 * 64",
    'base = "mini4"\n[exchange]\npair_least_items = 0': "least_items must be more than",
    'base = "mini4"\nmatrix = 3': "machine.matrix must be a list",
    "base = 3": "'base' must name a machine",
    "this is no toml": "machine file",
    'base = "mini4"\nsum = []': "machine.sum lacks the row of format 'f32'",
    'base = "mini4"\nmap = []': "row of function 'cast' and format 'any'",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_a_bad_machine_file_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(MachineError) as caught:
        Machine.load(str(path))
    message = str(caught.value)
    assert BAD_FILES[text] in message
    assert "\n" not in message


def test_a_machine_file_that_leads_back_to_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "loop.toml"
    path.write_text(f'base = "{path}"')
    with pytest.raises(MachineError, match="not lead back to itself"):
        Machine.load(str(path))


@pytest.mark.parametrize("table", ["matrix", "map", "sum", "reduce"])
def test_every_row_of_a_table_must_divide(table: str) -> None:
    """Not only the last row of its kind: each has its own name in the message."""
    rows = [dict(row) for row in Machine.load("mini16").fields[table]]
    field = "k_block" if table == "matrix" else "group_elements"
    rows[0][field] = 0
    wanted = rf"{table}\[0\]\.{field} must be more than 0, is 0"
    with pytest.raises(MachineError, match=wanted):
        Machine.from_fields({"base": "mini16", table: rows})


def test_a_clock_that_stands_is_refused() -> None:
    with pytest.raises(MachineError, match="clock_ghz must be more than 0, is 0"):
        Machine.from_fields({"base": "mini16", "clock_ghz": 0.0})


def test_a_partner_is_the_other_tile_of_a_pair() -> None:
    pairs = {"pair_tiles": 2}
    odd = Machine.from_fields({"base": "mini16", "tiles": 7, "exchange": pairs})
    assert [odd.partner(tile) for tile in range(7)] == [1, 0, 3, 2, 5, 4, None]
    assert Machine.load("mini16").partner(0) is None
    assert Machine.load("ipu-c600").partner(1471) == 1470
