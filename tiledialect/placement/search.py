"""The complete search, compiled: boxes go in from the lowest address upwards.

Reads   Tables (one problem as flat arrays), a bound on every end address.
Writes  addresses below the bound, or the proof that there are none.
Holds   complete: NONE is returned only where no placement keeps the bound.

Any placement can be pushed down until each box lies at the least address that
the boxes below it allow, so it is enough to try boxes in order of (address,
rank), each at its least address. A branch ends when
- a box was pushed past its last address;
- in some row (boxes alive together) the bytes to come do not fit above the
  least address that any of them can have;
- an unplaced box could lie entirely below what comes next: it had its turn;
- the box just tried has no neighbour to come: no other choice can do better.
Where no unplaced box crosses a row's border, both sides are solved apart.
"""

# numba's decorators are untyped; the arrays inside are typed by their classes.
# pyright: reportUntypedFunctionDecorator=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tiledialect.placement.problem import Ints

FOUND, NONE, LIMIT, OPEN, DEAD = 1, 0, -1, 2, 3
FRESH, CHOICE, SPLIT = 0, 1, 2  # modes of a frame
MODE, BEGIN, END, LEAST, POSITION, MARK, TOP, BOX, PART, PARTS = range(10)
FAR = 1 << 62


class Tables(NamedTuple):
    """One problem; a name with _at holds the borders of the list beside it."""

    size: Ints
    align: Ints
    phase: Ints
    first: Ints
    last: Ints
    width: Ints  # rows or steps that a box spans: its weight in a rank
    near_at: Ints
    near: Ints  # neighbours of each box
    near_apart: Ints  # 1 where the two must not share an element
    row_at: Ints
    row: Ints  # rows of each box
    span_low: Ints  # rows that a box and its element partners lie between
    span_high: Ints
    paired: Ints  # 1 where a box has an element partner
    edges: Ints


class State(NamedTuple):
    """What the search changes and takes back."""

    offset: Ints  # least address of each unplaced box
    address: Ints
    placed: Ints
    remaining: Ints  # bytes to come, by row
    floor: Ints  # scratch, by row
    part: Ints  # scratch, by row
    keys: Ints  # (3, boxes) scratch for ranks
    trail: Ints  # (2, many) boxes and the offsets they had
    pool: Ints  # lists of unplaced boxes in rank order, one after the other
    frames: Ints  # (depth, 10): the open lists, in the fields named above
    nodes: Ints  # spent, limit


@njit(cache=True)
def _past_element(edges: Ints, address: int) -> int:
    """The least element border that is not below an address."""
    index = np.searchsorted(edges, address)
    return edges[index] if index < len(edges) else FAR


@njit(cache=True)
def _rank(t: Tables, s: State, begin: int, end: int, kind: int) -> None:
    """Sorts a part by crowd (its most bytes to come in a row), width and area."""
    for i in range(begin, end):
        box = s.pool[i]
        crowd = 0
        for k in range(t.row_at[box], t.row_at[box + 1]):
            crowd = max(crowd, s.remaining[t.row[k]])
        area = t.size[box] * t.width[box]
        # Which key comes first: crowd, area or width.
        first, second, third = crowd, t.width[box], area
        if kind == 1:
            first, second, third = area, crowd, t.width[box]
        elif kind == 2:
            first, second, third = t.width[box], crowd, area
        s.keys[0, box], s.keys[1, box], s.keys[2, box] = first, second, third
    for i in range(begin + 1, end):
        box = s.pool[i]
        j = i - 1
        while j >= begin and _less(s.keys, s.pool[j], box):
            s.pool[j + 1] = s.pool[j]
            j -= 1
        s.pool[j + 1] = box


@njit(cache=True)
def _less(keys: Ints, one: int, two: int) -> bool:
    for k in range(3):
        if keys[k, one] != keys[k, two]:
            return keys[k, one] < keys[k, two]
    return False


@njit(cache=True)
def _put(t: Tables, s: State, box: int, bound: int, mark: int) -> int:
    """Places a box at its offset and raises its neighbours; the trail's new end,
    or -1 less that end when a neighbour has no place left."""
    start = s.offset[box]
    s.placed[box] = 1
    s.address[box] = start
    for k in range(t.row_at[box], t.row_at[box + 1]):
        s.remaining[t.row[k]] -= t.size[box]
    end = start + t.size[box]
    past = _past_element(t.edges, end) if t.paired[box] else end
    for k in range(t.near_at[box], t.near_at[box + 1]):
        other = t.near[k]
        least = past if t.near_apart[k] else end
        if s.placed[other] or least <= s.offset[other]:
            continue
        if t.align[other] > 1:
            least += (t.phase[other] - least) % t.align[other]
        s.trail[0, mark] = other
        s.trail[1, mark] = s.offset[other]
        mark += 1
        s.offset[other] = least
        if least > t.last[other] or least + t.size[other] > bound:
            return -1 - mark
    return mark


