"""The decision rule for many rows where prices have panels and groups: the score of a pair changes with what was paid.

Pairs come in the order of the best score that they can ever have, so that a search ends where none can win any more.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from synafa.money.price_kernels import price_after, price_now
from synafa.money.prices import TOLERANCE
from synafa.policy.branches import FALLBACK, PAIR
from synafa.policy.kernels import DEPLOYED, _best_single, _fallback, _observe


@njit(cache=True)
def _all_now(mask, now, prices):  # type: ignore[no-untyped-def]
    """The price of every feature in a state, written to `now`."""
    price, in_group, group, _, at_start = prices
    for j in range(now.size):
        now[j] = price_now(j, mask, price, in_group, group, at_start)


@njit(cache=True)
def _best_pair(best, pairs, single, out, now, prices, weight, remaining, mode):  # type: ignore[no-untyped-def]
    """The member to acquire of the best pair that beats `best`, or -1; of equal pairs the first in (j, k) order."""
    first, second, bits, hope = pairs
    _, in_group, group, reveals, at_start = prices
    found, where = -1, -1
    d = out.size
    for at in range(first.size):
        if hope[at] < best:
            break
        j, k = first[at], second[at]
        if out[j] or out[k]:
            continue
        one, other = (k, j) if single[k] > single[j] else (j, k)
        price = now[one] + price_after(other, one, now, in_group, group, reveals, at_start)
        if mode != DEPLOYED and (price > remaining + TOLERANCE):
            continue
        score = bits[at] - weight * price
        if score > best or (score == best and found >= 0 and j * d + k < where):
            best, found, where = score, one, j * d + k
    return found


@njit(cache=True)
def _decide(scores, conditional, out, now, pairs, single, prices, weight, remaining, mode):  # type: ignore[no-untyped-def]
    """Feature or -1, and branch."""
    feature, branch, best = _best_single(scores, conditional, out, now, weight, remaining, mode)
    found = _best_pair(best, pairs, single, out, now, prices, weight, remaining, mode)
    if found >= 0:
        return found, PAIR
    return feature, branch


@njit(parallel=True, cache=True)
def acquire(  # type: ignore[no-untyped-def]
    codes, known, unavailable, single, cond, pairs, prices, weight, budget, mode, force, steps
):
    """Whole episodes of all rows: order and branch (n, steps), what is known (n, D), and money spent (n,)."""
    n, d = codes.shape
    order = np.full((n, steps), -1, np.int32)
    branches = np.full((n, steps), -1, np.int8)
    masks = known.copy()
    spent = np.zeros(n)
    reveals = prices[3]
    for i in prange(n):
        scores = single.copy()
        conditional = np.zeros(d, np.bool_)
        out = np.zeros(d, np.bool_)  # observed, or not to be had
        now = np.empty(d)
        mask = masks[i]
        for j in range(d):
            if known[i, j]:
                _observe(j, codes[i, j], cond, scores, conditional)
            out[j] = known[i, j] or unavailable[i, j]
        remaining = budget
        for step in range(steps):
            _all_now(mask, now, prices)
            feature, branch = _decide(scores, conditional, out, now, pairs, single, prices, weight, remaining, mode)
            if feature < 0 and force:
                feature, branch = _fallback(out, now, remaining, mode), FALLBACK
            if feature < 0 or now[feature] > remaining + TOLERANCE:
                break
            order[i, step] = feature
            branches[i, step] = branch
            spent[i] += now[feature]
            remaining -= now[feature]
            for k in range(d):
                if reveals[feature, k] and not out[k]:
                    out[k] = True
                    mask[k] = True
                    _observe(k, codes[i, k], cond, scores, conditional)
    return order, branches, masks, spent


@njit(parallel=True, cache=True)
def propose(  # type: ignore[no-untyped-def]
    codes, observed, unavailable, remaining, single, cond, pairs, prices, weight, mode
):
    """One decision of every row in its own state: feature (-1: stop) and branch (n,)."""
    n, d = codes.shape
    features = np.full(n, -1, np.int64)
    branches = np.full(n, -1, np.int8)
    for i in prange(n):
        scores = single.copy()
        conditional = np.zeros(d, np.bool_)
        out = np.zeros(d, np.bool_)
        now = np.empty(d)
        for j in range(d):
            if observed[i, j]:
                _observe(j, codes[i, j], cond, scores, conditional)
            out[j] = observed[i, j] or unavailable[j]
        _all_now(observed[i], now, prices)
        features[i], branches[i] = _decide(
            scores, conditional, out, now, pairs, single, prices, weight, remaining[i], mode
        )
    return features, branches
