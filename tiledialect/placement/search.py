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

from __future__ import annotations

from typing import NamedTuple

from numba import int64, types

from tiledialect.placement.compiled import inner, outer
from tiledialect.placement.problem import Ints

FOUND, NONE, LIMIT, OPEN, DEAD = 1, 0, -1, 2, 3
FRESH, CHOICE, SPLIT = 0, 1, 2  # modes of a frame
FAR = 1 << 62
CROWD_FIRST, AREA_FIRST, WIDTH_FIRST = 0, 1, 2  # ranks

# Columns of a frame: the list pool[BEGIN:END] goes to LEAST or above.
MODE, BEGIN, END, LEAST, POSITION, MARK, TOP, BOX, PART, PARTS = range(10)
# Columns of a row: bytes to come, and scratch; CROWD is of the part of that number.
REMAINING, FLOOR, LABEL, CROWD = range(4)
# Columns of a box: its rules, its lists, the rows that it and its element partners
# lie between, its state, and three keys for ranks.
SIZE, ALIGN, PHASE, LAST, WIDTH, PAIRED = range(6)
NEAR_AT, NEAR_END, ROW_AT, ROW_END, SPAN_LOW, SPAN_HIGH = range(6, 12)
OFFSET, PLACED, ADDRESS, KEYS = range(12, 16)
BOX_COLUMNS = KEYS + 3


class Space(NamedTuple):
    """One problem and the state of its search, in a few tables.

    They are few because compiling takes long for functions of many arguments.
    """

    box: Ints  # (boxes, columns of a box)
    near: Ints  # (pairs, 2) neighbour; 1 where the two must not share an element
    row: Ints  # rows of each box, one list after the other
    rows: Ints  # (rows, columns of a row)
    trail: Ints  # (many, 2) boxes and the offsets that they had
    pool: Ints  # lists of unplaced boxes in rank order, one after the other
    frames: Ints  # (depth, columns of a frame): the open lists
    edges: Ints  # element borders
    nodes: Ints  # spent, limit


_LIST, _TABLE = types.Array(int64, 1, "C"), types.Array(int64, 2, "C")
_SPACE = types.NamedTuple(
    (_TABLE, _TABLE, _LIST, _TABLE, _TABLE, _LIST, _TABLE, _LIST, _LIST), Space
)


@inner(int64(_LIST, int64))
def _past_element(edges: Ints, address: int) -> int:
    """The least element border that is not below an address."""
    low, high = 0, len(edges)
    while low < high:
        middle = (low + high) // 2
        if edges[middle] < address:
            low = middle + 1
        else:
            high = middle
    return edges[low] if low < len(edges) else FAR


@inner(types.boolean(_SPACE, int64, int64))
def _less(space: Space, one: int, two: int) -> bool:
    """Whether a box comes after another in rank."""
    for key in range(KEYS, KEYS + 3):
        if space.box[one, key] != space.box[two, key]:
            return space.box[one, key] < space.box[two, key]
    return False


@inner(types.void(_SPACE, int64, int64, int64))
def _rank(space: Space, begin: int, end: int, kind: int) -> None:
    """Sorts a part by crowd (its most bytes to come in a row), width and area."""
    for i in range(begin, end):
        box = space.pool[i]
        crowd = 0
        for k in range(space.box[box, ROW_AT], space.box[box, ROW_END]):
            crowd = max(crowd, space.rows[space.row[k], REMAINING])
        area = space.box[box, SIZE] * space.box[box, WIDTH]
        keys = space.box[box, KEYS:]
        keys[0], keys[1], keys[2] = crowd, space.box[box, WIDTH], area
        if kind == AREA_FIRST:
            keys[0], keys[1], keys[2] = area, crowd, space.box[box, WIDTH]
        elif kind == WIDTH_FIRST:
            keys[0], keys[1], keys[2] = space.box[box, WIDTH], crowd, area
    for i in range(begin + 1, end):
        box = space.pool[i]
        j = i - 1
        while j >= begin and _less(space, space.pool[j], box):
            space.pool[j + 1] = space.pool[j]
            j -= 1
        space.pool[j + 1] = box


