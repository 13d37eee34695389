"""The permutation test of a pair: exact law, sampled law, and every permutation written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa.errors import SynafaError
from synafa.stats import pair_permutation_test, pair_table
from synafa.stats.permutation import exact_pair_tests, pair_atoms
from tests import naive_stats as naive


def _rows(seed: int, n0: int, n1: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [n0, n1])
    return rng.integers(0, 2, n0 + n1), rng.integers(0, 2, n0 + n1), y


def _tails(values: list[float], observed: float) -> tuple[float, float]:
    law = np.array(values)
    return float(np.mean(law >= observed - 1e-12)), float(np.mean(law <= observed + 1e-12))


@pytest.mark.parametrize("seed", range(8))
def test_the_exact_pvalue_is_the_share_among_all_permutations(seed):
    a, b, y = _rows(seed, 5, 5)
    values, observed = naive.permutation_law(a, b, y)
    right, left = _tails(values, observed)
    result = pair_permutation_test(pair_table(a, b, y))
    assert result.method == "exact"
    assert result.p_synergy == pytest.approx(right, rel=1e-9)
    assert result.p_redundancy == pytest.approx(left, rel=1e-9)
    assert result.joint == pytest.approx(observed, abs=1e-12)
    assert result.null_mean == pytest.approx(np.mean(values), abs=1e-12)
    assert result.null_sd == pytest.approx(np.std(values), abs=1e-9)


def test_permuting_the_other_feature_gives_the_same_pvalues():
    a, b, y = _rows(3, 40, 25)
    one, other = pair_permutation_test(pair_table(a, b, y)), pair_permutation_test(pair_table(b, a, y))
    assert one.p_synergy == pytest.approx(other.p_synergy, rel=1e-9)
    assert one.p_redundancy == pytest.approx(other.p_redundancy, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_sampled_version_agrees_with_the_exact_one(seed):
    table = pair_table(*_rows(seed, 60, 30))
    exact = pair_permutation_test(table)
    sampled = pair_permutation_test(table, method="sampled", n_permutations=40_000, seed=seed)
    assert sampled.p_synergy == pytest.approx(exact.p_synergy, abs=0.01)
    assert sampled.p_redundancy == pytest.approx(exact.p_redundancy, abs=0.01)
    assert sampled.null_mean == pytest.approx(exact.null_mean, rel=0.03)
    assert sampled.null_sd == pytest.approx(exact.null_sd, rel=0.05)


def test_drawn_counts_have_the_law_of_shuffled_rows():
    a, b, y = _rows(11, 30, 20)
    rng = np.random.default_rng(0)
    shuffled = []
    for _ in range(4000):
        moved = b.copy()
        for outcome in (0, 1):
            moved[y == outcome] = rng.permutation(moved[y == outcome])
        shuffled.append(pair_atoms(pair_table(a, moved, y))[2])
    right, left = _tails(shuffled, pair_atoms(pair_table(a, b, y))[2])
    sampled = pair_permutation_test(pair_table(a, b, y), method="sampled", n_permutations=20_000)
    assert sampled.p_synergy == pytest.approx(right, abs=0.03)
    assert sampled.p_redundancy == pytest.approx(left, abs=0.03)


def test_the_smallest_sampled_pvalue_is_one_over_n_plus_one():
    xor = np.array([[[500, 0], [0, 500]], [[0, 500], [500, 0]]])
    assert pair_permutation_test(xor, method="sampled", n_permutations=2000).p_synergy == pytest.approx(1 / 2001)
    assert pair_permutation_test(xor).p_synergy < 1e-200


def test_a_pvalue_below_the_smallest_double_still_has_a_logarithm():
    xor = np.array([[[5000, 0], [0, 5000]], [[0, 5000], [5000, 0]]])
    result = pair_permutation_test(xor)
    assert result.p_synergy == 0.0
    # the observed table is the extreme one in both classes: P = 4 / C(10000, 5000)^2, two tables per class
    from scipy.special import gammaln

    extreme = -2 * (gammaln(10_001) - 2 * gammaln(5001)) / np.log(10)
    assert extreme <= result.log10_p_synergy <= extreme + np.log10(4.0) + 1e-6


def test_narrow_windows_do_not_change_moderate_pvalues(monkeypatch):
    from synafa.stats import permutation

    rng = np.random.default_rng(5)
    y = (rng.random(6000) < 0.2).astype(int)
    a = (rng.random(6000) < 0.4 + 0.1 * y).astype(int)
    b = (rng.random(6000) < 0.5 + 0.1 * a * y).astype(int)
    table = pair_table(a, b, y)
    quick = pair_permutation_test(table)
    monkeypatch.setattr(permutation, "_WINDOWS", (np.inf,))
    full = pair_permutation_test(table)
    assert quick.log10_p_synergy == pytest.approx(full.log10_p_synergy, rel=1e-9)
    assert quick.log10_p_redundancy == pytest.approx(full.log10_p_redundancy, rel=1e-9, abs=1e-12)
    assert quick.null_mean == pytest.approx(full.null_mean, rel=1e-9)


def test_pvalues_are_uniform_under_conditional_independence():
    rng = np.random.default_rng(1)
    pvalues = []
    for _ in range(400):
        y = (rng.random(800) < 0.3).astype(int)
        a, b = (rng.random(800) < 0.4 + 0.2 * y).astype(int), (rng.random(800) < 0.5 - 0.2 * y).astype(int)
        pvalues.append(pair_permutation_test(pair_table(a, b, y)).p_synergy)
    assert np.mean(np.array(pvalues) <= 0.05) == pytest.approx(0.05, abs=0.035)
    assert np.mean(np.array(pvalues) <= 0.5) == pytest.approx(0.5, abs=0.08)


def test_a_copied_feature_is_redundant_and_not_synergistic():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 400)
    a = np.where(rng.random(400) < 0.8, y, 1 - y)
    result = pair_permutation_test(pair_table(a, a, y))
    assert result.joint == pytest.approx(result.redundant)
    assert result.synergy == pytest.approx(0.0, abs=1e-12)
    assert result.p_redundancy < 1e-10
    assert result.p_synergy > 0.99


def test_a_constant_feature_says_nothing():
    a, _, y = _rows(0, 20, 20)
    result = pair_permutation_test(pair_table(a, np.zeros(40, int), y))
    assert result.p_synergy == result.p_redundancy == pytest.approx(1.0)
    assert result.synergy == pytest.approx(0.0, abs=1e-12)


def test_more_than_two_classes_are_sampled_and_say_so():
    rng = np.random.default_rng(3)
    a, b, y = rng.integers(0, 2, 300), rng.integers(0, 2, 300), rng.integers(0, 3, 300)
    result = pair_permutation_test(pair_table(a, b, y), n_permutations=500)
    assert (result.method, result.n_permutations) == ("sampled", 500)
    assert result.joint == pytest.approx(naive.information([a, b], y))


def test_a_class_without_rows_changes_nothing():
    a, b, y = _rows(4, 20, 20)
    two, three = pair_permutation_test(pair_table(a, b, y)), pair_permutation_test(pair_table(a, b, y, n_classes=3))
    assert two == three


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=40))
def test_atoms_match_their_definitions(rows):
    a, b, y = map(list, zip(*rows))
    single_a, single_b, joint, redundant, unique_a, unique_b, synergy = pair_atoms(pair_table(a, b, y))
    assert single_a == pytest.approx(naive.information([a], y), abs=1e-10)
    assert single_b == pytest.approx(naive.information([b], y), abs=1e-10)
    assert joint == pytest.approx(naive.information([a, b], y), abs=1e-10)
    assert redundant == pytest.approx(naive.redundancy(a, b, y), abs=1e-10)
    assert redundant + unique_a + unique_b + synergy == pytest.approx(joint, abs=1e-10)
    assert min(redundant, unique_a, unique_b, synergy) >= -1e-10


@pytest.mark.parametrize(
    ("counts", "message"),
    [(np.ones((2, 3, 2), int), "shape"), (np.ones((2, 2, 2)), "whole numbers"), (np.zeros((2, 2, 2), int), "all zero")],
)
def test_bad_counts_are_refused(counts, message):
    with pytest.raises(SynafaError, match=message):
        pair_permutation_test(counts)


def test_features_with_three_states_are_refused():
    with pytest.raises(SynafaError, match="b must be binary"):
        pair_table([0, 1], [0, 2], [0, 1])


def _random_tables(count: int, seed: int = 0) -> np.ndarray:
    """Tables of five to thousands of rows: independent, associated, copied and synergistic pairs, empty cells."""
    rng = np.random.default_rng(seed)
    tables = []
    while len(tables) < count:
        n = int(rng.choice([5, 20, 200, 2000, 6000]))
        a = rng.random(n) < rng.random()
        b = np.where(rng.random(n) < rng.choice([0, 0, 0.1, 0.5, 0.95]), a, rng.random(n) < rng.random())
        y = rng.random(n) < 0.1 + 0.8 * rng.random()
        if rng.random() < 0.4:
            y = np.where(rng.random(n) < rng.random(), a ^ b, y)
        table = pair_table(a.astype(int), b.astype(int), y.astype(int), 2)
        if table.sum(axis=(0, 1)).all():
            tables.append(table)
    return np.array(tables)


@pytest.mark.slow
def test_many_exact_tests_at_once_say_what_one_at_a_time_says():
    tables = _random_tables(150)
    for table, found in zip(tables, exact_pair_tests(tables)):
        wanted = pair_permutation_test(table)
        assert (found.n, found.method, found.n_permutations) == (wanted.n, "exact", 0)
        for name in ("single_a", "single_b", "joint", "redundant", "unique_a", "unique_b", "synergy"):
            assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-14)
        for name in ("log10_p_synergy", "log10_p_redundancy"):  # relative error of the p-value itself
            assert abs(getattr(found, name) - getattr(wanted, name)) * np.log(10) < 1e-10
        assert found.p_synergy == pytest.approx(wanted.p_synergy, rel=1e-10, abs=1e-300)
        assert found.null_mean == pytest.approx(wanted.null_mean, rel=1e-9)
        assert found.null_sd == pytest.approx(wanted.null_sd, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_many_at_once_have_the_pvalues_of_all_permutations_written_out(seed):
    a, b, y = _rows(seed, 5, 5)
    values, observed = naive.permutation_law(a, b, y)
    right, left = _tails(values, observed)
    (found,) = exact_pair_tests(pair_table(a, b, y)[None])
    assert found.p_synergy == pytest.approx(right, rel=1e-12)
    assert found.p_redundancy == pytest.approx(left, rel=1e-12)


def test_pvalues_far_below_what_a_double_holds_keep_their_logarithm():
    table = np.array([[[4000, 10], [10, 4000]], [[10, 4000], [4000, 10]]])
    (found,) = exact_pair_tests(table[None])
    assert found.p_synergy == 0.0
    assert found.log10_p_synergy == pytest.approx(pair_permutation_test(table).log10_p_synergy, abs=1e-9)
    assert found.log10_p_synergy < -1000


def test_what_is_no_stack_of_tables_is_refused():
    for bad in (
        np.zeros((2, 2, 2), int),
        np.zeros((1, 2, 2, 3), int),
        np.zeros((1, 2, 2, 2)),
        np.zeros((1, 2, 2, 2), int),
    ):
        with pytest.raises(SynafaError, match="tables"):
            exact_pair_tests(bad)
    assert exact_pair_tests(np.zeros((0, 2, 2, 2), int)) == []
