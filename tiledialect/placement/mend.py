"""Mending a footprint, compiled: some boxes are taken out and put back elsewhere.

Reads   a full placement as flat tables (`Tables`), a goal, a number of boxes to put in.
Writes  the addresses with the smallest footprint found.
Holds   every placement keeps all rules; none is worse than the one before.

Method: two to eight boxes that lie close together, or any, are lifted; larger ones go
back first, each where the largest class grows least; of equally good places the lowest
or any one. Random numbers are of the generator's own, so one problem has one answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, int64, types

from tiledialect.placement.boxes import Boxes
from tiledialect.placement.compiled import inner, outer
from tiledialect.placement.problem import Bools, Ints

BYTES, PADDED, ALIGN, PHASE, FIRST, LAST, ADDRESS, KEPT = range(8)
OUT = -1
MEETS, APART = 1, 2  # in one step; in no common element
SCORE, SUM, SPENT, STATE = range(4)
FAR = 1 << 62
MOST = 8  # boxes lifted at a time
SMALL = 1 << 48
"""Addresses below this, so that no sum of a few leaves 64 bits."""


class Tables(NamedTuple):
    """A problem, its placement and scratch, in a few tables."""

    box: Ints  # (boxes, columns)
    relation: Ints  # (boxes, boxes): MEETS, APART, both or 0
    held: Ints  # (classes, boxes): 1 where a box exists on a class
    edges: Ints  # element borders
    taken: Ints  # (2, boxes): stretches in the way of a box, or free for it
    cover: Ints  # (2 * classes, boxes): occupied stretches of each class
    pieces: Ints  # (classes,): how many there are
    total: Ints  # (classes,): and their bytes
    best: Ints  # of a box's places: largest class, bytes added, tie, address
    state: Ints  # score, sum of all classes, boxes put in, random state
    chosen: Ints  # boxes lifted


_LIST, _TABLE = types.Array(int64, 1, "C"), types.Array(int64, 2, "C")
TABLES = types.NamedTuple(
    (
        *(_TABLE, _TABLE, _TABLE, _LIST, _TABLE, _TABLE),
        *(_LIST, _LIST, _LIST, _LIST, _LIST),
    ),
    Tables,
)


@inner(int64(TABLES, int64))
def _random(t: Tables, below: int) -> int:
    """A random number of 0 to below - 1."""
    t.state[STATE] = t.state[STATE] * 6364136223846793005 + 1442695040888963407
    return ((t.state[STATE] >> 33) & 0x7FFFFFFF) % below


@inner(int64(_TABLE, int64, int64, int64, int64))
def _insert(table: Ints, row: int, count: int, start: int, end: int) -> int:
    """Adds a stretch to those of two rows, sorted by where they start."""
    i = count
    while i > 0 and table[row, i - 1] > start:
        table[row, i], table[row + 1, i] = table[row, i - 1], table[row + 1, i - 1]
        i -= 1
    table[row, i], table[row + 1, i] = start, end
    return count + 1


@inner(int64(TABLES, int64))
def find_free(t: Tables, box: int) -> int:
    """Finds the free stretches for a box; how many there are."""
    count = 0
    for other in range(len(t.box)):
        start = t.box[other, ADDRESS]
        if start == OUT or t.relation[box, other] == 0:
            continue
        end = start + t.box[other, BYTES]
        if t.relation[box, other] & APART:
            whole_start, whole_end = -FAR, FAR
            for edge in t.edges:
                if edge <= start:
                    whole_start = edge
                if edge >= end:
                    whole_end = min(whole_end, edge)
            start, end = whole_start, whole_end
        count = _insert(t.taken, 0, count, start, end)
    found, reach = 0, t.box[box, FIRST]
    last = t.box[box, LAST] + t.box[box, BYTES]
    for i in range(count + 1):
        until = min(t.taken[0, i], last) if i < count else last
        end = t.taken[1, i] if i < count else last
        if until - reach >= t.box[box, BYTES]:
            t.taken[0, found], t.taken[1, found] = reach, until
            found += 1
        reach = max(reach, end)
    return found


@inner(types.void(TABLES))
def measure(t: Tables) -> None:
    """Finds what each class occupies; the score is the most, then the sum of all."""
    t.state[SCORE], t.state[SUM] = 0, 0
    for one in range(len(t.held)):
        count = 0
        for box in range(len(t.box)):
            start = t.box[box, ADDRESS]
            if start != OUT and t.held[one, box]:
                end = start + t.box[box, PADDED]
                count = _insert(t.cover, 2 * one, count, start, end)
        total, reach, found = 0, -FAR, 0
        for i in range(count):
            start, end = t.cover[2 * one, i], t.cover[2 * one + 1, i]
            total += max(0, end - max(start, reach))
            if found and start <= reach:
                t.cover[2 * one + 1, found - 1] = max(reach, end)
            else:
                t.cover[2 * one, found], t.cover[2 * one + 1, found] = start, end
                found += 1
            reach = max(reach, end)
        t.pieces[one], t.total[one] = found, total
        t.state[SCORE] = max(t.state[SCORE], total)
        t.state[SUM] += total


@inner(types.void(TABLES, int64, int64, int64))
def _try(t: Tables, box: int, place: int, tie: int) -> None:
    """Keeps a place of a box if the largest class grows less than at the best so far,
    or as much and all classes together less, or these too and the tie is lower."""
    end = place + t.box[box, PADDED]
    worst, added = 0, 0
    for one in range(len(t.held)):
        new = 0
        if t.held[one, box]:
            new = end - place
            for i in range(t.pieces[one]):
                low = max(place, t.cover[2 * one, i])
                new -= max(0, min(end, t.cover[2 * one + 1, i]) - low)
        worst = max(worst, t.total[one] + new)
        added += new
    best = t.best
    if worst > best[0] or (worst == best[0] and added > best[1]):
        return
    if worst == best[0] and added == best[1] and tie >= best[2]:
        return
    best[0], best[1], best[2], best[3] = worst, added, tie, place


@inner(types.void(TABLES, int64, int64, int64, int64))
def _try_border(t: Tables, box: int, border: int, free: int, anywhere: int) -> None:
    """Tries the places next to a border: above it and below it."""
    for down in range(2):
        place = border - t.box[box, PADDED] * down
        slack = (t.box[box, PHASE] - place) % t.box[box, ALIGN]
        place += slack - t.box[box, ALIGN] * (down and slack > 0)
        for i in range(free):
            if t.taken[0, i] <= place and place + t.box[box, BYTES] <= t.taken[1, i]:
                _try(t, box, place, _random(t, FAR >> 31) if anywhere else place)


@inner(boolean(TABLES, int64, int64))
def _put(t: Tables, box: int, anywhere: int) -> bool:
    """Puts a box where the largest class grows least; False: there is no place."""
    measure(t)
    free = find_free(t, box)
    t.best[0], t.best[3] = FAR, OUT
    for i in range(free):
        _try_border(t, box, t.taken[0, i], free, anywhere)
        end = t.taken[1, i] + t.box[box, PADDED] - t.box[box, BYTES]
        _try_border(t, box, end, free, anywhere)
    for other in range(len(t.box)):
        start = t.box[other, ADDRESS]
        if start != OUT:
            _try_border(t, box, start, free, anywhere)
            _try_border(t, box, start + t.box[other, PADDED], free, anywhere)
    for edge in t.edges:
        _try_border(t, box, edge, free, anywhere)
    t.box[box, ADDRESS] = t.best[3]
    t.state[SPENT] += 1
    return t.best[3] != OUT


@inner(int64(TABLES, int64))
def _lift(t: Tables, most: int) -> int:
    """Takes up to `most` boxes out that are not pinned; larger ones come first."""
    count, seed = 2 + _random(t, most - 1), _random(t, len(t.box))
    near, middle = _random(t, 2), t.box[seed, ADDRESS]
    for box in range(len(t.box)):
        order = abs(t.box[box, ADDRESS] - middle) if near else _random(t, FAR >> 31)
        pinned = t.box[box, FIRST] == t.box[box, LAST]
        _insert(t.taken, 0, box, FAR if pinned else order, box)
    lifted, largest = 0, 0
    for i in range(min(count, len(t.box))):
        if t.taken[0, i] < FAR:
            largest = max(largest, t.box[t.taken[1, i], BYTES])
            lifted += 1
    for i in range(lifted):
        box = t.taken[1, i]
        noise = _random(t, FAR >> 31) % (1 + largest)
        _insert(t.cover, 0, i, -t.box[box, BYTES] - noise, box)
        t.box[box, ADDRESS] = OUT
    return lifted


@outer(types.void(TABLES, int64, int64))
def _mend(t: Tables, goal: int, moves: int) -> None:
    """Lifts and puts back until the score is the goal or the boxes are put in."""
    measure(t)
    score, total = t.state[SCORE], t.state[SUM]
    while score > goal and t.state[SPENT] < moves:
        lifted = _lift(t, MOST)
        t.state[SPENT] += lifted == 0
        for i in range(lifted):
            t.chosen[i] = t.cover[1, i]
        anywhere, full = _random(t, 2), True
        for i in range(lifted):
            full = full and _put(t, t.chosen[i], anywhere)
        measure(t)
        better = t.state[SCORE] < score
        as_good = t.state[SCORE] == score and t.state[SUM] <= total
        if full and (better or as_good):
            score, total = t.state[SCORE], t.state[SUM]
            for box in range(len(t.box)):
                t.box[box, KEPT] = t.box[box, ADDRESS]
        else:
            for box in range(len(t.box)):
                t.box[box, ADDRESS] = t.box[box, KEPT]


def tables(boxes: Boxes, conflicts: Bools, held: Bools) -> Tables | None:
    """The tables of a problem; None where addresses are too large for them."""
    count, classes = len(boxes), len(held)
    if int((boxes.last + boxes.padded).max()) >= SMALL:
        return None
    relation = conflicts.astype(np.int64) * MEETS
    one, two = boxes.apart[:, 0], boxes.apart[:, 1]
    relation[one, two] |= APART
    relation[two, one] |= APART
    box = np.empty((count, KEPT + 1), np.int64)
    rules = (
        boxes.bytes,
        boxes.padded,
        boxes.align,
        boxes.phase,
        boxes.first,
        boxes.last,
    )
    for column, rule in enumerate(rules):
        box[:, column] = rule
    edges = boxes.edges[(boxes.edges > -SMALL) & (boxes.edges < SMALL)]
    return Tables(
        box,
        relation,
        held.astype(np.int64),
        np.ascontiguousarray(edges),
        np.zeros((2, count + 1), np.int64),
        np.zeros((2 * max(classes, 1), count + 1), np.int64),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(4, np.int64),
        np.zeros(4, np.int64),
        np.zeros(count, np.int64),
    )


def mend(
    t: Tables, address: Ints, goal: int, moves: int, seed: int
) -> tuple[Ints, int]:
    """The best placement found from one, and the boxes put in to find it."""
    t.box[:, ADDRESS] = t.box[:, KEPT] = address
    t.state[SPENT], t.state[STATE] = 0, seed
    _mend(t, goal, moves)
    return t.box[:, KEPT].copy(), int(t.state[SPENT])
