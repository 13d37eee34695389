"""Any scikit-learn classifier that takes NaN, as a predictor from any subset of features.

It is trained on copies of the training rows with random cells hidden, few known cells as often as many. It cannot be
stored without pickle; the package's own predictor can.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from synafa.predictor import random_masks


class NanPredictor:
    """A fitted classifier that sees NaN where nothing is known; `predict_proba(values, mask)`."""

    def __init__(self, classifier: Any, n_classes: int) -> None:
        self.classifier, self.n_classes = classifier, n_classes

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Class probabilities, float64 (n, K); a class that the classifier never saw gets 0."""
        found = self.classifier.predict_proba(np.where(mask, values, np.nan))
        out = np.zeros((len(found), self.n_classes))
        out[:, np.asarray(self.classifier.classes_, dtype=np.int64)] = found
        return out


class NanPredictorFactory:
    """What fits one: a clone of `classifier` on `n_masks` masked copies of each row and the row itself."""

    def __init__(self, classifier: Any, n_masks: int = 4) -> None:
        self.classifier, self.n_masks = classifier, n_masks

    def __call__(
        self,
        values: np.ndarray,
        y: np.ndarray,
        n_classes: int,
        *,
        categories: Any = None,
        seed: int = 0,
        progress: Any = None,
    ) -> NanPredictor:
        rng = np.random.default_rng(seed)
        observed = ~np.isnan(values)
        masked = [np.where(random_masks(observed, rng), values, np.nan) for _ in range(self.n_masks)]
        fitted = clone(self.classifier).fit(np.concatenate([values, *masked]), np.tile(y, self.n_masks + 1))
        return NanPredictor(fitted, n_classes)
