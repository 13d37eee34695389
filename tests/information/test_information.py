"""Counts, information tables and the decomposition of pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa import Discretizer, InformationTables, PairCounts, SynafaError
from tests import naive
from tests.tables_strategy import coded_tables


@settings(max_examples=120, deadline=None)
@given(coded_tables(max_bins=5, max_classes=4))
def test_counts_are_those_of_a_loop_over_rows(table):
    codes, y, bins = table
    counts = PairCounts.from_codes(codes, y, bins)
    for j in range(codes.shape[1]):
        for k in range(codes.shape[1]):
            slow = naive.joint_counts(codes, y, j, k)
            cells = counts.cells(j, k)
            for c, label in enumerate(counts.classes):
                for a in range(bins):
                    for b in range(bins):
                        assert cells[c, a, b] == slow[(label, a, b)]


@settings(max_examples=120, deadline=None)
@given(coded_tables(max_bins=5, max_classes=4))
def test_tables_are_those_of_a_loop_over_rows(table):
    codes, y, bins = table
    tables = InformationTables.from_codes(codes, y, bins)
    np.testing.assert_allclose(tables.single, naive.single(codes, y), atol=1e-12)
    atoms = tables.pid()
    for j in range(codes.shape[1]):
        for k in range(codes.shape[1]):
            assert tables.pair[j, k] == pytest.approx(naive.pair(codes, y, j, k), abs=1e-12)
            for v in range(bins):
                expected = 0.0 if j == k else naive.cond(codes, y, j, k, v)
                assert tables.cond[j, k, v] == pytest.approx(expected, abs=1e-12)
            if j != k:
                found = (atoms.redundant[j, k], atoms.unique[j, k], atoms.unique[k, j], atoms.synergy[j, k])
                assert found == pytest.approx(naive.atoms(codes, y, j, k), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(coded_tables(max_bins=4, max_classes=3), st.integers(0, 40))
def test_counts_of_parts_add_up_to_the_counts_of_the_whole(table, cut):
    codes, y, bins = table
    cut = min(cut, len(y) - 1) or 1
    whole = PairCounts.from_codes(codes, y, bins)
    left = PairCounts(codes.shape[1], bins, whole.classes).update(codes[:cut], y[:cut])
    right = PairCounts(codes.shape[1], bins, whole.classes)
    if cut < len(y):
        right.update(codes[cut:], y[cut:])
        assert (
            PairCounts(codes.shape[1], bins, whole.classes).update(codes[:cut], y[:cut]).update(codes[cut:], y[cut:])
            == left + right
        )
    assert left + right == whole
    one, other = InformationTables.from_counts(whole), InformationTables.from_counts(left + right)
    assert (one.pair == other.pair).all()
    assert (one.cond == other.cond).all()


@settings(max_examples=60, deadline=None)
@given(coded_tables(max_bins=4, max_classes=3))
def test_atoms_are_not_negative_and_sum_to_the_joint_information(table):
    codes, y, bins = table
    tables = InformationTables.from_codes(codes, y, bins)
    atoms = tables.pid()
    for atom in (atoms.redundant, atoms.unique, atoms.synergy):
        assert (atom >= 0).all()
    total = atoms.redundant + atoms.unique + atoms.unique.T + atoms.synergy
    np.testing.assert_allclose(total, tables.pair, atol=1e-12)


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 300), st.integers(1, 20), st.integers(1, 4), st.integers(0, 10**6), st.booleans())
def test_values_to_tables_in_one_pass_is_the_same_as_by_way_of_codes(n, d, classes, seed, holes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(int(rng.integers(0, 4))).astype(rng.choice([np.float32, np.float64]))
    X[:, rng.random(d) < 0.3] = np.maximum(X[:, :1], 0)
    if holes:
        X[rng.random((n, d)) < 0.05] = np.nan
    y = rng.integers(0, classes, n)
    codes, gaps = Discretizer(2).fit(X).transform(X, missing="own"), bool(np.isnan(X).any())
    assert PairCounts.from_values(X, y) == PairCounts.from_codes(codes, y, 2, missing=gaps)
    one, other = InformationTables.from_values(X, y), InformationTables.from_codes(codes, y, 2, missing=gaps)
    for name in ("single", "pair", "cond", "specific"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


def test_two_bits_of_an_xor_tell_nothing_alone_and_everything_together():
    codes = np.array([[a, b, 0] for a in (0, 1) for b in (0, 1)] * 8, np.uint8)
    tables = InformationTables.from_codes(codes, codes[:, 0] ^ codes[:, 1])
    atoms = tables.pid()
    assert tables.single.tolist() == [0, 0, 0]
    assert tables.pair[0, 1] == 1
    assert atoms.synergy[0, 1] == 1
    assert tables.cond[0, 1].tolist() == [1, 1]
    assert tables.cond[2].max() == 0


def test_a_copied_feature_adds_no_information():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 200).astype(np.uint8)
    y = x ^ (rng.random(200) < 0.2)
    tables = InformationTables.from_codes(np.column_stack([x, x, 1 - x]), y)
    atoms = tables.pid()
    for j, k in ((0, 1), (0, 2), (1, 2)):
        assert tables.pair[j, k] == tables.single[j] == tables.single[k], "copies and complements agree to the last bit"
        assert tables.cond[j, k].max() == 0
        assert atoms.redundant[j, k] == pytest.approx(tables.single[0])
        assert (atoms.unique[j, k], atoms.synergy[j, k]) == pytest.approx((0, 0), abs=1e-15)


def test_a_single_class_leaves_nothing_to_know():
    codes = np.random.default_rng(0).integers(0, 2, size=(50, 4)).astype(np.uint8)
    tables = InformationTables.from_codes(codes, np.zeros(50, int))
    assert tables.pair.max() == tables.cond.max() == tables.single.max() == 0


# PID_WB of the package dit 2.3 for these joint distributions: redundant, unique of a, unique of b, synergy in bits.
DIT = [
    # number of classes, p(a, b, y) as integer weights with y running fastest, atoms
    (2, [1, 0, 0, 1, 0, 1, 1, 0], (0.0, 0.0, 0.0, 1.0)),  # XOR
    (2, [1, 0, 1, 0, 1, 0, 0, 1], (0.3112781244591328, 0.0, 0.0, 0.49999999999999994)),  # AND
    (2, [5, 1, 2, 3, 1, 4, 7, 2], (0.003132304251205881, 0.0, 0.0038848602980483785, 0.19423868849829962)),
    (2, [9, 0, 3, 1, 2, 8, 0, 4], (0.02521964222057112, 0.47862080542535795, 0.0, 0.1075996955786207)),
    (
        3,
        [3, 1, 2, 0, 4, 1, 5, 0, 2, 1, 1, 6],
        (0.11220225564304821, 0.0451311517916831, 0.16350070999241423, 0.18770387861557047),
    ),
]


@pytest.mark.parametrize(("n_classes", "weights", "expected"), DIT)
def test_atoms_agree_with_dit(n_classes, weights, expected):
    cells = [(a, b, y) for a in (0, 1) for b in (0, 1) for y in range(n_classes)]
    rows = np.array([cell for cell, weight in zip(cells, weights) for _ in range(weight)])
    atoms = InformationTables.from_codes(rows[:, :2], rows[:, 2]).pid()
    found = (atoms.redundant[0, 1], atoms.unique[0, 1], atoms.unique[1, 0], atoms.synergy[0, 1])
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda: InformationTables.from_codes(np.zeros((0, 2), np.uint8), []), "at least one row"),
        (lambda: InformationTables.from_codes(np.zeros((2, 2), np.uint8), [0]), "one class for each of the 2 rows"),
        (lambda: InformationTables.from_codes(np.zeros((2, 2), np.uint8), [0, np.nan]), "1 missing label"),
        (lambda: InformationTables.from_codes(np.zeros((2, 2)), [0, 1]), "whole numbers"),
        (lambda: PairCounts(2, 2, [0, 1]).update(np.zeros((1, 2), np.uint8), [5]), "class np.int64\\(5\\)|class 5"),
        (lambda: PairCounts(2, 2, [0, 1]).update(np.full((1, 2), 3, np.uint8), [0]), "the code 3"),
        (lambda: PairCounts(2, 2, [0, 1]).update(np.zeros((1, 3), np.uint8), [0]), "3 features"),
        (lambda: PairCounts(2, 2, [0, 1]) + PairCounts(3, 2, [0, 1]), "same features"),
    ],
)
def test_bad_input_is_named(action, words):
    with pytest.raises(SynafaError, match=words):
        action()


@settings(max_examples=60, deadline=None)
@given(coded_tables(max_bins=3, max_classes=4, min_classes=2), st.randoms(use_true_random=False))
def test_classes_may_come_in_any_order(table, random):
    codes, y, bins = table
    whole = PairCounts.from_codes(codes, y, bins)
    order = list(range(len(whole.classes)))
    random.shuffle(order)
    shuffled = PairCounts(codes.shape[1], bins, whole.classes[order]).update(codes, y)
    assert shuffled.class_counts.tolist() == whole.class_counts[order].tolist()
    assert (shuffled.joint == whole.joint[order]).all()
    assert (shuffled.plane_counts == whole.plane_counts[order]).all()


def test_classes_that_cannot_be_told_apart_are_refused():
    with pytest.raises(SynafaError, match="classes names 'b' twice"):
        PairCounts(2, 2, ["b", "a", "b"])
    codes = np.zeros((2, 2), np.uint8)
    with pytest.raises(SynafaError, match=r"class 'c', which is not one of \['b', 'a'\]"):
        PairCounts(2, 2, ["b", "a"]).update(codes, ["a", "c"])


@pytest.mark.parametrize("labels", [["a", 1, "b", 2.5], [("a", 1), "b", "a", "b"]])
def test_labels_that_cannot_be_compared_are_refused_by_a_sentence(labels):
    y = np.empty(4, object)
    y[:] = labels
    codes = np.eye(4, dtype=np.uint8)
    with pytest.raises(SynafaError, match=r"y mixes labels of the types .*str.*; give all of them as text or"):
        PairCounts.from_codes(codes, y)


def test_a_missing_label_is_never_a_class():
    codes = np.eye(4, dtype=np.uint8)
    for missing in (None, np.nan, pd.NA, pd.NaT):
        y = np.array(["a", "b", "a", missing], dtype=object)
        with pytest.raises(SynafaError, match="1 missing label"):
            PairCounts.from_codes(codes, y)
