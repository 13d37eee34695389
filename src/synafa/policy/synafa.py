"""SynAFA: the acquisition policy as a scikit-learn estimator.

`fit` turns training rows into codes, counts and information tables; `acquire` runs whole episodes under a hard budget,
`next_feature` answers for one case, `propose` answers for a batch of states.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from synafa.errors import SynafaError
from synafa.graph.shape import MAX_DEPTH, MIN_SHARE, DecisionGraph
from synafa.information.codes import Discretizer
from synafa.information.planes import BinaryPlanes
from synafa.information.tables import InformationTables
from synafa.information.wide import PackedRows, WideTables, is_wide
from synafa.policy.branches import BRANCHES
from synafa.policy.estimator import Case, Cells, Names, PolicyEstimator, check_fitted, row_mask
from synafa.policy.make_rule import make_rule
from synafa.policy.many_rows import ManyRows
from synafa.policy.recommendation import Recommendation
from synafa.policy.rule import AFFORDABILITY, Rule, check_amount, name_mask
from synafa.policy.run import Run
from synafa.policy.wide_episodes import WideEpisodes
from synafa.policy.wide_rule import WideRule
from synafa.table.encoder import TableEncoder
from synafa.wording import worded


class SynAFA(PolicyEstimator):
    r"""Which feature next, from exact pairwise information: the study's policy.

    Parameters
    ----------
    budget : float, default=10
        Hard limit on the sum of costs of a row's acquired features.
    costs : None, array of D costs or mapping by name, default=None
        What measuring costs; None: all cost 1. Features left out of a mapping cost 1.
    cost_weight : float, default=0.01
        Bits that one unit of cost must promise; the study's lambda.
    pair_branch : bool, default=True
        Whether two unobserved features may be proposed together.
    affordability : {"strict", "pairs", "deployed"}, default="strict"
        "strict" never proposes what no longer fits the budget; "pairs" only drops pairs that do not fit together;
        "deployed" is the study's rule to the letter: a proposal that does not fit ends the episode.
    n_bins : int, default=2
        Bins of a feature, 2 to 16; 2 is the study's rule.
    prices : PriceList, path of its CSV or None, default=None
        Prices with panels and groups, in place of `costs`.

    Attributes
    ----------
    tables_ : InformationTables
        Information of the training rows; of very wide tables (from about 4,000 features) a `WideTables`, which gives
        rows of it.
    classes_ : array (K,)
        The class labels.
    rule_ : DecisionRule
        All that a decision depends on.
    codes_, y_ : uint8 (n, D) and int64 (n,)
        Codes and class indices of the training rows, from which decision graphs are counted; a missing cell has the
        code `n_bins`. A model that was read from a file has its decision graph instead.

    Notes
    -----
    With O the observed features, :math:`x_k` their codes, :math:`c_j` the cost of a feature and :math:`\lambda` the
    `cost_weight`, a feature and a pair of unobserved features score

    .. math::

       s_j = \max(I(X_j; Y), \max_{k \in O} I(Y; X_j \mid X_k = x_k)) - \lambda c_j

       s_{jk} = I(X_j, X_k; Y) - \lambda (c_j + c_k)

    The best score above zero wins, a pair only if strictly better than every feature; of a pair the member that tells
    more alone is acquired first. With panels and groups :math:`c` is the price now: the members of a panel come
    together for one price, and once a member of a group was paid the others cost their reduced price; what is observed
    and was not known at `fit` counts as paid. A score never falls, so a copy of a known feature keeps its own: for
    tables with much redundancy use `PlanTree`.

    A missing training cell (NaN, None) is left out. What a feature tells comes from the rows that have it; what a pair
    tells, and what a value of one makes of the other, from the rows that have both; where these are fewer than 50 and
    less than half of all, it counts as nothing, for so few rows seem to tell much by chance alone. A feature that is
    asked and gives no result is paid, tells nothing and is not asked again. The study's datasets come with their
    missing cells filled by column means, so this changes none of its numbers.

    References
    ----------
    .. [1] J. Li, M. A. Dhali, H. R. Bouma, "When Does Synergy Help Active Feature Acquisition? A PID-Based Study".

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, size=(400, 4)).astype(float)
    >>> y = X[:, 1].astype(int) ^ X[:, 3].astype(int)
    >>> policy = SynAFA(budget=2).fit(X, y)
    >>> policy.acquire(X[:3]).order.tolist()
    [[3, 1], [3, 1], [3, 1]]
    >>> policy.next_feature({"x3": 1}).branch
    'conditional'
    """

    classes_: np.ndarray
    rule_: Rule
    tables_: InformationTables | WideTables
    y_: np.ndarray
    _prepared: ManyRows | WideEpisodes | None = None
    _codes: np.ndarray | BinaryPlanes  # absent in a model that was read from a file
    _counted: Any  # what a file holds of the decision graph

    reason_names = BRANCHES

    @property
    def kind(self) -> str:  # type: ignore[override]
        """What its file is called inside."""
        return "wide-policy" if isinstance(getattr(self, "rule_", None), WideRule) else "policy"

    def __init__(
        self,
        budget: float = 10,
        costs: Any = None,
        cost_weight: float = 0.01,
        pair_branch: bool = True,
        affordability: str = "strict",
        n_bins: int = 2,
        prices: Any = None,
    ) -> None:
        self.budget, self.costs, self.cost_weight = budget, costs, cost_weight
        self.pair_branch, self.affordability, self.n_bins, self.prices = pair_branch, affordability, n_bins, prices

    @worded
    def fit(
        self, X: Any, y: Any = None, *, known: Names = (), unavailable: Names = (), target: str = "",
        progress: Any = None,
    ) -> SynAFA:  # fmt: skip
        """Learn codes and information tables from training rows.

        Parameters
        ----------
        {training}
        progress : function or None, default=None
            Called as `progress(share, text)` while the pairs of a very wide table are counted.

        Returns
        -------
        SynAFA
            The object itself.

        Raises
        ------
        SynafaError
            When a setting, a name, a cost or the table cannot be used; the sentence names it.

        Notes
        -----
        Where counts and tables of all pairs would take more than 1 GiB (from about 4,000 features in two bins and two
        classes), only what decisions can reach is kept. The decisions are the same to the last bit.
        """
        self._check_settings()
        encoder, values = self._encode_training(X, y)
        self.n_features_in_ = values.shape[1]
        self.y_ = self._take_classes(y, len(values))
        planes = BinaryPlanes.from_values(values, self.y_) if self.n_bins == 2 else None
        discretizer = Discretizer(self.n_bins)
        if planes is not None:
            if encoder is None:
                encoder = TableEncoder.of_means(planes.means)
            discretizer.edges_, discretizer.fill_ = planes.edges, encoder.fill_values_
            self._codes = planes
        else:
            discretizer.fit(values)
            if encoder is None:
                encoder = TableEncoder.of_means(discretizer.fill_)
            discretizer.fill_ = encoder.fill_values_  # for text: the most frequent category
            self._codes = discretizer.transform(values, missing="own")
        self.tables_ = self._tables()
        return self._finish(encoder, discretizer, known, unavailable, target, progress)

    def _tables(self) -> InformationTables | WideTables:
        """The tables of the training rows, whole or in rows."""
        codes, k, bins = self._codes, len(self.classes_), self.n_bins
        if isinstance(codes, BinaryPlanes):
            if is_wide(self.n_features_in_, 2, k):
                return WideTables.from_rows(PackedRows.from_planes(codes))
            return InformationTables.from_counts(codes.counts())
        missing = bool(codes.max() >= bins)
        if is_wide(self.n_features_in_, bins, k, missing):
            return WideTables.from_rows(PackedRows.from_codes(codes, self.y_, k, bins, missing))
        return InformationTables.from_codes(codes, self.y_, bins, missing)

    def fit_stream(
        self,
        source: Any,
        target: str,
        *,
        known: Names = (),
        unavailable: Names = (),
        drop: Names = (),
        edges: Any = "exact",
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Any = None,
    ) -> SynAFA:
        """Learn from a table that is read batch by batch, with the numbers that `fit` of the whole table gives.

        Parameters
        ----------
        source : files, folder, pattern, lazy frame or Arrow stream
            A pattern is such as `"data/*.parquet"`; anything that streams Arrow record batches will do (DuckDB
            relations, pyarrow datasets and readers).
        target : str
            The column that holds the class.
        known, unavailable : str or names, default=()
            As for `fit`.
        drop : str or names, default=()
            Columns to leave out.
        edges : {"exact", "sample"} or mapping, default="exact"
            As for `synafa.stream.passes.stream_counts`.
        checkpoint : str, path or None, default=None
            File from which an interrupted count goes on.
        progress : function or None, default=None
            As for `synafa.stream.passes.stream_counts`.

        Returns
        -------
        SynAFA
            The object itself.

        Notes
        -----
        Codes and classes of the first 100,000 rows are kept, for decision graphs.

        Examples
        --------
        >>> import polars as pl
        >>> table = pl.LazyFrame({"a": [0, 0, 1, 1] * 50, "b": [0, 1, 0, 1] * 50, "y": [0, 1, 1, 0] * 50})
        >>> SynAFA(budget=2).fit_stream(table, "y").next_feature().branch
        'pair'
        """
        from synafa.stream.passes import stream_counts

        self._check_settings()
        found = stream_counts(
            source,
            target,
            n_bins=self.n_bins,
            drop=(drop,) if isinstance(drop, str) else tuple(drop),
            edges=edges,
            checkpoint=checkpoint,
            progress=progress,
        )
        return self.from_streamed(found, known=known, unavailable=unavailable, target=target)

    def from_streamed(
        self, found: Any, *, known: Names = (), unavailable: Names = (), target: str = "the class"
    ) -> SynAFA:
        """Fit to counts that were taken from a stream, here or on a cluster.

        Parameters
        ----------
        found : Streamed
            What `stream_counts` or `cluster_counts` returned, with as many bins as this policy.
        known, unavailable : str or names, default=()
            As for `fit`.
        target : str, default="the class"
            What the class is called.

        Returns
        -------
        SynAFA
            The object itself.
        """
        self._check_settings()
        names = found.encoder.feature_names_
        self.n_features_in_, self.feature_names_in_ = len(names), np.asarray(names, dtype=object)
        self.classes_, self.y_, self._codes = found.counts.classes, found.y, found.codes
        self.tables_ = InformationTables.from_counts(found.counts)
        discretizer = Discretizer(self.n_bins)
        discretizer.edges_, discretizer.fill_ = found.edges, found.encoder.fill_values_
        return self._finish(found.encoder, discretizer, known, unavailable, target)

    def _finish(
        self,
        encoder: TableEncoder,
        discretizer: Discretizer,
        known: Names,
        unavailable: Names,
        target: str,
        progress: Any = None,
    ) -> SynAFA:
        """Make the rule of what was learnt."""
        self.rule_ = make_rule(
            self.tables_,
            encoder,
            known=known,
            costs=self.costs,
            prices=self.prices,
            progress=progress,
            classes=tuple(self.classes_.tolist()),
            edges=discretizer.edges_,
            unavailable=name_mask(unavailable, encoder.feature_names_),
            budget=float(self.budget),
            cost_weight=float(self.cost_weight),
            pair_branch=bool(self.pair_branch),
            affordability=self.affordability,
            target=target or "the class",
        )
        self._discretizer = discretizer
        return self

    @worded
    def acquire(
        self,
        X: Any,
        *,
        known: Cells = (),
        unavailable: Cells = (),
        budget: float | None = None,
        on_stop: str = "stop",
    ) -> Run:
        """Run every row's episode to its end.

        Parameters
        ----------
        {episode}
        on_stop : {"stop", "fallback"}, default="stop"
            "stop" ends an episode when no proposal is above zero; "fallback" then acquires the lowest-index feature
            that is left, as the study's hard-budget harness does.

        {run}
        """
        check_fitted(self, "rule_")
        if on_stop not in ("stop", "fallback"):
            raise SynafaError(f"on_stop must be 'stop' or 'fallback', got: {on_stop!r}.")
        rule = self.rule_
        limit = rule.budget if budget is None else check_amount("budget", budget)
        codes = self.codes(X)
        n = len(codes)
        seen = row_mask(known, rule.feature_names, n) | rule.known
        blocked = row_mask(unavailable, rule.feature_names, n) | rule.unavailable
        blocked = blocked & ~seen
        force = on_stop == "fallback"
        order, branch, mask, cost = self._many().acquire(codes, seen, blocked, limit, force)
        used = int((order >= 0).any(axis=0).sum())
        return Run(order[:, :used].copy(), branch[:, :used].copy(), mask, cost, rule.feature_names)

    @worded
    def next_feature(
        self, observed: Case = None, *, remaining: float | None = None, unavailable: Names = ()
    ) -> Recommendation:
        """What to measure next for one case, and why.

        Parameters
        ----------
        observed : mapping or None, default=None
            Values by feature name, as they are in the training table, None for a measurement without a result; None:
            nothing is known yet.
        {left}

        Returns
        -------
        Recommendation
            `feature` (None: stop), `cost`, `why` or `stop_reason`, `information` in bits, and `text`, the same in a
            sentence.

        Raises
        ------
        SynafaError
            When a name or a value is unknown, `remaining` is no amount, or the policy is not fitted.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X = rng.integers(0, 2, size=(400, 3)).astype(float)
        >>> policy = SynAFA(budget=1).fit(X, X[:, 2].astype(int), target="the outcome")
        >>> print(policy.next_feature().text)
        Measure x2 (cost 1): it tells 1.000 bits about the outcome by itself.
        >>> policy.next_feature({"x0": 1.0}, remaining=0.5).stop_reason
        'unaffordable'
        """
        check_fitted(self, "rule_")
        return self.rule_.next_feature(observed, remaining=remaining, unavailable=unavailable)

    def _propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._many().propose(self._discretizer.transform(values, missing="own"), mask, remaining)

    @property
    def codes_(self) -> np.ndarray:
        """Codes of the training rows, uint8 (n, D), `n_bins` for a missing cell; unpacked when first asked for."""
        if not hasattr(self, "_codes"):
            raise SynafaError("A model that was read from a file holds no training rows; fit it again for them.")
        if isinstance(self._codes, BinaryPlanes):
            self._codes = self._codes.codes()
        return self._codes

    @property
    def encoder_(self) -> TableEncoder:  # type: ignore[override]
        """What turns a table into numbers."""
        return self.rule_.encoder

    @property
    def target_(self) -> str:
        """What the class is called."""
        return self.rule_.target

    @property
    def uses_remaining(self) -> bool:
        """Whether decisions depend on the remaining budget: those of the fitted rule, whatever was set since."""
        rule = getattr(self, "rule_", None)
        return (self.affordability if rule is None else rule.affordability) != "deployed"

    @worded
    def decision_graph(self, max_depth: int = MAX_DEPTH, min_share: float = MIN_SHARE) -> DecisionGraph:
        """Draw the policy as a finite graph of states, counted on the training rows.

        {graph}

        Raises
        ------
        SynafaError
            When the policy is not fitted or a limit is out of range.
        """
        from synafa.policy.graph import build_graph

        check_fitted(self, "rule_")
        if not hasattr(self, "_codes"):
            return self._counted.view(max_depth, min_share)
        return build_graph(self.rule_, self.codes_, self.y_, max_depth=max_depth, min_share=min_share)

    def _to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        from synafa.policy.policy_store import to_arrays

        return to_arrays(self)

    @classmethod
    def _from_arrays(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Self:
        from synafa.policy.policy_store import restore

        return restore(cls(), arrays, meta)

    def _check_settings(self) -> None:
        check_amount("budget", self.budget)
        check_amount("cost_weight", self.cost_weight)
        if self.affordability not in AFFORDABILITY:
            raise SynafaError(f"affordability must be one of {list(AFFORDABILITY)}, got: {self.affordability!r}.")

    def codes(self, X: Any) -> np.ndarray:
        """Codes of new rows.

        Parameters
        ----------
        X : DataFrame or array (n, D)
            Rows as `encode` takes them.

        Returns
        -------
        uint8 (n, D)
            How many of its feature's edges each value exceeds; `n_bins` for a missing cell.
        """
        return self._discretizer.transform(self.encode(X), missing="own")

    def _many(self) -> ManyRows | WideEpisodes:
        """The rule for many rows, prepared once."""
        if self._prepared is None or self._prepared.rule is not self.rule_:
            wide = isinstance(self.rule_, WideRule)
            self._prepared = WideEpisodes(self.rule_) if wide else ManyRows(self.rule_)  # type: ignore[arg-type]
        return self._prepared
