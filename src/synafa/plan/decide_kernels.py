"""Decisions of many rows at once: each walks the tree as far as its known values go, then takes the next item."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from synafa.money.price_kernels import price_now
from synafa.money.prices import TOLERANCE
from synafa.plan.decide import PLAN, QUESTION, REPLAN, TELL


@njit(cache=True)
def _can_ask(j, mask, blocked, left, price, in_group, group, at_start, follows, any_follow):  # type: ignore[no-untyped-def]
    if mask[j] or blocked[j] or price_now(j, mask, price, in_group, group, at_start) > left + TOLERANCE:
        return False
    if any_follow:
        for k in range(mask.size):
            if mask[k] and follows[k, j]:
                return False
    return True


@njit(cache=True)
def walk(values, mask, blocked, left, nodes, lists, prices):  # type: ignore[no-untyped-def]
    """One decision: feature or -1, reason, node."""
    feature, ask, lower, upper, threshold, missing_left = nodes
    start, planned, stop, items = lists
    price, in_group, group, at_start, told_first, follows, any_follow = prices
    for j in told_first:
        if not mask[j] and not blocked[j]:
            return j, TELL, 0
    node = 0
    replan = False
    while feature[node] >= 0:
        f = feature[node]
        if not mask[f]:
            j = ask[node]
            if _can_ask(j, mask, blocked, left, price, in_group, group, at_start, follows, any_follow):
                return j, QUESTION, node
            replan = True
            break
        x = values[f]
        goes_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
        node = lower[node] if goes_left else upper[node]
    for i in range(start[node], stop[node]):
        j = items[i]
        if mask[j]:
            continue
        if _can_ask(j, mask, blocked, left, price, in_group, group, at_start, follows, any_follow):
            return j, (REPLAN if replan or i >= planned[node] else PLAN), node
        replan = True
    return -1, -1, node


@njit(parallel=True, cache=True)
def propose(values, mask, blocked, remaining, nodes, lists, prices):  # type: ignore[no-untyped-def]
    """One decision of every row in its own state: feature (-1: stop) and reason (n,)."""
    n = len(values)
    features = np.empty(n, np.int64)
    reasons = np.empty(n, np.int8)
    for i in prange(n):
        j, reason, _ = walk(values[i], mask[i], blocked[i], remaining[i], nodes, lists, prices)
        features[i] = j
        reasons[i] = reason
    return features, reasons


@njit(parallel=True, cache=True)
def acquire(values, known, blocked, budget, nodes, lists, prices, reveals, single, steps):  # type: ignore[no-untyped-def]
    """Whole episodes: order and reason (n, steps), final mask (n, D), and money spent (n,)."""
    n, d = values.shape
    order = np.full((n, steps), -1, np.int32)
    reasons = np.full((n, steps), -1, np.int8)
    masks = known.copy()
    spent = np.zeros(n)
    price, in_group, group, at_start, _, _, _ = prices
    for i in prange(n):
        mask = masks[i]
        for step in range(steps):
            j, reason, _ = walk(values[i], mask, blocked[i], budget - spent[i], nodes, lists, prices)
            if j < 0:
                break
            order[i, step] = j
            reasons[i, step] = reason
            spent[i] += price_now(j, mask, price, in_group, group, at_start)
            if single:
                mask[j] = True
            else:
                for k in range(d):
                    mask[k] = mask[k] or k == j or (reveals[j, k] and not blocked[i, k])
    return order, reasons, masks, spent