@njit(cache=True)
def _take_back(t: Tables, s: State, box: int, mark: int, top: int) -> None:
    """Undoes _put."""
    s.placed[box] = 0
    for k in range(t.row_at[box], t.row_at[box + 1]):
        s.remaining[t.row[k]] += t.size[box]
    for k in range(top - 1, mark - 1, -1):
        s.offset[s.trail[0, k]] = s.trail[1, k]


@njit(cache=True)
def _passed_over(t: Tables, s: State, box: int, least: int) -> int:
    """The least address of a box that had its turn before `least`: above one of its
    unplaced neighbours, which lies at `least` or higher."""
    smallest = FAR
    for k in range(t.near_at[box], t.near_at[box + 1]):
        other = t.near[k]
        if not s.placed[other] and t.size[other] < smallest:
            smallest = t.size[other]
    if smallest == FAR:
        return FAR
    start = least + smallest
    return start + (t.phase[box] - start) % t.align[box]


@njit(cache=True)
def _crowded(
    t: Tables, s: State, begin: int, end: int, least: int, position: int, bound: int
) -> bool:
    """Whether some row's bytes to come exceed the room above their least address."""
    low, high = len(s.floor), 0
    for i in range(begin, end):
        low = min(low, t.span_low[s.pool[i]])
        high = max(high, t.span_high[s.pool[i]])
    for r in range(low, high):
        s.floor[r] = FAR
    for i in range(begin, end):
        box = s.pool[i]
        start = s.offset[box]
        if start < least or (start == least and i - begin < position):
            start = _passed_over(t, s, box, least)
        if start > t.last[box] or start + t.size[box] > bound:
            return True
        for k in range(t.row_at[box], t.row_at[box + 1]):
            s.floor[t.row[k]] = min(s.floor[t.row[k]], start)
    for r in range(low, high):
        if s.floor[r] < FAR and s.floor[r] + s.remaining[r] > bound:
            return True
    return False


@njit(cache=True)
def _split(t: Tables, s: State, begin: int, end: int) -> int:
    """Counts the parts that no box connects; part[r] is that of a row."""
    low, high = len(s.part), 0
    for i in range(begin, end):
        low = min(low, t.span_low[s.pool[i]])
        high = max(high, t.span_high[s.pool[i]])
    for r in range(low, high):
        s.part[r] = 0
    for i in range(begin, end):
        r = t.span_low[s.pool[i]]
        s.part[r] = max(s.part[r], t.span_high[s.pool[i]])
    count, until = 0, -1
    for r in range(low, high):
        if s.part[r] > 0:
            count += r >= until
            until = max(until, s.part[r])
        s.part[r] = count - 1
    return count


@njit(cache=True)
def _open_split(t: Tables, s: State, depth: int, count: int) -> None:
    """Makes a frame one of parts: behind its list follow the same boxes part by
    part (the most crowded first), their offsets, and the parts' borders."""
    f = s.frames[depth]
    begin, end = f[BEGIN], f[END]
    crowd = np.zeros(count, np.int64)
    for i in range(begin, end):
        box = s.pool[i]
        p = s.part[t.span_low[box]]
        for k in range(t.row_at[box], t.row_at[box + 1]):
            crowd[p] = max(crowd[p], s.remaining[t.row[k]])
    stop, borders = end, end + 2 * (end - begin)
    s.pool[borders] = end
    for p in range(count):
        tightest = int(np.argmax(crowd))
        crowd[tightest] = -1
        for i in range(begin, end):
            if s.part[t.span_low[s.pool[i]]] == tightest:
                s.pool[stop] = s.pool[i]
                s.pool[stop + end - begin] = s.offset[s.pool[i]]
                stop += 1
        s.pool[borders + p + 1] = stop
    f[MODE], f[PART], f[PARTS] = SPLIT, 0, count


@njit(cache=True)
def _open_part(t: Tables, s: State, depth: int, kind: int) -> None:
    """A frame above for the next part of a frame of parts, ranked by itself."""
    f = s.frames[depth]
    borders = f[END] + 2 * (f[END] - f[BEGIN])
    low, high = s.pool[borders + f[PART]], s.pool[borders + f[PART] + 1]
    begin = borders + f[PARTS] + 1
    s.pool[begin : begin + high - low] = s.pool[low:high]
    _rank(t, s, begin, begin + high - low, kind)
    _open(s, depth + 1, begin, begin + high - low, f[LEAST], 0, f[MARK])


@njit(cache=True)
def _undo_parts(t: Tables, s: State, depth: int) -> None:
    """Takes back the parts found before one that failed."""
    f = s.frames[depth]
    length = f[END] - f[BEGIN]
    failed = s.pool[f[END] + 2 * length + f[PART]]
    for i in range(f[END], failed):
        _take_back(t, s, s.pool[i], 0, 0)
    for i in range(f[END], f[END] + length):
        s.offset[s.pool[i]] = s.pool[i + length]


