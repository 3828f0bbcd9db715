"""Closed forms of a relayout: words, messages, control words, staging.

The fullest port decides: payload in and out at a word a cycle, or the control words
that all issue through one pipe; the phase adds its latency and a fixed overhead. All
counts are upper bounds or typical figures of the largest blocks; tests hold them
against the tables of real transfers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tiledialect.codelets import copy_cycles
from tiledialect.cost.local_runs import most_local, pieces_met
from tiledialect.cost.messages import Counts, counts
from tiledialect.cost.pairs import (
    doubled_sends,
    doubled_words,
    may_share,
    run_bytes,
    whole_pairs,
)
from tiledialect.cost.spec import Spec, ceil_div
from tiledialect.machine import Machine
from tiledialect.rows import RECEIVE_WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

WORD = 4


@dataclass(frozen=True)
class Movement:
    """What a relayout costs.

    exchange       cycles of its phase
    copy           cycles of the byte copies after it, 0 where there are none
    staging_bytes  a tile's staging for words that do not lie at word bounds
    row_bytes      control words of the fullest tile
    send_bytes     of those, the ones that send
    """

    exchange: Ints
    copy: Ints
    staging_bytes: Ints
    row_bytes: Ints
    send_bytes: Ints

    @property
    def steps(self) -> Ints:
        """Steps of the program: a phase, and the copies after it."""
        return (self.exchange > 0) * 1 + (self.copy > 0)


def chosen(first: Mask, one: Movement, other: Movement) -> Movement:
    """Of each candidate one of two movements."""
    return Movement(
        np.where(first, one.exchange, other.exchange),
        np.where(first, one.copy, other.copy),
        np.where(first, one.staging_bytes, other.staging_bytes),
        np.where(first, one.row_bytes, other.row_bytes),
        np.where(first, one.send_bytes, other.send_bytes),
    )


def no_movement(zero: Ints) -> Movement:
    """Nothing moves."""
    return Movement(zero, zero, zero, zero, zero)


def same_place(source: Spec, destination: Spec) -> NDArray[np.bool_]:
    """Whether every element already lies where it should: both linear, or one linear
    and the other one axis cut into the same runs over all tiles."""
    if source.part or destination.part:
        return np.array([False])
    both = (source, destination)
    flat = len(source.shape) == len(destination.shape) == 1
    plain = all(spec.spread is None and spec.outer is None for spec in both)
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
    counted = counts(source, destination)
    if shared:
        return _shared(machine, source, destination, counted)
    return _alone(machine, source, destination, counted)


def to_users(
    machine: Machine, source: Spec, destination: Spec, users: Ints
) -> Movement:
    """The same to `users` tiles for each block, one or several."""
    counted = counts(source, destination)
    many = users > 1
    if many.all():
        return _shared(machine, source, destination, counted)
    alone = _alone(machine, source, destination, counted)
    if not many.any():
        return alone
    return chosen(many, _shared(machine, source, destination, counted), alone)


def _shared(
    machine: Machine, source: Spec, destination: Spec, counted: Counts
) -> Movement:
    moved = _priced(machine, source, destination, counted, local=False)
    return _paired(machine, source, destination, counted, moved)


def _alone(
    machine: Machine, source: Spec, destination: Spec, counted: Counts
) -> Movement:
    moved = _priced(machine, source, destination, counted, local=True)
    away = ~same_place(source, destination)
    return Movement(
        moved.exchange * away,
        moved.copy * away,
        moved.staging_bytes * away,
        moved.row_bytes * away,
        moved.send_bytes * away,
    )


def _paired(
    machine: Machine, source: Spec, destination: Spec, counted: Counts, plain: Movement
) -> Movement:
    """The same where pairs of tiles may take long runs as 64-bit items: the shorter of
    both phases, and room for the control words of either."""
    some = may_share(machine, destination) & (plain.exchange > 0)
    if not some.any():
        return plain
    x = machine.exchange
    words_out = ceil_div(counted.bytes_out, WORD) + counted.messages_out
    more = some * doubled_sends(machine, counted, words_out) * x.control_word_bytes
    fits, into, out = doubled_words(machine, source, destination, counted)
    fits = some & fits & ~staged(source, destination)
    rows = plain.row_bytes + more
    length = np.maximum(into, out) + machine.latency(machine.tiles - 1)
    length = np.maximum(length, rows // x.control_word_bytes) + x.phase_cycles
    exchange = np.where(fits, np.minimum(length, plain.exchange), plain.exchange)
    return replace(
        plain, exchange=exchange, row_bytes=rows, send_bytes=plain.send_bytes + more
    )


def least_exchange(machine: Machine, destination: Spec) -> Ints:
    """The least that an exchange phase into this layout takes, from wherever."""
    size = destination.tile_elements * destination.element_bytes
    words = ceil_div(size, WORD)
    paired = whole_pairs(machine, destination) & (size >= run_bytes(machine))
    words = np.where(paired, ceil_div(words, 2), words)
    fixed = machine.latency(machine.tiles - 1) + machine.exchange.phase_cycles
    return np.where(words > 0, words + fixed, 0)


def stacked(
    machine: Machine, source: Spec, destination: Spec, partials: Ints, own: bool
) -> Movement:
    """The cost of gathering the partial sums of each destination piece in a stack;
    `own`: the tile's own one is read where it lies."""
    counted = stack_counts(source, destination, partials, own)
    # All that a tile sends to another goes out in one go, and a block's pieces are on
    # as many tiles as it has partial sums.
    partners = partials - own
    if destination.linear:
        partners = pieces_met(source, destination)
    gaps = np.minimum(counted.messages_out, partners)
    return _priced(machine, source, destination, counted, not own, gaps)


