"""Asking a forest about many rows at once, compiled and run over groups of neighbouring rows in parallel.

A tree sends most neighbours the same way. The rows are therefore halved again and again into boxes (a k-d tree, made
once), and a box goes down a tree as one as long as all of it lies on one side of the thresholds; where one cuts it,
its halves go on from there. Each row adds up its trees in their order, whatever the boxes and the number of threads.

A node of a forest is one 64-bit word: the upper half is its threshold as an ordered integer, the lower half the index
of its left child (the right one follows) times `FEATURES`, plus its feature. A leaf is its own left child.
The boxes of a level halve those of the level above: box b of n rows and 2**L boxes has rows n*b >> L to n*(b+1) >> L.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

FEATURES = 16  # at most so many features fit in a node
GROUPS = 64  # boxes that are asked in parallel; their rows and their part of a tree stay in the cache


@njit(cache=True, nogil=True)
def _halve(order, places, start, middle, stop):  # type: ignore[no-untyped-def]
    """Reorder order[start:stop] so that places[order] before `middle` are at most those from there on."""
    low, high = start, stop - 1
    while low < high:
        pivot = places[order[(low + high) // 2]]
        i, j = low, high
        while i <= j:
            while places[order[i]] < pivot:
                i += 1
            while places[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit(cache=True, nogil=True)
def neighbours(places, levels):  # type: ignore[no-untyped-def]
    """int64 (n,): the rows so ordered that boxes are small, measured in `places`, int32 (features, n)."""
    d, n = places.shape
    order = np.arange(n)
    for level in range(levels):
        for box in range(1 << level):
            start, stop = (n * box) >> level, (n * (box + 1)) >> level
            widest, most = 0, -1
            for f in range(d):
                least, largest = places[f, order[start]], places[f, order[start]]
                for i in range(start + 1, stop):
                    least = min(least, places[f, order[i]])
                    largest = max(largest, places[f, order[i]])
                if largest - least > most:
                    widest, most = f, largest - least
            if most > 0:
                _halve(order, places[widest], start, (n * (2 * box + 1)) >> (level + 1), stop)
    return order


@njit(cache=True, nogil=True)
def _edges(keys, levels):  # type: ignore[no-untyped-def]
    """Least and largest key of every box, int32 (boxes, features) each; box b of level L is entry 2**L + b."""
    n, d = keys.shape
    least, largest = np.empty((2 << levels, d), np.int32), np.empty((2 << levels, d), np.int32)
    for box in range(1 << levels):
        start, stop = (n * box) >> levels, (n * (box + 1)) >> levels
        for f in range(d):
            low, high = keys[start, f], keys[start, f]
            for i in range(start + 1, stop):
                low, high = min(low, keys[i, f]), max(high, keys[i, f])
            least[(1 << levels) + box, f], largest[(1 << levels) + box, f] = low, high
    for box in range((1 << levels) - 1, 0, -1):
        for f in range(d):
            least[box, f] = min(least[2 * box, f], least[2 * box + 1, f])
            largest[box, f] = max(largest[2 * box, f], largest[2 * box + 1, f])
    return least, largest


@njit(cache=True, nogil=True)
def _leaf(nodes, node, row):  # type: ignore[no-untyped-def]
    """The leaf that a row reaches from a node."""
    while True:
        word = nodes[node]
        left = (word & 0xFFFFFFFF) // FEATURES
        if left == node:
            return node
        node = left + np.int64(row[word & (FEATURES - 1)] > (word >> 32))


@njit(cache=True, nogil=True)
def _add_tree(nodes, root, values, keys, least, largest, level, box, levels, total, stack):  # type: ignore[no-untyped-def]
    """Add to `total` what one tree says of the rows of one box of a level."""
    n = len(keys)
    stack[0, 0], stack[0, 1], stack[0, 2] = level, box, root
    size = 1
    while size:
        size -= 1
        level, box, node = stack[size]
        entry = (1 << level) + box
        while True:
            word = nodes[node]
            left, f, threshold = (word & 0xFFFFFFFF) // FEATURES, word & (FEATURES - 1), word >> 32
            if left == node:
                value = values[node]
                for i in range((n * box) >> level, (n * (box + 1)) >> level):
                    total[i] += value
                break
            if largest[entry, f] <= threshold:
                node = left
            elif least[entry, f] > threshold:
                node = left + 1
            elif level == levels:
                for i in range((n * box) >> level, (n * (box + 1)) >> level):
                    total[i] += values[_leaf(nodes, node, keys[i])]
                break
            else:
                level, box = level + 1, 2 * box
                entry = 2 * entry
                stack[size, 0], stack[size, 1], stack[size, 2] = level, box + 1, node
                size += 1


@njit(parallel=True, cache=True, nogil=True)
def sums(nodes, roots, values, keys, levels):  # type: ignore[no-untyped-def]
    """float64 (n,): the sum over trees of the value of each row's leaf.

    nodes, values : int64 and float64 (nodes,) of all trees; roots : int64 (trees,)
    keys : int32 (n, features), the rows as ordered integers, neighbours together; at least 2**levels rows
    """
    total = np.zeros(len(keys))
    least, largest = _edges(keys, levels)
    top = 0
    while (1 << top) < GROUPS and top < levels:
        top += 1
    for box in prange(1 << top):
        stack = np.empty((levels + 2, 3), np.int64)
        for root in roots:
            _add_tree(nodes, root, values, keys, least, largest, top, box, levels, total, stack)
    return total
