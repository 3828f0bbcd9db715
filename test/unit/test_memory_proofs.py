"""Claims about the proofs behind check-memory, on plain tables."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tiledialect.checkers.blocks import Block, Blocks
from tiledialect.checkers.disproof import Disproof
from tiledialect.checkers.footprint import occupied
from tiledialect.checkers.lifetimes import BEFORE_ALL, Lifetimes, Stretches, Use
from tiledialect.checkers.overlap import (
    check_addresses,
    check_apart,
    check_no_overlap,
    check_rows_apart,
    elements,
)
from tiledialect.machine import Machine

MINI4 = Machine.load("mini4")

# Aliases and in-place results


def blocks_of(*blocks: Block, steps: int = 6) -> Blocks:
    return Blocks(blocks, 4, steps)


TILES = np.arange(4, dtype=np.int64)


def use(block: int, step: int, writes: bool, first: int = 0, end: int = 64) -> Use:
    what = f"{'write' if writes else 'read'} {step}"
    return Use(block, step, 2 * step + writes, writes, TILES, first, end, what)


def alias_program(*uses: Use, live: str = "long") -> Lifetimes:
    """`x` in steps 0 to 5, and `y` that is its bytes."""
    x = Block("x", 64, TILES, 4096, ((0, 6),))
    y = replace(x, name="y", parent=0, live=((1, 6),) if live == "long" else ((3, 6),))
    return Lifetimes(blocks_of(x, y), uses)


def test_accepts_an_in_place_result_after_the_last_read() -> None:
    alias_program(
        use(0, 0, True), use(0, 1, False), use(1, 1, True), use(1, 2, False)
    ).check()


def test_refuses_an_in_place_result_before_the_last_read() -> None:
    """Case 136: x is read in step 3, but its alias y was written over it in step 1."""
    program = alias_program(
        use(0, 0, True), use(0, 1, False), use(1, 1, True), use(0, 3, False)
    )
    with pytest.raises(
        Disproof, match="write 1 has overwritten it on tile 0 in step 1"
    ):
        program.check()


def test_accepts_pieces_written_through_aliases() -> None:
    """A whole whose first half is a piece in place and whose rest arrives later."""
    rest = replace(
        use(0, 1, True, 32, 64),
        stretches=lambda: Stretches(TILES, TILES * 0 + 32, TILES * 0 + 64),
    )
    x = Block("x", 64, TILES, 4096, ((1, 6),))
    piece = Block("piece", 32, TILES, 4096, ((0, 3),), parent=0)
    uses = [use(1, 0, True, 0, 32), rest, use(1, 2, False, 0, 32), use(0, 3, False)]
    Lifetimes(blocks_of(x, piece), uses).check()


def test_refuses_a_piece_that_is_overwritten() -> None:
    x = Block("x", 64, TILES, 4096, ((1, 6),))
    piece = Block("piece", 32, TILES, 4096, ((0, 3),), parent=0)
    uses = [use(1, 0, True, 0, 32), use(0, 1, True, 16), use(1, 2, False, 0, 32)]
    with pytest.raises(Disproof, match="write 1 has overwritten it"):
        Lifetimes(blocks_of(x, piece), uses).check()


def test_refuses_two_writers_in_one_step() -> None:
    """Case 137: [0, 153600) of `data` written by two calls of step 7; halves do."""
    data = Block("data", 153600, TILES, 8192, ((7, 9),))
    first = Use(0, 7, 14, True, TILES[3:], 0, 153600, "worker 0")
    second = Use(0, 7, 15, True, TILES[3:], 0, 153600, "worker 1")
    read = Use(0, 8, 20, False, TILES[3:], 0, 153600, "read")
    blocks = blocks_of(data, steps=9)
    message = r"worker 0 and worker 1 both write bytes \[0, 153600\) of data on tile 3"
    with pytest.raises(Disproof, match=message + " in step 7"):
        Lifetimes(blocks, [first, second, read]).check()
    low, high = replace(first, end=76800), replace(second, first=76800)
    Lifetimes(blocks, [low, high, read]).check()


def test_accepts_a_call_that_reads_what_one_before_it_wrote() -> None:
    data = Block("data", 64, TILES, 8192, ((0, 1),))
    uses = [
        Use(0, 0, 1, True, TILES, 0, 64, "first"),
        Use(0, 0, 2, False, TILES, 0, 64, "second"),
        Use(0, 0, 2, True, TILES, 0, 64, "second"),
    ]
    Lifetimes(blocks_of(data), uses).check()
    with pytest.raises(Disproof, match="nothing has written"):
        Lifetimes(blocks_of(data), [uses[1], uses[2]]).check()


def test_gaps_between_buffers_do_not_count() -> None:
    odd = Block("odd", 13, TILES, 4096, ((0, 1),), align=8)
    next = Block("next", 2, TILES, 4112, ((0, 1),), align=8)
    assert occupied(blocks_of(odd, next)).ever == 15


def test_exchanged_buffers_stay_off_the_elements_of_rows() -> None:
    """mini4's rows begin at 128; 1,921 bytes of them reach element 2."""
    x = Block("x", 64, TILES, 2176, ((0, 1),))
    check_rows_apart(MINI4, blocks_of(x), [0], 1920)
    with pytest.raises(Disproof, match=r"element 2 \[2048, 3072\), from which rows"):
        check_rows_apart(MINI4, blocks_of(x), [0], 1921)
    check_rows_apart(MINI4, blocks_of(x), [], 1921)


