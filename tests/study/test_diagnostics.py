"""The study's diagnostics: what must hold by construction, and the paper's integers that need no training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from synafa.analysis.objective import local_search
from synafa.datasets import Dataset, load
from synafa.errors import SynafaError
from synafa.policy.synafa import SynAFA
from synafa.study import Settings
from synafa.study.engine.results import Results
from synafa.study.engine.unit import with_needs
from synafa.study.evidence.names import ALL_TITLES
from synafa.study.experiments import (
    alignment,
    amortised,
    collapse,
    gating,
    physionet_validation,
    swaps,
)
from synafa.study.experiments import (
    local_search as searches,
)
from synafa.study.experiments.branching import branching, prefixes
from synafa.study.experiments.contract import load_experiments
from synafa.study.experiments.mnist import acquired, amortised_tables, exact_policy, narrowed, widened, with_tables
from synafa.study.experiments.shared import fit_synafa

MINE = ("physionet-validation", "mnist-loop", "amortised", "local-search", "alignment", "collapse", "gating")


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(1500, 9)).astype(np.float32)
    y = ((X[:, 0] != X[:, 1]) & (rng.random(1500) < 0.9)) | ((X[:, 4] > 0) & (rng.random(1500) < 0.3))
    X[:, 5] = np.where(rng.random(1500) < 0.8, X[:, 4], X[:, 5])
    parts = np.split(np.arange(1500), (900, 1200))
    names = tuple(f"x{j}" for j in range(9))
    return Dataset("toy", 0, X, y.astype(np.int64), names, np.ones(9), (2.0, 4.0), *parts, "made here")


@pytest.fixture(scope="module")
def policy(dataset: Dataset) -> SynAFA:
    return exact_policy(dataset)


class Sharp:
    """A classifier whose probability depends on every value it sees."""

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        weights = np.linspace(-1, 1, values.shape[1])
        one = 1 / (1 + np.exp(-(values * mask) @ weights - 0.1 * mask @ weights[::-1]))
        return np.stack([1 - one, one], axis=1)


class Blunt:
    """Another, which sees a weighted mean of the values alone."""

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        one = 0.2 + 0.6 * (values * mask) @ np.linspace(0, 1, values.shape[1]) / values.shape[1]
        return np.stack([1 - one, one], axis=1)


@pytest.mark.parametrize("profile", ["standard", "quick"])
def test_units_have_different_keys_and_the_alignment_is_measured_where_the_swaps_are(profile: str) -> None:
    settings = Settings(profile, datasets=tuple(ALL_TITLES))
    for experiment in load_experiments(MINE):
        units = with_needs(experiment.units(settings))
        assert units
        assert len({unit.key for unit in units}) == len(units)
    assert set(alignment.units(settings)) <= set(searches.units(settings))


def test_an_experiment_without_its_data_has_no_units_and_still_reports(tmp_path: Path) -> None:
    settings = Settings("quick", datasets=(), root=tmp_path)
    for experiment in load_experiments(MINE):
        assert experiment.units(settings) == []
        results = Results(settings, (), ())
        assert experiment.tables(results)
        assert experiment.figures(results) == []
        assert experiment.headline(results) == []


def test_a_mask_of_some_pixels_is_a_mask_of_all(dataset: Dataset) -> None:
    features = np.array([1, 4, 7])
    mask = np.array([[True, False, True], [False, True, False]])
    wide = widened(mask, features, 9)
    assert [np.flatnonzero(row).tolist() for row in wide] == [[1, 7], [4]]
    assert np.array_equal(narrowed(dataset, features).X, dataset.X[:, features])


def test_other_tables_leave_the_fitted_policy_alone(dataset: Dataset, policy: SynAFA) -> None:
    before = policy.acquire(dataset.X, budget=3).order
    silent = with_tables(policy, pair=np.zeros((9, 9)))
    assert not (silent.acquire(dataset.X, budget=3).branch == 2).any()
    assert np.array_equal(policy.acquire(dataset.X, budget=3).order, before)


def test_smaller_budgets_are_prefixes(dataset: Dataset, policy: SynAFA) -> None:
    masks, _ = acquired(policy, dataset.X, (2, 4))
    assert np.array_equal(masks[2], policy.acquire(dataset.X, budget=2, on_stop="fallback").mask)
    assert np.array_equal(masks[4], policy.acquire(dataset.X, budget=4, on_stop="fallback").mask)


def test_the_reweighting_that_counts_redundancy_once_is_the_joint_information(policy: SynAFA) -> None:
    upper = np.triu_indices(9, k=1)
    whole = gating.reweighted(policy.tables_, gamma=1, beta=-1)
    assert np.allclose(whole[upper], policy.tables_.pair[upper], atol=1e-12)
    atoms = policy.tables_.pid()
    less = gating.reweighted(policy.tables_, gamma=1, beta=0)
    assert np.allclose((whole - less)[upper], atoms.redundant[upper])


def test_a_branching_decision_knows_every_winner(policy: SynAFA) -> None:
    """The enumeration finds exactly the features that the policy goes on with, over all values of the prefix."""
    rule, prefix = policy.rule_, (0, 4, 8)
    found = branching(rule, prefix)
    grid = np.array([[(i >> s) & 1 for s in range(3)] for i in range(8)])
    X = np.zeros((8, 9), np.float32)
    X[:, prefix] = grid
    mask = np.zeros((8, 9), bool)
    mask[:, prefix] = True
    assert found.combinations == 8
    assert set(found.winners) == set(policy.propose(X, mask, np.full(8, 9.0)).tolist())
    assert found.margin >= 0
    assert found.single_margin >= 0


def test_prefixes_count_rows_that_got_so_far() -> None:
    order = np.array([[3, 1, 2], [3, 1, -1], [1, 3, 2], [3, -1, -1]])
    assert prefixes(order, 2) == [((3, 1), 2), ((1, 3), 1)]


def test_changes_of_utility_add_up_along_a_search(dataset: Dataset, policy: SynAFA) -> None:
    unit = Settings("quick").unit("local-search", "x", 1, {"budget": 3})
    begin = searches.Start(dataset, policy, None)
    mask = np.zeros(begin.X.shape, bool)
    mask[:, [6, 7, 8]] = True
    found = local_search(policy.tables_, policy.codes(begin.X), mask)
    assert len(found.row) > len(mask) // 2
    row, arrays = swaps.swap_utilities(unit, begin, [Sharp(), Blunt()], mask, found)
    change, _ = swaps.swap_changes(begin, Sharp(), mask, found, np.random.default_rng(0))
    start, end = (swaps._utility(Sharp(), begin, np.arange(len(mask)), m) for m in (mask, found.mask))
    gained = np.bincount(found.row, change, minlength=len(mask))
    assert np.allclose(gained, end - start, atol=1e-5)
    assert row["accepted"] == len(found.row)
    assert arrays["aligned_rho"].shape == (2, len(mask))
    blunt, _ = swaps.swap_changes(begin, Blunt(), mask, found, np.random.default_rng(0))
    for judge, dU in enumerate((change, blunt)):
        rank = spearmanr(found.delta, dU).statistic
        assert arrays["aligned_rho"][judge].mean() == pytest.approx(np.corrcoef(found.delta, dU)[0, 1], abs=1e-6)
        assert arrays["aligned_spearman"][judge].mean() == pytest.approx(rank, abs=1e-6)
        assert arrays["aligned_dU"][judge].mean() == pytest.approx(dU.mean(), abs=1e-6)
        assert arrays["aligned_up"][judge].mean() == pytest.approx((dU > 0).mean(), abs=1e-6)
    assert row["rho"] == pytest.approx(arrays["aligned_rho"].mean(), abs=1e-6)


def test_a_random_replacement_is_never_a_member() -> None:
    mask = np.random.default_rng(0).random((500, 6)) < 0.5
    mask[:, 2] = False
    chosen = swaps._random_outsider(mask, np.random.default_rng(1))
    assert not mask[np.arange(500), chosen].any()
    assert len(set(chosen.tolist())) == 6


def test_amortised_tables_are_computed_once(dataset: Dataset, monkeypatch, tmp_path: Path) -> None:
    from synafa.information.amortised import AmortisedEstimator

    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path))
    first = amortised_tables(dataset, "base", 0, quick=True)
    monkeypatch.setattr(AmortisedEstimator, "fit", None)
    again = amortised_tables(dataset, "base", 0, quick=True)
    assert np.array_equal(first["36000 corrected"].tables.cond, again["36000 corrected"].tables.cond)


def test_exact_tables_have_no_error(policy: SynAFA) -> None:
    assert amortised._errors(policy.tables_, policy.tables_)["cond_error"] == 0


def test_a_classifier_trained_on_a_bank_knows_the_masks_of_the_bank(dataset: Dataset) -> None:
    from synafa.neural import MaskedMLP, MLPConfig

    bank = np.zeros((1, 9), bool)
    bank[0, [0, 1]] = True
    model = MaskedMLP.fit(dataset, MLPConfig(epochs=25, batch=64), mask_bank=bank)
    X, y = dataset.X[dataset.test], dataset.y[dataset.test]
    shown = np.repeat(bank, len(X), axis=0)
    assert (model.predict_proba(X * shown, shown).argmax(axis=1) == y).mean() > 0.85
    values = model.layers[0][:, :9]
    start = MaskedMLP.fit(dataset, MLPConfig(epochs=1, batch=64), mask_bank=bank).layers[0][:, :9]
    assert np.array_equal(values[:, 2:], start[:, 2:])  # what no mask shows is never learned from
    with pytest.raises(SynafaError, match="mask_bank"):
        MaskedMLP.fit(dataset, mask_bank=bank[:, :5])


def _accepted(name: str, budget: int) -> int:
    begin = searches.start(name, quick=False)
    masks, _ = acquired(begin.policy, begin.searched, (budget,))
    found = local_search(begin.policy.tables_, begin.policy.codes(begin.searched), masks[budget])
    assert found.converged.all()
    assert (found.delta > 1e-4).all()
    return len(found.row)


@pytest.mark.data
@pytest.mark.parametrize(("budget", "swaps"), [(5, 4225), (10, 5386), (15, 8903)])
def test_the_search_on_physionet_accepts_as_many_swaps_as_the_paper(data_dir: Path, budget: int, swaps: int) -> None:
    assert _accepted("physionet", budget) == swaps


@pytest.mark.data
def test_the_search_on_ninety_pixels_accepts_as_many_swaps_as_the_paper(data_dir: Path) -> None:
    assert _accepted("mnist-90", 5) == 17316


@pytest.mark.data
def test_collapse_figures_are_the_papers(data_dir: Path) -> None:
    settings = Settings("standard")
    rows = {}
    for name in ("ckd", "actg175", "bank", "physionet"):
        unit = next(u for u in collapse.units(settings) if u.parameters == {"dataset": name, "part": "sets"})
        rows[name] = collapse.run(unit)["rows"]
    sets = {(name, row["budget"]): row for name in rows for row in rows[name] if row["kind"] == "sets"}
    wanted = {("ckd", 4): 2, ("actg175", 5): 5, ("bank", 4): 3, ("physionet", 10): 10}
    assert {key: sets[key]["sets"] for key in wanted} == wanted
    shares = [100 * sets[key]["majority"] for key in wanted]
    assert (round(min(shares)), round(max(shares))) == (50, 82)
    decisions = [row for row in rows["physionet"] if row["kind"] == "branching"]
    assert len(decisions) == 6
    assert {row["combinations"] for row in decisions} == {32}
    assert {row["winners"] for row in decisions} == {2, 3}
    assert [round(pick(r["margin"] for r in decisions), 4) for pick in (min, max)] == [0.0000, 0.0007]
    assert [round(pick(r["single_margin"] for r in decisions), 4) for pick in (min, max)] == [0.0001, 0.0011]
    ckd = rows["ckd"][-1]
    assert [round(ckd[f"synergy3_{name}"], 3) for name in ("mean", "p90", "max")] == [0.027, 0.061, 0.122]


@pytest.mark.data
def test_the_pair_branch_on_physionet_falls_silent(data_dir: Path) -> None:
    """Percent of the policy's own decisions, the one to stop included."""
    physionet = load("physionet")
    policy = fit_synafa("synafa", physionet)
    X = physionet.X[physionet.test]

    def shares(weight: float) -> list[float]:
        counts = [gating.pair_steps(with_tables(policy, cost_weight=weight), X, budget) for budget in (5, 10, 15)]
        return [100 * pairs / own for pairs, own in counts]

    assert [round(share) for share in shares(0.01)] == [45, 24, 20]
    assert round(np.mean(shares(0.01))) == 30
    assert shares(0.03) == [0, 0, 0]
    done = policy.acquire(X, budget=15)
    assert round(100 * (done.branch == 2).sum() / (done.branch >= 0).sum(), 1) == 21.2  # without the stop


@pytest.mark.data
def test_three_pairs_of_physionet(data_dir: Path) -> None:
    units = physionet_validation.units(Settings("standard"))
    rows = physionet_validation.run(next(unit for unit in units if unit["part"] == "pairs"))["rows"]
    gcs, bun, oxygen = rows
    assert gcs["n"] == 8970
    assert round(gcs["synergy"], 4) == 0.0127
    assert bun["significant_redundancy"]
    assert not bun["significant_synergy"]
    assert oxygen["redundant"] < 0.0005
    assert oxygen["unique_b"] < 0.0005
    assert oxygen["unique_a"] > oxygen["synergy"] > 0.001
