"""Relayouts against brute force over bytes, and the counts of a worked compile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from layout_oracle import (
    group_tiles,
    local_offset,
    places,
    random_pair,
    random_reduce_scatter,
    sizes,
    whole,
)
from numpy.typing import NDArray

from tiledialect.layout import Cut, Factor, Group, Layout
from tiledialect.relayout import OwnPiece, Transfers, relayout, stack_partials

Bytes = NDArray[np.uint8]
Run = tuple[int, int, int, int, int]  # source tile, offset, first target, offset, bytes


def pairs(count: int, partial: bool = False) -> Iterator[tuple[Layout, Layout]]:
    random = Random(11)
    for i in range(count):
        if partial and i % 2:
            yield random_reduce_scatter(random)
        else:
            yield random_pair(random, partial)


# Brute force


def random_bytes(seed: int, *shape: int) -> Bytes:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


class Memory:
    """Buffers of random bytes, one a tile, and how often each byte was written."""

    def __init__(self, buffer_bytes: int, seed: int) -> None:
        self.bytes: dict[int, Bytes] = {}
        self.writes: dict[int, Bytes] = {}
        self.size = buffer_bytes
        self.seed = seed

    def of(self, tile: int) -> Bytes:
        if tile not in self.bytes:
            self.bytes[tile] = random_bytes(self.seed + tile, self.size)
            self.writes[tile] = np.zeros(self.size, np.uint8)
        return self.bytes[tile]

    def read(self, tile: int, offset: int, count: int) -> Bytes:
        assert 0 <= offset <= offset + count <= self.size
        return self.of(tile)[offset : offset + count]

    def write(self, tile: int, offset: int, data: Bytes) -> None:
        assert 0 <= offset <= offset + data.size <= self.size
        self.of(tile)[offset : offset + data.size] = data
        self.writes[tile][offset : offset + data.size] += 1


def filled(layout: Layout, values: Bytes) -> Memory:
    """Each tile's buffer where values[q, e] are the bytes of element e of partial q."""
    memory = Memory(whole(sizes(layout)[1], 4), 1000)
    partials = group_tiles((layout.partial,) if layout.partial else ())
    for element, place in enumerate(places(layout)):
        for q, partial in enumerate(partials):
            for replica in group_tiles(layout.replicas):
                tile = place.tile + partial + replica
                memory.write(tile, place.offset, values[q, element])
    assert all((writes <= 1).all() for writes in memory.writes.values())
    return memory


def moved(table: Transfers, source: Memory, buffer_bytes: int) -> Memory:
    """The destination's buffers after the messages and then the copies."""
    result, staging = Memory(buffer_bytes, 5000), Memory(table.staging_bytes, 9000)
    for i in range(table.source.size):
        data = source.read(
            int(table.source[i]), int(table.source_offset[i]), int(table.words[i]) * 4
        )
        assert data.size
        assert table.source_offset[i] % 4 == table.offset[i] % 4 == 0
        into = staging if table.to_staging[i] else result
        for tile in set_of(table, int(table.destinations[i])):
            into.write(tile, int(table.offset[i]), data)
    for i in range(table.copy_tile.size):
        tile, begin = int(table.copy_tile[i]), int(table.copy_from[i])
        count = int(table.copy_bytes[i])
        assert count > 0
        if table.copy_staged[i]:
            staging.of(tile)
            assert (staging.writes[tile][begin : begin + count] == 1).all()
        data = (staging if table.copy_staged[i] else source).read(tile, begin, count)
        result.write(tile, int(table.copy_to[i]), data)
    assert all((writes <= 1).all() for writes in staging.writes.values())
    return result


def set_of(table: Transfers, number: int) -> list[int]:
    begin, end = table.set_start[number], table.set_start[number + 1]
    return table.set_tiles[begin:end].tolist()