def test_zeros_in_padding_are_no_value() -> None:
    data = Block("data", 64, TILES, 8192, ((0, 3),))
    zeros = replace(use(0, 0, True), partly=True)
    value = use(0, 1, True)
    Lifetimes(blocks_of(data), [zeros, value, use(0, 2, False)]).check()
    with pytest.raises(Disproof, match="nothing has written"):
        Lifetimes(blocks_of(data), [zeros, use(0, 2, False)]).check()


# Cases from users of such tools


def test_memory_case_115_alias_beyond_its_buffer() -> None:
    """Case 115: a piece that claims the size of the whole is not inside it."""
    whole = Block("whole", 64, TILES, 4096, ((0, 1),))
    piece = Block("piece", 64, TILES, 4112, ((0, 1),), parent=0, offset=16)
    with pytest.raises(Disproof, match=r"piece \[4112, 4176\) is not inside whole"):
        check_addresses(MINI4, blocks_of(whole, piece), 2048, 0)


def test_memory_case_102_pinned_buffers_overlap() -> None:
    b0 = Block("b0", 800, TILES, 0, ((0, 4),))
    b2 = Block("b2", 4096, TILES, 512, ((0, 4),))
    with pytest.raises(Disproof, match=r"b0 \[0, 800\) and b2 \[512, 4608\) share"):
        check_no_overlap(blocks_of(b0, b2))


def test_memory_case_101_buffers_may_cross_elements() -> None:
    """Case 101: a buffer larger than any element lies across several."""
    big = Block("l2_in_0", 8192, TILES, 4096, ((0, 6),))
    small = Block("small", 512, TILES, 12288, ((0, 6),))
    check_addresses(MINI4, blocks_of(big, small), 2048, 0)
    check_no_overlap(blocks_of(big, small))
    with pytest.raises(Disproof, match=r"must be apart, but both touch .* element 9"):
        check_apart(MINI4, blocks_of(big, replace(small, address=12280)), [(0, 1)])


def test_memory_case_107_nothing_takes_no_place() -> None:
    z = Block("z", 0, TILES, 0, ((0, 5),))
    dead = Block("dead", 64, TILES, 0, ())
    k = Block("k", 16, TILES, 0, ((0, 5),))
    blocks = blocks_of(z, dead, k)
    check_no_overlap(blocks)
    assert occupied(blocks).ever == 16


def test_memory_case_116_two_ends_meet() -> None:
    """Case 116: scratch from the bottom runs into the lowest tensor."""
    scratch = Block("scratch", 11433, TILES, 0, ((0, 1),))
    tensor = Block("tensor", 9000, TILES, 5569, ((0, 1),))
    with pytest.raises(Disproof, match="share 5864 bytes"):
        check_no_overlap(blocks_of(scratch, tensor))


def test_memory_case_134_a_gap_ends_what_was_written() -> None:
    """Case 134: a buffer that gives up its place in step 3 is not read in step 6."""
    a = Block("A", 100, TILES, 4096, ((0, 3), (6, 7)))
    uses = [use(0, 0, True), use(0, 2, False), use(0, 6, False)]
    with pytest.raises(Disproof, match="reads A on tile 0 in step 6, which nothing"):
        Lifetimes(blocks_of(a, steps=7), uses).check()
    again = use(0, 5, True)
    blocks = blocks_of(replace(a, live=((0, 3), (5, 7))), steps=7)
    Lifetimes(blocks, [*uses, again]).check()


