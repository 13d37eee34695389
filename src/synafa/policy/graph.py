"""SynAFA's rule as a decision graph: a node is a state of knowledge, an edge a result of its measurement.

Two states are one node when everything a later decision can depend on is equal: the set of known features, the
remaining budget, and the scores of all features still to be had. Nodes are counted on the training rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.graph.shape import MAX_DEPTH, MIN_SHARE, DecisionGraph, Edge, Node
from synafa.policy.recommendation import Recommendation
from synafa.policy.rule import DecisionRule

_Arrival = tuple[int, str, int, str]  # an edge before its target has a number


@dataclass(eq=False)
class _State:
    """A node in the making: its observed features, its scores and its rows."""

    observed: np.ndarray
    scores: np.ndarray
    remaining: float
    rows: np.ndarray

    def key(self, rule: DecisionRule) -> bytes:
        left = ~(self.observed | rule.unavailable)
        return self.observed.tobytes() + np.float64(self.remaining).tobytes() + self.scores[left].tobytes()


def build_graph(
    rule: DecisionRule, codes: np.ndarray, y: np.ndarray, max_depth: int = MAX_DEPTH, min_share: float = MIN_SHARE
) -> DecisionGraph:
    """Follow the training rows through the rule, `max_depth` measurements deep.

    States that fewer than `min_share` of the rows reach are left out; `cut` says how many rows that and the depth hide.
    """
    if not isinstance(max_depth, int | np.integer) or max_depth < 1:
        raise SynafaError(f"max_depth must be a whole number of at least 1, got: {max_depth!r}.")
    if not isinstance(min_share, Real) or not 0 <= min_share < 1:
        raise SynafaError(f"min_share must be a number of at least 0 and below 1, got: {min_share!r}.")
    n, n_classes = len(codes), len(rule.classes)
    nodes: list[Node] = []
    edges: list[Edge] = []
    rare = deep = 0

    def add(state: _State, depth: int, feature: str | None, reason: str, *why: str | None) -> int:
        shares = np.bincount(y[state.rows], minlength=n_classes) / max(len(state.rows), 1)
        node = Node(
            len(nodes), depth, feature, reason, len(state.rows), len(state.rows) / n, tuple(shares.tolist()),
            state.remaining, *why,
        )  # fmt: skip
        nodes.append(node)
        return node.id

    layer = _start(rule, codes, add)
    for depth in range(int(rule.known.any()), max_depth + int(rule.known.any()) + 1):
        grown: dict[bytes, tuple[_State, list[_Arrival]]] = {}
        for state, arrivals in layer:
            if len(state.rows) < min_share * n:
                rare += len(state.rows)
                continue
            found = _recommendation(rule, codes, state)
            if found.feature is not None and depth - int(rule.known.any()) == max_depth:
                deep += len(state.rows)
                continue
            node = add(state, depth, found.feature, found.reason, found.why, found.stop_reason)
            edges.extend(Edge(source, node, label, count, result) for source, label, count, result in arrivals)
            if found.feature is not None:
                for child, label, result in _children(rule, codes, state, rule.index(found.feature)):
                    kept = grown.setdefault(child.key(rule), (child, []))
                    if kept[0] is not child:
                        kept[0].rows = np.concatenate([kept[0].rows, child.rows])
                    kept[1].append((node, label, len(child.rows), result))
        layer = list(grown.values())
        if not layer:
            break
    return DecisionGraph(
        tuple(nodes), tuple(edges), rule.classes, rule.feature_names, _cut(n, deep, rare, max_depth, min_share)
    )


def _start(rule: DecisionRule, codes: np.ndarray, add: Any) -> list[tuple[_State, list[_Arrival]]]:
    """The states before the first measurement: one, or one for each effect of the features known at the start."""
    everyone = _State(np.zeros(rule.n_features, bool), rule.single.copy(), rule.budget, np.arange(len(codes)))
    layer: list[tuple[_State, list[_Arrival]]] = [(everyone, [])]
    if not rule.known.any():
        return layer
    names = [rule.feature_names[j] for j in np.flatnonzero(rule.known)]
    root = add(everyone, 0, "Known at the start", ", ".join(names))
    states = [(everyone, "")]
    for j in np.flatnonzero(rule.known):
        states = [
            (_State(child.observed, child.scores, rule.budget, child.rows), f"{label}, {part}" if label else part)
            for state, label in states
            for child, part, _ in _children(rule, codes, state, int(j))
        ]
    merged: dict[bytes, tuple[_State, list[_Arrival]]] = {}
    for state, label in states:
        kept = merged.setdefault(state.key(rule), (state, []))
        if kept[0] is not state:
            kept[0].rows = np.concatenate([kept[0].rows, state.rows])
        kept[1].append((root, label, len(state.rows), label))
    return list(merged.values())


def _children(rule: DecisionRule, codes: np.ndarray, state: _State, feature: int) -> Iterator[tuple[_State, str, str]]:
    """The states after measuring `feature`, one for each code that some row has, and two names of the result."""
    observed = state.observed.copy()
    observed[feature] = True
    results = codes[state.rows, feature]
    for code in np.unique(results):
        scores = np.maximum(state.scores, rule.cond_by_value[feature, code])
        rows = state.rows[results == code]
        yield (
            _State(observed, scores, state.remaining - float(rule.costs[feature]), rows),
            rule.describe_code(feature, int(code)),
            rule.describe_result(feature, int(code)),
        )


def _recommendation(rule: DecisionRule, codes: np.ndarray, state: _State) -> Recommendation:
    """The recommendation in a state; where its cases differ in the known value behind it, only the name is told."""
    found = rule.recommend(state.observed, codes[state.rows[0]], state.remaining)
    if found.given is not None and len(np.unique(codes[state.rows, rule.index(found.given)])) > 1:
        return replace(found, condition=found.given)
    return found


def _cut(n: int, deep: int, rare: int, max_depth: int, min_share: float) -> tuple[str, ...]:
    said = []
    if deep:
        said.append(f"Only the first {max_depth} measurements are shown; {deep / n:.1%} of the cases go on after them.")
    if rare:
        said.append(f"States with fewer than {min_share:.1%} of the cases are left out; {rare / n:.1%} come to one.")
    return tuple(said)