def expect(result: Memory, layout: Layout, values: list[Bytes]) -> None:
    """Each slot of a stack holds its values, each byte written once; nothing else is
    touched. values[slot][replica, e] are the bytes of element e on that replica."""
    slot_bytes = sizes(layout)[1]
    untouched = Memory(result.size, result.seed)
    for element, place in enumerate(places(layout)):
        for r, replica in enumerate(group_tiles(layout.replicas)):
            for slot, value in enumerate(values):
                untouched.write(
                    place.tile + replica,
                    place.offset + slot * slot_bytes,
                    value[r, element],
                )
    assert untouched.bytes.keys() == result.bytes.keys()
    for tile in result.bytes:
        assert untouched.bytes[tile].tolist() == result.bytes[tile].tolist()
        assert untouched.writes[tile].tolist() == result.writes[tile].tolist()


def expected_runs(source: Layout, destination: Layout) -> list[Run]:
    """The longest runs, from single elements joined one by one."""
    size = source.element_bytes
    elements = sorted(
        (a.tile, b.tile, a.offset, b.offset)
        for a, b in zip(places(source), places(destination), strict=True)
    )
    runs: list[Run] = []
    for tile, target, at, to in elements:
        if runs:
            last = runs[-1]
            if (tile, at, target, to) == (
                last[0],
                last[1] + last[4],
                last[2],
                last[3] + last[4],
            ):
                runs[-1] = (*last[:4], last[4] + size)
                continue
        runs.append((tile, at, target, to, size))
    return runs


# Properties


def test_every_byte_arrives_once_and_no_other_is_touched() -> None:
    staged = 0
    for source, destination in pairs(1200):
        elements = int(np.prod(source.shape))
        values = random_bytes(elements, 1, elements, source.element_bytes)
        table = relayout(source, destination)
        size = whole(sizes(destination)[1], 4)
        replicas = len(group_tiles(destination.replicas))
        arrived = np.repeat(values, replicas, axis=0)
        expect(moved(table, filled(source, values), size), destination, [arrived])
        staged += table.to_staging.any()
    assert staged > 300


