"""How good probabilities are, and how much sharper or flatter logits should be, judged on rows not used in fitting."""

from __future__ import annotations

import numpy as np

from synafa.predictor.network import softmax

SHARPNESS = np.exp(np.linspace(np.log(0.25), np.log(2.0), 25))
"""Candidates; 1 is not among them by chance: it is kept unless another one is clearly better."""
CLEARLY = 5e-4
"""A sharpness other than 1 must lower the log loss by this much."""


def log_loss(proba: np.ndarray, y: np.ndarray) -> float:
    """Mean negative log probability of the true class, in nats."""
    return float(-np.log(np.maximum(proba[np.arange(len(y)), y], 1e-12)).mean())


def best_sharpness(logits: np.ndarray, y: np.ndarray) -> float:
    """The factor on the logits with the least log loss."""
    losses = [log_loss(softmax(factor * logits.astype(np.float64)), y) for factor in SHARPNESS]
    best = int(np.argmin(losses))
    return float(SHARPNESS[best]) if losses[best] < log_loss(softmax(logits), y) - CLEARLY else 1.0


def calibration_error(proba: np.ndarray, y: np.ndarray, bins: int = 10) -> float:
    """Mean gap between confidence and accuracy over equally filled bins of the largest probability."""
    sure, right = proba.max(axis=1), proba.argmax(axis=1) == y
    parts = np.array_split(np.argsort(sure, kind="stable"), bins)
    return float(sum(abs(sure[i].sum() - right[i].sum()) for i in parts) / len(y))
