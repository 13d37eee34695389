"""Small tables: all rows grow the tree, and cross-validation says how strict its pruning has to be.

Keeping rows aside to confirm splits leaves too few of them where there are few hundred. Here trees are grown on all
folds but one, pruned at several strictnesses and judged on the fold they did not see; the strictness with the best
judgement prunes the tree of all rows. Without one that is clearly better than the fixed panel there is no tree.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from synafa.plan.grow import Grower, Node, worthy
from synafa.plan.search import Plan

FOLDS = 5
STRICTNESS = (1.5, 2.0, 2.5, 3.0, 3.5, 4.5)
"""Standard errors that every split has to leave behind on the rows that grew it."""
KEEP_ERRORS = {"bits": (1.5, 2.5), "money": (1.0, 1.5)}
"""Standard errors by which the trees of the folds have to beat the panel on the folds they did not see: trees that
grew from the panel, and trees from a plan that is too dear for everybody. In money a stop that saves its price for
sure is part of the gain."""


def grow_validated(grower: Grower, start: Node, plans: list[Plan], seed: int = 0) -> Node:
    """The tree of all rows of `start`, from whichever of the plans, as strict as cross-validation wants it."""
    rows = start.rows
    panel = grower.flat(start, rows)
    fold = np.random.default_rng([seed, 16]).permutation(np.arange(len(rows)) % FOLDS)
    grower = replace(grower, growth=replace(grower.growth, propose_errors=STRICTNESS[0]))
    best, error = 0.0, 0.0
    at: tuple[Plan, float] | None = None
    needed = KEEP_ERRORS[grower.task.judge.measure.unit]
    for plan in plans:
        net = np.empty((len(STRICTNESS), len(rows)))
        for f in range(FOLDS):
            inside, outside = rows[fold != f], rows[fold == f]
            tree = grower.grow(Node((), start.left, plan, inside, rows[:0]))
            for s, strictness in enumerate(STRICTNESS):
                kept, _ = worthy(grower, tree, "chosen", strictness)
                net[s, fold == f] = grower.net(moved(grower, kept, outside), "checked")
        gains = net - panel
        means = gains.mean(axis=1)
        s = int(np.flatnonzero(means >= means.max() - 1e-12)[-1])
        spread = float(gains[s].std() / np.sqrt(len(rows)))
        if means[s] > best and means[s] >= needed[plan != start.plan] * spread:
            best, at, error = float(means[s]), (plan, STRICTNESS[s]), spread
    if at is None:
        return start
    plan, strictness = at
    tree, _ = worthy(grower, grower.grow(Node((), start.left, plan, rows, rows[:0])), "chosen", strictness)
    return replace(tree, gain=best, error=error) if tree.split is not None else start


def moved(grower: Grower, node: Node, rows: np.ndarray) -> Node:
    """The same tree with other rows to confirm it."""
    if node.split is None:
        return Node(node.asked, node.left, node.plan, node.chosen, rows)
    left = node.split.goes_left(grower.values[rows, node.split.feature])
    sides = zip(node.children, (left, ~left))
    children = tuple(moved(grower, child, rows[side]) for child, side in sides)
    return replace(node, checked=rows, children=children)