def stack_counts(source: Spec, destination: Spec, partials: Ints, own: bool) -> Counts:
    """What a stack of partial sums moves."""
    one = counts(source, destination)
    received = partials - 1 if own else partials
    kept = _smallest_piece(source, destination, partials) if own else 0
    sent = (source.block_elements - kept) * source.element_bytes
    # The rows of a piece have as many runs as those of any other.
    unsent = one.messages_out * kept // np.maximum(source.block_elements, 1)
    messages_out = one.messages_out - unsent
    return Counts(
        one.bytes_in * received, sent, one.messages_in * received, messages_out
    )


def _smallest_piece(source: Spec, destination: Spec, partials: Ints) -> Ints:
    """Elements of the last of the pieces that a block of partial sums is cut into."""
    smallest = np.ones(1, dtype=np.int64)
    pairs = zip(source.blocks, destination.blocks, strict=True)
    for block, piece in pairs:
        last = np.maximum(0, block - (partials - 1) * piece)
        smallest = smallest * np.where(piece < block, last, block)
    cut = np.any(
        [p < b for b, p in zip(source.blocks, destination.blocks, strict=True)], axis=0
    )
    return np.where(cut, smallest, 0)


def staged(source: Spec, destination: Spec) -> Mask:
    """Whether some run may begin or end inside a word: it then arrives as covering
    words and is copied into place."""
    width = source.element_bytes
    none = np.zeros(1, dtype=np.bool_)
    if width >= WORD or not source.order:
        return none
    axis = destination.order[-1].axis
    if source.order[-1].axis != axis:
        return ~none
    odd = none | (source.shape[axis] * width % WORD != 0)
    for spec in (source, destination):
        for blocks in spec.cuts:
            cut = blocks[axis] < spec.shape[axis]
            odd = odd | (cut & (blocks[axis] * width % WORD != 0))
    return odd


def _priced(
    machine: Machine,
    source: Spec,
    destination: Spec,
    counted: Counts,
    local: bool,
    gaps: Ints | None = None,
) -> Movement:
    """`gaps`: how often a sender may pause; before each of its messages, if None."""
    at_bytes = staged(source, destination)
    # Covering words of a run are at most a word more than its bytes need.
    words_in = ceil_div(counted.bytes_in, WORD) + at_bytes * counted.messages_in
    words_out = ceil_div(counted.bytes_out, WORD) + at_bytes * counted.messages_out
    x = machine.exchange
    sends = counted.messages_out + _more_chunks(
        counted.messages_out, words_out, x.send_chunk_words
    )
    gaps = counted.messages_out if gaps is None else gaps
    sends = sends * x.send_controls + gaps * x.gap_controls
    hears = counted.messages_in * (x.source_controls + x.pointer_controls)
    sources = _more_chunks(counted.messages_in, words_in, RECEIVE_WORDS)
    hears = hears + sources * x.source_controls
    controls = hears + sends + x.phase_controls
    latency = machine.latency(machine.tiles - 1)
    length = np.maximum(np.maximum(words_in, words_out) + latency, controls)
    moving = (counted.bytes_in > 0) & (counted.bytes_out > 0)
    staging = at_bytes * (counted.bytes_in + 2 * WORD * counted.messages_in)
    return Movement(
        np.where(moving, length + x.phase_cycles, 0),
        moving * _copies(machine, source, destination, counted, at_bytes, local),
        moving * staging,
        moving * controls * x.control_word_bytes,
        moving * sends * x.control_word_bytes,
    )


def _more_chunks(messages: Ints, words: Ints, most: int) -> Ints:
    """Control words besides one for each message, where one is of `most` words."""
    return np.maximum(0, words - messages) // most


def _copies(
    machine: Machine,
    source: Spec,
    destination: Spec,
    counted: Counts,
    at_bytes: Mask,
    local: bool,
) -> Ints:
    """Cycles of byte copies after the phase: of staged runs, or of runs that a tile
    would send to itself alone."""
    width = source.element_bytes
    small = copy_cycles(machine, counted.bytes_in, counted.messages_in, width)
    if not local:
        return at_bytes * small
    both = np.minimum(counted.bytes_in, counted.bytes_out)
    runs = np.minimum(counted.messages_in, counted.messages_out)
    common = most_local(source, destination)
    if common is not None:
        runs = np.minimum(runs, common[0])
        both = np.minimum(both, common[1])
    row = source.shape[-1] * width if source.shape else width
    own = copy_cycles(machine, both, runs, 2 * WORD if row % 8 == 0 else WORD)
    return np.where(at_bytes, small, own)