@inner(int64(_SPACE, int64, int64, int64))
def _put(space: Space, box: int, bound: int, mark: int) -> int:
    """Places a box at its offset and raises its neighbours; the trail's new end,
    or -1 less that end when a neighbour has no place left."""
    start = space.box[box, OFFSET]
    space.box[box, PLACED] = 1
    space.box[box, ADDRESS] = start
    for k in range(space.box[box, ROW_AT], space.box[box, ROW_END]):
        space.rows[space.row[k], REMAINING] -= space.box[box, SIZE]
    end = start + space.box[box, SIZE]
    past = _past_element(space.edges, end) if space.box[box, PAIRED] else end
    for k in range(space.box[box, NEAR_AT], space.box[box, NEAR_END]):
        other = space.near[k, 0]
        least = past if space.near[k, 1] else end
        if space.box[other, PLACED] or least <= space.box[other, OFFSET]:
            continue
        if space.box[other, ALIGN] > 1:
            least += (space.box[other, PHASE] - least) % space.box[other, ALIGN]
        space.trail[mark, 0] = other
        space.trail[mark, 1] = space.box[other, OFFSET]
        mark += 1
        space.box[other, OFFSET] = least
        if least > space.box[other, LAST] or least + space.box[other, SIZE] > bound:
            return -1 - mark
    return mark


@inner(types.void(_SPACE, int64, int64, int64))
def _take_back(space: Space, box: int, mark: int, top: int) -> None:
    """Undoes _put."""
    space.box[box, PLACED] = 0
    for k in range(space.box[box, ROW_AT], space.box[box, ROW_END]):
        space.rows[space.row[k], REMAINING] += space.box[box, SIZE]
    for k in range(top - 1, mark - 1, -1):
        space.box[space.trail[k, 0], OFFSET] = space.trail[k, 1]


@inner(types.boolean(_SPACE, int64))
def _has_neighbour(space: Space, box: int) -> bool:
    """Whether an unplaced neighbour of the box is left."""
    for k in range(space.box[box, NEAR_AT], space.box[box, NEAR_END]):
        if not space.box[space.near[k, 0], PLACED]:
            return True
    return False


@inner(int64(_SPACE, int64, int64))
def _passed_over(space: Space, box: int, least: int) -> int:
    """The least address of a box that had its turn before `least`: above one of its
    unplaced neighbours, which lies at `least` or higher."""
    smallest = FAR
    for k in range(space.box[box, NEAR_AT], space.box[box, NEAR_END]):
        other = space.near[k, 0]
        if not space.box[other, PLACED] and space.box[other, SIZE] < smallest:
            smallest = space.box[other, SIZE]
    if smallest == FAR:
        return FAR
    start = least + smallest
    return start + (space.box[box, PHASE] - start) % space.box[box, ALIGN]


@inner(types.boolean(_SPACE, int64, int64, int64, int64, int64))
def _crowded(
    space: Space, begin: int, end: int, least: int, position: int, bound: int
) -> bool:
    """Whether some row's bytes to come exceed the room above their least address."""
    low, high = len(space.rows), 0
    for i in range(begin, end):
        low = min(low, space.box[space.pool[i], SPAN_LOW])
        high = max(high, space.box[space.pool[i], SPAN_HIGH])
    for r in range(low, high):
        space.rows[r, FLOOR] = FAR
    for i in range(begin, end):
        box = space.pool[i]
        start = space.box[box, OFFSET]
        if start < least or (start == least and i - begin < position):
            start = _passed_over(space, box, least)
        if start > space.box[box, LAST] or start + space.box[box, SIZE] > bound:
            return True
        for k in range(space.box[box, ROW_AT], space.box[box, ROW_END]):
            space.rows[space.row[k], FLOOR] = min(
                space.rows[space.row[k], FLOOR], start
            )
    for r in range(low, high):
        if (
            space.rows[r, FLOOR] < FAR
            and space.rows[r, FLOOR] + space.rows[r, REMAINING] > bound
        ):
            return True
    return False


