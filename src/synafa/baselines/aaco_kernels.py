"""AACO's arithmetic for one row, compiled and run over rows in parallel: nearest training rows, and the next feature.

Every row is computed by one thread in one order, so that a decision depends neither on the number of threads nor on
the other rows of the batch. The first layer of the network is linear in the set of known features: a state's
pre-activation is computed once per neighbour and a candidate adds only the features it brings. Losses are never
negative, so a candidate whose cost term or partial sum already reaches the best score is dropped exactly.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

BLOCK = 1024  # training rows whose distances are held at once; 4 KiB, well inside the first-level cache


@njit(parallel=True, cache=True, nogil=True)
def nearest(columns: np.ndarray, values: np.ndarray, mask: np.ndarray, k: int) -> np.ndarray:
    """int64 (n, k): the training rows of least squared distance over the known features, ties by row index.

    columns : float32 (D, n_train), the training rows feature by feature
    """
    n = len(values)
    n_train = columns.shape[1]
    out = np.zeros((n, k), dtype=np.int64)
    for r in prange(n):
        known = np.flatnonzero(mask[r])
        best = np.full(k, np.inf, dtype=np.float32)
        distance = np.empty(BLOCK, dtype=np.float32)
        for start in range(0, n_train, BLOCK):
            size = min(BLOCK, n_train - start)
            distance[:size] = 0.0
            for i in known:
                value = values[r, i]
                column = columns[i, start : start + size]
                for t in range(size):
                    difference = column[t] - value
                    distance[t] += difference * difference
            worst = best[k - 1]
            for t in range(size):
                if distance[t] < worst:
                    place = k - 1
                    while place > 0 and best[place - 1] > distance[t]:
                        best[place] = best[place - 1]
                        out[r, place] = out[r, place - 1]
                        place -= 1
                    best[place] = distance[t]
                    out[r, place] = start + t
                    worst = best[k - 1]
    return out


@njit(cache=True, nogil=True, fastmath=True)
def _logit(second, row, bias):  # type: ignore[no-untyped-def]
    """The last layer's score of one class; the sum may be reordered, which vectorises it (the same way every time)."""
    total = np.float32(0.0)
    for o in range(len(second)):
        total += max(second[o], np.float32(0.0)) * row[o]
    return total + bias


@njit(cache=True, nogil=True, fastmath={"contract"})
def _loss(hidden, w2, b2, w3, b3, target, active, second):  # type: ignore[no-untyped-def]
    """-log p(target) behind the first layer's pre-activation `hidden`; w2 is (in, out), w3 (out, in)."""
    count = 0
    for a in range(len(hidden)):  # no branch: which units are active cannot be predicted
        active[count] = a
        count += hidden[a] > 0.0
    width = len(b2)
    for o in range(width):
        second[o] = b2[o]
    p = 0
    while p + 4 <= count:  # four inputs at a time: a quarter of the traffic on `second`
        a0, a1, a2, a3 = active[p], active[p + 1], active[p + 2], active[p + 3]
        h0, h1, h2, h3 = hidden[a0], hidden[a1], hidden[a2], hidden[a3]
        for o in range(width):
            second[o] += h0 * w2[a0, o] + h1 * w2[a1, o] + h2 * w2[a2, o] + h3 * w2[a3, o]
        p += 4
    while p < count:
        h0 = hidden[active[p]]
        for o in range(width):
            second[o] += h0 * w2[active[p], o]
        p += 1
    largest = -np.inf
    own = 0.0
    total = 0.0
    for c in range(len(b3)):
        logit = np.float64(_logit(second, w3[c], b3[c]))
        if c == target:
            own = logit
        if logit > largest:
            total = total * np.exp(largest - logit) + 1.0
            largest = logit
        else:
            total += np.exp(logit - largest)
    return max(0.0, largest + np.log(total) - own)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add(hidden, x, features, w_value, w_mask):  # type: ignore[no-untyped-def]
    """Add the features' share to a pre-activation."""
    width = len(hidden)
    for i in features:
        value = x[i]
        by_value = w_value[i]
        by_mask = w_mask[i]
        for h in range(width):
            hidden[h] += value * by_value[h] + by_mask[h]


