"""The study's own figures about acquisitions (PROTOCOL section 8), exactly."""

from __future__ import annotations

import numpy as np
import pytest

from synafa import SynAFA
from synafa.analysis.objective import local_search
from synafa.datasets import load

pytestmark = pytest.mark.data


def deployed(dataset, budget, cost_weight=0.01):
    return SynAFA(budget, dataset.costs, cost_weight, affordability="deployed").fit(
        dataset.X[dataset.train], dataset.y[dataset.train]
    )


@pytest.mark.parametrize(
    ("name", "budget", "sets"), [("ckd", 4, 2), ("actg175", 5, 5), ("bank", 4, 3), ("physionet", 10, 10)]
)
def test_distinct_acquired_sets(data_dir, name, budget, sets):
    dataset = load(name)
    run = deployed(dataset, budget).acquire(dataset.X[dataset.test], on_stop="fallback")
    assert len(run.distinct_sets()[1]) == sets
    assert (run.n_acquired == budget).all()


def test_physionets_largest_single_value_and_share_without_fallback(data_dir):
    dataset = load("physionet")
    policy = deployed(dataset, 10)
    best = int(np.argmax(policy.tables_.single))
    assert (dataset.feature_names[best], round(policy.tables_.single[best], 4)) == ("GCS", 0.0283)
    reached = policy.acquire(dataset.X[dataset.test]).n_acquired == 10
    assert reached.mean() == 0.8025
    assert round((policy.acquire(dataset.X[dataset.test], budget=15).n_acquired == 15).mean(), 3) == 0.226


@pytest.mark.parametrize(("budget", "swaps"), [(5, 4225), (10, 5386), (15, 8903)])
def test_accepted_swaps_on_physionet(data_dir, budget, swaps):
    dataset = load("physionet")
    policy = deployed(dataset, budget)
    rows = dataset.X[dataset.test]
    run = policy.acquire(rows, on_stop="fallback")
    search = local_search(policy.tables_, policy.codes(rows), run.mask)
    assert len(search.row) == swaps
    assert search.converged.all()


def test_accepted_swaps_in_the_pool_of_ninety_pixels(data_dir):
    dataset = load("mnist-loop")
    train, test = dataset.X[dataset.train], dataset.X[dataset.test]
    pool = np.sort(np.argsort(-train.var(axis=0, dtype=np.float64), kind="stable")[:90])
    policy = SynAFA(20, cost_weight=0.001, affordability="deployed").fit(train[:, pool], dataset.y[dataset.train])
    codes = policy.codes(test[:, pool])
    for budget, swaps in ((5, 17316), (10, 34315), (20, 41163)):
        run = policy.acquire(test[:, pool], budget=budget, on_stop="fallback")
        assert len(local_search(policy.tables_, codes, run.mask).row) == swaps


RATES = {  # P(S1), P(S2), P(both) in percent, means over the five instances
    (0.0, 3): (100.0, 0.0, 0.0), (0.0, 5): (100.0, 0.0, 0.0), (0.0, 8): (100.0, 29.9, 29.9),
    (0.25, 3): (100.0, 0.0, 0.0), (0.25, 5): (100.0, 0.0, 0.0), (0.25, 8): (100.0, 50.3, 50.3),
    (0.5, 3): (40.0, 0.0, 0.0), (0.5, 5): (40.0, 0.0, 0.0), (0.5, 8): (70.2, 80.2, 50.4),
    (0.75, 3): (40.0, 0.0, 0.0), (0.75, 5): (40.0, 60.0, 0.0), (0.75, 8): (100.0, 100.0, 100.0),
    (1.0, 3): (20.0, 0.0, 0.0), (1.0, 5): (20.0, 80.0, 0.0), (1.0, 8): (100.0, 100.0, 100.0),
}  # fmt: skip


@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_acquisition_rates_of_the_synergy_sweep(alpha):
    rates = {budget: [] for budget in (3, 5, 8)}
    for instance in range(5):
        dataset = load("synergy-sweep", alpha=alpha, instance=instance)
        policy = deployed(dataset, 8)
        for budget, found in rates.items():
            pair = policy.acquire(dataset.X[dataset.test], budget=budget, on_stop="fallback").mask[:, -2:]
            found.append([*pair.mean(axis=0), pair.all(axis=1).mean()])
    for budget, found in rates.items():
        assert tuple(np.round(100 * np.mean(found, axis=0), 1)) == RATES[alpha, budget]
