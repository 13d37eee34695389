"""One column of a batch: its exact sum, extremes and few distinct values; where it lies to brackets; its bits.

All take the column in its own type and compare in double precision, as the values of a whole table are compared.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from synafa.table.sums import OFTEN, add_doubles


@njit(cache=True, nogil=True)
def present(values, doubles):  # type: ignore[no-untyped-def]
    """Copy what is not NaN to `doubles`, -0.0 as 0.0: how many there are, and the first infinite one's place or -1."""
    n, odd = 0, -1
    for i in range(values.size):
        value = np.float64(values[i]) + 0.0
        doubles[n] = value
        n += value == value
        if value - value != 0 and value == value and odd < 0:
            odd = i
    return n, odd


@njit(cache=True, nogil=True)
def add_sum(chunks, doubles):  # type: ignore[no-untyped-def]
    """Add finite doubles to an exact sum."""
    for first in range(0, doubles.size, OFTEN):
        add_doubles(chunks, doubles[first : first + OFTEN])


@njit(cache=True, nogil=True)
def _outside(values, least, second, most):  # type: ignore[no-untyped-def]
    """How many values would change the extremes."""
    count = 0
    for i in range(values.size):
        count += (values[i] < least) | (values[i] > most) | ((values[i] > second) & (values[i] < most))
    return count


@njit(cache=True, nogil=True)
def extremes(values, three):  # type: ignore[no-untyped-def]
    """Update the least, the second largest distinct and the largest value."""
    for first in range(0, values.size, OFTEN):
        part = values[first : first + OFTEN]
        if not _outside(part, three[0], three[1], three[2]):
            continue
        for i in range(part.size):
            value = part[i]
            three[0] = min(three[0], value)
            if value > three[2]:
                three[1], three[2] = three[2], value
            elif three[1] < value < three[2]:
                three[1] = value


@njit(cache=True, nogil=True)
def distinct(values, few, count):  # type: ignore[no-untyped-def]
    """Add new values to the `count` first of `few` until it is full; returns how many it holds then."""
    for i in range(values.size):
        if count == few.size:
            return count
        known = False
        for k in range(count):
            known |= few[k] == values[i]
        if not known:
            few[count] = values[i]
            count += 1
    return count


@njit(cache=True, nogil=True)
def _inside(values, low, high):  # type: ignore[no-untyped-def]
    """How many values lie below a bracket, and how many in it."""
    below, inside = 0, 0
    for i in range(values.size):
        below += values[i] < low
        inside += (values[i] >= low) & (values[i] <= high)
    return below, inside


@njit(cache=True, nogil=True)
def bracket(values, low, high, kept, at):  # type: ignore[no-untyped-def]
    """Count what is below a bracket and keep what is in it, while there is room: rows read, how many below, kept."""
    below = 0
    for first in range(0, values.size, OFTEN):
        part = values[first : first + OFTEN]
        under, inside = _inside(part, low, high)
        if at + inside > kept.size:
            return first, below, at
        below += under
        if inside:
            for i in range(part.size):
                if low <= part[i] <= high:
                    kept[at] = part[i]
                    at += 1
    return values.size, below, at


@njit(cache=True, nogil=True)
def buckets(values, low, high, first_key, shift, histogram):  # type: ignore[no-untyped-def]
    """Count what is below a bracket, and in it by the leading bits of the values' order-preserving keys."""
    below = 0
    bits = values.view(np.int64)
    for i in range(values.size):
        below += values[i] < low
        if low <= values[i] <= high:
            key = bits[i] if bits[i] >= 0 else np.int64(-0x8000000000000000) - bits[i]
            histogram[np.int64((np.uint64(key) - np.uint64(first_key)) >> shift)] += 1
    return below


@njit(cache=True, nogil=True)
def pack_column(values, order, edges, fill, planes):  # type: ignore[no-untyped-def]
    """Fill the planes (codes - 1, words) of one column; NaN has the code `fill`; `order` lists a row for each bit."""
    n_edges = edges.size
    for w in range(planes.shape[1]):
        if planes.shape[0] == 1:  # two bins and no missing cell
            word = np.uint64(0)
            edge = edges[0]
            for bit in range(64):
                row = order[64 * w + bit]
                if row >= 0:
                    word |= np.uint64(np.float64(values[row]) > edge) << np.uint64(bit)
            planes[0, w] = word
            continue
        planes[:, w] = np.uint64(0)
        for bit in range(64):
            row = order[64 * w + bit]
            if row >= 0:
                value = np.float64(values[row])
                code = 0
                for e in range(n_edges):
                    code += value > edges[e]
                code = fill if value != value else code
                if code:
                    planes[code - 1, w] |= np.uint64(1) << np.uint64(bit)


@njit(cache=True, nogil=True)
def histogram_bytes(values, counts):  # type: ignore[no-untyped-def]
    """Add how often each of 256 bytes occurs, in four tables so that equal neighbours do not wait for each other."""
    tables = np.zeros((4, 256), np.int64)
    whole = values.size // 4 * 4
    for i in range(0, whole, 4):
        tables[0, values[i]] += 1
        tables[1, values[i + 1]] += 1
        tables[2, values[i + 2]] += 1
        tables[3, values[i + 3]] += 1
    for i in range(whole, values.size):
        tables[0, values[i]] += 1
    for b in range(256):
        counts[b] += tables[0, b] + tables[1, b] + tables[2, b] + tables[3, b]


@njit(cache=True, nogil=True)
def merge_counted(values, counts, more, often):  # type: ignore[no-untyped-def]
    """Distinct values in order and how often each occurs, from two such lists; in `more` neighbours may be equal."""
    both, total = np.empty(values.size + more.size), np.empty(values.size + more.size, np.int64)
    i, k, n = 0, 0, 0
    while i < values.size or k < more.size:
        first = k >= more.size or (i < values.size and values[i] <= more[k])
        value = values[i] if first else more[k]
        count = counts[i] if first else often[k]
        i += first
        k += not first
        if n and both[n - 1] == value:
            total[n - 1] += count
        else:
            both[n] = value
            total[n] = count
            n += 1
    return both[:n].copy(), total[:n].copy()
