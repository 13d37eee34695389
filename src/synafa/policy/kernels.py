"""The decision rule for many rows at once, row by row in parallel.

Pairs are visited from a list sorted by score. What a row has observed only grows and what it can pay only shrinks, so a
pair once passed over stays out, and each row walks the list a single time.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from synafa.money.prices import TOLERANCE
from synafa.policy.branches import CONDITIONAL, FALLBACK, PAIR, SINGLE

DEPLOYED, PAIRS, STRICT = range(3)


@njit(cache=True)
def best_single(scores, conditional, out, costs, weight, remaining, mode):  # type: ignore[no-untyped-def]
    """The best single proposal above zero: feature or -1, branch, net score."""
    best, feature = 0.0, -1
    for j in range(scores.size):
        if out[j] or (mode == STRICT and costs[j] > remaining + TOLERANCE):
            continue
        net = scores[j] - weight * costs[j]
        if net > best:
            best, feature = net, j
    branch = -1
    if feature >= 0:
        branch = CONDITIONAL if conditional[feature] else SINGLE
    return feature, branch, best


@njit(cache=True)
def _next_pair(at, first, second, out, costs, remaining, mode):  # type: ignore[no-untyped-def]
    """The position of the first pair from `at` on that can still be proposed, or the length of the list."""
    while at < first.size:
        j, k = first[at], second[at]
        if not out[j] and not out[k] and (mode == DEPLOYED or costs[j] + costs[k] <= remaining + TOLERANCE):
            break
        at += 1
    return at


@njit(cache=True)
def observe(k, code, cond, state):  # type: ignore[no-untyped-def]
    """Raise every score to what the observed value of k makes of it; `cond` is (D, bins, D).

    A code beyond the bins is a measurement without a result, which tells nothing.
    """
    if code >= cond.shape[1]:
        return
    scores, conditional, _ = state
    row = cond[k, code]
    for j in range(scores.size):
        if row[j] > scores[j]:
            scores[j] = row[j]
            conditional[j] = True


@njit(cache=True)
def _fallback(out, costs, remaining, mode):  # type: ignore[no-untyped-def]
    """The lowest-index feature that is left (in strict mode: and affordable), or -1."""
    for j in range(out.size):
        if not out[j] and (mode != STRICT or costs[j] <= remaining + TOLERANCE):
            return j
    return -1


@njit(cache=True)
def start(single):  # type: ignore[no-untyped-def]
    """A row of which nothing is known: scores, whether a known value gave them, and what is known or not to be had."""
    d = single.size
    return single.copy(), np.zeros(d, np.bool_), np.zeros(d, np.bool_)


@njit(cache=True)
def known_state(codes, known, blocked, cond, single):  # type: ignore[no-untyped-def]
    """A row in which some features are known and others cannot be had."""
    state = start(single)
    for j in range(codes.size):
        if known[j]:
            observe(j, codes[j], cond, state)
        state[2][j] = known[j] or blocked[j]
    return state


@njit(cache=True)
def empty_episodes(n, steps):  # type: ignore[no-untyped-def]
    """Order and branch (n, steps) of rows that have acquired nothing, and money spent (n,)."""
    return np.full((n, steps), -1, np.int32), np.full((n, steps), -1, np.int8), np.zeros(n)


@njit(cache=True)
def decide(state, at, single, first, second, pair_score, costs, weight, remaining, mode):  # type: ignore[no-untyped-def]
    """Feature (-1: stop), branch, and how far down the list of pairs the search came."""
    scores, conditional, out = state
    feature, branch, best = best_single(scores, conditional, out, costs, weight, remaining, mode)
    at = _next_pair(at, first, second, out, costs, remaining, mode)
    if at < first.size and pair_score[at] > best:
        j, k = first[at], second[at]
        feature, branch = (k if single[k] > single[j] else j), PAIR
    return feature, branch, at


@njit(cache=True)
def record(i, step, feature, branch, price, episodes):  # type: ignore[no-untyped-def]
    """Write down one purchase of row i."""
    order, branches, spent = episodes
    order[i, step], branches[i, step] = feature, branch
    spent[i] += price


@njit(cache=True)
def to_buy(feature, branch, out, costs, remaining, mode, force):  # type: ignore[no-untyped-def]
    """What a proposal ends in: the feature that is bought (-1: the episode ends) and its branch."""
    if feature < 0 and force:
        feature, branch = _fallback(out, costs, remaining, mode), FALLBACK
    if feature >= 0 and costs[feature] > remaining + TOLERANCE:
        feature = -1
    return feature, branch


@njit(parallel=True, cache=True)
def acquire(  # type: ignore[no-untyped-def]
    codes, known, unavailable, single, cond, first, second, pair_score, costs, weight, budget, mode, force, steps
):
    """Whole episodes of all rows: order and branch (n, steps), and money spent (n,)."""
    n = len(codes)
    episodes = empty_episodes(n, steps)
    for i in prange(n):
        state = known_state(codes[i], known[i], unavailable[i], cond, single)
        remaining = budget
        at = 0
        for step in range(steps):
            feature, branch, at = decide(state, at, single, first, second, pair_score, costs, weight, remaining, mode)
            feature, branch = to_buy(feature, branch, state[2], costs, remaining, mode, force)
            if feature < 0:
                break
            record(i, step, feature, branch, costs[feature], episodes)
            remaining -= costs[feature]
            state[2][feature] = True
            observe(feature, codes[i, feature], cond, state)
    return episodes


@njit(parallel=True, cache=True)
def propose(  # type: ignore[no-untyped-def]
    codes, observed, unavailable, remaining, single, cond, first, second, pair_score, costs, weight, mode
):
    """One decision of every row in its own state: feature (-1: stop) and branch (n,)."""
    n = len(codes)
    features = np.full(n, -1, np.int64)
    branches = np.full(n, -1, np.int8)
    for i in prange(n):
        state = known_state(codes[i], observed[i], unavailable, cond, single)
        features[i], branches[i], _ = decide(
            state, 0, single, first, second, pair_score, costs, weight, remaining[i], mode
        )
    return features, branches
