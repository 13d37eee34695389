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
        end = min(begin + block, m)
        own, size = rows[begin:end], end - begin
        for c in range(n_sets):
            source = state[begin:end]
            for place in range(start[c], start[c + 1]):
                j = more[place]
                _add(source, own, x, known, j, value_weights[j], mask_weights[j], first)
                source = first
            _rectify(source, size, first)
            np.dot(first[:size], second, then[:size])
            _add_rectified(then, size, second_bias)
            np.dot(then[:size], output, last[:size])
            _shifted(last, size, output_bias, logits[:, c, begin:end])
    return logits


@njit(cache=True, nogil=True)
def _add(hidden, rows, x, known, j, value_weights, mask_weights, out):  # type: ignore[no-untyped-def]
    """First layer with feature j: its value (and that it is known) times the weights, added to `hidden`."""
    for i in range(rows.size):
        value = x[rows[i], j]
        there = np.float32(1.0) if known.size == 0 else known[rows[i], j]
        for h in range(out.shape[1]):
            out[i, h] = hidden[i, h] + (value * value_weights[h] + there * mask_weights[h])


@njit(cache=True, nogil=True)
def _rectify(hidden, size, out):  # type: ignore[no-untyped-def]
    for i in range(size):
        for h in range(out.shape[1]):
            out[i, h] = hidden[i, h] if hidden[i, h] > 0 else np.float32(0.0)


@njit(cache=True, nogil=True)
def _add_rectified(hidden, size, bias):  # type: ignore[no-untyped-def]
    for i in range(size):
        for g in range(bias.size):
            total = hidden[i, g] + bias[g]
            hidden[i, g] = total if total > 0 else np.float32(0.0)


@njit(cache=True, nogil=True)
def _shifted(last, size, bias, logits):  # type: ignore[no-untyped-def]
    """logits (K, size): the largest of every row becomes 0."""
    for i in range(size):
        largest = last[i, 0] + bias[0]
        for k in range(1, bias.size):
            largest = max(largest, last[i, k] + bias[k])
        for k in range(bias.size):
            logits[k, i] = last[i, k] + bias[k] - largest