@inner(int64(_SPACE, int64, int64, int64, int64))
def _next_choice(space: Space, begin: int, end: int, least: int, position: int) -> int:
    """The place in the pool of the next box by (offset, rank), or -1."""
    chosen, where, shelf = -1, FAR, FAR
    for i in range(begin, end):
        box = space.pool[i]
        start = space.box[box, OFFSET]
        if start + space.box[box, SIZE] < shelf:
            top = start + space.box[box, SIZE]
            shelf = min(
                shelf,
                _past_element(space.edges, top) if space.box[box, PAIRED] else top,
            )
        after = start > least or (start == least and i - begin >= position)
        if after and start < where:
            chosen, where = i, start
    return chosen if where < shelf else -1


@inner(types.void(_SPACE, int64, int64, int64, int64, int64, int64))
def _open(
    space: Space, depth: int, begin: int, end: int, least: int, position: int, mark: int
) -> None:
    """A fresh frame: place pool[begin:end] at `least` or above."""
    f = space.frames[depth]
    f[MODE], f[BEGIN], f[END], f[LEAST] = FRESH, begin, end, least
    f[POSITION], f[MARK] = position, mark


@inner(int64(_SPACE, int64, int64))
def _try_next(space: Space, depth: int, bound: int) -> int:
    """Places the next box of a frame and opens a frame for the rest: OPEN; DEAD
    where the box has no future there; NONE when no box is left to try."""
    f = space.frames[depth]
    begin, end = f[BEGIN], f[END]
    chosen = _next_choice(space, begin, end, f[LEAST], f[POSITION])
    if chosen < 0:
        return NONE
    space.nodes[0] += 1
    if space.nodes[0] > space.nodes[1]:
        return LIMIT
    box = space.pool[chosen]
    f[BOX], f[LEAST], f[POSITION] = box, space.box[box, OFFSET], chosen - begin
    top = _put(space, box, bound, f[MARK])
    f[TOP] = top if top >= 0 else -1 - top
    if top < 0:
        return DEAD
    stop = end
    for i in range(begin, end):
        if i != chosen:
            space.pool[stop] = space.pool[i]
            stop += 1
    if _crowded(space, end, stop, f[LEAST], f[POSITION], bound):
        return DEAD
    _open(space, depth + 1, end, stop, f[LEAST], f[POSITION], top)
    return OPEN


@inner(int64(_SPACE, int64, int64))
def _split(space: Space, begin: int, end: int) -> int:
    """Counts the parts that no box connects; part[r] is that of a row."""
    low, high = len(space.rows), 0
    for i in range(begin, end):
        low = min(low, space.box[space.pool[i], SPAN_LOW])
        high = max(high, space.box[space.pool[i], SPAN_HIGH])
    for r in range(low, high):
        space.rows[r, LABEL] = 0
    for i in range(begin, end):
        r = space.box[space.pool[i], SPAN_LOW]
        space.rows[r, LABEL] = max(
            space.rows[r, LABEL], space.box[space.pool[i], SPAN_HIGH]
        )
    count, until = 0, -1
    for r in range(low, high):
        if space.rows[r, LABEL] > 0:
            count += r >= until
            until = max(until, space.rows[r, LABEL])
        space.rows[r, LABEL] = count - 1
    return count


