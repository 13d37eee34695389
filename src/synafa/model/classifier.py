"""A scikit-learn classifier that looks, at predict time, only at what its acquisition policy acquires.

The predictor sees acquired values and NaN elsewhere. It is trained on copies of the training rows with random cells
hidden, few known cells as often as many, and on one copy that knows just what the policy acquires.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from synafa.errors import SynafaError
from synafa.policy.run import Run
from synafa.policy.synafa import SynAFA, check_fitted


class AcquisitionClassifier(ClassifierMixin, BaseEstimator):
    """Acquire under the policy's budget, then predict from what was acquired.

    Parameters
    ----------
    policy : SynAFA, default `SynAFA()`
    predictor : a classifier that takes NaN for hidden cells, default gradient-boosted trees
    n_masks : copies of every training row with a random set of known cells each, beside one with the policy's own set
    random_state : seed of the masks and of the default predictor

    Attributes
    ----------
    policy_, predictor_ : the fitted parts
    classes_ : class labels

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AcquisitionClassifier(SynAFA(budget=3)).fit(X[:400], y[:400])
    >>> int(model.acquire(X[400:]).n_acquired.max()), bool(model.score(X[400:], y[400:]) > 0.85)
    (3, True)
    """

    policy_: SynAFA
    predictor_: Any

    def __init__(
        self, policy: Any = None, predictor: Any = None, n_masks: int = 4, random_state: int | None = 0
    ) -> None:
        self.policy = policy
        self.predictor = predictor
        self.n_masks = n_masks
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> AcquisitionClassifier:
        """Fit policy and predictor; keyword arguments (`known`, `unavailable`, `target`) go to the policy's fit."""
        if y is None:
            raise SynafaError("AcquisitionClassifier requires y to be passed, but the target y is None.")
        if self.n_masks < 0:
            raise SynafaError(f"n_masks must be at least 0, got: {self.n_masks}.")
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            from sklearn.utils.validation import column_or_1d

            y = column_or_1d(y, warn=True)
        if y.ndim == 1:
            check_classification_targets(y)
        self.policy_ = (SynAFA() if self.policy is None else clone(self.policy)).fit(X, y, **fit_params)
        self.classes_ = self.policy_.classes_
        self.n_features_in_ = self.policy_.n_features_in_
        if hasattr(self.policy_, "feature_names_in_"):
            self.feature_names_in_ = self.policy_.feature_names_in_
        values = self.policy_.encode(X)
        masked = self._masked_copies(values, self.policy_.acquire(X).mask)
        self.predictor_ = _default_predictor(self.random_state) if self.predictor is None else clone(self.predictor)
        self.predictor_.fit(masked, np.tile(self.policy_.y_, self.n_masks + 1))
        return self

    def acquire(self, X: Any, **options: Any) -> Run:
        """What the policy acquires for these rows."""
        check_fitted(self, "policy_")
        return self.policy_.acquire(X, **options)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities from the acquired values alone."""
        check_fitted(self, "policy_")
        if hasattr(X, "columns"):
            validate_data(self, X, reset=False, skip_check_array=True)  # scikit-learn's rule for names
        run = self.acquire(X)
        return self.predictor_.predict_proba(np.where(run.mask, self.policy_.encode(X), np.nan))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class from the acquired values alone."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    def _masked_copies(self, values: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        """Rows that know what the policy acquires, and `n_masks` copies that know a random set of log-uniform size."""
        rng = np.random.default_rng(self.random_state)
        n, d = values.shape
        copies = [np.where(acquired, values, np.nan)]
        for _ in range(self.n_masks):
            size = np.exp(rng.uniform(0, np.log(d + 1), size=(n, 1)))
            rank = rng.random((n, d)).argsort(axis=1)
            copies.append(np.where((rank < size) | self.policy_.rule_.known, values, np.nan))
        return np.concatenate(copies)


def _default_predictor(seed: int | None) -> HistGradientBoostingClassifier:
    """Boosted trees that try a random third of the features at a split, and go on when a round gains nothing.

    A greedy split never starts on a feature that is worthless alone, which is just what synergistic features are; with
    all features at every split and early stopping the XOR pair of the study's sweep is not learnt.
    """
    return HistGradientBoostingClassifier(max_iter=200, max_features=0.3, early_stopping=False, random_state=seed)
