"""A lower bound on the footprint that element pairs and regions force, compiled.

Reads   boxes, their conflicts, the class of tiles with the largest live peak.
Writes  bytes below which no placement of that class lies.
Holds   complete on the largest few boxes, the others left out: what these need, all
        need. Alignment is left out too. Boxes that are always alive share no byte.

Method: some least placement has every box flush with another one or with an element
border or the end of a region: else a group of boxes that touch could be shifted until
it is, and nothing grew. So boxes go in one by one, each at all such places; a branch
ends when some box to come adds more than may be added. Of two boxes that do not depend
on each other the first in order goes first.
"""

from __future__ import annotations

import numpy as np
from numba import int64, types

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.compiled import inner, outer
from tiledialect.placement.live import granule, live_table
from tiledialect.placement.mend import (
    ADDRESS,
    ALIGN,
    BYTES,
    FIRST,
    LAST,
    OUT,
    PADDED,
    PHASE,
    SCORE,
    SPENT,
    TABLES,
    Tables,
    find_free,
    measure,
    tables,
)
from tiledialect.placement.problem import Bools, Ints

NODES = 200_000  # in all
CHOICES = 4096  # places listed at once
FOUND, NONE, LIMIT = 1, 0, -1

# Columns of a choice: a box, its place, 1 where another order has it.
BOX, PLACE, ELSEWHERE = range(3)
# Columns of a frame: its choices are rows [FROM, UNTIL) of the list, NEXT is the next
# one to try; the box placed last.
FROM, UNTIL, NEXT, PLACED = range(4)

_TABLE = types.Array(int64, 2, "C")


@inner(int64(TABLES, int64, int64))
def _added(t: Tables, box: int, place: int) -> int:
    """Bytes that a box adds at a place."""
    end = place + t.box[box, BYTES]
    new = end - place
    for i in range(t.pieces[0]):
        low = max(place, t.cover[0, i])
        new -= max(0, min(end, t.cover[1, i]) - low)
    return new


@inner(int64(TABLES, _TABLE, int64, int64, int64, int64, int64))
def _offer(
    t: Tables, choices: Ints, begin: int, end: int, box: int, border: int, room: int
) -> int:
    """Adds the places next to a border that keep within the room; the new end. The
    least that the box adds anywhere is kept in `best`."""
    for down in range(2):
        place = border - t.box[box, BYTES] * down
        fits = False
        for i in range(t.best[1]):
            stop = place + t.box[box, BYTES]
            fits = fits or (t.taken[0, i] <= place and stop <= t.taken[1, i])
        for k in range(begin, end):
            same = choices[k, BOX] == box and choices[k, PLACE] == place
            fits = fits and not same
        if fits:
            added = _added(t, box, place)
            t.best[0] = min(t.best[0], added)
            if added <= room and end < len(choices):
                choices[end, BOX], choices[end, PLACE] = box, place
                end += 1
    return end


@inner(int64(TABLES, int64, int64))
def _border(t: Tables, box: int, number: int) -> int:
    """A border that a box may be flush with, by number; OUT for none: both sides of
    each box placed, those of elements, the ends of the box's region."""
    other = number // 2
    if other < len(t.box):
        start = t.box[other, ADDRESS]
        side = t.box[other, BYTES] * (number % 2)
        return OUT if start == OUT else start + side
    number -= 2 * len(t.box)
    if number < len(t.edges):
        return t.edges[number]
    end = t.box[box, LAST] + t.box[box, BYTES]
    return t.box[box, FIRST] if number == len(t.edges) else end


@inner(types.void(_TABLE, int64, int64, int64, int64))
def _mark(choices: Ints, before: int, begin: int, end: int, last: int) -> None:
    """Marks what could be placed before the last box too, of boxes before that one."""
    for k in range(begin, end):
        choices[k, ELSEWHERE] = 0
        for j in range(before, begin):
            same = choices[j, BOX] == choices[k, BOX]
            if same and choices[j, PLACE] == choices[k, PLACE]:
                choices[k, ELSEWHERE] = choices[k, BOX] < last


