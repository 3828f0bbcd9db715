"""Relayouts do what two layouts ask for, and nothing else."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
from layout_oracle import group_tiles, places, sizes, whole
from relayout_oracle import (
    Run,
    expect,
    expected_runs,
    filled,
    moved,
    pairs,
    random_bytes,
    set_of,
)

from tiledialect.layout import Group, Layout
from tiledialect.relayout import Transfers, relayout


def test_every_byte_arrives_once_and_no_other_is_touched() -> None:
    staged = 0
    for source, destination in pairs(800):
        elements = int(np.prod(source.shape))
        values = random_bytes(elements, 1, elements, source.element_bytes)
        table = relayout(source, destination)
        size = whole(sizes(destination)[1], 4)
        replicas = len(group_tiles(destination.replicas))
        arrived = np.repeat(values, replicas, axis=0)
        expect(moved(table, filled(source, values), size), destination, [arrived])
        staged += table.to_staging.any()
    assert staged > 200


def test_runs_are_longest_and_only_misaligned_ones_are_staged() -> None:
    for source, destination in pairs(800):
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
    for source, destination in pairs(800):
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
