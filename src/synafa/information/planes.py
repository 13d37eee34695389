"""A matrix of finite values to bit planes, two bins a feature, and all that a fit needs to know about them.

The planes hold the rows class by class; codes are only unpacked when somebody asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from synafa.information.codes import as_matrix
from synafa.information.counts import PairCounts
from synafa.information.labels import check_labels, classes_of, rows_by_class


@dataclass(frozen=True, eq=False)
class BinaryPlanes:
    """Rows of D features as bits.

    Attributes
    ----------
    planes : uint64 (D, words), bit i of a row's place is whether the value exceeds the feature's edge
    order : int64 (64 * words,), the row of each bit, -1 for padding
    starts : int64 (K + 1,), the first word of each class
    classes : the class labels in order
    edges : float64 (D, 1), the study's thresholds, as `Discretizer(2).edges_`
    means : float64 (D,), the exact means, rounded once
    """

    planes: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    classes: np.ndarray
    edges: np.ndarray
    means: np.ndarray

    @classmethod
    def from_values(cls, X: Any, y: Any) -> BinaryPlanes | None:
        """The planes of a matrix; None when it holds NaN or infinity.

        >>> found = BinaryPlanes.from_values(np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 1, 0, 1])
        >>> found.edges.tolist(), found.codes().ravel().tolist()
        ([[2.5]], [0, 0, 1, 1])
        """
        from synafa.information.kernels.edges import edges_of_planes
        from synafa.information.kernels.planes import pack_values
        from synafa.table.sums import exact_mean

        values = as_matrix(X)
        classes, indices = classes_of(check_labels(y, len(values)))
        order, starts = rows_by_class(indices, len(classes))
        planes = pack_values(values, order)
        if planes is None:
            return None
        sums, thresholds = edges_of_planes(values, order, planes)
        means = np.array([exact_mean(chunks, len(values)) for chunks in sums])
        return cls(planes, order, starts, classes, thresholds[:, None], means)

    @property
    def n_rows(self) -> int:
        return int(self.class_counts.sum())

    @property
    def class_counts(self) -> np.ndarray:
        """Rows of each class, int64 (K,)."""
        there = np.concatenate([[0], np.cumsum(self.order >= 0)])
        return np.diff(there[64 * self.starts])

    def counts(self) -> PairCounts:
        """The exact counts of all pairs."""
        return PairCounts(len(self.planes), 2, self.classes).add_planes(self.planes, self.starts, self.class_counts)

    def codes(self) -> np.ndarray:
        """uint8 (n, D) in the order of the rows."""
        from synafa.information.kernels.planes import unpack_planes

        return unpack_planes(self.planes, self.order, self.n_rows)
