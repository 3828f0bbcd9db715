"""Edge colouring: unicasts of one length in as many slots as the busiest port needs.

Koenig: a bipartite multigraph has a colouring of its edges with as many colours as its
greatest degree. A message that finds no slot free on both its ports takes one that is
free at its sender; along the path of messages that alternate between that slot and one
free at its receiver, the two slots change places.
"""

import numpy as np
from numpy.typing import NDArray

from tiledialect.schedule.compiled import compiled, inner
from tiledialect.schedule.table import Index, Messages


@inner
def _free(holder: NDArray[np.int32], row: int) -> int:
    """The first slot of a row that nobody holds."""
    slot = 0
    while holder[row, slot] >= 0:
        slot += 1
    return slot


@compiled
def _color(
    holder: NDArray[np.int32], near: Index, far: Index, color: Index, late: Index
) -> None:
    """Give each late message a color below holder.shape[1]; the others have one.

    `near` and `far` are the rows of each message's ports.
    """
    for edge in range(color.size):
        if color[edge] >= 0:
            holder[near[edge], color[edge]] = edge
            holder[far[edge], color[edge]] = edge
    for i in range(late.size):
        edge = int(late[i])
        row = int(far[edge])
        old, new = _free(holder, int(near[edge])), _free(holder, row)
        moved = int(holder[row, old])
        color[edge] = old
        holder[near[edge], old] = edge
        holder[row, old] = edge
        while moved >= 0:
            edge = moved
            other = int(near[edge] + far[edge]) - row
            moved = int(holder[other, new])
            holder[other, old] = -1
            holder[row, new] = edge
            holder[other, new] = edge
            color[edge] = new
            row = other
            old, new = new, old


def recolor(messages: Messages, start: Index) -> Index:
    """Starts for unicasts of equal length, as few slots as can be, from those given."""
    width = int(messages.words[0])
    degree = max(
        int(np.bincount(port, minlength=1).max())
        for port in (messages.source, messages.targets())
    )
    color = np.where(start < degree * width, start // width, -1)
    holder = np.full((2 * messages.tiles, degree), -1, np.int32)
    far = messages.targets() + messages.tiles
    _color(holder, messages.source, far, color, np.flatnonzero(color < 0))
    return color * width
