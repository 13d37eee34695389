"""The decision rule for many rows where prices have panels and groups: the score of a pair changes with what was paid.

Pairs come in the order of the best score that they can ever have, so that a search ends where none can win any more.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from synafa.money.price_kernels import price_after, price_now
from synafa.money.prices import TOLERANCE
from synafa.policy.branches import PAIR
from synafa.policy.kernels import DEPLOYED, best_single, empty_episodes, known_state, observe, record, to_buy


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
def _decide(state, now, pairs, single, prices, weight, remaining, mode):  # type: ignore[no-untyped-def]
    """Feature or -1, and branch."""
    scores, conditional, out = state
    feature, branch, best = best_single(scores, conditional, out, now, weight, remaining, mode)
    found = _best_pair(best, pairs, single, out, now, prices, weight, remaining, mode)
    if found >= 0:
        return found, PAIR
    return feature, branch


@njit(parallel=True, cache=True)
def acquire(  # type: ignore[no-untyped-def]
    codes, known, unavailable, single, cond, pairs, prices, weight, budget, mode, force, steps
):
    """Whole episodes of all rows: order and branch (n, steps) and money spent (n,), and what is known (n, D)."""
    n, d = codes.shape
    episodes = empty_episodes(n, steps)
    masks = known.copy()
    reveals = prices[3]
    for i in prange(n):
        state = known_state(codes[i], known[i], unavailable[i], cond, single)
        now, mask = np.empty(d), masks[i]
        remaining = budget
        for step in range(steps):
            _all_now(mask, now, prices)
            feature, branch = _decide(state, now, pairs, single, prices, weight, remaining, mode)
            feature, branch = to_buy(feature, branch, state[2], now, remaining, mode, force)
            if feature < 0:
                break
            record(i, step, feature, branch, now[feature], episodes)
            remaining -= now[feature]
            for k in range(d):
                if reveals[feature, k] and not state[2][k]:
                    state[2][k] = mask[k] = True
                    observe(k, codes[i, k], cond, state)
    return episodes, masks


@njit(parallel=True, cache=True)
def propose(  # type: ignore[no-untyped-def]
    codes, observed, unavailable, remaining, single, cond, pairs, prices, weight, mode
):
    """One decision of every row in its own state: feature (-1: stop) and branch (n,)."""
    n, d = codes.shape
    features = np.full(n, -1, np.int64)
    branches = np.full(n, -1, np.int8)
    for i in prange(n):
        state = known_state(codes[i], observed[i], unavailable, cond, single)
        now = np.empty(d)
        _all_now(observed[i], now, prices)
        features[i], branches[i] = _decide(state, now, pairs, single, prices, weight, remaining[i], mode)
    return features, branches
