"""Codes and classes to exact joint counts, which can be added to each other and to which rows can be added.

For every pair of features and every class the number of rows with each pair of codes is known. Counts of all rows
equal the sum of the counts of the parts, whatever the parts, which is what out-of-core and distributed use stand on.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.information.labels import check_labels, classes_of, rows_by_class
from synafa.memory import available_bytes, size_in_words
from synafa.wording import worded


class PairCounts:
    """Exact counts of every pair of codes within every class; counts of parts add up.

    Parameters
    ----------
    n_features : int
        Number of features D.
    n_bins : int
        Number of codes of a feature.
    classes : sequence of labels
        The class labels in any order, which is that of the first axis of the counts.
    missing : bool, default=False
        Whether the code `n_bins` is counted too: it stands for a missing cell.

    Attributes
    ----------
    n_codes : int
        Codes that are counted: `n_bins`, and one more where cells may be missing.
    class_counts : int64 (K,)
        Rows of each class.
    plane_counts : int64 (K, P)
        P = D * (n_codes - 1): rows with code b + 1 of feature j at plane j * (n_codes - 1) + b.
    joint : int64 (K, P, P)
        Rows in both planes; only the upper triangle is filled.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    >>> whole = PairCounts.from_codes(codes, [0, 1, 1, 0])
    >>> parts = PairCounts(2, 2, [0, 1]).update(codes[:3], [0, 1, 1]) + PairCounts(2, 2, [0, 1]).update(codes[3:], [0])
    >>> whole == parts
    True
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, n_features: int, n_bins: int, classes: Sequence[Any] | np.ndarray, missing: bool = False
    ) -> None:
        self.n_features, self.n_bins, self.missing = int(n_features), int(n_bins), bool(missing)
        self.n_codes = self.n_bins + self.missing
        self.classes = np.asarray(classes)
        distinct, first = np.unique(check_labels(self.classes, len(self.classes)), return_index=True)
        if len(distinct) < len(self.classes):
            twice = next(label for i, label in enumerate(self.classes.tolist()) if i not in first)
            raise SynafaError(f"classes names {twice!r} twice; name every class once.")
        check_memory(self.n_features, self.n_bins, len(self.classes), self.missing)
        planes = self.n_features * (self.n_codes - 1)
        self.class_counts = np.zeros(len(self.classes), np.int64)
        self.plane_counts = np.zeros((len(self.classes), planes), np.int64)
        self.joint = np.zeros((len(self.classes), planes, planes), np.int64)

    @classmethod
    @worded
    def from_codes(cls, codes: Any, y: Any, n_bins: int | None = None, missing: bool = False) -> PairCounts:
        """Count one table.

        {codes}

        {counted}
        """
        codes = check_codes(codes)
        labels = check_labels(y, len(codes))
        if missing and n_bins is None:
            raise SynafaError("Give n_bins: where cells may be missing, the code n_bins stands for such a cell.")
        n_bins = max(2, int(codes.max()) + 1) if n_bins is None else n_bins
        return cls(codes.shape[1], n_bins, np.unique(labels), missing).update(codes, labels)

    @classmethod
    @worded
    def from_values(cls, X: Any, y: Any) -> PairCounts:
        """Count values cut into two bins by the study's rule, without codes in between.

        Equal to `from_codes(Discretizer(2).fit_transform(X), y, 2)`; with missing cells, which have a code of their
        own, to `from_codes(Discretizer(2).fit(X).transform(X, missing="own"), y, 2, missing=True)`.

        Parameters
        ----------
        X : array (n, D)
            Numbers; float32 and float64 are read as they are; NaN is a missing cell.
        y : array (n,)
            Class labels.

        {counted}
        """
        from synafa.information.codes import Discretizer, as_matrix
        from synafa.information.kernels.planes import pack_values

        values = as_matrix(X)
        labels = check_labels(y, len(values))
        if not values.size:
            raise SynafaError(f"X must be a table with at least one row and one column, got shape {values.shape}.")
        classes, indices = classes_of(labels)
        check_memory(values.shape[1], 2, len(classes))
        order, starts = rows_by_class(indices, len(classes))
        planes = pack_values(values, order)
        if planes is None:
            return cls.from_codes(Discretizer(2).fit(values).transform(values, missing="own"), labels, 2, missing=True)
        return cls(values.shape[1], 2, classes).add_planes(planes, starts, np.bincount(indices))

    @staticmethod
    def from_dask(frame: Any, target: str, client: Any, **settings: Any) -> PairCounts:
        """Count a Dask DataFrame, or files that all workers can read, on a cluster.

        Parameters
        ----------
        frame : Dask DataFrame, or paths, a folder, a pattern
            Labelled rows.
        target : str
            The column that holds the class.
        client : distributed.Client or str
            A connected client, or the address of a scheduler.
        **settings
            As for `synafa.stream.cluster.cluster_counts`.

        Returns
        -------
        PairCounts
            The counts of the whole table, to the last bit.
        """
        cluster = import_module("synafa.stream.cluster")  # lies above; only this convenience looks up to it
        counts: PairCounts = cluster.from_dask(frame, target, client, **settings)
        return counts

    @property
    def n_rows(self) -> int:
        """Rows counted so far."""
        return int(self.class_counts.sum())

    def update(self, codes: Any, y: Any) -> PairCounts:
        """Add rows.

        Parameters
        ----------
        codes : uint8 (n, D)
            Codes below `n_codes`.
        y : array (n,)
            Class labels among `classes`.

        Returns
        -------
        PairCounts
            The object itself.

        Raises
        ------
        SynafaError
            When a code or a label does not belong to these counts.
        """
        from synafa.information.kernels.counts import pack_planes

        codes = check_codes(codes)
        if codes.shape[1] != self.n_features:
            raise SynafaError(f"codes has {codes.shape[1]} features, but these counts have {self.n_features}.")
        if codes.max() >= self.n_codes:
            raise SynafaError(f"codes holds the code {codes.max()}, but these counts have {self._bins}.")
        indices = self._class_indices(check_labels(y, len(codes)))
        order, starts = rows_by_class(indices, len(self.classes))
        planes = pack_planes(codes, order, self.n_codes - 1)
        return self.add_planes(planes, starts, np.bincount(indices, minlength=len(self.classes)))

    def add_planes(self, planes: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> PairCounts:
        """Add rows that are packed into bit planes.

        Parameters
        ----------
        planes : uint64 (P, words)
            One bit a row, rows grouped by class.
        starts : int64 (K + 1,)
            The first word of each class.
        sizes : int64 (K,)
            Rows of each class.

        Returns
        -------
        PairCounts
            The object itself.
        """
        from synafa.information.kernels.counts import add_pair_counts, single_counts

        self.class_counts += sizes
        self.plane_counts += single_counts(planes, starts)
        add_pair_counts(planes, starts, self.joint)
        return self

    def merge(self, other: PairCounts) -> PairCounts:
        """Add the counts of other rows; what only one side has seen, a class or missing cells, is kept.

        Parameters
        ----------
        other : PairCounts
            Counts of the same features and bins.

        Returns
        -------
        PairCounts
            This object, grown.

        Raises
        ------
        SynafaError
            When features or bins differ.

        Examples
        --------
        >>> codes = np.array([[0, 1], [1, 0], [1, 1]], dtype=np.uint8)
        >>> parts = PairCounts.from_codes(codes[:2], ["a", "a"]).merge(PairCounts.from_codes(codes[2:], ["b"]))
        >>> parts == PairCounts.from_codes(codes, ["a", "a", "b"])
        True
        """
        if (self.n_features, self.n_bins) != (other.n_features, other.n_bins):
            raise SynafaError(
                f"Counts of {other.n_features} features and {other.n_bins} bins cannot be merged into counts of "
                f"{self.n_features} features and {self.n_bins} bins."
            )
        self._widen(np.unique(np.concatenate([self.classes, other.classes])), self.missing or other.missing)
        other = other if other.missing == self.missing else other._copy()._widen(other.classes, self.missing)
        at = np.searchsorted(self.classes, other.classes)
        self.class_counts[at] += other.class_counts
        self.plane_counts[at] += other.plane_counts
        for here, there in enumerate(at):
            self.joint[there] += other.joint[here]
        return self

    @property
    def _bins(self) -> str:
        return f"{self.n_bins} bins{' and one code for missing cells' if self.missing else ''}"

    def _copy(self) -> PairCounts:
        """These counts again, to be changed; arrays are replaced when they are widened, never changed in place."""
        other = PairCounts.__new__(PairCounts)
        other.__dict__.update(self.__dict__)
        return other

    def _widen(self, classes: np.ndarray, missing: bool) -> PairCounts:
        """Make room for more classes and for missing cells; `classes` holds the present ones, all in order."""
        if not np.array_equal(classes, self.classes) or missing != self.missing:
            old, at = self._copy(), np.searchsorted(classes, self.classes)
            self.__init__(self.n_features, self.n_bins, classes, missing)  # type: ignore[misc]
            places = np.arange(self.plane_counts.shape[1]).reshape(self.n_features, -1)[:, : old.n_codes - 1].ravel()
            self.class_counts[at] = old.class_counts
            self.plane_counts[at[:, None], places] = old.plane_counts
            self.joint[at[:, None, None], places[:, None], places] = old.joint
        return self

    def to_bytes(self) -> bytes:
        """Counts as bytes, the same for the same counts; `from_bytes` reads them back.

        Returns
        -------
        bytes
            What `from_bytes` takes.
        """
        from synafa.information.exchange import counts_to_bytes

        return counts_to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> PairCounts:
        """Restore the counts that `to_bytes` wrote.

        Parameters
        ----------
        data : bytes
            What `to_bytes` returned.

        Returns
        -------
        PairCounts
            The same counts.

        Raises
        ------
        SynafaError
            When the bytes are damaged.

        Examples
        --------
        >>> counts = PairCounts.from_codes([[0, 1], [1, 1]], [0, 1])
        >>> PairCounts.from_bytes(counts.to_bytes()) == counts
        True
        """
        from synafa.information.exchange import counts_from_bytes

        return counts_from_bytes(cls, data)

    def __add__(self, other: PairCounts) -> PairCounts:
        if not isinstance(other, PairCounts):
            return NotImplemented
        if self._shape != other._shape or not np.array_equal(self.classes, other.classes):
            raise SynafaError(
                "Counts can only be added when they have the same features, bins and classes, and both or neither have "
                "missing cells."
            )
        total = PairCounts(*self._shape[:2], self.classes, self.missing)
        total.class_counts = self.class_counts + other.class_counts
        total.plane_counts = self.plane_counts + other.plane_counts
        total.joint = self.joint + other.joint
        return total

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PairCounts)
            and self._shape == other._shape
            and np.array_equal(self.classes, other.classes)
            and np.array_equal(self.class_counts, other.class_counts)
            and np.array_equal(self.plane_counts, other.plane_counts)
            and np.array_equal(self.joint, other.joint)
        )

    @property
    def _shape(self) -> tuple[int, int, bool]:
        return self.n_features, self.n_bins, self.missing

    def cells(self, j: int, k: int) -> np.ndarray:
        """Joint counts of two features.

        Parameters
        ----------
        j, k : int
            Positions of the features; `j == k` gives a diagonal table.

        Returns
        -------
        int64 (K, n_codes, n_codes)
            Rows of each class with code u of feature j and code v of feature k at `[class, u, v]`; where cells may be
            missing, the complete cases are `[:, :n_bins, :n_bins]`.
        """
        width = self.n_codes - 1
        rows, columns = slice(j * width, (j + 1) * width), slice(k * width, (k + 1) * width)
        if j == k:
            inner = np.stack([np.diag(counts) for counts in self.plane_counts[:, rows]])
        elif j < k:
            inner = self.joint[:, rows, columns]
        else:
            inner = self.joint[:, columns, rows].transpose(0, 2, 1)
        cells = np.zeros((len(self.classes), self.n_codes, self.n_codes), np.int64)
        cells[:, 1:, 1:] = inner
        cells[:, 1:, 0] = self.plane_counts[:, rows] - inner.sum(axis=2)
        cells[:, 0, 1:] = self.plane_counts[:, columns] - inner.sum(axis=1)
        cells[:, 0, 0] = self.class_counts - cells.sum(axis=(1, 2))
        return cells

    def code_counts(self) -> np.ndarray:
        """Count the codes of every feature by itself.

        Returns
        -------
        int64 (K, D, n_codes)
            Rows of each class with each code of each feature; where cells may be missing, the last code counts them.
        """
        upper = self.plane_counts.reshape(len(self.classes), self.n_features, self.n_codes - 1)
        return np.concatenate([(self.class_counts[:, None] - upper.sum(axis=2))[:, :, None], upper], axis=2)

    def _class_indices(self, labels: np.ndarray) -> np.ndarray:
        order = np.argsort(self.classes, kind="stable")
        positions = np.searchsorted(self.classes, labels, sorter=order)
        positions = order[np.minimum(positions, len(self.classes) - 1)]
        unknown = self.classes[positions] != labels
        if unknown.any():
            label = labels[int(np.argmax(unknown))]
            label = label.item() if isinstance(label, np.generic) else label
            raise SynafaError(f"y holds the class {label!r}, which is not one of {self.classes.tolist()}.")
        return positions


