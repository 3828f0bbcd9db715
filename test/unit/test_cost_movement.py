"""The closed forms of relayouts are bounds of what the tables move, and near them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from plan_hops import Move, choose, control_bytes, moves, received_at_best
from planning_programs import in_pairs, random_program, tables
from tile_programs import parse

from tiledialect.candidates import Candidates
from tiledialect.machine import Machine
from tiledialect.program import Program, read_program
from tiledialect.relayout import Transfers
from tiledialect.rows import Receives, Sends, control_words, encode
from tiledialect.schedule.solve import schedule
from tiledialect.schedule.table import unicasts

EXAMPLES = Path(__file__).parents[2] / "examples"
WORD = 4


def fullest(machine: Machine, move: Move) -> dict[str, tuple[int, int]]:
    """What the table moves on its fullest tile, and the closed form's figure."""
    table, counted = move.table, move.counted
    received, sent = table.words_in(machine.tiles), table.words_out(machine.tiles)
    into, out = table.messages_in(machine.tiles), table.messages_out(machine.tiles)
    staged = int(move.priced.staging_bytes[0]) > 0
    words_in = -(-int(counted.bytes_in[0]) // WORD)
    words_out = -(-int(counted.bytes_out[0]) // WORD)
    if staged:
        words_in += int(counted.messages_in[0])
        words_out += int(counted.messages_out[0])
    bundled = move.kind == "stack"
    controls = control_bytes(machine, table, bundled=bundled)
    return {
        "words in": (int(received.max()), words_in),
        "words out": (int(sent.max()), words_out),
        "messages in": (int(into.max()), int(counted.messages_in[0])),
        "messages out": (int(out.max()), int(counted.messages_out[0])),
        "row bytes": (int(controls.max()), int(move.priced.row_bytes[0])),
        "staging": (table.staging_bytes, int(move.priced.staging_bytes[0])),
    }


def hold(machine: Machine, move: Move) -> dict[str, tuple[int, int]]:
    """Each figure of a move keeps its bound; the figures."""
    figures = fullest(machine, move)
    for name, (exact, bound) in figures.items():
        assert exact <= bound, f"{move.kind}: {name} {exact}, the bound is {bound}"
    if move.steps is not None:
        assert move.steps[0] <= move.steps[1]
    if move.table.words_in(machine.tiles).any():
        length = int(received_at_best(machine, move.table).max())
        assert int(move.priced.exchange[0]) >= length + machine.exchange.phase_cycles
    return figures


@pytest.mark.parametrize("seed", range(300))
def test_counts_of_small_programs_are_bounds(seed: int) -> None:
    rng = random.Random(seed)
    machine = Machine.load(rng.choice(("mini4", "mini16")))
    if seed % 2:
        machine = in_pairs(machine, 4)
    program = random_program(rng, machine, 4)
    for move in moves(
        program, machine, choose(program, machine, rng, tables(program, machine))
    ):
        hold(machine, move)


def scheduled_bytes(machine: Machine, table: Transfers) -> int:
    """Bytes of control words of the fullest tile, once messages have their cycles."""
    target = table.set_tiles[table.set_start[table.destinations]]
    latency = np.array([machine.latency(tile) for tile in range(machine.tiles)])
    messages = unicasts(machine.tiles, table.source, target, table.words)
    found = schedule(messages, latency)
    to, first = found.messages.targets(), found.offset * WORD
    read = table.source_offset[found.origin] + first
    written = table.offset[found.origin] + first
    words = found.messages.words
    rows = encode(
        Sends(found.messages.source, found.start, read, words),
        Receives(to, found.start + latency[to], found.messages.source, written, words),
        machine.exchange.send_chunk_words,
    )
    most = int(control_words(rows, machine.exchange).max(initial=0))
    return most * machine.exchange.control_word_bytes


def test_stacks_are_scheduled_with_as_few_pauses_as_priced() -> None:
    """All that a tile sends to another goes out in one go, whatever the method."""
    seen = 0
    for seed in range(170):
        rng = random.Random(seed)
        machine = Machine.load(rng.choice(("mini4", "mini16")))
        program = random_program(rng, machine, 4)
        chosen = choose(program, machine, rng, tables(program, machine))
        for move in moves(program, machine, chosen):
            if move.kind == "stack" and not move.table.to_staging.any():
                seen += 1
                bound = int(move.priced.row_bytes[0])
                assert scheduled_bytes(machine, move.table) <= bound, seed
    assert seen >= 40


@cache
def workload(name: str) -> tuple[Machine, Program, list[list[Candidates]]]:
    machine = Machine.load("ipu-c600")
    program = read_program(parse((EXAMPLES / f"{name}.mlir").read_text()), machine)
    return machine, program, tables(program, machine)


@pytest.mark.parametrize(
    ("name", "seeds"),
    [("siglip_mlp_f8_b1", range(6)), ("siglip_mlp_f16_b2", (2, 4, 5))],
)
def test_counts_of_the_workload_are_near_bounds(
    name: str, seeds: Sequence[int]
) -> None:
    """In the median words are exact and control words at most 2.5 times the exact ones,
    of all steps of an operand 3.5 times; nothing is staged: no run ends in a word."""
    machine, program, candidates = workload(name)
    words: dict[str, list[float]] = defaultdict(list)
    rows: dict[str, list[float]] = defaultdict(list)
    for seed in seeds:
        chosen = choose(program, machine, random.Random(seed), candidates)
        for move in moves(program, machine, chosen):
            figures = hold(machine, move)
            assert figures["staging"] == (0, 0)
            exact, bound = figures["words in"]
            words[move.kind].append(bound / max(exact, 1))
            if move.kind != "window" or move.steps is not None:
                exact, bound = move.steps or figures["row bytes"]
                rows[move.kind].append(bound / max(exact, 1))
    assert set(words) >= {"relay", "window", "stack", "settle", "block"}
    for kind, ratios in words.items():
        assert np.median(ratios) == 1, kind
        assert np.median(rows[kind]) <= (3.5 if kind == "window" else 2.5), kind
