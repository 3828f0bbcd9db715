"""Boxes: the buffers that take space, aliases merged, time compressed.

Reads   a checked Problem.
Writes  Boxes: equal rules for every solver, arrays only.
Fails   PlacementError when aliases contradict each other or two pins overlap.

Every rule about the address of one box is a range of first bytes [first, last]
and a residue: address = phase modulo align. A pin is a range of one address.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from tiledialect.placement.problem import (
    ADDRESS_LIMIT,
    Bools,
    Ints,
    PlacementError,
    Problem,
)


@dataclass(frozen=True)
class Boxes:
    """m boxes in the order of their first buffer; lifetimes are pieces.

    Piece k says that box `piece_box[k]` is alive in the coordinates
    [piece_start[k], piece_end[k]); coordinate t begins at step `steps[t]`.
    """

    members: tuple[tuple[int, ...], ...]  # buffers of each box
    box_of: Ints  # (n,) box of each buffer, -1 = takes no space
    offset: Ints  # (n,) of the buffer inside its box
    bytes: Ints
    padded: Ints  # bytes rounded up to the alignment
    align: Ints
    phase: Ints
    first: Ints
    last: Ints
    classes: Bools  # (m, c)
    piece_box: Ints
    piece_start: Ints
    piece_end: Ints
    steps: Ints
    apart: Ints  # (p, 2) boxes
    edges: Ints

    def __len__(self) -> int:
        return len(self.bytes)


@dataclass
class _Root:
    """A box being built from its root buffer and the members found so far."""

    low: int
    end: int
    members: list[int]


def align_up(address: int, align: int, phase: int) -> int:
    """The least allowed address that is not below `address`."""
    return address + (phase - address) % align


def align_down(address: int, align: int, phase: int) -> int:
    """The greatest allowed address that is not above `address`."""
    return address - (address - phase) % align


def make_boxes(problem: Problem) -> Boxes:
    """The boxes of a problem."""
    root_of, offset = _resolve_aliases(problem)
    groups = _group_members(problem, root_of, offset)
    box_of = np.full(len(problem.names), -1, np.int64)
    for box, group in enumerate(groups):
        for member in group.members:
            box_of[member] = box
            offset[member] -= group.low
    rules = np.array(
        [_rules(problem, group, offset) for group in groups], np.int64
    ).reshape(-1, 4)
    size = np.array([group.end - group.low for group in groups], np.int64)
    align = rules[:, 0]
    classes = np.array(
        [problem.classes[group.members].any(axis=0) for group in groups], np.bool_
    ).reshape(len(groups), problem.classes.shape[1])
    pieces, steps = _pieces(problem, groups)
    boxes = Boxes(
        members=tuple(tuple(group.members) for group in groups),
        box_of=box_of,
        offset=offset,
        bytes=size,
        padded=size + (-size) % align,
        align=align,
        phase=rules[:, 1],
        first=rules[:, 2],
        last=rules[:, 3],
        classes=classes,
        piece_box=pieces[:, 0],
        piece_start=pieces[:, 1],
        piece_end=pieces[:, 2],
        steps=steps,
        apart=_box_pairs(problem, box_of, classes),
        edges=np.asarray(problem.element_edges, np.int64),
    )
    return boxes


def _resolve_aliases(problem: Problem) -> tuple[Ints, Ints]:
    """For every buffer its root and the byte offset from it (may be negative)."""
    root = np.arange(len(problem.names), dtype=np.int64)
    offset = np.zeros(len(problem.names), np.int64)
    for child, parent, distance in problem.aliases:
        shift = int(offset[parent]) + distance - int(offset[child])
        if root[child] == root[parent]:
            if shift != 0:
                raise PlacementError(
                    f"alias {problem.names[child]} of {problem.names[parent]} at "
                    f"byte {distance} contradicts an earlier alias",
                    (child, parent),
                )
            continue
        moved = root == root[child]
        offset[moved] += shift
        root[moved] = root[parent]
    return root, offset


def _group_members(problem: Problem, root: Ints, offset: Ints) -> list[_Root]:
    """Buffers by root; those that take no space at any time are left out."""
    groups: dict[int, _Root] = {}
    takes_space = [
        bool(problem.bytes[i] > 0 and problem.lifetimes[i] and problem.classes[i].any())
        for i in range(len(problem.names))
    ]
    counts = np.bincount(root, minlength=len(root)) if len(root) else root
    alive = np.zeros(len(root), np.bool_)
    np.logical_or.at(alive, root, np.array(takes_space, np.bool_))
    for index in range(len(root)):
        key = int(root[index])
        if not alive[key] or (counts[key] == 1 and not takes_space[index]):
            continue
        start = int(offset[index])
        end = start + int(problem.bytes[index])
        group = groups.setdefault(key, _Root(start, end, []))
        group.members.append(index)
        group.low = min(group.low, start)
        group.end = max(group.end, end)
    return list(groups.values())


def _rules(problem: Problem, group: _Root, offset: Ints) -> tuple[int, int, int, int]:
    """Alignment, phase, first and last address of a box."""
    align, phase, first, last = 1, 0, 0, ADDRESS_LIMIT
    for member in group.members:
        inside = int(offset[member])
        merged = _merge_residues(align, phase, int(problem.align[member]), -inside)
        if merged is None:
            raise PlacementError(
                f"{problem.names[member]}: its alignment {problem.align[member]} "
                "contradicts that of a buffer it is an alias of",
                tuple(group.members),
            )
        align, phase = merged
        room = min(int(problem.high[member]), ADDRESS_LIMIT)
        low, high = int(problem.low[member]), room - int(problem.bytes[member])
        pin = int(problem.pinned[member])
        if pin >= 0:
            low, high = max(low, pin), min(high, pin)
        first, last = max(first, low - inside), min(last, high - inside)
    return align, phase, align_up(first, align, phase), max(last, -1)


def _merge_residues(
    align: int, phase: int, other: int, other_phase: int
) -> tuple[int, int] | None:
    """The residue class that is in both, or None when there is none."""
    common = gcd(align, other)
    if (other_phase - phase) % common:
        return None
    inverse = pow(align // common, -1, other // common)
    steps = (other_phase - phase) // common * inverse
    joint = align // common * other
    return joint, (phase + align * steps) % joint


def _pieces(problem: Problem, groups: list[_Root]) -> tuple[Ints, Ints]:
    """The united lifetimes as (box, start, end) in coordinates, and the steps."""
    pieces: list[tuple[int, int, int]] = []
    for box, group in enumerate(groups):
        spans = sorted(
            span for member in group.members for span in problem.lifetimes[member]
        )
        begin, end = spans[0]
        for start, stop in spans[1:]:
            if start > end:
                pieces.append((box, begin, end))
                begin, end = start, stop
            end = max(end, stop)
        pieces.append((box, begin, end))
    table = np.array(pieces, np.int64).reshape(-1, 3)
    steps = np.unique(table[:, 1:])
    table[:, 1:] = np.searchsorted(steps, table[:, 1:])
    return table, steps


def _box_pairs(problem: Problem, box_of: Ints, classes: Bools) -> Ints:
    """Element pairs of boxes that share a class, each once, smaller first."""
    pairs: set[tuple[int, int]] = set()
    for left, right in np.asarray(problem.apart, np.int64).reshape(-1, 2).tolist():
        one, two = int(box_of[left]), int(box_of[right])
        if one < 0 or two < 0 or not np.any(classes[one] & classes[two]):
            continue
        if one == two:
            raise PlacementError(
                f"{problem.names[left]} and {problem.names[right]} are one buffer "
                "and cannot lie in different elements",
                (left, right),
            )
        pairs.add((min(one, two), max(one, two)))
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)