def check_memory(n_features: int, n_bins: int, n_classes: int, missing: bool = False) -> None:
    """Refuse counts and tables that would not fit into the memory that is free, before anything is counted.

    Counts are int64 for every pair of planes and class; the tables made of them hold `1 + n_bins` float64 a pair.
    """
    planes = n_features * (n_bins - 1 + missing)
    needed = 8 * (n_classes * planes * planes + (1 + n_bins) * n_features * n_features)
    if needed < 2**28:
        return
    free = available_bytes()
    if free is not None and needed > free:
        raise SynafaError(
            f"Counting the pairs of {n_features:,} features in {n_bins} bins and {n_classes} classes takes "
            f"{needed:,} bytes ({size_in_words(needed)}), and {size_in_words(free)} are free; use fewer features, bins "
            "or classes."
        )


def check_codes(codes: Any) -> np.ndarray:
    """A non-empty C-ordered uint8 matrix."""
    codes = np.asarray(codes)
    if codes.ndim != 2 or codes.shape[0] == 0 or codes.shape[1] == 0:
        raise SynafaError(f"codes must be a table with at least one row and one column, got shape {codes.shape}.")
    if codes.dtype != np.uint8:
        if codes.dtype.kind not in "iub" or codes.min() < 0 or codes.max() > 255:
            raise SynafaError("codes must be small whole numbers (uint8); use a Discretizer to make them.")
        codes = codes.astype(np.uint8)
    return np.ascontiguousarray(codes)
