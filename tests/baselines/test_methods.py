"""What holds for each of AACO, permutation importance, CAE, GDFS and DIME."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from synafa.baselines import load, save, train
from synafa.datasets.dataset import Dataset
from synafa.evaluation.harness import run_policy
from synafa.neural.masked_mlp import MaskedMLP
from synafa.neural.settings import config_for
from tests.baselines.baseline_tasks import one_feature_decides, permuted

pytestmark = pytest.mark.slow

METHODS = ("aaco", "permutation", "cae", "gdfs", "dime")


@cache
def dataset() -> Dataset:
    return one_feature_decides()


def classifier_of(data: Dataset) -> MaskedMLP:
    return MaskedMLP.fit(data, replace(config_for(data, "quick"), epochs=30))


@cache
def classifier() -> MaskedMLP:
    return classifier_of(dataset())


@cache
def trained(method: str, budget: float = 3.0, seed: int = 0) -> Any:
    return train(method, dataset(), budget, classifier(), "quick", seed, cache=False)


def states(data: Dataset, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Test rows with about a third of their features known."""
    X = data.X[data.test]
    mask = np.random.default_rng(seed).random(X.shape) < 0.3
    return (X * mask).astype(np.float32), mask


@pytest.mark.parametrize("method", METHODS)
def test_the_feature_that_decides_everything_is_taken_first(method: str) -> None:
    X = dataset().X[dataset().test]
    nothing = np.zeros(X.shape, dtype=bool)
    assert set(trained(method).propose(X * nothing, nothing, np.full(len(X), 3.0))) == {5}


@pytest.mark.parametrize("method", METHODS)
def test_a_permuted_target_destroys_the_advantage(method: str) -> None:
    """Each shuffle leaves the deciding feature one of eight; by chance one shuffle of three may still prefer it."""
    X = dataset().X[dataset().test]
    nothing = np.zeros(X.shape, dtype=bool)
    firsts = []
    for seed in (1, 2, 3):
        shuffled = permuted(dataset(), seed)
        policy = train(method, shuffled, 1.0, classifier_of(shuffled), "quick", seed, cache=False)
        firsts.append(np.mean(policy.propose(X * nothing, nothing, np.full(len(X), 1.0)) == 5))
    assert sorted(firsts)[1] < 0.2


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_policy_on_any_number_of_threads(method: str) -> None:
    values, mask = states(dataset())
    remaining = np.full(len(values), 3.0)
    before = torch.get_num_threads()
    proposed = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            policy = train(method, dataset(), 3.0, classifier(), "quick", 0, cache=False)
            proposed.append(policy.propose(values, mask, remaining))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*proposed)
    assert len(set(proposed[0])) > 2, "the states differ, and so do the proposals"


@pytest.mark.parametrize("method", METHODS)
def test_training_does_not_touch_the_callers_random_numbers(method: str) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(method, one_feature_decides(200), 1.0, classifier(), "quick", 0, cache=False)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("method", METHODS)
def test_a_row_is_decided_alike_alone_and_in_company(method: str) -> None:
    values, mask = states(dataset())
    remaining = np.full(len(values), 3.0)
    together = trained(method).propose(values, mask, remaining)
    alone = [trained(method).propose(values[i : i + 1], mask[i : i + 1], remaining[i : i + 1])[0] for i in range(10)]
    assert together[:10].tolist() == alone


@pytest.mark.parametrize("method", METHODS)
def test_saving_and_loading_changes_no_proposal(method: str, tmp_path: Path) -> None:
    values, mask = states(dataset())
    remaining = np.full(len(values), 3.0)
    save(trained(method), tmp_path / "policy.safetensors")
    again = load(tmp_path / "policy.safetensors")
    assert np.array_equal(again.propose(values, mask, remaining), trained(method).propose(values, mask, remaining))


@pytest.mark.parametrize("method", METHODS)
def test_two_calls_agree_so_no_dropout_is_left_on(method: str) -> None:
    values, mask = states(dataset())
    remaining = np.full(len(values), 3.0)
    first, second = (trained(method).propose(values, mask, remaining) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("method", METHODS)
def test_only_affordable_hidden_features_are_proposed(method: str) -> None:
    costs = np.array([1.0, 2.0, 1.0, 5.0, 3.0, 4.0, 1.0, 2.0])
    priced = replace(dataset(), costs=costs)
    policy = train(method, priced, 4.0, classifier(), "quick", 0, cache=False)
    assert policy.uses_remaining
    values, mask = states(priced)
    remaining = np.random.default_rng(0).integers(0, 6, len(values)).astype(float)
    choice = policy.propose(values, mask, remaining)
    affordable = ~mask & (costs <= remaining[:, None])
    some = affordable.any(axis=1)
    assert some.any()
    assert not some.all()
    assert affordable[some, choice[some]].all()
    assert (choice[~some] == -1).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_hard_budget_is_spent_in_full(method: str) -> None:
    episodes = run_policy(trained(method), dataset(), "test", 3.0)
    assert (episodes.mask.sum(axis=1) == 3).all()
    assert not trained(method).uses_remaining
