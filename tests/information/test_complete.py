"""Missing cells: every count and every value is of the rows that have all the cells it needs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa import Discretizer, InformationTables, PairCounts, SynAFA, SynafaError
from synafa.analysis.pairs import strongest_pairs
from synafa.information.wide import PackedRows, is_wide
from tests import naive
from tests.tables_strategy import coded_tables, gapped_tables


@settings(max_examples=150, deadline=None)
@given(gapped_tables(max_bins=4, max_classes=3))
def test_tables_are_those_of_the_complete_rows_of_each_pair(table):
    codes, y, bins = table
    tables = InformationTables.from_codes(codes, y, bins, missing=True)
    atoms = tables.pid()
    d = codes.shape[1]
    assert tables.missing
    assert tables.cond.shape == (d, d, bins)
    for j in range(d):
        rows, labels = naive.complete_cases(codes, y, [j], bins)
        alone = 0.0 if naive.few(rows, len(y)) else naive.mutual_information([row[j] for row in rows], labels)
        assert tables.single[j] == tables.pair[j, j] == pytest.approx(alone, abs=1e-12)
        for k in range(d):
            rows, labels = naive.complete_cases(codes, y, [j, k], bins)
            if naive.few(rows, len(y)) or not rows:
                assert tables.pair[j, k] == tables.cond[j, k].max() == atoms.synergy[j, k] == atoms.unique[j, k] == 0
                continue
            assert tables.pair[j, k] == pytest.approx(naive.pair(rows, labels, j, k), abs=1e-12)
            for v in range(bins):
                expected = 0.0 if j == k else naive.cond(rows, labels, j, k, v)
                assert tables.cond[j, k, v] == pytest.approx(expected, abs=1e-12)
            if j != k:
                found = (atoms.redundant[j, k], atoms.unique[j, k], atoms.unique[k, j], atoms.synergy[j, k])
                assert found == pytest.approx(naive.atoms(rows, labels, j, k), abs=1e-12)


@settings(max_examples=80, deadline=None)
@given(gapped_tables(max_bins=3, max_classes=3))
def test_counts_are_those_of_a_loop_over_rows_with_missing_cells_last(table):
    codes, y, bins = table
    counts = PairCounts.from_codes(codes, y, bins, missing=True)
    assert counts.n_codes == bins + 1
    for j in range(codes.shape[1]):
        for k in range(codes.shape[1]):
            slow, cells = naive.joint_counts(codes, y, j, k), counts.cells(j, k)
            for c, label in enumerate(counts.classes):
                assert [[slow[(label, a, b)] for b in range(bins + 1)] for a in range(bins + 1)] == cells[c].tolist()
        assert counts.code_counts()[:, j, bins].sum() == (codes[:, j] == bins).sum()


@settings(max_examples=80, deadline=None)
@given(coded_tables(max_bins=4, max_classes=3))
def test_where_no_cell_is_missing_nothing_changes_to_the_last_bit(table):
    codes, y, bins = table
    plain = InformationTables.from_codes(codes, y, bins)
    apart = InformationTables.from_codes(codes, y, bins, missing=True)
    for name in ("single", "pair", "cond", "specific"):
        assert getattr(apart, name).tobytes() == getattr(plain, name).tobytes()
    for name in ("redundant", "unique", "synergy"):
        np.testing.assert_allclose(getattr(apart.pid(), name), getattr(plain.pid(), name), atol=1e-12)


@settings(max_examples=80, deadline=None)
@given(gapped_tables(max_bins=4, max_classes=3))
def test_features_that_are_always_there_are_as_in_a_table_of_their_own(table):
    codes, y, bins = table
    whole = np.flatnonzero((codes < bins).all(axis=0))
    if len(whole):
        tables = InformationTables.from_codes(codes, y, bins, missing=True)
        alone = InformationTables.from_codes(codes[:, whole], y, bins)
        assert tables.single[whole].tobytes() == alone.single.tobytes()
        assert tables.pair[np.ix_(whole, whole)].tobytes() == alone.pair.tobytes()
        assert tables.cond[np.ix_(whole, whole)].tobytes() == alone.cond.tobytes()


@settings(max_examples=80, deadline=None)
@given(gapped_tables(max_bins=3, max_classes=3), st.data())
def test_counts_of_parts_merge_whichever_part_has_missing_cells(table, data):
    codes, y, bins = table
    names = np.array(["a", "b", "c"])[y]
    whole = PairCounts.from_codes(codes, names, bins, missing=True)
    order = np.random.default_rng(data.draw(st.integers(0, 999))).permutation(len(y))
    cut = data.draw(st.integers(1, len(y) - 1))
    parts = []
    for rows in (order[:cut], order[cut:]):
        gaps = bool((codes[rows] == bins).any())
        parts.append(PairCounts.from_codes(codes[rows], names[rows], bins, missing=gaps))
    before = [part.to_bytes() for part in parts]
    merged = PairCounts.from_bytes(before[0]).merge(parts[1])
    assert merged == whole
    assert merged.to_bytes() == whole.to_bytes()
    assert PairCounts.from_bytes(whole.to_bytes()) == whole
    assert parts[1].to_bytes() == before[1], "what is merged stays as it was"


@settings(max_examples=60, deadline=None)
@given(gapped_tables(max_bins=4, max_classes=3))
def test_rows_of_a_very_wide_table_are_those_of_all_pairs(table):
    codes, y, bins = table
    tables = InformationTables.from_codes(codes, y, bins, missing=True)
    rows = PackedRows.from_codes(codes, y, int(y.max()) + 1, bins, missing=True)
    assert rows.single().tobytes() == tables.single.tobytes()
    for j in range(codes.shape[1]):
        assert rows.pair_row(j).tobytes() == tables.pair[j].tobytes()
        others = np.arange(codes.shape[1]) != j
        for v in range(bins):
            assert rows.cond_row(j, v)[others].tobytes() == tables.cond[others, j, v].tobytes()


def test_a_missing_cell_is_not_the_mean():
    """Half of the cells are missing, all in one class: as the mean they would tell the class, left out they do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = rng.integers(0, 2, 4000)
    X[y == 1, 0] = np.where(rng.random((y == 1).sum()) < 0.9, np.nan, X[y == 1, 0])
    tables = InformationTables.from_values(X, y)
    filled = InformationTables.from_codes(Discretizer(2).fit_transform(X), y)
    assert filled.single[0] > 0.1
    assert tables.single[0] < 0.01


