"""What is learnt: interactions, nothing from noise, the same for every seed and thread count, from odd tables too."""

from __future__ import annotations

import numpy as np
import pytest

from synafa.errors import SynafaError
from synafa.predictor import fit_predictor, log_loss, random_masks
from tests.predictor.tables import mixed_table, xor_table


def all_known(X: np.ndarray) -> np.ndarray:
    return np.ones(X.shape, dtype=bool)


def test_xor_is_learnt_and_one_half_of_it_says_nothing() -> None:
    X, y = xor_table(1000, 0)
    model = fit_predictor(X, y, 2)
    V, truth = xor_table(500, 1)
    both = model.predict_proba(V, np.isin(np.arange(5), (0, 1)) & all_known(V))
    half = model.predict_proba(V, (np.arange(5) == 0) & all_known(V))
    assert (both.argmax(axis=1) == truth).mean() > 0.85
    assert log_loss(both, truth) < 0.45
    assert log_loss(half, truth) < np.log(2) + 0.03


@pytest.mark.parametrize("seed", range(6))
def test_on_noise_it_is_no_worse_than_the_class_shares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = (150, 300, 800)[seed % 3]
    X, y = rng.normal(size=(n, 12)), (rng.random(n) < 0.3).astype(int)
    V, truth = rng.normal(size=(4000, 12)), (rng.random(4000) < 0.3).astype(int)
    model = fit_predictor(X, y, 2, seed=seed)
    shares = np.tile(np.bincount(y) / n, (4000, 1))
    proba = model.predict_proba(V, random_masks(all_known(V), rng))
    assert log_loss(proba, truth) < log_loss(shares, truth) + 0.01


def test_nothing_known_gives_about_the_class_shares() -> None:
    X, y, categories = mixed_table(600)
    y = np.where(np.random.default_rng(0).random(600) < 0.5, 0, y)
    model = fit_predictor(X, y, 3, categories=categories)
    nothing = model.predict_proba(X[:1], np.zeros((1, 7), dtype=bool))[0]
    np.testing.assert_allclose(nothing, np.bincount(y) / 600, atol=0.05)


def test_classes_keep_their_order_and_an_absent_one_its_column() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice([0, 2, 3], size=300)
    X = np.column_stack([y + 0.1 * rng.normal(size=300), rng.normal(size=300)])
    proba = fit_predictor(X, y, 5).predict_proba(X, all_known(X))
    assert proba.shape == (300, 5)
    assert (proba.argmax(axis=1) == y).mean() > 0.95
    assert proba[:, [1, 4]].max() < 0.1


def test_a_seed_gives_the_same_predictor_and_another_seed_another() -> None:
    X, y, categories = mixed_table(120)
    one, same, other = (fit_predictor(X, y, 3, categories=categories, seed=s).to_arrays()[0] for s in (3, 3, 4))
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert not np.array_equal(one["number_weights"], other["number_weights"])


@pytest.mark.slow
def test_threads_do_not_matter() -> None:
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    y = (X[:, 0] > 0).astype(int)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(fit_predictor(X, y, 2).to_arrays()[0])
    assert all(np.array_equal(found[0][name], found[1][name]) for name in found[0])


def test_text_columns_are_categories_not_numbers() -> None:
    rng = np.random.default_rng(0)
    level = rng.integers(0, 6, 600)
    y = np.isin(level, (1, 4)).astype(int)  # no order of the categories says this
    X = level[:, None].astype(float)
    proba = fit_predictor(X, y, 2, categories=[6]).predict_proba(X, all_known(X))
    assert (proba.argmax(axis=1) == y).all()


def test_rare_categories_share_a_slot_and_unheard_of_ones_join_them() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, (2000, 1)).astype(float)
    X[:500] %= 40
    model = fit_predictor(X, rng.integers(0, 2, 2000), 2, categories=[100])
    rare = [level for level in range(100) if model.basis.slot_of_level[level] == 32]
    assert len(rare) == 68
    rows = np.array([[rare[0]], [rare[1]], [1000.0]])
    proba = model.predict_proba(rows, all_known(rows))
    np.testing.assert_array_equal(proba[0], proba[1])
    np.testing.assert_array_equal(proba[0], proba[2])


