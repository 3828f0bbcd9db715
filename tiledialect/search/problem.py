"""The search's view of a program: priced candidates, and how groups hang together.

A value that only the very next group reads, in the axes in which it was made, rests as
its producer left it (a *link*). Every other value settles in linear ownership. So all
that a group must know of what came before is its link's layout, and the search may go
from group to group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tiledialect.candidates import BLOCK, ROW_MAJOR, STORED, Candidates, Variant
from tiledialect.chunks import WHOLE, Chunking, chunked
from tiledialect.codelets import code_bytes
from tiledialect.cost.group import GroupCost, entry_cost, group_cost, tail_stages
from tiledialect.cost.movement import movement
from tiledialect.cost.operand import sized
from tiledialect.cost.spec import Spec
from tiledialect.cost.steps import linear_tiles
from tiledialect.machine import Machine
from tiledialect.program import Group, Program
from tiledialect.search.grids import Grids
from tiledialect.search.rows import taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Settling:
    """Bringing a result to linear ownership; all 0 where it is a link."""

    exchange: Ints
    compute: Ints
    row_bytes: Ints
    live_bytes: Ints  # of its step


@dataclass(frozen=True)
class Arrived:
    """What candidates with one choice of ways and steps share, a row each grid: the
    cost of what comes before their results, and bytes of the program's steps that run
    the codelet again."""

    cost: GroupCost
    more_step_bytes: int

    def __len__(self) -> int:
        return len(self.cost.compute)

    @cached_property
    def running_bytes(self) -> Ints:
        """Bytes that are live while the codelet runs."""
        return self.cost.held_bytes + self.cost.computed_bytes

    @cached_property
    def resident_bytes(self) -> Ints:
        return self.cost.resident_bytes


@dataclass(frozen=True)
class Left:
    """What candidates whose results rest alike share, a row each grid: the cost of
    what comes after the codelet, as of candidates with all operands stored. Of the
    program's steps `step_bytes` are those with one step of the codelet."""

    cost: GroupCost
    settling: Settling
    step_bytes: Ints

    def __len__(self) -> int:
        return len(self.cost.compute)

    @cached_property
    def cycles(self) -> Ints:
        """Cycles behind the codelet."""
        settling = self.settling.exchange + self.settling.compute
        return self.cost.cycles - self.cost.compute + settling

    @cached_property
    def transient_bytes(self) -> Ints:
        return np.maximum(self.cost.transient_bytes, self.settling.live_bytes)

    @cached_property
    def row_bytes(self) -> Ints:
        rows = self.cost.reduction.row_bytes + self.settling.row_bytes
        return rows + self.step_bytes


@dataclass(frozen=True)
class Priced:
    """The candidates of one variant of a group with their costs: those of the rows
    `coming` of what has arrived, and of the rows `leaving` of what is left."""

    table: Candidates
    arrived: Arrived
    coming: Ints
    left: Left
    leaving: Ints

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def cost(self) -> GroupCost:
        """The candidates' own cost."""
        before = taken(self.arrived.cost, self.coming)
        behind = taken(self.left.cost, self.leaving)
        return replace(behind, operands=before.operands, compute=before.compute)

    @cached_property
    def settling(self) -> Settling:
        return taken(self.left.settling, self.leaving)

    @property
    def cycles(self) -> Ints:
        """Cycles of all steps after the operands have arrived."""
        return self.arrived.cost.compute[self.coming] + self.left.cycles[self.leaving]

    @property
    def transient_bytes(self) -> Ints:
        return np.maximum(
            self.arrived.running_bytes[self.coming],
            self.left.transient_bytes[self.leaving],
        )

    @property
    def row_bytes(self) -> Ints:
        """Bytes of control words, and of the program's steps, after the operands have
        arrived."""
        return self.left.row_bytes[self.leaving] + self.arrived.more_step_bytes


Known = tuple[tuple[object, ...], tuple[Priced, ...]]
"""What tells a group from others, and its priced candidates."""


@dataclass(frozen=True)
class Stage:
    """One group in the search.

    link     operand position that the previous group's result comes in by; -1: none
    linear   for each operand that rests linear, its spec
    dying    of those, the ones that no later group reads
    others   bytes of values that are alive throughout and not consumed here
    """

    group: Group
    variants: tuple[Priced, ...]
    link: int
    linear: dict[int, Spec]
    dying: tuple[int, ...]
    others: int


