"""The diagnostic set objective and its single-swap search, row by row in parallel."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True)
def _contribution(m, members, codes, single, cond, skip):  # type: ignore[no-untyped-def]
    """max(single[m], max over members k but m and `skip` of cond[m, k, x_k]); `cond` is (D, bins, D) by k, v, j."""
    best = single[m]
    for k in members:
        if k != m and k != skip:
            value = cond[k, codes[k], m]
            if value > best:
                best = value
    return best


@njit(cache=True)
def _objective(members, codes, single, cond):  # type: ignore[no-untyped-def]
    total = 0.0
    for m in members:
        total += _contribution(m, members, codes, single, cond, -1)
    return total


@njit(cache=True)
def _swap_values(j, members, codes, single, cond, as_given, inside, values):  # type: ignore[no-untyped-def]
    """Fill values[c] = T(members without j, with c) for every c; `as_given[i, c]` is what c tells member i."""
    d = single.size
    for c in range(d):
        values[c] = single[c]
    for k in members:
        if k != j:
            row = cond[k, codes[k]]
            for c in range(d):
                values[c] = row[c] if row[c] > values[c] else values[c]
    for i in range(members.size):
        m = members[i]
        if m == j:
            continue
        base = _contribution(m, members, codes, single, cond, j)
        row = as_given[i]
        for c in range(d):
            values[c] += row[c] if row[c] > base else base
    for c in range(d):
        if inside[c]:
            values[c] = -np.inf


@njit(cache=True)
def _told_by(m, codes, cond, row):  # type: ignore[no-untyped-def]
    """row[c] = cond of m given the value of c."""
    for c in range(row.size):
        row[c] = cond[c, codes[c], m]


@njit(cache=True)
def _best_swap(members, codes, single, cond, as_given, inside, values):  # type: ignore[no-untyped-def]
    """The swap with the largest objective: position removed, feature added, objective."""
    best, position, added = -np.inf, -1, -1
    for i in range(members.size):
        _swap_values(members[i], members, codes, single, cond, as_given, inside, values)
        c = int(np.argmax(values))
        if values[c] > best:
            best, position, added = values[c], i, c
    return position, added, best


@njit(cache=True)
def _worst_for_best(members, codes, single, cond, inside):  # type: ignore[no-untyped-def]
    """The uncorrected proposal: the member that contributes least, the outsider that would most, the gain."""
    position, least = -1, np.inf
    for i in range(members.size):
        value = _contribution(members[i], members, codes, single, cond, -1)
        if value < least:
            position, least = i, value
    added, most = -1, -np.inf
    for c in range(single.size):
        if not inside[c]:
            value = _contribution(c, members, codes, single, cond, -1)
            if value > most:
                added, most = c, value
    return position, added, most - least


@njit(parallel=True, cache=True)
def objectives(codes, masks, single, cond):  # type: ignore[no-untyped-def]
    """T(S) of every row."""
    totals = np.empty(len(codes))
    for i in prange(len(codes)):
        totals[i] = _objective(np.flatnonzero(masks[i]), codes[i], single, cond)
    return totals


@njit(parallel=True, cache=True)
def search(codes, masks, single, cond, tolerance, rounds, corrected):  # type: ignore[no-untyped-def]
    """Swap until nothing improves: final masks, and per round removed, added (n, rounds; -1 padded) and delta T."""
    n, d = codes.shape
    final = masks.copy()
    removed = np.full((n, rounds), -1, np.int32)
    added = np.full((n, rounds), -1, np.int32)
    delta = np.zeros((n, rounds))
    for i in prange(n):
        x = codes[i]
        members = np.flatnonzero(final[i])
        if members.size == 0 or members.size == d:
            continue
        as_given = np.empty((members.size, d))
        for position in range(members.size):
            _told_by(members[position], x, cond, as_given[position])
        values = np.empty(d)
        before = _objective(members, x, single, cond)
        for t in range(rounds):
            if corrected:
                position, c, after = _best_swap(members, x, single, cond, as_given, final[i], values)
                gain = after - before
            else:
                position, c, gain = _worst_for_best(members, x, single, cond, final[i])
            if not gain > tolerance:
                break
            removed[i, t] = members[position]
            added[i, t] = c
            final[i, members[position]] = False
            final[i, c] = True
            members[position] = c
            _told_by(c, x, cond, as_given[position])
            after = _objective(members, x, single, cond)
            delta[i, t] = after - before
            before = after
    return final, removed, added, delta
