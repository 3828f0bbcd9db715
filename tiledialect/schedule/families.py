"""Phases so regular that their schedule has a closed form.

Rotation (all-to-all, reduce-scatter): the receivers of unicasts form groups that send
to one another; in step k each member sends to the one k places on. Turns (all-gather,
block broadcast): the destination sets of a class are disjoint; the messages to a set
take turns, and the classes follow one another.

Each function returns the starts, or None when the phase is no such family. What it
returns never uses a port twice, but need not be short: the caller compares.
"""

import numpy as np

from tiledialect.schedule.table import Index, Messages

MOST_CLASSES = 4


def rotation(messages: Messages) -> Index | None:
    """Starts by rotation within closed groups of tiles."""
    source, target = messages.source, messages.targets()
    label = _groups(messages.tiles, source, target)
    if label is None:
        return None
    size = np.bincount(label, minlength=messages.tiles)
    order = np.argsort(label, kind="stable")
    rank = np.empty(messages.tiles, np.int64)
    rank[order] = np.arange(messages.tiles) - np.repeat(np.cumsum(size) - size, size)
    group_size = size[label]
    base = np.cumsum(group_size) - group_size
    step = rank[target] - rank[source]
    step += np.where(step < 0, group_size[source], 0)
    pair = base[source] + step
    offset, pair_words = queue(pair, messages.words, int(group_size.sum()))
    tile = np.repeat(np.arange(messages.tiles), group_size)
    slot = (np.cumsum(size * size) - size * size)[label[tile]]
    slot += np.arange(tile.size) - base[tile]
    width = np.zeros(int((size * size).sum()), np.int64)
    np.maximum.at(width, slot, pair_words)
    begin = np.cumsum(width) - width
    first = (np.cumsum(size * size) - size * size)[label]
    return begin[first[source] + step] - begin[first[source]] + offset


def turns(messages: Messages) -> Index | None:
    """Starts by turns within classes of disjoint sets, if there are few classes."""
    sets = messages.set_start.size - 1
    classes = _disjoint_classes(messages)
    if classes is None:
        return None
    of_message = classes[messages.destinations]
    speaks = np.unique(messages.source * sets + messages.destinations)
    in_class = np.unique(messages.source * (MOST_CLASSES + 1) + of_message)
    if speaks.size != in_class.size:
        return None
    offset, load = queue(messages.destinations, messages.words, sets)
    longest = np.zeros(MOST_CLASSES, np.int64)
    np.maximum.at(longest, classes, load)
    return offset + (np.cumsum(longest) - longest)[of_message]


def queue(key: Index, words: Index, size: int) -> tuple[Index, Index]:
    """Words ahead of each entry under its own key, and all words under each key."""
    total = np.bincount(key, weights=words, minlength=size).astype(np.int64)
    if np.bincount(key, minlength=size).max(initial=0) <= 1:
        return np.zeros(key.size, np.int64), total
    order = np.argsort(key, kind="stable")
    ahead = np.cumsum(words[order]) - words[order]
    offset = np.empty(key.size, np.int64)
    offset[order] = ahead - (np.cumsum(total) - total)[key[order]]
    return offset, total


def _groups(tiles: int, source: Index, target: Index) -> Index | None:
    """A label for each tile, equal within groups that talk all to all."""
    label = np.arange(tiles)
    np.minimum.at(label, target, source)
    np.minimum.at(label, source, label[target])
    if not np.array_equal(label[source], label[target]):
        return None
    return label


def _disjoint_classes(messages: Messages) -> Index | None:
    """The class of each set, sets of one class being disjoint; at most a few."""
    sets = messages.set_start.size - 1
    size = np.diff(messages.set_start)
    if messages.set_tiles.size > MOST_CLASSES * messages.tiles:
        return None
    members = np.repeat(np.arange(sets), size)
    classes = np.full(sets, -1, np.int64)
    for number in range(MOST_CLASSES):
        open_sets = classes[members] < 0
        owner = np.full(messages.tiles, sets)
        np.minimum.at(owner, messages.set_tiles[open_sets], members[open_sets])
        clash = np.zeros(sets, np.bool_)
        clash[members[open_sets & (owner[messages.set_tiles] != members)]] = True
        classes[(classes < 0) & ~clash] = number
        if (classes >= 0).all():
            return classes
    return None
