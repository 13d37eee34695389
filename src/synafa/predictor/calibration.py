"""How good probabilities are, and how much sharper or flatter logits should be, judged on rows not used in fitting."""

from __future__ import annotations

import numpy as np

from synafa.predictor.network import softmax

SHARPNESS = np.exp(np.linspace(np.log(0.25), np.log(2.0), 25))
SHARES = np.linspace(0.0, 1.0, 11)
CLEARLY = 5e-4  # a sharpness other than 1, or a share of the linear member, must lower the log loss by this much


def log_loss(proba: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Mean negative log probability of the true class, in nats; `weights` (K,) say how much each class counts."""
    losses = -np.log(np.maximum(proba[np.arange(len(y)), y], 1e-12))
    return float(losses.mean() if weights is None else (losses * weights[y]).mean())


def best_sharpness(logits: np.ndarray, prior: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """How far logits of a mean of networks should stand from the class shares, from single networks' logits.

    The best factor for single networks flattens; their mean is flatter already, so the way from 1 is halved.
    """
    centre = np.log(prior)
    away = logits.astype(np.float64) - centre
    losses = [log_loss(softmax(centre + factor * away), y, weights) for factor in SHARPNESS]
    best = int(np.argmin(losses))
    as_it_is = log_loss(softmax(centre + away), y, weights)
    return float(np.sqrt(SHARPNESS[best])) if losses[best] < as_it_is - CLEARLY else 1.0


def best_share(first: np.ndarray, second: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """The share of the second predictor in a mean of two with the least log loss."""
    losses = np.array([log_loss((1 - share) * first + share * second, y, weights) for share in SHARES])
    best = int(losses.argmin())
    return float(SHARES[best]) if losses[best] < losses[0] - CLEARLY else 0.0


def calibration_error(proba: np.ndarray, y: np.ndarray, bins: int = 10) -> float:
    """Mean gap between confidence and accuracy over equally filled bins of the largest probability."""
    sure, right = proba.max(axis=1), proba.argmax(axis=1) == y
    parts = np.array_split(np.argsort(sure, kind="stable"), bins)
    return float(sum(abs(sure[i].sum() - right[i].sum()) for i in parts) / len(y))
