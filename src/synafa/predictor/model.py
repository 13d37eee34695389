"""`MaskedPredictor`: class probabilities from any subset of features, as plain arrays; predicting needs NumPy alone.

A cell that is known adds its contribution to a hidden state, the head turns the state into probabilities: a weighted
mean of small networks and, on small tables, a linear member, each with its own softmax:
`p = sum_m weight_m softmax(logits_m(state))`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.predictor.basis import WIDTH, FeatureBasis
from synafa.predictor.network import softmax

BLOCK_CELLS = 200_000  # rows are predicted in blocks of about this many cells


@dataclass(frozen=True)
class Heads:
    """What stands above the hidden state: E networks side by side, then the linear member where there is one.

    Attributes
    ----------
    second : float32 (E, H, M), second_bias : float32 (E, M)
    output : float32 (E, M, K), output_bias : float32 (E, K)
    weight : float64 (E + 1,) of each network in the mean and of the linear member, sums to 1
    """

    second: np.ndarray
    second_bias: np.ndarray
    output: np.ndarray
    output_bias: np.ndarray
    weight: np.ndarray

    def __call__(self, state: np.ndarray) -> np.ndarray:
        n_nets, size = self.second.shape[:2]
        out = np.zeros((len(state), self.output.shape[2]))
        for e in range(n_nets):
            first = np.maximum(state[:, e * size : (e + 1) * size], 0)
            second = np.maximum(first @ self.second[e] + self.second_bias[e], 0)
            out += self.weight[e] * softmax(second @ self.output[e] + self.output_bias[e])
        if self.weight[n_nets] > 0:
            out += self.weight[n_nets] * softmax(state[:, n_nets * size :])
        return out / out.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class MaskedPredictor:
    """Class probabilities from any subset of features.

    Made by `fit_predictor` or `predictor_from_arrays`. A cell counts as known when the mask is True and the value is
    not NaN; values elsewhere are never looked at.

    Attributes
    ----------
    n_features, n_classes, n_hidden : int, D, K and H
    base : float32 (H,) the hidden state when nothing is known

    Examples
    --------
    >>> from synafa.predictor import fit_predictor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> model = fit_predictor(X, (X[:, 0] > 0).astype(int), 2)
    >>> one = np.array([[2.0, 0.0, 0.0]])
    >>> known = model.predict_proba(one, np.array([[True, False, False]]))
    >>> nothing = model.predict_proba(one, np.array([[False, False, False]]))
    >>> bool(known[0, 1] > 0.9), bool(abs(nothing[0, 1] - 0.5) < 0.1)
    (True, True)
    """

    basis: FeatureBasis
    number_weights: np.ndarray
    slot_weights: np.ndarray
    base: np.ndarray
    heads: Heads
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        return self.basis.n_features

    @property
    def n_classes(self) -> int:
        return int(self.heads.output.shape[2])

    @property
    def n_hidden(self) -> int:
        return len(self.base)

    def predict_proba(self, values: Any, mask: Any) -> np.ndarray:
        """Class probabilities of rows of which some cells are known.

        Parameters
        ----------
        values : (n, D) numbers, NaN for an empty cell
        mask : bool (n, D), True where the value is known

        Returns
        -------
        float64 (n, K), every row sums to 1; rows beside it change nothing but the last digits of float64

        Raises
        ------
        SynafaError
            When a shape does not fit.
        """
        values, mask = self._checked(values), np.asarray(mask, dtype=bool)
        if mask.shape != values.shape:
            raise SynafaError(f"The mask must have the shape of the values, {values.shape}, got: {mask.shape}.")
        out = np.empty((len(values), self.n_classes))
        step = max(1, BLOCK_CELLS // max(1, self.n_features))
        for at in range(0, len(values), step):
            rows = slice(at, at + step)
            out[rows] = self.heads(self._state(values[rows], mask[rows]))
        return out

    @cached_property
    def _precise_weights(self) -> np.ndarray:
        """The first weights in float64: a float32 product rounds a row by its place among the others."""
        return self.number_weights.reshape(-1, self.n_hidden).astype(np.float64)

    def contributions(self, values: Any) -> np.ndarray:
        """float32 (n, D, H): what each cell adds to the hidden state once it is known, 0 where it is empty (NaN)."""
        values = self._checked(values)
        known = ~np.isnan(values)
        out = np.empty((len(values), self.n_features, self.n_hidden), dtype=np.float32)
        cells = self.basis.expand(values, known)
        for i, j in enumerate(self.basis.numbers):
            np.matmul(cells[:, i], self.number_weights[i], out=out[:, j])
        slots = self.basis.slots(values, known)
        for i, j in enumerate(self.basis.texts):
            out[:, j] = np.where(known[:, j, None], self.slot_weights[slots[:, i]], np.float32(0))
        return out

    def contribution(self, column: Any, feature: int) -> np.ndarray:
        """float32 (n, H): `contributions` of one feature from its column of values alone."""
        column = np.asarray(column, dtype=np.float64).reshape(-1, 1)
        known = ~np.isnan(column)
        basis = self.basis.only(feature)
        if len(basis.numbers):
            weights = self.number_weights[np.flatnonzero(self.basis.numbers == feature)[0]]
            return basis.expand(column, known)[:, 0] @ weights
        start = self.basis.slot_start[np.flatnonzero(self.basis.texts == feature)[0]]
        slots = np.where(known[:, 0], basis.slots(column, known)[:, 0] + start, 0)
        return np.where(known, self.slot_weights[slots], np.float32(0))

    def head(self, state: np.ndarray) -> np.ndarray:
        """float64 (n, K): class probabilities of hidden states `base + sum of contributions`, float32 (n, H)."""
        return self.heads(np.asarray(state, dtype=np.float32))

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Everything the predictor is: plain arrays by name, and a JSON-ready dictionary."""
        arrays = {f"basis.{part.name}": getattr(self.basis, part.name) for part in fields(FeatureBasis)}
        arrays |= {f"heads.{part.name}": getattr(self.heads, part.name) for part in fields(Heads)}
        arrays |= {"number_weights": self.number_weights, "slot_weights": self.slot_weights, "base": self.base}
        meta = {"kind": "networks", "format": 1, "notes": self.notes}
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}, meta

    def _state(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        known = mask & ~np.isnan(values)
        cells = self.basis.expand(values, known)
        n, width = len(values), self.number_weights.shape[0] * WIDTH
        state = cells.reshape(n, width).astype(np.float64) @ self._precise_weights
        slots = self.basis.slots(values, known)
        for i in range(slots.shape[1]):
            there = slots[:, i] >= 0
            state[there] += self.slot_weights[slots[there, i]]
        return state + self.base

    def _checked(self, values: Any) -> np.ndarray:
        values = np.asarray(values, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != self.n_features:
            raise SynafaError(
                f"The predictor was fitted on {self.n_features} features, so the values must have the shape"
                f" (n, {self.n_features}), got: {values.shape}."
            )
        return values


def predictor_from_arrays(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> MaskedPredictor:
    """The predictor that `to_arrays` took apart.

    Raises
    ------
    SynafaError
        When the arrays are not those of a predictor this version knows.
    """
    if meta.get("kind") != "networks" or meta.get("format") != 1:
        raise SynafaError(
            f"A predictor of kind {meta.get('kind')!r}, format {meta.get('format')!r}, is not known to this version:"
            " fit the model again, or read it with the version that wrote it."
        )
    try:
        basis = FeatureBasis(*(np.asarray(arrays[f"basis.{part.name}"]) for part in fields(FeatureBasis)))
        heads = Heads(*(np.asarray(arrays[f"heads.{part.name}"]) for part in fields(Heads)))
        numbers, slots, base = (np.asarray(arrays[name]) for name in ("number_weights", "slot_weights", "base"))
    except KeyError as error:
        raise SynafaError(f"The stored predictor lacks {error.args[0]!r}: fit the model again.") from None
    return MaskedPredictor(basis, numbers, slots, base, heads, dict(meta.get("notes") or {}))
