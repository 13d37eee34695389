"""A small network is trained on freshly masked rows: known cells, expanded, become class logits.

The first layer is a sum over known cells, two rectified layers follow. Adam with decoupled weight decay and a cosine
schedule, in NumPy; a running mean of the weights is what counts, and it is handed out at every checkpoint, so that the
moment to stop can be chosen for several networks together, on rows they were not trained on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from synafa.predictor.masks import training_masks

Weights = tuple[np.ndarray, ...]
"""First layer (P, H) and bias (H,), second layer (H, M) and bias (M,), output (M, K) and bias (K,)."""


Seed = int | list[int]


@dataclass(frozen=True)
class NetworkSettings:
    """Sizes and schedule of one network."""

    hidden: int = 32
    second: int = 16
    steps: int = 1000
    batch: int = 256
    rate: float = 1e-2
    decay: float = 0.3
    checkpoints: int = 20


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities of every row of logits."""
    out = np.exp(logits - logits.max(axis=1, keepdims=True))
    out /= out.sum(axis=1, keepdims=True)
    return out


def forward(known: np.ndarray, weights: Weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both hidden layers and the logits of expanded rows whose unknown cells are zero."""
    first = np.maximum(known @ weights[0] + weights[1], 0)
    second = np.maximum(first @ weights[2] + weights[3], 0)
    return first, second, second @ weights[4] + weights[5]


def start_weights(n_columns: int, n_features: int, prior: np.ndarray, settings: NetworkSettings, seed: Seed) -> Weights:
    """Random hidden layers; the output starts at the class prior whatever is known."""
    rng = np.random.default_rng(seed)
    hidden, second = settings.hidden, settings.second
    parts = (
        rng.normal(size=(n_columns, hidden)) * (0.7 / np.sqrt(0.35 * n_features + 1)),
        rng.normal(size=hidden) * 0.3,
        rng.normal(size=(hidden, second)) * np.sqrt(2 / hidden),
        np.zeros(second),
        np.zeros((second, len(prior))),
        np.log(prior),
    )
    return tuple(part.astype(np.float32) for part in parts)


def train_network(
    cells: np.ndarray,
    observed: np.ndarray,
    y: np.ndarray,
    feature_of: np.ndarray,
    start: Weights,
    settings: NetworkSettings,
    seed: Seed,
    class_weights: np.ndarray | None = None,
    focus: np.ndarray | None = None,
) -> Iterator[Weights]:
    """Train one network; yields the running mean of its weights at every checkpoint.

    Parameters
    ----------
    cells : float32 (n, P) expanded training rows, zero where not observed
    observed : bool (n, D)
    y : int64 (n,)
    feature_of : int64 (P,) the feature every expanded column belongs to
    start : weights to begin with
    settings : sizes and schedule
    seed : of batches and masks
    class_weights : float (K,), how much a row of each class counts; None: all the same
    focus : bool (F, D), sets of features that half of the masked copies know
    """
    from synafa.predictor.network_kernels import adam_step, masked_batch

    rng = np.random.default_rng(seed)
    n, batch = len(y), min(settings.batch, len(y))
    weights = [part.copy() for part in start]
    mean = [part.copy() for part in start]
    moment, square = [np.zeros_like(part) for part in start], [np.zeros_like(part) for part in start]
    truth = np.eye(start[-1].shape[0], dtype=np.float32)[y]
    counts = None if class_weights is None else class_weights.astype(np.float32)[y][:, None]
    every = max(1, settings.steps // settings.checkpoints)
    order, at = rng.permutation(n), 0
    for step in range(1, settings.steps + 1):
        if at + batch > n:
            order, at = rng.permutation(n), 0
        rows = order[at : at + batch]
        at += batch
        known = masked_batch(cells, rows, training_masks(observed[rows], rng, focus), feature_of)
        gradients = _gradients(known, truth[rows], tuple(weights), None if counts is None else counts[rows])
        rate = settings.rate * min(1.0, step / 50) * (0.5 * (1 + np.cos(np.pi * step / settings.steps)) + 0.02)
        scale, correct = np.float32(rate / (1 - 0.9**step)), np.float32(1 / (1 - 0.999**step))
        forget = np.float32(min(0.98, step / (step + 10)))
        for part, gradient, *rest in zip(weights, gradients, moment, square, mean):
            shrink = np.float32(1 - rate * settings.decay if part.ndim == 2 else 1.0)  # biases do not decay
            adam_step(part.ravel(), gradient.ravel(), *(each.ravel() for each in rest), scale, correct, shrink, forget)
        if step % every == 0:
            yield tuple(part.copy() for part in mean)


def _gradients(
    known: np.ndarray, truth: np.ndarray, weights: Weights, counts: np.ndarray | None = None
) -> list[np.ndarray]:
    """Gradients of the mean log loss; `counts` (n, 1) says how much every row counts."""
    first, second, logits = forward(known, weights)
    error = (softmax(logits) - truth) / np.float32(len(truth))
    if counts is not None:
        error *= counts
    back_second = error @ weights[4].T
    back_second *= second > 0
    back_first = back_second @ weights[2].T
    back_first *= first > 0
    return [
        *(known.T @ back_first, back_first.sum(axis=0)),
        *(first.T @ back_second, back_second.sum(axis=0)),
        *(second.T @ error, error.sum(axis=0)),
    ]
