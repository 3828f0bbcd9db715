"""Exchange phases to measure the scheduler on, made from shapes and seeds alone.

Linear ownership is one row-major block cut into equal runs of a multiple of 8 bytes,
one a tile. A tile never sends to itself.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiledialect.schedule.table import Messages, multicasts, unicasts

Index = NDArray[np.int64]

Part = tuple[Index, Index, Index]
"""Source and words of each message, and the matrix of their receivers."""

TILES = 1472


def ipu_c600_latency() -> Index:
    """Cycles from send to arrival, by receiver: 52 + 2 for each row of 64 tiles."""
    return 52 + 2 * (np.arange(TILES) // 64)


def linear_run(total_bytes: int, tiles: int = TILES) -> int:
    """Bytes a tile of a tensor in linear ownership."""
    return -(-total_bytes // (8 * tiles)) * 8


def even_cuts(extent: int, parts: int) -> Index:
    """Where each part begins, and the end: parts of nearly equal size."""
    return np.arange(parts + 1) * extent // parts


def ragged_cuts(extent: int, parts: int) -> Index:
    """Where each part begins, and the end: equal parts but for the last ones."""
    return np.minimum(np.arange(parts + 1) * -(-extent // parts), extent)


def matmul_operands_linear(
    rows: int = 729,
    inner: int = 1152,
    columns: int = 4304,
    grid: tuple[int, int] = (27, 54),
) -> Messages:
    """f8 operands in linear ownership, broadcast along a grid's rows and columns."""
    tile = np.arange(grid[0] * grid[1]).reshape(grid)
    left = _pieces(rows, inner, ragged_cuts(rows, grid[0]), np.array([0, inner]))
    right = _pieces(inner, columns, np.array([0, inner]), ragged_cuts(columns, grid[1]))
    return _join(
        (left.owner, left.words, tile[left.row]),
        (right.owner, right.words, tile.T[right.column]),
    )


def matmul_operands_block(
    rows: int = 729,
    inner: int = 1152,
    columns: int = 4304,
    grid: tuple[int, int] = (27, 54),
) -> Messages:
    """The same when each row (column) of the grid owns the block that it needs."""
    tile = np.arange(grid[0] * grid[1]).reshape(grid)
    return _join(
        _all_gather(tile, np.diff(ragged_cuts(rows, grid[0])) * inner),
        _all_gather(tile.T, np.diff(ragged_cuts(columns, grid[1])) * inner),
    )


