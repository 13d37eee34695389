"""Class probabilities of many feature sets on the same rows, without starting afresh for every set.

A predictor whose hidden state is a sum of one contribution a known feature (`contributions`, `base`, `head`) is scored
by keeping the sum and adding one feature; the shared network by its first layer; any other predictor by calling it.
Rows may belong to parts with a predictor each, as in cross-fitting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from synafa.plan.masked_scorer import MaskedScorer, fits
from synafa.plan.parts import Features, Parts, flat, part_numbers
from synafa.predictor.model import MaskedPredictor

_KEEP_BYTES = 600_000_000  # contributions up to this size are computed once and kept


class Scorer(Protocol):
    """`open` makes the state of a feature set on some rows; `proba` predicts from it, with more features added.

    `sweep` predicts for several additions at once: probabilities (K, C, m).
    """

    n_classes: int
    chunk: int  # rows that are best handled together
    group: int  # rows times additions that are

    def open(self, features: Features, rows: np.ndarray) -> Any: ...

    def proba(self, state: Any, rows: np.ndarray, more: Features = ()) -> np.ndarray: ...

    def sweep(self, state: Any, rows: np.ndarray, more: Sequence[Features]) -> np.ndarray: ...


class NetworkScorer:
    """The shared masked network `[x*m, m] -> h -> h -> K` in NumPy, first layer kept."""

    def __init__(self, layers: Sequence[np.ndarray], values: np.ndarray) -> None:
        w1, self._b1, w2, self._b2, w3, self._b3 = (np.asarray(layer, dtype=np.float32) for layer in layers)
        d = w1.shape[1] // 2
        self._known = np.empty((0, 0), dtype=np.float32)  # every value is there
        missing = np.isnan(values)
        if missing.any():
            self._known = np.asfortranarray(~missing, dtype=np.float32)
            values = np.where(missing, 0.0, values)
        self._x = np.asfortranarray(values, dtype=np.float32)  # columns are what is read
        self._wx, self._wm = np.ascontiguousarray(w1[:, :d].T), np.ascontiguousarray(w1[:, d:].T)
        self._w2, self._w3 = np.ascontiguousarray(w2.T), np.ascontiguousarray(w3.T)
        self.n_classes = len(self._b3)
        self.chunk = max(256, 131_072 // len(self._b1))
        self.group = 2048

    def open(self, features: Features, rows: np.ndarray) -> np.ndarray:
        chosen = np.asarray(features, dtype=np.int64)
        state = self._x[rows[:, None], chosen] @ self._wx[chosen]
        if not self._known.size:
            state += self._wm[chosen].sum(axis=0)
        else:
            state += self._known[rows[:, None], chosen] @ self._wm[chosen]
        return state + self._b1

    def proba(self, state: np.ndarray, rows: np.ndarray, more: Features = ()) -> np.ndarray:
        return self.sweep(state, rows, [more])[:, 0].T

    def sweep(self, state: np.ndarray, rows: np.ndarray, more: Sequence[Features]) -> np.ndarray:
        from synafa.plan.network_kernels import network_logits

        added, start = flat(more)
        first = self._x, self._known, self._wx, self._wm
        proba = network_logits(state, rows, *first, self._w2, self._b2, self._w3, self._b3, added, start)
        np.exp(proba, out=proba)
        proba /= proba.sum(axis=0)
        return proba


class AdditiveScorer:
    """Predictors with the additive interface; every part of the rows has its own."""

    def __init__(self, parts: Parts, values: np.ndarray) -> None:
        self._predictors = [predictor for predictor, _ in parts]
        self._part = part_numbers(parts, len(values))
        self._values = values
        bases = [np.asarray(predictor.base, dtype=np.float32) for predictor in self._predictors]
        self._sizes = [len(base) for base in bases]  # parts may differ; states have room for the largest
        self._base = np.zeros((len(bases), max(self._sizes)), dtype=np.float32)
        for number, base in enumerate(bases):
            self._base[number, : len(base)] = base
        self._kept: dict[int, np.ndarray] = {}
        n, d = values.shape
        self._limit = max(8, _KEEP_BYTES // max(1, 4 * n * self._base.shape[1]))
        if d <= self._limit:
            whole = np.zeros((d, n, self._base.shape[1]), dtype=np.float32)
            for size, (predictor, rows) in zip(self._sizes, parts):
                whole[:, rows, :size] = np.moveaxis(np.asarray(predictor.contributions(values[rows])), 1, 0)
            self._kept = dict(enumerate(whole))
        self.n_classes = self._head(self._base[self._part[:1]], np.arange(1)).shape[1]
        self.chunk = int(np.clip(131_072 // self._base.shape[1], 256, 16_384))
        self.group = 1 << 40  # all additions of a chunk in turn

    def open(self, features: Features, rows: np.ndarray) -> np.ndarray:
        state = self._base[self._part[rows]]
        for j in features:
            state += self._contribution(j)[rows]
        return state

    def proba(self, state: np.ndarray, rows: np.ndarray, more: Features = ()) -> np.ndarray:
        for j in more:
            state = state + self._contribution(j)[rows]
        return self._head(state, rows)

    def sweep(self, state: np.ndarray, rows: np.ndarray, more: Sequence[Features]) -> np.ndarray:
        return np.stack([self.proba(state, rows, features).T for features in more], axis=1)

    def _contribution(self, j: int) -> np.ndarray:
        kept = self._kept.get(j)
        if kept is None:
            kept = np.zeros((len(self._values), self._base.shape[1]), dtype=np.float32)
            for number, predictor in enumerate(self._predictors):
                rows = np.flatnonzero(self._part == number)
                kept[rows, : self._sizes[number]] = predictor.contribution(self._values[rows, j], j)
            if len(self._kept) >= self._limit:
                self._kept.pop(next(iter(self._kept)))
            self._kept[j] = kept
        return kept

    def _head(self, state: np.ndarray, rows: np.ndarray) -> np.ndarray:
        parts = self._part[rows]
        first = int(parts[0]) if len(parts) else 0
        if (parts == first).all():
            return np.asarray(self._predictors[first].head(state[:, : self._sizes[first]]))
        out = None
        for number in np.unique(parts):
            where = np.flatnonzero(parts == number)
            found = np.asarray(self._predictors[number].head(state[where, : self._sizes[number]]))
            if out is None:
                out = np.empty((len(rows), found.shape[1]), dtype=found.dtype)
            out[where] = found
        assert out is not None
        return out


class OpaqueScorer:
    """Any predictor: the state is the list of features, and every set is predicted anew."""

    def __init__(self, parts: Parts, values: np.ndarray, n_classes: int) -> None:
        self._predictors = [predictor for predictor, _ in parts]
        self._part = part_numbers(parts, len(values))
        self._values = values
        self.n_classes = n_classes
        self.chunk = 4096
        self.group = 1 << 40  # one call at a time for the rows of a chunk: a stranger may not be ready for more

    def open(self, features: Features, rows: np.ndarray) -> tuple[int, ...]:
        return tuple(features)

    def proba(self, state: tuple[int, ...], rows: np.ndarray, more: Features = ()) -> np.ndarray:
        mask = np.zeros(self._values.shape[1], bool)
        mask[[*state, *more]] = True
        parts = self._part[rows]
        out = np.empty((len(rows), self.n_classes))
        for number in np.unique(parts):
            where = parts == number
            values = self._values[rows[where]]
            out[where] = self._predictors[number].predict_proba(values, np.broadcast_to(mask, values.shape))
        return out

    def sweep(self, state: tuple[int, ...], rows: np.ndarray, more: Sequence[Features]) -> np.ndarray:
        return np.stack([self.proba(state, rows, features).T for features in more], axis=1)


def make_scorer(parts: Parts, values: np.ndarray, n_classes: int) -> Scorer:
    """The fastest scorer that the parts' predictors allow."""
    first = parts[0][0]
    if len(parts) == 1 and hasattr(first, "layers") and hasattr(first, "n_features"):
        return NetworkScorer(first.layers, values)
    if all(isinstance(predictor, MaskedPredictor) for predictor, _ in parts) and fits(parts, values):
        return MaskedScorer(parts, values)
    if all(is_additive(predictor) for predictor, _ in parts):
        return AdditiveScorer(parts, values)
    return OpaqueScorer(parts, values, n_classes)


def is_additive(predictor: Any) -> bool:
    """Whether a predictor offers contributions, a base and a head."""
    needed = ("contributions", "contribution", "base", "head")
    return bool(getattr(predictor, "is_additive", True)) and all(hasattr(predictor, name) for name in needed)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Rows to probabilities."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)