@dataclass(frozen=True)
class Problem:
    """All stages, what the support takes besides exchange rows, and what the interface
    holds for good that no stage counts. All stages run once a chunk: `program` is that
    of the first, and stages' cycles and rows are those of one chunk."""

    program: Program
    machine: Machine
    stages: tuple[Stage, ...]
    code_bytes: int
    interface_bytes: int
    chunks: int = 1

    @property
    def count(self) -> int:
        """The number of stages."""
        return len(self.stages)

    def links(self, position: int) -> bool:
        """Whether the next stage takes the result of this one as it rests."""
        return position + 1 < self.count and self.stages[position + 1].link >= 0

    def support_bytes(self, row_bytes: Ints) -> Ints:
        """Bytes of support with so many bytes of rows: its need, or the reservation."""
        return np.maximum(
            self.machine.memory.support_bytes, self.code_bytes + row_bytes
        )


def make_problem(
    whole: Program,
    machine: Machine,
    tables: list[list[Candidates]],
    chunking: Chunking = WHOLE,
) -> Problem:
    """Price every candidate of every group."""
    program = chunked(whole, chunking)
    known: list[Known] = []
    stages = tuple(
        _stage(program, machine, position, table, chunking, known)
        for position, table in enumerate(tables)
    )
    count = chunking.count
    code = _code_bytes(program, machine)
    interface = _interface_bytes(program, machine)
    return Problem(program, machine, stages, code, interface, count)


def _stage(
    program: Program,
    machine: Machine,
    position: int,
    table: list[Candidates],
    chunking: Chunking,
    known: list[Known],
) -> Stage:
    group = program.groups[position]
    linked = position > 0 and program.is_link(position - 1)
    before = program.groups[position - 1].result.value if linked else -1
    link = -1
    linear: dict[int, Spec] = {}
    for number, operand in enumerate(group.operands):
        value = program.values[operand.value]
        if operand.value == before:
            link = number
        elif not value.is_stored:
            shape = group.extents(operand.axes) or (1,)
            width = value.form.format.bytes
            tiles = machine.tiles
            if chunking.leads(group, position, operand):
                tiles = _chunk_tiles(program, machine, operand.value, shape)
            spec = Spec.of_linear(shape, width, tiles)
            linear[number] = spec.with_(part=chunking.has(position, operand))
    # where there are three chunks, one has arguments and results whole beside it
    chunks = chunking.count > 1
    dying = tuple(
        number
        for number in linear
        if program.last_use(group.operands[number].value) == position
        and chunking.count < 3
    )
    settled = -1
    if not program.is_link(position):
        settled = machine.tiles
        if chunking.leads(group, position, group.result):
            shape = group.extents(group.result.axes)
            settled = _chunk_tiles(program, machine, group.result.value, shape)
    key = (*program.signature(position), settled, chunks)
    variants = _known_variants(known, key, table)
    if variants is None:
        variants = _priced(program, group, machine, table, settled, chunks)
        known.append((key, variants))
    consumed = {group.operands[number].value for number in dying}
    size = partial(_linear_bytes, program, machine)
    alive = [value for value in _alive(program, position) if value not in consumed]
    others = sum(map(size, alive))
    if chunks:
        inputs = sum(map(size, _read_inputs(program)))
        results = sum(map(size, _made_outputs(program)))
        # the first chunk has no results yet, the last no arguments that are not read
        others = max(inputs, others + results)
        others = inputs + results if chunking.count > 2 else others
    return Stage(group, variants, link, linear, dying, others)


def _known_variants(
    known: list[Known], key: tuple[object, ...], table: list[Candidates]
) -> tuple[Priced, ...] | None:
    """The priced variants of a group like this one with these candidates."""
    for other, variants in known:
        if other == key and len(variants) == len(table):
            pairs = [
                (one.table, some) for one, some in zip(variants, table, strict=True)
            ]
            if all(
                one.variant == some.variant and np.array_equal(one.parts, some.parts)
                for one, some in pairs
            ):
                return variants
    return None


def _priced(
    program: Program,
    group: Group,
    machine: Machine,
    tables: list[Candidates],
    settled: int,
    chunks: bool,
) -> tuple[Priced, ...]:
    """The prices of all variants. `settled`: tiles of the linear ownership that the
    result comes to, -1: none."""

    def arrived(variant: Variant, parts: Ints) -> Arrived:
        plain = replace(variant, rest=BLOCK, order=ROW_MAJOR)
        table = Candidates(plain, parts)
        entry = entry_cost(program, group, machine, table)
        cost = group_cost(program, group, machine, table, entry)
        more = max(operand.steps for operand in cost.operands) - 1
        return Arrived(cost, more * machine.code.step_bytes)

    def left(variant: Variant, parts: Ints) -> Left:
        stored = (STORED,) * len(group.operands)
        table = Candidates(replace(variant, paths=stored, steps=1), parts)
        cost = group_cost(program, group, machine, table)
        settling = _settling(machine, cost, settled, chunks)
        return Left(cost, settling, cost.step_bytes(machine))

    grids = Grids.of(tables)
    ways = [(table.variant.paths, table.variant.steps) for table in tables]
    rests = [(table.variant.rest, table.variant.order) for table in tables]
    before = _shared(grids, tables, ways, arrived)
    behind = _shared(grids, tables, rests, left)
    return tuple(
        Priced(table, *one, *other)
        for table, one, other in zip(tables, before, behind, strict=True)
    )


