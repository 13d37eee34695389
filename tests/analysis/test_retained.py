"""Information retained after binarisation."""

from __future__ import annotations

import numpy as np
import pytest

from synafa.analysis.retained import retained_information
from synafa.errors import SynafaError
from tests import naive_stats as naive


def test_binary_features_keep_everything():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = np.column_stack([np.where(rng.random(600) < p, y, 1 - y) for p in (0.6, 0.9)])
    result = retained_information(X, y)
    assert result.fraction == pytest.approx(1.0)
    assert result.before == pytest.approx([naive.information([c], y) for c in X.T])
    assert not result.nearest_neighbour.any()


def test_a_median_split_hides_a_class_in_the_middle():
    rng = np.random.default_rng(1)
    x = rng.normal(size=4000)
    result = retained_information(x[:, None], np.abs(x) > 1.0)
    assert result.nearest_neighbour.all()
    assert result.fraction < 0.01
    assert result.before[0] > 0.7


def test_a_threshold_at_the_median_keeps_everything():
    x = np.random.default_rng(2).normal(size=4000)
    assert retained_information(x[:, None], x > np.median(x)).fraction == pytest.approx(1.0, abs=0.02)


def test_the_seed_fixes_the_answer():
    rng = np.random.default_rng(3)
    X, y = np.round(rng.normal(size=(500, 3)), 1), rng.integers(0, 3, 500)
    one, two = retained_information(X, y, seed=1), retained_information(X, y, seed=1)
    np.testing.assert_array_equal(one.before, two.before)


def test_missing_cells_are_refused():
    with pytest.raises(SynafaError, match="fill them"):
        retained_information([[np.nan], [1.0]], [0, 1])
