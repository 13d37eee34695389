"""The tree as a `DecisionGraph`: a node for every question and for every measurement of a leaf's plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from synafa.graph.shape import DecisionGraph, Edge, Node
from synafa.money.words import amount, percent
from synafa.plan.tree import Tree

PLAN_ENDS = "plan ends"


Words = Callable[[int, float, bool], tuple[str, str]]
_Arrival = tuple[int, str, str] | None  # where an edge comes from, and its two labels


class _Builder:
    """Nodes and edges in the making."""

    def __init__(self, tree: Tree, names: tuple[str, ...], words: Words, max_depth: int, min_share: float) -> None:
        self.tree, self.names, self.words = tree, names, words
        self.max_depth, self.min_share = max_depth, min_share
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.deep = self.rare = 0

    def visit(self, number: int, depth: int, arrival: _Arrival) -> None:
        """A node of the tree and all below it."""
        tree, count = self.tree, int(self.tree.count[number])
        if count < self.min_share * tree.count[0]:
            self.rare += count
            return
        if tree.feature[number] < 0:
            self._plan(number, depth, arrival)
            return
        if depth >= self.max_depth:
            self.deep += count
            return
        feature, threshold = int(tree.feature[number]), float(tree.threshold[number])
        name = self.names[int(tree.ask[number])]
        what = "the result" if name == self.names[feature] else self.names[feature]
        reason = f"{self._cost(number)}what comes next depends on {what}"
        at = self._add(number, depth, name, reason, float(tree.left_over[number]), "question", None)
        self._link(arrival, at, number)
        for child, below in ((int(tree.left[number]), True), (int(tree.right[number]), False)):
            self.visit(child, depth + 1, (at, *self.words(feature, threshold, below)))

    def _cost(self, number: int) -> str:
        """What the question of a node costs, where its list has the price."""
        tree = self.tree
        places = np.arange(tree.start[number], tree.stop[number])
        here = places[tree.items[places] == tree.ask[number]]
        return f"costs {amount(tree.price[here[0]])}; " if len(here) else ""

    def _plan(self, number: int, depth: int, arrival: _Arrival) -> None:
        tree, remaining = self.tree, float(self.tree.left_over[number])
        for i in range(int(tree.start[number]), int(tree.planned[number])):
            if depth >= self.max_depth:
                self.deep += int(tree.count[number])
                return
            before = tree.loss_before[number] if i == tree.start[number] else tree.loss_after[i - 1]
            name = self.names[int(tree.items[i])]
            reason = f"costs {amount(tree.price[i])}; expected loss {before:.2f} to {tree.loss_after[i]:.2f}"
            at = self._add(number, depth, name, reason, remaining, "plan", None)
            self._link(arrival, at, number)
            arrival, depth = (at, f"{name}: any result", "any result"), depth + 1
            remaining -= float(tree.price[i])
        reason = f"the plan ends; {percent(tree.sure[number])} sure on average"
        at = self._add(number, depth, None, reason, remaining, None, PLAN_ENDS)
        self._link(arrival, at, number)

    def _add(
        self, number: int, depth: int, feature: str | None, reason: str, remaining: float, why: str | None,
        stop: str | None,
    ) -> int:  # fmt: skip
        count = int(self.tree.count[number])
        shares = self.tree.class_counts[number] / max(count, 1)
        share = count / max(int(self.tree.count[0]), 1)
        at = len(self.nodes)
        self.nodes.append(Node(at, depth, feature, reason, count, share, tuple(shares.tolist()), remaining, why, stop))
        return at

    def _link(self, arrival: _Arrival, target: int, number: int) -> None:
        if arrival is not None:
            self.edges.append(Edge(arrival[0], target, arrival[1], int(self.tree.count[number]), arrival[2]))


def tree_graph(
    tree: Tree, names: tuple[str, ...], classes: tuple[Any, ...], words: Words, max_depth: int, min_share: float
) -> DecisionGraph:
    """Questions branch, plans follow each other; counts are of the rows the tree was judged on.

    words : feature, threshold and side to the two labels of an edge
    """
    builder = _Builder(tree, names, words, max_depth, min_share)
    builder.visit(0, 0, None)
    n, cut = max(int(tree.count[0]), 1), []
    if builder.deep:
        deep = f"{builder.deep / n:.1%}"
        cut.append(f"Only the first {max_depth} measurements are shown; {deep} of the cases go on after them.")
    if builder.rare:
        cut.append(
            f"Branches with fewer than {min_share:.1%} of the cases are left out; {builder.rare / n:.1%} come to one."
        )
    order = np.argsort([node.depth for node in builder.nodes], kind="stable")
    place = {int(old): new for new, old in enumerate(order)}
    nodes = tuple(replace(builder.nodes[old], id=new) for new, old in enumerate(order))
    edges = tuple(replace(e, source=place[e.source], target=place[e.target]) for e in builder.edges)
    return DecisionGraph(nodes, edges, classes, names, tuple(cut))
