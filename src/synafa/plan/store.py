"""A fitted plan tree as named arrays and JSON values, and back; no training rows are stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.plan.case import Copies
from synafa.plan.decide import Rule
from synafa.plan.prices import Prices
from synafa.plan.reasons import Overlap
from synafa.plan.tree import Tree
from synafa.table.encoder import TableEncoder

if TYPE_CHECKING:
    from synafa.plan.answering import PlanAnswers
    from synafa.plan.plan_tree import PlanTree

_PRICES = ("price", "price_in_group", "group", "reveals", "follows")
_COPIES = ("source", "target", "slope", "intercept")


def to_arrays(policy: PlanTree) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and JSON values of a fitted policy."""
    prices, copies = policy.prices_, policy.copies_
    arrays = dict(policy.tree_.to_arrays())
    arrays |= {f"prices_{name}": np.asarray(getattr(prices, name)) for name in _PRICES}
    arrays |= {f"copies_{name}": getattr(copies, name) for name in _COPIES}
    arrays |= {"known": policy.known_, "unavailable": policy.unavailable_}
    arrays |= {"single": policy.overlap_.single, "pair": policy.overlap_.pair.astype(np.float32)}
    meta: dict[str, Any] = {
        "columns": policy.encoder_.to_meta(),
        "classes": [c.item() if isinstance(c, np.generic) else c for c in policy.classes_.tolist()],
        "budget": None if np.isinf(policy.budget_) else policy.budget_,
        "margin": policy.margin_,
        "margin_setting": float(policy.margin),
        "adaptive": bool(policy.adaptive),
        "spend_all": bool(policy.spend_all),
        "seed": int(policy.random_state),
        "target": policy.target_,
        "fills": prices.fills,
        "named": hasattr(policy, "feature_names_in_"),
        "error_costs": None if policy.error_costs_ is None else policy.error_costs_.to_meta(),
        "predictor": None,
    }
    predictor = getattr(policy, "predictor_", None)
    if predictor is not None and hasattr(predictor, "to_arrays"):
        more, meta["predictor"] = predictor.to_arrays()
        arrays |= {f"predictor.{name}": array for name, array in more.items()}
    return arrays, meta


def restore(policy: PlanAnswers, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
    """Give an estimator, or an object that is only asked, what `to_arrays` described."""
    from synafa.money.errors import ErrorCosts
    from synafa.predictor import predictor_from_arrays

    try:
        encoder = TableEncoder.from_meta(meta["columns"])
        d = len(encoder.columns_)
        prices = Prices(**{name: arrays[f"prices_{name}"] for name in _PRICES}, fills=bool(meta["fills"]))
        errors = None if meta["error_costs"] is None else ErrorCosts.from_meta(meta["error_costs"])
        policy.encoder_, policy.target_ = encoder, str(meta["target"])
        policy.classes_ = np.asarray(meta["classes"])
        policy.n_features_in_ = d
        policy.prices_, policy.error_costs_ = prices, errors
        policy.copies_ = Copies(*(arrays[f"copies_{name}"] for name in _COPIES))
        policy.known_, policy.unavailable_ = arrays["known"], arrays["unavailable"]
        policy.overlap_ = Overlap(arrays["single"], arrays["pair"])
        policy.budget_ = np.inf if meta["budget"] is None else float(meta["budget"])
        policy.margin_ = float(meta["margin"])
        policy.tree_ = Tree.from_arrays(arrays, d)
        more = {name.removeprefix("predictor."): a for name, a in arrays.items() if name.startswith("predictor.")}
        policy.predictor_ = None if meta["predictor"] is None else predictor_from_arrays(more, meta["predictor"])
        _check(policy, d)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise SynafaError("The model lacks a part or holds it in a wrong shape; fit and save it again.") from error
    policy.rule_ = Rule(policy.tree_, prices, policy.known_, policy.unavailable_)


def _check(policy: PlanAnswers, d: int) -> None:
    """Shapes that compiled code relies on."""
    prices = policy.prices_
    wide = all(getattr(prices, name).shape == (d,) for name in _PRICES[:3])
    square = all(getattr(prices, name).shape == (d, d) for name in _PRICES[3:])
    masks = all(m.shape == (d,) and m.dtype == bool for m in (policy.known_, policy.unavailable_))
    if not (wide and square and masks and np.isfinite(prices.price).all() and (prices.price >= 0).all()):
        raise SynafaError("The model lacks a part or holds it in a wrong shape; fit and save it again.")
