"""The placement problem and its answer, as plain arrays.

A problem is a set of buffers with sizes, lifetimes and rules about where each
may lie; a placement gives every buffer an address. Nothing here knows a
compiler: the same two classes serve a CSV file and a whole tile program.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Lifetime = tuple[tuple[int, int], ...]
Objective = Literal["footprint", "peak"]
Status = Literal["minimal", "fits", "infeasible", "stopped"]

ADDRESS_LIMIT = 1 << 62  # sums of two addresses still fit 64 bits


class PlacementError(ValueError):
    """A problem that contradicts itself; `buffers` are the positions concerned."""

    def __init__(self, message: str, buffers: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.buffers = buffers


@dataclass(frozen=True)
class Problem:
    """n buffers that want addresses on tiles of c classes.

    Two buffers are in each other's way only where they share a class and a
    step. `footprint_limit` bounds the footprint of every class; one that is not to be
    minimised is still brought to `footprint_goal`, where that is found.
    """

    names: tuple[str, ...]
    bytes: Ints  # (n,), 0 allowed
    lifetimes: tuple[Lifetime, ...]  # half-open, sorted, disjoint; () = never alive
    align: Ints  # (n,) bytes, any positive integer
    low: Ints  # (n,) the buffer lies in [low, high)
    high: Ints
    pinned: Ints  # (n,) address, or -1
    classes: Bools  # (n, c): buffer i exists on the tiles of class k
    apart: Ints  # (p, 2): no common memory element where both exist
    element_edges: Ints  # sorted borders between elements, bytes
    aliases: tuple[tuple[int, int, int], ...] = ()  # child, parent, byte offset
    footprint_limit: int | None = None
    footprint_goal: int | None = None
    objective: Objective = "footprint"  # what minimising makes small


@dataclass(frozen=True)
class Placement:
    """The addresses found and what is known about them.

    `minimal` and `infeasible` are proven; `fits` keeps every rule; `stopped`
    means that the effort limit came first, and `addresses` is the best try.
    """

    addresses: Ints  # (n,), -1 where no address was found
    status: Status
    peak: int  # highest end less lowest address in use
    footprint: int  # most distinct bytes ever occupied, over classes
    live_peak: int  # most bytes alive in one step of one class
    live_peak_step: int
    live_peak_class: int
    largest_hole: int  # bytes, at the failing step or at the live peak
    reason: str  # one sentence with the numbers
    effort: int  # search nodes and moves spent
    buffers: tuple[int, ...] = field(default=())  # those that the reason names
    bound: int = 0  # proven lower bound of what was minimised


def plain_problem(
    names: tuple[str, ...],
    sizes: Ints,
    lifetimes: tuple[Lifetime, ...],
    capacity: int,
    *,
    objective: Objective = "peak",
) -> Problem:
    """One class and one region [0, capacity), with no rule but lifetimes."""
    count = len(names)
    return Problem(
        names=names,
        bytes=np.asarray(sizes, np.int64),
        lifetimes=lifetimes,
        align=np.ones(count, np.int64),
        low=np.zeros(count, np.int64),
        high=np.full(count, min(capacity, ADDRESS_LIMIT), np.int64),
        pinned=np.full(count, -1, np.int64),
        classes=np.ones((count, 1), np.bool_),
        apart=np.zeros((0, 2), np.int64),
        element_edges=np.zeros(0, np.int64),
        objective=objective,
    )


def within(problem: Problem, capacity: int) -> Problem:
    """The problem with every region cut at `capacity`."""
    high = np.minimum(problem.high, min(capacity, ADDRESS_LIMIT))
    return replace(problem, high=high)


def of_class(problem: Problem, number: int) -> Problem:
    """The problem of one class of tiles alone, no two of its names alike."""
    held = np.flatnonzero(problem.classes[:, number])
    position = {int(old): new for new, old in enumerate(held)}
    pairs = [
        (position[one], position[other])
        for one, other in problem.apart.tolist()
        if one in position and other in position
    ]
    aliases = tuple(
        (position[child], position[parent], offset)
        for child, parent, offset in problem.aliases
        if child in position and parent in position
    )
    return replace(
        problem,
        names=_distinct([problem.names[i] for i in held]),
        bytes=problem.bytes[held],
        lifetimes=tuple(problem.lifetimes[i] for i in held),
        align=problem.align[held],
        low=problem.low[held],
        high=problem.high[held],
        pinned=problem.pinned[held],
        classes=np.ones((len(held), 1), np.bool_),
        apart=np.array(pairs, np.int64).reshape(-1, 2),
        aliases=aliases,
    )


def _distinct(names: list[str]) -> tuple[str, ...]:
    """The names as single words, with a number behind those that came before."""
    found: dict[str, None] = {}
    for name in names:
        word = "_".join(name.split()) or "buffer"
        number = 1
        while (one := word if number == 1 else f"{word}_{number}") in found:
            number += 1
        found[one] = None
    return tuple(found)


def check_problem(problem: Problem) -> None:
    """Refuses a problem whose fields do not belong together, by name."""
    _check_shapes(problem)
    for index, name in enumerate(problem.names):
        _check_buffer(problem, index, name)
    for child, parent, offset in problem.aliases:
        if not (0 <= child < len(problem.names) and 0 <= parent < len(problem.names)):
            raise PlacementError(f"alias ({child}, {parent}) names no buffer")
        if offset < 0:
            raise PlacementError(
                f"alias {problem.names[child]} of {problem.names[parent]}: "
                f"offset {offset} is negative",
                (child, parent),
            )


def _check_shapes(problem: Problem) -> None:
    count = len(problem.names)
    for label in ("bytes", "align", "low", "high", "pinned", "classes"):
        have = len(getattr(problem, label))
        if have != count:
            raise PlacementError(f"{label} has {have} rows for {count} buffers")
    if len(problem.lifetimes) != count:
        have = len(problem.lifetimes)
        raise PlacementError(f"lifetimes has {have} rows for {count} buffers")
    if problem.apart.size and not (
        problem.apart.min() >= 0 and problem.apart.max() < count
    ):
        raise PlacementError("an element pair names no buffer")
    if np.any(np.diff(problem.element_edges) <= 0):
        raise PlacementError("element edges must grow")


def _check_buffer(problem: Problem, index: int, name: str) -> None:
    if problem.bytes[index] < 0:
        message = f"{name}: size {problem.bytes[index]} is negative"
        raise PlacementError(message, (index,))
    if problem.align[index] < 1:
        message = f"{name}: alignment {problem.align[index]} is not positive"
        raise PlacementError(message, (index,))
    end = None
    for start, stop in problem.lifetimes[index]:
        if stop <= start or (end is not None and start < end):
            message = f"{name}: lifetime {problem.lifetimes[index]} is not sorted"
            raise PlacementError(message, (index,))
        end = stop
    pin = int(problem.pinned[index])
    if pin >= 0 and pin % int(problem.align[index]):
        message = (
            f"{name}: pinned at {pin}, which is no multiple of its "
            f"alignment {problem.align[index]}"
        )
        raise PlacementError(message, (index,))
