"""Names to policies, trained on a dataset: SynAFA, plan tree, reference policies, published baselines, one's own.

SynAFA runs here as in the study: lambda 0.01 (0.001 for MNIST-loop), two bins, and a proposal that does not fit the
budget ends the episode unless the name says otherwise. The plan tree has the shared classifier as its predictor, one
tree a budget. Where prices depend on what was paid, SynAFA and the plan tree decide by the prices now; so do the
published policies as to what can be paid, and DIME, GDFS and EDDI in what they weigh. The static rankings, AACO's sets
and what the others learnt go by the list prices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError
from synafa.evaluation.protocols import Classifier, Policy
from synafa.evaluation.reference import REFERENCES, RandomPolicy, all_features, static_pair, static_single

SYNAFA = {
    "synafa": {"pair_branch": True, "affordability": "deployed"},
    "synafa-no-pairs": {"pair_branch": False, "affordability": "deployed"},
    "synafa-masked": {"pair_branch": True, "affordability": "pairs"},
    "synafa-strict": {"pair_branch": True, "affordability": "strict"},
}
PLAN_TREE = "plan-tree"
Progress = Callable[[float, str], None]


def policy_names() -> tuple[str, ...]:
    """Every name that `build_policies` knows."""
    from synafa.baselines import REGISTRY

    return (*SYNAFA, PLAN_TREE, *REFERENCES, *REGISTRY)


def cost_weight(dataset: Dataset) -> float:
    """The study's lambda."""
    return 0.001 if dataset.name == "mnist-loop" else 0.01


def check_policy_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names in order, each once; an unknown one is an error that lists the known ones."""
    wanted = tuple(dict.fromkeys(names))
    known = {*SYNAFA, PLAN_TREE, *REFERENCES}
    if not wanted:
        raise SynafaError(f"Name at least one policy: {', '.join(policy_names())}.")
    for name in wanted:
        if name not in known and name not in policy_names():
            raise SynafaError(f"Unknown policy {name!r}; choose from {', '.join(policy_names())}.")
    return wanted


def build_policies(
    names: Iterable[str],
    dataset: Dataset,
    budgets: Iterable[float],
    classifier: Classifier | None = None,
    profile: str = "standard",
    seed: int = 0,
    progress: Progress | None = None,
    forced: bool = True,
) -> dict[str, Policy | dict[float, Policy]]:
    """Policies by name, fitted on the dataset's training rows; what is trained per budget comes as a mapping.

    forced : whether the harness replaces a stop by another feature; the plan tree then spends its budget itself
    """
    names = check_policy_names(names)
    chosen = tuple(float(b) for b in budgets)
    built: dict[str, Policy | dict[float, Policy]] = {}
    tables: Any = None
    for done, name in enumerate(names):
        if progress is not None:
            progress(done / len(names), name)
        if name in SYNAFA:
            built[name] = _synafa(name, dataset, max(chosen))
        elif name == PLAN_TREE:
            built[name] = {budget: _plan_tree(dataset, budget, classifier, seed, forced) for budget in chosen}
        elif name in ("static-single", "static-pair"):
            tables = _tables(dataset) if tables is None else tables
            built[name] = _static(name, tables, dataset)
        elif name == "random":
            built[name] = RandomPolicy(seed)
        elif name == "all":
            built[name] = all_features(dataset.n_features)
        else:
            built[name] = _baseline(name, dataset, chosen, classifier, profile, seed, progress)
    return built


def _synafa(name: str, dataset: Dataset, budget: float) -> Policy:
    from synafa.policy.synafa import SynAFA

    settings: dict[str, Any] = SYNAFA[name]
    prices: dict[str, Any] = {"costs": dataset.costs}
    if dataset.prices is not None:  # rows without names: columns are x0, x1, ...
        names = tuple(f"x{j}" for j in range(dataset.n_features))
        prices = {"prices": replace(dataset.prices, feature_names=names)}
    policy = SynAFA(budget=budget, cost_weight=cost_weight(dataset), **prices, **settings)
    return policy.fit(dataset.X[dataset.train], dataset.y[dataset.train])


def _plan_tree(dataset: Dataset, budget: float, classifier: Classifier | None, seed: int, forced: bool) -> Policy:
    from synafa.plan.plan_tree import PlanTree

    if classifier is None:
        raise SynafaError("The policy plan-tree needs the shared classifier, which judges its plans; give one.")
    prices = {"costs": dataset.costs} if dataset.prices is None else {"prices": dataset.prices}
    policy = PlanTree(budget, spend_all=forced, random_state=seed, **prices)
    parts = [(dataset.X[rows], dataset.y[rows]) for rows in (dataset.train, dataset.validation)]
    return policy.fit_arrays(
        *parts[0], *parts[1], classifier,
        n_classes=dataset.n_classes, names=dataset.feature_names, class_weighted=True, panels=dataset.groups,
    )  # fmt: skip


def _tables(dataset: Dataset) -> Any:
    from synafa.information.codes import Discretizer
    from synafa.information.tables import InformationTables

    codes = Discretizer().fit_transform(np.asarray(dataset.X[dataset.train]))
    return InformationTables.from_codes(codes, dataset.y[dataset.train])


def _static(name: str, tables: Any, dataset: Dataset) -> Policy:
    weight = cost_weight(dataset)
    if name == "static-single":
        return static_single(tables.single, dataset.costs, weight)
    return static_pair(tables.single, tables.pair, dataset.costs, weight)


def _baseline(
    name: str,
    dataset: Dataset,
    budgets: tuple[float, ...],
    classifier: Classifier | None,
    profile: str,
    seed: int,
    progress: Progress | None,
) -> Policy | dict[float, Policy]:
    from synafa.baselines import REGISTRY, train

    def trained(budget: float) -> Policy:
        return train(name, dataset, budget, classifier, profile=profile, seed=seed, progress=progress)

    if REGISTRY[name].per_budget:
        return {budget: trained(budget) for budget in budgets}
    return trained(max(budgets))