# Against brute force


def random_blocks(rng: random.Random) -> Blocks:
    blocks: list[Block] = []
    for number in range(rng.randint(1, 6)):
        steps = sorted(rng.sample(range(7), rng.choice([0, 2, 2, 4])))
        ranges = tuple(zip(steps[::2], steps[1::2], strict=True))
        tiles = np.array(sorted(rng.sample(range(4), rng.randint(1, 4))), np.int64)
        size, address = rng.randint(0, 12), rng.randint(0, 30)
        blocks.append(Block(f"b{number}", size, tiles, address, ranges))
    return Blocks(blocks, 4, 6)


def meets(blocks: Blocks, tile: int, step: int) -> bool:
    """Whether two buffers that are alive there share a byte."""
    sets = held(blocks, tile, step)
    return len(together(sets)) < sum(map(len, sets))


def together(sets: list[set[int]]) -> set[int]:
    return {address for one in sets for address in one}


def held(blocks: Blocks, tile: int, step: int) -> list[set[int]]:
    """The addresses of each buffer that is alive on a tile in a step."""
    return [
        set(range(b.address, b.end))
        for b in blocks.blocks
        if tile in b.tiles and any(first <= step < end for first, end in b.live)
    ]


def test_overlaps_and_bytes_agree_with_brute_force() -> None:
    rng = random.Random(3)
    overlaps = 0
    for _ in range(400):
        blocks = random_blocks(rng)
        where = [[held(blocks, t, s) for s in range(6)] for t in range(4)]
        clash = any(meets(blocks, t, s) for t in range(4) for s in range(6))
        found = occupied(blocks)
        ever = [len({a for sets in row for one in sets for a in one}) for row in where]
        assert found.ever == max(ever)
        peaks = [max(len(together(row[s])) for row in where) for s in range(6)]
        assert found.peaks.tolist() == peaks
        overlaps += clash
        if clash:
            with pytest.raises(Disproof, match="share"):
                check_no_overlap(blocks)
        else:
            check_no_overlap(blocks)
    assert 100 < overlaps < 300


def test_elements_agree_with_brute_force() -> None:
    edges = MINI4.element_edges()
    rng = random.Random(4)
    for _ in range(200):
        first = rng.choice(edges[:-1]) + rng.randint(-2, 2)
        end = max(first, rng.choice(edges) + rng.randint(-2, 2))
        first, end = max(first, 0), min(end, edges[-1])
        touched = {
            i
            for i in range(len(edges) - 1)
            if first < end and edges[i] < end and edges[i + 1] > first
        }
        assert set(elements(edges, first, end)) == touched


def random_program(rng: random.Random) -> tuple[list[Block], list[Use]]:
    """A program that is right: each step reads some values and writes a new one."""
    steps = rng.randint(2, 6)
    tiles = [sorted(rng.sample(range(4), rng.randint(2, 4))) for _ in range(steps)]
    last = list(range(steps))
    uses: list[Use] = []
    for step in range(steps):
        for value in rng.sample(range(step), min(step, rng.randint(0, 2))):
            where = np.array(tiles[value], np.int64)
            last[value] = step
            uses.append(Use(value, step, step, False, where, 0, 8, f"read {value}"))
        where = np.array(tiles[step], np.int64)
        uses.append(Use(step, step, step, True, where, 0, 8, f"write {step}"))
    blocks = [
        Block(f"v{v}", 8, np.array(tiles[v], np.int64), 8 * v, ((v, last[v] + 1),))
        for v in range(steps)
    ]
    return blocks, uses


