"""AACO, the acquisition-conditioned oracle: what would have helped the most similar training rows?

For a state (x, m): the k training rows nearest over the known features (ties by row index, so that the first step uses
the first k training rows); for random sets v joined with the known ones, the mean over these rows of
w_y * (-log p(y | their own values in v)) + lambda * (cost of what v adds); of what the best v adds, the feature whose
single addition gives the smallest expected loss. Equal states of a batch are decided once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from synafa.baselines.aaco_kernels import decide, nearest
from synafa.baselines.common import Rows, allowed
from synafa.baselines.policy import BaselinePolicy
from synafa.baselines.settings import MethodSettings
from synafa.baselines.training import Progress, classifier_layers
from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError


@dataclass(frozen=True)
class Settings(MethodSettings):
    neighbours: int = 5
    masks: int = 100
    trade: float = 0.05  # lambda, the price of one unit of cost in nats
    fresh: bool = False  # other masks at every step (drawn from the seed and the number of known features)


PROFILES = {"paper": Settings(), "standard": Settings(), "quick": Settings()}


class AACO(BaselinePolicy):
    """Keeps the training rows and asks the shared classifier about them.

    In the study's faithful mode a best set that adds nothing means stop (-1), which the harness under a hard budget
    turns into the lowest-index hidden feature; otherwise only sets that add something affordable take part.
    """

    name = "aaco"
    profiles = PROFILES
    kept = ("x", "y", "weights", "reveal")
    seed_: int
    x_: np.ndarray
    y_: np.ndarray
    weights_: np.ndarray
    reveal_: np.ndarray

    def learn(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        """Keep the training rows; the budget is not used."""
        if self.classifier is None:
            raise SynafaError("AACO asks the shared classifier; pass classifier=...")
        self.seed_ = seed
        self.x_ = np.ascontiguousarray(dataset.X[dataset.train], dtype=np.float32)
        self.y_ = np.ascontiguousarray(dataset.y[dataset.train], dtype=np.int64)
        counts = np.bincount(self.y_, minlength=dataset.n_classes)
        self.weights_ = np.where(counts > 0, len(self.y_) / np.maximum(counts, 1), 0.0)
        self.reveal_ = dataset.reveals

    @property
    def classifier(self) -> Any:
        return self._classifier

    @classifier.setter
    def classifier(self, classifier: Any) -> None:
        self._classifier = classifier
        self._network = _prepare(classifier_layers(classifier), len(self.costs_))
        self._columns: np.ndarray | None = None
        self._sets: dict[int, np.ndarray] = {}

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        values = np.asarray(values, dtype=np.float32)
        mask = np.asarray(mask, dtype=bool)
        may = allowed(mask, self.costs_now(mask), remaining, self.faithful)
        first, inverse = _distinct(values, mask, may if self.uses_remaining else None)
        values, mask, may = values[first], mask[first], may[first]
        if self._columns is None:
            self._columns = np.ascontiguousarray(self.x_.T)
        near = nearest(self._columns, values, mask, min(self.settings_.neighbours, len(self.x_)))
        out = np.empty(len(first), dtype=np.int64)
        step = mask.sum(axis=1) if self.settings_.fresh else np.zeros(len(first), dtype=np.int64)
        for s in np.unique(step):
            rows = np.flatnonzero(step == s)
            out[rows] = self._decide(mask[rows], may[rows], near[rows], self._candidates(int(s)))
        return out[inverse]

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        layers = classifier_layers(self._classifier)
        if layers is None:
            raise SynafaError(
                "AACO can only be saved with a classifier that offers its `layers`, as the masked MLP does."
            )
        arrays, meta = super().state()
        return {**arrays, **{f"layer{i}": layer for i, layer in enumerate(layers)}}, {**meta, "seed": self.seed_}

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Self:
        policy = super().from_state(arrays, meta)
        policy.seed_ = int(meta["seed"])
        policy.classifier = Layers(tuple(arrays[f"layer{i}"] for i in range(6)))
        return policy

    def _candidates(self, step: int) -> np.ndarray:
        """bool (C, D): random sets, size uniform on 0..D-1, then a uniform subset; groups are completed."""
        if step not in self._sets:
            d = len(self.costs_)
            rng = np.random.default_rng((self.seed_, step))
            size = rng.integers(0, d, size=self.settings_.masks)
            rank = rng.random((self.settings_.masks, d)).argsort(axis=1).argsort(axis=1)
            drawn = rank < size[:, None]
            self._sets[step] = np.unique((drawn.astype(np.int64) @ self.reveal_.astype(np.int64)) > 0, axis=0)
        return self._sets[step]

    @property
    def _shares(self) -> np.ndarray:
        """Each feature's cost; the members of a group share the cost of asking for one of them."""
        return self.costs_ / self.reveal_.sum(axis=1)

    def _decide(self, mask: np.ndarray, may: np.ndarray, near: np.ndarray, sets: np.ndarray) -> np.ndarray:
        if self._network is None:
            return decide_with(
                self._classifier, mask, may, near, sets, self.x_, self.y_, self.weights_, self._shares, self.reveal_,
                self.settings_.trade, self.faithful,
            )  # fmt: skip
        training = (self.x_, self.y_, self.weights_)
        return decide(
            mask, may, near, training, self._network, _lists(sets), _lists(self.reveal_), self._shares,
            self.settings_.trade, self.faithful,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Layers:
    """The weights of a classifier without the rest of it: w1, b1, w2, b2, w3, b3."""

    layers: tuple[np.ndarray, ...]


def decide_with(
    classifier: Any,
    mask: np.ndarray,
    may: np.ndarray,
    near: np.ndarray,
    sets: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    shares: np.ndarray,
    reveal: np.ndarray,
    trade: float,
    stop: bool,
) -> np.ndarray:
    """The same decision for any classifier with `predict_proba`: every candidate of every state is predicted."""
    out = np.full(len(mask), -1, dtype=np.int64)
    d = mask.shape[1]
    chunk = max(1, 2**24 // (near.shape[1] * max(len(sets), d) * d))
    for start in range(0, len(mask), chunk):
        m, can, rows = mask[start : start + chunk], may[start : start + chunk], near[start : start + chunk]
        joined: np.ndarray = m[:, None, :] | sets[None]
        cost = ((joined & ~m[:, None, :]) * shares).sum(axis=2)
        score = _mean_loss(classifier, joined, rows, x, y, weights) + trade * cost
        useful = np.ones(score.shape, dtype=bool) if stop else (joined & can[:, None, :]).any(axis=2)
        best = np.where(useful, score, np.inf).argmin(axis=1)
        extra = np.asarray(joined[np.arange(len(m)), best] & ~m)
        extra = np.where(np.any(useful, axis=1, keepdims=True), extra, can) & can
        one_step = _mean_loss(classifier, m[:, None, :] | reveal[None], rows, x, y, weights)
        choice = np.where(extra, one_step, np.inf).argmin(axis=1)
        out[start : start + chunk] = np.where(extra.any(axis=1), choice, -1)
    return out


def _mean_loss(
    classifier: Any, sets: np.ndarray, rows: np.ndarray, x: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """float64 (n, C): the weighted log loss of the rows' neighbours under each set (n, C, D), averaged."""
    n, count, d = sets.shape
    k = rows.shape[1]
    masks = np.broadcast_to(sets[:, :, None, :], (n, count, k, d)).reshape(-1, d)
    values = np.broadcast_to(x[rows][:, None], (n, count, k, d)).reshape(-1, d) * masks
    target = np.broadcast_to(y[rows][:, None], (n, count, k)).ravel()
    p = np.asarray(classifier.predict_proba(values, masks), dtype=np.float64)[np.arange(len(target)), target]
    return (weights[target] * -np.log(np.maximum(p, 1e-30))).reshape(n, count, k).mean(axis=2)


def _prepare(layers: Sequence[np.ndarray] | None, d: int) -> tuple[np.ndarray, ...] | None:
    """The layers of a masked MLP as the kernel wants them; None when the classifier has another shape."""
    if layers is None or len(layers) != 6 or layers[0].shape[1] != 2 * d:
        return None
    w1, b1, w2, b2, w3, b3 = (np.asarray(layer, dtype=np.float32) for layer in layers)
    parts = (w1[:, :d].T, w1[:, d:].T, b1, w2.T, b2, w3, b3)
    return tuple(np.ascontiguousarray(part) for part in parts)


def _lists(sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Boolean rows as index lists laid end to end."""
    starts = np.concatenate([[0], np.cumsum(sets.sum(axis=1))]).astype(np.int64)
    return starts, np.nonzero(sets)[1].astype(np.int64)


def _distinct(values: np.ndarray, mask: np.ndarray, may: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each distinct state, and the state of each row; `may` tells states apart when costs differ."""
    columns = np.flatnonzero(mask.any(axis=0))
    if len(columns) == 0 and may is None:
        return np.zeros(min(1, len(mask)), dtype=np.int64), np.zeros(len(mask), dtype=np.int64)
    known = np.where(mask[:, columns], values[:, columns], np.float32(0)) + np.float32(0)  # -0.0 becomes 0.0
    parts = [np.ascontiguousarray(known, dtype=np.float32).view(np.uint8), np.packbits(mask[:, columns], axis=1)]
    if may is not None:
        parts.append(np.packbits(may, axis=1))
    keys = np.ascontiguousarray(np.concatenate(parts, axis=1))
    void = keys.view(np.dtype((np.void, keys.shape[1]))).ravel()
    _, first, inverse = np.unique(void, return_index=True, return_inverse=True)
    return first, inverse.ravel()
