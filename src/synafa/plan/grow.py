"""Grows the tree: a node asks one feature and lets the two sides follow different plans, where that pays.

A split is proposed on some rows and accepted only when other rows confirm it; the best few first questions are grown
to the end and compared on the confirming rows; afterwards every subtree has to keep its gain there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush

import numpy as np

from synafa.money.prices import TOLERANCE
from synafa.plan.root import WIDE, Hints, swap_partners
from synafa.plan.search import Plan, Task, best_prefix, fill, improve
from synafa.plan.splits import LEAST_ROWS, Split, plain_between, propose

SIDE_SCREEN_ROWS = 250
NEAR = 30  # of more than 64 candidates, those that a node looks at by each of two measures


@dataclass(frozen=True)
class Growth:
    """How the tree is grown.

    Attributes
    ----------
    depth, leaves : the largest tree
    proposals : splits whose plans are judged exactly; `refined` of them get plans of their own for each side
    propose_errors : standard errors by which a split has to gain on the rows that propose it
    verify_errors : ... on the rows that confirm it
    luck : standard errors that every split has to leave behind on those rows, itself or by what grows below it; to
        be let in it had to gain there, which alone makes about 0.8 of a split that is worth nothing
    keep_errors : standard errors by which the whole tree has to beat the fixed panel there
    eager_errors : the same for a tree that starts from a plan which is too dear for everybody
    first : how many first questions are grown to the end
    fill_rows, swap_rows : rows on which a side's plan is filled anew, and its exchanges compared
    """

    depth: int = 8
    leaves: int = 32
    proposals: int = 12
    refined: int = 3
    propose_errors: float = 1.5
    verify_errors: float = 0.0
    luck: float = 1.0
    keep_errors: float = 1.5
    eager_errors: float = 2.0
    first: int = 2
    fill_rows: int = 800
    swap_rows: int = 3000


@dataclass(eq=False)
class Node:
    """A state in the tree: what was asked on the way, what is left, the plan from here, and its rows.

    `chosen` are rows that propose, `checked` rows that confirm.
    """

    asked: Plan
    left: float
    plan: Plan
    chosen: np.ndarray
    checked: np.ndarray
    split: Split | None = None
    children: tuple[Node, ...] = field(default=())
    gain: float = 0.0  # of the subtree over its own plan on the confirming rows, a row
    error: float = 0.0

    @property
    def rows(self) -> np.ndarray:
        return np.sort(np.concatenate([self.chosen, self.checked]))


@dataclass(frozen=True, eq=False)
class Grower:
    """Everything that growing needs besides the node."""

    task: Task
    hints: Hints
    values: np.ndarray
    candidates: np.ndarray
    growth: Growth

    def grow(self, root: Node) -> Node:
        """The root with its tree: the best first questions are grown to the end, the best tree is kept."""
        trees = [self._grown(replace(root), *passed) for passed in self._accepted(root, self.growth.first)]
        judges = "checked" if len(root.checked) else "chosen"
        return max(trees, key=lambda tree: float(self.net(tree, judges).sum()), default=root)

    def _grown(self, root: Node, split: Split, children: tuple[Node, Node]) -> Node:
        """The tree that begins with a split; of its leaves the one with most rows is always looked at next."""
        root.split, root.children = split, children
        n_leaves, order = 2, 0
        waiting = [(-len(child.chosen), order := order + 1, 1, child) for child in children]
        heapify(waiting)
        while waiting and n_leaves < self.growth.leaves:
            _, _, depth, node = heappop(waiting)
            for found, sides in self._accepted(node, 1):
                node.split, node.children = found, sides
                n_leaves += 1
                if depth + 1 < self.growth.depth:
                    for child in sides:
                        heappush(waiting, (-len(child.chosen), order := order + 1, depth + 1, child))
        return root

    def _accepted(self, node: Node, most: int) -> list[tuple[Split, tuple[Node, Node]]]:
        """Up to `most` splits with different first questions that gain where they were proposed and elsewhere."""
        growth, task = self.growth, self.task
        if len(node.chosen) < 3 * LEAST_ROWS or node.left < 0:
            return []
        near = self._near(node)
        splits = propose(task, self.values, node.asked, node.plan, node.left, near, node.chosen, growth.proposals)
        tried = sorted(splits, key=lambda split: -float(self._difference(node, split, "chosen").sum()))
        found: list[tuple[Split, tuple[Node, Node]]] = []
        seen: set[int] = set()
        for split in tried:
            if split.feature in seen or len(seen) >= growth.refined or len(found) == most:
                continue
            if _z(self._difference(node, split, "chosen")) < 0.5 * growth.propose_errors:
                continue
            if _z(self._difference(node, split, "checked")) < -0.5:
                continue
            seen.add(split.feature)
            refined = self._sharpen(node, self._refine(node, split, near))
            if _z(self._difference(node, refined, "chosen")) < growth.propose_errors:
                continue
            gain = self._difference(node, refined, "checked")
            if not len(gain) or (gain.sum() > 0 and _z(gain) >= growth.verify_errors):
                found.append((refined, self.children(node, refined)))
        return found

    def children(self, node: Node, split: Split) -> tuple[Node, Node]:
        """The two sides of a split as nodes."""
        asked = node.asked if split.ask < 0 else (*node.asked, split.ask)
        left = node.left if split.ask < 0 else node.left - self.task.prices.now(split.ask, node.asked)
        chosen = split.goes_left(self.values[node.chosen, split.feature])
        checked = split.goes_left(self.values[node.checked, split.feature])
        return (
            Node(asked, left, split.left_plan, node.chosen[chosen], node.checked[checked]),
            Node(asked, left, split.right_plan, node.chosen[~chosen], node.checked[~checked]),
        )

    def net(self, node: Node, which: str) -> np.ndarray:
        """Utility minus margin times price of every row of the node under its subtree."""
        if node.split is None:
            return self.flat(node, getattr(node, which))
        rows = getattr(node, which)
        out = np.empty(len(rows))
        goes_left = node.split.goes_left(self.values[rows, node.split.feature])
        for child, side in zip(node.children, (goes_left, ~goes_left)):
            out[side] = self.net(child, which)
        return out

    def flat(self, node: Node, rows: np.ndarray) -> np.ndarray:
        """The same when all rows follow the node's own plan."""
        price = self.task.prices.cost((*node.asked, *node.plan))
        return self.task.judge.utility((*node.asked, *node.plan), rows).astype(np.float64) - self.task.margin * price

    def split_gain(self, node: Node, which: str = "checked") -> np.ndarray:
        """What each confirming row gains by the node's split alone, its children keeping to their plans."""
        assert node.split is not None
        return self._difference(node, node.split, which)

    def _difference(self, node: Node, split: Split, which: str) -> np.ndarray:
        """What each row gains by the split with its two plans over the node's plan."""
        children = self.children(node, split)
        rows = getattr(node, which)
        out = np.empty(len(rows))
        goes_left = split.goes_left(self.values[rows, split.feature])
        for child, side in zip(children, (goes_left, ~goes_left)):
            out[side] = self.flat(child, getattr(child, which))
        return out - self.flat(node, rows)

    def _near(self, node: Node) -> np.ndarray:
        """The candidates that are looked at in a node; of many, those with the largest gain or the largest effect."""
        options = self.task.options((*node.asked, *node.plan), np.inf, self.candidates)
        if len(options) <= WIDE:
            return self.candidates
        rows = node.chosen[: self.growth.fill_rows]
        state = (*node.asked, *node.plan)
        effects = self.task.judge.sweep(state, [(int(j),) for j in options], rows)
        effects -= self.task.judge.utility(state, rows)[:, None]
        gain, strength = effects.mean(axis=0), np.abs(effects).mean(axis=0)
        best = [np.argsort(-score, kind="stable")[:NEAR] for score in (gain, strength)]
        kept = options[np.unique(np.concatenate(best))]
        return np.union1d(kept, np.array(node.plan, dtype=np.int64))

    def _refine(self, node: Node, split: Split, near: np.ndarray) -> Split:
        """The split with each side's plan improved by swaps, or replaced by one filled for that side."""
        plans = []
        for child in self.children(node, split):
            plans.append(self._side_plan(child, near))
        return replace(split, left_plan=plans[0], right_plan=plans[1])

    def _sharpen(self, node: Node, split: Split) -> Split:
        """The split with its threshold moved, by at most a tenth of the rows, to where the two plans part best."""
        column = self.values[node.chosen, split.feature]
        order = np.flatnonzero(~np.isnan(column))
        order = order[np.argsort(column[order], kind="stable")]
        column, rows = column[order], node.chosen[order]
        left, right = self.children(node, split)
        better_left = np.cumsum(self.flat(left, rows) - self.flat(right, rows))
        here = int(np.searchsorted(column, split.threshold, side="right")) - 1
        reach = max(len(rows) // 10, 1)
        ends = np.flatnonzero(np.diff(column) > 0)
        ends = ends[(np.abs(ends - here) <= reach) & (ends + 1 >= LEAST_ROWS) & (len(rows) - ends - 1 >= LEAST_ROWS)]
        if not len(ends):
            return split
        best = int(ends[np.argmax(better_left[ends])])
        if better_left[best] <= better_left[here] + 1e-9:
            return split
        return replace(split, threshold=plain_between(float(column[best]), float(column[best + 1])))

    def _side_plan(self, child: Node, near: np.ndarray) -> Plan:
        task, rows = self.task, child.chosen
        few = rows[: self.growth.fill_rows]
        partners = swap_partners(task, child.asked, child.plan, near, few)
        some = rows[: self.growth.swap_rows]
        plan = improve(task, child.asked, child.plan, child.left, some, partners, errors=1.0, rounds=2)
        among = np.union1d(partners, np.array(plan, dtype=np.int64)).astype(np.int64)
        filled = fill(replace(task, screen_rows=SIDE_SCREEN_ROWS), child.asked, (), child.left, few, among)
        other, _ = best_prefix(task, child.asked, filled)
        if set(other) == set(plan) or task.prices.cost(other, child.asked) > child.left + TOLERANCE:
            return plan
        gain = self.flat(replace_plan(child, other), rows) - self.flat(replace_plan(child, plan), rows)
        return other if _z(gain) > 1.0 else plan


def grow_tree(grower: Grower, start: Node, eager: Plan) -> Node:
    """The tree grown from the panel, or from a plan that only some should pay for when that is clearly better."""
    best = prune(grower, grower.grow(start)) if start.plan else start
    if not _much_dearer(grower, start, eager):
        return best
    other = prune(grower, grower.grow(replace_plan(start, eager)))
    if other.split is None:
        return best
    gain = grower.net(other, "checked") - grower.flat(start, start.checked)
    better = gain.sum() > (grower.net(best, "checked") - grower.flat(start, start.checked)).sum()
    return other if better and _z(gain) >= grower.growth.eager_errors else best


def _much_dearer(grower: Grower, start: Node, eager: Plan) -> bool:
    """Whether a plan's price beyond the panel's is at least a fiftieth of the loss without any measurement."""
    task = grower.task
    more = task.margin * (task.prices.cost(eager) - task.prices.cost(start.plan))
    return more > 0.02 * abs(float(task.judge.utility((), start.checked).mean(dtype=np.float64)))


def replace_plan(node: Node, plan: Plan) -> Node:
    return Node(node.asked, node.left, plan, node.chosen, node.checked)


def prune(grower: Grower, root: Node) -> Node:
    """The tree without splits that are not worth their luck; no tree when all of it is within its error."""
    kept, _ = worthy(grower, root, "checked", grower.growth.luck)
    if kept.split is None:
        return kept
    return kept if kept.gain >= grower.growth.keep_errors * kept.error else replace(kept, split=None, children=())


def worthy(grower: Grower, node: Node, which: str, luck: float) -> tuple[Node, float]:
    """The best pruning of a subtree, and what it gains on its rows (`which`) after luck is taken off every split."""
    if node.split is None:
        return node, 0.0
    below = [worthy(grower, child, which, luck) for child in node.children]
    kept = replace(node, children=tuple(child for child, _ in below))
    own = grower.split_gain(kept, which)
    value = float(own.sum()) - luck * float(np.sqrt((own**2).sum())) + sum(worth for _, worth in below)
    if value <= 0:
        return replace(node, split=None, children=()), 0.0
    gain = grower.net(kept, which) - grower.flat(kept, getattr(kept, which))
    n = max(len(gain), 1)
    return replace(kept, gain=float(gain.sum()) / n, error=float(np.sqrt((gain**2).sum())) / n), value


def leaves(node: Node) -> list[Node]:
    """The leaves from left to right."""
    if node.split is None:
        return [node]
    return [leaf for child in node.children for leaf in leaves(child)]


def _z(gain: np.ndarray) -> float:
    size = float(np.sqrt((gain**2).sum()))
    return float(gain.sum()) / size if size > 0 else 0.0
