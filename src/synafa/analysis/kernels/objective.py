"""The diagnostic set objective and its single-swap search, row by row in parallel.

T of a set after a swap is a sum of maxima of which most are those of before. The corrected search therefore computes
the objective of all swaps up to rounding from a few sums over members, and then, in full, only that of the swaps
within `_SLACK` of the best, so that it decides as if it had computed them all.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

_SLACK = 1e-9  # bits; sums of a few dozen values of a few bits are off by less than 1e-12


@njit(cache=True)
def _contribution(m, members, codes, single, cond):  # type: ignore[no-untyped-def]
    """max(single[m], max over members k but m of cond[m, k, x_k]); `cond` is (D, bins, D) by k, v, j."""
    best = single[m]
    for k in members:
        if k != m:
            value = cond[k, codes[k], m]
            if value > best:
                best = value
    return best


@njit(cache=True)
def _objective(members, codes, single, cond):  # type: ignore[no-untyped-def]
    total = 0.0
    for m in members:
        total += _contribution(m, members, codes, single, cond)
    return total


@njit(cache=True)
def _told_by(m, codes, cond, row):  # type: ignore[no-untyped-def]
    """row[c] = cond of m given the value of c."""
    for c in range(row.size):
        row[c] = cond[c, codes[c], m]


@njit(cache=True)
def _bases(members, single, as_given, base, teller, without):  # type: ignore[no-untyped-def]
    """For each member: its contribution, the position of the member behind it (-1: none), and its value without it."""
    for i in range(members.size):
        first, second, who = single[members[i]], single[members[i]], -1
        for k in range(members.size):
            if k != i:
                value = as_given[i, members[k]]
                if value > first:
                    first, second, who = value, first, k
                elif value > second:
                    second = value
        base[i], teller[i], without[i] = first, who, second


@njit(cache=True)
def _newcomers(members, codes, single, cond, first, second, teller):  # type: ignore[no-untyped-def]
    """For each feature: the most the members tell of it, the position of the one that does, the most without it."""
    for c in range(single.size):
        first[c], second[c], teller[c] = single[c], single[c], -1
    for i in range(members.size):
        row = cond[members[i], codes[members[i]]]
        for c in range(single.size):
            value, now = row[c], first[c]
            more = value > now
            lesser = now if more else value
            second[c] = lesser if lesser > second[c] else second[c]
            first[c] = value if more else now
            teller[c] = i if more else teller[c]


@njit(cache=True)
def _swap_value(j, c, own, as_given, base, teller, without):  # type: ignore[no-untyped-def]
    """T of the set with c in the place of the member at position j; `own` is what c then contributes."""
    total = own
    for i in range(base.size):
        if i != j:
            least = without[i] if teller[i] == j else base[i]
            total += as_given[i, c] if as_given[i, c] > least else least
    return total


@njit(cache=True)
def _near_values(values, as_given, first, second, teller_of, base, teller, without, inside):  # type: ignore[no-untyped-def]
    """Fill values[j, c] with T after that swap up to rounding, -inf where c is a member."""
    size, d = as_given.shape
    whole = np.zeros(d)
    for i in range(size):
        for c in range(d):
            whole[c] += max(as_given[i, c], base[i])
    for c in range(d):
        whole[c] = -np.inf if inside[c] else whole[c]
    for j in range(size):
        for c in range(d):
            own = second[c] if teller_of[c] == j else first[c]
            values[j, c] = own + whole[c] - max(as_given[j, c], base[j])
    for i in range(size):
        j = teller[i]
        if j >= 0:
            for c in range(d):
                values[j, c] += max(as_given[i, c], without[i]) - max(as_given[i, c], base[i])


@njit(cache=True)
def _best_swap(members, codes, single, cond, as_given, inside, values):  # type: ignore[no-untyped-def]
    """The swap with the largest objective, the first of equals: position removed, feature added, objective."""
    size, d = as_given.shape
    base, teller, without = np.empty(size), np.empty(size, np.int64), np.empty(size)
    _bases(members, single, as_given, base, teller, without)
    first, second, teller_of = np.empty(d), np.empty(d), np.empty(d, np.int64)
    _newcomers(members, codes, single, cond, first, second, teller_of)
    _near_values(values, as_given, first, second, teller_of, base, teller, without, inside)
    highest = np.empty(size)
    for j in range(size):
        highest[j] = values[j].max()
    enough = highest.max() - _SLACK
    best, position, added = -np.inf, -1, -1
    for j in range(size):
        if highest[j] >= enough:
            for c in range(d):
                if values[j, c] >= enough:
                    own = second[c] if teller_of[c] == j else first[c]
                    value = _swap_value(j, c, own, as_given, base, teller, without)
                    if value > best:
                        best, position, added = value, j, c
    return position, added, best


@njit(cache=True)
def _worst_for_best(members, codes, single, cond, inside, told):  # type: ignore[no-untyped-def]
    """The uncorrected proposal: the member that contributes least, the outsider that would most, the gain."""
    position, least = -1, np.inf
    for i in range(members.size):
        value = _contribution(members[i], members, codes, single, cond)
        if value < least:
            position, least = i, value
    told[:] = single
    for k in members:
        row = cond[k, codes[k]]
        for c in range(told.size):
            told[c] = row[c] if row[c] > told[c] else told[c]
    for c in range(told.size):
        told[c] = -np.inf if inside[c] else told[c]
    added = int(np.argmax(told))
    return position, added, told[added] - least


@njit(parallel=True, cache=True)
def objectives(codes, masks, single, cond):  # type: ignore[no-untyped-def]
    """T(S) of every row."""
    totals = np.empty(len(codes))
    for i in prange(len(codes)):
        totals[i] = _objective(np.flatnonzero(masks[i]), codes[i], single, cond)
    return totals


@njit(cache=True)
def _corrected(x, inside, single, cond, tolerance, removed, added, delta):  # type: ignore[no-untyped-def]
    """The best swap again and again, as long as it gains; `inside` becomes the final set."""
    members = np.flatnonzero(inside)
    as_given = np.empty((members.size, single.size))
    for position in range(members.size):
        _told_by(members[position], x, cond, as_given[position])
    values = np.empty(as_given.shape)
    before = _objective(members, x, single, cond)
    for t in range(removed.size):
        position, c, after = _best_swap(members, x, single, cond, as_given, inside, values)
        if not after - before > tolerance:
            break
        removed[t], added[t] = members[position], c
        inside[members[position]], inside[c] = False, True
        members[position] = c
        _told_by(c, x, cond, as_given[position])
        after = _objective(members, x, single, cond)
        delta[t] = after - before
        before = after


@njit(cache=True)
def _uncorrected(x, inside, single, cond, tolerance, removed, added, delta):  # type: ignore[no-untyped-def]
    """The proposal again and again. A set that was there before leads where it led then: the rest repeats."""
    members = np.flatnonzero(inside)
    told = np.empty(single.size)
    seen, since = members.copy(), 0
    before = _objective(members, x, single, cond)
    for t in range(removed.size):
        if t > since and (members == seen).all():
            _repeat(t, t - since, inside, removed, added, delta)
            break
        if t >= 2 * since:
            seen, since = members.copy(), t
        position, c, gain = _worst_for_best(members, x, single, cond, inside, told)
        if not gain > tolerance:
            break
        removed[t], added[t] = members[position], c
        inside[members[position]], inside[c] = False, True
        members[position] = c
        after = _objective(members, x, single, cond)
        delta[t] = after - before
        before = after


@njit(cache=True)
def _repeat(start, period, inside, removed, added, delta):  # type: ignore[no-untyped-def]
    """Fill the swaps from `start` on with those of one period before."""
    for t in range(start, removed.size):
        removed[t], added[t], delta[t] = removed[t - period], added[t - period], delta[t - period]
        inside[removed[t]], inside[added[t]] = False, True


@njit(parallel=True, cache=True)
def search(codes, masks, single, cond, tolerance, rounds, corrected):  # type: ignore[no-untyped-def]
    """Swap until nothing improves: final masks, and per round removed, added (n, rounds; -1 padded) and delta T."""
    n, d = codes.shape
    final = masks.copy()
    removed = np.full((n, rounds), -1, np.int32)
    added = np.full((n, rounds), -1, np.int32)
    delta = np.zeros((n, rounds))
    for i in prange(n):
        size = final[i].sum()
        if 0 < size < d:
            if corrected:
                _corrected(codes[i], final[i], single, cond, tolerance, removed[i], added[i], delta[i])
            else:
                _uncorrected(codes[i], final[i], single, cond, tolerance, removed[i], added[i], delta[i])
    return final, removed, added, delta
