"""Mean ranks and their critical difference, against published values and a simulation."""

from __future__ import annotations

import numpy as np
import pytest

from synafa.errors import SynafaError
from synafa.stats.ranks import critical_difference, mean_ranks


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_has_demsars_constants(methods: int, q: float) -> None:
    assert critical_difference(methods, 1) == pytest.approx(q * np.sqrt(methods * (methods + 1) / 6), rel=1e-3)


@pytest.mark.slow
def test_equal_methods_are_told_apart_in_one_of_twenty_studies() -> None:
    rng = np.random.default_rng(0)
    apart = 0
    for _ in range(1500):
        found = mean_ranks(rng.normal(size=(12, 5)))
        apart += np.ptp(found.mean_ranks) > found.critical_difference
    assert 0.025 <= apart / 1500 <= 0.065


def test_ties_share_their_rank_and_missing_scores_are_refused() -> None:
    assert mean_ranks([[0.5, 0.5, 0.1], [0.5, 0.5, 0.1]]).mean_ranks.tolist() == [1.5, 1.5, 3.0]
    with pytest.raises(SynafaError, match="missing"):
        mean_ranks([[0.5, np.nan]])
