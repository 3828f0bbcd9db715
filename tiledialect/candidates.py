"""The plan space of a group: every way to run it, as a table with one row a candidate.

A candidate says into how many parts each domain dimension is cut over the tiles, how
its operands come to their blocks, and where and in what order its result rests. Parts
that give the same largest block are the same candidate (the fewest tiles stand for
all). No budget enters here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiledialect.codelets import format_class
from tiledialect.layout import Factor, ceil_div
from tiledialect.machine import Machine, MatrixMode
from tiledialect.program import Group, Program

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

# How an operand comes to the tiles that use it.
STORED = 0  # known before the run, lies there for good
DIRECT = 1  # one relayout from where it rests
RELAY = 2  # first spread over its block's tiles in the block's order, then gathered
PACK = 3  # gathered row-major, then brought into order by a codelet
STREAM = 4  # known before the run, spread over its block's tiles, gathered in steps
DIRECT_STEPS = 5  # a relayout for each step from where it rests
RELAY_STEPS = 6  # first spread as by RELAY, then gathered in steps
PATHS = (
    "stored",
    "direct",
    "relay",
    "pack",
    "stream",
    "direct_steps",
    "relay_steps",
)
IN_STEPS = (STREAM, DIRECT_STEPS, RELAY_STEPS)
SPREAD = (RELAY, STREAM, RELAY_STEPS)

# Steps in time of a matmul's depth that are tried.
STEPS = (*range(1, 13), 14, 15, 16, 17, 18, 20, 23, 24, 27, 32, 34, 36, 45, 48, 68)

# Where a result rests. BLOCK: as computed. LINEAR: summed straight into linear
# ownership. CUT + axis: the partial sums' tiles share the block, cut along that axis.
BLOCK = 0
LINEAR = 1
CUT = 2
RESTS = ("block", "linear")

# In which order it rests.
ROW_MAJOR = 0
PANEL = 1
ORDERS = ("row_major", "panel")


@dataclass(frozen=True)
class Variant:
    """What candidates choose besides their grid; those of one variant differ in
    numbers only, so they are priced together. `steps`: the depth of a matmul is cut
    again in time, and partial sums grow where they lie."""

    paths: tuple[int, ...]
    rest: int
    order: int
    steps: int = 1


@dataclass(frozen=True)
class Candidates:
    """The candidates of one variant: `parts` (n, dims) of each domain dimension, and
    where these stand among all grids of the group, if that is known. Variants that run
    on the same grids have the same arrays."""

    variant: Variant
    parts: Ints
    grid: Ints | None = None

    def __len__(self) -> int:
        return len(self.parts)

    def take(self, rows: Ints | NDArray[np.bool_]) -> Candidates:
        grid = None if self.grid is None else self.grid[rows]
        return Candidates(self.variant, self.parts[rows], grid)


def matrix_mode(program: Program, group: Group, machine: Machine) -> MatrixMode:
    """The matrix unit's mode that a matmul group runs in."""
    operand = program.values[group.operands[0].value].form.format.name
    mode = machine.matrix_mode(format_class(operand), group.accumulate)
    assert mode is not None, "the program reader widened the operands"
    return mode


def panel_depth(program: Program, group: Group, machine: Machine) -> int:
    """Elements of depth that the matrix unit takes at once; 1 for other groups."""
    if group.family != "matmul":
        return 1
    return matrix_mode(program, group, machine).k_block


def result_mode_block(program: Program, group: Group, machine: Machine) -> int:
    """Columns of a panel in which the matrix unit would take the result as its left
    operand; 0 where it has no mode for the result's format."""
    name = program.values[group.result.value].form.format.name
    blocks = [m.k_block for m in machine.matrix if m.operand == format_class(name)]
    return max(blocks, default=0)