@inner(types.void(_SPACE, int64, int64))
def _open_split(space: Space, depth: int, count: int) -> None:
    """Makes a frame one of parts: behind its list follow the same boxes part by
    part (the most crowded first), their offsets, and the parts' borders."""
    f = space.frames[depth]
    begin, end = f[BEGIN], f[END]
    for part in range(count):
        space.rows[part, CROWD] = 0
    for i in range(begin, end):
        box = space.pool[i]
        label = space.rows[space.box[box, SPAN_LOW], LABEL]
        for k in range(space.box[box, ROW_AT], space.box[box, ROW_END]):
            bytes = space.rows[space.row[k], REMAINING]
            space.rows[label, CROWD] = max(space.rows[label, CROWD], bytes)
    stop, borders = end, end + 2 * (end - begin)
    space.pool[borders] = end
    for one in range(count):
        tightest = 0
        for part in range(1, count):
            if space.rows[part, CROWD] > space.rows[tightest, CROWD]:
                tightest = part
        space.rows[tightest, CROWD] = -1
        for i in range(begin, end):
            if space.rows[space.box[space.pool[i], SPAN_LOW], LABEL] == tightest:
                space.pool[stop] = space.pool[i]
                space.pool[stop + end - begin] = space.box[space.pool[i], OFFSET]
                stop += 1
        space.pool[borders + one + 1] = stop
    f[MODE], f[PART], f[PARTS] = SPLIT, 0, count


@inner(types.void(_SPACE, int64, int64))
def _open_part(space: Space, depth: int, kind: int) -> None:
    """A frame above for the next part of a frame of parts, ranked by itself."""
    f = space.frames[depth]
    borders = f[END] + 2 * (f[END] - f[BEGIN])
    low, high = space.pool[borders + f[PART]], space.pool[borders + f[PART] + 1]
    begin = borders + f[PARTS] + 1
    for i in range(high - low):
        space.pool[begin + i] = space.pool[low + i]
    _rank(space, begin, begin + high - low, kind)
    _open(space, depth + 1, begin, begin + high - low, f[LEAST], 0, f[MARK])


@inner(types.void(_SPACE, int64))
def _undo_parts(space: Space, depth: int) -> None:
    """Takes back the parts found before one that failed."""
    f = space.frames[depth]
    length = f[END] - f[BEGIN]
    failed = space.pool[f[END] + 2 * length + f[PART]]
    for i in range(f[END], failed):
        _take_back(space, space.pool[i], 0, 0)
    for i in range(f[END], f[END] + length):
        space.box[space.pool[i], OFFSET] = space.pool[i + length]


@inner(int64(_SPACE, int64, int64, int64))
def _go_on(space: Space, depth: int, kind: int, bound: int) -> int:
    """One step down from a frame: OPEN when a frame above it waits."""
    f = space.frames[depth]
    if f[MODE] == FRESH:
        if f[BEGIN] == f[END]:
            return FOUND
        f[MODE] = CHOICE
        count = _split(space, f[BEGIN], f[END])
        if count > 1:
            _open_split(space, depth, count)
    if f[MODE] == CHOICE:
        return _try_next(space, depth, bound)
    if f[PART] == f[PARTS]:
        return FOUND
    _open_part(space, depth, kind)
    return OPEN


@inner(int64(_SPACE, int64))
def _after_none(space: Space, depth: int) -> int:
    """What a frame answers when the one above it found nothing."""
    f = space.frames[depth]
    if f[MODE] == SPLIT:
        _undo_parts(space, depth)
        return NONE
    _take_back(space, f[BOX], f[MARK], f[TOP])
    f[POSITION] += 1
    return OPEN if _has_neighbour(space, f[BOX]) else NONE


@outer(int64(_SPACE, int64, int64, int64))
def descend(space: Space, kind: int, bound: int, count: int) -> int:
    """Places all boxes with ends up to `bound`: FOUND, NONE or LIMIT."""
    _rank(space, 0, count, kind)
    if _crowded(space, 0, count, 0, 0, bound):
        return NONE
    _open(space, 0, 0, count, 0, 0, 0)
    depth, answer = 0, OPEN
    while depth >= 0 and answer != LIMIT:
        if answer == OPEN:
            answer = _go_on(space, depth, kind, bound)
            if answer == OPEN:
                depth += 1
            elif answer == DEAD:
                answer = _after_none(space, depth)
                depth -= answer == NONE
            else:
                depth -= 1
        elif answer == FOUND:
            if space.frames[depth, MODE] == SPLIT:
                space.frames[depth, PART] += 1
                answer = OPEN
            else:
                depth -= 1
        else:
            answer = _after_none(space, depth)
            depth -= answer == NONE
    return answer
