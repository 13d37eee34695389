"""Sums that do not depend on order, edges told from planes, counts that are merged and sent as bytes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa import Discretizer, InformationTables, PairCounts, SynAFA, SynafaError
from synafa.information.kernels import planes
from synafa.information.planes import BinaryPlanes
from synafa.table.sums import CHUNKS, add_sum_of_integers, add_values, exact_mean, mean_of
from tests.information.test_planes import columns
from tests.tables_strategy import coded_tables

FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-8, 8, width=32)


@settings(max_examples=200, deadline=None)
@given(st.lists(FLOATS, min_size=1, max_size=40), st.integers(1, 40), st.randoms())
def test_a_mean_is_that_of_fractions_in_any_order_and_in_any_parts(numbers, repeats, random):
    numbers = numbers * repeats
    values = np.array(numbers)
    expected = float(sum(map(Fraction, numbers)) / len(numbers))
    random.shuffle(numbers)
    assert mean_of(values) == mean_of(np.array(numbers)) == expected
    parts = np.zeros((2, CHUNKS), np.int64)
    cut = random.randrange(len(values) + 1)
    add_values(parts[0], values[:cut])
    add_values(parts[1], values[cut:])
    assert exact_mean(parts.sum(axis=0), len(values)) == expected


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_are_added_as_they_are(number):
    chunks = np.zeros(CHUNKS, np.int64)
    add_sum_of_integers(chunks, np.int64(number))
    assert exact_mean(chunks, 1) == float(number)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 1024, planes.STREAMED, planes.STREAMED + 77])
def test_edges_and_means_told_from_planes_are_the_discretizers(n, dtype):
    rng = np.random.default_rng(n)
    with np.errstate(over="ignore"):
        X = np.stack(list(columns(n, rng).values()), axis=1).astype(dtype)
    found = BinaryPlanes.from_values(X, rng.integers(0, 3, n))
    expected = Discretizer(2).fit(X)
    assert found.edges.tobytes() == expected.edges_.tobytes()
    assert found.means.tobytes() == expected.fill_.tobytes()
    assert (found.codes() == expected.transform(X)).all()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(2, 60), st.integers(1, 5), st.integers(0, 3), st.integers(0, 10**6))
def test_a_fit_straight_from_values_is_the_fit_by_codes(n, d, digits, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(digits).astype(rng.choice([np.float32, np.float64]))
    y = np.concatenate([[0, 1], rng.integers(0, 3, n - 2)])
    policy, codes = SynAFA().fit(X, y), Discretizer(2).fit(X)
    tables = InformationTables.from_codes(codes.transform(X), y, 2)
    assert policy.rule_.edges.tobytes() == codes.edges_.tobytes()
    assert policy.rule_.encoder.fill_values_.tobytes() == codes.fill_.tobytes()
    assert (policy.codes_ == codes.transform(X)).all()
    for name in ("single", "pair", "cond", "specific"):
        assert getattr(policy.tables_, name).tobytes() == getattr(tables, name).tobytes(), name


@settings(max_examples=60, deadline=None)
@given(coded_tables(max_bins=4, max_classes=4), st.integers(0, 10**6))
def test_parts_with_other_classes_merge_into_the_whole_and_survive_as_bytes(table, seed):
    codes, y, bins = table
    y = np.array(["a", "b", "c", "d"])[y]
    part = np.random.default_rng(seed).integers(0, 4, len(y))
    parts = [PairCounts.from_codes(codes[part == i], y[part == i], bins) for i in np.unique(part)]
    merged = parts[0]
    for other in parts[1:]:
        merged.merge(PairCounts.from_bytes(other.to_bytes()))
    whole = PairCounts.from_codes(codes, y, bins)
    assert merged == whole
    assert merged.to_bytes() == whole.to_bytes()


def test_damaged_bytes_and_other_shapes_are_refused():
    counts = PairCounts.from_codes([[0, 1], [1, 1]], [0, 1])
    data = counts.to_bytes()
    for bad in (b"", data[:-1], data[:-3] + bytes([data[-3] ^ 1]) + data[-2:], b"x" * 100):
        with pytest.raises(SynafaError, match="not pair counts, or they are damaged"):
            PairCounts.from_bytes(bad)
    with pytest.raises(SynafaError, match="3 features and 2 bins cannot be merged into counts of 2 features"):
        counts.merge(PairCounts(3, 2, [0, 1]))


def test_large_counts_are_computed_where_small_ones_are_looked_up(monkeypatch):
    from synafa.information.kernels import tables

    rng = np.random.default_rng(0)
    for classes in (2, 3):
        codes, y = rng.integers(0, 2, (3000, 6)).astype(np.uint8), rng.integers(0, classes, 3000)
        known = InformationTables.from_codes(codes, y, 2)
        with monkeypatch.context() as patch:
            patch.setattr(tables, "TABULATED", 50)
            found = InformationTables.from_codes(codes, y, 2)
        for name in ("single", "pair", "cond"):
            np.testing.assert_allclose(getattr(found, name), getattr(known, name), rtol=0, atol=1e-12)
