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


@njit(cache=True, nogil=True, fastmath={"contract"})
def _start(rows, known, x, network):  # type: ignore[no-untyped-def]
    """(k, H): the first layer's pre-activation of each neighbour when only `known` is seen."""
    base = np.empty((len(rows), len(network[2])), dtype=np.float32)
    for j in range(len(rows)):
        base[j] = network[2]
        _add(base[j], x[rows[j]], known, network[0], network[1])
    return base


@njit(cache=True, nogil=True)
def _prices(mask, may, sets, shares, stop):  # type: ignore[no-untyped-def]
    """(C,): what each set adds to the cost; infinite where it adds nothing that may be proposed, unless `stop`."""
    starts, members = sets
    added = np.empty(len(starts) - 1)
    for c in range(len(added)):
        total = 0.0
        useful = stop
        for i in members[starts[c] : starts[c + 1]]:
            if not mask[i]:
                total += shares[i]
                useful = useful or may[i]
        added[c] = total if useful else np.inf
    return added


@njit(cache=True, nogil=True, inline="always")
def _hidden_members(sets, c, mask, fresh):  # type: ignore[no-untyped-def]
    """Write the members of set c that are hidden to `fresh`; how many."""
    starts, members = sets
    size = 0
    for i in members[starts[c] : starts[c + 1]]:
        if not mask[i]:
            fresh[size] = i
            size += 1
    return size


@njit(cache=True, nogil=True, inline="always")
def _mean_loss(score, best, features, turn, rows, base, training, network, room, losses):  # type: ignore[no-untyped-def]
    """`score` plus the neighbours' mean weighted loss once `features` are seen too; given up when it reaches `best`.

    The neighbours are taken in the order `turn`; `losses` (k,) keeps each one's share.
    """
    x, y, weights = training
    w_value, w_mask, _, w2, b2, w3, b3 = network
    hidden, active, second = room
    for j in turn:
        t = rows[j]
        hidden[:] = base[j]
        _add(hidden, x[t], features, w_value, w_mask)
        losses[j] = weights[y[t]] * _loss(hidden, w2, b2, w3, b3, y[t], active, second) / len(rows)
        score += losses[j]
        if score >= best:
            break
    return score


@njit(cache=True, nogil=True)
def _best_set(mask, added, sets, trade, rows, base, training, network, room, fresh, losses):  # type: ignore[no-untyped-def]
    """The set of least loss and cost, -1 if none is useful; and the order in which to ask the neighbours."""
    best = np.inf
    chosen = -1
    # The hardest neighbours first, as the first set finds them: hopeless sets are then dropped after one or two.
    turn = np.arange(len(rows))
    for c in np.argsort(added, kind="mergesort"):
        if trade * added[c] >= best or added[c] == np.inf:
            break
        size = _hidden_members(sets, c, mask, fresh)
        score = _mean_loss(trade * added[c], best, fresh[:size], turn, rows, base, training, network, room, losses)
        if score < best:
            if chosen < 0:
                turn = np.argsort(-losses, kind="mergesort")
            best = score
            chosen = c
    return chosen, turn


@njit(cache=True, nogil=True)
def _best_feature(choices, mask, may, shown, turn, rows, base, training, network, room, fresh, losses):  # type: ignore[no-untyped-def]
    """Of `choices`, the feature whose single addition (with what it shows) gives the least loss; -1 if none may be."""
    best = np.inf
    found = -1
    for i in choices:
        if not may[i]:
            continue
        size = _hidden_members(shown, i, mask, fresh)
        score = _mean_loss(0.0, best, fresh[:size], turn, rows, base, training, network, room, losses)
        if score < best:
            best = score
            found = i
    return found


@njit(parallel=True, cache=True, nogil=True)
def decide(mask, may, neighbours, training, network, sets, shown, shares, trade, stop):  # type: ignore[no-untyped-def]
    """int64 (n,): the next feature of each state, -1 for stop.

    mask, may : bool (n, D), what is known and what may be proposed
    neighbours : (n, k) training rows
    training : (x (n_train, D), classes y, loss weights of the classes)
    network : (w_value (D, H), w_mask (D, H), b1, w2 (H, H2), b2, w3 (K, H2), b3)
    sets, shown : (starts, members), the candidate sets and what each feature shows, as lists laid end to end
    shares : the cost of each feature; trade : lambda; stop : whether "nothing" may win
    """
    n, d = mask.shape
    k = neighbours.shape[1]
    out = np.full(n, -1, dtype=np.int64)
    for r in prange(n):
        if not may[r].any():
            continue
        rows = neighbours[r]
        width, second = len(network[2]), len(network[4])
        room = (
            np.empty(width, dtype=np.float32),
            np.empty(width + 1, dtype=np.int64),
            np.empty(second, dtype=np.float32),
        )
        fresh, losses = np.empty(d, dtype=np.int64), np.zeros(k)
        base = _start(rows, np.flatnonzero(mask[r]), training[0], network)
        added = _prices(mask[r], may[r], sets, shares, stop)
        chosen, turn = _best_set(mask[r], added, sets, trade, rows, base, training, network, room, fresh, losses)
        # The features to choose among: what the best set adds; everything allowed if no set adds anything usable.
        if chosen < 0:
            choices = np.flatnonzero(may[r] & ~mask[r])
        else:
            choices = np.sort(fresh[: _hidden_members(sets, chosen, mask[r], fresh)])
        if len(choices) == 1 and may[r, choices[0]]:
            out[r] = choices[0]
        else:
            out[r] = _best_feature(
                choices, mask[r], may[r], shown, turn, rows, base, training, network, room, fresh, losses
            )
    return out
