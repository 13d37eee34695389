"""Synergy beyond pairs."""

from __future__ import annotations

import numpy as np
import pytest

from synafa.analysis.triples import synergy3
from synafa.errors import SynafaError
from synafa.information.codes import Discretizer
from tests import naive_stats as naive


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "k"), [(50, 3, 2), (64, 5, 2), (200, 6, 3), (129, 4, 1), (1000, 7, 2)])
def test_every_triple_matches_its_definition(n, d, k):
    rng = np.random.default_rng(n)
    codes, y = rng.integers(0, 2, (n, d)), rng.integers(0, k, n)
    expected = naive.synergy3(codes, y)
    result = synergy3(codes, y)
    assert [tuple(t) for t in result.triples.tolist()] == list(expected)
    np.testing.assert_allclose(result.values, list(expected.values()), atol=1e-12)
    assert result.mean == pytest.approx(np.mean(list(expected.values())), abs=1e-12)
    assert result.maximum == pytest.approx(max(expected.values()), abs=1e-12)


def test_parity_of_three_bits_is_all_synergy_beyond_pairs():
    codes = np.random.default_rng(0).integers(0, 2, (4000, 4))
    result = synergy3(codes, codes[:, :3].sum(axis=1) % 2)
    assert result.triples[result.values.argmax()].tolist() == [0, 1, 2]
    assert result.maximum > 0.99
    assert np.sort(result.values)[-2] < 0.02


def test_a_third_copy_adds_nothing():
    rng = np.random.default_rng(1)
    a, b, y = rng.integers(0, 2, (3, 500))
    assert synergy3(np.column_stack([a, b, b]), y).values == pytest.approx([0.0], abs=1e-12)


def test_bad_codes_are_refused():
    with pytest.raises(SynafaError, match="binary"):
        synergy3(np.full((4, 3), 2), [0, 1, 0, 1])
    with pytest.raises(SynafaError, match="three features"):
        synergy3(np.zeros((4, 2)), [0, 1, 0, 1])


@pytest.mark.data
def test_ckd_has_the_papers_synergy_of_triples(data_dir):
    from synafa.datasets import load

    ckd = load("ckd")
    rows = ckd.X[ckd.train]
    result = synergy3(Discretizer(n_bins=2).fit(rows).transform(rows), ckd.y[ckd.train])
    assert result.values.size == 2024
    assert (round(result.mean, 3), round(result.p90, 3), round(result.maximum, 3)) == (0.027, 0.061, 0.122)
