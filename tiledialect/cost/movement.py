"""Closed forms of a relayout: words, messages, control words, staging.

The fullest port decides: payload in and out at a word a cycle, or the control words
that all issue through one pipe; the phase adds its latency and a fixed overhead. All
counts are upper bounds or typical figures of the largest blocks; tests hold them
against the tables of real transfers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.codelets import copy_cycles
from tiledialect.cost.spec import Spec, ceil_div, run_elements, segments
from tiledialect.machine import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

WORD = 4


@dataclass(frozen=True)
class Movement:
    """What a relayout costs.

    exchange       cycles of its phase
    copy           cycles of the byte copies after it, 0 where there are none
    staging_bytes  a tile's staging for words that do not lie at word bounds
    row_bytes      control words of the fullest tile
    """

    exchange: Ints
    copy: Ints
    staging_bytes: Ints
    row_bytes: Ints


@dataclass(frozen=True)
class _Counts:
    """Of the fullest tile: bytes and messages in and out."""

    bytes_in: Ints
    bytes_out: Ints
    messages_in: Ints
    messages_out: Ints


def no_movement(zero: Ints) -> Movement:
    """Nothing moves."""
    return Movement(zero, zero, zero, zero)


def same_place(source: Spec, destination: Spec) -> NDArray[np.bool_]:
    """Whether every element already lies where it should: both linear, or one linear
    and the other one axis cut into the same runs over all tiles."""
    flat = len(source.shape) == len(destination.shape) == 1
    plain = source.spread is None and destination.spread is None
    if source.linear and destination.linear:
        return np.array([source.linear == destination.linear])
    if not (flat and plain and (source.linear or destination.linear)):
        return np.array([False])
    return source.tile_bytes == destination.tile_bytes


def movement(
    machine: Machine, source: Spec, destination: Spec, shared: bool
) -> Movement:
    """The cost of bringing a tensor from one layout to another. `shared`: several
    tiles hold each destination block, so that a sender may be among its receivers."""
    counts = _counts(source, destination)
    staged = _staged(source, destination)
    moved = _priced(machine, source, destination, counts, staged, not shared)
    if shared:
        return moved
    away = ~same_place(source, destination)
    return Movement(
        moved.exchange * away,
        moved.copy * away,
        moved.staging_bytes * away,
        moved.row_bytes * away,
    )


def least_exchange(machine: Machine, destination: Spec) -> Ints:
    """The least that an exchange phase into this layout takes, from wherever."""
    words = ceil_div(destination.tile_elements * destination.element_bytes, WORD)
    fixed = machine.latency(machine.tiles - 1) + machine.exchange.phase_cycles
    return np.where(words > 0, words + fixed, 0)


def stacked(
    machine: Machine, source: Spec, destination: Spec, partials: Ints, own: bool
) -> Movement:
    """The cost of gathering the partial sums of each destination piece in a stack;
    `own`: the tile's own one is read where it lies."""
    one = _counts(source, destination)
    received = partials - 1 if own else partials
    share = source.block_elements * source.element_bytes
    counts = _Counts(
        one.bytes_in * received,
        share * np.maximum(received, 1) // np.maximum(partials, 1),
        _piece_messages(source, destination) * received,
        one.messages_out,
    )
    staged = _staged(source, destination)
    return _priced(machine, source, destination, counts, staged, not own)


def _counts(source: Spec, destination: Spec) -> _Counts:
    if source.linear or destination.linear:
        return _linear_counts(source, destination)
    into = [
        segments(d, s, e)
        for d, s, e in zip(destination.blocks, source.blocks, source.shape, strict=True)
    ]
    out = [
        segments(s, d, e)
        for d, s, e in zip(destination.blocks, source.blocks, source.shape, strict=True)
    ]
    box_in = tuple(
        ceil_div(d, n) for d, n in zip(destination.extents, into, strict=True)
    )
    box_out = tuple(ceil_div(s, n) for s, n in zip(source.extents, out, strict=True))
    run_in = run_elements(source, destination, box_in)
    run_out = run_elements(source, destination, box_out)
    messages_in = np.maximum(
        _product(into), ceil_div(destination.tile_elements, run_in)
    )
    messages_out = np.maximum(_product(out), ceil_div(source.tile_elements, run_out))
    if source.spread is not None:
        messages_in = np.maximum(messages_in, source.spread)
        messages_out = np.maximum(1, ceil_div(source.tile_elements, run_in))
    if destination.spread is not None:
        messages_in = ceil_div(destination.tile_elements, run_in) + 1
    return _Counts(
        destination.tile_elements * destination.element_bytes,
        source.tile_elements * source.element_bytes,
        messages_in,
        messages_out,
    )


