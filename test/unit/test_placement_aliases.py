"""Aliases against brute force: a group moves as one, and every member's rules hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import lcm

import numpy as np
from placement_oracle import (
    fault_of_one,
    fault_of_two,
    faults,
    footprint,
    groups_of,
    highest_end,
    random_problem,
    takes_space,
)

from tiledialect.placement.problem import Lifetime, PlacementError, Problem
from tiledialect.placement.solve import place

CAPACITY = 8


def with_aliases(seed: int) -> Problem:
    """A small problem with every kind of rule, and one or two buffers inside others."""
    random = np.random.default_rng(seed)
    problem = random_problem(seed, buffers=4, capacity=CAPACITY)
    count = len(problem.names)
    aliases: list[tuple[int, int, int]] = []
    for _ in range(int(random.integers(1, 3))):
        child, parent = random.integers(0, count, 2).tolist()
        both = takes_space(problem, child) and takes_space(problem, parent)
        if child != parent and both:
            aliases.append((child, parent, int(random.integers(0, 3))))
    return replace(problem, aliases=tuple(aliases))


def united(lives: list[Lifetime]) -> Lifetime:
    steps = {
        step for life in lives for first, end in life for step in range(first, end)
    }
    return tuple((step, step + 1) for step in sorted(steps))


class Groups:
    """The groups of a problem that take space, each as one buffer of a problem that has
    no aliases; a group's address is that of its lowest byte."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.members: list[dict[int, int]] = []
        for inside in groups_of(problem).values():
            used = {i: at for i, at in inside.items() if takes_space(problem, i)}
            if used:
                low = min(used.values())
                self.members.append({i: at - low for i, at in used.items()})
        of = [[*group] for group in self.members]
        ends = [
            max(at + int(problem.bytes[i]) for i, at in group.items())
            for group in self.members
        ]
        place_of = {i: k for k, group in enumerate(of) for i in group}
        pairs = [(a, b) for a, b in problem.apart.tolist() if {a, b} <= {*place_of}]
        apart = [(place_of[a], place_of[b]) for a, b in pairs]
        self.merged = replace(
            problem,
            names=tuple(str(group) for group in of),
            bytes=np.array(ends, np.int64),
            lifetimes=tuple(united([problem.lifetimes[i] for i in g]) for g in of),
            align=np.array([lcm(*problem.align[g].tolist()) for g in of], np.int64),
            low=np.zeros(len(of), np.int64),
            high=np.full(len(of), CAPACITY, np.int64),
            pinned=np.full(len(of), -1, np.int64),
            classes=np.array([problem.classes[g].any(axis=0) for g in of], np.bool_),
            apart=np.array(apart, np.int64).reshape(-1, 2),
            aliases=(),
        )

    def tables(self) -> Iterator[list[int]]:
        """Every table of addresses that keeps all rules."""
        merged = self.merged
        for table in product(range(CAPACITY + 1), repeat=len(self.members)):
            alone = all(
                not fault_of_one(self.problem, i, address + at)
                for address, group in zip(table, self.members, strict=True)
                for i, at in group.items()
            )
            pairs = product(range(len(table)), repeat=2)
            if alone and not any(
                i < j and fault_of_two(merged, j, table[j], i, table[i])
                for i, j in pairs
            ):
                yield list(table)


def clashes(groups: Groups) -> bool:
    """Whether some element pair lies within one group."""
    return any(a == b for a, b in groups.merged.apart.tolist())


def test_aliases_agree_with_brute_force() -> None:
    """400 problems with alignment, pins, gaps, regions, classes and element pairs."""
    words = {"minimal": 0, "infeasible": 0}
    for seed in range(400):
        problem = with_aliases(seed)
        try:
            groups = Groups(problem)
            answer = place(replace(problem, objective="footprint"), minimise=True)
        except PlacementError:
            continue
        if not groups.members or clashes(groups):
            continue
        bytes_used = [footprint(groups.merged, table) for table in groups.tables()]
        words[answer.status] += 1
        assert (answer.status == "minimal") == bool(bytes_used), seed
        if bytes_used:
            assert faults(problem, answer.addresses.tolist()) == [], seed
            assert answer.footprint == min(bytes_used), seed
    assert min(words.values()) > 20
    assert sum(words.values()) > 150


def test_a_group_has_the_highest_end_of_its_members() -> None:
    tried = 0
    for seed in range(150):
        problem = replace(with_aliases(seed), objective="peak")
        try:
            groups = Groups(problem)
            answer = place(problem, minimise=True)
        except PlacementError:
            continue
        if not groups.members or clashes(groups):
            continue
        ends = [highest_end(groups.merged, table) for table in groups.tables()]
        assert (answer.status == "minimal") == bool(ends), seed
        if ends:
            tried += 1
            assert highest_end(problem, answer.addresses.tolist()) == min(ends), seed
    assert tried > 30
