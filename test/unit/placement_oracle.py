"""What the placement tests hold answers against: rules and brute force, slowly.

Everything here is written from the meaning of a Problem, buffer by buffer and
byte by byte, and shares nothing with the solver.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tiledialect.placement.problem import Problem


def groups_of(problem: Problem) -> dict[int, dict[int, int]]:
    """Alias groups: representative -> {buffer: offset from the representative}."""
    found = {i: {i: 0} for i in range(len(problem.names))}
    where = {i: i for i in found}
    for child, parent, distance in problem.aliases:
        one, two = where[parent], where[child]
        if one == two:
            continue
        shift = found[one][parent] + distance - found[two][child]
        for member, inside in found.pop(two).items():
            found[one][member] = inside + shift
            where[member] = one
    return found


def takes_space(problem: Problem, i: int) -> bool:
    return bool(
        problem.bytes[i] > 0 and problem.lifetimes[i] and problem.classes[i].any()
    )


def meet(problem: Problem, i: int, j: int) -> bool:
    """Whether two buffers share a class and a step."""
    return bool(np.any(problem.classes[i] & problem.classes[j])) and any(
        max(a, c) < min(b, d)
        for a, b in problem.lifetimes[i]
        for c, d in problem.lifetimes[j]
    )


def elements(problem: Problem, address: int, size: int) -> set[int]:
    edges = problem.element_edges.tolist()
    return {bisect_right(edges, byte) for byte in range(address, address + size)}


def fault_of_one(problem: Problem, i: int, address: int) -> str:
    size, pin = int(problem.bytes[i]), int(problem.pinned[i])
    name = problem.names[i]
    if pin >= 0 and address != pin:
        return f"{name} left its pin"
    if not takes_space(problem, i):
        return ""
    if address % int(problem.align[i]):
        return f"{name} misaligned"
    if address < problem.low[i] or address + size > problem.high[i]:
        return f"{name} outside its region"
    return ""


def fault_of_two(problem: Problem, i: int, at: int, j: int, other: int) -> str:
    if not (takes_space(problem, i) and takes_space(problem, j)):
        return ""
    names = f"{problem.names[i]} and {problem.names[j]}"
    over = at < other + problem.bytes[j] and other < at + problem.bytes[i]
    if over and meet(problem, i, j):
        return f"{names} overlap"
    pairs = {frozenset(pair) for pair in problem.apart.tolist()}
    if frozenset((i, j)) in pairs and np.any(problem.classes[i] & problem.classes[j]):
        mine = elements(problem, at, int(problem.bytes[i]))
        if mine & elements(problem, other, int(problem.bytes[j])):
            return f"{names} share an element"
    return ""


def faults(problem: Problem, addresses: list[int]) -> list[str]:
    """Every rule that an address table breaks; aliases only by their offsets."""
    found: list[str] = []
    group_of: dict[int, int] = {}
    for root, members in groups_of(problem).items():
        for member, inside in members.items():
            group_of[member] = root
            if addresses[member] - inside != addresses[root] and any(
                takes_space(problem, one) for one in members
            ):
                found.append(f"{problem.names[member]} left its alias")
    for i, address in enumerate(addresses):
        found.append(fault_of_one(problem, i, address))
        found += [
            fault_of_two(problem, i, address, j, addresses[j])
            for j in range(i)
            if group_of[i] != group_of[j]
        ]
    return [fault for fault in found if fault]


def footprint(problem: Problem, addresses: list[int]) -> int:
    """The most bytes that any class occupies, sizes rounded up to alignment."""
    most = 0
    for tile_class in range(problem.classes.shape[1]):
        used: set[int] = set()
        for i, address in enumerate(addresses):
            if takes_space(problem, i) and problem.classes[i, tile_class]:
                align, size = int(problem.align[i]), int(problem.bytes[i])
                used |= set(range(address, address + -(-size // align) * align))
        most = max(most, len(used))
    return most


def peak(problem: Problem, addresses: list[int]) -> int:
    used = [i for i in range(len(addresses)) if takes_space(problem, i)]
    if not used:
        return 0
    top = max(addresses[i] + int(problem.bytes[i]) for i in used)
    return top - min(addresses[i] for i in used)


def live_peak(problem: Problem) -> int:
    """The most live bytes in a class and step (no aliases)."""
    steps = {step for life in problem.lifetimes for span in life for step in span}
    return max(
        (
            sum(
                int(problem.bytes[i])
                for i in range(len(problem.names))
                if problem.classes[i, tile_class]
                and any(a <= step < b for a, b in problem.lifetimes[i])
            )
            for step in steps
            for tile_class in range(problem.classes.shape[1])
        ),
        default=0,
    )


def highest_end(problem: Problem, addresses: list[int]) -> int:
    used = [i for i in range(len(addresses)) if takes_space(problem, i)]
    return max((addresses[i] + int(problem.bytes[i]) for i in used), default=0)


@dataclass(frozen=True)
class Truth:
    """What brute force knows; -1 where nothing fits."""

    footprint: int
    highest_end: int

    @property
    def feasible(self) -> bool:
        return self.highest_end >= 0


def brute_force(problem: Problem) -> Truth:
    """The least footprint and highest end over all address tables (no aliases)."""
    best_footprint, best_end = -1, -1
    for addresses in _tables(problem, []):
        bytes_used = footprint(problem, addresses)
        top = highest_end(problem, addresses)
        if best_end < 0 or top < best_end:
            best_end = top
        if best_footprint < 0 or bytes_used < best_footprint:
            best_footprint = bytes_used
    return Truth(best_footprint, best_end)


def _tables(problem: Problem, chosen: list[int]) -> Iterator[list[int]]:
    i = len(chosen)
    if i == len(problem.names):
        yield list(chosen)
        return
    choices = range(int(problem.low[i]), int(problem.high[i]) + 1)
    if not takes_space(problem, i):
        choices = range(
            max(int(problem.pinned[i]), 0), max(int(problem.pinned[i]), 0) + 1
        )
    for address in choices:
        if fault_of_one(problem, i, address):
            continue
        if any(
            fault_of_two(problem, i, address, j, other)
            for j, other in enumerate(chosen)
        ):
            continue
        chosen.append(address)
        yield from _tables(problem, chosen)
        chosen.pop()


def random_problem(seed: int, *, buffers: int = 4, capacity: int = 8) -> Problem:
    """A small problem with every kind of rule in it now and then."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, buffers + 1))
    classes = int(random.integers(1, 4))
    low = np.where(random.random(count) < 0.2, random.integers(0, 4, count), 0)
    high = np.where(
        random.random(count) < 0.2, capacity - random.integers(0, 4, count), capacity
    )
    align = random.choice([1, 1, 2, 4, 3], count)
    pin = random.integers(0, capacity, count) // align * align
    pairs = random.integers(0, count, (int(random.integers(0, 3)), 2))
    return Problem(
        names=tuple(f"b{i}" for i in range(count)),
        bytes=random.integers(0, 5, count),
        lifetimes=tuple(_lifetime(random) for _ in range(count)),
        align=align,
        low=low,
        high=high,
        pinned=np.where(random.random(count) < 0.15, pin, -1),
        classes=random.random((count, classes)) < 0.7,
        apart=pairs[pairs[:, 0] != pairs[:, 1]],
        element_edges=np.sort(random.choice(np.arange(1, capacity), 2, replace=False)),
    )


def _lifetime(random: np.random.Generator) -> tuple[tuple[int, int], ...]:
    cuts = np.unique(random.integers(0, 7, 2 if random.random() < 0.7 else 4)).tolist()
    return tuple(zip(cuts[0::2], cuts[1::2], strict=False))
