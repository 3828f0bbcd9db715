"""The orders in which the matrix unit reads and writes: panels of one block each.

    left    [K / k_block][rows][k_block]
    right   [K / k_block][columns / n_block][n_block][k_block]
    result  [columns / n_block][rows][n_block]

Only the strides inside a panel are fixed, those between panels are parameters of the
codelet. A single row or column lies in order as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiledialect.formats import FORMATS
from tiledialect.machine import MatrixMode
from tiledialect.runtime.package import Call, View
from tiledialect.runtime.parameters import CallError

Digits = Sequence[tuple[int, int]]


def check_panels(call: Call, mode: MatrixMode) -> None:
    """Refuse a matmul whose blocks do not lie in the unit's orders."""
    _, rows, columns, _ = call.extents
    left, right, result = (*call.inputs[:2], *call.outputs)
    _check("left operand", left, 3, mode.k_block, (1, rows))
    _check("right operand", right, 3, mode.k_block, (2, columns))
    _check("result", result, 2, mode.n_block, (1, rows))


def _check(
    name: str, view: View, inner: int, block: int, lines: tuple[int, int]
) -> None:
    """`inner` is the dim along a line of `block` elements; lines are the indices of
    dim lines[0], of which there are lines[1], each a block's bytes after the last."""
    element_bytes = FORMATS[view.format].bytes
    digits = joined(view.axes[inner])
    dim, count = lines
    if count > 1:
        whole = digits and digits[-1] == (block, element_bytes)
        across = joined(view.axes[dim])
        follows = across and across[-1][1] == block * element_bytes
        fine = whole and follows
    else:
        fine = digits and digits[-1][1] == element_bytes and digits[-1][0] % block == 0
    if not fine:
        raise CallError(
            f"the {name} does not lie in panels of {block} elements: factors"
            f" {list(view.axes[inner])} and {list(view.axes[dim])}"
        )


def joined(digits: Digits) -> list[tuple[int, int]]:
    """The same places with digits merged that continue each other."""
    found: list[tuple[int, int]] = []
    for count, stride in digits:
        if count == 1:
            continue
        if found and found[-1][1] == count * stride:
            found[-1] = (found[-1][0] * count, stride)
        else:
            found.append((count, stride))
    return found