@njit(parallel=True, cache=True, nogil=True)
def decide(mask, may, neighbours, x, y, weights, network, candidates, starts, members, shares, trade, reveal_starts, reveal_members, stop):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """int64 (n,): the next feature of each state, -1 for stop.

    mask, may : bool (n, D), what is known and what may be proposed
    neighbours : (n, k) rows of x (n_train, D), classes y, loss weights of the classes
    network : (w_value (D, H), w_mask (D, H), b1, w2 (H, H2), b2, w3 (K, H2), b3)
    candidates : bool (C, D); starts, members : the same sets as lists; shares : the cost of each feature
    trade : lambda; reveal_starts, reveal_members : what each feature shows, as lists; stop : whether "nothing" may win
    """
    w_value, w_mask, b1, w2, b2, w3, b3 = network
    n, d = mask.shape
    k = neighbours.shape[1]
    count = len(starts) - 1
    out = np.full(n, -1, dtype=np.int64)
    for r in prange(n):
        if not may[r].any():
            continue
        known = np.flatnonzero(mask[r])
        base = np.empty((k, len(b1)), dtype=np.float32)
        for j in range(k):
            base[j] = b1
            _add(base[j], x[neighbours[r, j]], known, w_value, w_mask)
        hidden = np.empty(len(b1), dtype=np.float32)
        active = np.empty(len(b1) + 1, dtype=np.int64)
        second = np.empty(len(b2), dtype=np.float32)
        fresh = np.empty(d, dtype=np.int64)

        added = np.empty(count)
        for c in range(count):
            total = 0.0
            useful = stop
            for i in members[starts[c] : starts[c + 1]]:
                if not mask[r, i]:
                    total += shares[i]
                    useful = useful or may[r, i]
            added[c] = total if useful else np.inf
        order = np.argsort(added, kind="mergesort")

        best = np.inf
        chosen = -1
        # The hardest neighbours first, as the first set finds them: hopeless sets are then dropped after one or two.
        hardness = np.zeros(k)
        turn = np.arange(k)
        for c in order:
            if trade * added[c] >= best or added[c] == np.inf:
                break
            size = 0
            for i in members[starts[c] : starts[c + 1]]:
                if not mask[r, i]:
                    fresh[size] = i
                    size += 1
            score = trade * added[c]
            for j in turn:
                t = neighbours[r, j]
                hidden[:] = base[j]
                _add(hidden, x[t], fresh[:size], w_value, w_mask)
                hardness[j] = weights[y[t]] * _loss(hidden, w2, b2, w3, b3, y[t], active, second) / k
                score += hardness[j]
                if score >= best:
                    break
            if score < best:
                if chosen < 0:
                    turn = np.argsort(-hardness, kind="mergesort")
                best = score
                chosen = c

        # The features to choose among: what the best set adds; everything allowed if no set adds anything usable.
        size = 0
        for i in range(d):
            inside = chosen < 0 or candidates[chosen, i]
            if inside and not mask[r, i] and (may[r, i] or chosen >= 0):
                fresh[size] = i
                size += 1
        if size == 1 and may[r, fresh[0]]:
            out[r] = fresh[0]
            continue
        best = np.inf
        for place in range(size):
            i = fresh[place]
            if not may[r, i]:
                continue
            score = 0.0
            for j in turn:
                t = neighbours[r, j]
                hidden[:] = base[j]
                for shown in reveal_members[reveal_starts[i] : reveal_starts[i + 1]]:
                    if not mask[r, shown]:
                        value = x[t, shown]
                        for h in range(len(hidden)):
                            hidden[h] += value * w_value[shown, h] + w_mask[shown, h]
                score += weights[y[t]] * _loss(hidden, w2, b2, w3, b3, y[t], active, second) / k
                if score >= best:
                    break
            if score < best:
                best = score
                out[r] = i
    return out
