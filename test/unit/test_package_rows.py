"""Rows in a package: addresses lie apart from the control words, and are put back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from handmade import pause, phase, point, receive, rows, send, shift_package, wait
from numpy.typing import NDArray
from test_package_fuzz import resealed

from tiledialect.diagnostics import Refused
from tiledialect.runtime.package import ExchangeStep, Rows, from_bytes, to_bytes
from tiledialect.runtime.package_rows import TABLES, pack
from tiledialect.runtime.package_writer import MANIFEST, members_of

Ints = NDArray[np.int64]

HIGHEST = 4 * ((1 << 19) - 1)
"""The last address that a control word can name."""


def random_rows(random: Random) -> Rows:
    """Rows of the form of a phase; they need not fit together."""

    def address() -> int:
        return 4 * random.choice([0, 1, HIGHEST // 4, random.randrange(1 << 19)])

    def words(*kinds: Callable[[], int]) -> list[int]:
        return [random.choice(kinds)() for _ in range(random.randint(0, 6))]

    def sent() -> list[int]:
        return words(
            lambda: send(address(), random.randint(1, 64)),
            lambda: wait(random.randrange(1 << 29)),
        )

    def received() -> list[int]:
        return words(
            lambda: point(address()),
            lambda: receive(random.randrange(2048), random.randint(1, 1024), 255),
            lambda: pause(random.randrange(1 << 29)),
        )

    tiles = sorted(random.sample(range(2046), random.randint(0, 8)))
    return rows(
        {tile: sent() for tile in tiles},
        {tile: (random.randrange(1 << 20), received()) for tile in tiles},
    )


def test_random_rows_are_read_as_they_were_written() -> None:
    """2,000 phases, 100 a package."""
    random, distinct = Random(5), set[bytes]()
    for _ in range(20):
        made = [random_rows(random) for _ in range(100)]
        steps = tuple(phase(9, table) for table in made)
        read = from_bytes(to_bytes(replace(shift_package(), steps=steps))).steps
        for step, table in zip(read, made, strict=True):
            assert isinstance(step, ExchangeStep)
            for name, numbers in vars(table).items():
                assert np.array_equal(vars(step.rows)[name], numbers)
                assert vars(step.rows)[name].dtype == numbers.dtype
            distinct.add(table.words.tobytes())
    assert len(distinct) > 1500


def test_tables_by_hand() -> None:
    """Two tiles that send alike from other addresses have equal words."""
    program = [send(2176, 2), wait(7), send(2304)]
    other = [send(4096, 2), wait(7), send(HIGHEST)]
    made = rows(
        {3: program, 9: other},
        {9: (5, [point(8), receive(3, 2), pause(300), receive(3)])},
    )
    tables = pack(made)
    assert list(tables) == list(TABLES)
    assert {name: table.tolist() for name, table in tables.items()} == {
        "tiles": [3, 6],
        "send": [0, 1],
        "receive": [-1, 3],
        "receive_start": [0, 5],
        "lengths": [3, 3, 4],
        "words": [
            *(send(0, 2), wait(7), send(0)),
            *(send(0, 2), wait(7), send(0)),
            *(point(0), receive(3, 2), pause(300), receive(3)),
        ],
        "addresses": [544, 576, 1024, HIGHEST // 4, 2],
    }


def test_a_program_that_begins_late_cannot_be_written() -> None:
    made = rows({0: [send(0)]}, {})
    with pytest.raises(ValueError, match="must begin with the first word"):
        pack(replace(made, start=made.start + 1))


Change = Callable[[Ints], Ints]


def altered(name: str, change: Change) -> bytes:
    """A package, sealed again, with one table of its first phase changed."""
    made = shift_package()
    members = members_of(made)
    step = made.steps[0]
    assert isinstance(step, ExchangeStep)
    table = change(pack(step.rows)[name].astype(np.int64))
    manifest = json.loads(members[MANIFEST])
    entry = manifest["steps"][0]["rows"][name]
    entry["shape"] = [len(table)]
    members[entry["member"]] = table.astype(TABLES[name]).tobytes()
    return resealed(members, manifest)


def one_less(table: Ints) -> Ints:
    return table[1:]


def one_more(table: Ints) -> Ints:
    return np.append(table, 0)


def below(table: Ints) -> Ints:
    return table - 10_000


def beyond(table: Ints) -> Ints:
    return table + (1 << 19)


def with_address(table: Ints) -> Ints:
    return table | 1


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("addresses", one_less, "has 7 addresses for 8 words"),
        ("addresses", one_more, "has 9 addresses for 8 words"),
        ("addresses", below, "an address that is none up to"),
        ("addresses", beyond, "an address that is none up to"),
        ("words", with_address, "a word with an address of its own"),
    ],
)
def test_addresses_that_do_not_fit_are_refused(
    name: str, change: Change, message: str
) -> None:
    assert from_bytes(altered(name, np.copy)).steps
    with pytest.raises(Refused, match=rf"steps\[0\]\.rows .*{message}"):
        from_bytes(altered(name, change))


def test_no_alteration_of_a_table_is_a_fault() -> None:
    """A number of a table changed, 100 times: read, or refused in one line."""
    random, refused = Random(6), 0
    for _ in range(100):
        number = random.choice([0, 1, 1 << 19, (1 << 31) - 1])
        place = random.random()

        def change(table: Ints, number: int = number, place: float = place) -> Ints:
            table[int(place * len(table))] = number
            return table

        data = altered(random.choice(list(TABLES)), change)
        try:
            from_bytes(data)
        except Refused as error:
            refused += "\n" not in str(error)
    assert 10 < refused < 50
