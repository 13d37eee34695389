"""The finished tree as plain arrays: all that a decision depends on, and the numbers its reasons are made of.

A node either looks at `feature` (asking `ask` when it is not known) and sends values up to `threshold` left, or is a
leaf. Every node, leaf or not, also has a list of items: its plan in order, then spare features that come next when
the plan cannot be followed or when there is more money than was planned with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from synafa.errors import SynafaError

RUNNERS = 3


@dataclass(frozen=True, eq=False)
class Tree:
    """N nodes, the root first, and L items.

    Attributes
    ----------
    feature, ask, left, right : int32 (N,), -1 in a leaf; `ask` is the feature itself unless a panel reveals it
    threshold : float64 (N,); missing_left : bool (N,), where empty cells go
    start, planned, stop : int32 (N,), items start..planned are the plan, planned..stop the spare features
    items : int32 (L,); price : float64 (L,), what each cost when planned
    count : int64 (N,), rows judged here; class_counts : int64 (N, K)
    loss_before : float64 (N,), mean loss of those rows with what is known on arrival
    loss_after : float64 (L,), mean loss after the item and all before it in its list
    gain, error : float64 (N,), of the subtree over the node's own plan, on the rows that confirmed it
    changes : float64 (N,), share of rows whose decision more measurements after the plan would change
    sure : float64 (N,), mean probability of the most probable class after the plan
    runner : int32 (L, 3), other features that could come at this place, best first, -1 for none
    runner_loss : float64 (L, 3), mean loss if they did
    left_over : float64 (N,), money on arrival
    rest : int32 (N, 3), features that are in no list of the node: first those that would save more than their price,
        by what they save beyond it, then the others by what they save
    rest_saving : float64 (N, 3), mean loss that each would take off after all of the list, errors at what they cost
    """

    feature: np.ndarray
    ask: np.ndarray
    left: np.ndarray
    right: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    start: np.ndarray
    planned: np.ndarray
    stop: np.ndarray
    items: np.ndarray
    price: np.ndarray
    count: np.ndarray
    class_counts: np.ndarray
    loss_before: np.ndarray
    loss_after: np.ndarray
    gain: np.ndarray
    error: np.ndarray
    changes: np.ndarray
    sure: np.ndarray
    runner: np.ndarray
    runner_loss: np.ndarray
    left_over: np.ndarray
    rest: np.ndarray
    rest_saving: np.ndarray

    @property
    def n_nodes(self) -> int:
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        return int((self.feature < 0).sum())

    @property
    def is_panel(self) -> bool:
        """Whether everybody follows one plan: a fixed panel."""
        return self.n_nodes == 1

    def plan(self, node: int = 0) -> tuple[int, ...]:
        """The plan of a node, in order."""
        return tuple(self.items[self.start[node] : self.planned[node]].tolist())

    def spare(self, node: int = 0) -> tuple[int, ...]:
        """What follows the plan of a node when it cannot be followed or when there is more money."""
        return tuple(self.items[self.planned[node] : self.stop[node]].tolist())

    def leaf_of(self, values: np.ndarray) -> np.ndarray:
        """The leaf of complete rows, int64 (n,)."""
        at = np.zeros(len(values), dtype=np.int64)
        while True:
            inner = np.flatnonzero(self.feature[at] >= 0)
            if not len(inner):
                return at
            node = at[inner]
            column = values[inner, self.feature[node]]
            goes_left = np.where(np.isnan(column), self.missing_left[node], column <= self.threshold[node])
            at[inner] = np.where(goes_left, self.left[node], self.right[node])

    def path_to(self, node: int) -> tuple[int, ...]:
        """The nodes from the root to a node, itself last."""
        parent = {int(c): i for i in range(self.n_nodes) for c in (self.left[i], self.right[i]) if c >= 0}
        path = [node]
        while path[-1] != 0:
            path.append(parent[path[-1]])
        return tuple(reversed(path))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name; what no decision looks at (the threshold of a leaf) is 0, not NaN."""
        found = {f"tree_{f.name}": getattr(self, f.name) for f in fields(self)}
        return {name: np.where(np.isnan(a), 0.0, a) if a.dtype.kind == "f" else a for name, a in found.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_features: int) -> Tree:
        """The tree that `to_arrays` described; one that decisions could not follow is refused."""
        try:
            tree = cls(**{f.name: arrays[f"tree_{f.name}"] for f in fields(cls)})
            sound = _is_sound(tree, n_features)
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise SynafaError("The model's tree is damaged; fit and save the model again.") from error
        if not sound:
            raise SynafaError("The model's tree is damaged; fit and save the model again.")
        return tree


def _is_sound(tree: Tree, n_features: int) -> bool:
    n, length = tree.n_nodes, len(tree.items)
    by_node: list[Any] = [getattr(tree, f.name) for f in fields(tree)]
    sizes = {len(array) for array in by_node} <= {n, length}
    inner = tree.feature >= 0
    below = np.arange(n)[inner]  # children come after their parent, so that every walk ends
    children = all(
        ((c[inner] > below) & (c[inner] < n)).all() and (c[~inner] == -1).all() for c in (tree.left, tree.right)
    )
    named = all(((a >= -1) & (a < n_features)).all() for a in (tree.feature, tree.ask, tree.runner, tree.rest))
    lists = (tree.start >= 0) & (tree.start <= tree.planned) & (tree.planned <= tree.stop) & (tree.stop <= length)
    items = ((tree.items >= 0) & (tree.items < n_features)).all()
    return bool(n and sizes and children and named and lists.all() and items and (tree.ask[inner] >= 0).all())