@njit(cache=True)
def _open(
    s: State, depth: int, begin: int, end: int, least: int, position: int, mark: int
) -> None:
    """A fresh frame: place pool[begin:end] at `least` or above."""
    f = s.frames[depth]
    f[MODE], f[BEGIN], f[END], f[LEAST] = FRESH, begin, end, least
    f[POSITION], f[MARK] = position, mark


@njit(cache=True)
def _next_choice(
    t: Tables, s: State, begin: int, end: int, least: int, position: int
) -> int:
    """The place in the pool of the next box by (offset, rank), or -1."""
    chosen, where, shelf = -1, FAR, FAR
    for i in range(begin, end):
        box = s.pool[i]
        start = s.offset[box]
        if start + t.size[box] < shelf:
            top = start + t.size[box]
            shelf = min(shelf, _past_element(t.edges, top) if t.paired[box] else top)
        after = start > least or (start == least and i - begin >= position)
        if after and start < where:
            chosen, where = i, start
    return chosen if where < shelf else -1


@njit(cache=True)
def _has_neighbour(t: Tables, s: State, box: int) -> bool:
    """Whether an unplaced neighbour of the box is left."""
    for k in range(t.near_at[box], t.near_at[box + 1]):
        if not s.placed[t.near[k]]:
            return True
    return False


@njit(cache=True)
def _try_next(t: Tables, s: State, depth: int, bound: int) -> int:
    """Places the next box of a frame and opens a frame for the rest: OPEN; DEAD
    where the box has no future there; NONE when no box is left to try."""
    f = s.frames[depth]
    begin, end = f[BEGIN], f[END]
    chosen = _next_choice(t, s, begin, end, f[LEAST], f[POSITION])
    if chosen < 0:
        return NONE
    s.nodes[0] += 1
    if s.nodes[0] > s.nodes[1]:
        return LIMIT
    box = s.pool[chosen]
    f[BOX], f[LEAST], f[POSITION] = box, s.offset[box], chosen - begin
    top = _put(t, s, box, bound, f[MARK])
    f[TOP] = top if top >= 0 else -1 - top
    if top < 0:
        return DEAD
    stop = end
    for i in range(begin, end):
        if i != chosen:
            s.pool[stop] = s.pool[i]
            stop += 1
    if _crowded(t, s, end, stop, f[LEAST], f[POSITION], bound):
        return DEAD
    _open(s, depth + 1, end, stop, f[LEAST], f[POSITION], top)
    return OPEN


@njit(cache=True)
def _go_on(t: Tables, s: State, depth: int, kind: int, bound: int) -> int:
    """One step down from a frame: OPEN when a frame above it waits."""
    f = s.frames[depth]
    if f[MODE] == FRESH:
        if f[BEGIN] == f[END]:
            return FOUND
        f[MODE] = CHOICE
        count = _split(t, s, f[BEGIN], f[END])
        if count > 1:
            _open_split(t, s, depth, count)
    if f[MODE] == CHOICE:
        return _try_next(t, s, depth, bound)
    if f[PART] == f[PARTS]:
        return FOUND
    _open_part(t, s, depth, kind)
    return OPEN


@njit(cache=True)
def _after_none(t: Tables, s: State, depth: int) -> int:
    """What a frame answers when the one above it found nothing."""
    f = s.frames[depth]
    if f[MODE] == SPLIT:
        _undo_parts(t, s, depth)
        return NONE
    _take_back(t, s, f[BOX], f[MARK], f[TOP])
    f[POSITION] += 1
    return OPEN if _has_neighbour(t, s, f[BOX]) else NONE


@njit(cache=True)
def descend(t: Tables, s: State, kind: int, bound: int, count: int) -> int:
    """Places all boxes with ends up to `bound`: FOUND, NONE or LIMIT."""
    _rank(t, s, 0, count, kind)
    if _crowded(t, s, 0, count, 0, 0, bound):
        return NONE
    _open(s, 0, 0, count, 0, 0, 0)
    depth, answer = 0, OPEN
    while depth >= 0 and answer != LIMIT:
        if answer == OPEN:
            answer = _go_on(t, s, depth, kind, bound)
            if answer == OPEN:
                depth += 1
            elif answer == DEAD:
                answer = _after_none(t, s, depth)
                depth -= answer == NONE
            else:
                depth -= 1
        elif answer == FOUND:
            if s.frames[depth, MODE] == SPLIT:
                s.frames[depth, PART] += 1
                answer = OPEN
            else:
                depth -= 1
        else:
            answer = _after_none(t, s, depth)
            depth -= answer == NONE
    return answer