@pytest.mark.parametrize(("n", "share"), [(300, 0.1), (1000, 0.05), (1000, 0.1)])
def test_features_that_hardly_any_row_has_do_not_seem_to_tell_much(n, share):
    """Noise that few rows have: the complete rows of a pair are a handful, which would tell the class by chance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 25))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n) > 0).astype(int)
    X[:, 5:][rng.random((n, 20)) > share] = np.nan
    tables = InformationTables.from_values(X, y)
    assert tables.pair[5:, 5:].max() < tables.pair[0, 1]
    assert tables.cond[5:, 5:].max() < tables.pair[0, 1]
    assert tables.single[5:].max() < tables.single[:2].max()
    best = strongest_pairs(X, y, top=1)["synergistic"][0]
    assert best.synergy < 0.2
    assert SynAFA(budget=2).fit(X, y).next_feature().feature in ("x0", "x1")


def test_a_feature_that_half_of_a_small_table_has_counts():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 40).astype(float)
    gone = np.arange(40) < 20
    assert InformationTables.from_values(np.where(gone, np.nan, x)[:, None], x).single[0] > 0.9
    gone[20] = True
    assert InformationTables.from_values(np.where(gone, np.nan, x)[:, None], x).single[0] == 0


def test_a_cell_of_its_own_code_is_asked_for():
    X = np.array([[0.0], [0.0], [np.nan], [10.0], [2.0]])
    discretizer = Discretizer(n_bins=3).fit(X)
    assert discretizer.transform(X, missing="own").ravel().tolist() == [0, 0, 3, 2, 1]
    assert discretizer.transform(X).max() < 3
    with pytest.raises(SynafaError, match="missing must be 'mean' or 'own', got: 'none'"):
        discretizer.transform(X, missing="none")


def test_what_missing_cells_need_is_said():
    codes = np.array([[0, 2], [1, 0]], np.uint8)
    with pytest.raises(SynafaError, match="Give n_bins"):
        PairCounts.from_codes(codes, [0, 1], missing=True)
    with pytest.raises(SynafaError, match="code 2, but these counts have 2 bins"):
        PairCounts.from_codes(codes, [0, 1], 2)
    with pytest.raises(SynafaError, match="both or neither have missing cells"):
        PairCounts(2, 2, [0, 1]) + PairCounts(2, 2, [0, 1], missing=True)
    assert PairCounts(2, 2, [0, 1]) != PairCounts(2, 2, [0, 1], missing=True)
    assert not is_wide(3000, 2, 2)
    assert is_wide(3000, 2, 2, missing=True), "missing cells are counted, too"


@settings(max_examples=60, deadline=None)
@given(gapped_tables(max_classes=3, min_classes=2))
def test_the_strongest_pairs_are_of_their_complete_rows(table):
    codes, y, bins = table
    if codes.shape[1] < 2:
        return
    X = np.where(codes == bins, np.nan, codes.astype(float))
    for found in strongest_pairs(X, y, top=3)["synergistic"]:
        j, k = int(found.first[1:]), int(found.second[1:])
        rows, labels = naive.complete_cases(codes, y, [j, k], bins)
        expected = 0.0 if naive.few(rows, len(y)) or not rows else naive.atoms(rows, labels, j, k)[3]
        assert found.synergy == pytest.approx(expected, abs=1e-12)
