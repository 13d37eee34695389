"""A counted decision graph as arrays and JSON values, and back: what a model file holds in place of training rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from synafa.graph.shape import MIN_SHARE, DecisionGraph, Edge, Node
from synafa.policy.graph import Counted

STORED_DEPTH, STORED_SHARE = 8, MIN_SHARE


def to_arrays(counted: Counted) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays by name and the JSON value "graph"."""
    nodes, edges = counted.graph.nodes, counted.graph.edges
    shares = np.array([node.class_shares for node in nodes]).reshape(len(nodes), -1)
    counts = np.array([node.count for node in nodes], dtype=np.int64)
    arrays: dict[str, Any] = {
        "graph_depth": np.array([node.depth for node in nodes], dtype=np.int32),
        "graph_classes": np.rint(shares * counts[:, None]).astype(np.int64),
        "graph_remaining": np.array([node.remaining for node in nodes], dtype=np.float64),
        "graph_source": np.array([edge.source for edge in edges], dtype=np.int32),
        "graph_target": np.array([edge.target for edge in edges], dtype=np.int32),
        "graph_passing": np.array([edge.count for edge in edges], dtype=np.int64),
        "graph_rare": np.array(counted.rare, dtype=np.int64),
    }
    meta: dict[str, Any] = {
        "feature": [node.feature for node in nodes],
        "reason": [node.reason for node in nodes],
        "why": [node.why for node in nodes],
        "stop_reason": [node.stop_reason for node in nodes],
        "label": [edge.label for edge in edges],
        "result": [edge.result for edge in edges],
        "depth": counted.depth,
        "share": counted.share,
        "deep": counted.deep,
        "rows": counted.n,
    }
    return arrays, meta


def from_arrays(
    arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], classes: tuple[Any, ...], names: tuple[str, ...]
) -> Counted:
    """The counted graph that `to_arrays` described."""
    by_class, n = arrays["graph_classes"], int(meta["rows"])
    counts = by_class.sum(axis=1)
    shares = by_class / np.maximum(counts, 1)[:, None]
    parts = zip(
        arrays["graph_depth"].tolist(), meta["feature"], meta["reason"], counts.tolist(), shares.tolist(),
        arrays["graph_remaining"].tolist(), meta["why"], meta["stop_reason"],
    )  # fmt: skip
    nodes = tuple(
        Node(i, depth, feature, reason, count, count / n, tuple(share), remaining, why, stop)
        for i, (depth, feature, reason, count, share, remaining, why, stop) in enumerate(parts)
    )
    ends = zip(
        arrays["graph_source"].tolist(), arrays["graph_target"].tolist(), meta["label"],
        arrays["graph_passing"].tolist(), meta["result"],
    )  # fmt: skip
    graph = DecisionGraph(nodes, tuple(Edge(*end) for end in ends), classes, names)
    rare = tuple(arrays["graph_rare"].tolist())
    return Counted(graph, int(meta["depth"]), float(meta["share"]), rare, int(meta["deep"]), n)
