"""What a fitted model answers, whatever it was read from: probabilities, one case, one case fetched to its end, rules.

`AcquisitionClassifier` learns such a model. `Bedside` is one that was read back only to be asked: it needs NumPy
alone, so that `synafa next` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from synafa.errors import SynafaError
from synafa.model.answer import Answer
from synafa.model.asking import answer, fetch_all
from synafa.money.errors import ErrorCosts
from synafa.money.stops import StopRule
from synafa.wording import worded

Names = Iterable[str]
Case = Mapping[str, Any] | None


class Answering:
    """A policy with a predictor, error costs and the ranges of training values."""

    policy_: Any
    predictor_: Any
    classes_: np.ndarray
    ranges_: np.ndarray
    error_costs_: ErrorCosts | None
    stop_: StopRule | None = None

    @worded
    def proba_from(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Class probabilities from encoded values of which some are known.

        {proba_of_known}
        """
        self._must_be_fitted()
        if hasattr(self.policy_, "tree_"):
            return self.policy_.predict_proba(values, mask)
        if self.predictor_ is None:
            raise SynafaError("This model was saved without its predictor; fit it again to predict.")
        return self.predictor_.predict_proba(values, np.asarray(mask, dtype=bool))

    def decide(self, proba: np.ndarray) -> np.ndarray:
        """Decide a class at given probabilities.

        Parameters
        ----------
        proba : float (n, K)
            Class probabilities.

        Returns
        -------
        int64 (n,)
            Positions in `classes_`.
        """
        return proba.argmax(axis=1) if self.error_costs_ is None else self.error_costs_.decide(proba)

    @worded
    def next_feature(self, observed: Case = None, *, remaining: float | None = None, unavailable: Names = ()) -> Answer:
        """What one case is now, what to measure next and why, and what each result would mean.

        {case}

        Returns
        -------
        Answer
            Class probabilities and decision now, the recommendation with its reason, and what each result would mean.

        Examples
        --------
        >>> from synafa import AcquisitionClassifier, PlanTree
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(500, 3))
        >>> model = AcquisitionClassifier(PlanTree(budget=1)).fit(X, (X[:, 1] > 0).astype(int))
        >>> model.next_feature().recommendation.feature
        'x1'
        >>> model.next_feature({"x1": 2.0}).decision
        1
        """
        self._must_be_fitted()
        return answer(self, dict(observed or {}), remaining, unavailable)

    @worded
    def predict_one(
        self,
        fetch: Callable[[str], Any],
        observed: Case = None,
        *,
        remaining: float | None = None,
        unavailable: Names = (),
    ) -> Answer:
        """Follow the policy for one case, asking `fetch(name)` for each feature when it is chosen.

        Parameters
        ----------
        fetch : function
            Takes a feature's name and returns its value, or None when it could not be measured. Its errors surface
            as a SynafaError that names the feature.
        observed : mapping or None, default=None
            Values by feature name that are known already.
        {left}

        Returns
        -------
        Answer
            The state at the end; `answer.observed` holds what was fetched.

        Examples
        --------
        >>> from synafa import AcquisitionClassifier, SynAFA
        >>> model = AcquisitionClassifier(SynAFA(budget=1)).fit([[0.0, 5.0], [1.0, 5.0]] * 50, ["ill", "well"] * 50)
        >>> model.predict_one({"x0": 1.0}.get).decision
        'well'
        """
        self._must_be_fitted()
        return fetch_all(self, fetch, dict(observed or {}), remaining, unavailable)

    def get_rules(self) -> dict[str, Any]:
        """Write the policy as nested JSON values that another program can follow.

        Returns
        -------
        dict
            See `synafa.model.rules`.
        """
        from synafa.model.rules import rules_of

        self._must_be_fitted()
        return rules_of(self)

    def decision_graph(self, **options: Any) -> Any:
        """Draw the policy as a decision graph.

        Parameters
        ----------
        **options : dict
            As those of the policy's `decision_graph`.

        Returns
        -------
        DecisionGraph
            It writes SVG, HTML, DOT and JSON.
        """
        self._must_be_fitted()
        return self.policy_.decision_graph(**options)

    def _must_be_fitted(self) -> None:
        """An estimator refuses here before it was fitted."""


class Bedside(Answering):
    """A model that was read back to be asked.

    Attributes
    ----------
    policy_ : StoredPlan or StoredRule
    predictor_ : MaskedPredictor or None
        None for a policy that was saved without one; then answers hold no probabilities.
    classes_, ranges_, error_costs_, stop_ : as in `AcquisitionClassifier`
    """

    def __init__(
        self,
        policy: Any,
        predictor: Any = None,
        error_costs: ErrorCosts | None = None,
        ranges: Any = None,
        stop: StopRule | None = None,
    ) -> None:
        self.policy_, self.predictor_, self.classes_ = policy, predictor, policy.classes_
        self.error_costs_, self.stop_ = error_costs, stop
        self.ranges_ = np.full((policy.n_features_in_, 7), np.nan) if ranges is None else ranges


class StoredRule:
    """A SynAFA that was read back to be asked: its decision rule under the names that a policy has."""

    def __init__(self, rule: Any) -> None:
        self.rule_, self.encoder_, self.target_ = rule, rule.encoder, rule.target
        self.classes_, self.n_features_in_ = np.asarray(rule.classes), rule.n_features
        self.known_, self.unavailable_, self.budget_ = rule.known, rule.unavailable, rule.budget
        self.next_feature = rule.next_feature