def grains(program: Program, group: Group, machine: Machine) -> tuple[int, ...]:
    """Elements that each dimension is cut in whole multiples of: the matrix unit's
    blocks, and a word of the narrowest element along innermost axes."""
    if group.family == "matmul":
        mode = matrix_mode(program, group, machine)
        return (1, 1, mode.n_block, mode.k_block)
    grain = [1] * len(group.dims)
    flat = len(group.dims) == 1
    for operand in (*group.operands, group.result):
        if operand.axes:
            width = program.values[operand.value].form.format.bytes
            inner = operand.axes[-1]
            # one dimension is cut as linear ownership is, so that it may lie there
            grain[inner] = max(grain[inner], (8 if flat else 4) // width)
    return tuple(grain)


def block_choices(extent: int, grain: int, tiles: int) -> list[int]:
    """The fewest parts for each size that a largest block can have, few parts first."""
    whole = max(1, ceil_div(extent, grain))
    return [
        parts
        for parts in range(1, min(whole, tiles) + 1)
        if ceil_div(whole, ceil_div(whole, parts)) == parts
    ]


def candidates(
    group: Group, grids: Ints, variants: Sequence[Variant], panel: int
) -> list[Candidates]:
    """Every grid with every variant that makes sense with it; `panel`: elements of
    depth that the matrix unit takes at once."""
    known: dict[tuple[tuple[int, ...], int, bool], tuple[Ints, Ints]] = {}
    masks = _Masks(group, grids, panel)
    found: list[Candidates] = []
    for variant in variants:
        key = variant.paths, variant.steps, variant.rest == BLOCK
        if not _can_rest(group, variant.rest):
            continue
        if key not in known:
            (rows,) = masks.of(variant).nonzero()
            known[key] = grids[rows], rows
        if len(known[key][1]):
            found.append(Candidates(variant, *known[key]))
    return found


@dataclass(frozen=True)
class Choices:
    """What candidates may choose besides their grid: ways in which the operands come,
    places and orders of the result, and steps in time; all that suit each other."""

    paths: tuple[tuple[int, ...], ...]
    results: tuple[tuple[int, int], ...]
    steps: tuple[int, ...]

    def variants(self) -> list[Variant]:
        return [
            Variant(paths, *result, steps)
            for steps in self.steps
            for paths in self.paths
            if _suits(paths, steps)
            for result in self.results
        ]

    def path_words(self) -> list[str]:
        """The ways as text, a word an operand."""
        return [" ".join(PATHS[path] for path in paths) for paths in self.paths]

    def result_words(self) -> list[str]:
        """The places and orders as text: `cut1 panel`."""
        return [f"{_rest_word(rest)} {ORDERS[order]}" for rest, order in self.results]

    @staticmethod
    def from_words(
        paths: Sequence[str], results: Sequence[str], steps: Sequence[int]
    ) -> Choices:
        """The inverse. Raises ValueError for a word that is none, and names it."""
        pairs = [text.split() for text in results]
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError("a result has a place and an order")
        return Choices(
            tuple(tuple(_known(w, "way", PATHS) for w in t.split()) for t in paths),
            tuple((_rest_number(r), _known(o, "order", ORDERS)) for r, o in pairs),
            tuple(steps),
        )


def _rest_word(rest: int) -> str:
    return f"cut{rest - CUT}" if rest >= CUT else RESTS[rest]


def _rest_number(word: str) -> int:
    axis = word.removeprefix("cut")
    if axis != word and axis.isascii() and axis.isdecimal():
        return CUT + int(axis)
    if word not in RESTS:
        raise ValueError(_none(word, "place", (*RESTS, "cut0", "cut1", "...")))
    return RESTS.index(word)


def _known(word: str, kind: str, words: Sequence[str]) -> int:
    """The number of a word. Raises ValueError where it is none of these."""
    if word not in words:
        raise ValueError(_none(word, kind, words))
    return words.index(word)


def _none(word: str, kind: str, words: Sequence[str]) -> str:
    return f"'{word}' is no {kind}; known are {', '.join(words)}"


def all_choices(program: Program, group: Group, machine: Machine) -> Choices:
    """What the candidates of a group may choose besides their grid."""
    positions = range(len(group.operands))
    paths = itertools.product(*(operand_paths(program, group, p) for p in positions))
    panels = 1
    if group.family == "matmul":
        split = splittable_reduction(group)
        depth = panel_depth(program, group, machine)
        panels = max(1, ceil_div(group.dims[split].extent, depth))
    return Choices(
        tuple(paths),
        tuple(result_choices(program, group, machine)),
        tuple(steps for steps in STEPS if steps <= panels),
    )


def all_variants(program: Program, group: Group, machine: Machine) -> list[Variant]:
    """All combinations of a group's choices."""
    return all_choices(program, group, machine).variants()


def _suits(paths: Sequence[int], steps: int) -> bool:
    """Whether operands may come so: in steps where there are some, and only there. A
    stored operand that is spread may also be gathered whole; one that is packed on its
    tile lies there whole anyway."""
    if steps > 1:
        return any(path in IN_STEPS for path in paths) and PACK not in paths
    return DIRECT_STEPS not in paths and RELAY_STEPS not in paths


def all_grids(program: Program, group: Group, machine: Machine) -> Ints:
    """All ways to cut the domain over at most the machine's tiles, one a block size."""
    import numpy as np

    grid = np.ones((1, 0), dtype=np.int64)
    for choices in part_choices(program, group, machine):
        grid = _outer(grid, np.asarray(choices, dtype=np.int64)[:, None])
        grid = grid[grid.prod(axis=1) <= machine.tiles]
    return grid


def part_choices(program: Program, group: Group, machine: Machine) -> list[list[int]]:
    """For each dimension the numbers of parts that differ in their largest block."""
    grain = grains(program, group, machine)
    split = splittable_reduction(group)
    return [
        [1]
        if dim.reduced and position != split
        else block_choices(dim.extent, grain[position], machine.tiles)
        for position, dim in enumerate(group.dims)
    ]


def splittable_reduction(group: Group) -> int:
    """The one reduced dimension that may be cut over tiles (the longest); -1: none."""
    reduced = [i for i, dim in enumerate(group.dims) if dim.reduced]
    return max(reduced, key=lambda i: group.dims[i].extent, default=-1)


def tile_order(group: Group) -> tuple[int, ...]:
    """The dimensions of a group from the slowest to the fastest along tile numbers."""
    dims = range(len(group.dims))
    return tuple(sorted(dims, key=lambda dim: not group.dims[dim].reduced))


def neighbours(group: Group, axes: tuple[int, ...], parts: Ints) -> Ints:
    """Tiles in a row that share a block with these axes, on each of many grids: up to
    the first tile that differs along one of them."""
    import numpy as np

    count = np.ones(len(parts), dtype=np.int64)
    alike = np.ones(len(parts), dtype=np.bool_)
    for dim in reversed(tile_order(group)):
        if dim in axes:
            alike &= parts[:, dim] == 1
        else:
            count = np.where(alike, count * parts[:, dim], count)
    return count


def _outer(rows: Ints, more: Ints) -> Ints:
    import numpy as np

    left = np.repeat(rows, len(more), axis=0)
    right = np.tile(more, (len(rows), 1))
    return np.concatenate([left, right], axis=1)


def operand_paths(program: Program, group: Group, position: int) -> tuple[int, ...]:
    """The ways in which an operand may come to its blocks."""
    value = group.operands[position].value
    stored = program.values[value].is_stored
    if group.family != "matmul":
        return (STORED,) if stored else (DIRECT,)
    if stored:
        return (STORED, STREAM)
    if program.is_linked(value):  # it lies in pieces of panels already
        return (DIRECT, DIRECT_STEPS, RELAY_STEPS)
    return (DIRECT, RELAY, PACK, RELAY_STEPS)


def result_choices(
    program: Program, group: Group, machine: Machine
) -> list[tuple[int, int]]:
    """Places and orders in which the result may rest."""
    if group.family != "matmul":
        axes = [CUT + axis for axis in range(len(group.result.axes))]
        return [(BLOCK, ROW_MAJOR), *((rest, ROW_MAJOR) for rest in axes)]
    choices = [(BLOCK, PANEL)]
    # elements of another width would lie on other tiles of a linear result
    choices.append((BLOCK if group.stages else LINEAR, ROW_MAJOR))
    for axis in range(len(group.result.axes)):
        choices += [(CUT + axis, PANEL), (CUT + axis, ROW_MAJOR)]
    return [
        (rest, order)
        for rest, order in choices
        if order == ROW_MAJOR or result_mode_block(program, group, machine)
    ]


class _Masks:
    """Which grids say something of their own with a variant: partial sums are added
    where the depth is cut and only there, an operand that is relayed has other users,
    and no fewer steps would do."""

    def __init__(self, group: Group, grids: Ints, panel: int) -> None:
        self.group, self.grids, self.panel = group, grids, panel
        self.split = splittable_reduction(group)
        self.whole = grids[:, self.split] == 1 if self.split >= 0 else grids[:, 0] > 0
        dims = range(len(group.dims))
        unused = [[d for d in dims if d not in o.axes] for o in group.operands]
        self.shared = [grids[:, dims].prod(axis=1) > 1 for dims in unused]
        self.known: dict[int, NDArray[np.bool_]] = {}

    def of(self, variant: Variant) -> NDArray[np.bool_]:
        keep = self.whole if variant.rest == BLOCK else ~self.whole
        for shared, path in zip(self.shared, variant.paths, strict=True):
            if path in SPREAD:
                keep = keep & shared
        return keep & self._in_steps(variant.steps) if variant.steps > 1 else keep

    def _in_steps(self, steps: int) -> NDArray[np.bool_]:
        if steps not in self.known:
            panels = ceil_div(self.group.dims[self.split].extent, self.panel)
            mine = -(-panels // self.grids[:, self.split])
            window = (-(-mine // steps)).clip(1)
            self.known[steps] = -(-mine // window) == steps
        return self.known[steps]


def _can_rest(group: Group, rest: int) -> bool:
    """Whether a result may be left so: not cut along an axis of one element, but for
    one axis of a scalar, as one tile has to get it."""
    if rest < CUT:
        return True
    extents = group.extents(group.result.axes)
    axis = rest - CUT
    only = axis == len(extents) - 1 and max(extents) <= 1
    return extents[axis] > 1 or only


def result_order(
    program: Program, group: Group, machine: Machine, order: int
) -> tuple[Factor, ...]:
    """The in-tile order of a resting result: row-major, or the panels that the matrix
    unit reads a left operand of this format in."""
    rank = len(group.result.axes)
    if order == ROW_MAJOR or rank < 2:
        return tuple(Factor(axis) for axis in range(rank))
    block = result_mode_block(program, group, machine)
    return panel_order(rank, rank - 2, rank - 1, block)


def panel_order(rank: int, rows: int, inner: int, block: int) -> tuple[Factor, ...]:
    """[others][inner / block][rows][block]."""
    others = [Factor(a) for a in range(rank) if a not in (rows, inner)]
    return (*others, Factor(inner), Factor(rows), Factor(inner, block))


def coefficient_order(
    rank: int, depth: int, columns: int, mode: MatrixMode
) -> tuple[Factor, ...]:
    """[others][depth / k_block][columns / n_block][n_block][k_block]."""
    others = [Factor(a) for a in range(rank) if a not in (depth, columns)]
    return (
        *others,
        Factor(depth),
        Factor(columns),
        Factor(columns, mode.n_block),
        Factor(depth, mode.k_block),
    )
