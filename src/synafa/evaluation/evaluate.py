"""Policies on one dataset to tidy tables: every metric per policy and budget, and paired differences with intervals.

A policy that does not look at the remaining budget runs once, at the largest; its smaller budgets are prefixes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError
from synafa.evaluation.harness import Rows, run_compiled, run_policy, select_rows
from synafa.evaluation.metrics import acquired_sets, prediction_metrics, threshold_matched_difference
from synafa.evaluation.protocols import Classifier, Policy
from synafa.files import atomic_path
from synafa.policy.run import COMPLETE, STOP, UNAFFORDABLE, Run

PolicyOrPerBudget = Policy | Mapping[float, Policy]
Progress = Callable[[float, str], None]
_AUROC_RESAMPLES = 1000  # a resampled AUROC costs a pass over the rows; the counts behind an accuracy do not


def evaluate(
    policies: Mapping[str, PolicyOrPerBudget],
    dataset: Dataset,
    classifier: Classifier,
    budgets: Iterable[float] | None = None,
    rows: Rows = "test",
    forced: bool = True,
    profile: str | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """One line per policy and budget with every metric.

    Parameters
    ----------
    policies : name to policy, or to one policy per budget
    budgets : hard budgets; None takes the dataset's own
    rows : row indices, or "train", "validation", "test"
    forced : replace a stop by the lowest-index hidden feature (the corrected harness)
    profile : recorded in the table; None takes the policy's own, else the classifier's
    output : also write the table there, as Parquet
    """
    return Evaluation(policies, dataset, classifier, budgets, forced, profile, progress).table(rows, output)


class Evaluation:
    """Runs policies on a dataset and keeps what it ran, so that tables and comparisons share the runs.

    The classifier is asked once a row, at its end; it may be None where only the acquisitions are wanted (`runs`).
    `compiled` runs SynAFA by its own compiled episodes: the same acquisitions sooner, without how each row ended, which
    `table` needs.
    """

    def __init__(
        self,
        policies: Mapping[str, PolicyOrPerBudget],
        dataset: Dataset,
        classifier: Classifier | None,
        budgets: Iterable[float] | None = None,
        forced: bool = True,
        profile: str | None = None,
        progress: Progress | None = None,
        compiled: bool = False,
    ) -> None:
        self.policies, self.dataset, self.classifier, self.forced = dict(policies), dataset, classifier, forced
        self.budgets = tuple(sorted({float(b) for b in (dataset.budgets if budgets is None else budgets)}))
        if not self.policies or not self.budgets:
            raise SynafaError("An evaluation needs at least one policy and one budget.")
        for name, given in self.policies.items():
            missing = [b for b in self.budgets if isinstance(given, Mapping) and b not in given]
            if missing:
                raise SynafaError(f"Policy {name!r} has no model for budget {missing[0]:g}; train one.")
        self._profile, self._progress, self._compiled = profile, progress, compiled
        self._ran: dict[tuple[str, bytes], dict[float, Run]] = {}

    def runs(self, name: str, rows: Rows = "test") -> dict[float, Run]:
        """What one policy does at each budget, without probabilities."""
        chosen = select_rows(self.dataset, rows)
        key = (name, chosen.tobytes())
        if key not in self._ran:
            if self._progress is not None:
                part = f" on {rows} rows" if isinstance(rows, str) else ""
                self._progress(len(self._ran) / (2 * len(self.policies)), f"{name}{part}")
            self._ran[key] = self._run(self.policies[name], chosen)
        return self._ran[key]

    def judged(self, name: str, rows: Rows = "test") -> dict[float, Run]:
        """The same runs with the classifier's probabilities at the end of each row."""
        chosen = select_rows(self.dataset, rows)
        done = self.runs(name, rows)
        if any(run.probabilities is None for run in done.values()):
            done = {budget: self._judge(run, chosen) for budget, run in done.items()}
            self._ran[name, chosen.tobytes()] = done
        return done

    def _judge(self, run: Run, rows: np.ndarray) -> Run:
        if self.classifier is None:
            raise SynafaError("Predictions need a classifier; give one to the evaluation.")
        values = np.where(run.mask, self.dataset.X[rows], 0)
        probabilities = np.asarray(self.classifier.predict_proba(values, run.mask), dtype=np.float32)
        return replace(run, probabilities=probabilities[:, None])

    def table(self, rows: Rows = "test", output: str | os.PathLike[str] | None = None) -> pl.DataFrame:
        """One line per policy and budget: n, every metric, mean cost, acquired sets, and how rows ended."""
        y = self.dataset.y[select_rows(self.dataset, rows)]
        lines = []
        for name in self.policies:
            for budget, run in self.judged(name, rows).items():
                sets, majority = acquired_sets(run.mask)
                lines.append(
                    self._start(name, budget)
                    | {"n": len(y), **prediction_metrics(y, run.final_probabilities)}
                    | {
                        "mean_cost": _mean(run.cost),
                        "distinct_sets": sets,
                        "majority_set_share": majority,
                        "fallback_share": _mean(run.used_fallback),
                        "stop_share": _mean(run.ended(STOP)),
                        "unaffordable_share": _mean(run.ended(UNAFFORDABLE)),
                        "forced": self.forced,
                        "profile": self._profile_of(name, budget),
                    }
                )
        return _written(pl.DataFrame(lines), output)

    def compare(
        self,
        policy: str,
        rows: Rows = "test",
        n_resamples: int = 10_000,
        seed: int = 0,
        output: str | os.PathLike[str] | None = None,
    ) -> pl.DataFrame:
        """Paired differences, `policy` minus each of the others (`against`), on the same rows.

        Columns `<metric>`, `<metric>_against`, `<metric>_difference`, `_low`, `_high`, `_pvalue` (95 % percentile
        intervals of the paired bootstrap) for accuracy, balanced accuracy and AUROC; and, for two classes,
        `matched_...`: the accuracy difference with both thresholds set on the validation rows to the validation rows'
        positive rate.
        """
        if policy not in self.policies:
            raise SynafaError(f"`policy` must be one of {', '.join(self.policies)}, got: {policy!r}.")
        y = self.dataset.y[select_rows(self.dataset, rows)]
        lines = []
        for name in self.policies:
            if name == policy:
                continue
            for budget in self.budgets:
                a, b = (self.judged(which, rows)[budget].final_probabilities for which in (policy, name))
                line = self._start(policy, budget) | {"against": name, "n": len(y)}
                line |= _differences(y, a, b, n_resamples, seed)
                if a.shape[1] == 2:
                    line |= self._matched(policy, name, budget, (y, a, b), n_resamples, seed)
                lines.append(line | {"forced": self.forced, "profile": self._profile_of(name, budget)})
        return _written(pl.DataFrame(lines), output)

    def _matched(self, policy: str, name: str, budget: float, test: Any, n_resamples: int, seed: int) -> dict[str, Any]:
        validation = [self.judged(which, "validation")[budget].final_probabilities for which in (policy, name)]
        y = self.dataset.y[self.dataset.validation]
        result = threshold_matched_difference((y, validation[0], validation[1]), test, None, n_resamples, seed)
        return {
            "matched": result.accuracy_a,
            "matched_against": result.accuracy_b,
            "matched_difference": result.difference,
            "matched_low": result.low,
            "matched_high": result.high,
            "matched_pvalue": result.pvalue,
            "matched_share": result.share,
        }

    def _run(self, given: PolicyOrPerBudget, rows: np.ndarray) -> dict[float, Run]:
        if isinstance(given, Mapping):
            return {budget: self._run_one(given[budget], rows, budget) for budget in self.budgets}
        if getattr(given, "ignores_budget", False):
            return dict.fromkeys(self.budgets, self._everything(rows))
        # a prefix of a run is the run of a smaller budget only where prices stay as they are
        if self._steps(given) and not getattr(given, "uses_remaining", True) and self.dataset.prices is None:
            largest = self._run_one(given, rows, self.budgets[-1])
            return {budget: largest.at(budget) for budget in self.budgets}
        return {budget: self._run_one(given, rows, budget) for budget in self.budgets}

    def _run_one(self, policy: Policy, rows: np.ndarray, budget: float) -> Run:
        if self._steps(policy):
            return run_policy(policy, self.dataset, rows, budget, forced=self.forced)
        return run_compiled(policy, self.dataset, rows, budget, self.forced)

    def _steps(self, policy: Policy) -> bool:
        """Whether the harness steps through this policy's episodes."""
        return not (self._compiled and hasattr(policy, "acquire"))

    def _everything(self, rows: np.ndarray) -> Run:
        """Every feature at once, without stepping through them."""
        data = self.dataset
        n = len(rows)
        return Run(
            order=np.zeros((n, 0), dtype=np.int32),
            branch=np.zeros((n, 0), dtype=np.int8),
            mask=np.ones((n, data.n_features), dtype=bool),
            cost=np.full(n, data.full_cost),
            feature_names=data.feature_names,
            ending=np.full(n, COMPLETE, dtype=np.int8),
            rows=rows,
            y=data.y[rows],
            dataset=data.key,
        )

    def _start(self, name: str, budget: float) -> dict[str, Any]:
        data = self.dataset
        parameters = {key: float(value) for key, value in data.parameters}
        return {"dataset": data.name, "instance": data.instance, **parameters, "policy": name, "budget": budget}

    def _profile_of(self, name: str, budget: float) -> str | None:
        given = self.policies[name]
        policy = given[budget] if isinstance(given, Mapping) else given
        found = self._profile or getattr(policy, "profile", None) or getattr(self.classifier, "profile", None)
        return None if found is None else str(found)


