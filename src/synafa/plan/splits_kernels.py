"""Values of all splits of a node in the additive approximation: what changing the plan on each side would gain.

Each row has an effect for dropping each feature of the plan and for adding each candidate. Sums of effects by bin of
the asked feature give both sides of every threshold, and each side may then change its plan in a few greedy moves.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from synafa.money.prices import TOLERANCE

MISSING = 255  # the bin of empty cells
MOVES = 2  # changes of the plan on one side
SHRINK = 30.0  # rows by which a side's gain is shrunk


@njit(cache=True)
def side_moves(sums, rows, prices, n_plan, question, slack, margin, may_drop, moves):  # type: ignore[no-untyped-def]
    """Greedy changes of one side's plan: state (C,) in 0/1 of what is bought, and the gain over the plan as it is.

    sums (C,) effects, first the plan's (loss of dropping), then the candidates' (gain of adding); question: the column
    of the asked feature, or -1 when it is known already.
    """
    c = sums.size
    bought = np.zeros(c, np.bool_)
    bought[:n_plan] = True
    gain = 0.0
    if question >= n_plan:
        bought[question] = True
        gain += sums[question] - margin * prices[question] * rows
        slack -= prices[question]
        while slack < -TOLERANCE:  # make room for the question
            best, at = np.inf, -1
            for p in range(n_plan):
                if bought[p] and prices[p] > 0:
                    rate = sums[p] / prices[p]
                    if rate < best:
                        best, at = rate, p
            if at < 0:
                return bought, -np.inf
            bought[at] = False
            slack += prices[at]
            gain += margin * prices[at] * rows - sums[at]
    for _ in range(moves):
        best, out, into = 0.0, -1, -1
        for q in range(n_plan, c):
            if bought[q]:
                continue
            value = sums[q] - margin * prices[q] * rows
            if prices[q] <= slack + TOLERANCE and value > best:
                best, out, into = value, -1, q
            for p in range(c):
                if bought[p] and p != question and prices[q] <= slack + prices[p] + TOLERANCE:
                    lost = sums[p] - margin * prices[p] * rows
                    if value - lost > best:
                        best, out, into = value - lost, p, q
        if may_drop:
            for p in range(n_plan):
                value = margin * prices[p] * rows - sums[p]
                if bought[p] and p != question and value > best:
                    best, out, into = value, p, -1
        if best <= 0.0:
            break
        gain += best
        if out >= 0:
            bought[out] = False
            slack += prices[out]
        if into >= 0:
            bought[into] = True
            slack -= prices[into]
    return bought, gain


@njit(cache=True)
def side_gain(sums, alone, rows, prices, n_plan, question, slack, margin, may_drop):  # type: ignore[no-untyped-def]
    """What one side gains by its best few changes, or (`alone`, a sum) by stopping right after the question."""
    _, gain = side_moves(sums, rows, prices, n_plan, question, slack, margin, may_drop, MOVES)
    return max(gain, alone) if may_drop else gain


@njit(cache=True)
def _shrunk(gain, rows):  # type: ignore[no-untyped-def]
    return gain * rows / (rows + SHRINK) if gain > 0 else gain


@njit(parallel=True, cache=True)
def split_values(  # type: ignore[no-untyped-def]
    bins, n_bins, effects, prices, n_plan, questions, alone, slack, margin, may_drop, least
):
    """Value of splitting each question after each bin, -inf where not possible, and whether empty cells go left.

    bins uint8 (m, F); n_bins (F,); effects float32 (m, C); questions (F,) columns of effects, -1 when known already;
    alone float32 (m, F) what each row gains, prices included, when nothing is bought after the question
    """
    m, n_questions = bins.shape
    c = effects.shape[1]
    widest = 0
    for f in range(n_questions):
        widest = max(widest, n_bins[f])
    values = np.full((n_questions, max(widest - 1, 1)), -np.inf)
    missing_left = np.zeros((n_questions, max(widest - 1, 1)), np.bool_)
    for f in prange(n_questions):
        sums = np.zeros((n_bins[f] + 1, c))
        stops = np.zeros(n_bins[f] + 1)
        counts = np.zeros(n_bins[f] + 1, np.int64)
        for i in range(m):
            b = bins[i, f]
            if b == MISSING:
                b = n_bins[f]
            counts[b] += 1
            stops[b] += alone[i, f]
            for k in range(c):
                sums[b, k] += effects[i, k]
        total, all_stop = sums.sum(axis=0), stops.sum()
        left, left_stop = np.zeros(c), 0.0
        n_left = 0
        empty, n_empty = sums[n_bins[f]], counts[n_bins[f]]
        for t in range(n_bins[f] - 1):
            left += sums[t]
            left_stop += stops[t]
            n_left += counts[t]
            n_right = m - n_left - n_empty
            for side in range(2):
                empty_left = side == 0
                if n_empty < least and empty_left != (n_left >= n_right):
                    continue
                a = n_left + n_empty if empty_left else n_left
                if a < least or m - a < least:
                    continue
                part = left + empty if empty_left else left
                stop = left_stop + stops[n_bins[f]] if empty_left else left_stop
                x = side_gain(part, stop, a, prices, n_plan, questions[f], slack, margin, may_drop)
                y = side_gain(
                    total - part, all_stop - stop, m - a, prices, n_plan, questions[f], slack, margin, may_drop
                )
                value = _shrunk(x, a) + _shrunk(y, m - a)
                if value > values[f, t]:
                    values[f, t] = value
                    missing_left[f, t] = empty_left
    return values, missing_left
