"""Counts of pairs on their complete cases, with thresholds that fit those rows alone.

A column is sorted once; its median among the rows that another column also has is found by walking along that order.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True)
def _threshold(values, order, there, count):  # type: ignore[no-untyped-def]
    """The study's rule (`synafa.information.codes`) for the `count` values, taken in `order`, whose row is `there`."""
    low = high = below = lower = upper = 0.0  # below: the largest value strictly under the highest so far
    distinct = seen = 0
    for row in order:
        if not there[row]:
            continue
        value = values[row]
        if distinct == 0 or value > high:
            below = high
            high = value
            distinct += 1
        if seen == 0:
            low = value
        if seen == (count - 1) // 2:
            lower = value
        if seen == count // 2:
            upper = value
        seen += 1
    if distinct <= 1:
        return np.inf
    if distinct == 2:
        return 0.5 * low + 0.5 * high
    median = lower if lower == upper else 0.5 * lower + 0.5 * upper
    return median if median < high else below


@njit(cache=True, parallel=True, nogil=True)
def complete_case_counts(values, orders, known, present, label, n_classes, first, second):  # type: ignore[no-untyped-def]
    """Counts (P, 2, 2, K) of the pairs (first[p], second[p]).

    `values` (D, n); `orders` (D, n): the rows that have the feature, by value, `known[d]` of them; `present` (D, n).
    """
    tables = np.zeros((first.size, 2, 2, n_classes), np.int64)
    n = label.size
    for p in prange(first.size):
        j, k = first[p], second[p]
        count = 0
        for i in range(n):
            count += present[j, i] & present[k, i]
        if count == 0:
            continue
        at_j = _threshold(values[j], orders[j, : known[j]], present[k], count)
        at_k = _threshold(values[k], orders[k, : known[k]], present[j], count)
        for i in range(n):
            if present[j, i] & present[k, i]:
                tables[p, int(values[j, i] > at_j), int(values[k, i] > at_k), label[i]] += 1
    return tables