def _linear_counts(source: Spec, destination: Spec) -> _Counts:
    """One side is in linear ownership: runs end where its pieces end too."""
    blocked = destination if source.linear else source
    run = run_elements(source, destination, blocked.extents)
    linear = source if source.linear else destination
    piece = np.maximum(linear.tile_elements, 1)
    block_messages = ceil_div(blocked.tile_elements, run) + ceil_div(
        blocked.tile_elements, piece
    )
    piece_messages = ceil_div(linear.tile_elements, run) + 1
    into, out = (
        (block_messages, piece_messages)
        if source.linear
        else (piece_messages, block_messages)
    )
    return _Counts(
        destination.tile_elements * destination.element_bytes,
        source.tile_elements * source.element_bytes,
        into,
        out,
    )


def _piece_messages(source: Spec, destination: Spec) -> Ints:
    """Runs in which one partial of a piece arrives."""
    run = run_elements(source, destination, destination.extents)
    if destination.linear:
        run = run_elements(source, destination, source.extents)
        return ceil_div(destination.tile_elements, run) + 1
    return ceil_div(destination.tile_elements, run)


def _staged(source: Spec, destination: Spec) -> bool:
    """Whether runs may begin or end inside a word: rows of linear ownership that are
    no whole words, or runs of less than one."""
    width = source.element_bytes
    linear = source.linear or destination.linear
    rows = len(source.shape) > 1 and source.shape[-1] * width % WORD != 0
    inner = (source.order[-1].axis, destination.order[-1].axis) if source.order else ()
    across = len(set(inner)) > 1 and width < WORD
    return bool((linear and rows) or across)


def _priced(
    machine: Machine,
    source: Spec,
    destination: Spec,
    counts: _Counts,
    staged: bool,
    local: bool,
) -> Movement:
    words_in = ceil_div(counts.bytes_in, WORD)
    words_out = ceil_div(counts.bytes_out, WORD)
    if staged:  # covering words
        words_in = words_in + counts.messages_in
        words_out = words_out + counts.messages_out
    x = machine.exchange
    controls = (
        counts.messages_in * (x.source_controls + x.pointer_controls)
        + counts.messages_out * (x.send_controls + x.gap_controls)
        + words_out // x.send_chunk_words * x.send_controls
        + x.phase_controls
    )
    latency = machine.latency(machine.tiles - 1)
    length = np.maximum(np.maximum(words_in, words_out) + latency, controls)
    moving = (counts.bytes_in > 0) & (counts.bytes_out > 0)
    return Movement(
        np.where(moving, length + x.phase_cycles, 0),
        np.where(
            moving, _copies(machine, source, destination, counts, staged, local), 0
        ),
        counts.bytes_in + 2 * WORD * counts.messages_in if staged else 0 * words_in,
        controls * x.control_word_bytes,
    )


def _copies(
    machine: Machine,
    source: Spec,
    destination: Spec,
    counts: _Counts,
    staged: bool,
    local: bool,
) -> Ints:
    """Cycles of byte copies after the phase: of staged runs, or of runs that a tile
    would send to itself alone."""
    width = source.element_bytes
    if staged:
        return copy_cycles(machine, counts.bytes_in, counts.messages_in, width)
    if not local:
        return counts.bytes_in * 0
    both = np.minimum(counts.bytes_in, counts.bytes_out)
    runs = np.minimum(counts.messages_in, counts.messages_out)
    row = source.shape[-1] * width if source.shape else width
    return copy_cycles(machine, both, runs, 2 * WORD if row % 8 == 0 else WORD)


def _product(values: list[Ints]) -> Ints:
    result = np.ones(1, dtype=np.int64)
    for value in values:
        result = result * value
    return result