@pytest.mark.parametrize("n", [1, 2, 3, 9, 12])
def test_a_handful_of_rows_is_enough_to_answer(n: int) -> None:
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 2)), np.arange(n) % 2
    proba = fit_predictor(X, y, 2).predict_proba(X, all_known(X))
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_two_rows_of_a_class_and_a_single_class_are_answered() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.zeros(200, dtype=int)
    assert fit_predictor(X, y, 1).predict_proba(X, all_known(X)).max() == 1
    y[:2] = 1
    proba = fit_predictor(X, y, 2).predict_proba(X, all_known(X))
    assert 0.001 < proba[:, 1].mean() < 0.1


def test_an_outlier_does_not_hide_the_rest_of_its_column() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    y = (X[:, 0] > 0).astype(int)
    X[0] = 1e300
    proba = fit_predictor(X, y, 2).predict_proba(X, all_known(X))
    assert (proba.argmax(axis=1) == y)[1:].mean() > 0.95


def test_a_missing_training_cell_is_unknown_and_not_the_mean() -> None:
    """Cells are empty just for the sick; told only the column's mean, nobody must look sick for that."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(800, 2)), rng.integers(0, 2, 800)
    X[(y == 1) & (rng.random(800) < 0.8), 0] = np.nan
    proba = fit_predictor(X, y, 2).predict_proba(np.zeros((1, 2)), np.array([[True, False]]))[0, 1]
    assert proba < 0.3  # measured rows are mostly class 0


def test_only_text_columns_work() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (200, 2)).astype(float)
    y = (X[:, 0] == 1).astype(int)
    model = fit_predictor(X, y, 2, categories=[3, 3])
    assert (model.predict_proba(X, all_known(X)).argmax(axis=1) == y).mean() > 0.97
    assert model.contributions(X).shape == (200, 2, model.n_hidden)


@pytest.mark.slow
def test_a_thousand_features_are_feasible() -> None:
    rng = np.random.default_rng(0)
    y, truth = rng.integers(0, 2, 400), rng.integers(0, 2, 1000)
    X, V = rng.normal(size=(400, 1000)), rng.normal(size=(1000, 1000))
    X[:, :20] += y[:, None]
    V[:, :20] += truth[:, None]
    proba = fit_predictor(X, y, 2).predict_proba(V, np.broadcast_to(np.arange(1000) < 20, V.shape))
    assert log_loss(proba, truth) < 0.5


def test_progress_rises_to_one() -> None:
    said: list[tuple[float, str]] = []
    X, y = xor_table(100, 0)
    fit_predictor(X, y, 2, progress=lambda fraction, words: said.append((fraction, words)))
    fractions = [fraction for fraction, _ in said]
    assert fractions[0] == 0
    assert fractions[-1] == 1
    assert fractions == sorted(fractions)
    assert len(said) > 5


@pytest.mark.parametrize(
    ("values", "y", "options", "said"),
    [
        (np.zeros((0, 2)), np.zeros(0, dtype=int), {}, "at least one row"),
        (np.zeros((3, 2)), np.zeros(2, dtype=int), {}, "each of the 3 rows"),
        (np.zeros((3, 2)), np.array([0, 1, 2]), {}, "from 0 to n_classes - 1 = 1"),
        (np.zeros((3, 2)), np.array([0.0, 1.0, 1.0]), {}, "whole numbers"),
        (np.zeros((3, 2)), np.array([0, 1, 1]), {"categories": [0]}, "each of 2 columns"),
        (np.full((3, 2), 5.0), np.array([0, 1, 1]), {"categories": [0, 3]}, "Column 1 has 3 categories"),
        (np.zeros((3, 2)), np.array([0, 1, 1]), {"groups": [1]}, "groups"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(values, y, options, said) -> None:
    with pytest.raises(SynafaError, match=said) as caught:
        fit_predictor(values, y, 2, **options)
    assert str(caught.value).endswith(".")
    assert str(caught.value).count(". ") == 0
