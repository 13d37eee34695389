"""The plan tree and the fixed panels that stand beside it, with the shared classifier as their predictor.

`plan-tree` is one tree a budget that spends it. `plan-panel` is the plan at the tree's own root, bought for every row:
what the tree gains over it is what adapting is worth. `static-greedy` adds the feature with the largest mean gain of
utility per cost until nothing fits, on training rows: the first of the plans that the root is chosen from.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError
from synafa.files import cache_dir, content_hash

METHODS = ("plan-tree", "plan-panel", "static-greedy")
REVISION = 1  # raised when a tree is grown differently than before: stored ones, and results, no longer count


def fit_plan(method: str, dataset: Dataset, budget: float, classifier: Any, seed: int) -> Any:
    """The policy `method` (one of `METHODS`) for `budget`, judged by `classifier` on training and validation rows."""
    if method == "static-greedy":
        return _static(greedy_plan(dataset, budget, classifier, seed), dataset.n_features, method)
    tree = fitted_tree(dataset, budget, classifier, seed)
    return tree if method == "plan-tree" else _static(root_plan(tree), dataset.n_features, method)


def fitted_tree(dataset: Dataset, budget: float, classifier: Any, seed: int) -> Any:
    """The plan tree, grown once and then read from the cache: its panel and the tree are two units of the study."""
    from synafa.evaluation.policies import PLAN_TREE, build_policies
    from synafa.plan.plan_tree import PlanTree

    path = _path(dataset, budget, classifier, seed)
    if path.exists():
        try:
            return PlanTree.load(path)
        except SynafaError:
            pass  # a damaged cache entry is grown again and overwritten below
    built = build_policies((PLAN_TREE,), dataset, (budget,), classifier, seed=seed)[PLAN_TREE]
    tree: Any = built[float(budget)]  # type: ignore[index]
    path.parent.mkdir(parents=True, exist_ok=True)
    tree.save(path)
    return tree


def root_plan(tree: Any) -> tuple[int, ...]:
    """The plan of the tree's root, in order: what everybody would buy without a question."""
    nodes = tree.tree_
    return tuple(int(j) for j in nodes.items[nodes.start[0] : nodes.planned[0]])


def greedy_plan(dataset: Dataset, budget: float, classifier: Any, seed: int) -> tuple[int, ...]:
    """The greedy plan from nothing, judged as the tree judges its plans."""
    from synafa.information.tables import InformationTables
    from synafa.money import PriceList
    from synafa.plan.inputs import given_rows
    from synafa.plan.judge import Judge
    from synafa.plan.prices import Prices
    from synafa.plan.root import SEARCH_ROWS, Hints, screen
    from synafa.plan.scorers import make_scorer
    from synafa.plan.search import Task, fill
    from synafa.plan.utility import LogUtility

    train = dataset.train
    values, y = dataset.X[train].astype(np.float64), dataset.y[train]
    judged = given_rows(classifier, len(train), 0, seed)
    prices = Prices.of(PriceList.resolve(dataset.costs, dataset.feature_names))
    utility = LogUtility.of(y, dataset.n_classes, True)
    judge = Judge(make_scorer(judged.parts, values, dataset.n_classes), y, utility, prices)
    task = Task(judge, prices, float(budget), 0.0, np.arange(dataset.n_features), spend_all=True)
    tables = InformationTables.from_values(values, y)
    among = screen(task, Hints.of(tables.single, tables.pair, task.candidates))
    return fill(task, (), (), float(budget), judged.chosen[:SEARCH_ROWS], among).plan


def _static(plan: tuple[int, ...], n_features: int, name: str) -> Any:
    """The plan in its order for every row; what is left of the features follows by index."""
    from synafa.evaluation.reference import StaticPolicy

    rest = [j for j in range(n_features) if j not in set(plan)]
    return StaticPolicy(np.array([*plan, *rest], dtype=np.int64), name)


def _path(dataset: Dataset, budget: float, classifier: Any, seed: int) -> Path:
    from synafa.baselines.training import classifier_layers, layers_hash

    layers = classifier_layers(classifier)
    if layers is None:
        raise SynafaError("The study's plan tree asks the shared classifier; give one with layers.")
    key = {"revision": REVISION, "budget": float(budget), "seed": seed, "classifier": layers_hash(layers)}
    return cache_dir() / "plan-trees" / f"{dataset.name}-{content_hash(key | {'data': dataset.fingerprint()})}.model"
