"""Episodes and proposals of many rows by a `WideRule`: the kernel's, and one by one where a row is beyond its reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from synafa.money.prices import TOLERANCE
from synafa.policy.branches import FALLBACK
from synafa.policy.rule import AFFORDABILITY
from synafa.policy.wide_rule import WideRule


def acquire(
    rule: WideRule, codes: np.ndarray, seen: np.ndarray, blocked: np.ndarray, budget: float, force: bool, steps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whole episodes: order and branch (n, steps), and money spent (n,).

    Parameters
    ----------
    codes : uint8 (n, D)
    seen, blocked : bool (n, D)
        What is known, and what else cannot be acquired.
    budget : float
    force : bool
        Whether the lowest-index feature that is left is acquired where nothing is worth its price.
    steps : int
        Features that the budget buys at most.
    """
    from synafa.policy.wide_kernels import acquire as in_parallel

    order, branch, spent, beyond = in_parallel(
        codes, seen, blocked, *_kept(rule), budget, _mode(rule), force, steps
    )  # fmt: skip
    for i in np.flatnonzero(beyond):
        order[i], branch[i], spent[i] = _episode(rule, codes[i], seen[i], blocked[i], budget, force, steps)
    return order, branch, spent


def propose(
    rule: WideRule, codes: np.ndarray, mask: np.ndarray, remaining: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One decision of every row: feature (-1: stop) and branch, (n,)."""
    from synafa.policy.wide_kernels import propose as in_parallel

    never, *kept = _kept(rule)
    feature, branch, beyond = in_parallel(codes, mask, never, remaining, *kept, _mode(rule))
    for i in np.flatnonzero(beyond):
        found = rule.decide(mask[i], codes[i], float(remaining[i]))
        feature[i], branch[i] = found.feature, found.branch
    return feature, branch


def _kept(rule: WideRule) -> tuple[Any, ...]:
    """What both kernels take of a rule, in their order."""
    kept = rule.kept
    conditional = (rule.single, kept.cond_start, kept.cond_feature, kept.cond_bits)
    pairs = (kept.pair_first, kept.pair_second, rule.pair_scores)
    return (rule.unavailable, kept.reach, *conditional, *pairs, rule.costs, rule.cost_weight)


def _mode(rule: WideRule) -> int:
    return AFFORDABILITY.index(rule.affordability)


def _episode(
    rule: WideRule, codes: np.ndarray, seen: np.ndarray, blocked: np.ndarray, budget: float, force: bool, steps: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """The episode of one row, decision by decision."""
    order, branch = np.full(steps, -1, np.int32), np.full(steps, -1, np.int8)
    observed, remaining, spent = seen.copy(), budget, 0.0
    for step in range(steps):
        found = rule.decide(observed, codes, remaining, blocked)
        feature, why = found.feature, found.branch
        if feature < 0 and force:
            feature, why = _lowest_left(rule, observed | blocked, remaining), FALLBACK
        if feature < 0 or rule.costs[feature] > remaining + TOLERANCE:
            break
        order[step], branch[step] = feature, why
        spent += rule.costs[feature]
        remaining -= rule.costs[feature]
        observed[feature] = True
    return order, branch, spent


def _lowest_left(rule: WideRule, out: np.ndarray, remaining: float) -> int:
    """The lowest-index feature that is left (in strict mode: and affordable), or -1."""
    left = ~out
    if rule.affordability == "strict":
        left &= rule.costs <= remaining + TOLERANCE
    return int(np.argmax(left)) if left.any() else -1
