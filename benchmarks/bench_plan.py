"""The plan tree: fitting with the shared network and with the package's own predictor, decisions in bulk and alone."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.measure import in_turns, line
from synafa import SynafaError
from synafa.datasets import load
from synafa.datasets.dataset import Dataset
from synafa.plan.plan_tree import PlanTree


def shared_network(name: str, budget: float, bar: float) -> PlanTree | None:
    """Fit on a dataset of the study with its network, which is trained briefly and not timed."""
    from synafa.neural.masked_mlp import MaskedMLP

    try:
        data: Dataset = load(name)
    except SynafaError as error:
        print(f"  {error}")
        return None
    network = MaskedMLP.fit(data, profile="quick")
    policy = PlanTree(budget=budget, costs=data.costs, spend_all=True)
    rows = data.X[data.train], data.y[data.train], data.X[data.validation], data.y[data.validation]
    _warm()
    start, work = time.perf_counter(), time.process_time()
    policy.fit_arrays(*rows, network, n_classes=data.n_classes, class_weighted=True)
    took, worked = time.perf_counter() - start, time.process_time() - work
    shape = f"{len(data.train):,} x {data.n_features}"
    line(f"fit at {shape}, budget {budget:g}, shared network", took, "s", bar)
    judged = policy.judge_.evaluations / 1e6
    print(f"  processor time {worked:.1f} s, {judged:.1f} million rows judged, {policy.tree_.n_leaves} leaves")
    return policy


def own_predictor(n: int = 10_000, d: int = 30) -> PlanTree:
    """Everything that `fit` does: predictors, tree, the predictor of all rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    logit = X[:, 0] + X[:, 1] * X[:, 2] + np.where(X[:, 3] > 0, X[:, 4] + X[:, 5], X[:, 6] + X[:, 7])
    y = (logit + rng.logistic(size=n) > 0).astype(int)
    told: list[str] = []
    _warm()
    start, work = time.perf_counter(), time.process_time()
    policy = PlanTree(budget=10).fit(X, y, progress=lambda share, text: told.append(text))
    took, worked = time.perf_counter() - start, time.process_time() - work
    line(f"fit at {n:,} x {d}, budget 10, own predictor", took, "s", 20.0)
    print(f"  processor time {worked:.1f} s, {policy.tree_.n_leaves} leaves, progress told {len(told)} times")
    return policy


def decisions(policy: PlanTree) -> None:
    """Decisions of many rows in their own states, whole episodes, and one case alone."""
    rng = np.random.default_rng(1)
    n, d = 100_000, policy.n_features_in_
    values, mask = rng.normal(size=(n, d)), rng.random((n, d)) < 0.2
    remaining = rng.uniform(0, 10, n)
    known = {f"x{j}": 0.5 for j in policy.tree_.plan()[:2]}
    batch, alone, told = in_turns(
        lambda: policy.propose(values, mask, remaining),
        lambda: policy.rule_.decide(values[0], mask[0], 5.0),
        lambda: policy.next_feature(known),
        rounds=5,
    )
    line("one decision of a batch of 100,000", 1e6 * batch / n, "us", 1.0)
    line("one decision alone", 1e3 * alone, "ms", 1.0)
    line("next_feature with reason and class probabilities", 1e3 * told, "ms", 1.0)
    (whole,) = in_turns(lambda: policy.acquire(values), rounds=3)
    line("a whole episode in a batch of 100,000", 1e6 * whole / n, "us")


def _warm() -> None:
    """Compile what is compiled on first use."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)

    class Constant:
        def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
            p = 1 / (1 + np.exp(-np.where(mask, values, 0.0)[:, 0]))
            return np.column_stack([1 - p, p])

    policy = PlanTree(budget=2, predictor=Constant()).fit(X, y)
    policy.acquire(X)


def main() -> None:
    decisions(own_predictor())
    shared_network("physionet", 10, 10.0)
    shared_network("mnist-loop", 20, 60.0)


if __name__ == "__main__":
    main()