def _differences(y: np.ndarray, a: np.ndarray, b: np.ndarray, n_resamples: int, seed: int) -> dict[str, Any]:
    from synafa.stats import paired_bootstrap, paired_bootstrap_statistic

    metrics_a, metrics_b = prediction_metrics(y, a), prediction_metrics(y, b)
    hits_a, hits_b = a.argmax(axis=1), b.argmax(axis=1)
    results: dict[str, Any] = {
        "accuracy": paired_bootstrap(hits_a == y, hits_b == y, n_resamples=n_resamples, seed=seed),
        "balanced_accuracy": paired_bootstrap_statistic(
            hits_a, hits_b, y, "balanced_accuracy", n_resamples=n_resamples, seed=seed
        ),
        "auroc": None,
    }
    if a.shape[1] == 2 and len(np.unique(y)) == 2:
        few = min(n_resamples, _AUROC_RESAMPLES)
        results["auroc"] = paired_bootstrap_statistic(a[:, 1], b[:, 1], y, "auroc", n_resamples=few, seed=seed)
    line: dict[str, Any] = {}
    for metric, result in results.items():
        line |= {
            metric: metrics_a[metric],
            f"{metric}_against": metrics_b[metric],
            f"{metric}_difference": metrics_a[metric] - metrics_b[metric],
            f"{metric}_low": result.low if result is not None else None,
            f"{metric}_high": result.high if result is not None else None,
            f"{metric}_pvalue": result.pvalue if result is not None else None,
        }
    return line


def _written(table: pl.DataFrame, output: str | os.PathLike[str] | None) -> pl.DataFrame:
    if output is not None:
        with atomic_path(output) as temporary:
            table.write_parquet(temporary)
    return table


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
