"""Hidden states and logits of small networks for blocks of rows, rows innermost: one instruction serves many rows.

A block has the shape (H, BLOCK): the state of every network of its part, one below the other, then the linear
member's logits. The same rows with other features are judged from the block while it is in the first-level cache.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add(hidden, rows, part, j, place, cells, slots, numbers, slot_weights, column):  # type: ignore[no-untyped-def]
    """Add what feature j of the rows contributes; `column` (BLOCK,) is room for their cells."""
    at = place[j]
    n_hidden, width = hidden.shape
    if at < 0:
        for r in range(rows.size):
            slot = slots[rows[r], -1 - at]
            if slot >= 0:
                for h in range(n_hidden):
                    hidden[h, r] += slot_weights[part, slot, h]
        return
    for w in range(cells.shape[2]):
        for r in range(rows.size):
            column[r] = cells[rows[r], at, w]
        weights = numbers[part, at, w]
        for h in range(n_hidden):
            weight, target = weights[h], hidden[h]
            for r in range(width):
                target[r] += weight * column[r]


@njit(cache=True, nogil=True)
def open_blocks(  # type: ignore[no-untyped-def]
    rows, start, part, base, features, place, cells, slots, numbers, slot_weights
):
    """float32 (B, H, BLOCK): `base` of each block's part plus what the features of its rows contribute.

    rows (m,) in the order of the blocks
    """
    n_blocks, n_hidden = part.size, base.shape[1]
    width = 1
    for b in range(n_blocks):
        width = max(width, start[b + 1] - start[b])
    out = np.empty((n_blocks, n_hidden, width), np.float32)
    column = np.zeros(width, np.float32)
    for b in range(n_blocks):
        own = rows[start[b] : start[b + 1]]
        for h in range(n_hidden):
            out[b, h, :] = base[part[b], h]
        for j in features:
            _add(out[b], own, part[b], j, place, cells, slots, numbers, slot_weights, column)
    return out


@njit(cache=True, nogil=True, fastmath={"contract"})
def _layer(values, weights, bias, rectified, out):  # type: ignore[no-untyped-def]
    """out (J, BLOCK) = weights (I, J) of values (I, BLOCK), rectified when told, plus bias (J,)."""
    n_in, width = values.shape
    for q in range(out.shape[0]):
        target = out[q]
        target[:] = bias[q]
        for h in range(n_in):
            weight, source = weights[h, q], values[h]
            for r in range(width):
                target[r] += weight * source[r]
        if rectified:
            for r in range(width):
                target[r] = target[r] if target[r] > 0 else np.float32(0.0)


@njit(cache=True, nogil=True)
def block_logits(  # type: ignore[no-untyped-def]
    hidden, rows, order, start, part, more, more_start, second, second_bias, output, output_bias, n_members,
    place, cells, slots, numbers, slot_weights
):  # fmt: skip
    """float32 (members, K, C, m): logits of C sets, shifted so that each member's largest is 0.

    Set c adds `more[more_start[c]:more_start[c + 1]]`. hidden (B, H, BLOCK); rows and order (m,) in the order of the
    blocks; second (parts, E, size, G), output (parts, E, G, K); n_members: E, or E + 1 with the linear member
    """
    n_nets, size, n_second = second.shape[1:]
    n_classes, n_sets = output.shape[3], more_start.size - 1
    out = np.empty((n_members, n_classes, n_sets, rows.size), np.float32)
    width = hidden.shape[2]
    first = np.empty((hidden.shape[1], width), np.float32)
    then = np.empty((n_second, width), np.float32)
    last = np.empty((n_classes, width), np.float32)
    column = np.zeros(width, np.float32)
    for b in range(part.size):
        own, p = rows[start[b] : start[b + 1]], part[b]
        for c in range(n_sets):
            first[:] = hidden[b]
            for at in range(more_start[c], more_start[c + 1]):
                _add(first, own, p, more[at], place, cells, slots, numbers, slot_weights, column)
            for h in range(n_nets * size):
                _rectify(first[h])
            for e in range(n_members):
                if e < n_nets:
                    _layer(first[e * size : (e + 1) * size], second[p, e], second_bias[p, e], True, then)
                    _layer(then, output[p, e], output_bias[p, e], False, last)
                else:
                    last[:] = first[n_nets * size :]
                for r in range(own.size):
                    largest = last[0, r]
                    for k in range(1, n_classes):
                        largest = max(largest, last[k, r])
                    for k in range(n_classes):
                        out[e, k, c, order[start[b] + r]] = last[k, r] - largest
    return out


@njit(cache=True, nogil=True)
def _rectify(values):  # type: ignore[no-untyped-def]
    for r in range(values.size):
        values[r] = values[r] if values[r] > 0 else np.float32(0.0)
