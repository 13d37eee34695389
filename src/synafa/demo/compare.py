"""The demonstration's two tables, and how often each policy is right on them at every budget.

The study's XOR sweep, where two features tell nothing alone and everything together, and scikit-learn's breast-cancer
measurements. The same predictor, trained under random masks, judges what every policy has measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synafa.analysis.pairs import PairAtoms, rank_pairs
from synafa.datasets.dataset import Dataset
from synafa.demo.policies import POLICIES, MaskedPredictor, fitted_policy
from synafa.evaluation import Evaluation
from synafa.policy.synafa import SynAFA
from synafa.stats import paired_bootstrap, wilson_interval

if TYPE_CHECKING:
    import polars as pl

Tick = Callable[[str], None]


@dataclass(frozen=True)
class Task:
    """A table to show: values, class indices, names, costs, the budgets to try, and (train, test) row sets."""

    title: str
    story: str
    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    costs: np.ndarray
    budgets: tuple[float, ...]
    folds: tuple[tuple[np.ndarray, np.ndarray], ...]
    target: str

    def dataset(self, train: np.ndarray, test: np.ndarray) -> Dataset:
        """The table with one fold's rows."""
        nothing = np.zeros(0, dtype=np.int64)
        return Dataset(
            self.title, 0, self.X, self.y, self.feature_names, self.costs, self.budgets, train, nothing, test, "demo"
        )


@dataclass(frozen=True)
class Comparison:
    """What each policy achieved: `correct[policy]` is bool (budgets, test rows)."""

    task: Task
    correct: dict[str, np.ndarray]
    policy: SynAFA
    pairs: dict[str, list[PairAtoms]]

    def accuracy(self, name: str) -> np.ndarray:
        return self.correct[name].mean(axis=1)

    def interval(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Wilson's 95 % interval at every budget."""
        return wilson_interval(self.accuracy(name), self.correct[name].shape[1])


def tasks() -> Iterator[Task]:
    """The two embedded tables."""
    yield xor_task()
    yield cancer_task()


def xor_task() -> Task:
    """The study's sweep at full synergy: the class is a noisy XOR of S1 and S2, and S2 costs 5."""
    from synafa.datasets import load

    data = load("synergy-sweep", alpha=1.0)
    return Task(
        "XOR sweep",
        "24 bits decide a class, most strongly the XOR of S1 and S2. S1 and S2 tell nothing alone, and S2 costs 5 "
        "where all else costs 1: only a policy that looks at pairs finds them, and only from a budget of 6 on.",
        data.X.astype(np.float64),  # as tables are: kernels are compiled for one kind of numbers
        data.y,
        data.feature_names,
        ("0", "1"),
        data.costs,
        (1.0, 2.0, 4.0, 6.0, 8.0, 10.0),
        ((data.train, data.test),),
        "the class",
    )


def cancer_task() -> Task:
    """Breast-cancer measurements, every case tested once in five folds."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import StratifiedKFold

    data = load_breast_cancer()
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(data.data, data.target)
    return Task(
        "Breast cancer",
        "569 tumours, 30 measurements of cell nuclei at cost 1 each, benign or malignant. Most measurements repeat one "
        "another, so a few well-chosen ones do nearly as well as all.",
        np.asarray(data.data, dtype=np.float64),
        np.asarray(data.target, dtype=np.int64),
        tuple(str(name) for name in data.feature_names),
        tuple(str(name) for name in data.target_names),
        np.ones(data.data.shape[1]),
        (1.0, 2.0, 3.0, 4.0, 6.0, 8.0),
        tuple(folds),
        "the diagnosis",
    )


def compare(task: Task, tick: Tick = lambda message: None) -> Comparison:
    """Fit and judge every policy on every fold, at every budget."""
    parts: dict[str, list[np.ndarray]] = {name: [] for name in POLICIES}
    for fold, (train, test) in enumerate(task.folds):
        predictor = MaskedPredictor(seed=fold).fit(task.X[train], task.y[train])
        tick("predictor")
        data = task.dataset(train, test)
        for name in POLICIES:
            policy = fitted_policy(name, data, seed=fold)
            runs = Evaluation({name: policy}, data, predictor, compiled=True).judged(name)
            parts[name].append(np.stack([run.predictions == run.y for run in runs.values()]))
            tick(name)
    whole = fit_policy(task, np.arange(len(task.X)) if len(task.folds) > 1 else task.folds[0][0])
    names = task.feature_names
    pairs = rank_pairs(names, whole.tables_.pair, whole.tables_.pid(), top=6)
    return Comparison(task, {name: np.concatenate(found, axis=1) for name, found in parts.items()}, whole, pairs)


def frame_of(task: Task) -> pl.DataFrame:
    """The features of a task with their names."""
    import polars as pl

    return pl.DataFrame({name: task.X[:, j] for j, name in enumerate(task.feature_names)})


def labels_of(task: Task) -> np.ndarray:
    return np.asarray(task.class_names)[task.y]


def fit_policy(task: Task, rows: np.ndarray) -> SynAFA:
    """SynAFA on some rows, with names, for recommendations and the graph."""
    costs = dict(zip(task.feature_names, task.costs.tolist()))
    policy = SynAFA(budget=task.budgets[-1], costs=costs)
    return policy.fit(frame_of(task)[rows], labels_of(task)[rows], target=task.target)


def gain(comparison: Comparison, other: str, budget: int) -> tuple[float, float, float]:
    """Accuracy of SynAFA less another policy's at one budget, with its paired 95 % interval."""
    found = paired_bootstrap(comparison.correct["SynAFA"][budget], comparison.correct[other][budget], seed=0)
    return found.difference, found.low, found.high
