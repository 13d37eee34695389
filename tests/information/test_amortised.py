"""The amortised estimator: what must hold whatever the forests say, and that they learn something."""

from __future__ import annotations

import numpy as np
import pytest

from synafa.errors import SynafaError
from synafa.information.amortised import AmortisedEstimator, amortised_tables
from synafa.information.tables import InformationTables

SMALL = {"reference_pairs": 60, "draws": 6, "trees": 30}


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, size=(3000, 14)).astype(np.uint8)
    codes[:, 3] = codes[:, 2] ^ (rng.random(3000) < 0.1)
    codes[:, 13] = 0  # a pixel that is always dark
    y = (codes[:, 0] ^ codes[:, 1] ^ (rng.random(3000) < 0.1)).astype(np.int64)
    y = np.where(rng.random(3000) < 0.3, codes[:, 2], y)
    return codes, y


@pytest.fixture(scope="module")
def estimator(table: tuple[np.ndarray, np.ndarray]) -> AmortisedEstimator:
    return AmortisedEstimator.fit(*table, **SMALL)


def test_single_values_are_exact_and_pairs_are_symmetric(table, estimator):
    estimated, exact = estimator.tables(*table, 3000), InformationTables.from_codes(*table)
    assert np.array_equal(estimated.single, exact.single)
    assert np.array_equal(estimated.pair, estimated.pair.T)
    assert np.array_equal(np.diag(estimated.pair), exact.single)
    assert not estimated.cond[np.arange(14), np.arange(14)].any()


def test_large_samples_come_close_to_the_exact_tables(table, estimator):
    estimated, exact = estimator.tables(*table, 3000), InformationTables.from_codes(*table)
    assert exact.pair[0, 1] > 0.15
    assert estimated.pair[0, 1] == pytest.approx(exact.pair[0, 1], rel=0.4)
    assert np.abs(estimated.pair - exact.pair).mean() < 0.02
    assert np.abs(estimated.cond - exact.cond).mean() < 0.02


def test_an_empty_stratum_tells_nothing(table, estimator):
    assert not estimator.tables(*table, 3000).cond[:, 13, 1].any()
    assert not estimator.tables(*table, 100, "replacement").cond[:, 13, 1].any()


def test_a_corrected_sample_of_all_rows_is_the_rows(table, estimator):
    """Asking for more rows than there are changes nothing, and the seed of the sample does not matter."""
    assert np.array_equal(estimator.tables(*table, 3000).pair, estimator.tables(*table, 50_000).pair)
    shuffled = np.random.default_rng(1).permutation(3000)
    again = estimator.tables(table[0][shuffled], table[1][shuffled], 3000)
    assert np.array_equal(estimator.tables(*table, 3000).cond, again.cond)


def test_sampling_with_replacement_leaves_rows_out(table, estimator):
    whole, drawn = estimator.tables(*table, 3000), estimator.tables(*table, 3000, "replacement")
    assert not np.array_equal(whole.pair, drawn.pair)


def test_a_stratum_is_counted_as_its_rows_are(table, estimator):
    """With a sample a row short of all, the strata that fit whole are counted by the other path: same answers."""
    whole, nearly = estimator.tables(*table, 3000), estimator.tables(*table, 2999)
    assert np.array_equal(whole.cond, nearly.cond)


def test_the_same_seed_gives_the_same_tables(table):
    first, second = (amortised_tables(*table, k_infer=200, seed=3, **SMALL) for _ in range(2))
    assert np.array_equal(first.pair, second.pair)
    assert np.array_equal(first.cond, second.cond)


def test_reference_pairs_may_be_drawn_among_informative_features(table):
    from synafa.information.amortised import _reference_pairs

    among = np.array([0, 2, 3, 9])
    j, k = _reference_pairs(among, 100, np.random.default_rng(0))
    assert sorted(zip(j.tolist(), k.tolist())) == [(0, 2), (0, 3), (0, 9), (2, 3), (2, 9), (3, 9)]
    every, some = (amortised_tables(*table, k_infer=3000, informative=chosen, **SMALL) for chosen in (False, True))
    assert not np.array_equal(every.pair, some.pair)
    assert np.array_equal(every.single, some.single)
    noise = np.random.default_rng(0).integers(0, 2, size=(20_000, 4)).astype(np.uint8)
    with pytest.raises(SynafaError, match="informative=False"):
        amortised_tables(noise, np.arange(20_000) % 2, informative=True, **SMALL)


def test_wrong_settings_are_named(table, estimator):
    with pytest.raises(SynafaError, match="sampling"):
        estimator.tables(*table, 100, "bootstrap")
    with pytest.raises(SynafaError, match="k_range"):
        AmortisedEstimator.fit(*table, k_range=(300, 20))
    with pytest.raises(SynafaError, match="two classes"):
        AmortisedEstimator.fit(table[0], np.arange(3000) % 3)


def test_estimated_tables_have_no_atoms_and_say_so(table, estimator):
    with pytest.raises(SynafaError, match=r"estimated.*InformationTables\.from_codes"):
        estimator.tables(*table, 100).pid()