T = TypeVar("T")


def _shared(
    grids: Grids,
    tables: list[Candidates],
    keys: Sequence[object],
    price: Callable[[Variant, Ints], T],
) -> list[tuple[T, Ints]]:
    """For each table what those of its key share, priced on all their grids, and the
    rows of it that are the table's."""
    alike: dict[object, list[int]] = {}
    for at, key in enumerate(keys):
        alike.setdefault(key, []).append(at)
    found: dict[int, tuple[T, Ints]] = {}
    for some in alike.values():
        used, places = grids.among(some)
        one = price(tables[some[0]].variant, grids.parts[used])
        found |= {at: (one, place) for at, place in zip(some, places, strict=True)}
    return [found[at] for at in range(len(tables))]


def _settling(
    machine: Machine, cost: GroupCost, settled: int, chunks: bool
) -> Settling:
    """Bringing results to the linear ownership of so many tiles; -1: they stay."""
    zero = 0 * cost.compute
    if settled < 0:
        return Settling(zero, zero, zero, zero)
    linear = Spec.of_linear(cost.rest.shape, cost.rest.element_bytes, settled)
    linear = linear.with_(part=chunks)
    moved = movement(machine, cost.rest, linear, shared=False)
    # where there are chunks the whole result is counted as there all along
    moving = (moved.exchange > 0) & (not chunks)
    live = cost.rest_bytes + sized(linear.tile_bytes) * moving
    live = live + sized(moved.staging_bytes)
    rows = moved.row_bytes + moved.steps * machine.code.step_bytes
    return Settling(moved.exchange + zero, moved.copy + zero, rows + zero, live)


def _alive(program: Program, position: int) -> list[int]:
    """Values in linear ownership that are alive while the group runs."""
    alive: list[int] = []
    for index, value in enumerate(program.values):
        if value.is_stored or program.last_use(index) < position:
            continue
        if value.kind == "input" and not program.users(index):
            continue  # counted with the interface
        made = _made_by(program, index)
        if value.kind == "input" or (
            0 <= made < position and not program.is_link(made)
        ):
            alive.append(index)
    return alive


def beside_chunks(program: Program, machine: Machine, chunking: Chunking) -> int:
    """Bytes of whole arguments and results that lie beside some chunk all along."""
    size = partial(_linear_bytes, program, machine)
    inputs = sum(map(size, _read_inputs(program)))
    results = sum(map(size, _made_outputs(program)))
    if chunking.count == 1:
        return 0
    return inputs + results if chunking.count > 2 else max(inputs, results)


def _read_inputs(program: Program) -> list[int]:
    """Arguments, no parameters, that groups read."""
    return [
        index
        for index, value in enumerate(program.values)
        if value.kind == "input" and program.users(index)
    ]


def _made_outputs(program: Program) -> list[int]:
    """Results that groups make."""
    return [index for index in set(program.outputs) if _made_by(program, index) >= 0]


def _chunk_tiles(
    program: Program, machine: Machine, value: int, shape: tuple[int, ...]
) -> int:
    """Tiles on which a chunk of a value in linear ownership lies."""
    form = program.values[value].form
    spec = Spec.of_linear((form.elements,), form.format.bytes, machine.tiles)
    return linear_tiles(prod(shape) * form.format.bytes, int(spec.tile_bytes[0]))


def _interface_bytes(program: Program, machine: Machine) -> int:
    """Bytes of arguments that no group reads, and of stored values that are returned:
    these lie in linear ownership besides where groups read them."""
    return sum(
        _linear_bytes(program, machine, index)
        for index, value in enumerate(program.values)
        if (value.is_stored and index in program.outputs)
        or (value.kind in ("input", "parameter") and not program.users(index))
    )


def _made_by(program: Program, value: int) -> int:
    for position, group in enumerate(program.groups):
        if group.result.value == value:
            return position
    return -1


def _linear_bytes(program: Program, machine: Machine, value: int) -> int:
    form = program.values[value].form
    spec = Spec.of_linear((form.elements,), form.format.bytes, machine.tiles)
    return int(sized(spec.tile_bytes)[0])


def _code_bytes(program: Program, machine: Machine) -> int:
    """Code of every codelet that any plan may use but the one that packs, and
    profiling: an upper bound that all plans share. Their steps count as rows do."""
    families = {group.family for group in program.groups} | {"sum", "copy"}
    chains = {group.stages for group in program.groups if group.family == "map"}
    chains |= {tail_stages(group) for group in program.groups if tail_stages(group)}
    code = code_bytes(machine, families - {"map"}, len(chains), 0)
    return code + machine.code.profile_bytes
