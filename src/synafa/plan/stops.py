"""Why a case ends: the budget is spent, nothing left is worth its price, or it is enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
    """The reason to stop, the most probable class with its probability, and how often more would change a decision."""

    reason: str
    label: Any
    sure: float
    changes: float


def stop_of(
    rule: Rule, node: int, mask: np.ndarray, remaining: float, blocked: np.ndarray, probabilities: dict[Any, float]
) -> Stop:
    """The reason of a stop in a node; probabilities by class, which may be empty."""
    tree = rule.tree
    label = max(probabilities, key=probabilities.__getitem__) if probabilities else None
    sure = float(probabilities[label]) if probabilities else 0.0
    changes = float(tree.changes[node])
    hidden = ~mask & ~blocked & ~rule.unavailable
    if mask.any():
        hidden &= ~rule.prices.follows[mask].any(axis=0)
    wanted = [j for j in tree.items[tree.start[node] : tree.stop[node]] if hidden[j]]
    if not hidden.any():
        reason = NOTHING
    elif wanted or not rule.can_ask(mask, remaining, blocked).any():
        reason = SPENT
    else:
        reason = ENOUGH if sure >= SURE and changes <= RARELY else NOT_WORTH
    return Stop(reason, label, sure, changes)


def stop_sentence(stop: Stop, remaining: float, target: str) -> str:
    """A stop in words."""
    if stop.reason == SPENT:
        return f"Stop, the budget is spent: the remaining {remaining:g} pays for nothing that would be measured next."
    if stop.reason == NOTHING:
        return "Stop: nothing is left to measure."
    if stop.reason == ENOUGH:
        return f"Stop, it is enough: {stop.sure:.0%} sure, more tests would change {one_in(stop.changes)}."
    return f"Stop: nothing that is left is worth its price; more tests would change {one_in(stop.changes)}."


def one_in(share: float) -> str:
    """A share of cases in words."""
    if share <= 0:
        return "no case that was seen"
    return f"1 case in {max(1, round(1 / share)):,}"
