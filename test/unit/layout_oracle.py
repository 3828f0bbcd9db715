"""Layouts by their definition, one element at a time, and random ones to try."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from random import Random

from tiledialect.layout import Cut, Factor, Group, Layout


def whole(value: int, by: int) -> int:
    """`value` rounded up to a multiple."""
    return value + (-value) % by


def cut_axis(cuts: tuple[Cut, ...], extent: int, index: int) -> tuple[int, int, int]:
    """Tiles added, index in its block, and extent of the largest block."""
    tiles = 0
    if extent == 0:
        return 0, 0, 0
    for cut in cuts:
        grains = whole(extent, cut.grain) // cut.grain
        most = whole(grains, cut.parts) // cut.parts
        sizes = [most] * cut.parts
        if cut.balanced:
            sizes = [
                (grains + cut.parts - 1 - b) // cut.parts for b in range(cut.parts)
            ]
        block = 0
        while index >= sizes[block] * cut.grain:
            index -= sizes[block] * cut.grain
            block += 1
        tiles += block * cut.stride
        extent = min(extent, most * cut.grain)
    return tiles, index, extent


@lru_cache(maxsize=8)
def loops(layout: Layout) -> list[tuple[int, int, int]]:
    """(axis, count, stride in bytes) of the in-tile order, innermost first."""
    found: list[tuple[int, int, int]] = []
    stride = layout.element_bytes
    for factor in reversed(layout.order):
        extent = cut_axis(layout.cuts[factor.axis], layout.shape[factor.axis], 0)[2]
        inner = prod(count for axis, count, _ in found if axis == factor.axis)
        count = factor.count or whole(extent, inner) // inner
        if not found and not layout.packed:
            count = whole(count, max(1, 4 // layout.element_bytes))
        found.append((factor.axis, count, stride))
        stride *= count
    return found


@lru_cache(maxsize=8)
def sizes(layout: Layout) -> tuple[int, int]:
    """Bytes of a block and of a tile's buffer."""
    block = prod(count for _, count, _ in loops(layout)) * layout.element_bytes
    block = block if layout.packed else whole(block, 4)
    if not layout.spread:
        return block, block
    pieces = prod(group.count for group in layout.spread)
    return block, whole(whole(block, pieces) // pieces, layout.spread_bytes)


def group_tiles(groups: tuple[Group, ...]) -> list[int]:
    steps = [[i * group.stride for i in range(group.count)] for group in groups]
    return [sum(step) for step in itertools.product(*steps)]


def local_offset(layout: Layout, local: list[int]) -> int:
    """Bytes from a block's begin to the element of that index inside it."""
    rest = list(local)
    offset = 0
    order = loops(layout)
    for position, (axis, count, stride) in enumerate(order):
        last = all(other != axis for other, _, _ in order[position + 1 :])
        digit = rest[axis] if last else rest[axis] % count
        offset += digit * stride
        rest[axis] //= count
    return offset


@dataclass(frozen=True)
class Place:
    """Where an element lies, and where it is in its block."""

    tile: int
    offset: int
    local: tuple[int, ...]


@lru_cache(maxsize=8)
def places(layout: Layout) -> list[Place]:
    """Place of every element, row-major, in the first replica and partial."""
    pieces = group_tiles(layout.spread)
    piece_bytes = sizes(layout)[1]
    found: list[Place] = []
    for index in itertools.product(*map(range, layout.shape)):
        parts = [
            cut_axis(cuts, extent, i)
            for cuts, extent, i in zip(layout.cuts, layout.shape, index, strict=True)
        ]
        local = [part[1] for part in parts]
        offset = local_offset(layout, local)
        piece = offset // piece_bytes
        tile = layout.first + sum(part[0] for part in parts) + pieces[piece]
        found.append(Place(tile, offset - piece * piece_bytes, tuple(local)))
    return found


# Random layouts


def some(random: Random, values: Sequence[int], most: int, least: int = 0) -> list[int]:
    """A few of the values, repeats allowed."""
    return [random.choice(values) for _ in range(random.randint(least, most))]


def random_shape(random: Random, least_rank: int = 0) -> tuple[int, ...]:
    """Few elements; odd extents, and now and then none."""
    extents = (*range(1, 8), *range(1, 8), 0, 13)
    while True:
        shape = some(random, extents, 3, least_rank)
        if prod(shape) <= 200:
            return tuple(shape)


def random_view(random: Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Another shape of as many elements."""
    rest = prod(shape)
    extents: list[int] = []
    while rest > 1 and len(extents) < 3:
        divisors = [d for d in range(1, rest + 1) if rest % d == 0]
        extents.append(random.choice(divisors))
        rest //= extents[-1]
    return (*extents, rest)


def random_order(random: Random, rank: int) -> tuple[Factor, ...]:
    """An in-tile order: each axis whole, some in two or three factors."""
    counts = [[0, *some(random, (2, 3, 4, 8), 2)] for _ in range(rank)]
    axes = [axis for axis in range(rank) for _ in counts[axis]]
    random.shuffle(axes)
    return tuple(Factor(axis, counts[axis].pop(0)) for axis in axes)


def random_cut(random: Random, count: int, stride: int) -> Cut:
    return Cut(count, stride, random.randint(1, 5), random.random() < 0.5)


def random_groups(random: Random, counts: list[int]) -> list[Group]:
    """Groups of so many tiles whose combinations are all different tiles."""
    strides = [0] * len(counts)
    stride = 1
    for i in random.sample(range(len(counts)), len(counts)):
        strides[i] = stride
        stride *= counts[i]
    return [Group(c, s) for c, s in zip(counts, strides, strict=True)]


def random_layout(
    random: Random,
    shape: tuple[int, ...],
    element_bytes: int,
    partial: bool = False,
    unique: bool = False,
) -> Layout:
    """A layout of that shape whose blocks lie on tiles of their own.

    With `partial` it has partial sums; with `unique` no replicas.
    """
    if not partial and random.random() < 0.2:
        return Layout.linear(shape, element_bytes, random.randint(1, 12))
    small = (1, 2, 2, 3)
    axis_counts = [some(random, small, 2) for _ in shape]
    replicas = [] if unique else some(random, small, 2)
    spread = some(random, small, 2) if random.random() < 0.5 else []
    partials = some(random, small, 1, 1) if partial else []
    groups = random_groups(
        random, [*itertools.chain(*axis_counts), *replicas, *spread, *partials]
    )
    cuts = tuple(
        tuple(random_cut(random, c, groups.pop(0).stride) for c in counts)
        for counts in axis_counts
    )
    return Layout(
        shape=shape,
        element_bytes=element_bytes,
        cuts=cuts,
        order=random_order(random, len(shape)),
        first=random.randint(0, 3),
        replicas=tuple(groups[: len(replicas)]),
        spread=tuple(groups[len(replicas) : len(replicas) + len(spread)]),
        partial=groups[-1] if partial else None,
        spread_bytes=random.choice((8, 16)),
        packed=random.random() < 0.25,
    )


def random_pair(random: Random, partial: bool = False) -> tuple[Layout, Layout]:
    """Two layouts of the same elements, the first with partial sums if so asked."""
    shape = random_shape(random)
    size = random.choice((1, 2, 4))
    other = shape if random.random() < 0.5 else random_view(random, shape)
    source = random_layout(random, shape, size, partial)
    unique = partial and random.random() < 0.5
    return source, random_layout(random, other, size, unique=unique)


def random_reduce_scatter(random: Random) -> tuple[Layout, Layout]:
    """Partial sums, and their blocks cut again, or spread, over the partials' tiles."""
    shape = random_shape(random, least_rank=1)
    source = random_layout(random, shape, random.choice((1, 2, 4)), partial=True)
    group = source.partial
    assert group is not None
    if random.random() < 0.6:
        source = source.with_(spread=())
    plain = source.with_(partial=None, replicas=())
    if random.random() < 0.3:
        return source, plain.with_(spread=(*source.spread, group))
    axis = random.randrange(len(shape))
    cuts = list(source.cuts)
    cuts[axis] = (*cuts[axis], random_cut(random, group.count, group.stride))
    order = source.order
    if random.random() < 0.5:
        order = random_order(random, len(shape))
    return source, plain.with_(cuts=tuple(cuts), order=order)
