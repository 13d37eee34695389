"""SynAFA's rule as a decision graph: a node is a state of knowledge, an edge a result of its measurement.

Two states are one node when everything a later decision can depend on is equal: the set of known features, the
remaining budget, and the scores of all features still to be had. Nodes are counted on the training rows; what was
counted (`Counted`) is enough for every view that shows no more, so that a saved model needs no rows for its graph.
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
from synafa.policy.rule import Rule

AT_START = "Known at the start"  # in place of a feature
_Arrival = tuple[int, str, int, str]  # an edge before its target has a number


@dataclass(eq=False)
class _State:
    """A node in the making: its observed features, its scores and its rows."""

    observed: np.ndarray
    scores: np.ndarray
    remaining: float
    rows: np.ndarray

    def key(self, rule: Rule) -> bytes:
        left = ~(self.observed | rule.unavailable)
        return self.observed.tobytes() + np.float64(self.remaining).tobytes() + self.scores[left].tobytes()


@dataclass(frozen=True)
class Counted:
    """A graph with what it left out, from which smaller graphs follow.

    Attributes
    ----------
    graph : DecisionGraph, `depth` measurements deep, of states that at least `share` of the rows reach
    depth, share : how much was followed
    rare : rows in states that were too rare, by depth
    deep : rows that go on after the last measurement
    n : all rows
    """

    graph: DecisionGraph
    depth: int
    share: float
    rare: tuple[int, ...]
    deep: int
    n: int

    def view(self, max_depth: int, min_share: float) -> DecisionGraph:
        """The graph with fewer measurements or without rarer states; the counts are those of all rows in a state."""
        _check(max_depth, min_share)
        nodes, offset = self.graph.nodes, self._offset
        most, rare, deep = min(max_depth, self.depth) + offset, 0, 0
        inflow: dict[int, list[Edge]] = {}
        for edge in self.graph.edges:
            inflow.setdefault(edge.target, []).append(edge)
        place: dict[int, int] = {}
        for node in nodes:
            arrivals = [edge for edge in inflow.get(node.id, ()) if edge.source in place]
            if node.depth > most or (node.id in inflow and not arrivals):
                continue
            if node.count < min_share * self.n:
                rare += node.count
            elif node.depth == most and node.feature is not None:
                deep += node.count
            else:
                place[node.id] = len(place)
        kept = tuple(replace(node, id=place[node.id]) for node in nodes if node.id in place)
        edges = tuple(
            replace(edge, source=place[edge.source], target=place[edge.target])
            for edge in self.graph.edges
            if edge.source in place and edge.target in place
        )
        rare += sum(self.rare[: most + 1])
        deep = self.deep if max_depth >= self.depth else deep
        cut = _cut(self.n, deep, rare, min(max_depth, self.depth), max(min_share, self.share))
        if (max_depth > self.depth and self.deep) or (min_share < self.share and sum(self.rare)):
            cut = (*cut, "More than that is not stored in a model file; the fitted model can draw it.")
        return DecisionGraph(kept, edges, self.graph.classes, self.graph.feature_names, cut)

    @property
    def _offset(self) -> int:
        """1 where the first node tells what is known at the start."""
        return int(bool(self.graph.nodes) and self.graph.nodes[0].feature == AT_START)


def build_graph(
    rule: Rule, codes: np.ndarray, y: np.ndarray, max_depth: int = MAX_DEPTH, min_share: float = MIN_SHARE
) -> DecisionGraph:
    """Follow the training rows through the rule, `max_depth` measurements deep.

    States that fewer than `min_share` of the rows reach are left out; `cut` says how many rows that and the depth hide.
    """
    _check(max_depth, min_share)
    return count_graph(rule, codes, y, max_depth, min(min_share, MIN_SHARE)).view(max_depth, min_share)


def count_graph(rule: Rule, codes: np.ndarray, y: np.ndarray, max_depth: int, min_share: float) -> Counted:
    """As `build_graph`, with all that smaller graphs need."""
    n, n_classes, offset = len(codes), len(rule.classes), int(rule.known.any())
    nodes: list[Node] = []
    edges: list[Edge] = []
    rare, deep = [0] * (max_depth + offset + 1), 0

    def add(state: _State, depth: int, feature: str | None, reason: str, *why: str | None) -> int:
        shares = np.bincount(y[state.rows], minlength=n_classes) / max(len(state.rows), 1)
        node = Node(
            len(nodes), depth, feature, reason, len(state.rows), len(state.rows) / n, tuple(shares.tolist()),
            state.remaining, *why,
        )  # fmt: skip
        nodes.append(node)
        return node.id

    layer = _start(rule, codes, add)
    for depth in range(offset, max_depth + offset + 1):
        grown: dict[bytes, tuple[_State, list[_Arrival]]] = {}
        for state, arrivals in layer:
            if len(state.rows) < min_share * n:
                rare[depth] += len(state.rows)
                continue
            found = _recommendation(rule, codes, state)
            if found.feature is not None and depth - offset == max_depth:
                deep += len(state.rows)
                continue
            node = add(state, depth, found.feature, found.reason, found.why, found.stop_reason)
            edges.extend(Edge(source, node, label, count, result) for source, label, count, result in arrivals)
            if found.feature is not None:
                j = rule.index(found.feature)
                panel = rule.reveals[j] if rule.prices is not None else np.zeros(rule.n_features, bool)
                shown = np.flatnonzero(panel & ~state.observed & ~rule.unavailable)
                for child, label, result in _children(rule, codes, state, [j, *shown[shown != j]], found.cost):
                    kept = grown.setdefault(child.key(rule), (child, []))
                    if kept[0] is not child:
                        kept[0].rows = np.concatenate([kept[0].rows, child.rows])
                    kept[1].append((node, label, len(child.rows), result))
        layer = list(grown.values())
        if not layer:
            break
    graph = DecisionGraph(tuple(nodes), tuple(edges), rule.classes, rule.feature_names)
    return Counted(graph, max_depth, min_share, tuple(rare), deep, n)


def _check(max_depth: int, min_share: float) -> None:
    if not isinstance(max_depth, int | np.integer) or max_depth < 1:
        raise SynafaError(f"max_depth must be a whole number of at least 1, got: {max_depth!r}.")
    if not isinstance(min_share, Real) or not 0 <= min_share < 1:
        raise SynafaError(f"min_share must be a number of at least 0 and below 1, got: {min_share!r}.")


def _start(rule: Rule, codes: np.ndarray, add: Any) -> list[tuple[_State, list[_Arrival]]]:
    """The states before the first measurement: one, or one for each effect of the features known at the start."""
    everyone = _State(np.zeros(rule.n_features, bool), rule.single.copy(), rule.budget, np.arange(len(codes)))
    layer: list[tuple[_State, list[_Arrival]]] = [(everyone, [])]
    if not rule.known.any():
        return layer
    names = [rule.feature_names[j] for j in np.flatnonzero(rule.known)]
    root = add(everyone, 0, AT_START, ", ".join(names))
    states = [(everyone, "")]
    for j in np.flatnonzero(rule.known):
        states = [
            (_State(child.observed, child.scores, rule.budget, child.rows), f"{label}, {part}" if label else part)
            for state, label in states
            for child, part, _ in _children(rule, codes, state, [int(j)], 0.0)
        ]
    merged: dict[bytes, tuple[_State, list[_Arrival]]] = {}
    for state, label in states:
        kept = merged.setdefault(state.key(rule), (state, []))
        if kept[0] is not state:
            kept[0].rows = np.concatenate([kept[0].rows, state.rows])
        kept[1].append((root, label, len(state.rows), label))
    return list(merged.values())


def _children(
    rule: Rule, codes: np.ndarray, state: _State, features: list[int], cost: float
) -> Iterator[tuple[_State, str, str]]:
    """The states after measuring a feature and what comes with it, one for each result that some row has, in words."""
    observed = state.observed.copy()
    observed[features] = True
    results, which = np.unique(codes[state.rows][:, features], axis=0, return_inverse=True)
    for i, found in enumerate(results.tolist()):
        scores = state.scores
        for j, code in zip(features, found):
            if code < rule.n_bins:  # else it was paid and gave no result
                scores = np.maximum(scores, rule.cond_row(j, code))
        words = ", ".join(rule.describe_code(j, code) for j, code in zip(features, found))
        result = rule.describe_result(features[0], found[0]) if len(features) == 1 else words
        yield _State(observed, scores, state.remaining - cost, state.rows[which.ravel() == i]), words, result


def _recommendation(rule: Rule, codes: np.ndarray, state: _State) -> Recommendation:
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
