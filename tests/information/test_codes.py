"""Values to codes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline

from synafa import Discretizer, SynafaError
from tests import naive

VALUES = st.sampled_from([-0.0, 0.0, 1.0, 1.5, -2.25, 1e-30, -1e30, 3.0]) | st.floats(-1e6, 1e6, width=32)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from([np.float32, np.float64]))
def test_two_bins_follow_the_studys_rule(data, dtype):
    n, d = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 4))
    X = data.draw(arrays(np.float64, (n, d), elements=VALUES)).astype(dtype)
    discretizer = Discretizer(n_bins=2).fit(X)
    assert discretizer.edges_[:, 0].tolist() == [naive.threshold(column) for column in X.T]
    assert discretizer.transform(X).tolist() == naive.codes(X.tolist())


def test_the_median_of_many_rows_is_exact():
    rng = np.random.default_rng(0)
    for n in (4999, 5000):
        X = rng.normal(size=(n, 40)).astype(np.float32)
        X[:, ::3] = np.maximum(X[:, ::3], 0.1)
        X[:, 1::5] = X[:, 1::5].round(1)
        expected = [naive.threshold(column) for column in X.T]
        assert Discretizer().fit(X).edges_[:, 0].tolist() == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 16), st.integers(1, 60), st.integers(1, 30), st.integers(0, 10**6))
def test_more_bins_keep_the_order_and_split_off_every_few_distinct_values(n_bins, n, distinct, seed):
    X = np.random.default_rng(seed).integers(0, distinct, size=(n, 3)).astype(float)
    codes = Discretizer(n_bins=n_bins).fit(X).transform(X)
    assert codes.max() < n_bins
    for values, coded in zip(X.T, codes.T):
        order = np.argsort(values, kind="stable")
        assert (np.diff(coded[order].astype(int)) >= 0).all(), "a larger value never has a smaller code"
        if len(np.unique(values)) <= n_bins:
            assert len(np.unique(coded)) == len(np.unique(values))
        elif len(np.unique(values)) > 1:
            assert len(np.unique(coded)) > 1


def test_edges_come_from_training_rows_only():
    train, test = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[1.4], [1.6], [100.0]])
    assert Discretizer().fit(train).transform(test).ravel().tolist() == [0, 1, 1]


@pytest.mark.parametrize("n_bins", [2, 4])
def test_cuts_come_from_observed_cells_however_many_are_missing(n_bins):
    rng = np.random.default_rng(0)
    observed = np.round(np.exp(rng.normal(size=(300, 2))), 2)
    gaps = np.vstack([observed, np.full((900, 2), np.nan)])[rng.permutation(1200)]
    np.testing.assert_array_equal(Discretizer(n_bins).fit(gaps).edges_, Discretizer(n_bins).fit(observed).edges_)


def test_a_missing_cell_has_the_code_of_the_training_mean():
    X = np.array([[0.0], [0.0], [np.nan], [10.0], [2.0]])
    discretizer = Discretizer().fit(X)
    assert discretizer.fill_[0] == 3.0
    assert discretizer.edges_[0, 0] == 1.0  # the median of the observed cells 0, 0, 10, 2
    assert discretizer.transform(np.array([[np.nan], [2.5], [1.0]])).ravel().tolist() == [1, 1, 0]
    wholly_missing = Discretizer().fit(np.full((3, 1), np.nan))
    assert wholly_missing.transform(np.array([[np.nan], [5.0]])).ravel().tolist() == [0, 0]


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: Discretizer(n_bins=1).fit([[1.0]]), "n_bins must be"),
        (lambda: Discretizer(n_bins=17).fit([[1.0]]), "n_bins must be"),
        (lambda: Discretizer().fit(np.zeros((0, 3))), "no training rows"),
        (lambda: Discretizer().fit([1.0, 2.0]), "rows and columns"),
        (lambda: Discretizer().fit([[1.0], [np.inf]]), "infinite value \\(row 1, column 0\\)"),
        (lambda: Discretizer().fit([["a"]]), "must hold numbers"),
        (lambda: Discretizer().transform([[1.0]]), "not fitted"),
        (lambda: Discretizer().fit([[1.0]]).transform([[1.0, 2.0]]), "X has 2 features"),
    ],
)
def test_bad_input_is_named(action, words):
    with pytest.raises(SynafaError, match=words):
        action()


def test_a_discretizer_is_cloned_by_its_parameters():
    fitted = Discretizer(n_bins=3).fit(np.arange(12.0).reshape(6, 2))
    again = clone(fitted)
    assert again.get_params() == {"n_bins": 3}
    assert not hasattr(again, "edges_")
    wrong = Discretizer(n_bins="three")
    assert clone(wrong).n_bins == "three", "the constructor only stores"
    with pytest.raises(SynafaError, match="n_bins"):
        wrong.fit(np.eye(3))


def test_a_discretizer_stands_in_a_pipeline():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = X[:, 1] > 0
    model = make_pipeline(Discretizer(), BernoulliNB()).fit(X, y)
    assert model.set_params(discretizer__n_bins=4).fit(X, y)["discretizer"].edges_.shape == (3, 3)
