"""Phases so regular that their schedule has a closed form.

Rotation (all-to-all, reduce-scatter): the receivers of unicasts form groups that send
to one another; in step k each member sends to the one k places on. Turns (all-gather,
block broadcast): the destination sets of a class are disjoint; the messages to a set
take turns, and the classes follow one another.

Each function returns the starts, or None when the phase is no such family. What it
returns never uses a port twice, but need not be short: the caller compares.
"""

import numpy as np

from tiledialect.schedule.bounds import weighted_count
from tiledialect.schedule.table import Index, Messages, blocks

MOST_CLASSES = 4


def rotation(messages: Messages) -> Index | None:
    """Starts by rotation within closed groups of tiles."""
    source, target = messages.source, messages.targets()
    label = _groups(messages.tiles, source, target)
    if label is None:
        return None
    size = np.bincount(label, minlength=messages.tiles)
    first = (np.cumsum(size) - size)[label]
    size = size[label]
    if 2 * messages.count < int((size - 1).sum()):
        return None
    rank = np.empty(messages.tiles, np.int64)
    rank[np.argsort(label, kind="stable")] = np.arange(messages.tiles)
    rank -= first
    base = np.cumsum(size) - size
    key = np.empty(messages.count, np.int64)
    met = np.zeros(int(size.sum()), np.bool_)
    for part in blocks(messages.count):
        sender = source[part]
        step = rank[target[part]] - rank[sender]
        step += (step >> 63) & size[sender]
        key[part] = first[sender] + step
        met[base[sender] + step] = True
    offset, load = None, messages.words
    if np.count_nonzero(met) < messages.count:
        pair = base[source] + key - first[source]
        offset, load = queue(pair, messages.words, met.size)
        load = load[pair]
    longest = np.zeros(messages.tiles, np.int64)
    if load.min() == load.max():
        longest[key] = load[0]
    else:
        np.maximum.at(longest, key, load)
    ahead = np.cumsum(longest) - longest
    begin = np.empty_like(ahead)
    begin[first + rank] = ahead[first + rank] - ahead[first]
    start = begin[key]
    return start if offset is None else start + offset


def turns(messages: Messages) -> Index | None:
    """Starts by turns within classes of disjoint sets, if there are few classes."""
    sets = messages.set_start.size - 1
    classes = _disjoint_classes(messages)
    if classes is None:
        return None
    of_message = classes[messages.destinations]
    voice = messages.source * MOST_CLASSES + of_message
    lowest = np.full(messages.tiles * MOST_CLASSES, sets)
    np.minimum.at(lowest, voice, messages.destinations)
    if (lowest[voice] != messages.destinations).any():
        return None
    offset, load = queue(messages.destinations, messages.words, sets)
    longest = np.zeros(MOST_CLASSES, np.int64)
    np.maximum.at(longest, classes, load)
    return offset + (np.cumsum(longest) - longest)[of_message]


def queue(key: Index, words: Index, size: int) -> tuple[Index, Index]:
    """Words ahead of each entry under its own key, and all words under each key."""
    total = weighted_count(key, words, size)
    order = np.argsort(key, kind="stable")
    ahead = np.cumsum(words[order]) - words[order]
    offset = np.empty(key.size, np.int64)
    offset[order] = ahead - (np.cumsum(total) - total)[key[order]]
    return offset, total


def _groups(tiles: int, source: Index, target: Index) -> Index | None:
    """A label for each tile, equal within groups that talk all to all."""
    label = np.arange(tiles)
    np.minimum.at(label, target, source)
    for part in blocks(source.size):
        np.minimum.at(label, source[part], label[target[part]])
    for part in blocks(source.size):
        if not np.array_equal(label[source[part]], label[target[part]]):
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
