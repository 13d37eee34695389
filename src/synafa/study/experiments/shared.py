"""Units that several experiments share: a dataset's classifier, and one policy on one dataset instance.

A policy unit fits the policy on the training rows, runs it under each hard budget on the test rows, and keeps, per
budget, one row of metrics and the arrays behind it, so that every paired comparison is made later, from stored results.
Two experiments that ask for the same unit get the same result file.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError
from synafa.study.engine.settings import Settings
from synafa.study.engine.unit import Unit
from synafa.study.evidence.comparisons import (  # noqa: F401 (the experiments import everything shared from here)
    MEASURES,
    Difference,
    accuracy,
    advantage_rows,
    advantages,
    against_values,
    array,
    compare,
    difference_of,
    difference_over,
    find,
    mean_advantage,
    mean_of_rows,
    metric,
    runs,
    share_of,
    values_of,
)
from synafa.study.experiments import costs, plan_policies

if TYPE_CHECKING:
    from synafa.evaluation import Evaluation, Run

CLASSIFIERS, POLICIES = "classifiers", "policies"  # the folders of results
OWN_FILE = "file:"  # before the path of a table of one's own, in the place of a dataset's name
VERSION = 2
SWEEPS = ("synergy-sweep", "fixed-v")
_UNCORRECTED = ("synafa-uncorrected", "synafa-no-pairs-uncorrected")
OWN = ("synafa", "synafa-no-pairs", "synafa-masked", "synafa-strict", *_UNCORRECTED)
PLANS = plan_policies.METHODS
REFERENCES = ("random", "static-single", "static-pair", "all-features")
EIGHT = ("aaco", "permutation", "cae", "gdfs", "dime", "jafa", "ol-with-mask", "ol-without-mask")
THREE = ("aaco", "cae", "permutation")
_DATASET_PARAMETERS = ("alpha", "fraction", "n", "noise", "target")
_QUICK_ROWS = (360, 120, 120)  # training, validation, test


def classifier_unit(settings: Settings, dataset: str, instance: int = 0, **parameters: Any) -> Unit:
    """The unit that trains the shared classifiers of all seeds into the cache; a sweep has those of instance 0 only."""
    named = {"dataset": dataset, "judges": list(settings.judges(dataset)), **_plain(parameters)}
    if instance and dataset not in SWEEPS:
        named["instance"] = int(instance)
    cost = costs.judge_seconds(settings.profile, dataset, dataset in SWEEPS, len(named["judges"]))
    return settings.unit(CLASSIFIERS, __name__, VERSION, named, cost=cost, function="run_classifiers")


def policy_unit(
    settings: Settings,
    dataset: str,
    instance: int,
    method: str,
    budgets: Iterable[float],
    training: int = 0,
    **parameters: Any,
) -> Unit:
    """The unit that trains (or draws) `method` for the `training`-th time and runs it on one dataset instance.

    `method` is one of `OWN`, `PLANS`, `REFERENCES` or a baseline's name. `parameters`: the dataset's (`alpha`,
    `fraction`), `cost_weight` (SynAFA's lambda in place of the study's), `validation` (also keep probabilities of
    validation rows; by default for the tables with files, not for the sweeps and images). What is acquired is judged
    by the shared classifiers of all seeds; a policy that asks the classifier gets one of them, another one each time.
    """
    from synafa.baselines import REGISTRY

    given, budgets = _plain(parameters), tuple(budgets)
    inside = {name: value for name, value in given.items() if name in (*_DATASET_PARAMETERS, "content")}
    judges = settings.judges(dataset)
    if asks_classifier(method):
        judges = (judges[training % len(judges)],)
    named = {"dataset": dataset, "instance": int(instance), "method": method, "budgets": _budgets(budgets), **given}
    named |= {"training": int(training), "judges": list(judges)}
    seed = settings.seed + int(training) + (int(instance) if dataset in SWEEPS else 0)
    revision = plan_policies.REVISION if method in PLANS else REGISTRY[method].revision if method in REGISTRY else 1
    needs = [classifier_unit(settings, dataset, instance, **inside)]
    if method == "plan-panel":  # the tree's unit grows the tree, so that its time is there
        needs.append(policy_unit(settings, dataset, instance, "plan-tree", budgets, training, **parameters))
    return settings.unit(
        POLICIES,
        __name__,
        VERSION + revision - 1,
        named,
        needs=tuple(needs),
        cost=costs.policy_seconds(settings.profile, dataset, method, named["budgets"], dataset in SWEEPS),
        function="run_policy_unit",
        seed=seed,
    )


def policy_units(
    settings: Settings,
    dataset: str,
    instance: int,
    method: str,
    budgets: Iterable[float],
    trainings: int | None = None,
    **parameters: Any,
) -> list[Unit]:
    """Every repetition of `policy_unit`; one a budget where the method is trained for a budget."""
    chosen = tuple(budgets)
    if per_budget(method):
        groups: list[tuple[float, ...]] = [(budget,) for budget in chosen]
    else:
        groups = [chosen]
    count = repetitions(settings, dataset, method) if trainings is None else trainings
    return [
        policy_unit(settings, dataset, instance, method, group, training, **parameters)
        for training in range(count)
        for group in groups
    ]


def per_budget(method: str) -> bool:
    """Whether the budget enters a method's training; a class of one's own says so by an attribute `per_budget`."""
    from synafa.baselines import REGISTRY

    if ":" in method:
        from synafa.evaluation.own_policy import find_policy, takes_budget

        return takes_budget(find_policy(method))
    return method in PLANS or (method in REGISTRY and REGISTRY[method].per_budget)


def asks_classifier(method: str) -> bool:
    """Whether a method asks the shared classifier: it is then run with one judge at a time."""
    from synafa.baselines import REGISTRY

    return method in PLANS or (method in REGISTRY and REGISTRY[method].needs_classifier)


def repetitions(settings: Settings, dataset: str, method: str) -> int:
    """How often a method is trained or drawn on one instance of a dataset."""
    from synafa.baselines import REGISTRY

    if method in PLANS:
        return settings.repeats.plans
    drawn = method == "random" or method.startswith("aaco")
    trained = method in REGISTRY and REGISTRY[method].trained
    return settings.repeats.runs_of(dataset, drawn, trained, dataset in SWEEPS)


def load_dataset(name: str, instance: int, quick: bool = False, **parameters: Any) -> Dataset:
    """The dataset; cut down to a few hundred rows when `quick`. `cube-costs` and `file:PATH` are the leaderboard's."""
    from synafa.datasets import load

    if name.startswith(OWN_FILE):
        dataset = Dataset.from_file(name.removeprefix(OWN_FILE), parameters["target"], instance=instance)
    elif name == "cube-costs":
        dataset = with_costs(load("cube", instance=instance, **parameters))
    else:
        dataset = load(name, instance=instance, **parameters)
    return cut(dataset) if quick else dataset


