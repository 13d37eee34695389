"""The scan of all pairs."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from synafa.analysis.scan import ScanResult, discovery_validation, scan, scan_counts
from synafa.analysis.scan_draw import draw_heatmap
from synafa.cli.scan import scan as scan_command
from synafa.errors import SynafaError
from synafa.information.counts import PairCounts
from tests import naive_stats as naive


def _planted(n: int = 1500, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Two features whose parity is the class with noise, a noisy copy pair, and noise; some cells missing."""
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(2, n))
    copied, noise = rng.normal(size=(2, n))
    parity = (left > 0) ^ (right > 0)
    y = (rng.random(n) < 0.2 + 0.3 * parity + 0.3 * (copied > 0)).astype(int)
    X = np.column_stack([left, right, copied, copied + 0.3 * rng.normal(size=n), noise])
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, ["left", "right", "original", "copy", "noise"]


def _row(result: ScanResult, a: str, b: str) -> dict:
    return result.table.row(by_predicate=(pl.col("a") == a) & (pl.col("b") == b), named=True)


@pytest.mark.slow
def test_the_planted_pairs_are_found_and_nothing_else_is_stronger():
    result = scan(*_planted())
    assert result.table.height == result.n_tested == 10
    assert result.significant("synergy").row(0)[:2] == ("left", "right")
    assert result.significant("redundancy").row(0)[:2] == ("original", "copy")


def test_every_pair_uses_its_complete_cases_and_its_own_thresholds():
    X, y, names = _planted(400)
    result = scan(X, y, names)
    for j, k in ((0, 1), (2, 4)):
        complete = ~np.isnan(X[:, [j, k]]).any(axis=1)
        a, b = naive.binarise(X[complete, j]), naive.binarise(X[complete, k])
        row = _row(result, names[j], names[k])
        assert row["n"] == complete.sum()
        assert row["joint"] == pytest.approx(naive.information([a, b], y[complete]))
        assert row["redundant"] == pytest.approx(naive.redundancy(a, b, y[complete]))


def test_complete_tables_take_the_short_way_to_the_same_numbers():
    X, y, names = _planted(600)
    X = np.where(np.isnan(X), 0.0, X)
    whole = scan(X, y, names)
    with_gap = np.column_stack([X, np.r_[np.nan, X[1:, 0]]])
    other = scan(with_gap, y, [*names, "gap"])
    for a, b in (("left", "right"), ("original", "noise")):
        for name in ("joint", "synergy", "p_synergy", "p_redundancy"):
            assert _row(whole, a, b)[name] == pytest.approx(_row(other, a, b)[name])


def test_sampled_and_exact_pvalues_agree():
    X, y, names = _planted()
    exact, sampled = scan(X, y, names), scan(X, y, names, method="sampled", screen=5000, confirm=20_000)
    assert (exact.method, sampled.method) == ("exact", "sampled")
    np.testing.assert_allclose(exact.table["p_synergy"], sampled.table["p_synergy"], atol=0.03)
    np.testing.assert_allclose(exact.table["p_redundancy"], sampled.table["p_redundancy"], atol=0.03)


def test_the_screen_spends_permutations_only_where_it_found_something():
    result = scan(*_planted(), method="sampled")
    assert _row(result, "left", "right")["n_permutations"] == 2000
    assert _row(result, "left", "right")["p_synergy"] == pytest.approx(1 / 2001)
    assert set(result.table["n_permutations"]) == {500, 2000}


def test_a_pair_has_the_same_answer_alone_and_among_others():
    X, y, names = _planted()
    among, alone = scan(X, y, names, method="sampled"), scan(X, y, names, method="sampled", pairs=[("right", "noise")])
    assert _row(alone, "right", "noise")["p_synergy"] == _row(among, "right", "noise")["p_synergy"]


def test_q_values_are_corrected_over_all_tested_pairs():
    from statsmodels.stats.multitest import multipletests

    table = scan(*_planted()).table
    for tail in ("synergy", "redundancy"):
        rejected, adjusted, _, _ = multipletests(table[f"p_{tail}"], alpha=0.05, method="fdr_bh")
        np.testing.assert_allclose(table[f"q_{tail}"], adjusted)
        np.testing.assert_array_equal(table[f"significant_{tail}"], rejected)


