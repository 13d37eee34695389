"""Policy and predictor as one scikit-learn classifier: it acquires under a budget, predicts, and answers for one case.

It is the object behind `synafa fit`, `next`, `serve`, `report` and `card`, and is saved as one file without any row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from synafa.errors import SynafaError
from synafa.information.labels import refuse_zero_characters
from synafa.model.answering import Answering, Names
from synafa.model.nan_predictor import NanPredictorFactory
from synafa.model.ranges import observed_ranges
from synafa.model.stopping import HELD_OUT, Wanted, calibrated, cut, wanted_stop
from synafa.money.errors import ErrorCosts
from synafa.money.stops import StopRule
from synafa.plan.plan_tree import PlanTree
from synafa.policy.estimator import StoredEstimator, check_fitted, row_mask
from synafa.policy.run import Run
from synafa.policy.synafa import SynAFA
from synafa.table.encoder import collected
from synafa.table.sampling import sampled_rows
from synafa.wording import worded


class AcquisitionClassifier(Answering, ClassifierMixin, StoredEstimator):
    """Acquire under the policy's budget, then predict from what was acquired.

    `fit` learns from complete rows. For one case, `next_feature` says what it is now and what to measure next, and
    `predict_one` follows the policy to its end; for many, `acquire`, `predict` and `predict_proba` look only at what
    the policy asks for. `save` writes one file, which `synafa.load_model` reads; `get_rules` and `decision_graph` show
    the whole policy. Prices and the budget are the policy's: `AcquisitionClassifier(PlanTree(budget=250, prices=...))`.

    Parameters
    ----------
    policy : PlanTree or SynAFA, default=None
        What decides which feature comes next; None for `PlanTree()`.
    predictor : None, scikit-learn classifier or function, default=None
        Class probabilities from any subset of features. None: the package's own, the only one that can be saved. A
        classifier must take NaN for hidden cells; a function `(values, y, n_classes, *, categories, seed, progress)`
        fits an object with `predict_proba(values, mask)`.
    error_costs : ErrorCosts, mapping, array or None, default=None
        What wrong decisions cost, in the money of the prices; then classes are decided by expected cost. A PlanTree
        without error costs of its own gets these.
    stop : StopRule, mapping or None, default=None
        When it is enough, beside the policy's budget and money: a mapping with `probability` (of the decided class;
        "learnt": where going on would change a plan tree's decision in at most 1 of 100 cases so sure),
        `max_measurements` and `floor`, as in `("sensitivity", "ill", 0.95)`, `("npv", "ill", 0.98)` or
        `("ppv", "ill", 0.9)`. For a floor, three of ten rows are kept from fitting and calibrate it.
    n_masks : int, default=4
        Masked copies of every training row, for a scikit-learn classifier as predictor.
    random_state : int, default=0
        Seed of the default policy and of the predictor.

    Attributes
    ----------
    policy_, predictor_ : object
        The fitted parts.
    classes_ : array (K,)
        Class labels.
    ranges_ : float64 (D, 7)
        Quantiles of the observed training values of number columns.
    error_costs_ : ErrorCosts or None
        What wrong decisions cost.
    stop_ : StopRule or None
        When it is enough, with its calibrated floor.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from synafa import PlanTree
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AcquisitionClassifier(PlanTree(budget=3)).fit(X[:400], y[:400])
    >>> int(model.acquire(X[400:]).n_acquired.max()) <= 3, bool(model.score(X[400:], y[400:]) > 0.85)
    (True, True)

    One case at a time: ask, measure, tell the result, ask again.

    >>> answer = model.next_feature()
    >>> feature, price = answer.recommendation.feature, answer.recommendation.cost
    >>> after = model.next_feature({feature: 20.0})
    >>> round(sum(after.probabilities.values()), 6), after.decision in (0, 1)
    (1.0, True)
    """

    kind = "model"
    _fitted = "policy_"

    def __init__(
        self,
        policy: Any = None,
        predictor: Any = None,
        error_costs: Any = None,
        stop: Any = None,
        n_masks: int = 4,
        random_state: int | None = 0,
    ) -> None:
        self.policy, self.predictor, self.error_costs, self.stop = policy, predictor, error_costs, stop
        self.n_masks, self.random_state = n_masks, random_state

    @worded
    def fit(
        self, X: Any, y: Any = None, *, known: Names = (), unavailable: Names = (), target: str = "",
        groups: Any = None, progress: Any = None,
    ) -> AcquisitionClassifier:  # fmt: skip
        """Fit policy and predictor.

        Parameters
        ----------
        {training}
        groups : array (n,) or None, default=None
            Rows of one group (one patient) stay together when parts of the rows are held out.
        {progress}

        Returns
        -------
        AcquisitionClassifier
            The object itself.

        Raises
        ------
        SynafaError
            When a setting or the table cannot be used.
        """
        X, y = collected(X), self._checked_classes(y)
        wanted, self.stop_ = wanted_stop(self.stop), None
        held = np.zeros(0, dtype=np.int64)
        all_rows = X, y
        if wanted is not None and wanted.kind is not None:
            rest, held = self._hold_out(y, groups)
            X, y, groups = take_rows(X, rest), y[rest], None if groups is None else np.asarray(groups)[rest]
        policy = PlanTree(random_state=self.random_state or 0) if self.policy is None else clone(self.policy)
        options: dict[str, Any] = {"known": known, "unavailable": unavailable, "target": target}
        rows = sampled_rows(len(y), self.random_state or 0)  # of very many, for predictor and ranges
        if isinstance(policy, PlanTree):
            if self.predictor is not None:
                policy.predictor = self._fitting()
            if policy.error_costs is None:
                policy.error_costs = self.error_costs
            self.policy_ = policy.fit(X, y, **options, groups=groups, progress=progress)
            self.predictor_ = policy.predictor_
        else:
            more = {"progress": progress} if isinstance(policy, SynAFA) else {}
            self.policy_ = policy.fit(X, y, **options, **more)
        values = self.policy_.encode(take_rows(X, rows))
        if not isinstance(policy, PlanTree):
            self.predictor_ = self._fit_predictor(values, y[rows], progress)
        self._take_over(values)
        if wanted is not None:
            wanted = wanted.with_learnt(self.policy_)
            self.stop_ = None if wanted.rule == StopRule() else wanted.rule
        if wanted is not None and len(held):
            self.stop_ = self._floor(wanted, take_rows(all_rows[0], held), all_rows[1][held])
        return self

    @worded
    def acquire(self, X: Any, **options: Any) -> Run:
        """What the policy acquires for these rows.

        {complete_rows}
        **options : dict
            As those of the policy's `acquire`.

        Returns
        -------
        Run
            Order, reasons, final mask and cost of every row.
        """
        check_fitted(self, "policy_")
        X = collected(X)
        run = self.policy_.acquire(X, **options)
        if self.stop_ is None:
            return run
        names = self.policy_.encoder_.feature_names_
        start = row_mask(options.get("known", ()), names, len(run.mask)) | self.policy_.rule_.known
        return cut(self, self.policy_.encode(X), run, start)

    @worded
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities from the acquired values alone.

        {complete_rows}

        Returns
        -------
        float64 (n, K)
            One row a case, in the order of `classes_`.
        """
        check_fitted(self, "policy_")
        X = collected(X)
        if hasattr(X, "columns"):
            validate_data(self, X, reset=False, skip_check_array=True)  # scikit-learn's rule for names
        return self.proba_from(self.policy_.encode(X), self.acquire(X).mask)

    @worded
    def predict(self, X: Any) -> np.ndarray:
        """Decide a class from the acquired values alone.

        {complete_rows}

        Returns
        -------
        array (n,)
            The most probable class; with error costs, the one of least expected cost.
        """
        decided = self.decide(self.predict_proba(X))
        return self.classes_[decided]

    def _to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        if not hasattr(self.predictor_, "to_arrays"):
            name = type(getattr(self.predictor_, "classifier", self.predictor_)).__name__
            raise SynafaError(f"The predictor {name} cannot be stored without pickle; fit with predictor=None.")
        found, about = self.policy_.to_arrays()
        arrays = {f"policy.{name}": array for name, array in found.items()}
        arrays["ranges"] = np.where(np.isnan(self.ranges_), np.inf, self.ranges_)
        meta: dict[str, Any] = {
            "policy_kind": self.policy_.kind,
            "policy": about,
            "predictor": None,  # a plan tree holds its own
            "error_costs": None if self.error_costs_ is None else self.error_costs_.to_meta(),
        }
        if self.stop_ is not None:
            meta["stop"] = self.stop_.to_meta()
        if meta["policy_kind"] != "plan-tree":
            more, meta["predictor"] = self.predictor_.to_arrays()
            arrays |= {f"predictor.{name}": array for name, array in more.items()}
        return arrays, meta

    def _must_be_fitted(self) -> None:
        check_fitted(self, "policy_")

    def _checked_classes(self, y: Any) -> np.ndarray:
        if y is None:
            raise SynafaError("AcquisitionClassifier requires y to be passed, but the target y is None.")
        if self.n_masks < 0:
            raise SynafaError(f"n_masks must be at least 0, got: {self.n_masks}.")
        refuse_zero_characters(y)
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            from sklearn.utils.validation import column_or_1d

            y = column_or_1d(y, warn=True)
        if y.ndim == 1:
            check_classification_targets(y)
        return y

    def _hold_out(self, y: np.ndarray, groups: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows to fit on and rows that calibrate a floor, the groups together."""
        from synafa.predictor.folds import deal_folds

        together = None if groups is None else np.asarray(groups)
        classes = np.unique(y, return_inverse=True)[1]
        fold = deal_folds(classes, 10, np.random.default_rng([self.random_state or 0, 41]), together)
        held = fold < round(10 * HELD_OUT)
        return np.flatnonzero(~held), np.flatnonzero(held)

    def _floor(self, wanted: Wanted, X: Any, y: np.ndarray) -> StopRule:
        """The stop rule with the floor that the held-out rows calibrate."""
        self.stop_ = wanted.rule
        known = np.isin(y, self.classes_)
        run = self.acquire(X)
        place = np.where(known, np.searchsorted(self.classes_, np.where(known, y, self.classes_[0])), -1)
        return calibrated(self, wanted, self.policy_.encode(X), place, run)

    def _fitting(self) -> Callable[..., Any]:
        """The function that fits the predictor."""
        if self.predictor is None:
            from synafa.predictor import fit_predictor

            return fit_predictor
        if hasattr(self.predictor, "get_params"):
            return NanPredictorFactory(self.predictor, self.n_masks)
        return self.predictor

    def _fit_predictor(self, values: np.ndarray, y: np.ndarray, progress: Callable[[float, str], None] | None) -> Any:
        classes = np.searchsorted(self.policy_.classes_, y)
        categories = [len(column.categories) for column in self.policy_.encoder_.columns_]
        seed = self.random_state or 0
        return self._fitting()(
            values, classes, len(self.policy_.classes_), categories=categories, seed=seed, progress=progress
        )

    def _take_over(self, values: np.ndarray) -> None:
        """What the classifier knows of its policy and of the encoded training table."""
        policy = self.policy_
        self.classes_ = policy.classes_
        self.n_features_in_ = policy.n_features_in_
        if hasattr(policy, "feature_names_in_"):
            self.feature_names_in_ = policy.feature_names_in_
        text = np.array([column.kind == "text" for column in policy.encoder_.columns_])
        self.ranges_ = observed_ranges(values, text)
        own = getattr(policy, "error_costs_", None)
        self.error_costs_ = ErrorCosts.resolve(self.error_costs, self.classes_.tolist()) if own is None else own


def take_rows(X: Any, rows: np.ndarray | slice) -> Any:
    """Some rows of an array or of a pandas or Polars DataFrame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "columns") or isinstance(X, np.ndarray) else np.asarray(X)[rows]
