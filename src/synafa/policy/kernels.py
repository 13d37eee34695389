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
def _best_single(scores, conditional, out, costs, weight, remaining, mode):  # type: ignore[no-untyped-def]
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
def _observe(k, code, cond, scores, conditional):  # type: ignore[no-untyped-def]
    """Raise every score to what the observed value of k makes of it; `cond` is (D, bins, D)."""
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


@njit(parallel=True, cache=True)
def acquire(  # type: ignore[no-untyped-def]
    codes, known, unavailable, single, cond, first, second, pair_score, costs, weight, budget, mode, force, steps
):
    """Whole episodes of all rows: order and branch (n, steps), and money spent (n,)."""
    n, d = codes.shape
    order = np.full((n, steps), -1, np.int32)
    branches = np.full((n, steps), -1, np.int8)
    spent = np.zeros(n)
    for i in prange(n):
        scores = single.copy()
        conditional = np.zeros(d, np.bool_)
        out = np.zeros(d, np.bool_)  # observed, or not to be had
        for j in range(d):
            if known[i, j]:
                _observe(j, codes[i, j], cond, scores, conditional)
            out[j] = known[i, j] or unavailable[i, j]
        remaining = budget
        at = 0
        for step in range(steps):
            feature, branch, best = _best_single(scores, conditional, out, costs, weight, remaining, mode)
            at = _next_pair(at, first, second, out, costs, remaining, mode)
            if at < first.size and pair_score[at] > best:
                j, k = first[at], second[at]
                feature, branch = (k if single[k] > single[j] else j), PAIR
            if feature < 0 and force:
                feature, branch = _fallback(out, costs, remaining, mode), FALLBACK
            if feature < 0 or costs[feature] > remaining + TOLERANCE:
                break
            order[i, step] = feature
            branches[i, step] = branch
            spent[i] += costs[feature]
            remaining -= costs[feature]
            out[feature] = True
            _observe(feature, codes[i, feature], cond, scores, conditional)
    return order, branches, spent


@njit(parallel=True, cache=True)
def propose(  # type: ignore[no-untyped-def]
    codes, observed, unavailable, remaining, single, cond, first, second, pair_score, costs, weight, mode
):
    """One decision of every row in its own state: feature (-1: stop) and branch (n,)."""
    n, d = codes.shape
    features = np.full(n, -1, np.int64)
    branches = np.full(n, -1, np.int8)
    for i in prange(n):
        scores = single.copy()
        conditional = np.zeros(d, np.bool_)
        out = np.zeros(d, np.bool_)
        for j in range(d):
            if observed[i, j]:
                _observe(j, codes[i, j], cond, scores, conditional)
            out[j] = observed[i, j] or unavailable[j]
        feature, branch, best = _best_single(scores, conditional, out, costs, weight, remaining[i], mode)
        at = _next_pair(0, first, second, out, costs, remaining[i], mode)
        if at < first.size and pair_score[at] > best:
            j, k = first[at], second[at]
            feature, branch = (k if single[k] > single[j] else j), PAIR
        features[i] = feature
        branches[i] = branch
    return features, branches
