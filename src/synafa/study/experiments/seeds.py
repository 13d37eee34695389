"""How much of a trained comparison is the shared classifier's seed: the same acquired sets under other classifiers.

    python -m synafa.study.experiments.seeds mnist 0 1 2 3 4
    python -m synafa.study.experiments.seeds physionet 0 1 2 3 4

prints one table each. Policies, forests and searches are those of the study (seed 0) and are read from the cache where
they were trained before; only the classifier that judges them changes, and with it AACO, which asks it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from synafa.study.engine.settings import Settings
from synafa.study.evidence.comparisons import difference_of
from synafa.study.experiments.local_search import Start, start
from synafa.study.experiments.mnist import (
    BUDGETS,
    CONFIGURATIONS,
    acquired,
    amortised_tables,
    exact_policy,
    images,
    probabilities,
    with_tables,
)
from synafa.study.experiments.shared import EIGHT, load_dataset, policy_units, unit_evaluation
from synafa.study.experiments.swaps import swap_changes


def classifiers(dataset: Any, seeds: Sequence[int], profile: str = "standard") -> dict[int, Any]:
    """The shared classifier of each seed."""
    from synafa.neural.shared import shared_classifier

    return {seed: shared_classifier(dataset, profile=profile, seed=seed) for seed in seeds}


def mnist_starts() -> Iterator[tuple[str, Start]]:
    """The MNIST-loop settings whose acquired sets are searched: every amortised table, exact tables, 90 pixels."""
    dataset = images()
    policy = exact_policy(dataset)
    for one in CONFIGURATIONS:
        tables = amortised_tables(dataset, one.kind, 0, quick=False)[one.name].tables
        yield one.title, Start(dataset, with_tables(policy, tables), None)
    yield "exact tables", Start(dataset, policy, None)
    yield "90 pixels, exact", start("mnist-90", quick=False)


def search_rows(begin: Start, judges: Mapping[int, Any], budgets: Sequence[int] = BUDGETS) -> list[dict[str, Any]]:
    """Accuracy before and after the local search, and its alignment, under each classifier; one search a budget."""
    from synafa.analysis.objective import local_search, set_objective

    masks, _ = acquired(begin.policy, begin.searched, tuple(budgets))
    tables, codes, rows = begin.policy.tables_, begin.policy.codes(begin.searched), []
    for budget, mask in masks.items():
        found = local_search(tables, codes, mask)
        T = [float(set_objective(tables, codes, m).mean()) for m in (mask, found.mask)]
        for seed, judge in judges.items():
            before, after = (
                probabilities(judge, begin.X, begin.wide(m)).argmax(axis=1) == begin.y for m in (mask, found.mask)
            )
            gap = difference_of([after], [before])
            change, _ = swap_changes(begin, judge, mask, found, np.random.default_rng(seed))
            row: dict[str, Any] = {
                "budget": budget,
                "seed": seed,
                "before": float(before.mean()),
                "after": float(after.mean()),
            }
            row |= {"change": gap.value, "low": gap.low, "high": gap.high, "outcome": gap.outcome}
            row |= {"rho": float("nan"), "dU": float("nan"), "swaps": len(change), "T_before": T[0], "T_after": T[1]}
            if len(change) > 2:
                row |= {"rho": float(np.corrcoef(found.delta, change)[0, 1]), "dU": float(change.mean())}
            rows.append(row)
    return rows


def difference_rows(
    settings: Settings, name: str, judges: Mapping[int, Any], baselines: Sequence[str] = EIGHT
) -> list[dict[str, Any]]:
    """Accuracy of SynAFA minus each baseline's at the dataset's budgets, under each classifier."""
    dataset = load_dataset(name, 0, settings.quick)
    rows = []
    for seed, judge in judges.items():
        right: dict[str, dict[float, np.ndarray]] = {}
        for method in ("synafa", *baselines):
            right[method] = {}
            for unit in policy_units(settings, name, 0, method, dataset.budgets, 1):
                for budget, done in unit_evaluation(unit, dataset, judge).judged(method).items():
                    right[method][budget] = done.predictions == done.y
        for budget, own in right["synafa"].items():
            for method in baselines:
                gap = difference_of([own], [right[method][budget]])
                row = {"budget": int(budget), "seed": seed, "baseline": method, "synafa": float(own.mean())}
                rows.append(row | {"difference": gap.value, "low": gap.low, "high": gap.high, "outcome": gap.outcome})
    return rows


def main() -> None:
    known = ("mnist", "physionet")
    if len(sys.argv) < 2 or sys.argv[1] not in known:
        sys.exit(
            f"Say which table and which seeds: python -m synafa.study.experiments.seeds {'|'.join(known)} 0 1 2 3 4"
        )
    seeds = [int(text) for text in sys.argv[2:]] or [0, 1, 2, 3, 4]
    if sys.argv[1] == "physionet":
        _print(difference_rows(Settings(), "physionet", classifiers(load_dataset("physionet", 0), seeds)))
        return
    judges = classifiers(images(), seeds)
    for name, begin in mnist_starts():
        _print([{"setting": name, **row} for row in search_rows(begin, judges)])


def _print(rows: list[dict[str, Any]]) -> None:
    import polars as pl

    print(pl.DataFrame(rows).write_csv(float_precision=4), flush=True)


if __name__ == "__main__":
    main()
