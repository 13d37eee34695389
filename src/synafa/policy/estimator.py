"""What all policies of this package share as scikit-learn estimators: encoding rows, proposing, saving."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from synafa.arrays import write_file
from synafa.errors import SynafaError
from synafa.information.labels import check_labels, classes_of
from synafa.policy.rule import name_mask
from synafa.table.encoder import TableEncoder, collected
from synafa.wording import worded

Names = str | Iterable[str]
Cells = Names | np.ndarray
Case = Mapping[str, Any] | None


class UnfittedError(SynafaError, NotFittedError):
    """An estimator was asked before it was fitted."""


class StoredEstimator(BaseEstimator):
    """An estimator that one file holds; `_to_arrays` is its own.

    Attributes
    ----------
    kind : str
        What its file is called inside.
    """

    kind = ""
    _fitted = "rule_"  # what `fit` sets

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that was learnt, without training rows, to one file; `synafa.load_model` reads it back.

        Parameters
        ----------
        path : str or path
            The file to write; it is replaced whole or not at all.

        Raises
        ------
        SynafaError
            When it is not fitted, cannot be stored (a predictor that is not the package's own) or not be written.
        """
        write_file(path, self.kind, *self.to_arrays())

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Take apart what was learnt; no training rows are among the parts.

        Returns
        -------
        arrays : dict of arrays
            The arrays by name.
        meta : dict
            The JSON values.

        Raises
        ------
        SynafaError
            When it is not fitted or cannot be stored.
        """
        check_fitted(self, self._fitted)
        return self._to_arrays()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    def _to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        raise NotImplementedError


class PolicyEstimator(StoredEstimator):
    """A policy that is fitted on a table; `_propose`, `_to_arrays` and `_from_arrays` are its own.

    Attributes
    ----------
    number_types : list of types
        The types of number arrays that are taken as they are.
    """

    kind = "policy"
    number_types: tuple[Any, ...] = (np.float64, np.float32)
    classes_: np.ndarray
    encoder_: TableEncoder

    @worded
    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        """Propose the next feature of every row in its own state: the policy's side of the evaluation harness.

        Parameters
        ----------
        {known_cells}
        remaining : float (n,)
            Budget that is left.

        Returns
        -------
        int64 (n,)
            The next feature, -1 for stop.
        """
        return self.propose_with_reason(values, mask, remaining)[0]

    def propose_with_reason(
        self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Propose as `propose` does, with the reason of each decision.

        Parameters
        ----------
        values, mask, remaining : arrays
            As in `propose`.

        Returns
        -------
        feature : int64 (n,)
            The next feature, -1 for stop.
        reason : int8 (n,)
            Why, as an index into `reason_names`.
        """
        check_fitted(self, "rule_")
        mask = np.ascontiguousarray(mask, dtype=bool)
        return self._propose(np.ascontiguousarray(values), mask, np.ascontiguousarray(remaining, dtype=np.float64))

    def encode(self, X: Any) -> np.ndarray:
        """Encode rows as numbers.

        Parameters
        ----------
        X : DataFrame or array (n, D)
            Rows; the columns of a data frame are found by name, in any order.

        Returns
        -------
        float64 (n, D)
            NaN where a cell is empty; text as the position among the sorted training categories.

        Raises
        ------
        SynafaError
            When a column is missing or a cell cannot be read as in training.
        """
        check_fitted(self, "rule_")
        X = collected(X)
        if is_numeric(X) and not hasattr(self, "feature_names_in_"):
            types = list(self.number_types)
            return validate_data(self, X, reset=False, dtype=types, ensure_all_finite="allow-nan", order="C")
        return self.encoder_.transform(X)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Self:
        """Restore the policy that `to_arrays` described.

        Parameters
        ----------
        arrays : mapping of arrays
            The arrays by name.
        meta : mapping
            The JSON values.

        Returns
        -------
        SynAFA or PlanTree
            A fitted policy.
        """
        return cls._from_arrays(arrays, meta)

    def _propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    @classmethod
    def _from_arrays(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Self:
        raise NotImplementedError

    def _encode_training(
        self, X: Any, y: Any, rows: np.ndarray | slice = slice(None)
    ) -> tuple[TableEncoder | None, np.ndarray]:
        """The table's encoder and the values of some rows; plain number arrays are taken as they are and need none."""
        if y is None:
            raise SynafaError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = collected(X)
        if is_numeric(X):
            types = list(self.number_types)
            X, _ = validate_data(self, X, y, dtype=types, ensure_all_finite="allow-nan", order="C")
            return None, X[rows]
        encoder = TableEncoder()
        values = encoder.fit_transform(X, rows=rows)
        validate_data(self, X, skip_check_array=True)  # notes names and width
        return encoder, values

    def _take_classes(self, y: Any, n_rows: int) -> np.ndarray:
        """Note the classes; their position for every row, int64 (n,)."""
        labels = check_labels(y, n_rows)
        if labels.dtype.kind == "f" and not np.array_equal(labels, np.floor(labels)):
            raise SynafaError("y must hold classes, got numbers with fractions (Unknown label type: continuous).")
        self.classes_, positions = classes_of(labels)
        if len(self.classes_) < 2:
            raise SynafaError(f"All rows are of one class ({str(self.classes_[0])!r}); there is nothing to tell apart.")
        return positions


def check_fitted(estimator: Any, attribute: str) -> None:
    """Refuse an estimator that has not been fitted."""
    if not hasattr(estimator, attribute):
        raise UnfittedError(f"This {type(estimator).__name__} is not fitted; call fit with training rows first.")


def is_numeric(X: Any) -> bool:
    """Whether X is an array of numbers rather than a DataFrame or text."""
    if hasattr(X, "columns"):
        return False
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        return True  # sparse: validate_data refuses it in scikit-learn's words
    return np.asarray(X).dtype.kind in "biufc" or not _holds_text(np.asarray(X))


def row_mask(which: Names | np.ndarray, names: tuple[str, ...], n: int) -> np.ndarray:
    """bool (n, D) from names or from a mask of that shape."""
    if isinstance(which, np.ndarray) and which.dtype.kind not in "OUS":
        if which.dtype != bool:
            raise SynafaError(f"A mask must be of bool, got {which.dtype}; say .astype(bool) if that is what it means.")
        if which.shape != (n, len(names)):
            raise SynafaError(f"A mask must have the shape of the rows, {(n, len(names))}, got {which.shape}.")
        return which
    return np.broadcast_to(name_mask(which, names), (n, len(names)))


def _holds_text(array: np.ndarray) -> bool:
    return array.dtype.kind in "US" or any(isinstance(value, str) for value in array.flat)