def with_costs(cube: Dataset) -> Dataset:
    """CUBE with costs 1, 2 and 4 in turn; the three bits of a class never cost the same."""
    costs = np.array([(1.0, 2.0, 4.0)[i % 3] for i in range(cube.n_features)])
    return replace(cube, name="cube-costs", costs=costs, budgets=(7.0, 14.0, 21.0))


def cut(dataset: Dataset, rows: tuple[int, int, int] = _QUICK_ROWS) -> Dataset:
    """The first training, validation and test rows only."""
    parts = [part[:most] for part, most in zip((dataset.train, dataset.validation, dataset.test), rows)]
    kept = np.concatenate(parts)
    ends = np.cumsum([len(part) for part in parts])
    train, validation, test = np.split(np.arange(len(kept)), ends[:-1])
    return replace(dataset, X=dataset.X[kept], y=dataset.y[kept], train=train, validation=validation, test=test)


def unit_dataset(unit: Unit, instance: int | None = None) -> Dataset:
    """The dataset of a unit, or another instance of it."""
    inside = {name: unit[name] for name in _DATASET_PARAMETERS if name in unit.parameters}
    which = unit.parameters.get("instance", 0) if instance is None else instance
    return load_dataset(unit["dataset"], which, unit.quick, **inside)


def unit_classifier(unit: Unit, judge: int | None = None) -> Any:
    """The shared classifier of a unit's dataset instance, of seed `judge`; without one the study's own, seed 0.

    The instances of a sweep share the classifiers of instance 0; those of a real table are trained on the instance's
    own training rows, so that no test row was seen.
    """
    from synafa.neural.shared import shared_classifier

    if judge is None:
        judge = int(unit.parameters["judges"][0]) if "judges" in unit.parameters else unit.seed
    instance = 0 if unit["dataset"] in SWEEPS else None
    return shared_classifier(unit_dataset(unit, instance), profile=unit.profile, seed=judge)


