"""Why a case ends: the budget is spent, nothing left is worth its price, or it is enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synafa.money.words import amount, one_in, percent
from synafa.plan.decide import Rule

SPENT = "budget spent"
NOT_WORTH = "nothing left is worth its price"
ENOUGH = "enough"
NOTHING = "nothing left"
STOP_REASONS = (SPENT, NOT_WORTH, ENOUGH, NOTHING)
SURE = 0.9  # probability of the most probable class from which a case is called sure
RARELY = 0.02  # share of cases whose decision more measurements may change for that


@dataclass(frozen=True)
class Stop:
    """A stop with the numbers of its sentence.

    Attributes
    ----------
    reason : one of STOP_REASONS
    sure : probability of the most probable class
    changes : how often more would change a decision
    remaining : money left
    best, price, saving : the best test that is left, its price, and what it takes off the loss on average; or None
    unit : of the saving, "bits" or "money"
    """

    reason: str
    sure: float
    changes: float
    remaining: float
    best: str | None = None
    price: float = 0.0
    saving: float = 0.0
    unit: str = "bits"


def stop_reason(rule: Rule, node: int, mask: np.ndarray, remaining: float, blocked: np.ndarray, sure: float) -> str:
    """Why a case that is `sure` of its class ends in a node."""
    tree = rule.tree
    hidden = ~mask & ~blocked & ~rule.unavailable
    if mask.any():
        hidden &= ~rule.prices.follows[mask].any(axis=0)
    if not hidden.any():
        return NOTHING
    wanted = hidden[tree.items[tree.start[node] : tree.stop[node]]].any()
    if wanted or not rule.can_ask(mask, remaining, blocked).any():
        return SPENT
    return ENOUGH if sure >= SURE and tree.changes[node] <= RARELY else NOT_WORTH


def stop_sentence(stop: Stop) -> str:
    """Why nothing is recommended."""
    if stop.reason == SPENT:
        return f"the budget is spent; the remaining {stop.remaining:g} pays for nothing that would be measured next."
    if stop.reason == NOTHING:
        return "nothing is left that could be measured."
    if stop.best is not None and stop.unit == "money":
        unsure = ", not surely more than it costs" if stop.saving > stop.price else ""
        best = f"the best remaining test ({stop.best}, {amount(stop.price)})"
        return f"{best} is expected to save {amount(max(stop.saving, 0.0))}{unsure}."
    if stop.reason == ENOUGH:
        return f"it is enough, {percent(stop.sure)} sure; more tests would change {one_in(stop.changes)}."
    told = f"; the best of it ({stop.best}) tells {stop.saving:.3f} bits" if stop.best and stop.saving >= 0.0005 else ""
    return f"nothing that is left is worth its price{told}; more tests would change {one_in(stop.changes)}."
