"""The relayouts of random candidates, as layouts and as what the cost model sees."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tiledialect.candidates import (
    DIRECT_STEPS,
    STORED,
    STREAM,
    Candidates,
    splittable_reduction,
)
from tiledialect.cost.group import GroupCost, group_cost
from tiledialect.cost.messages import Counts, counts
from tiledialect.cost.movement import Movement, movement, stack_counts, stacked
from tiledialect.cost.operand import OperandCost, evened, first_hop, later_hops
from tiledialect.cost.spec import Spec
from tiledialect.group_layouts import (
    GroupLayouts,
    OperandLayouts,
    group_layouts,
    linear,
    moved_padding,
)
from tiledialect.layout import Layout
from tiledialect.machine import Machine
from tiledialect.program import Group, Program
from tiledialect.relayout import Transfers, relayout, stack_partials
from tiledialect.rows import RECEIVE_WORDS

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Chosen:
    """One candidate of each group: its layouts and its costs."""

    table: Candidates
    layouts: GroupLayouts
    cost: GroupCost


@dataclass(frozen=True)
class Move:
    """A relayout twice: the table's, and the closed form's; of the first of
    several `steps` also the bytes of control words of all."""

    kind: str
    table: Transfers
    counted: Counts
    priced: Movement
    steps: tuple[int, int] | None = None


def all_steps(
    machine: Machine, move: list[Move], operand: OperandCost, source: Spec
) -> tuple[int, int]:
    """Bytes of control words of an operand's windows on the fullest tile, and of its
    steps, by tables and by closed form."""
    exact = np.sum([control_bytes(machine, step.table) for step in move], axis=0)
    hop = later_hops(machine, operand)
    if operand.path == DIRECT_STEPS:
        hop = first_hop(machine, operand, source)
    steps = sum(len(step.table.source) > 0 for step in move) * (not operand.joined)
    return int(np.max(exact)) + steps * machine.code.step_bytes, int(hop.row_bytes[0])


def control_bytes(machine: Machine, table: Transfers, *, bundled: bool = False) -> Ints:
    """Bytes of control words that each tile issues for a relayout that pauses before
    every message; `bundled`: before the first one only of those to one tile."""
    into, out = table.messages_in(machine.tiles), table.messages_out(machine.tiles)
    x = machine.exchange
    pauses = out
    if bundled:
        pairs = np.unique(np.stack([table.source, table.destinations]), axis=1)
        pauses = np.bincount(pairs[0], minlength=machine.tiles)
    chunks = np.zeros(machine.tiles, np.int64)
    np.add.at(chunks, table.source, -(-table.words // x.send_chunk_words))
    heard = np.zeros_like(table.set_start[1:])
    np.add.at(heard, table.destinations, -(-table.words // RECEIVE_WORDS))
    sources = np.zeros(machine.tiles, np.int64)
    np.add.at(sources, table.set_tiles, np.repeat(heard, np.diff(table.set_start)))
    controls = sources * x.source_controls + into * x.pointer_controls
    controls += chunks * x.send_controls + pauses * x.gap_controls
    taking = (into > 0) | (out > 0)
    return (controls + x.phase_controls * taking) * x.control_word_bytes


def choose(
    program: Program,
    machine: Machine,
    rng: random.Random,
    tables: list[list[Candidates]],
) -> list[Chosen]:
    """A random candidate of each group."""
    found: list[Chosen] = []
    for group, table in zip(program.groups, tables, strict=True):
        some = rng.choice(table)
        some = some.take(np.array([rng.randrange(len(some))]))
        parts = tuple(int(p) for p in some.parts[0])
        layouts = group_layouts(program, group, machine, some.variant, parts)
        found.append(Chosen(some, layouts, group_cost(program, group, machine, some)))
    return found


def moves(program: Program, machine: Machine, chosen: list[Chosen]) -> Iterator[Move]:
    """All relayouts of a plan, but those that do not move."""
    for position, group in enumerate(program.groups):
        here = chosen[position]
        for number, cost in enumerate(here.cost.operands):
            if cost.path == STORED:
                continue
            if (
                position
                and program.is_link(position - 1)
                and (
                    group.operands[number].value
                    == program.groups[position - 1].result.value
                )
            ):
                before = chosen[position - 1]
                source, spec = before.layouts.rest, before.cost.rest
            else:
                form = program.values[group.operands[number].value].form
                source = linear(form.shape, form.format.bytes, machine)
                extents = group.extents(group.operands[number].axes) or (1,)
                spec = Spec.of_linear(extents, form.format.bytes, machine.tiles)
            layouts = here.layouts.operands[number]

            padded = partial(_padded, program, group, machine, number)
            yield from _operand(machine, layouts, cost, source, spec, padded)
        if here.cost.splits:
            yield _stack(program, machine, position, here)
        if not program.is_link(position):
            form = program.values[group.result.value].form
            target = linear(form.shape, form.format.bytes, machine)
            rest = here.cost.rest
            spec = Spec.of_linear(rest.shape, rest.element_bytes, machine.tiles)
            if here.layouts.rest != target:
                yield _move(
                    machine, "settle", here.layouts.rest, target, rest, spec, False
                )


def _operand(
    machine: Machine,
    layouts: OperandLayouts,
    cost: OperandCost,
    source: Layout,
    spec: Spec,
    padded: Callable[[Layout, Layout], tuple[Layout, Layout]],
) -> Iterator[Move]:
    shared = bool(cost.users[0] > 1)
    if layouts.relay is not None:
        if cost.path != STREAM:
            sides = padded(source, layouts.relay)
            yield _move(machine, "relay", *sides, spec, cost.relay, False)
        source, spec = layouts.relay, cost.relay
    if layouts.gathered is not None:
        yield _move(
            machine, "gather", source, layouts.gathered, spec, cost.gathered, shared
        )
    elif layouts.windows:
        steps = [
            _move(machine, "window", *padded(source, window), spec, cost.block, shared)
            for window in layouts.windows
        ]
        exact, bound = all_steps(machine, steps, cost, spec)
        yield replace(steps[0], steps=(exact, bound))
        yield from steps[1:]
    elif source != layouts.block:
        sides = padded(source, layouts.block)
        yield _move(machine, "block", *sides, spec, cost.block, shared)


def _move(
    machine: Machine,
    kind: str,
    source: Layout,
    target: Layout,
    spec: Spec,
    to: Spec,
    shared: bool,
) -> Move:
    spec, to = as_moved(source, spec, to)
    priced = movement(machine, spec, to, shared=shared)
    return Move(kind, relayout(source, target), counts(spec, to), priced)


def _padded(
    program: Program,
    group: Group,
    machine: Machine,
    number: int,
    source: Layout,
    target: Layout,
) -> tuple[Layout, Layout]:
    """Source and target of an operand's relayout, with the padding that moves."""
    some = moved_padding(program, group, machine, number, source, target)
    if some is None:
        return source, target
    return source.padded(*some), target.padded(*some)


