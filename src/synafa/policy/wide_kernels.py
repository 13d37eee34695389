"""The decision rule for many rows of a very wide table: as `kernels.py`, from the entries that decisions can reach.

A row in which more features are out than the kept entries allow for is marked and left to the caller.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from synafa.money.prices import TOLERANCE
from synafa.policy.branches import FALLBACK, PAIR
from synafa.policy.kernels import _best_single, _fallback, _next_pair


@njit(cache=True)
def _observe_kept(k, code, n_bins, start, feature, bits, scores, conditional):  # type: ignore[no-untyped-def]
    """Raise the scores that the observed value of k raises."""
    for at in range(start[k * n_bins + code], start[k * n_bins + code + 1]):
        j = feature[at]
        if bits[at] > scores[j]:
            scores[j] = bits[at]
            conditional[j] = True


@njit(parallel=True, cache=True)
def acquire(  # type: ignore[no-untyped-def]
    codes, known, unavailable, never, reach, single, start, feature_of, bits, first, second, pair_score, costs, weight,
    budget, mode, force, steps,
):  # fmt: skip
    """Whole episodes: order and branch (n, steps), money spent (n,), and whether a row went beyond the reach (n,)."""
    n, d = codes.shape
    n_bins = (start.size - 1) // d
    order = np.full((n, steps), -1, np.int32)
    branches = np.full((n, steps), -1, np.int8)
    spent = np.zeros(n)
    beyond = np.zeros(n, np.bool_)
    for i in prange(n):
        scores = single.copy()
        conditional = np.zeros(d, np.bool_)
        out = np.zeros(d, np.bool_)
        n_out = 0
        for j in range(d):
            if known[i, j]:
                _observe_kept(j, codes[i, j], n_bins, start, feature_of, bits, scores, conditional)
            out[j] = known[i, j] or unavailable[i, j]
            n_out += out[j] and not never[j]
        remaining = budget
        at = 0
        for step in range(steps):
            if n_out > reach:
                beyond[i] = True
                break
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
            n_out += 1
            _observe_kept(feature, codes[i, feature], n_bins, start, feature_of, bits, scores, conditional)
    return order, branches, spent, beyond


@njit(parallel=True, cache=True)
def propose(  # type: ignore[no-untyped-def]
    codes, observed, never, remaining, reach, single, start, feature_of, bits, first, second, pair_score, costs,
    weight, mode,
):  # fmt: skip
    """One decision of every row: feature (-1: stop), branch, and whether the row is beyond the reach (n,)."""
    n, d = codes.shape
    n_bins = (start.size - 1) // d
    features = np.full(n, -1, np.int64)
    branches = np.full(n, -1, np.int8)
    beyond = np.zeros(n, np.bool_)
    for i in prange(n):
        scores = single.copy()
        conditional = np.zeros(d, np.bool_)
        out = np.zeros(d, np.bool_)
        n_out = 0
        for j in range(d):
            if observed[i, j]:
                _observe_kept(j, codes[i, j], n_bins, start, feature_of, bits, scores, conditional)
            out[j] = observed[i, j] or never[j]
            n_out += out[j] and not never[j]
        if n_out > reach:
            beyond[i] = True
            continue
        feature, branch, best = _best_single(scores, conditional, out, costs, weight, remaining[i], mode)
        at = _next_pair(0, first, second, out, costs, remaining[i], mode)
        if at < first.size and pair_score[at] > best:
            j, k = first[at], second[at]
            feature, branch = (k if single[k] > single[j] else j), PAIR
        features[i] = feature
        branches[i] = branch
    return features, branches, beyond
