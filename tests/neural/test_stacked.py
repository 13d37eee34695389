"""Several classifiers asked at once say what each of them says."""

from __future__ import annotations

import numpy as np
import pytest

from synafa.datasets import load
from synafa.errors import SynafaError
from synafa.neural.masked_mlp import MaskedMLP
from synafa.neural.stacked import StackedMLP


def test_a_stack_says_what_each_classifier_says() -> None:
    data = load("cube", n=300)
    models = [MaskedMLP.fit(data, seed=seed, profile="quick") for seed in range(3)]
    rng = np.random.default_rng(0)
    mask = rng.random((5000, 20)) < 0.4  # more rows than one piece
    values = rng.normal(size=(5000, 20)).astype(np.float32)
    found = StackedMLP(models).predict_proba(values, mask)
    assert found.shape == (3, 5000, 8)
    for ours, model in zip(found, models):
        np.testing.assert_allclose(ours, model.predict_proba(np.where(mask, values, 0), mask), atol=1e-5)
    assert np.abs(found[0] - found[1]).max() > 0.05
    changed = np.where(mask, values, 99.0)  # what is hidden is not looked at
    np.testing.assert_array_equal(found, StackedMLP(models).predict_proba(changed, mask))


def test_different_shapes_or_nothing_are_refused() -> None:
    small, wide = (MaskedMLP.fit(load(name, n=200), profile="quick") for name in ("cube", "cube-nm"))
    with pytest.raises(SynafaError, match="different shapes"):
        StackedMLP([small, wide])
    with pytest.raises(SynafaError, match="at least one"):
        StackedMLP([])
