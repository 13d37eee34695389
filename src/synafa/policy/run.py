"""What a policy did with a set of rows: which feature at which step, why, at what cost, and how each row ended.

The first steps whose summed cost fits a smaller budget are the run of that budget, for a policy that does not look at
the remaining budget.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa import notebook
from synafa.arrays import read_file, write_file
from synafa.errors import SynafaError
from synafa.money.prices import TOLERANCE
from synafa.policy.branches import BRANCHES

if TYPE_CHECKING:
    import polars as pl

ENDINGS = ("spent", "stop", "unaffordable", "complete")
SPENT, STOP, UNAFFORDABLE, COMPLETE = range(4)
_KIND = "run"
_NO_GROUPS: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Run:
    """Acquisitions of n rows.

    What a policy does by itself (`SynAFA.acquire`) fills the fields up to `branch_names`; the evaluation harness fills
    all of them.

    Attributes
    ----------
    order : int32 (n, steps)
        The feature acquired at each step, -1 after the last.
    branch : int8 (n, steps)
        Why, as an index into `branch_names`, -1 after the last step.
    mask : bool (n, D)
        Everything known at the end, what was known at the start included.
    cost : float64 (n,)
        Money spent.
    feature_names : tuple of str
        D names.
    branch_names : tuple of str
        The reasons of a step.
    step_cost : float64 (n, steps) or None
        Money spent at each step, 0 after the last.
    ending : int8 (n,) or None
        Index into `ENDINGS`: no hidden feature is affordable, the policy stopped, the choice was not affordable,
        nothing is hidden.
    probabilities : float32 (n, steps + 1, K) or None
        What the classifier said with nothing measured and after each step; None without a classifier.
    rows, y : int64 (n,) or None
        The dataset's rows and their classes.
    feature_costs : float64 (D,) or None
        The price of each feature.
    groups : tuple of tuple of int, default ()
        Features that are revealed together.
    policy, dataset : str, default ""
        The policy's name and the dataset's key.
    budget : float, default inf
        What a row could spend.
    forced : bool, default True
        Whether a stop was replaced by the fallback.
    uses_remaining : bool, default True
        Whether the policy may look at the remaining budget (then no prefix is valid).

    Examples
    --------
    >>> from synafa import SynAFA
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]] * 10)
    >>> run = SynAFA(budget=1).fit(X, X[:, 0].astype(int)).acquire(X)
    >>> run.order[0].tolist(), run.cost[0].item(), [run.branch_names[b] for b in run.branch[0]]
    ([0], 1.0, ['single'])
    """

    order: np.ndarray
    branch: np.ndarray
    mask: np.ndarray
    cost: np.ndarray
    feature_names: tuple[str, ...]
    branch_names: tuple[str, ...] = BRANCHES
    step_cost: np.ndarray | None = None
    ending: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    rows: np.ndarray | None = None
    y: np.ndarray | None = None
    feature_costs: np.ndarray | None = None
    groups: tuple[tuple[int, ...], ...] = _NO_GROUPS
    policy: str = ""
    dataset: str = ""
    budget: float = np.inf
    forced: bool = True
    uses_remaining: bool = True

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.mask)

    @property
    def n_steps(self) -> int:
        """Number of steps of the longest row."""
        return self.order.shape[1]

    @property
    def n_acquired(self) -> np.ndarray:
        """How many features each row acquired, int64 (n,)."""
        return (self.order >= 0).sum(axis=1)

    @property
    def used_fallback(self) -> np.ndarray:
        """Whether a stop was replaced by the lowest-index hidden feature at least once, bool (n,)."""
        if "fallback" not in self.branch_names:
            return np.zeros(self.n_rows, dtype=bool)
        return (self.branch == self.branch_names.index("fallback")).any(axis=1)

    @property
    def final_probabilities(self) -> np.ndarray:
        """Class probabilities at the end of each row, float32 (n, K)."""
        return self._recorded("probabilities")[:, -1]

    @property
    def predictions(self) -> np.ndarray:
        """The most probable class at the end of each row, int64 (n,)."""
        return self.final_probabilities.argmax(axis=1)

    def distinct_sets(self) -> tuple[np.ndarray, np.ndarray]:
        """Find the distinct sets of known features.

        Returns
        -------
        sets : bool (m, D)
            Each set once, most frequent first.
        counts : int64 (m,)
            How many rows have each.
        """
        sets, counts = np.unique(self.mask, axis=0, return_counts=True)
        by_count = np.argsort(-counts, kind="stable")
        return sets[by_count], counts[by_count]

    def _repr_html_(self) -> str:
        """The most frequent ways through the features, for a notebook."""
        n = len(self.order)
        rows = notebook.counted(n, "row")
        if n == 0:
            return notebook.card(f"{rows}.")
        ways: dict[tuple[int, ...], list[int]] = {}
        for i, order in enumerate(self.order.tolist()):
            ways.setdefault(tuple(j for j in order if j >= 0), []).append(i)
        frequent = sorted(ways.items(), key=lambda way: -len(way[1]))
        lines = [
            [
                " → ".join(self.feature_names[j] for j in way) or "nothing",
                f"{len(who):,}",
                f"{self.cost[who].mean():.2f}",
            ]
            for way, who in frequent[: notebook.SHOWN]
        ]
        more = len(frequent) - len(lines)
        caption = f"{rows}, {self.n_acquired.mean():.2f} features and a cost of {self.cost.mean():.2f} each on average."
        foot = f"and {notebook.counted(more, 'more way', 'more ways')}" if more else ""
        return notebook.card(caption, notebook.small_table(["acquired", "rows", "mean cost"], lines, foot))

    def ended(self, how: int) -> np.ndarray:
        """Whether each row ended in a given way.

        Parameters
        ----------
        how : int
            `SPENT`, `STOP`, `UNAFFORDABLE` or `COMPLETE`.

        Returns
        -------
        bool (n,)
            One entry a row.

        Raises
        ------
        SynafaError
            When the run was not recorded by the harness.
        """
        return self._recorded("ending") == how

    def at(self, budget: float) -> Run:
        """What the same policy does under a smaller budget.

        Parameters
        ----------
        budget : float
            At most the budget of this run.

        Returns
        -------
        Run
            The first steps whose summed cost fits.

        Raises
        ------
        SynafaError
            If the policy looks at the remaining budget, for its decisions under a smaller one may differ.
        """
        if budget == self.budget:
            return self
        if budget > self.budget:
            raise SynafaError(f"Episodes run at budget {self.budget:g} cannot be read at the larger budget {budget:g}.")
        if self.uses_remaining:
            raise SynafaError(
                f"Policy {self.policy!r} may look at the remaining budget; run it again at budget {budget:g} "
                f"instead of reading a prefix."
            )
        step_cost = self._recorded("step_cost")
        taken = self.order >= 0
        kept = taken & (np.cumsum(step_cost, axis=1) <= budget + TOLERANCE)
        steps = int(kept.sum(axis=1).max(initial=0))
        order = np.where(kept, self.order, -1)[:, :steps]
        mask = known(order, self.mask.shape[1], self.groups)
        step_cost = np.where(kept, step_cost, 0.0)[:, :steps]
        left = budget - step_cost.sum(axis=1)
        ending = np.where((taken & ~kept).any(axis=1), UNAFFORDABLE, self._recorded("ending"))
        ending = np.where(cheapest_hidden(mask, self._recorded("feature_costs")) > left + TOLERANCE, SPENT, ending)
        ending = np.where(mask.all(axis=1), COMPLETE, ending)
        probabilities = None
        if self.probabilities is not None:
            # step t of the prefix, or the row's last kept step when it ended earlier
            step = np.minimum(np.arange(steps + 1)[None, :], kept.sum(axis=1)[:, None])
            probabilities = np.take_along_axis(self.probabilities, step[:, :, None], axis=1)
        return replace(
            self,
            budget=float(budget),
            order=order,
            branch=np.where(kept, self.branch, -1)[:, :steps].astype(np.int8),
            mask=mask,
            cost=step_cost.sum(axis=1),
            step_cost=step_cost,
            ending=ending.astype(np.int8),
            probabilities=probabilities,
        )

    def to_frame(self) -> pl.DataFrame:
        """One line per row and step; step 0, with a null feature, is the state in which nothing is measured.

        Returns
        -------
        polars.DataFrame
            Columns dataset, policy, budget, row, y, step, feature, reason, cost, spent, last, ending and the class
            probabilities, where there are any.
        """
        import polars as pl

        n = self.n_rows
        there = np.column_stack([np.ones(n, dtype=bool), self.order >= 0])
        feature = np.column_stack([np.full(n, -1, dtype=np.int32), self.order])
        cost = np.column_stack([np.zeros(n), self._recorded("step_cost")])
        reason = np.column_stack([np.full(n, -1, dtype=np.int8), self.branch])
        where, step = np.nonzero(there)
        names = np.array([*self.branch_names, None], dtype=object)
        columns: dict[str, Any] = {
            "row": self._recorded("rows")[where],
            "y": self._recorded("y")[where],
            "step": step.astype(np.int32),
            "feature": pl.Series(feature[there]).replace(-1, None),
            "reason": pl.Series(names[reason[there]].tolist(), dtype=pl.String),
            "cost": cost[there],
            "spent": np.cumsum(cost, axis=1)[there],
            "last": step == self.n_acquired[where],
            "ending": pl.Series(np.array(ENDINGS)[self._recorded("ending")[where]].tolist(), dtype=pl.String),
        }
        if self.probabilities is not None:
            visible = self.probabilities[there]
            columns |= {f"p_{k}": visible[:, k] for k in range(visible.shape[1])}
        return pl.DataFrame(columns).select(
            pl.lit(self.dataset).alias("dataset"),
            pl.lit(self.policy).alias("policy"),
            pl.lit(float(self.budget)).alias("budget"),
            pl.all(),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as one safetensors file.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        meta = {name: value for name, value in values.items() if name not in arrays and value is not None}
        write_file(path, _KIND, arrays, meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Run:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or path
            The file to read.

        Returns
        -------
        Run
            The run that was saved.

        Raises
        ------
        SynafaError
            When the file is none or lacks a part.
        """
        arrays, meta = read_file(path, _KIND)
        values: dict[str, Any] = {**meta, **arrays}
        if not {"order", "branch", "mask", "cost"} <= set(arrays):
            raise SynafaError(f"{os.fspath(path)!r} lacks a part of the episodes; run the policy again.")
        for name in ("feature_names", "branch_names"):
            values[name] = tuple(meta[name])
        values["groups"] = tuple(tuple(group) for group in meta["groups"])
        return cls(**values)

    def _recorded(self, name: str) -> Any:
        """An array that not every run has."""
        found = getattr(self, name)
        if found is None:
            way = "with a classifier" if name == "probabilities" else "by synafa.evaluation.run_policy"
            raise SynafaError(f"This run carries no {name.replace('_', ' ')}; run the policy {way}.")
        return found


def cheapest_hidden(mask: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """The smallest cost among the hidden features of each row; infinite where nothing is hidden."""
    return np.where(mask, np.inf, costs).min(axis=1, initial=np.inf)


def known(order: np.ndarray, n_features: int, groups: tuple[tuple[int, ...], ...] = ()) -> np.ndarray:
    """bool (n, D): what acquiring the features of `order` (n, steps) reveals."""
    mask = np.zeros((len(order), n_features), dtype=bool)
    row, step = np.nonzero(order >= 0)
    mask[row, order[row, step]] = True
    for group in groups:
        members = list(group)
        mask[:, members] |= mask[:, members].any(axis=1, keepdims=True)
    return mask
