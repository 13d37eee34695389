"""PlanTree: complete plans of measurements in a tree, as a scikit-learn estimator.

`fit` finds the best fixed panel and then questions whose answers change the plan, each judged by predictors on rows
they did not see; `acquire`, `propose` and `next_feature` follow the tree under a hard budget.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from synafa.errors import SynafaError
from synafa.money.prices import reveal_matrix
from synafa.plan.answering import PlanAnswers
from synafa.plan.build import linear_copies
from synafa.plan.case import Copies
from synafa.plan.curve import BudgetPoint, budget_curve
from synafa.plan.decide import REASONS
from synafa.plan.inputs import (
    FOCUS_ROWS,
    LOOK_ROWS,
    Fitter,
    Judged,
    Training,
    given_rows,
    judged_by,
    judged_rows,
    number_encoder,
)
from synafa.plan.learn import favourites, known_sets, learn_tree, prepare
from synafa.policy.estimator import Cells, Names, PolicyEstimator, check_fitted, row_mask
from synafa.policy.run import Run
from synafa.table.sampling import sampled_rows
from synafa.wording import worded

if TYPE_CHECKING:
    from synafa.plan.enough import Enough


class PlanTree(PlanAnswers, PolicyEstimator):
    """Which feature next, from complete plans judged on rows they were not learnt from.

    Parameters
    ----------
    budget : float or None, default=10
        Hard limit on what a row's measurements cost; None for no limit.
    costs : None, array of D costs or mapping by name, default=None
        What measuring costs; features left out of a mapping cost 1.
    prices : PriceList, path of its CSV or None, default=None
        Prices with panels and groups, in place of `costs`.
    error_costs : ErrorCosts, mapping, array or None, default=None
        What wrong decisions cost, in the money of the prices; then a plan goes on while that is worth its price.
    predictor : None, fitted object or function, default=None
        None: the package's own. A fitted object with `predict_proba(values, mask)` must not have seen the rows that
        `fit` gets. A function `(values, y, n_classes, *, categories, seed, progress)` fits one.
    margin : float, default=0.0005
        Without error costs: the loss in bits that a measurement of average price has to take off.
    adaptive : bool, default=True
        False keeps the best fixed panel.
    spend_all : bool, default=False
        Go on until the budget is spent, whatever it brings.
    n_jobs : int or None, default=None
        Threads of `fit`; None for as many as Numba uses. Results do not depend on it.
    random_state : int, default=0
        Seed of folds, predictors and searches.

    Attributes
    ----------
    tree_ : Tree
        The plans; `tree_.is_panel` says whether everybody follows one.
    classes_ : array (K,)
        The class labels.
    predictor_ : object
        Class probabilities from what is known, fitted on all rows.
    budget_curve_ : list of BudgetPoint
        What smaller budgets bring on the rows that confirmed the tree.
    judge_, judged_rows_ : object, array
        What judged the plans, and the training rows it judged; not stored.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 4))
    >>> y = (X[:, 1] + 0.3 * rng.normal(size=600) > 0).astype(int)
    >>> policy = PlanTree(budget=2).fit(X, y)
    >>> policy.acquire(X[:2]).order[:, 0].tolist(), policy.next_feature().feature
    ([1, 1], 'x1')
    """

    _curve: list[BudgetPoint] | None
    reason_names = REASONS
    uses_remaining = True
    name = kind = "plan-tree"
    number_types = (np.float64,)

    def __init__(
        self,
        budget: float | None = 10,
        costs: Any = None,
        prices: Any = None,
        error_costs: Any = None,
        predictor: Any = None,
        margin: float = 0.0005,
        adaptive: bool = True,
        spend_all: bool = False,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.budget, self.costs, self.prices, self.error_costs = budget, costs, prices, error_costs
        self.predictor, self.margin, self.adaptive, self.spend_all = predictor, margin, adaptive, spend_all
        self.n_jobs, self.random_state = n_jobs, random_state

    @worded
    def fit(
        self, X: Any, y: Any = None, *, known: Names = (), unavailable: Names = (), target: str = "",
        groups: Any = None, progress: Any = None,
    ) -> PlanTree:  # fmt: skip
        """Learn predictor and tree from training rows; of more than 200,000 from a random 200,000.

        Parameters
        ----------
        {training}
        groups : array (n,) or None, default=None
            Rows of one group (one patient) are judged by predictors that saw none of them.
        {progress}

        Returns
        -------
        PlanTree
            The object itself.

        Raises
        ------
        SynafaError
            When a setting or the table cannot be used.
        """
        rows = sampled_rows(0 if y is None else len(y), int(self.random_state))
        found, values = self._encode_training(X, y, rows)
        encoder = number_encoder(values) if found is None else found
        n_rows = len(values) if isinstance(rows, slice) else getattr(X, "shape", (len(y),))[0]
        classes = self._take_classes(y, n_rows)[rows]
        prepare(self, encoder, known, unavailable, target)
        say = progress or (lambda share, text: None)
        groups = None if groups is None else np.asarray(groups)[rows]
        categories = [len(column.categories) for column in encoder.columns_]
        seed = int(self.random_state)
        copies = linear_copies(values, seed=seed)
        self.copies_ = Copies.of(values, copies)
        given = self.predictor if hasattr(self.predictor, "predict_proba") else None
        costs = None if self.error_costs_ is None else self.error_costs_.matrix
        fitter = Fitter.of(None if given is not None else self.predictor, costs)
        table = Training(values, classes, len(self.classes_), categories, groups, seed)
        if given is not None:
            judged = judged_by(given, classes, groups, seed)
        else:
            judged, fitter = self._judged(table, fitter, copies, say)
        learn_tree(self, values, classes, judged, copies, False, True, lambda share, text: say(0.6 + 0.2 * share, text))
        if given is not None:
            self.predictor_ = given
        else:
            say(0.8, "fitting the predictor on all rows")
            if fitter.focus is not None:
                fitter = replace(fitter, focus=np.unique([*fitter.focus, *known_sets(self)], axis=0))
            self.predictor_ = fitter.on(table, lambda share, text: say(0.8 + 0.2 * share, text))
        say(1.0, "done")
        return self

    def _judged(
        self, table: Training, fitter: Fitter, copies: np.ndarray, say: Callable[[float, str], None]
    ) -> tuple[Judged, Fitter]:
        """The judged rows of a table; of a small one the predictors learn once more, with the sets that plans use."""
        n = len(table.y)
        twice = fitter.takes_hints and n <= FOCUS_ROWS
        rough = twice and n > LOOK_ROWS
        judged = judged_rows(table, fitter, lambda share, text: say(0.3 * share, text), 2 if rough else None)
        if not twice:
            return judged, fitter
        fitter = replace(fitter, focus=favourites(self, table.values, table.y, judged, copies))
        if fitter.focus is None and not rough:
            return judged, fitter
        return judged_rows(table, fitter, lambda share, text: say(0.3 + 0.3 * share, text)), fitter

    @worded
    def fit_arrays(
        self,
        values_train: np.ndarray,
        y_train: np.ndarray,
        values_validation: np.ndarray,
        y_validation: np.ndarray,
        predictor: Any,
        *,
        n_classes: int | None = None,
        names: Names | None = None,
        class_weighted: bool = False,
        panels: Iterable[Iterable[int]] = (),
        progress: Any = None,
    ) -> PlanTree:
        """Learn the tree for a given predictor, which saw the training rows; the validation rows confirm splits.

        Parameters
        ----------
        values_train : float (n, D)
            Training rows as numbers.
        y_train : int (n,)
            Their classes, 0..K-1.
        values_validation : float (m, D)
            Rows that the predictor has not seen.
        y_validation : int (m,)
            Their classes.
        predictor : object
            With `predict_proba(values, mask)`; the additive interface or the shared network is faster.
        n_classes : int or None, default=None
            Number of classes; None: from the data.
        names : names or None, default=None
            Names of the features; None: x0, x1, ...
        class_weighted : bool, default=False
            Whether the predictor was trained with balanced class weights.
        panels : iterable of iterables of int, default=()
            Features that are revealed together, at the price of the one asked for.
        {progress}

        Returns
        -------
        PlanTree
            The object itself.
        """
        values = np.concatenate([values_train, values_validation]).astype(np.float64)
        classes = np.concatenate([y_train, y_validation]).astype(np.int64)
        self.classes_ = np.arange(int(classes.max()) + 1 if n_classes is None else int(n_classes))
        self.n_features_in_ = values.shape[1]
        prepare(self, number_encoder(values[: len(y_train)], names), (), (), "")
        shown = reveal_matrix(self.n_features_in_, [list(panel) for panel in panels])
        self.prices_ = replace(self.prices_, reveals=self.prices_.reveals | shown)
        copies = linear_copies(values[: len(y_train)], seed=int(self.random_state))
        self.copies_ = Copies.of(values, np.zeros_like(copies))
        judged = given_rows(predictor, len(y_train), len(y_validation), int(self.random_state))
        learn_tree(self, values, classes, judged, copies, class_weighted, False, progress)
        self.predictor_ = predictor
        return self

    @property
    def budget_curve_(self) -> list[BudgetPoint]:
        """What smaller budgets bring on the rows that confirmed the tree: loss, AUROC, money spent; made on demand."""
        check_fitted(self, "rule_")
        if self._curve is None:
            self._curve = budget_curve(self.rule_, self.judge_, self.judged_values_, self.checked_rows_, self.budget_)
        return self._curve

    @property
    def enough_(self) -> Enough | None:
        """From which probability a case may stop before its plan ends, by the judged rows; None with error costs."""
        check_fitted(self, "rule_")
        if self.error_costs_ is not None or self.spend_all:
            return None
        from synafa.plan.enough import enough_of

        values = np.ascontiguousarray(self.judged_values_, dtype=np.float64)
        seen = np.ascontiguousarray(np.broadcast_to(self.known_, values.shape))
        blocked = np.ascontiguousarray(np.broadcast_to(self.unavailable_, values.shape))
        return enough_of(self.judge_, self._episodes(values, seen, blocked, self.budget_)[0])

    @worded
    def acquire(self, X: Any, *, known: Cells = (), unavailable: Cells = (), budget: float | None = None) -> Run:
        """Run every row's episode to its end.

        Parameters
        ----------
        {episode}

        {run}
        """
        values = self.encode(X)
        n, names = len(values), self.encoder_.feature_names_
        limit = self.budget_ if budget is None else float(budget)
        if not limit >= 0:
            raise SynafaError(f"budget must be a number of at least 0, got: {budget!r}.")
        seen = np.ascontiguousarray(row_mask(known, names, n) | self.known_)
        blocked = np.ascontiguousarray(row_mask(unavailable, names, n) | self.unavailable_) & ~seen
        order, reasons, mask, cost = self._episodes(values, seen, blocked, limit)
        used = int((order >= 0).any(axis=0).sum())
        return Run(order[:, :used].copy(), reasons[:, :used].copy(), mask, cost, names, REASONS)

    def _episodes(
        self, values: np.ndarray, seen: np.ndarray, blocked: np.ndarray, limit: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Order, reasons, final mask and cost of encoded rows."""
        from synafa.plan.decide_kernels import acquire

        reveals = self.prices_.reveals
        alone = bool((reveals.sum(axis=1) == 1).all())
        return acquire(values, seen, blocked, limit, *self.rule_.arrays, reveals, alone, self._most_steps())

    def _propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from synafa.plan.decide_kernels import propose

        blocked = np.broadcast_to(self.unavailable_, mask.shape)
        return propose(values, mask, blocked, remaining, *self.rule_.arrays)

    @classmethod
    @worded
    def load(cls, path: str | os.PathLike[str]) -> PlanTree:
        """Read what `save` wrote.

        {stored_file}

        Returns
        -------
        PlanTree
            A fitted policy.

        Raises
        ------
        SynafaError
            When the file is none, is damaged or was written by a newer version.
        """
        from synafa.arrays import read_file

        return cls.from_arrays(*read_file(path, "plan-tree"))

    def _to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        from synafa.plan.store import to_arrays

        return to_arrays(self)

    @classmethod
    def _from_arrays(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Self:
        from synafa.plan.store import restore

        policy = cls()
        restore(policy, arrays, meta)
        policy.budget, policy.costs, policy.error_costs = meta["budget"], policy.prices_.price, policy.error_costs_
        policy.margin, policy.random_state = meta["margin_setting"], meta["seed"]
        policy.adaptive, policy.spend_all = meta["adaptive"], meta["spend_all"]
        if meta["named"]:
            policy.feature_names_in_ = np.asarray(policy.encoder_.feature_names_, dtype=object)
        return policy

    def _must_be_fitted(self) -> None:
        check_fitted(self, "rule_")

    def _most_steps(self) -> int:
        tree = self.tree_
        longest = int((tree.stop - tree.start).max()) + int(self.known_.sum()) + 64
        return min(len(self.known_), longest)