@inner(int64(TABLES, _TABLE, int64, int64))
def _expand(t: Tables, choices: Ints, begin: int, most: int) -> int:
    """Lists what may be placed next from `begin` on, within `most` bytes in all; the
    end of the list, which is `begin` where some box has no place."""
    measure(t)
    room, end = most - t.state[SCORE], begin
    for box in range(len(t.box)):
        if t.box[box, ADDRESS] != OUT:
            continue
        t.best[0] = room + 1
        t.best[1] = find_free(t, box)
        for i in range(2 * len(t.box) + len(t.edges) + 2):
            border = _border(t, box, i)
            if border != OUT:
                end = _offer(t, choices, begin, end, box, border, room)
        if t.best[0] > room:
            return begin
    return end


@outer(int64(TABLES, _TABLE, _TABLE, int64, int64))
def _search(t: Tables, choices: Ints, frames: Ints, most: int, nodes: int) -> int:
    """Whether boxes fit into `most` bytes: FOUND, NONE or LIMIT."""
    depth, last, before, begin = 0, OUT, 0, 0
    while depth >= 0:
        f = frames[depth]
        if begin == f[FROM]:  # a frame that is new
            f[NEXT], f[UNTIL] = begin, _expand(t, choices, begin, most)
            _mark(choices, before, begin, f[UNTIL], last)
            begin = OUT
            if f[UNTIL] == len(choices):
                return LIMIT
        if f[NEXT] == f[UNTIL]:
            if depth > 0:
                t.box[f[PLACED], ADDRESS] = OUT
            depth -= 1
            continue
        choice = choices[f[NEXT]]
        f[NEXT] += 1
        if choice[ELSEWHERE]:
            continue
        t.state[SPENT] += 1
        if t.state[SPENT] > nodes:
            return LIMIT
        last, before, begin = choice[BOX], f[FROM], f[UNTIL]
        t.box[last, ADDRESS] = choice[PLACE]
        depth += 1
        if depth == len(t.box):
            return FOUND
        frames[depth, FROM], frames[depth, PLACED] = begin, last
    return NONE


def _fits(every: Tables, chosen: Ints, most: int, nodes: int) -> tuple[int, int]:
    """Whether the chosen boxes alone fit into `most` bytes, and nodes spent."""
    count = len(chosen)
    box = every.box[chosen]
    box[:, PADDED], box[:, ALIGN], box[:, PHASE] = box[:, BYTES], 1, 0
    box[:, ADDRESS] = OUT
    some = every._replace(
        box=box,
        relation=np.ascontiguousarray(every.relation[np.ix_(chosen, chosen)]),
        held=np.ones((1, count), np.int64),
    )
    choices = np.zeros((CHOICES, ELSEWHERE + 1), np.int64)
    frames = np.zeros((count + 1, PLACED + 1), np.int64)
    some.state[SPENT] = 0
    answer = _search(some, choices, frames, most, nodes)
    return int(answer), int(some.state[SPENT])


def raised_bound(
    boxes: Boxes, conflicts: Bools, bound: int, footprint: int, count: int
) -> tuple[int, int]:
    """A lower bound of at least `bound`, up to the footprint found, by the `count`
    largest boxes; and nodes spent."""
    live = live_table(boxes, boxes.bytes)
    here = np.flatnonzero(boxes.classes[:, int(live.max(axis=1).argmax())])
    every, spent = tables(boxes, conflicts, boxes.classes.T), 0
    if every is None:
        return bound, 0
    chosen, apart = _chosen(boxes, conflicts, here, count)
    unit = granule(boxes)  # every footprint is a multiple of it
    low, high = bound, footprint
    middle = high - 1
    while low < high and spent < NODES:
        answer, nodes = _fits(every, chosen, middle - apart, NODES - spent)
        spent += nodes
        if answer == NONE:
            low = middle + 1 + -(middle + 1) % unit
        else:
            high = middle + 1 - unit
        middle = (low + high) // 2 // unit * unit + unit - 1
        middle = min(middle, high - 1)
    return min(max(low, bound), footprint), spent


def _chosen(boxes: Boxes, conflicts: Bools, here: Ints, count: int) -> tuple[Ints, int]:
    """The largest boxes that share bytes, and the bytes of those that never do."""
    if here.size <= count:
        return here, 0
    in_way = conflicts[np.ix_(here, here)].sum(axis=1) == here.size - 1
    order = here[~in_way][np.argsort(-boxes.bytes[here[~in_way]], kind="stable")]
    return np.sort(order[:count]), int(boxes.bytes[here[in_way]].sum())