def test_runs_are_longest_and_only_misaligned_ones_are_staged() -> None:
    for source, destination in pairs(1200):
        table = relayout(source, destination)
        senders = group_tiles(source.replicas)
        targets = group_tiles(destination.replicas)
        direct: list[Run] = []
        local: list[Run] = []
        words: dict[tuple[int, int], set[int]] = defaultdict(set)
        for run in expected_runs(source, destination):
            tile, at, target, to, count = run
            if len(targets) == 1 and target - tile in senders:
                local.append(run)
            elif at % 4 or to % 4 or count % 4:
                words[tile, target].update(range(at // 4, (at + count + 3) // 4))
            else:
                direct.append(run)
        check_messages(table, source, destination, direct)
        check_staging(table, source, destination, words)
        mine = ~table.copy_staged
        columns = (table.copy_tile, table.copy_from, table.copy_to, table.copy_bytes)
        assert sorted(zip(*(c[mine].tolist() for c in columns), strict=True)) == sorted(
            (target, at, to, count) for _, at, target, to, count in local
        )


def first_tiles(
    table: Transfers, source: Layout, destination: Layout
) -> list[tuple[int, int]]:
    """Each message's block: its tile in the first replica, at both ends."""
    of_sender = {
        place.tile + r: place.tile
        for place in places(source)
        for r in group_tiles(source.replicas)
    }
    of_set = {
        tuple(sorted(place.tile + r for r in group_tiles(destination.replicas))): (
            place.tile
        )
        for place in places(destination)
    }
    return [
        (of_sender[int(tile)], of_set[tuple(set_of(table, int(number)))])
        for tile, number in zip(table.source, table.destinations, strict=True)
    ]


def check_messages(
    table: Transfers, source: Layout, destination: Layout, direct: list[Run]
) -> None:
    ends = first_tiles(table, source, destination)
    found = [
        (tile, int(at), target, int(to), int(count) * 4)
        for (tile, target), at, to, count, staged in zip(
            ends,
            table.source_offset,
            table.offset,
            table.words,
            table.to_staging,
            strict=True,
        )
        if not staged
    ]
    assert sorted(found) == sorted(direct)


def check_staging(
    table: Transfers,
    source: Layout,
    destination: Layout,
    words: dict[tuple[int, int], set[int]],
) -> None:
    """Staging receives each covering word once for its set, in longest messages."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    ends = first_tiles(table, source, destination)
    filled: dict[int, int] = defaultdict(int)
    for i in np.flatnonzero(table.to_staging):
        begin = int(table.source_offset[i]) // 4
        found[ends[i]].append((begin, begin + int(table.words[i])))
        filled[ends[i][1]] += int(table.words[i]) * 4
    assert table.staging_bytes == whole(max(filled.values(), default=0), 8)
    assert found.keys() == words.keys()
    for block, messages in found.items():
        messages.sort()
        covered = [word for begin, end in messages for word in range(begin, end)]
        assert covered == sorted(words[block])
        assert all(a[1] < b[0] for a, b in pairwise(messages))


def test_replicas_send_equal_shares_to_within_one_message() -> None:
    several = 0
    for source, destination in pairs(1000):
        replicas = group_tiles(source.replicas)
        table = relayout(source, destination)
        if len(replicas) == 1 or not table.source.size:
            continue
        ends = first_tiles(table, source, destination)
        for block in {tile for tile, _ in ends}:
            mine = [i for i, (tile, _) in enumerate(ends) if tile == block]
            largest = int(table.words[mine].max())
            total = int(table.words[mine].sum())
            for replica in replicas:
                sent = table.words[mine][table.source[mine] == block + replica].sum()
                assert abs(int(sent) * len(replicas) - total) <= largest * len(replicas)
            several += len(mine) > 1
    assert several > 150


def test_counts_are_those_of_the_table() -> None:
    for source, destination in pairs(300):
        table = relayout(source, destination)
        tiles = max([0, *table.source.tolist(), *table.set_tiles.tolist()]) + 1
        counts = np.zeros((4, tiles), dtype=np.int64)
        for i in range(table.source.size):
            counts[0, table.source[i]] += table.words[i]
            counts[1, table.source[i]] += 1
            for tile in set_of(table, int(table.destinations[i])):
                counts[2, tile] += table.words[i]
                counts[3, tile] += 1
        assert table.words_out(tiles).tolist() == counts[0].tolist()
        assert table.messages_out(tiles).tolist() == counts[1].tolist()
        assert table.words_in(tiles).tolist() == counts[2].tolist()
        assert table.messages_in(tiles).tolist() == counts[3].tolist()


def test_a_table_is_sorted_and_the_same_each_time() -> None:
    for source, destination in pairs(300):
        table, again = relayout(source, destination), relayout(source, destination)
        for field in fields(Transfers):
            first, second = getattr(table, field.name), getattr(again, field.name)
            assert np.array_equal(first, second)
        keys = list(
            zip(
                table.source.tolist(),
                table.destinations.tolist(),
                table.to_staging.tolist(),
                table.source_offset.tolist(),
                strict=True,
            )
        )
        assert keys == sorted(keys)
        sets = [set_of(table, i) for i in range(table.set_start.size - 1)]
        assert all(tiles == sorted(set(tiles)) for tiles in sets)
        assert len({tuple(tiles) for tiles in sets}) == len(sets)


# Partial sums


def test_a_stack_holds_every_partial_that_is_not_the_tiles_own() -> None:
    kept = 0
    for source, destination in pairs(1000, partial=True):
        partials = group_tiles((source.partial,) if source.partial else ())
        elements = int(np.prod(source.shape))
        values = random_bytes(elements, len(partials), elements, source.element_bytes)
        before = filled(source, values)
        table, own = stack_partials(source, destination)
        size = whole(sizes(destination)[1] * len(partials), 4)
        slots = [
            np.stack([values[q]] * len(group_tiles(destination.replicas)))
            for q in range(len(partials))
        ]
        if own is not None:
            kept += len(partials) > 1 and elements > 0
            check_own(own, source, destination, before, values)
            slots = without_own(own, destination, values)
        if slots:
            expect(moved(table, before, size), destination, slots)
        else:
            assert not table.source.size + table.copy_tile.size
    assert kept > 150


def own_of(own: OwnPiece, tile: int) -> int:
    return (tile - own.first) // own.stride % own.count


def without_own(own: OwnPiece, destination: Layout, values: Bytes) -> list[Bytes]:
    slots = [values[:1].copy() for _ in range(values.shape[0] - 1)]
    for element, place in enumerate(places(destination)):
        rest = [q for q in range(values.shape[0]) if q != own_of(own, place.tile)]
        for slot, q in zip(slots, rest, strict=True):
            slot[0, element] = values[q, element]
    return slots


def check_own(
    own: OwnPiece, source: Layout, destination: Layout, before: Memory, values: Bytes
) -> None:
    """The own piece is where it is said to lie, with the strides it is said to have."""
    begin = dict(zip(own.own_tiles.tolist(), own.own_offset.tolist(), strict=True))
    size = source.element_bytes
    for element, place in enumerate(places(destination)):
        inside = place.offset
        if not destination.spread:
            inside = local_offset(source, list(place.local))
        data = before.read(place.tile, begin[place.tile] + inside, size)
        assert data.tolist() == values[own_of(own, place.tile), element].tolist()
    assert list(begin) == sorted({place.tile for place in places(destination)})
    assert own.own.tolist() == [own_of(own, tile) for tile in begin]
    step = own.offset_step
    if step is not None:
        assert all(begin[tile] == own_of(own, tile) * step for tile in begin)


def own_may_stay(source: Layout, destination: Layout) -> bool:
    """Whether each tile's own partial can be read in place, by its elements."""
    group = source.partial
    assert group is not None
    if len(group_tiles(destination.replicas)) > 1 or group.stride < 1:
        return False
    if not destination.spread and (source.shape != destination.shape or source.spread):
        return False
    begins: dict[int, int] = {}
    for a, b in zip(places(source), places(destination), strict=True):
        q = (b.tile - source.first) // group.stride % group.count
        if b.tile - a.tile - q * group.stride not in group_tiles(source.replicas):
            return False
        inside = b.offset if destination.spread else local_offset(source, list(b.local))
        if begins.setdefault(b.tile, a.offset - inside) != a.offset - inside:
            return False
    return True


def test_an_own_piece_stays_exactly_where_it_can() -> None:
    outcomes: set[bool] = set()
    for source, destination in pairs(1500, partial=True):
        own = stack_partials(source, destination)[1]
        if 0 in source.shape:
            continue
        assert (own is not None) == own_may_stay(source, destination)
        outcomes.add(own is not None)
    assert outcomes == {True, False}


# The worked compile: an MLP of 729 x 1152 -> 4304 -> 1152 on a C600 of 1472 tiles


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
    assert cut_by_piece <= {8, 16, 24}  # a piece is 1144 bytes, 35.75 runs
    assert not table.to_staging.any()


def test_a_spread_block_arrives_whole_by_one_run_a_piece() -> None:
    block = Layout((81, 160), 1, ((), (Cut(5, 6, 32),)), panels(32))
    spread = block.with_(spread=(Group(6, 1),))
    table = relayout(spread, block.with_(replicas=(Group(6, 1),)))
    assert table.messages_in(30).tolist() == [6] * 30
    assert table.words_in(30).tolist() == [81 * 32 // 4] * 30


# Refusals


@pytest.mark.parametrize(
    ("source", "destination", "message"),
    [
        (Layout.linear((6,), 2, 2), Layout.linear((7,), 2, 2), "6 elements.* 7"),
        (Layout.linear((6,), 2, 2), Layout.linear((6,), 1, 2), "2 bytes.* 1"),
        (
            Layout.linear((6,), 2, 2).with_(partial=Group(2, 2)),
            Layout.linear((6,), 2, 2),
            "its source is partial sums",
        ),
        (
            Layout.linear((6,), 2, 2),
            Layout.linear((6,), 2, 2).with_(partial=Group(2, 2)),
            "into partial sums",
        ),
    ],
)
def test_a_relayout_refuses(source: Layout, destination: Layout, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        relayout(source, destination)


def test_a_stack_refuses_a_source_without_partial_sums() -> None:
    layout = Layout.linear((6,), 2, 2)
    with pytest.raises(ValueError, match="its source has none"):
        stack_partials(layout, layout)
