"""The decision rule for many rows of a very wide table: as `kernels.py`, from the entries that decisions can reach.

A row in which more features are out than the kept entries allow for is marked and left to the caller.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from synafa.policy.kernels import decide, empty_episodes, record, start, to_buy


@njit(cache=True)
def _observe_kept(k, code, kept, state):  # type: ignore[no-untyped-def]
    """Raise the scores that the observed value of k raises; a code beyond the bins is no result and raises none."""
    begin, feature, bits = kept
    scores, conditional, out = state
    bins = (begin.size - 1) // out.size
    if code >= bins:
        return
    at_code = k * bins + code
    for at in range(begin[at_code], begin[at_code + 1]):
        j = feature[at]
        if bits[at] > scores[j]:
            scores[j] = bits[at]
            conditional[j] = True


@njit(cache=True)
def _from_known(codes, known, blocked, never, kept, single):  # type: ignore[no-untyped-def]
    """The state of a row in which some features are known, and how many are out beside those that always are."""
    state = start(single)
    n_out = 0
    for j in range(codes.size):
        if known[j]:
            _observe_kept(j, codes[j], kept, state)
        state[2][j] = known[j] or blocked[j]
        n_out += state[2][j] and not never[j]
    return state, n_out


@njit(parallel=True, cache=True)
def acquire(  # type: ignore[no-untyped-def]
    codes, known, unavailable, never, reach, kept, single, first, second, pair_score, costs, weight, budget, mode,
    force, steps,
):  # fmt: skip
    """Whole episodes: order and branch (n, steps), money spent (n,), and whether a row went beyond the reach (n,)."""
    n = len(codes)
    episodes = empty_episodes(n, steps)
    beyond = np.zeros(n, np.bool_)
    for i in prange(n):
        state, n_out = _from_known(codes[i], known[i], unavailable[i], never, kept, single)
        remaining = budget
        at = 0
        for step in range(steps):
            if n_out > reach:
                beyond[i] = True
                break
            feature, branch, at = decide(state, at, single, first, second, pair_score, costs, weight, remaining, mode)
            feature, branch = to_buy(feature, branch, state[2], costs, remaining, mode, force)
            if feature < 0:
                break
            record(i, step, feature, branch, costs[feature], episodes)
            remaining -= costs[feature]
            state[2][feature] = True
            n_out += 1
            _observe_kept(feature, codes[i, feature], kept, state)
    return episodes, beyond


@njit(parallel=True, cache=True)
def propose(  # type: ignore[no-untyped-def]
    codes, observed, never, remaining, reach, kept, single, first, second, pair_score, costs, weight, mode
):
    """One decision of every row: feature (-1: stop), branch, and whether the row is beyond the reach (n,)."""
    n = len(codes)
    features, branches, beyond = np.full(n, -1, np.int64), np.full(n, -1, np.int8), np.zeros(n, np.bool_)
    for i in prange(n):
        state, n_out = _from_known(codes[i], observed[i], never, never, kept, single)
        if n_out > reach:
            beyond[i] = True
            continue
        features[i], branches[i], _ = decide(
            state, 0, single, first, second, pair_score, costs, weight, remaining[i], mode
        )
    return features, branches, beyond
