"""The tree as a `DecisionGraph`: a node for every question and for every measurement of a leaf's plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from synafa.graph.shape import DecisionGraph, Edge, Node
from synafa.plan.tree import Tree


def tree_graph(
    tree: Tree,
    names: tuple[str, ...],
    classes: tuple[Any, ...],
    side_words: Callable[[int, float, bool], str],
    max_depth: int,
) -> DecisionGraph:
    """Questions branch, plans follow each other; counts are of the rows the tree was judged on."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    cut: list[str] = []

    def add(number: int, depth: int, feature: str | None, reason: str, remaining: float) -> int:
        shares = tree.class_counts[number] / max(tree.count[number], 1)
        count = int(tree.count[number])
        node = Node(
            len(nodes), depth, feature, reason, count, count / max(int(tree.count[0]), 1), tuple(shares.tolist()),
            remaining,
        )  # fmt: skip
        nodes.append(node)
        return node.id

    def link(arrival: tuple[int, str] | None, target: int, number: int) -> None:
        if arrival is not None:
            edges.append(Edge(arrival[0], target, arrival[1], int(tree.count[number])))

    def visit(number: int, depth: int, arrival: tuple[int, str] | None, fresh: bool = True) -> None:
        if depth >= max_depth:
            cut.append(f"Only the first {max_depth} measurements are shown.")
            return
        f = int(tree.feature[number])
        if f < 0:
            plan_of(number, depth, arrival)
            return
        known = arrival is not None and not fresh
        words = "its answer decides what comes next" if not known else "the same value is looked at again"
        at = add(number, depth, names[int(tree.ask[number])], words, float(tree.left_over[number]))
        link(arrival, at, number)
        for child, below in ((int(tree.left[number]), True), (int(tree.right[number]), False)):
            visit(child, depth + 1, (at, side_words(f, float(tree.threshold[number]), below)))

    def plan_of(number: int, depth: int, arrival: tuple[int, str] | None) -> None:
        remaining = float(tree.left_over[number])
        for i in range(int(tree.start[number]), int(tree.planned[number])):
            if depth >= max_depth:
                cut.append(f"Only the first {max_depth} measurements are shown.")
                return
            before = tree.loss_before[number] if i == tree.start[number] else tree.loss_after[i - 1]
            words = f"lowers the expected loss from {before:.2f} to {tree.loss_after[i]:.2f}"
            at = add(number, depth, names[int(tree.items[i])], words, remaining)
            link(arrival, at, number)
            arrival, depth = (at, f"any {names[int(tree.items[i])]}"), depth + 1
            remaining -= float(tree.price[i])
        sure = f"{np.max(tree.class_counts[number]) / max(tree.count[number], 1):.0%} are of one class"
        at = add(number, depth, None, f"the plan ends; {sure}", remaining)
        link(arrival, at, number)

    visit(0, 0, None)
    return DecisionGraph(tuple(nodes), tuple(edges), classes, names, tuple(dict.fromkeys(cut)))