def test_sparse_features_are_left_out_and_small_pairs_are_not_tested():
    X, y, names = _planted(1000)
    X[:500, 4] = np.nan
    X[:300, 0], X[700:, 1] = np.nan, np.nan
    result = scan(X, y, names, max_missing=0.4, min_rows=350)
    assert result.dropped == ("noise",)
    assert result.n_tested == result.table.height - 1
    row = _row(result, "left", "right")
    assert row["n"] < 350
    assert row["joint"] is None
    assert row["q_synergy"] is None


def test_three_classes_are_sampled():
    X, y, names = _planted(900)
    result = scan(X, y + (X[:, 4] > 1), names)
    assert result.method == "sampled"
    assert result.significant("synergy").row(0)[:2] == ("left", "right")


def test_a_constant_feature_is_harmless():
    X, y, names = _planted(500)
    X[:, 4] = 3.0
    row = _row(scan(X, y, names), "left", "noise")
    assert row["p_synergy"] == row["p_redundancy"] == pytest.approx(1.0)
    assert row["z"] == 0.0


def test_a_discovered_pair_replicates_and_noise_is_not_discovered():
    X, y, names = _planted(3000)
    result = discovery_validation(X, y, names, seed=1)
    assert result.n_discovery + result.n_validation == 3000
    confirmed = result.confirmation.filter(pl.col("replicated"))
    assert ("synergy", "left", "right") in confirmed.select("tail", "a", "b").rows()
    assert ("redundancy", "original", "copy") in confirmed.select("tail", "a", "b").rows()
    rng = np.random.default_rng(0)
    nothing = discovery_validation(rng.normal(size=(800, 4)), rng.integers(0, 2, 800), seed=0)
    assert nothing.discovered("synergy") == nothing.replicated("synergy") == 0
    assert np.isnan(nothing.share("synergy"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "approximate"}, "'approximate'"),
        ({"feature_names": ["a", "a", "b", "c", "d"]}, "5 different names"),
        ({"y": np.zeros(1500)}, "single class"),
        ({"max_missing": 0.01}, "two features"),
        ({"pairs": [("left", "lift")]}, "'lift'"),
    ],
)
def test_bad_input_is_named(change, message):
    X, y, names = _planted()
    arguments = {"values": X, "y": y, "feature_names": names} | change
    with pytest.raises(SynafaError, match=message):
        scan(**arguments)


def test_counts_with_missing_cells_are_refused():
    counts = PairCounts.from_codes(np.array([[0, 2], [1, 0], [1, 1]], np.uint8), [0, 1, 1], 2, missing=True)
    with pytest.raises(SynafaError, match="these counts have missing cells"):
        scan_counts(counts, ["a", "b"])


