"""A small network is trained on freshly masked rows: known cells, expanded, become class logits.

The first layer is a sum over known cells, two rectified layers follow. Adam with decoupled weight decay and a cosine
schedule, one kernel a step; a running mean of the weights is what counts, and it is handed out at every checkpoint, so
that the moment to stop can be chosen for several networks together, on rows they were not trained on.
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


def runs_of(feature_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns side by side of one feature: where each run starts, with the end of the last, and whose it is.

    >>> [part.tolist() for part in runs_of(np.array([0, 0, 2, 1, 1]))]
    [[0, 2, 3, 5], [0, 2, 1]]
    """
    starts = np.flatnonzero(np.diff(feature_of, prepend=-1))
    return np.append(starts, len(feature_of)), feature_of[starts]


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
    from synafa.predictor.network_kernels import train_step

    rng = np.random.default_rng(seed)
    n, batch = len(y), min(settings.batch, len(y))
    mean = [part.copy() for part in start]
    state = [part.copy() for part in start], *([np.zeros_like(part) for part in start] for _ in range(2)), mean
    matrices, biases = (tuple(tuple(parts[at::2]) for parts in state) for at in (0, 1))
    counts = np.ones(n, np.float32) if class_weights is None else class_weights.astype(np.float32)[y]
    columns = runs_of(feature_of)
    every = max(1, settings.steps // settings.checkpoints)
    order, at = rng.permutation(n), 0
    for step in range(1, settings.steps + 1):
        if at + batch > n:
            order, at = rng.permutation(n), 0
        rows = order[at : at + batch]
        at += batch
        rate = settings.rate * min(1.0, step / 50) * (0.5 * (1 + np.cos(np.pi * step / settings.steps)) + 0.02)
        scale, correct = rate / (1 - 0.9**step), 1 / (1 - 0.999**step)
        rates = scale, correct, 1 - rate * settings.decay, min(0.98, step / (step + 10))
        known = training_masks(observed[rows], rng, focus)
        train_step(cells, rows, known, columns, y, counts, matrices, biases, tuple(map(np.float32, rates)))
        if step % every == 0:
            yield tuple(part.copy() for part in mean)
