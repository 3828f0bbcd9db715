"""Dimensions of an iteration domain: those that can be one are merged.

Plain data: no operation is looked at, only extents and which dimensions the axes of
each operand and result run over.
"""

from __future__ import annotations

from tiledialect.dialects.interfaces import Dimension, IndexingMap


def merge_dimensions(
    domain: tuple[Dimension, ...], maps: tuple[IndexingMap, ...]
) -> tuple[tuple[Dimension, ...], tuple[tuple[int, ...], ...]]:
    """Drop extents of 1 and merge neighbours that every map walks contiguously.

    Returns the new dimensions and, for each map, those that its axes run over. At
    least one parallel dimension is left, and every result has one.
    """
    kept = [i for i, d in enumerate(domain) if d.extent != 1]
    axes = [[a for a in m if a is not None and a in kept] for m in maps]
    runs = [[i] for i in kept]
    position = 0
    while position + 1 < len(runs):
        first, second = runs[position][-1], runs[position + 1][0]
        same = domain[first].reduced == domain[second].reduced
        if same and all(_adjacent(a, first, second) for a in axes):
            runs[position] += runs.pop(position + 1)
        else:
            position += 1
    dims = [_merged([domain[i] for i in run]) for run in runs]
    number = {run[0]: new for new, run in enumerate(runs)}
    new_axes = [[number[a] for a in m if a in number] for m in axes]
    if not new_axes[-1]:
        dims.append(Dimension("one", 1))
        for a in new_axes:
            a.insert(0, len(dims) - 1)
    return tuple(dims), tuple(tuple(a) for a in new_axes)


def _adjacent(axes: list[int], first: int, second: int) -> bool:
    """Whether a map has both, one right after the other, or neither."""
    if first not in axes and second not in axes:
        return True
    if first not in axes or second not in axes:
        return False
    return axes.index(second) == axes.index(first) + 1


def _merged(dims: list[Dimension]) -> Dimension:
    extent = 1
    for dim in dims:
        extent *= dim.extent
    return Dimension(dims[0].name, extent, dims[0].reduced)


def matmul_dimensions(
    dims: tuple[Dimension, ...], axes: tuple[tuple[int, ...], ...]
) -> tuple[tuple[Dimension, ...], tuple[tuple[int, ...], ...]]:
    """The same as exactly b, m, n, k; those that are missing have extent 1.

    Raises ValueError where more than one dimension is left over as a batch.
    """
    left, right, result = axes
    roles: dict[str, int] = {}
    batch: list[int] = []
    for i, dim in enumerate(dims):
        role = _role(i, dim, left, right, result)
        if role in roles:
            batch.append(roles[role])
        roles[role] = i
    batch = ([roles.pop("b")] if "b" in roles else []) + batch
    if len(batch) > 1:
        raise ValueError(
            f"a matmul with {len(batch)} separate batch dimensions is not planned yet;"
            " reshape them into one"
        )
    old = [batch[0] if batch else None, *(roles.get(role) for role in "mnk")]
    new = {o: i for i, o in enumerate(old) if o is not None}
    made = tuple(
        Dimension(name, dims[o].extent if o is not None else 1, name == "k")
        for name, o in zip("bmnk", old, strict=True)
    )
    whole = ((0, 1, 3), (0, 3, 2), (0, 1, 2))
    return made, tuple(
        _with_ones(tuple(new[a] for a in m), every, old)
        for m, every in zip(axes, whole, strict=True)
    )


def _role(
    i: int,
    dim: Dimension,
    left: tuple[int, ...],
    right: tuple[int, ...],
    result: tuple[int, ...],
) -> str:
    if dim.reduced:
        return "k"
    if i in left and i in right:
        return "b"
    return "m" if i in left and i in result else "n"


def _with_ones(
    axes: tuple[int, ...], every: tuple[int, ...], old: list[int | None]
) -> tuple[int, ...]:
    """Axes in their memory order, and the dimensions of extent 1 that were missing."""
    missing = [d for d in every if d not in axes and old[d] is None]
    return (*missing, *axes)
