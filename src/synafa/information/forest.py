"""A fitted scikit-learn forest as plain arrays, asked by a kernel: the same floats as its own methods, in less time.

Inputs are float32, so a threshold can be rounded down to float32 and both compared as integers of the same order. The
trees' values are added in the trees' order and divided by their number, as scikit-learn does with one job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.information.kernels.forest import FEATURES, neighbours, sums

_SMALLEST = 4  # rows of the smallest boxes, at least
_MARKS = 1 << 16  # thresholds, of all trees and features, that tell how far apart two rows are


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees of a forest.

    nodes : int64 (nodes,), threshold, left child and feature of each node of all trees (see the kernel)
    values : float64 (nodes,), what a leaf says: the mean of a regressor, the share of the last class of a classifier
    roots : int64 (trees,)
    """

    nodes: np.ndarray
    values: np.ndarray
    roots: np.ndarray

    @classmethod
    def of(cls, fitted: Any) -> Forest:
        """The arrays of a fitted `RandomForestRegressor`, or `RandomForestClassifier` of two classes."""
        if fitted.n_features_in_ > FEATURES:
            raise SynafaError(f"A forest may have at most {FEATURES} features, got: {fitted.n_features_in_}.")
        trees = [one.tree_ for one in fitted.estimators_]
        ends = np.cumsum([tree.node_count for tree in trees])
        nodes, values = np.empty(ends[-1], np.int64), np.empty(ends[-1])
        roots = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        for root, end, tree in zip(roots, ends, trees):
            nodes[root:end], values[root:end] = _packed(tree, root)
        return cls(nodes, values, roots)

    @classmethod
    def constant(cls, value: float) -> Forest:
        """A forest that says the same of every row: one tree that is one leaf."""
        return cls(np.zeros(1, np.int64), np.array([value]), np.zeros(1, np.int64))

    def mean(self, features: np.ndarray) -> np.ndarray:
        """The mean over trees for each row of float32 features, float64 (n,)."""
        if not len(features):
            return np.empty(0)
        keys = _ordered(features)
        levels = max(len(keys) // _SMALLEST, 1).bit_length() - 1
        order = neighbours(self._places(keys), levels)
        found = np.empty(len(keys))
        found[order] = sums(self.nodes, self.roots, self.values, keys[order], levels) / len(self.roots)
        return found

    def _places(self, keys: np.ndarray) -> np.ndarray:
        """How many of some of the forest's thresholds lie below each key, int32 (features, n)."""
        left = (self.nodes & 0xFFFFFFFF) // FEATURES
        inner = self.nodes[left != np.arange(len(left))]
        some = inner[:: max(len(inner) // _MARKS, 1)]
        marks = [np.sort(some[some % FEATURES == f] >> 32) for f in range(keys.shape[1])]
        return np.stack([np.searchsorted(mark, keys[:, f]).astype(np.int32) for f, mark in enumerate(marks)])


def _packed(tree: Any, root: int) -> tuple[np.ndarray, np.ndarray]:
    """Words and values of one tree whose first node is node `root`, with the children of a node side by side."""
    inner = np.flatnonzero(tree.children_left >= 0)
    place = np.zeros(tree.node_count, np.int64)
    place[tree.children_left[inner]] = 1 + 2 * np.arange(len(inner))
    place[tree.children_right[inner]] = 2 + 2 * np.arange(len(inner))
    threshold = tree.threshold[inner]
    rounded = threshold.astype(np.float32)
    rounded = np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
    words = (np.int64(np.iinfo(np.int32).max) << 32) | ((root + np.arange(tree.node_count)) * FEATURES)
    left = (root + place[tree.children_left[inner]]) * FEATURES + tree.feature[inner]
    words[place[inner]] = (_ordered(rounded).astype(np.int64) << 32) | left
    values = np.empty(tree.node_count)
    values[place] = tree.value[:, 0, -1]
    return words, values


def _ordered(numbers: np.ndarray) -> np.ndarray:
    """int32 of the same shape and the same order as float32 numbers."""
    bits = np.ascontiguousarray(numbers + np.float32(0.0), np.float32).view(np.int32)  # the sum turns -0 into 0
    return np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
