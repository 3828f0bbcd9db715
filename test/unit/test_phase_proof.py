"""Claims about the proof of a phase: mutated rows are refused, or do the same."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from exchange_phases import MINI4, MINI16, Phase, random_phase
from phase_builder import Illegal, Table, run_rows

# Mutations: refused, or proved equivalent by running the rows a word at a time


def is_right(p: Phase) -> bool:
    """Whether the rows do what the moves ask for, by running them."""
    base = int(p.window.bases[1])
    want: dict[tuple[int, int], tuple[int, int]] = {}
    table = p.moves[0].transfers
    for i in range(len(table.source)):
        number = int(table.destinations[i])
        for tile in table.set_tiles[
            table.set_start[number] : table.set_start[number + 1]
        ].tolist():
            for j in range(int(table.words[i])):
                place = (tile, base + int(table.offset[i]) + 4 * j)
                source = int(table.source[i])
                want[place] = (source, int(table.source_offset[i]) + 4 * j)
    try:
        outcome = run_rows(p.machine, p.table)
    except Illegal:
        return False
    row_bytes = outcome.controls * p.machine.exchange.control_word_bytes
    return (
        outcome.arrived == want
        and outcome.length == p.claims.length
        and row_bytes == p.claims.row_bytes
        and p.claims.bound_control <= outcome.controls
        and outcome.sends >= p.claims.messages
    )


def drop_word(rng: random.Random, table: Table) -> None:
    at = rng.randrange(len(table.words))
    table.words = np.delete(table.words, at)
    table.start[np.searchsorted(table.start, at, side="right") :] -= 1


def repeat_word(rng: random.Random, table: Table) -> None:
    at = rng.randrange(len(table.words))
    table.words = np.insert(table.words, at, table.words[at])
    table.start[np.searchsorted(table.start, at, side="right") :] += 1


def swap_words(rng: random.Random, table: Table) -> None:
    at = rng.randrange(len(table.words) - 1)
    table.words[[at, at + 1]] = table.words[[at + 1, at]]


def flip_bit(rng: random.Random, table: Table) -> None:
    at = rng.randrange(len(table.words))
    table.words[at] ^= np.uint32(1 << rng.randrange(32))


def bump_field(rng: random.Random, table: Table) -> None:
    at = rng.randrange(len(table.words))
    shift = rng.choice([0, 0, 10, 18, 19])
    changed = int(table.words[at]) + rng.choice([1, -1]) * (1 << shift)
    table.words[at] = np.uint32(changed & 0xFFFFFFFF)


def shift_clock(rng: random.Random, table: Table) -> None:
    at = rng.randrange(len(table.tiles))
    table.receive_start[at] += rng.choice([-2, -1, 1, 2])


def swap_programs(rng: random.Random, table: Table) -> None:
    one, other = rng.randrange(len(table.tiles)), rng.randrange(len(table.tiles))
    numbers = rng.choice([table.send, table.receive])
    numbers[[one, other]] = numbers[[other, one]]


def silence_tile(rng: random.Random, table: Table) -> None:
    numbers = rng.choice([table.send, table.receive])
    numbers[rng.randrange(len(table.tiles))] = -1


def move_tile(rng: random.Random, table: Table) -> None:
    at = rng.randrange(len(table.tiles))
    table.tiles[at] += rng.choice([-1, 1])


MUTATIONS: list[Callable[[random.Random, Table], None]] = [
    drop_word,
    repeat_word,
    swap_words,
    flip_bit,
    bump_field,
    shift_clock,
    swap_programs,
    silence_tile,
    move_tile,
]


@pytest.mark.parametrize("mutate", MUTATIONS)
def test_mutated_rows_are_refused_or_equivalent(
    mutate: Callable[[random.Random, Table], None],
) -> None:
    """100 mutations of each kind: accepted only where the rows still do the same.

    What is refused beyond that is only a program that no tile runs.
    """
    rng = random.Random(7)
    refused = 0
    for _ in range(100):
        p = random_phase(rng, rng.choice([MINI4, MINI16]))
        if len(p.table.words) < 2:
            continue
        p.table = p.table.copy()
        mutate(rng, p.table)
        used = {*p.table.send.tolist(), *p.table.receive.tolist()} - {-1}
        if used != set(range(len(p.table.start) - 1)):
            assert not p.accepts()
            refused += 1
            continue
        assert p.accepts() == is_right(p)
        refused += not p.accepts()
    assert refused > 50