def unit_judges(unit: Unit, dataset: Dataset | None = None) -> Any:
    """The unit's shared classifiers of all its seeds, to be asked at once; `dataset` where it is already loaded."""
    from synafa.neural.shared import shared_classifier
    from synafa.neural.stacked import StackedMLP

    if dataset is None:
        return StackedMLP([unit_classifier(unit, judge) for judge in unit["judges"]])
    return StackedMLP([shared_classifier(dataset, profile=unit.profile, seed=judge) for judge in unit["judges"]])


def run_classifiers(unit: Unit) -> dict[str, Any]:
    """Train the classifiers, or find them in the cache; a row each."""
    rows = []
    for judge in unit["judges"]:
        clock = time.perf_counter()
        model = unit_classifier(unit, judge)
        row = {"judge": judge, "seconds": time.perf_counter() - clock, "best_epoch": model.best_epoch}
        rows.append({**row, "validation_loss": min(model.validation_losses, default=None)})
    return {"rows": rows}


def run_policy_unit(unit: Unit) -> dict[str, Any]:
    """Fit the unit's policy, run it at each budget, and measure what every judge makes of it.

    Arrays have a row for each judge: `correct_5` is uint8 (judges, n). Result rows are one a budget and judge.
    """
    dataset, judges, method = unit_dataset(unit), unit_judges(unit), unit["method"]
    parts = {"": dataset.test}
    if unit.parameters.get("validation", dataset.name not in (*SWEEPS, "mnist-loop")):
        parts["validation_"] = dataset.validation
    clock = time.perf_counter()
    evaluation = unit_evaluation(unit, dataset, judges.models[0])
    fit_seconds = time.perf_counter() - clock
    rows: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {f"{part}y": dataset.y[index].astype(np.uint8) for part, index in parts.items()}
    arrays["row"] = np.asarray(dataset.test, dtype=np.int32)  # instances of a real table share rows
    for part, index in parts.items():
        clock = time.perf_counter()
        acquired = evaluation.runs(method, index)
        seconds = {"fit_seconds": fit_seconds, "run_seconds": time.perf_counter() - clock}
        for budget, done in acquired.items():
            probabilities = judges.predict_proba(np.where(done.mask, dataset.X[index], 0), done.mask)
            arrays[f"{part}positive_{budget:g}"] = probabilities[:, :, -1]
            if not part:
                more, judged = _judged(unit, budget, done, dataset.y[index], probabilities)
                rows += [{**row, **seconds, **_size_of(evaluation.policies[method], budget)} for row in more]
                arrays |= judged
    return {"rows": rows, "arrays": arrays}


def _judged(
    unit: Unit, budget: float, done: Run, y: np.ndarray, probabilities: np.ndarray
) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """The rows and arrays of one budget from the judges' probabilities, (judges, n, K)."""
    from synafa.evaluation.metrics import acquired_sets, prediction_metrics

    predicted = probabilities.argmax(axis=2)
    arrays = {
        f"correct_{budget:g}": (predicted == y).astype(np.uint8),
        f"predicted_{budget:g}": predicted.astype(np.uint8),
        f"true_probability_{budget:g}": probabilities[:, np.arange(len(y)), y],
        f"mask_{budget:g}": np.packbits(done.mask, axis=1),
    }
    sets, majority = acquired_sets(done.mask)
    told = {
        "mean_cost": float(done.cost.mean()),
        "distinct_sets": sets,
        "majority_set_share": majority,
        "no_fallback_share": float(1.0 - done.used_fallback.mean()),
        **(_branch_shares(done) if unit["method"] in OWN else {}),
    }
    rows = [
        {
            "budget": _number(budget),
            "judge": judge,
            "n": len(y),
            **prediction_metrics(y, chance),
            "positive_share": float(chance.argmax(axis=1).astype(bool).mean()),
            **told,
        }
        for judge, chance in zip(unit["judges"], probabilities)
    ]
    return rows, arrays