def test_the_heat_map_is_written_and_repeats_itself(tmp_path):
    result = scan(*_planted())
    draw_heatmap(result, tmp_path / "one.svg")
    draw_heatmap(result, tmp_path / "two.svg")
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    assert all(name in text for name in result.feature_names)
    draw_heatmap(result, tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(SynafaError, match="ends in"):
        draw_heatmap(result, tmp_path / "map.txt")


def _command(*words: str):
    app = typer.Typer()
    app.command()(scan_command)
    return CliRunner().invoke(app, list(words))


def test_the_command_prints_writes_and_draws(tmp_path):
    X, y, names = _planted()
    frame = pl.DataFrame(X, schema=names).fill_nan(None)
    frame = frame.with_columns(
        pl.when(pl.col("noise") > 0).then(pl.lit("high")).otherwise(pl.lit("low")).alias("noise")
    )
    path = tmp_path / "rows.csv"
    frame.with_columns(pl.Series("sick", np.where(y == 1, "yes", "no"))).write_csv(path)
    out, picture = tmp_path / "pairs.parquet", tmp_path / "map.svg"
    words = [str(path), "--target", "sick", "--halves", "-o", str(out), "--heatmap", str(picture)]
    answer = _command(*words)
    assert answer.exit_code == 0, answer.output
    assert "left / right" in answer.output
    assert "replicated" in answer.output
    assert pl.read_parquet(out).height == 10
    assert picture.exists()
    report = json.loads(_command(*words[:3], "--json").output)
    assert report["tested"] == 10
    assert report["method"] == "exact"
    assert len(report["pairs"]) == 10


def _physionet(data_dir) -> tuple[np.ndarray, np.ndarray, list[str]]:
    frame = pl.read_csv(data_dir / "physionet.csv")
    features = frame.drop("Outcome").cast(pl.Float64)
    return features.to_numpy(), frame["Outcome"].to_numpy(), features.columns


@pytest.mark.data
def test_physionet_has_the_papers_strongest_pairs(data_dir):
    X, y, names = _physionet(data_dir)
    result = scan(X, y, names)
    assert (len(result.feature_names), result.table.height, result.n_tested) == (28, 378, 378)
    strongest = result.significant("synergy").row(0, named=True)
    assert (strongest["a"], strongest["b"], strongest["n"]) == ("GCS", "PaO2", 8970)
    assert round(strongest["synergy"], 4) == 0.0127
    assert strongest["p_synergy"] < 1e-12
    assert result.significant("redundancy").row(0)[:2] == ("BUN", "Creatinine")
    paper = scan(X, y, names, method="sampled", pairs=[("GCS", "PaO2")]).table.row(0, named=True)
    assert round(paper["p_synergy"], 4) == 0.0005


@pytest.mark.data
def test_physionet_gcs_pao2_replicates_in_the_other_half(data_dir):
    result = discovery_validation(*_physionet(data_dir), seed=0)
    assert (result.n_discovery, result.n_validation) == (6000, 6000)
    replicated = result.confirmation.filter((pl.col("tail") == "synergy") & pl.col("replicated"))
    assert ("GCS", "PaO2") in replicated.select("a", "b").rows()
    assert 0.5 < result.share("synergy") < 0.9  # the paper: 36 of 51, 70.6 %, for a split it does not name


def test_a_scan_of_complete_rows_has_the_atoms_of_the_information_tables():
    from synafa.information.codes import Discretizer
    from synafa.information.tables import InformationTables

    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(700, 5)), rng.integers(0, 2, 700)
    tables = InformationTables.from_codes(Discretizer(n_bins=2).fit_transform(X), y)
    atoms = tables.pid()
    for row in scan(X, y).table.iter_rows(named=True):
        j, k = int(row["a"][1:]), int(row["b"][1:])
        assert row["joint"] == pytest.approx(tables.pair[j, k], abs=1e-12)
        assert row["redundant"] == pytest.approx(atoms.redundant[j, k], abs=1e-12)
        assert row["unique_a"] == pytest.approx(atoms.unique[j, k], abs=1e-12)
        assert row["unique_b"] == pytest.approx(atoms.unique[k, j], abs=1e-12)
        assert row["synergy"] == pytest.approx(atoms.synergy[j, k], abs=1e-12)


def test_thresholds_of_pairs_with_gaps_follow_the_discretizer_also_for_ties_and_constants():
    from synafa.analysis.scan import _Counter
    from synafa.information.codes import Discretizer

    rng = np.random.default_rng(3)
    n = 300
    X = np.column_stack(
        [rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 4, n), np.full(n, 7.0), rng.poisson(0.2, n)]
    )
    X = X.astype(float)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[rng.random(n) < 0.95, 3] = np.nan
    y = rng.integers(0, 3, n)
    pairs = [(j, k) for j in range(5) for k in range(j + 1, 5)]
    tables = _Counter(X, y, list(range(5)), pairs).tables(pairs)
    for (j, k), found in zip(pairs, tables):
        complete = ~np.isnan(X[:, [j, k]]).any(axis=1)
        a, b = Discretizer(2).fit_transform(X[complete][:, [j, k]]).T
        wanted = np.zeros((2, 2, 3), int)
        np.add.at(wanted, (a, b, y[complete]), 1)
        np.testing.assert_array_equal(found, wanted)


def test_progress_comes_along_the_way_and_ends_at_the_end():
    rng = np.random.default_rng(0)
    calls: list[tuple[int, int]] = []
    scan(rng.normal(size=(250, 70)), rng.integers(0, 2, 250), progress=lambda *call: calls.append(call))
    assert len(calls) == 2
    assert calls[-1] == (2415, 2415)


def test_the_answer_does_not_depend_on_the_number_of_threads():
    import numba

    X, y, names = _planted()
    whole = scan(X, y, names).table
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        assert scan(X, y, names).table.equals(whole)
    finally:
        numba.set_num_threads(before)
