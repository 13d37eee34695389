"""Logits of the shared network for many sets that add a few features each to one state, in blocks that stay in cache.

A block of rows goes through both layers before the next one is begun: what adding the features does to the first layer
(kept, float32), the second layer as one matrix product, and the logits, shifted so that the largest is 0.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 256  # rows: both hidden layers of a block and the second layer's weights fit the second-level cache


@njit(cache=True, nogil=True)
def network_logits(  # type: ignore[no-untyped-def]
    state, rows, x, known, value_weights, mask_weights, second, second_bias, output, output_bias, more, start
):
    """Shifted logits float32 (K, C, m) of C sets; set c adds the features `more[start[c]:start[c + 1]]`.

    state (m, H) before the first rectifier; x (n, D), known (n, D) or (0, 0) when every value is there;
    value_weights, mask_weights (D, H); second (H, G); output (G, K)
    """
    m, n_hidden = state.shape
    n_sets, n_classes = start.size - 1, output.shape[1]
    logits = np.empty((n_classes, n_sets, m), np.float32)
    block = min(BLOCK, max(m, 1))
    first = np.empty((block, n_hidden), np.float32)
    then = np.empty((block, second.shape[1]), np.float32)
    last = np.empty((block, n_classes), np.float32)
    for begin in range(0, m, block):
        size = min(block, m - begin)
        for c in range(n_sets):
            for i in range(size):
                row = rows[begin + i]
                _start(state[begin + i], first[i])
                for place in range(start[c], start[c + 1]):
                    j = more[place]
                    there = np.float32(1.0) if known.size == 0 else known[row, j]
                    _add(first[i], x[row, j], there, value_weights[j], mask_weights[j])
                _rectify(first[i])
            np.dot(first[:size], second, then[:size])
            for i in range(size):
                _add_rectified(then[i], second_bias)
            np.dot(then[:size], output, last[:size])
            for i in range(size):
                largest = last[i, 0] + output_bias[0]
                for k in range(1, n_classes):
                    largest = max(largest, last[i, k] + output_bias[k])
                for k in range(n_classes):
                    logits[k, c, begin + i] = last[i, k] + output_bias[k] - largest
    return logits


@njit(cache=True, nogil=True)
def _start(state, hidden):  # type: ignore[no-untyped-def]
    for h in range(hidden.size):
        hidden[h] = state[h]


@njit(cache=True, nogil=True)
def _add(hidden, value, there, value_weights, mask_weights):  # type: ignore[no-untyped-def]
    for h in range(hidden.size):
        hidden[h] += value * value_weights[h] + there * mask_weights[h]


@njit(cache=True, nogil=True)
def _rectify(hidden):  # type: ignore[no-untyped-def]
    for h in range(hidden.size):
        hidden[h] = hidden[h] if hidden[h] > 0 else np.float32(0.0)


@njit(cache=True, nogil=True)
def _add_rectified(hidden, bias):  # type: ignore[no-untyped-def]
    for g in range(hidden.size):
        total = hidden[g] + bias[g]
        hidden[g] = total if total > 0 else np.float32(0.0)
