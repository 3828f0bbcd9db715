"""The relayouts of a worked compile have the counts that it states.

An MLP of 729 x 1152 to 4304 to 1152 on 1,458 of a C600's 1,472 tiles.
"""

from __future__ import annotations

import numpy as np

from tiledialect.layout import Cut, Factor, Group, Layout
from tiledialect.relayout import Transfers, relayout, stack_partials


def panels(kb: int) -> tuple[Factor, ...]:
    return (Factor(1), Factor(0), Factor(1, kb))


UP_ROWS, UP_COLUMNS = Cut(9, 162), Cut(27, 6, grain=16)
DOWN_COLUMNS = Cut(6, 27, grain=16)


def sent(table: Transfers) -> dict[int, int]:
    """How many messages of each number of bytes."""
    sizes, counts = np.unique(table.words * 4, return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))


def test_e1_a_linear_input_arrives_in_panels_by_runs_of_32_bytes() -> None:
    left = Layout(
        shape=(729, 1152),
        element_bytes=1,
        cuts=((UP_ROWS,), (Cut(6, 1, grain=32),)),
        order=panels(32),
        replicas=(Group(27, 6),),
    )
    table = relayout(Layout.linear((729, 1152), 1, 1472), left)
    assert sent(table) == {32: 9 * 6 * 486}
    assert table.messages_in(1458).tolist() == [486] * 1458
    assert table.words_in(1458).tolist() == [3888] * 1458
    assert table.messages_out(1458).tolist() == [18] * 1458
    assert not table.to_staging.any()
    assert not table.copy_tile.size
    assert np.diff(table.set_start).tolist() == [27] * 54


def test_e2_a_reduce_scatter_by_rows_is_50_runs_of_448_bytes() -> None:
    cuts = ((UP_ROWS,), (UP_COLUMNS,))
    partials = Layout((729, 4304), 2, cuts, panels(16), partial=Group(6, 1))
    scattered = partials.with_(partial=None, cuts=((UP_ROWS, Cut(6, 1)), (UP_COLUMNS,)))
    table, own = stack_partials(partials, scattered)
    assert not table.copy_tile.size
    received = table.messages_in(1458).reshape(9, 27, 6)
    assert (received[:, :26] == 50).all()  # the last columns are 144: 9 panels
    assert (received[:, 26] == 45).all()
    # Of 81 rows five tiles have 14 and the sixth 11.
    assert sent(table) == {448: 9 * 5 * 5 * (260 + 9), 352: 9 * 5 * (260 + 9)}
    assert table.words_in(1458).max() * 4 == 22400
    assert own is not None
    assert own.offset_step == 448
    assert own.own.tolist() == [tile % 6 for tile in range(1458)]


def test_e3_an_all_gather_in_groups_of_6_is_runs_of_448_bytes() -> None:
    cut = Cut(27, 6, grain=32)
    spread = Layout((729, 4304), 1, ((UP_ROWS, Cut(6, 1)), (cut,)), panels(32))
    left = Layout(
        (729, 4304), 1, ((UP_ROWS,), (cut,)), panels(32), replicas=(Group(6, 1),)
    )
    table = relayout(spread, left)
    received = table.messages_in(1458).reshape(9, 27, 6)
    assert (received[:, :26] == 30).all()  # 5 from each other tile, 5 of its own
    # The last columns are 144, and half a panel comes row by row.
    assert (received[:, 26] == 24 + 81).all()
    assert np.diff(table.set_start).tolist() == [6] * 243
    assert sent(table) == {448: 9 * 5 * 134, 352: 9 * 134, 16: 729}
    assert table.words_in(1458).max() * 4 == 12960


def test_e4_a_reduce_scatter_over_27_is_26_times_12_runs_of_96_bytes() -> None:
    cuts = ((UP_ROWS,), (Cut(6, 1, grain=16),))
    partials = Layout((729, 1152), 2, cuts, panels(16), partial=Group(27, 6))
    scattered = partials.with_(
        partial=None, cuts=((UP_ROWS, Cut(27, 6)), (Cut(6, 1, grain=16),))
    )
    table, own = stack_partials(partials, scattered)
    assert table.messages_in(1458).tolist() == [26 * 12] * 1458
    assert sent(table) == {96: 1458 * 26 * 12}
    assert table.words_in(1458).tolist() == [7488] * 1458
    assert own is not None
    assert (own.stride, own.count, own.offset_step) == (6, 27, 96)


def test_e5_the_result_returns_to_linear_by_runs_of_32_bytes() -> None:
    cuts = ((UP_ROWS, Cut(27, 6)), (Cut(6, 1, grain=16),))
    table = relayout(
        Layout((729, 1152), 2, cuts, panels(16)), Layout.linear((729, 1152), 2, 1472)
    )
    cut_by_piece = {size for size in sent(table) if size != 32}
    assert cut_by_piece == {8, 16, 24}  # a piece is 1144 bytes, 35.75 runs
    moved = sum(size * count for size, count in sent(table).items())
    assert moved + int(table.copy_bytes.sum()) == 729 * 1152 * 2
    assert not table.to_staging.any()


def test_a_spread_block_arrives_whole_by_one_run_a_piece() -> None:
    block = Layout((81, 160), 1, ((), (Cut(5, 6, 32),)), panels(32))
    spread = block.with_(spread=(Group(6, 1),))
    table = relayout(spread, block.with_(replicas=(Group(6, 1),)))
    assert table.messages_in(30).tolist() == [6] * 30
    assert table.words_in(30).tolist() == [81 * 32 // 4] * 30
