"""What a fitted predictor promises: masks are honoured, contributions add up, arrays bring it back."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa.errors import SynafaError
from synafa.predictor import predictor_from_arrays
from tests.predictor.tables import mixed_predictor, mixed_table

GARBAGE = (np.nan, np.inf, -np.inf, 1e308, -1e308, -1.0, 0.5, 1e6)


@given(seed=st.integers(0, 10_000), garbage=st.sampled_from(GARBAGE), density=st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_values_that_are_not_known_never_matter(seed: int, garbage: float, density: float) -> None:
    model = mixed_predictor()
    X = mixed_table(20, seed)[0]
    mask = np.random.default_rng(seed).random(X.shape) < density
    expected = model.predict_proba(X, mask)
    np.testing.assert_array_equal(model.predict_proba(np.where(mask, X, garbage), mask), expected)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_an_empty_cell_is_an_unknown_cell(seed: int) -> None:
    model = mixed_predictor()
    X = mixed_table(20, seed)[0]
    everything = model.predict_proba(X, np.ones(X.shape, dtype=bool))
    np.testing.assert_array_equal(everything, model.predict_proba(X, ~np.isnan(X)))


def test_known_values_do_matter() -> None:
    X = mixed_table(50, 3)[0]
    model, known = mixed_predictor(), ~np.isnan(X)
    assert np.abs(model.predict_proba(X, known) - model.predict_proba(X, np.zeros_like(known))).max() > 0.2


def test_rows_sum_to_one_and_stay_positive_for_huge_values() -> None:
    X = np.array([[1e308, -1e308, np.inf, -np.inf, 1e200, 4.0, 59.0], [0.0, 0.0, 7.0, 1.0, 0.5, 4.0, 400.0]])
    proba = mixed_predictor().predict_proba(X, np.ones(X.shape, dtype=bool))
    assert np.isfinite(proba).all()
    assert (proba > 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-12)


def test_a_value_beyond_the_clip_says_what_the_clip_says() -> None:
    model = mixed_predictor()
    basis = model.basis
    limit = basis.centre[0] + 8 * basis.scale[0]
    rows = np.full((2, 7), np.nan)
    rows[:, 0] = max(limit, basis.grid[0][np.isfinite(basis.grid[0])].max()) * 1.001, 1e9
    proba = model.predict_proba(rows, ~np.isnan(rows))
    np.testing.assert_allclose(proba[0], proba[1], atol=1e-6)


def test_contributions_add_up() -> None:
    model = mixed_predictor()
    X = mixed_table(200, 5)[0]
    mask = np.random.default_rng(5).random(X.shape) < 0.5
    added = model.contributions(X)
    assert added.dtype == np.float32
    assert added.shape == (200, 7, model.n_hidden)
    assert not added[np.isnan(X)].any()
    state = model.base + (added * mask[:, :, None]).sum(axis=1)
    np.testing.assert_allclose(model.head(state), model.predict_proba(X, mask), atol=1e-5)


@pytest.mark.parametrize("feature", range(7))
def test_one_columns_contribution_is_its_part_of_all(feature: int) -> None:
    model = mixed_predictor()
    X = mixed_table(60, 6)[0]
    alone = model.contribution(X[:, feature], feature)
    assert alone.dtype == np.float32
    np.testing.assert_allclose(alone, model.contributions(X)[:, feature], atol=1e-6)


def test_a_row_alone_and_a_row_among_many_are_predicted_alike() -> None:
    model = mixed_predictor()
    X = mixed_table(100, 7)[0]
    mask = ~np.isnan(X)
    alone = np.concatenate([model.predict_proba(X[i : i + 1], mask[i : i + 1]) for i in range(100)])
    np.testing.assert_allclose(alone, model.predict_proba(X, mask), rtol=1e-12)


def test_the_order_of_rows_changes_no_answer() -> None:
    """Products of float32 round a row by its place; on some processors that showed in the eighth digit."""
    model, X = mixed_predictor(), mixed_table(61, 5)[0]
    known, order = ~np.isnan(X), np.random.default_rng(1).permutation(61)
    expected = model.predict_proba(X, known)[order]
    np.testing.assert_allclose(model.predict_proba(X[order], known[order]), expected, rtol=1e-12)


def test_arrays_bring_the_predictor_back(tmp_path) -> None:
    import json

    from safetensors.numpy import load_file, save_file

    model = mixed_predictor()
    arrays, meta = model.to_arrays()
    save_file(arrays, tmp_path / "model.safetensors")
    again = predictor_from_arrays(load_file(tmp_path / "model.safetensors"), json.loads(json.dumps(meta)))
    X = mixed_table(100, 8)[0]
    mask = np.random.default_rng(8).random(X.shape) < 0.6
    np.testing.assert_allclose(again.predict_proba(X, mask), model.predict_proba(X, mask), atol=1e-6)


def test_training_rows_are_not_stored() -> None:
    y = mixed_table()[1]
    arrays, _ = mixed_predictor().to_arrays()
    assert all(len(y) not in array.shape for array in arrays.values())


def test_predicting_loads_neither_scikit_learn_nor_scipy_nor_numba() -> None:
    code = (
        "import sys; from synafa.predictor import MaskedPredictor, predictor_from_arrays;"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'sklearn', 'scipy', 'numba', 'torch'}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("values", "mask", "said"),
    [
        (np.zeros((2, 6)), np.ones((2, 6), dtype=bool), "7 features"),
        (np.zeros((2, 7)), np.ones((1, 7), dtype=bool), r"shape of the values, \(2, 7\)"),
    ],
)
def test_shapes_that_do_not_fit_are_named(values: np.ndarray, mask: np.ndarray, said: str) -> None:
    with pytest.raises(SynafaError, match=said) as caught:
        mixed_predictor().predict_proba(values, mask)
    assert str(caught.value).count(". ") == 0


def test_arrays_of_another_kind_are_refused() -> None:
    arrays, meta = mixed_predictor().to_arrays()
    with pytest.raises(SynafaError, match="'forest'"):
        predictor_from_arrays(arrays, {**meta, "kind": "forest"})
    with pytest.raises(SynafaError, match=r"lacks 'base'"):
        predictor_from_arrays({n: a for n, a in arrays.items() if n != "base"}, meta)
