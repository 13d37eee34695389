"""A plan tree as nested JSON values that another program, or a person with a printed card, can follow.

`rules_of` writes them, `follow` is the few lines that another program needs. A node either asks a feature and goes on
by its value, or is a leaf. Every node has a list of measurements in order: those of its plan, then spare ones that
are taken when something cannot be had or money is left. A price is the lower one once a member of the group was paid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.money.prices import TOLERANCE

if TYPE_CHECKING:
    from synafa.model.answering import Answering

FORMAT, VERSION = "synafa-rules", 1


def rules_of(model: Answering) -> dict[str, Any]:
    """The rules of a model whose policy is a plan tree, as JSON values.

    Raises
    ------
    SynafaError
        When the policy is not a tree; its decision graph holds what it does.
    """
    policy = model.policy_
    if not hasattr(policy, "tree_"):
        raise SynafaError("A synafa policy is no tree: its rules are its decision graph; draw that with synafa graph.")
    names, prices = policy.encoder_.feature_names_, policy.prices_
    features = [
        {
            "feature": name,
            "price": float(prices.price[j]),
            "price_in_group": float(prices.price_in_group[j]),
            "group": int(prices.group[j]),
            "reveals": [names[k] for k in np.flatnonzero(prices.reveals[j])],
            "follows": [names[k] for k in np.flatnonzero(prices.follows[j])],
            "known": bool(policy.known_[j]),
            "unavailable": bool(policy.unavailable_[j]),
        }
        for j, name in enumerate(names)
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "target": policy.target_,
        "classes": [str(label) for label in policy.classes_.tolist()],
        "budget": None if np.isinf(policy.budget_) else float(policy.budget_),
        "is_panel": bool(policy.tree_.is_panel),
        "unit": "bits" if policy.error_costs_ is None else "money",
        "stop": None if model.stop_ is None else model.stop_.describe(),
        "features": features,
        "root": _node(model, 0),
    }


def follow(rules: Mapping[str, Any], case: Mapping[str, Any]) -> tuple[list[str], int]:
    """What the rules measure for a case of which every value is at hand, in order, and the node where it ends.

    Parameters
    ----------
    rules : mapping
        What `rules_of` made, or its JSON file.
    case : mapping
        Values by feature name; None, or no entry, for a measurement that gives no result.

    Returns
    -------
    measured : list of str
    node : int
        The number of the node whose list was followed last.
    """
    table = {entry["feature"]: entry for entry in rules["features"]}
    left = float("inf") if rules["budget"] is None else rules["budget"]
    known = {name for name, entry in table.items() if entry["known"]}
    settled, groups, measured = set(known), set(), []
    for name in known:
        settled |= set(table[name]["follows"])

    def price(name: str) -> float:
        entry = table[name]
        return entry["price_in_group"] if entry["group"] in groups else entry["price"]

    def can(name: str) -> bool:
        return name not in settled and not table[name]["unavailable"] and price(name) <= left + TOLERANCE

    def measure(name: str) -> None:
        nonlocal left
        left -= price(name)
        measured.append(name)
        known.update(table[name]["reveals"])
        for one in table[name]["reveals"]:
            settled.update([one, *table[one]["follows"]])
            if table[one]["group"] >= 0:
                groups.add(table[one]["group"])

    node = rules["root"]
    while "ask" in node:
        if node["test"] not in known:
            if not can(node["ask"]):
                break
            measure(node["ask"])
        node = node[_side(node, case.get(node["test"]))]
    for entry in node["measure"]:
        if can(entry["feature"]):
            measure(entry["feature"])
    return measured, node["node"]


def _side(node: Mapping[str, Any], value: Any) -> str:
    """Which way a value goes at a question."""
    if value is None or (isinstance(value, float) and value != value):
        return str(node["without_result"])
    if "if_one_of" in node:
        return "then" if str(value) in node["if_one_of"] else "else"
    return "then" if float(value) <= node["if_at_most"] else "else"


def _node(model: Answering, number: int) -> dict[str, Any]:
    policy = model.policy_
    tree, names = policy.tree_, policy.encoder_.feature_names_
    count = int(tree.count[number])
    shares = tree.class_counts[number] / max(int(tree.class_counts[number].sum()), 1)
    out: dict[str, Any] = {
        "node": number,
        "cases": count,
        "shares": {str(label): float(share) for label, share in zip(policy.classes_.tolist(), shares)},
        "loss_now": float(tree.loss_before[number]),
        "measure": [
            {
                "feature": names[int(tree.items[i])],
                "price": float(tree.price[i]),
                "planned": bool(i < tree.planned[number]),
                "loss_after": float(tree.loss_after[i]),
            }
            for i in range(int(tree.start[number]), int(tree.stop[number]))
        ],
    }
    feature = int(tree.feature[number])
    if feature < 0:
        return out
    column = policy.encoder_.columns_[feature]
    threshold = float(tree.threshold[number])
    split: dict[str, Any] = {"if_at_most": threshold}
    if column.kind == "text":
        split = {"if_one_of": [name for i, name in enumerate(column.categories) if i <= threshold]}
    return out | {
        "ask": names[int(tree.ask[number])],
        "test": names[feature],
        **split,
        "without_result": "then" if bool(tree.missing_left[number]) else "else",
        "then": _node(model, int(tree.left[number])),
        "else": _node(model, int(tree.right[number])),
    }
