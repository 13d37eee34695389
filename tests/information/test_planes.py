"""Values straight to bit planes: the pass with brackets and the column-by-column way, against codes from a loop."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa import Discretizer, PairCounts
from synafa.information.kernels import brackets, compare, planes
from synafa.information.labels import classes_of, rows_by_class
from tests import naive


def columns(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One column for every way a bracket can hold, be a single value, overflow or miss."""
    x = rng.normal(size=n)
    period = np.arange(n) * planes.SAMPLE % n < planes.SAMPLE  # about the rows the sample takes
    return {
        "distinct": x,
        "sorted": np.sort(x),
        "sorted, the middle within one share": np.roll(np.sort(x), n // 16),
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
        "a hundred values": np.floor(100 * rng.random(n)),
        "far from the median on both sides": np.sign(x) * 2e38 * (1 + 0.1 * np.minimum(np.abs(x), 3)),
        "next to each other": 1 + 2.0**-23 * np.rint(50 * x),
        "heavy tails": 1 / x,
    }


def bits_of(planes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Codes (n, D) that a set of planes stands for; padding must be zero."""
    bits = np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little")
    assert not bits[:, rows < 0].any()
    codes = np.empty((int(rows.max()) + 1, len(planes)), np.uint8)
    codes[rows[rows >= 0]] = bits[:, rows >= 0].T
    return codes


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [planes.STREAMED - 1, planes.STREAMED, planes.STREAMED + 77])
def test_every_kind_of_column_gets_the_bits_of_the_studys_rule(n, dtype):
    rng = np.random.default_rng(n)
    X = np.stack(list(columns(n, rng).values()), axis=1).astype(dtype)
    order, _ = rows_by_class(rng.integers(0, 3, n), 3)
    codes = bits_of(planes.pack_values(X, order), order)
    expected = np.stack([column > naive.threshold(column) for column in X.T], axis=1)
    wrong = [name for name, bad in zip(columns(n, rng), (codes != expected).any(axis=0)) if bad]
    assert wrong == []


def test_brackets_that_fail_are_noticed():
    """Without the way column by column these columns would be wrong, so the test above would fail."""
    n = planes.STREAMED
    made = columns(n, np.random.default_rng(0))
    X = np.stack(list(made.values()), axis=1).astype(np.float32)
    seen = []
    one_by_one = planes._one_by_one

    def watch(X, rows, which, planes):
        seen.extend(np.array(list(made))[which].tolist())
        return one_by_one(X, rows, which, planes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planes, "_one_by_one", watch)
        planes.pack_values(X, rows_by_class(np.zeros(n, int), 1)[0])
    overflows = "sorted, the middle within one share"
    assert {"sample below", "sample above", overflows, "half zero, but for one"} <= set(seen)
    assert not {"distinct", "mostly zero", "mostly the maximum", "constant", "a little less than half zero"} & set(seen)


def test_brackets_enclose_the_median_and_little_else():
    rng = np.random.default_rng(2)
    X = np.exp(rng.normal(size=(12_000, 300))).astype(np.float32)
    lower, upper, least = brackets.brackets(X)
    median = np.median(X, axis=0)
    assert ((lower <= median) & (median <= upper)).mean() > 0.99
    assert ((lower <= X) & (upper >= X)).mean(axis=0).max() < 0.08
    assert (least >= X.min(axis=0)).all()


def test_a_bracket_among_ties_ends_in_values_of_the_column():
    """Between two of them it could leave out the value that half of the rows have."""
    rng = np.random.default_rng(3)
    X = rng.choice([0.0, 1.0, 2.0, 3.0], p=[0.2, 0.15, 0.4, 0.25], size=(9_000, 40)).astype(np.float32)
    lower, upper, _ = brackets.brackets(X)
    assert np.isin(lower, np.unique(X)).all()
    assert (lower <= 2).all()
    assert (upper == 2).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [8, 9, 15, 16, 37])
def test_comparing_64_rows_gives_the_bits_of_a_loop(d, dtype):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(100, d)).astype(dtype)
    rows = np.concatenate([rng.permutation(100)[:50], np.full(14, -1)])
    lower, upper = np.sort(rng.normal(size=(2, d)), axis=0).astype(dtype)
    at, ahead = np.empty((2, 64), np.int64)
    shown = compare.locate(X, rows, 0, at)
    compare.locate(X, rows, 1, ahead)
    some, above = np.empty((2, d), np.uint64)
    least, mark = np.full(d, np.inf, dtype), np.zeros(d, f"uint{8 * X.itemsize}")
    compare.compare_64(X, at, ahead, shown, lower, upper, some, above, least, mark)
    for j in range(d):
        assert int(some[j]) == sum(1 << i for i in range(50) if X[rows[i], j] > lower[j])
        assert int(above[j]) == sum(1 << i for i in range(50) if X[rows[i], j] > upper[j])
    assert np.array_equal(least, X[np.maximum(rows, 0)].min(axis=0))
    assert not mark.any()
    for bad in (np.nan, np.inf, -np.inf):
        X[rows[7], d - 1] = bad
        mark[:] = 0
        compare.compare_64(X, at, ahead, shown, lower, upper, some, above, least, mark)
        assert np.flatnonzero(mark).tolist() == [d - 1]


@pytest.mark.parametrize("sizes", [(1, 1), (63, 1025), (1024, 1024), (2049, 3)])
def test_common_rows_are_counted_across_whole_and_broken_groups_of_words(sizes):
    rng = np.random.default_rng(sum(sizes))
    y = rng.permutation(np.repeat([0, 1], sizes))
    codes = rng.integers(0, 2, size=(len(y), 19)).astype(np.uint8)
    codes[:, 18] = 1
    joint = PairCounts.from_codes(codes, y, 2).joint
    for k in range(2):
        expected = codes[y == k].T.astype(int) @ codes[y == k]
        assert np.array_equal(joint[k], np.triu(expected, 1))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(1, 40), st.integers(1, 3), st.integers(0, 10**6))
def test_the_pass_is_right_for_few_rows_too(n, d, classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(int(rng.integers(0, 4))).astype(rng.choice([np.float32, np.float64]))
    y = rng.integers(0, classes, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planes, "STREAMED", 1)
        found = PairCounts.from_values(X, y)
    assert found == PairCounts.from_codes(Discretizer(2).fit_transform(X), y, 2)


@pytest.mark.parametrize(
    "labels", [[2, 0, 2, 5], np.array([1, 3, 3, 1], np.uint8), [-1, 4, 4, 0], [10**12, 7, 7, 7], ["b", "a", "b", "b"]]
)
def test_classes_are_those_of_numpys_unique(labels):
    found, expected = classes_of(np.array(labels)), np.unique(np.array(labels), return_inverse=True)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])
    assert found[0].dtype == expected[0].dtype


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [100, planes.STREAMED])
def test_a_cell_that_is_not_finite_is_noticed(n, bad):
    X = np.random.default_rng(0).normal(size=(n, 20)).astype(np.float32)
    X[n // 2, 17] = bad
    assert planes.pack_values(X, rows_by_class(np.zeros(n, int), 1)[0]) is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("share", [0.3, 0.52, 0.9, 1.0])
def test_a_column_that_is_hardly_finite_is_noticed_without_a_warning(share, bad):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(planes.STREAMED, 20)).astype(np.float32)
    X[rng.random(len(X)) < share, 3] = bad
    assert planes.pack_values(X, rows_by_class(np.zeros(len(X), int), 1)[0]) is None


@pytest.mark.parametrize("d", [5, 30])
def test_read_only_reordered_and_strided_matrices_count_alike(d):
    rng = np.random.default_rng(d)
    X, y = rng.normal(size=(planes.STREAMED, d)).astype(np.float32), rng.integers(0, 3, planes.STREAMED)
    expected = PairCounts.from_codes(Discretizer(2).fit_transform(X), y, 2)
    X.flags.writeable = False
    for same in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
        assert PairCounts.from_values(same, y) == expected


def test_the_number_of_threads_changes_nothing():
    rng = np.random.default_rng(5)
    n = planes.STREAMED + 5
    X = np.stack(list(columns(n, rng).values()), axis=1).astype(np.float32)
    y = rng.integers(0, 2, n)
    threads = numba.get_num_threads()
    many = PairCounts.from_values(X, y)
    try:
        numba.set_num_threads(1)
        assert PairCounts.from_values(X, y) == many
    finally:
        numba.set_num_threads(threads)
