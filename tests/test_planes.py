"""Values straight to bit planes: the pass with brackets and the column-by-column way, against codes from a loop."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa import Discretizer, PairCounts, planes_kernels
from synafa.counts import _rows_by_class
from tests import naive


def columns(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One column for every way a bracket can hold, be a single value, overflow or miss."""
    x = rng.normal(size=n)
    period = np.arange(n) * planes_kernels.SAMPLE % n < planes_kernels.SAMPLE  # about the rows the sample takes
    return {
        "distinct": x,
        "sorted": np.sort(x),
        "mostly zero": np.maximum(x - 1, 0),
        "mostly the maximum": np.minimum(x, -1),
        "half zero": np.maximum(x, 0),
        "a little more than half zero": np.maximum(x - 0.03, 0),
        "a little less than half zero": np.maximum(x + 0.03, 0),
        "half zero, but for one": np.where(np.arange(n) == n - 1, -1.0, np.maximum(x - 0.03, 0)),
        "constant": np.full(n, 2.5),
        "two values": np.where(x > 0, 3.0, -1.0),
        "two values, rarely": np.where(np.arange(n) == n - 1, 3.0, -1.0),
        "three values": np.sign(x) * (np.abs(x) > 0.4),
        "whole numbers": np.rint(20 * x),
        "signed zeros": np.where(x > 0.3, x, np.where(x > 0, 0.0, -0.0)),
        "close to the median, two values": np.where(np.abs(x) < 0.02, np.sign(x), 5 * x),
        "sample below": np.where(period, -10.0 - rng.random(n), x),
        "sample above": np.where(period, 10.0 + rng.random(n), x),
        "sample constant": np.where(period, 0.0, x),
        "tiny": 1e-40 * np.rint(3 * x),
    }


def bits_of(planes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Codes (n, D) that a set of planes stands for; padding must be zero."""
    bits = np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little")
    assert not bits[:, rows < 0].any()
    codes = np.empty((int(rows.max()) + 1, len(planes)), np.uint8)
    codes[rows[rows >= 0]] = bits[:, rows >= 0].T
    return codes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [planes_kernels.STREAMED - 1, planes_kernels.STREAMED, planes_kernels.STREAMED + 77])
def test_every_kind_of_column_gets_the_bits_of_the_studys_rule(n, dtype):
    rng = np.random.default_rng(n)
    X = np.stack(list(columns(n, rng).values()), axis=1).astype(dtype)
    order, _ = _rows_by_class(rng.integers(0, 3, n), 3)
    codes = bits_of(planes_kernels.pack_values(X, order), order)
    expected = np.stack([column > naive.threshold(column) for column in X.T], axis=1)
    wrong = [name for name, bad in zip(columns(n, rng), (codes != expected).any(axis=0)) if bad]
    assert wrong == []


def test_brackets_that_fail_are_noticed():
    """Without the way column by column these columns would be wrong, so the test above would fail."""
    n = planes_kernels.STREAMED
    made = columns(n, np.random.default_rng(0))
    X = np.stack(list(made.values()), axis=1).astype(np.float32)
    seen = []
    one_by_one = planes_kernels._one_by_one

    def watch(X, rows, which, planes):
        seen.extend(np.array(list(made))[which].tolist())
        return one_by_one(X, rows, which, planes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planes_kernels, "_one_by_one", watch)
        planes_kernels.pack_values(X, _rows_by_class(np.zeros(n, int), 1)[0])
    assert {"sample below", "sample above", "sorted", "half zero, but for one"} <= set(seen)
    assert not {"distinct", "mostly zero", "mostly the maximum", "constant", "a little less than half zero"} & set(seen)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(1, 40), st.integers(1, 3), st.integers(0, 10**6))
def test_the_pass_is_right_for_few_rows_too(n, d, classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(int(rng.integers(0, 4))).astype(rng.choice([np.float32, np.float64]))
    y = rng.integers(0, classes, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planes_kernels, "STREAMED", 1)
        found = PairCounts.from_values(X, y)
    assert found == PairCounts.from_codes(Discretizer(2).fit_transform(X), y, 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [100, planes_kernels.STREAMED])
def test_a_cell_that_is_not_finite_is_noticed(n, bad):
    X = np.random.default_rng(0).normal(size=(n, 20)).astype(np.float32)
    X[n // 2, 17] = bad
    assert planes_kernels.pack_values(X, _rows_by_class(np.zeros(n, int), 1)[0]) is None


def test_the_number_of_threads_changes_nothing():
    rng = np.random.default_rng(5)
    n = planes_kernels.STREAMED + 5
    X = np.stack(list(columns(n, rng).values()), axis=1).astype(np.float32)
    y = rng.integers(0, 2, n)
    threads = numba.get_num_threads()
    many = PairCounts.from_values(X, y)
    try:
        numba.set_num_threads(1)
        assert PairCounts.from_values(X, y) == many
    finally:
        numba.set_num_threads(threads)
