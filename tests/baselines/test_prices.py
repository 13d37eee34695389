"""Every published and reference policy under prices with panels and groups: charged, revealed and offered as agreed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from synafa.baselines import REGISTRY, train
from synafa.datasets.dataset import Dataset
from synafa.evaluation.harness import run_policy
from synafa.evaluation.policies import SYNAFA, build_policies
from synafa.evaluation.reference import REFERENCES
from synafa.money import PriceList
from synafa.neural.masked_mlp import MaskedMLP
from synafa.neural.settings import config_for
from synafa.policy.run import ENDINGS
from tests.baselines.baseline_tasks import one_feature_decides
from tests.evaluation.naive_harness import naive_episode

pytestmark = pytest.mark.slow

BUDGETS = (5.0, 9.0)
QUICKLY_TRAINED = ("aaco", "permutation", "gdfs", "dime")


@cache
def priced() -> Dataset:
    """x0 and x1 come together; x2, x3 and x4 share a set-up of 4; x5 decides."""
    data = one_feature_decides(150, d=6)
    prices = PriceList(
        data.feature_names, np.array([3.0, 3, 5, 5, 5, 2]), ((0, 1),), np.array([-1, -1, 0, 0, 0, -1]),
        np.array([3.0, 3, 1, 0, 1, 2]), ("set-up",),
    )  # fmt: skip
    return replace(data, costs=np.array(prices.price), groups=prices.panels, prices=prices, budgets=BUDGETS)


@cache
def classifier() -> MaskedMLP:
    return MaskedMLP.fit(priced(), replace(config_for(priced(), "quick"), epochs=5))


def check(policy: Any, stops: bool) -> None:
    data = priced()
    rows = data.test[:12]
    for budget in BUDGETS:
        run = run_policy(policy, data, rows, budget)
        for i, row in enumerate(rows):
            features, _, costs, known, ending = naive_episode(policy, data, row, budget)
            assert run.order[i][run.order[i] >= 0].tolist() == features
            np.testing.assert_allclose(run.step_cost[i][: len(costs)], costs)
            assert np.flatnonzero(run.mask[i]).tolist() == known
            assert ENDINGS[run.ending[i]] == ending
        assert (run.cost <= budget).all()
        if not stops:  # whatever can be paid at its price now is proposed, not left to the fallback
            assert not run.used_fallback.any()


@pytest.mark.parametrize("name", [*SYNAFA, *(name for name in REFERENCES if name != "random")])
def test_own_and_reference_policies(name: str) -> None:
    check(build_policies([name], priced(), BUDGETS)[name], stops=name in SYNAFA)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICKLY_TRAINED else pytest.mark.slow) for n in REGISTRY]
)
def test_published_policies(name: str) -> None:
    policy = train(name, priced(), BUDGETS[1], classifier(), "quick", cache=False)
    check(policy, stops=False)
    assert policy.uses_remaining
    arrays, meta = policy.state()
    again = type(policy).from_state(arrays, meta)
    again.classifier = classifier()
    assert again.prices_.to_meta() == priced().prices.to_meta()


@pytest.mark.parametrize("name", ["gdfs", "dime"])
def test_what_a_policy_weighs_is_the_price_now(name: str) -> None:
    """Once x2 was paid, its group is nearly free, and so every score of x4 rises against the list price."""
    policy = train(name, priced(), BUDGETS[1], classifier(), "quick", cache=False)
    X = priced().X[priced().test]
    mask = np.zeros(X.shape, dtype=bool)
    mask[:, 2] = True
    now = policy.ask(policy.scores, X * mask, mask)
    policy.prices_ = None
    listed = policy.ask(policy.scores, X * mask, mask)
    difference = np.log(5.0) if name == "gdfs" else 5.0
    np.testing.assert_allclose(
        now[:, 4] - listed[:, 4] if name == "gdfs" else now[:, 4] / listed[:, 4], difference, rtol=1e-4
    )
    np.testing.assert_allclose(now[:, 5], listed[:, 5], rtol=1e-6)
