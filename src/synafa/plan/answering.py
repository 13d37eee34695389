"""What a finished plan tree answers for one case; all that is needed is in the model file, and NumPy alone runs it.

`PlanTree` learns such a tree; `StoredPlan` is one that was read back only to be asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.errors import SynafaError
from synafa.plan.case import Copies, encode_case, names_to_mask, side_words
from synafa.plan.decide import Rule
from synafa.plan.prices import Prices
from synafa.plan.reasons import Explainer, Overlap, PlanRecommendation
from synafa.plan.tree import Tree
from synafa.table.encoder import TableEncoder
from synafa.wording import worded

if TYPE_CHECKING:
    from synafa.graph.shape import DecisionGraph
    from synafa.money.errors import ErrorCosts

Names = Iterable[str]


class PlanAnswers:
    """The answers of a tree with its prices, its encoder and its predictor."""

    encoder_: TableEncoder
    classes_: np.ndarray
    rule_: Rule
    tree_: Tree
    prices_: Prices
    copies_: Copies
    overlap_: Overlap
    known_: np.ndarray
    unavailable_: np.ndarray
    error_costs_: ErrorCosts | None
    predictor_: Any
    budget_: float
    margin_: float
    target_: str
    n_features_in_: int

    @worded
    def next_feature(
        self, observed: Mapping[str, Any] | None = None, *, remaining: float | None = None, unavailable: Names = ()
    ) -> PlanRecommendation:
        """What to measure next for one case, and why.

        {case}

        Returns
        -------
        PlanRecommendation
            `feature` (None: stop), its `cost`, `text` with the reason in words, `stop_reason`, and `probabilities` of
            the classes now; the other fields are the numbers behind the reason.

        Raises
        ------
        SynafaError
            When a name or a value is unknown or `remaining` is no amount.

        Notes
        -----
        Measure `feature`, add its result to `observed`, and ask again until `feature` is None. Results may be told in
        any order, and things may be known that were not asked for. `AcquisitionClassifier.next_feature` also says what
        each possible result would lead to.

        Examples
        --------
        >>> import numpy as np
        >>> from synafa import PlanTree
        >>> X = np.random.default_rng(0).normal(size=(600, 3))
        >>> policy = PlanTree(budget=1).fit(X, np.where(X[:, 1] > 0, "ill", "well"))
        >>> policy.next_feature().feature
        'x1'
        >>> stop = policy.next_feature({"x1": 2.0})
        >>> stop.feature is None, max(stop.probabilities, key=stop.probabilities.get)
        (True, 'ill')
        """
        self._must_be_fitted()
        values, mask = encode_case(self.encoder_, observed)
        if remaining is None:
            remaining = max(self.budget_ - self.rule_.spent(mask), 0.0)
        elif not remaining >= 0:
            raise SynafaError(f"remaining must be a number of at least 0, got: {remaining!r}.")
        blocked = names_to_mask(unavailable, self.encoder_.feature_names_)
        probabilities: dict[Any, float] = {}
        if getattr(self, "predictor_", None) is not None:
            row = self.predict_proba(values[None], mask[None])[0]
            probabilities = {label: float(p) for label, p in zip(self.classes_.tolist(), row)}
        choice = self.rule_.decide(values, mask, float(remaining), blocked)
        return self._explainer().explain(choice, mask, float(remaining), blocked, probabilities)

    @worded
    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Class probabilities from what is known.

        {proba_of_known}
        """
        self._must_be_fitted()
        if getattr(self, "predictor_", None) is None:
            raise SynafaError("This model was saved without its predictor; fit it again to predict.")
        return self.predictor_.predict_proba(*self.copies_.fill(np.asarray(values), np.asarray(mask, dtype=bool)))

    @worded
    def decision_graph(self, max_depth: int = 12, min_share: float = 0.0) -> DecisionGraph:
        """Draw the tree as a graph of questions and plans, counted on the judged rows.

        {graph}
        """
        from synafa.plan.graph import tree_graph

        self._must_be_fitted()
        words = partial(side_words, self.encoder_)
        names = self.encoder_.feature_names_
        return tree_graph(self.tree_, names, tuple(self.classes_.tolist()), words, max_depth, min_share)

    def _must_be_fitted(self) -> None:
        """An estimator refuses here before it was fitted."""

    def _explainer(self) -> Explainer:
        unit = "bits" if self.error_costs_ is None else "money"
        names = self.encoder_.feature_names_
        return Explainer(self.rule_, names, self.overlap_, self.margin_, unit, self.target_)


class StoredPlan(PlanAnswers):
    """A plan tree that was read back to be asked."""