def runs_right(blocks: list[Block], uses: list[Use], steps: int) -> bool:
    """Runs the program byte by byte: each read finds its own buffer's last write."""
    memory: dict[tuple[int, int], tuple[int, int]] = {}
    written: dict[tuple[int, int], tuple[int, int]] = {}
    for step in range(steps):
        for number, block in enumerate(blocks):
            if not any(first <= step < end for first, end in block.live):
                for tile in range(4):
                    written.pop((number, tile), None)
        for u in sorted((u for u in uses if u.step == step), key=lambda u: u.moment):
            block = blocks[u.block]
            alive = any(first <= step < end for first, end in block.live)
            if not alive or not set(u.tiles.tolist()) <= set(block.tiles.tolist()):
                return False
            for tile in u.tiles.tolist():
                places = [(tile, a) for a in range(block.address, block.end)]
                tag = (u.block, step)
                if u.writes:
                    written[u.block, tile] = tag
                    memory.update(dict.fromkeys(places, tag))
                    continue
                wanted = written.get((u.block, tile))
                if wanted is None or any(memory.get(p) != wanted for p in places):
                    return False
    return True


def shrink_front(rng: random.Random, block: Block) -> Block:
    (first, end), *_ = block.live
    return replace(block, live=((first + 1, end),) if end > first + 1 else ())


def shrink_back(rng: random.Random, block: Block) -> Block:
    (first, end), *_ = block.live
    return replace(block, live=((first, end - 1),) if end > first + 1 else ())


def stretch(rng: random.Random, block: Block) -> Block:
    (first, end), *_ = block.live
    return replace(block, live=((max(0, first - 1), end + 1),))


def split(rng: random.Random, block: Block) -> Block:
    (first, end), *_ = block.live
    middle = (first + end) // 2
    if not first < middle < end:
        return block
    return replace(block, live=((first, middle), (middle + 1, end)))


def shift(rng: random.Random, block: Block) -> Block:
    return replace(block, address=block.address + rng.choice([-8, -4, 4, 8]))


def lose_tile(rng: random.Random, block: Block) -> Block:
    return replace(block, tiles=np.delete(block.tiles, rng.randrange(len(block.tiles))))


CHANGES: list[Callable[[random.Random, Block], Block]] = [
    shrink_front,
    shrink_back,
    stretch,
    split,
    shift,
    lose_tile,
]


@pytest.mark.parametrize("change", CHANGES)
def test_changed_buffers_are_refused_or_equivalent(
    change: Callable[[random.Random, Block], Block],
) -> None:
    """100 changes of each kind: accepted only where each read still finds its value
    and no two living buffers meet; whoever accepts more or less fails."""
    rng = random.Random(11)
    refused = 0
    for _ in range(100):
        blocks, uses = random_program(rng)
        steps = len(blocks)
        Lifetimes(Blocks(blocks, 4, steps), uses).check()
        number = rng.randrange(len(blocks))
        blocks[number] = change(rng, blocks[number])
        kept = [
            replace(b, live=tuple((f, min(e, steps)) for f, e in b.live if f < e))
            for b in blocks
        ]
        table = Blocks(kept, 4, steps)
        clash = any(meets(table, t, s) for t in range(4) for s in range(steps))
        right = runs_right(kept, uses, steps) and not clash
        try:
            check_no_overlap(table)
            Lifetimes(table, uses).check()
        except Disproof:
            refused += 1
            assert not right
        else:
            assert right
    assert (refused > 20) == (change is not stretch and change is not split) or (
        refused > 0
    )


def test_a_lost_use_is_found() -> None:
    """Without one write, or one tile of it, some read finds nothing."""
    rng = random.Random(12)
    for _ in range(100):
        blocks, uses = random_program(rng)
        table = Blocks(blocks, 4, len(blocks))
        reads = {u.block for u in uses if not u.writes}
        writes = [i for i, u in enumerate(uses) if u.writes and u.block in reads]
        if not writes:
            continue
        at = rng.choice(writes)
        lost = [*uses[:at], *uses[at + 1 :]]
        with pytest.raises(Disproof, match="nothing has written"):
            Lifetimes(table, lost).check()
        fewer = replace(uses[at], tiles=uses[at].tiles[1:])
        with pytest.raises(Disproof, match="nothing has written"):
            Lifetimes(table, [*uses[:at], fewer, *uses[at + 1 :]]).check()


def test_arguments_are_there_before_all_steps() -> None:
    x = Block("x", 64, TILES, 4096, ((0, 3),))
    bind = Use(0, 0, BEFORE_ALL, True, TILES, 0, 64, "input")
    Lifetimes(blocks_of(x), [bind, use(0, 2, False)]).check()
    gap = replace(x, live=((0, 1), (2, 3)))
    with pytest.raises(Disproof, match="nothing has written since step 2"):
        Lifetimes(blocks_of(gap), [bind, use(0, 2, False)]).check()
