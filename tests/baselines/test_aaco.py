"""AACO: the compiled path equals the plain one, and both do what the method's description says."""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import pytest

from synafa.baselines.aaco import AACO, Settings
from synafa.baselines.aaco_kernels import nearest
from synafa.datasets import load
from synafa.datasets.dataset import Dataset
from synafa.evaluation.harness import run_policy
from synafa.neural.masked_mlp import MaskedMLP
from synafa.neural.settings import config_for
from tests.baselines.baseline_tasks import Table, one_feature_decides, permuted, xor_pair

pytestmark = pytest.mark.slow


class Opaque:
    """A classifier that hides its layers, so that every prediction goes through `predict_proba`."""

    def __init__(self, classifier: MaskedMLP) -> None:
        self.predict_proba = classifier.predict_proba


def states(data: Dataset, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = data.X[data.test]
    mask = np.random.default_rng(seed).random(X.shape) < share
    return (X * mask).astype(np.float32), mask


def classifier_of(data: Dataset, epochs: int = 30) -> MaskedMLP:
    return MaskedMLP.fit(data, replace(config_for(data, "quick"), epochs=epochs))


def test_neighbours_are_the_nearest_rows_over_the_known_features() -> None:
    data = one_feature_decides(3000)
    values, mask = states(data, 0.4)
    train = data.X[data.train]
    found = nearest(np.ascontiguousarray(train.T), values, mask, 5)
    for r in range(40):
        distance = ((train - values[r])[:, mask[r]] ** 2).sum(axis=1)
        assert set(found[r]) == set(np.argsort(distance, kind="stable")[:5])


def test_rows_without_anything_known_take_the_first_training_rows() -> None:
    data = one_feature_decides(3000)
    nothing = np.zeros((2, 8), dtype=bool)
    found = nearest(np.ascontiguousarray(data.X[data.train].T), np.zeros((2, 8), dtype=np.float32), nothing, 5)
    assert found.tolist() == [[0, 1, 2, 3, 4]] * 2


def test_the_compiled_decision_equals_the_plain_one() -> None:
    costs = np.random.default_rng(3).uniform(0.5, 3.0, 20)
    for data in (load("cube"), replace(load("cube"), costs=costs)):
        classifier = classifier_of(data, 10)
        for faithful in (False, True):
            fast = AACO(faithful).fit(data, 5, Settings(), 0, classifier=classifier)
            plain = AACO(faithful).fit(data, 5, Settings(), 0, classifier=Opaque(classifier))
            for share in (0.0, 0.1, 0.5, 0.9):
                values, mask = states(data, share)
                remaining = np.full(len(values), 2.0)
                agree = fast.propose(values, mask, remaining) == plain.propose(values, mask, remaining)
                assert agree.mean() > 0.99  # scores equal to the last bit may fall either way


def test_groups_are_revealed_and_paid_together() -> None:
    data = load("cube-nm", noise=0.1)
    classifier = classifier_of(data, 10)
    fast = AACO().fit(data, 5, Settings(), 0, classifier=classifier)
    plain = AACO().fit(data, 5, Settings(), 0, classifier=Opaque(classifier))
    assert fast._shares[:5].sum() == 1.0
    X = data.X[data.test]
    mask = np.zeros(X.shape, dtype=bool)
    mask[::2, :5] = True
    remaining = np.full(len(X), 5.0)
    chosen = fast.propose(X * mask, mask, remaining)
    assert np.array_equal(chosen, plain.propose(X * mask, mask, remaining))


def test_the_number_of_threads_changes_nothing() -> None:
    data = load("cube")
    policy = AACO().fit(data, 5, Settings(), 0, classifier=classifier_of(data, 5))
    values, mask = states(data, 0.3)
    remaining = np.full(len(values), 5.0)
    before = numba.get_num_threads()
    results = []
    try:
        for threads in {1, before}:
            numba.set_num_threads(threads)
            results.append(policy.propose(values, mask, remaining))
    finally:
        numba.set_num_threads(before)
    assert all(np.array_equal(results[0], other) for other in results)


def test_a_hidden_xor_pair_is_found() -> None:
    """Random sets that hold both halves beat every other set, so both are acquired although neither helps alone."""
    data = xor_pair()
    policy = AACO().fit(data, 4, Settings(), 0, classifier=Table(2, 6))
    both = run_policy(policy, data, "test", 4).mask[:, [2, 6]].all(axis=1)
    assert both.mean() > 0.9  # a random set of 4 of 8 features holds both with probability 3/14


def test_a_trained_classifier_is_enough_for_the_xor_pair_and_a_permuted_target_is_not() -> None:
    """Under one shuffle nearly all rows get the same four features, so chance (3/14) shows only over several."""
    data = xor_pair()

    def found(task: Dataset) -> float:
        policy = AACO().fit(task, 4, Settings(), 0, classifier=classifier_of(task))
        return float(run_policy(policy, data, "test", 4).mask[:, [2, 6]].all(axis=1).mean())

    assert found(data) > 0.9
    assert np.mean([found(permuted(data, seed)) for seed in range(1, 7)]) < 0.5


def test_in_the_faithful_mode_a_set_that_adds_nothing_means_stop() -> None:
    data = one_feature_decides()
    X = data.X[data.test]
    mask = np.zeros(X.shape, dtype=bool)
    mask[:, 5] = True  # everything is known already: any further cost is wasted
    values, remaining = X * mask, np.full(len(X), 3.0)
    faithful = AACO(faithful=True).fit(data, 3, Settings(), 0, classifier=Table(5))
    assert (faithful.propose(values, mask, remaining) == -1).all()
    assert (AACO().fit(data, 3, Settings(), 0, classifier=Table(5)).propose(values, mask, remaining) >= 0).all()


def test_fresh_masks_depend_on_the_step_and_on_the_seed_only() -> None:
    data = load("cube")
    policy = AACO().fit(data, 5, Settings(neighbours=20, masks=1000, fresh=True), 0, classifier=classifier_of(data, 5))
    assert not np.array_equal(policy._candidates(0), policy._candidates(1))
    values, mask = states(data, 0.1)
    remaining = np.full(len(values), 5.0)
    once, twice = (policy.propose(values, mask, remaining) for _ in range(2))
    assert np.array_equal(once, twice)
    assert (~mask[np.arange(len(mask)), once]).all()


def test_candidate_sizes_are_uniform_below_all_features() -> None:
    data = load("cube")
    policy = AACO().fit(data, 5, Settings(masks=20000), 0, classifier=classifier_of(data, 2))
    size = policy._candidates(0).sum(axis=1)
    assert size.max() == 19
    counts = np.bincount(size, minlength=20)[5:16]  # the middle sizes have too many sets to repeat
    assert counts.min() > 800
    assert counts.max() < 1200


@pytest.mark.slow
def test_on_the_cube_it_ends_clearly_above_static_selection() -> None:
    from synafa.baselines import train

    data = load("cube", noise=0.1)
    classifier = classifier_of(data, 100)

    def accuracy(method: str) -> float:
        policy = train(method, data, 4, classifier, "quick", cache=False)
        episodes = run_policy(policy, data, "test", 4, classifier)
        return float(np.mean(episodes.probabilities[:, -1].argmax(axis=1) == episodes.y))

    assert accuracy("aaco") > max(accuracy("permutation"), accuracy("cae")) + 0.05
