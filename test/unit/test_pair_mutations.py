"""Doubled phases with one fault anywhere: refused, or they still do the same.

What they do is found by running their rows an item at a time (`paired_rows`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from paired_phases import X_BYTES, Bytes, Case, X, Y, modelled, random_case, simulate
from paired_rows import PAIRED, Illegal, Outcome, run_rows, send

from tiledialect.checkers.disproof import Disproof
from tiledialect.runtime.exchange import ExchangeError
from tiledialect.runtime.package import Rows
from tiledialect.runtime.rows_decoder import RowsError

Mutation = Callable[[random.Random, Rows], Rows]


def with_word(table: Rows, at: int, word: int) -> Rows:
    words = table.words.copy()
    words[at] = word & 0xFFFFFFFF
    return replace(table, words=words)


def positions(table: Rows, *opcodes: int) -> list[int]:
    return np.flatnonzero(np.isin(table.words >> 29, opcodes)).tolist()


def drop_word(rng: random.Random, table: Rows) -> Rows:
    at = rng.randrange(len(table.words))
    start = table.start.copy()
    start[np.searchsorted(start, at, side="right") :] -= 1
    return replace(table, words=np.delete(table.words, at), start=start)


def drop_doubled_word(rng: random.Random, table: Rows) -> Rows:
    """A SEND_PAIR or RECEIVE_PAIR."""
    at = rng.choice(positions(table, 6, 7))
    start = table.start.copy()
    start[np.searchsorted(start, at, side="right") :] -= 1
    return replace(table, words=np.delete(table.words, at), start=start)


def shift_receives(rng: random.Random, table: Rows) -> Rows:
    """A tile's receives a cycle early or late."""
    at = rng.choice(np.flatnonzero(table.receive >= 0).tolist())
    start = table.receive_start.copy()
    start[at] += rng.choice([-1, 1])
    return replace(table, receive_start=start)


def shift_sends(rng: random.Random, table: Rows) -> Rows:
    """A tile's sends a cycle late."""
    at = rng.choice(np.flatnonzero(table.send >= 0).tolist())
    first = int(table.start[table.send[at]])
    start = table.start.copy()
    start[int(table.send[at]) + 1 :] += 1
    words = np.insert(table.words, first, np.uint32(2 << 29 | 1))
    return replace(table, words=words, start=start)


def swap_source(rng: random.Random, table: Rows) -> Rows:
    """Another tile of the machine, most often one that takes part."""
    at = rng.choice(positions(table, 3, 7))
    word = int(table.words[at])
    mine = word >> 18 & 2047
    other = rng.choice([t for t in range(16) if t != mine])
    return with_word(table, at, word & ~(2047 << 18) | other << 18)


def odd_address(rng: random.Random, table: Rows) -> Rows:
    at = rng.choice(positions(table, 4, 6))
    return with_word(table, at, int(table.words[at]) + rng.choice([-1, 1]))


def change_width(rng: random.Random, table: Rows) -> Rows:
    at = rng.choice(positions(table, 1, 3, 6, 7))
    opcode = {1: 6, 6: 1, 3: 7, 7: 3}[int(table.words[at]) >> 29]
    return with_word(table, at, int(table.words[at]) & (1 << 29) - 1 | opcode << 29)


def partner_sends(rng: random.Random, table: Rows) -> Rows:
    """A partner that sends nothing puts out a word while its lane is lent."""
    outcome = run_rows(PAIRED, table)
    lent = sorted({(t, c) for (t, c), (_, size) in outcome.out.items() if size == 2})
    tile, cycle = rng.choice(lent)
    tile ^= 1
    address = rng.choice([X, X + 64])
    program = [2 << 29 | cycle, send(address)] if cycle else [send(address)]
    present = np.flatnonzero(table.tiles == tile)
    grown = replace(
        table,
        start=np.append(table.start, table.start[-1] + len(program)),
        words=np.append(table.words, np.array(program, np.uint32)),
    )
    number = len(table.start) - 1
    if len(present):
        sends = table.send.copy()
        sends[present[0]] = number
        return replace(grown, send=sends)
    at = int(np.searchsorted(table.tiles, tile))
    return replace(
        grown,
        tiles=np.insert(table.tiles, at, tile),
        send=np.insert(table.send, at, number),
        receive=np.insert(table.receive, at, -1),
        receive_start=np.insert(table.receive_start, at, 0),
    )


