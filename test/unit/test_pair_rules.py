"""Items of two words: what is right is accepted, each fault is refused by both readers.

Every case of a fault is right but for that one fault.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from exchange_phases import MINI16
from paired_phases import Case, X, Y, modelled, random_case, simulate, whole
from paired_rows import (
    LEAST,
    PAIRED,
    Illegal,
    Outcome,
    Part,
    encoded,
    receive_pair,
    run_rows,
    send_pair,
)

from tiledialect.checkers.disproof import Disproof
from tiledialect.checkers.row_reader import decode_rows, row_controls
from tiledialect.machine import Machine
from tiledialect.runtime.exchange import ExchangeError
from tiledialect.runtime.package import Rows
from tiledialect.runtime.rows_decoder import RowsError, decode
from tiledialect.runtime.timing import phase_length

LONG = {"max_message_words": 2048}


def accepted(case: Case) -> None:
    """Both readers take the phase, and the bytes are those of the transfers."""
    case.accept()
    before, after = simulate(case.machine, case.rows(X, Y))
    assert np.array_equal(after, modelled(case.asked, before))


def refused(case: Case, checker: str, simulator: str) -> None:
    with pytest.raises(Illegal):  # the case is wrong, whatever the readers think
        run_rows(case.machine, case.window_rows())
    with pytest.raises(Disproof, match=checker):
        case.prove()
    with pytest.raises((ExchangeError, RowsError), match=simulator):
        simulate(case.machine, case.rows(X, Y))


# What is right


def test_a_doubled_message_by_hand() -> None:
    """16 words of tile 0 to tiles 4 and 5: 8 cycles, then 12 of latency."""
    case = whole(0, 16, 4, 5)
    table = case.rows(X, Y)
    assert table.words[0] == send_pair(X, 8) == 0xC0000000 | 7 << 19 | X // 4
    assert table.words[2] == receive_pair(0, 8) == 0xE0000007
    rows = decode_rows(PAIRED, table)
    assert rows.doubled
    assert (rows.sends.words.tolist(), rows.sends.cycles.tolist()) == ([16], [8])
    assert rows.receives.cycle.tolist() == [12, 12]
    assert rows.receives.words.tolist() == [16, 16]
    phase = decode(table, PAIRED.exchange, 16)
    assert phase_length(phase) == 12 + 8
    assert phase.controls.tolist() == rows.controls.tolist() == [3, 4, 4]
    assert row_controls(PAIRED, table).tolist() == [3, 4, 4]
    accepted(case)


@pytest.mark.parametrize("items", [LEAST, 63, 64, 65, 1023, 1024, 1025, 2000])
def test_runs_of_many_control_words(items: int) -> None:
    accepted(whole(0, 2 * items, 6, 7))


def test_a_partner_may_receive_meanwhile() -> None:
    accepted(
        Case(
            [(0, 0, 16, [4, 5], 0), (6, 0, 9, [0, 1, 7], 64)],
            [Part(0, 0, 16, (4, 5), 0, True), Part(6, 0, 9, (0, 1, 7), 64)],
        )
    )


def test_both_of_a_pair_send_doubled_in_turns() -> None:
    """The second waits for the lane of the first."""
    case = Case(
        [(0, 0, 16, [4, 5], 0), (1, 0, 16, [6, 7], 0)],
        [Part(0, 0, 16, (4, 5), 0, True), Part(1, 0, 16, (6, 7), 0, True)],
    )
    accepted(case)
    assert run_rows(PAIRED, case.window_rows()).length == 8 + 8 + 12


def test_a_set_with_the_senders_pair_is_cut_by_receivers() -> None:
    accepted(
        Case(
            [(4, 8, 20, [4, 5, 6, 7, 9], 16)],
            [
                Part(4, 8, 20, (6, 7), 16, True),
                Part(4, 8, 20, (4, 5, 9), 16),
            ],
        )
    )


def test_parts_in_a_row_are_one_run() -> None:
    """Two of two items each without a gap, each too short alone."""
    parts = [
        Part(0, 0, 4, (4, 5), 0, True, 0),
        Part(0, 16, 4, (4, 5), 16, True, 2),
    ]
    accepted(Case([(0, 0, 8, [4, 5], 0)], parts))


def test_random_phases() -> None:
    rng = random.Random(3)
    doubled = 0
    for _ in range(100):
        case = random_case(rng)
        doubled += any(part.double for part in case.parts)
        accepted(case)
    assert doubled > 60


# What is wrong


def test_a_partner_that_sends_is_refused() -> None:
    """In the last cycle in which its lane is borrowed; one later it may."""
    right = Case(
        [(0, 0, 16, [4, 5], 0), (1, 0, 1, [6], 0)],
        [Part(0, 0, 16, (4, 5), 0, True, 0), Part(1, 0, 1, (6,), 0, False, 8)],
    )
    accepted(right)
    for cycle in (0, 3, 7):
        late = replace(right.parts[1], cycle=cycle)
        refused(
            replace(right, parts=[right.parts[0], late]),
            f"tile 1 sends in cycle {cycle}, in which its partner 0 borrows its lane",
            f"tile 0, cycle {cycle}: sends with the lane of tile 1, which sends",
        )


def test_a_partner_that_sends_doubled_is_refused() -> None:
    refused(
        Case(
            [(0, 0, 16, [4, 5], 0), (1, 0, 16, [6, 7], 0)],
            [Part(0, 0, 16, (4, 5), 0, True, 0), Part(1, 0, 16, (6, 7), 0, True, 7)],
        ),
        "in cycle 7, in which its partner [01] borrows its lane",
        "cycle 7: sends with the lane of tile [01], which sends",
    )


@pytest.mark.parametrize("tile", [4, 5])
def test_half_a_pair_is_refused(tile: int) -> None:
    refused(
        whole(0, 16, tile),
        f"tile {tile} takes items of two words from tile 0 from cycle 12 on, its"
        f" partner {tile ^ 1} does not take the same",
        f"8 items of 8 bytes from tile 0, of which tile {tile ^ 1} receives 0",
    )


def test_a_pair_that_takes_from_two_sources_is_refused() -> None:
    refused(
        Case(
            [(0, 0, 16, [4], 0), (2, 0, 16, [5], 0)],
            [Part(0, 0, 16, (4,), 0, True, 0), Part(2, 0, 16, (5,), 0, True, 0)],
        ),
        "its partner . does not take the same",
        "8 items of 8 bytes from tile 0, of which tile 5 receives 0",
    )


def test_a_partner_that_takes_less_is_refused() -> None:
    """Tile 5 takes only 8 of the 16 items, the first or the last ones."""
    for at, cycle in ((0, 0), (64, 8)):
        whole_run = Part(0, 0, 32, (4,), 0, True, 0)
        half_run = Part(0, at, 16, (5,), at, True, cycle)
        case = Case([(0, 0, 32, [4], 0), (0, at, 16, [5], at)], [whole_run, half_run])
        table = encoded(PAIRED, [whole_run], 0, int(case.window.bases[1]))
        extra = encoded(PAIRED, [half_run], 0, int(case.window.bases[1]))
        with_both = join(table, extra)
        with pytest.raises(Illegal, match="half a pair"):
            run_rows(PAIRED, with_both)
        with pytest.raises(Disproof, match="does not take the same"):
            case.prove(with_both)
        both = join(
            encoded(PAIRED, [whole_run], X, Y), encoded(PAIRED, [half_run], X, Y)
        )
        with pytest.raises(ExchangeError, match="of which tile 5 receives 8"):
            simulate(PAIRED, both)


def join(table: Rows, extra: Rows) -> Rows:
    """A table with the receive program of tile 5 of another one."""
    at = int(np.flatnonzero(extra.tiles == 5)[0])
    number = int(extra.receive[at])
    program = extra.words[extra.start[number] : extra.start[number + 1]]
    return replace(
        table,
        tiles=np.append(table.tiles, 5),
        send=np.append(table.send, -1),
        receive=np.append(table.receive, len(table.start) - 1),
        receive_start=np.append(table.receive_start, extra.receive_start[at]),
        start=np.append(table.start, table.start[-1] + len(program)),
        words=np.append(table.words, program),
    )


def test_the_senders_own_pair_is_refused() -> None:
    for source in (4, 5):
        refused(
            whole(source, 16, 4, 5, 6, 7),
            f"tile 4 takes items of two words from tile {source}, which is of its own",
            f"tile 4, cycle 12: .* from tile {source} of its own pair",
        )


@pytest.mark.parametrize("double", [False, True])
def test_items_of_other_size_are_refused(double: bool) -> None:
    """Eight cycles of one width are met by eight receives of the other."""
    part = Part(0, 0, 16 if double else 8, (4, 5), 0, double, 0)
    case = Case([(0, 0, part.words, [4, 5], 0)], [part])
    taken, sent = (2, 1) if not double else (1, 2)
    for x, y, kind in ((0, int(case.window.bases[1]), Disproof), (X, Y, ExchangeError)):
        table = case.rows(x, y)
        receives = np.isin(table.words >> 29, (3, 7))
        words = np.where(receives, table.words ^ np.uint32(4 << 29), table.words)
        table = replace(table, words=words.astype(np.uint32))
        with pytest.raises(Illegal, match="another size"):
            run_rows(PAIRED, table)
        if kind is Disproof:
            with pytest.raises(
                kind, match=f"{taken} words for .* of {sent} in cycle 0"
            ):
                case.prove(table)
        else:
            match = f"receives items of {taken} words, tile 0 sends .* of {sent}"
            with pytest.raises(kind, match=match):
                simulate(PAIRED, table)


def test_odd_addresses_are_refused() -> None:
    refused(
        Case([(0, 4, 16, [4, 5], 0)], [Part(0, 4, 16, (4, 5), 0, True)]),
        r"tile 0 sends from x \+ 4 items of two words in cycle 0, which need",
        f"tile 0, cycle 0: sends from address {X + 4} items of 8 bytes",
    )
    refused(
        Case([(0, 0, 16, [4, 5], 4)], [Part(0, 0, 16, (4, 5), 4, True)]),
        r"tile 4 receives to y \+ 4 items of two words in cycle 12",
        f"tile 4, cycle 12: receives to address {Y + 4} items of 8 bytes",
    )


@pytest.mark.parametrize(("align", "verb"), [((4, 8), "sends"), ((8, 4), "receives")])
def test_buffers_that_may_lie_at_odd_words_are_refused(
    align: tuple[int, int], verb: str
) -> None:
    """The checker sees no addresses yet: the alignment must see to it."""
    with pytest.raises(Disproof, match=f"{verb} .* which need a multiple of 8"):
        replace(whole(0, 16, 4, 5), align=align).prove()


def test_short_runs_are_refused() -> None:
    few = LEAST - 1
    accepted(whole(0, 2 * LEAST, 4, 5))
    refused(
        whole(0, 2 * few, 4, 5),
        f"tile 0 sends {few} items of two words from cycle 0 on, fewer than {LEAST}",
        f"sends {few} items of 8 bytes in one stream, the least is {LEAST}",
    )


@pytest.mark.parametrize(("read", "cycle"), [(24, 4), (32, 3), (0, 3)])
def test_a_run_ends_at_a_gap_and_at_a_jump(read: int, cycle: int) -> None:
    """Three items and eight, with a cycle or two words between, or from before."""
    parts = [
        Part(0, 0, 6, (4, 5), 0, True, 0),
        Part(0, read, 16, (4, 5), 64, True, cycle),
    ]
    refused(
        Case([(p.source, p.read, p.words, [4, 5], p.written) for p in parts], parts),
        "sends 3 items of two words from cycle 0",
        "sends 3 items of 8 bytes in one stream",
    )


def test_a_machine_without_pairs_refuses_both_opcodes() -> None:
    case = replace(whole(0, 16, 4, 5), machine=MINI16)
    refused(
        case,
        "tile 0, program 0, word 0 .*mini16 has no items of two words",
        "a control word has an unknown operation",
    )
    alone = Machine.from_fields({"base": "mini16", "exchange": {"pair_tiles": 2}})
    assert alone.exchange.pair_least_items == 64
    refused(replace(case, machine=alone), "fewer than 64", "the least is 64")


def test_a_tile_without_a_partner_is_refused() -> None:
    fields = {"base": PAIRED.fields, "tiles": 15}
    machine = Machine.from_fields({**PAIRED.fields, "tiles": fields["tiles"]})
    case = replace(whole(14, 16, 4, 5), machine=machine)
    refused(case, "has no partner", "tile 15, which this machine does not have")
    case = replace(whole(0, 16, 14), machine=machine)
    refused(case, "partner 15 does not take the same", "tile 15 receives 0")


def test_what_holds_for_words_holds_for_items() -> None:
    twice = Case(
        [(0, 0, 16, [4, 5], 0)],
        [Part(0, 0, 16, (4, 5), 0, True), Part(2, 0, 16, (4, 5), 32, True)],
    )
    refused(twice, r"the rows write y \+ 32 of tile 4 twice", "another word of the")
    early = whole(0, 16, 4, 5)
    for x, y in ((0, int(early.window.bases[1])), (X, Y)):
        table = early.rows(x, y)
        table = replace(table, receive_start=table.receive_start + np.array([0, 1, 1]))
        with pytest.raises(Illegal, match="silence"):
            run_rows(PAIRED, table)
        with pytest.raises((Disproof, ExchangeError), match=r"is not always|sent 7 of"):
            early.prove(table) if x == 0 else simulate(PAIRED, table)
    unwritten = early.rows(Y + 4096, Y)
    with pytest.raises(ExchangeError, match="which nobody wrote"):
        simulate(PAIRED, unwritten)
    overwritten = Case([], [replace(p, source=4, tiles=(6, 7)) for p in early.parts])
    overwritten = replace(overwritten, parts=[*overwritten.parts, *early.parts])
    with pytest.raises(ExchangeError, match="to which it receives"):
        simulate(PAIRED, overwritten.rows(X, X))


@pytest.mark.parametrize("start", range(30))
def test_elements_are_not_read_and_written_in_one_cycle(start: int) -> None:
    """Tile 4 sends 8 items from the last 4 of one memory element into the next, in
    cycles from `start` on; it takes 8 of them into the later one in cycles 12 to 19."""
    edge = X + 8192
    parts = [
        Part(4, edge - 32, 16, (6, 7), 4096, True, start),
        Part(0, edge - 4096, 16, (4, 5), 2048, True, 0),
    ]
    table = encoded(PAIRED, parts, 0, edge)
    if not any(start + 4 + i == 12 + j for i in range(4) for j in range(8)):
        simulate(PAIRED, table)
        return
    first = max(12, start + 4)
    match = f"tile 4, cycle {first}: sends from and receives to .* at {edge} in one"
    with pytest.raises(ExchangeError, match=match):
        simulate(PAIRED, table)


# Figures


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bound_receive": 28}, "receive bound is 28, it is 20"),
        ({"bound_send": 28}, "send bound is 28, it is 20"),
        ({"bound_control": 5}, "transfers need 4 control words"),
        ({"bound_control": 3}, "transfers need 4 control words"),
        ({"messages": 2}, "has 2 messages"),
        ({"length": 28}, "length is 28, it is 20"),
    ],
)
def test_figures_are_those_of_items(changes: dict[str, int], message: str) -> None:
    case = replace(whole(0, 16, 4, 5), changes=changes)
    with pytest.raises(Disproof, match=message):
        case.accept()


def test_control_bound_counts_items() -> None:
    """2,048 words are one RECEIVE_PAIR for a pair, and 16 SEND_PAIR."""
    case = whole(0, 2048, 4, 5)
    accepted(replace(case, changes={"bound_control": 2 + 16}))
    with pytest.raises(Disproof, match="transfers need 18 control words"):
        replace(case, changes={"bound_control": 17}).accept()
    plain = whole(0, 2048, 4, 6, double=False)
    with pytest.raises(Disproof, match="transfers need 34 control words"):
        replace(plain, changes={"bound_control": 33}).accept()


def test_control_bound_counts_items_of_receivers() -> None:
    """513 items of each of 12 tiles: a RECEIVE_PAIR each where words would need two."""
    sources = [t for t in range(14) if t not in (4, 5)]
    asked = [(s, 0, 1026, [4, 5], 4104 * n) for n, s in enumerate(sources)]
    parts = [
        Part(s, 0, 1026, (4, 5), 4104 * n, True, 513 * n) for n, s in enumerate(sources)
    ]
    machine = Machine.from_fields(
        {**PAIRED.fields, "exchange": {**PAIRED.fields["exchange"], **LONG}}
    )
    case = Case(asked, parts, machine, changes={"bound_control": 2 + 1 + 12})
    case.accept()
    with pytest.raises(Disproof, match="transfers need 15 control words"):
        replace(case, changes={"bound_control": 14}).accept()


def test_bounds_of_phases_that_are_not_doubled() -> None:
    """What may go doubled counts so, whether it did or not."""
    case = whole(0, 16, 4, 5, double=False)
    case.accept()
    assert case.claims(None).bound_receive == 12 + 8
    with pytest.raises(Disproof, match="receive bound is 28, it is 20"):
        replace(case, changes={"bound_receive": 28}).accept()
    for odd in (
        whole(0, 16, 4, double=False),  # half a pair
        whole(0, 17, 4, 5, double=False),  # odd
        whole(0, 6, 4, 5, double=False),  # too short
        whole(5, 16, 4, 5, double=False),  # its own pair
        Case([(0, 4, 16, [4, 5], 0)], [Part(0, 4, 16, (4, 5), 0)]),
        Case([(0, 0, 16, [4, 5], 4)], [Part(0, 0, 16, (4, 5), 4)]),
    ):
        odd.accept()
        assert odd.claims(None).bound_receive == 12 + odd.asked[0][2]
    with pytest.raises(Disproof, match="receive bound is 20, it is 28"):
        replace(case, align=(4, 8)).prove(case.window_rows(), outcome_of(case))
    # tile 6 waits for all 16 words, so does the sender; tiles 4 and 5 do not
    mixed = whole(0, 16, 4, 5, 6, double=False)
    mixed.accept()
    assert (mixed.claims(None).bound_receive, mixed.claims(None).bound_send) == (28, 28)


def outcome_of(case: Case) -> Outcome:
    return run_rows(case.machine, case.window_rows())
