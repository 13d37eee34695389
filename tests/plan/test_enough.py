"""When a case is sure enough to end before its plan does."""

from __future__ import annotations

import numpy as np
import pytest

from synafa import PlanTree
from synafa.plan.enough import CHANGES, LEAST_CASES, enough_of

pytestmark = pytest.mark.slow


def clear_and_unclear(seed: int = 0, n: int = 900) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that the first feature tells apart nearly always where it is far from zero, the second elsewhere."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    clear = rng.random(n) < 0.6
    first = np.where(clear, 4.0 * (2 * y - 1), 0.0) + 0.3 * rng.normal(size=n)
    second = (2 * y - 1) + 0.4 * rng.normal(size=n)
    return np.column_stack([first, second, rng.normal(size=n)]), y


def test_clear_cases_are_enough_and_hardly_ever_change() -> None:
    X, y = clear_and_unclear()
    policy = PlanTree(budget=2, costs=[1.0, 1.5, 1.0]).fit(X, y)
    order = np.tile(np.array([[0, 1]], dtype=np.int32), (len(X), 1))
    found = enough_of(policy.judge_, order)
    assert found is not None
    assert found.cases >= LEAST_CASES
    assert found.changes <= CHANGES
    rows = np.arange(len(X))
    now, end = policy.judge_.proba((0,), rows), policy.judge_.proba((0, 1), rows)
    stopped = now.max(axis=1) >= found.probability
    assert stopped.sum() == found.cases
    assert (now.argmax(axis=1) != end.argmax(axis=1))[stopped].mean() == found.changes


def test_nothing_is_enough_where_nothing_is_clear() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=600) > 0).astype(int)
    policy = PlanTree(budget=2).fit(X, y)
    assert enough_of(policy.judge_, np.tile(np.array([[0, 1]], dtype=np.int32), (600, 1))) is None


def test_a_rare_class_is_not_given_up_because_it_is_rare() -> None:
    """Everybody is 97 % sure from the start; the second test finds the rare class, so nobody stops before it."""
    rng = np.random.default_rng(2)
    n = 3000
    y = (rng.random(n) < 0.03).astype(int)
    X = np.column_stack([rng.normal(size=n), 5.0 * y + rng.normal(size=n)])
    policy = PlanTree(budget=2).fit(X, y)
    assert enough_of(policy.judge_, np.tile(np.array([[0, 1]], dtype=np.int32), (n, 1))) is None