def _size_of(policy: Any, budget: float) -> dict[str, int]:
    """How large a plan tree is; nothing of other policies."""
    tree = getattr(policy.get(budget) if isinstance(policy, dict) else policy, "tree_", None)
    return {} if tree is None else {"leaves": tree.n_leaves, "nodes": tree.n_nodes}


def unit_evaluation(unit: Unit, dataset: Dataset, classifier: Any) -> Evaluation:
    """The evaluation of a unit's policy, fitted on the dataset's training rows, at the unit's budgets."""
    from synafa.evaluation import Evaluation

    method = unit["method"]
    budgets = tuple(float(budget) for budget in unit["budgets"])
    policy: Any
    if per_budget(method):
        policy = {budget: _fitted(unit, dataset, classifier, budget) for budget in budgets}
    else:
        policy = _fitted(unit, dataset, classifier, max(budgets))
    forced = not method.endswith("uncorrected")
    return Evaluation({method: policy}, dataset, classifier, budgets, forced, compiled=method in OWN)


def _fitted(unit: Unit, dataset: Dataset, classifier: Any, budget: float) -> Any:
    from synafa.baselines import REGISTRY, train
    from synafa.evaluation import all_features
    from synafa.evaluation.policies import build_policies

    method = unit["method"]
    if method in REGISTRY:
        return train(method, dataset, budget, classifier, profile=unit.profile, seed=unit.seed, faithful=True)
    if method in OWN:
        return fit_synafa(method, dataset, unit.parameters.get("cost_weight"))
    if method == "all-features":
        return all_features(dataset.n_features)
    if method in REFERENCES:
        return build_policies((method,), dataset, (budget,), seed=unit.seed)[method]
    if method in PLANS:
        return plan_policies.fit_plan(method, dataset, budget, classifier, unit.seed)
    if ":" in method:
        from synafa.evaluation.own_policy import own_policy

        made = own_policy(method, dataset, (budget,), unit.seed)
        return made[float(budget)] if isinstance(made, dict) else made
    raise SynafaError(
        f"There is no method {method!r} in the study; choose from {', '.join((*OWN, *PLANS, *REFERENCES, *REGISTRY))}."
    )


def _branch_shares(run: Run) -> dict[str, float]:
    """The share of each branch among all steps."""
    steps = max(int((run.branch >= 0).sum()), 1)
    return {f"steps_{name}": float((run.branch == i).sum()) / steps for i, name in enumerate(run.branch_names)}


def fit_synafa(method: str, dataset: Dataset, cost_weight: float | None = None) -> Any:
    """SynAFA as the study runs it, fitted on the training rows; `method` is one of `OWN`."""
    from synafa.evaluation import policies
    from synafa.policy.synafa import SynAFA

    variant = policies.SYNAFA[method.removesuffix("-uncorrected")]
    weight = policies.cost_weight(dataset) if cost_weight is None else cost_weight
    policy = SynAFA(
        budget=max(dataset.budgets),
        costs=dataset.costs,
        cost_weight=weight,
        pair_branch=bool(variant["pair_branch"]),
        affordability=str(variant["affordability"]),
    )
    return policy.fit(dataset.X[dataset.train], dataset.y[dataset.train])


def _budgets(budgets: Iterable[float]) -> list[float]:
    chosen = sorted({float(budget) for budget in budgets})
    if not chosen:
        raise SynafaError("A policy unit needs at least one budget.")
    return [_number(budget) for budget in chosen]


def _number(value: float) -> float:
    """Whole numbers as int: one spelling, one identity."""
    return int(value) if float(value).is_integer() else float(value)


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters in one spelling (0.5, not "0.5"; 1.0, not 1), so that equal ones have equal identities."""
    return {
        name: float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
        for name, value in sorted(parameters.items())
        if value is not None
    }