def as_moved(source: Layout, spec: Spec, to: Spec) -> tuple[Spec, Spec]:
    """The specs of a relayout whose source moves its padding, or not."""
    if source.packed or source.shape == spec.shape:
        return spec, to
    return evened(spec), evened(to)


def _stack(program: Program, machine: Machine, position: int, here: Chosen) -> Move:
    group, layouts, cost = program.groups[position], here.layouts, here.cost
    table, _ = stack_partials(layouts.computed, layouts.summed)
    partials = here.table.parts[:, splittable_reduction(group)]
    source, target = stack_specs(here)
    return Move(
        "stack",
        table,
        stack_counts(source, target, partials, cost.own),
        stacked(machine, source, target, partials, cost.own),
    )


def stack_specs(here: Chosen) -> tuple[Spec, Spec]:
    """What a candidate's partial and summed results are to the cost model."""
    return here.cost.computed, here.cost.summed


def received_at_best(machine: Machine, table: Transfers) -> Ints:
    """Cycles in which each tile receives if all words go doubled that may: of runs of
    whole items, long enough, to a pair of which neither tile nor partner sends."""
    x, tiles = machine.exchange, machine.tiles
    fits = (table.words % 2 == 0) & (table.words // 2 >= x.pair_least_items)
    fits &= ((table.source_offset | table.offset) % 8 == 0) & (x.pair_tiles == 2)
    key, case_of = np.unique(
        np.stack([table.destinations, table.source]), axis=1, return_inverse=True
    )
    words, long = np.zeros((2, key.shape[1]), dtype=np.int64)
    np.add.at(words, case_of, table.words)
    np.add.at(long, case_of, table.words * fits)
    sizes = np.diff(table.set_start)
    number = np.repeat(np.arange(len(sizes)), sizes) * (tiles + 2)
    in_pair = np.isin(number + (table.set_tiles ^ 1), number + table.set_tiles)
    case, entry = _entries(sizes[key[0]], table.set_start[key[0]])
    some = table.set_tiles[entry]
    twice = in_pair[entry] & (some // 2 != key[1][case] // 2)
    total = np.zeros(tiles, dtype=np.int64)
    np.add.at(total, some, words[case] - long[case] // 2 * twice)
    return total


def _entries(counts: Ints, first: Ints) -> tuple[Ints, Ints]:
    """For every row, `counts` entries from `first` on: the rows, and the entries."""
    row = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    return row, first[row] + within
