"""What the page must know of a model, as JSON values: features with prices and limits, classes, budget."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from synafa.model.answering import Answering


def model_dict(model: Answering, name: str = "model") -> dict[str, Any]:
    """A model as JSON values; `cuts` are the values at which a number's meaning changes.

    A text column with too many values to be kept has no categories: its values are in no file and are not served.
    """
    policy = model.policy_
    names = policy.encoder_.feature_names_
    features = []
    for j, column in enumerate(policy.encoder_.columns_):
        low, high = model.ranges_[j, 0], model.ranges_[j, -1]
        cost, in_group, group, panel = _prices(policy, j)
        features.append(
            {
                "name": column.name,
                "kind": column.kind,
                "categories": list(column.categories),
                "cuts": _cuts(policy, j),
                "low": float(low) if np.isfinite(low) else None,
                "high": float(high) if np.isfinite(high) else None,
                "cost": cost,
                "cost_in_group": in_group,
                "group": group,
                "panel": [names[k] for k in panel],
                "known": bool(policy.known_[j]),
                "unavailable": bool(policy.unavailable_[j]),
            }
        )
    described = {
        "name": name,
        "target": policy.target_,
        "classes": [str(label) for label in model.classes_.tolist()],
        "budget": float(policy.budget_) if math.isfinite(policy.budget_) else None,
        "money": model.error_costs_ is not None,
        "features": features,
    }
    text = json.dumps(described, sort_keys=True)
    return described | {"fingerprint": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]}


def _prices(policy: Any, j: int) -> tuple[float, float, int, list[int]]:
    """Price, price after another member of the group, the group or -1, and the members of the panel."""
    if not hasattr(policy, "prices_"):
        rule = policy.rule_
        group = -1 if rule.prices is None else int(rule.prices.group[j])
        shown = [j] if rule.prices is None else np.flatnonzero(rule.reveals[j]).tolist()
        return float(rule.costs[j]), float(rule.costs_in_group[j]), group, shown
    prices = policy.prices_
    return float(prices.price[j]), float(prices.price_in_group[j]), int(prices.group[j]), list(prices.shown[j])


def _cuts(policy: Any, j: int) -> list[float]:
    if policy.encoder_.columns_[j].kind == "text":
        return []
    tree = getattr(policy, "tree_", None)
    found = policy.rule_.edges[j] if tree is None else tree.threshold[tree.feature == j]
    return sorted({float(edge) for edge in found if math.isfinite(edge)})
