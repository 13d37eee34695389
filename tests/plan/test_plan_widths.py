"""Cross-fitted predictors may have different widths; what a set of features tells is still what they predict."""

from __future__ import annotations

import numpy as np

from synafa.plan.scorers import make_scorer
from synafa.predictor import fit_predictor


def test_parts_with_and_without_a_linear_member_are_judged_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    small, large = fit_predictor(X[:60], y[:60], 2), fit_predictor(X[60:], y[60:], 2)
    assert len(small.base) != len(large.base), "the point of this test"
    rows = np.arange(100)
    scorer = make_scorer([(large, np.arange(60)), (small, np.arange(60, 700))], X, 2)
    for known in ((), (0,), (0, 2)):
        mask = np.zeros((100, 3), bool)
        mask[:, list(known)] = True
        expected = np.where(
            (rows < 60)[:, None], large.predict_proba(X[:100], mask), small.predict_proba(X[:100], mask)
        )
        np.testing.assert_allclose(scorer.proba(scorer.open(known, rows), rows), expected, atol=1e-5)
        np.testing.assert_allclose(scorer.proba(scorer.open((), rows), rows, known), expected, atol=1e-5)
