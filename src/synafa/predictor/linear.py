"""The linear member: masked rows become class logits by regularised logistic regression on expanded cells.

Weights on known cells, fitted by L-BFGS on several masked copies of every row; the intercept is drawn to the class
shares. On a few hundred rows it steadies the networks; how much it counts is chosen on rows not used in fitting.
"""

from __future__ import annotations

import numpy as np

from synafa.predictor.masks import training_masks

MASKED_ROWS = 5_000
"""Copies are made until there are about this many masked rows (and at least two copies)."""
RIDGE = 1.0
"""Strength of the penalty, in units of one over the number of rows."""
ROUNDS = 50
"""At most so many rounds of L-BFGS."""


def fit_linear(
    cells: np.ndarray,
    observed: np.ndarray,
    y: np.ndarray,
    feature_of: np.ndarray,
    prior: np.ndarray,
    seed: list[int],
    class_weights: np.ndarray | None = None,
    focus: np.ndarray | None = None,
) -> np.ndarray:
    """Weights float64 (P + 1, K), the intercept last.

    Parameters
    ----------
    cells : float32 (n, P) expanded rows, zero where not observed
    observed : bool (n, D)
    y : int64 (n,)
    feature_of : int64 (P,) the feature every column belongs to
    prior : float64 (K,) class shares
    seed : of the masks
    class_weights : float (K,), how much a row of each class counts; None: all the same
    focus : bool (F, D), sets of features that half of the masked copies know
    """
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    copies = max(2, MASKED_ROWS // len(y))
    known = np.concatenate([cells * training_masks(observed, rng, focus)[:, feature_of] for _ in range(copies)])
    truth = np.tile(np.eye(len(prior), dtype=np.float32)[y], (copies, 1))
    counts = np.ones(len(truth), np.float32)
    if class_weights is not None:
        counts = np.tile(class_weights.astype(np.float32)[y], copies)
    shape = cells.shape[1] + 1, len(prior)
    centre = np.zeros(shape)
    centre[-1] = np.log(prior)
    ridge = RIDGE / len(y)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(shape)
        single = weights.astype(np.float32)
        logits = known @ single[:-1] + single[-1]
        logits -= logits.max(axis=1, keepdims=True)
        proba = np.exp(logits)
        total = proba.sum(axis=1, keepdims=True)
        fit = float((counts * (np.log(total[:, 0]) - (logits * truth).sum(axis=1))).mean(dtype=np.float64))
        error = (proba / total - truth) * (counts / np.float32(len(truth)))[:, None]
        away = weights - centre
        gradient = np.vstack([known.T @ error, error.sum(axis=0)]).astype(np.float64) + ridge * away
        return fit + 0.5 * ridge * float((away**2).sum()), gradient.ravel()

    found = minimize(loss, centre.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": ROUNDS})
    return found.x.reshape(shape)
