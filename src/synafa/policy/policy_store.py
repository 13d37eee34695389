"""A fitted SynAFA as arrays and JSON values, and back: its rule and its counted decision graph, no training rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.information.codes import Discretizer
from synafa.information.tables import InformationTables
from synafa.information.wide import WideTables
from synafa.policy import graph_store
from synafa.policy.graph import count_graph
from synafa.policy.rule import DecisionRule, Rule
from synafa.policy.wide_rule import WideRule


def to_arrays(policy: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The rule and its decision graph."""
    arrays, meta = policy.rule_.to_arrays()
    if policy.tables_.specific is None:
        raise SynafaError("A policy with estimated tables cannot be stored; fit it on exact ones.")
    if hasattr(policy, "_codes"):
        depth, share = graph_store.STORED_DEPTH, graph_store.STORED_SHARE
        policy._counted = count_graph(policy.rule_, policy.codes_, policy.y_, depth, share)
    drawn, about = graph_store.to_arrays(policy._counted)
    arrays |= {"specific": policy.tables_.specific, "class_counts": policy.tables_.class_counts, **drawn}
    if getattr(policy.tables_, "missing", False):
        meta["missing_cells"] = True
    return arrays, meta | {"n_bins": int(policy.n_bins), "graph": about}


def restore(policy: Any, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Any:
    """Make a new policy the one that `to_arrays` took apart."""
    rule: Rule = (WideRule if "reach" in meta else DecisionRule).from_arrays(arrays, meta)
    for name in ("budget", "cost_weight", "pair_branch", "affordability", "prices"):
        setattr(policy, name, getattr(rule, name))
    policy.n_bins, policy.costs = meta["n_bins"], rule.costs if rule.prices is None else None
    policy.rule_ = rule
    policy.n_features_in_ = rule.n_features
    if rule.feature_names != tuple(f"x{j}" for j in range(rule.n_features)):  # fitted on a DataFrame
        policy.feature_names_in_ = np.asarray(rule.feature_names, dtype=object)
    policy.classes_ = np.asarray(rule.classes)
    policy._counted = graph_store.from_arrays(arrays, meta["graph"], rule.classes, rule.feature_names)
    about = arrays["specific"], arrays["class_counts"]
    if isinstance(rule, DecisionRule):
        policy.tables_ = InformationTables(rule.single, rule.pair, rule.cond, *about, meta.get("missing_cells", False))
    else:
        policy.tables_ = WideTables(rule.single, *about)
    policy._discretizer = Discretizer(policy.n_bins)
    policy._discretizer.edges_ = rule.edges
    policy._discretizer.fill_ = rule.encoder.fill_values_
    return policy