def gathered_windows(
    rows: int = 13,
    columns: int = 36,
    planes: int = 3,
    row_words: int = 456,
    run: int = 584,
    parts: tuple[int, ...] = (120, 136),
) -> Messages:
    """Small windows of two operands, gathered on a grid: few long multicasts.

    The rows' words of each plane lie one after the other in runs of a tile each; each
    column's are in `parts`, of a tile each. A row's senders have time for little else,
    a column's could send it six times.
    """
    tile = np.arange(rows * columns * planes).reshape(rows, columns, planes)
    ends = np.arange(1, rows + 1) * row_words
    cuts = np.unique(np.append(ends, np.arange(0, rows * row_words, run)))
    begin, words = cuts[:-1], np.diff(cuts)
    owner = 3 + 15 * planes * (begin // run)
    row = begin // row_words
    of_rows = [
        (owner + 15 * plane, words, tile[row, :, plane]) for plane in range(planes)
    ]
    column = np.arange(columns * planes)
    receivers = tile.reshape(rows, -1).T
    of_columns = [
        (part * columns * planes + column, np.full(column.size, words), receivers)
        for part, words in enumerate(parts)
    ]
    return _join(*of_rows, *of_columns)


def reduce_scatter(
    group: int = 8, rows: Index | None = None, runs: int = 1
) -> Messages:
    """Each member of a group sends every other member that one's part.

    `rows` (group,) is the words of each run of a member's part, which is `runs` runs.
    """
    words = np.full(group, 270) if rows is None else rows
    groups = TILES // group
    shape = (groups, group, group, runs)
    base, sender, receiver, _ = np.indices(shape).reshape(4, -1)
    apart = sender != receiver
    base, sender, receiver = base[apart] * group, sender[apart], receiver[apart]
    return unicasts(TILES, base + sender, base + receiver, words[receiver])


def to_blocks(
    element_bytes: int, cuts: Index, rows: int = 729, columns: int = 1152
) -> Messages:
    """Linear to blocks on a grid of 27 by the parts of `cuts`, in covering words."""
    parts = cuts.size - 1
    pieces = _pieces(rows, columns, ragged_cuts(rows, 27), cuts, element_bytes)
    target = pieces.row * parts + pieces.column
    apart = pieces.owner != target
    return unicasts(TILES, pieces.owner[apart], target[apart], pieces.words[apart])


def transpose(rows: int = 729, columns: int = 1152, element_bytes: int = 2) -> Messages:
    """Linear to linear of the transpose, each element in a word of its own."""
    run = linear_run(rows * columns * element_bytes) // element_bytes
    place = np.arange(rows * columns)
    row, column = np.divmod(place, columns)
    source, target = place // run, (column * rows + row) // run
    apart = source != target
    return unicasts(
        TILES, source[apart], target[apart], np.ones(int(apart.sum()), np.int64)
    )


def all_to_all(tiles: int = TILES, words: int = 1) -> Messages:
    """Each tile sends each other one the same number of words."""
    source, target = np.divmod(np.arange(tiles * tiles), tiles)
    apart = source != target
    count = int(apart.sum())
    return unicasts(TILES, source[apart], target[apart], np.full(count, words))


def random_unicasts(count: int = 100_000, longest: int = 64, seed: int = 1) -> Messages:
    """Sources, targets and lengths drawn evenly."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(TILES, size=(2, count))
    words = rng.integers(1, longest + 1, count)
    apart = source != target
    return unicasts(TILES, source[apart], target[apart], words[apart])


def random_multicasts(count: int = 50_000, widest: int = 16, seed: int = 1) -> Messages:
    """Sources, sets of 1 to `widest` receivers and lengths of 1 to 64 drawn evenly."""
    rng = np.random.default_rng(seed)
    source = rng.integers(TILES, size=count)
    words = rng.integers(1, 65, count)
    drawn = rng.integers(TILES, size=(count, widest))
    keep = np.arange(widest) < rng.integers(1, widest + 1, count)[:, None]
    drawn = np.sort(np.where(keep, drawn, TILES), axis=1)
    keep = (drawn < TILES) & (drawn != source[:, None])
    keep[:, 1:] &= drawn[:, 1:] != drawn[:, :-1]
    size = keep.sum(axis=1)
    some = size > 0
    start = np.concatenate([[0], np.cumsum(size[some])])
    return multicasts(TILES, source[some], words[some], start, drawn[keep])


@dataclass(frozen=True)
class _Pieces:
    """Maximal runs that one owner sends to one block of a row-major tensor."""

    owner: Index
    row: Index
    column: Index
    words: Index


def _pieces(
    rows: int, columns: int, row_cuts: Index, column_cuts: Index, element_bytes: int = 1
) -> _Pieces:
    """Cut a tensor in linear ownership at owners' and blocks' borders."""
    width = columns * element_bytes
    run = linear_run(rows * width)
    whole_rows = column_cuts.size == 2
    at_columns = np.arange(rows)[:, None] * width + column_cuts[:-1] * element_bytes
    at_blocks = row_cuts * width if whole_rows else at_columns.ravel()
    at_owners = np.arange(0, rows * width, run)
    cuts = np.unique(np.concatenate([at_blocks, at_owners, [rows * width]]))
    begin, end = cuts[:-1], cuts[1:]
    row, column = np.divmod(begin, width)
    return _Pieces(
        begin // run,
        np.searchsorted(row_cuts, row, "right") - 1,
        np.searchsorted(column_cuts * element_bytes, column, "right") - 1,
        (end + 3) // 4 - begin // 4,
    )


def _all_gather(sets: Index, set_bytes: Index) -> Part:
    """Each member of each set sends the set its run of the set's block."""
    size = int(sets.shape[1])
    run = -(-set_bytes // (8 * size)) * 8
    begin: Index = run[:, None] * np.arange(size)
    words = np.clip(set_bytes[:, None] - begin, 0, run[:, None]).ravel() // 4
    receivers: Index = np.repeat(sets, size, axis=0)
    some = words > 0
    return sets.ravel()[some], words[some], receivers[some]


def _join(*parts: Part) -> Messages:
    """One phase of messages given as source, words and matrix of receivers."""
    sizes: list[Index] = []
    members: list[Index] = []
    for source, _, receivers in parts:
        ordered: Index = np.sort(receivers, axis=1)
        keep = ordered != source[:, None]
        sizes.append(keep.sum(axis=1))
        members.append(ordered[keep])
    start = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return multicasts(
        TILES,
        np.concatenate([source for source, _, _ in parts]),
        np.concatenate([words for _, words, _ in parts]),
        start,
        np.concatenate(members),
    )
