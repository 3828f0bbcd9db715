"""The length of a phase from its programs alone is that of all it does."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from test_rows import random_phase

from tiledialect import rows as r
from tiledialect.machine import Machine
from tiledialect.runtime.package import Rows
from tiledialect.runtime.rows_decoder import RowsError, decode, length
from tiledialect.runtime.timing import phase_length

MINI16 = Machine.load("mini16")
PAIRED = replace(MINI16.exchange, pair_tiles=2)


def rows_of(seed: int) -> tuple[r.Receives, r.Rows, Rows]:
    """A random phase: what its tiles hear, its rows, and those as a package has
    them."""
    sent, received = random_phase(Random(seed))
    made = r.encode(sent, received)
    fields = (made.tiles, made.send, made.receive, made.receive_start, made.start)
    return received, made, Rows(*fields, made.words)


@pytest.mark.parametrize("seed", range(80))
def test_the_length_is_that_of_the_events(seed: int) -> None:
    received, made, table = rows_of(seed)
    double = received.double
    items = received.words if double is None else received.words >> double
    arrived = int((received.cycle + items).max(initial=0))
    controls = int(r.control_words(made, PAIRED).max(initial=0))
    found = length(table, PAIRED, 16)
    assert found == max(arrived, controls)
    assert found == phase_length(decode(table, PAIRED, 16))


@pytest.mark.parametrize("seed", range(20))
def test_a_word_that_nobody_knows_is_refused(seed: int) -> None:
    _, _, table = rows_of(seed)
    if not table.words.size:
        return
    words = table.words.copy()
    words[seed % words.size] &= np.uint32((1 << 29) - 1)
    with pytest.raises(RowsError, match="unknown operation"):
        length(replace(table, words=words), PAIRED, 16)
