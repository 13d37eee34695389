"""Small tables: cross-validated trees, cases that end right after a question, and noise in money."""

from __future__ import annotations

import numpy as np
import pytest

from synafa import PlanTree
from synafa.plan.validate import FOLDS

pytestmark = pytest.mark.slow

MATRIX = [[0.0, 10.0], [10.0, 0.0]]


def one_answer_is_enough(seed: int, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Half of the cases are decided by the first feature alone, the others only by the second, which is dear."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, 4)).astype(float)
    y = np.where(X[:, 0] == 1, 1, X[:, 1]).astype(int)
    return X, np.where(rng.random(n) < 0.03, 1 - y, y)


def test_a_case_ends_right_after_the_question_that_decides_it() -> None:
    X, y = one_answer_is_enough(0)
    policy = PlanTree(budget=None, costs=[0.2, 1.5, 1.0, 1.0], error_costs=MATRIX).fit(X, y)
    run = policy.acquire(X)
    decided = X[:, 0] == 1
    assert not policy.tree_.is_panel
    np.testing.assert_allclose(run.cost[decided], 0.2)
    np.testing.assert_allclose(run.cost[~decided], 1.7)


def test_the_tree_of_few_rows_does_not_depend_on_threads() -> None:
    X, y = one_answer_is_enough(1)
    trees = [
        PlanTree(budget=None, costs=[0.2, 1.5, 1.0, 1.0], error_costs=MATRIX, n_jobs=jobs).fit(X, y).tree_
        for jobs in (1, 2)
    ]
    for name in ("feature", "threshold", "items", "loss_after"):
        np.testing.assert_array_equal(getattr(trees[0], name), getattr(trees[1], name))


@pytest.mark.slow
def test_noise_is_hardly_ever_bought_in_money() -> None:
    """Eight tables of noise with a rare, dear class; a test costs a twentieth of the dear mistake's mean."""
    bought = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(300, 6)), (rng.random(300) < 0.1).astype(int)
        policy = PlanTree(budget=None, error_costs=[[0.0, 20.0], [200.0, 0.0]], random_state=seed).fit(X, y)
        bought += policy.acquire(X).cost.mean() > 0
    assert bought <= 1


def test_there_are_rows_for_every_fold() -> None:
    """A table of a dozen rows is fitted, whatever comes out."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(2 * FOLDS + 2, 3)), np.arange(2 * FOLDS + 2) % 2
    assert PlanTree(budget=2).fit(X, y).tree_.n_leaves == 1
