"""The entries of a row of scores that can win a decision in which at most a given number of features is out."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True)
def _worse(net, a, b):  # type: ignore[no-untyped-def]
    """Whether entry a comes after entry b: a lower score, or the same and a higher index."""
    return net[a] < net[b] or (net[a] == net[b] and a > b)


@njit(cache=True)
def _sift_down(heap, size, net):  # type: ignore[no-untyped-def]
    """Restore the heap, whose worst entry is on top, after its top was replaced."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and _worse(net, heap[child + 1], heap[child]):
            child += 1
        if not _worse(net, heap[child], heap[at]):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@njit(cache=True)
def _sift_up(heap, size, net):  # type: ignore[no-untyped-def]
    """Restore the heap after an entry was appended."""
    at = size - 1
    while at > 0:
        parent = (at - 1) // 2
        if not _worse(net, heap[at], heap[parent]):
            return
        heap[at], heap[parent] = heap[parent], heap[at]
        at = parent


@njit(parallel=True, cache=True)
def keep_best(bits, least, costs, own, weight, order, ends, most, skip, kept, tail):  # type: ignore[no-untyped-def]
    """Mark in `kept` (m, D) the entries k of each row with fewer than `most` better ones among those not dearer.

    bits (m, D) : what entry k tells; its score is `bits - weight * (costs[k] + own[row])`
    least (D,) : an entry counts only if it tells more than this and its score is above 0
    order (D,), ends (groups,) : features by price, and where each price ends; one group: prices do not matter
    skip (m,) : an entry of each row that does not count
    tail (m,) : set to the lowest score of the `most` best of all, 0 if there are fewer
    """
    m, d = bits.shape
    for i in prange(m):
        net = np.empty(d)
        for k in range(d):
            net[k] = bits[i, k] - weight * (costs[k] + own[i]) if bits[i, k] > least[k] else 0.0
        net[skip[i]] = 0.0
        heap = np.empty(most, np.int64)
        entered = np.empty(d, np.int64)
        size, at = 0, 0
        for end in ends:
            n_entered = 0
            for place in range(at, end):
                k = order[place]
                if not net[k] > 0.0 or (size == most and _worse(net, k, heap[0])):
                    continue
                if size < most:
                    heap[size] = k
                    size += 1
                    _sift_up(heap, size, net)
                else:
                    heap[0] = k
                    _sift_down(heap, size, net)
                entered[n_entered] = k
                n_entered += 1
            at = end
            for place in range(n_entered):
                k = entered[place]
                kept[i, k] = size < most or not _worse(net, k, heap[0])
        tail[i] = net[heap[0]] if size == most else 0.0