def flip_bit(rng: random.Random, table: Rows) -> Rows:
    at = rng.randrange(len(table.words))
    return with_word(table, at, int(table.words[at]) ^ 1 << rng.randrange(32))


def bump_field(rng: random.Random, table: Rows) -> Rows:
    at = rng.randrange(len(table.words))
    step = rng.choice([1, -1]) << rng.choice([0, 0, 10, 18, 19])
    return with_word(table, at, int(table.words[at]) + step)


ALWAYS_WRONG: list[Mutation] = [
    drop_doubled_word,
    shift_receives,
    shift_sends,
    swap_source,
    odd_address,
    change_width,
    partner_sends,
]
ANY: list[Mutation] = [drop_word, flip_bit, bump_field]


def doubled_case(rng: random.Random) -> Case:
    while True:
        case = random_case(rng)
        if any(part.double for part in case.parts):
            return case


def is_right(case: Case, table: Rows, true: Outcome) -> bool:
    """Whether rows do what the true ones do, in the same time and as many words."""
    try:
        found = run_rows(case.machine, table)
    except Illegal:
        return False
    return (
        found.arrived == true.arrived
        and found.length == true.length
        and max(found.controls.values()) == max(true.controls.values())
    )


def accepts(case: Case, table: Rows, true: Outcome) -> bool:
    try:
        case.prove(table, true)
    except Disproof:
        return False
    return True


@pytest.mark.parametrize("mutate", [*ALWAYS_WRONG, *ANY])
def test_the_checker_accepts_what_still_does_the_same(mutate: Mutation) -> None:
    rng = random.Random(5)
    refused = 0
    for _ in range(30):
        case = doubled_case(rng)
        table = case.window_rows()
        true = run_rows(case.machine, table)
        assert accepts(case, table, true)
        changed = mutate(rng, table)
        accepted = accepts(case, changed, true)
        assert accepted == is_right(case, changed, true)
        assert not accepted or mutate in ANY
        refused += not accepted
    assert refused > 20


def element(address: int) -> int:
    return address // 4096 if address < 24576 else 8192 + (address - 24576) // 8192


def slow_memory(table: Rows, before: Bytes) -> Bytes | None:
    """Memory after these rows, item by item; None if they cannot be run."""
    words = table.words.copy()  # the simulator does not look at unused bits
    words[np.isin(words >> 29, (1, 6))] &= ~np.uint32(15 << 25)
    words[words >> 29 == 4] &= ~np.uint32(1023 << 19)
    try:
        found = run_rows(PAIRED, replace(table, words=words))
    except Illegal:
        return None
    if any(not X <= a <= 65536 - 4 for _, a in found.arrived):
        return None
    after = before.copy()
    for (tile, cycle), (address, size) in found.out.items():
        _, into, _ = found.taken.get((tile, cycle), (0, -1, 0))
        if into >= 0 and element(address) == element(into):
            return None
        for place in range(address, address + 4 * size, 4):
            if not X <= place < X + X_BYTES or (tile, place) in found.arrived:
                return None
    for (tile, address), (source, origin) in found.arrived.items():
        after[tile, address : address + 4] = before[source, origin : origin + 4]
    return after


@pytest.mark.parametrize("mutate", [*ALWAYS_WRONG, *ANY])
def test_the_simulator_does_what_an_item_by_item_machine_does(mutate: Mutation) -> None:
    rng = random.Random(6)
    wrong = 0
    for _ in range(30):
        case = doubled_case(rng)
        table = case.rows(X, Y)
        before, after = simulate(PAIRED, table)
        right = modelled(case.asked, before)
        assert np.array_equal(after, right)
        changed = mutate(rng, table)
        expected = slow_memory(changed, before)
        try:
            _, found = simulate(PAIRED, changed)
        except (ExchangeError, RowsError):
            assert expected is None
            wrong += 1
            continue
        assert expected is not None
        assert np.array_equal(found, expected)
        # what runs all the same has put other words somewhere, and a check sees that
        assert mutate in ANY or not np.array_equal(found, right)
        wrong += not np.array_equal(found, right)
    assert wrong > 20
