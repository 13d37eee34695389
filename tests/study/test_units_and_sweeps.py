"""The shared units and the experiments on the benchmark and the sweeps: what needs no training must be exact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from synafa.datasets import load
from synafa.evaluation import metrics
from synafa.stats import hierarchical_bootstrap, paired_bootstrap, prediction_interval
from synafa.study import Settings
from synafa.study.engine.execute import plain
from synafa.study.engine.repetition import ONCE
from synafa.study.engine.results import Results
from synafa.study.engine.store import UnitResult
from synafa.study.engine.unit import with_needs
from synafa.study.evidence.tables import ReportTable
from synafa.study.evidence.verdict import Verdict
from synafa.study.experiments import alpha_sweep, benchmark, feasibility, fixed_v, pair_branch, shared, sweeps
from synafa.study.experiments.contract import load_experiments

pytestmark = pytest.mark.slow

STANDARD, QUICK = Settings("standard"), Settings("quick")


def finished(unit, rows=(), arrays=None):
    """A unit's result that was never written to a file."""
    stored = {"rows": [{name: plain(value) for name, value in row.items()} for row in rows]}
    result = UnitResult(unit, "done", {}, "", Path("nowhere.json"), stored)
    result.__dict__["arrays"] = dict(arrays or {})
    return result


def results_of(settings, *done):
    return Results(settings, [result.unit for result in done], list(done))


def with_correct(unit, correct):
    """A finished policy unit with the given `correct` flags at each of its budgets."""
    correct = np.asarray(correct, dtype=np.uint8)
    arrays = {f"correct_{budget}": correct for budget in unit["budgets"]}
    return finished(
        unit, [{"budget": b, "accuracy": correct.mean(), "n": len(correct)} for b in unit["budgets"]], arrays
    )


def acquisitions(unit):
    """What the unit's policy acquires, without a classifier: the deterministic half of `run_policy_unit`."""
    dataset = shared.unit_dataset(unit)
    done = shared.unit_evaluation(unit, dataset, None).runs(unit["method"])
    arrays = {f"mask_{budget:g}": np.packbits(one.mask, axis=1) for budget, one in done.items()}
    rows = [{"budget": int(budget), "no_fallback_share": 1 - one.used_fallback.mean()} for budget, one in done.items()]
    return finished(unit, rows, arrays)


# --- shared units


def test_equal_units_are_one_unit_however_their_numbers_are_written():
    one = shared.policy_unit(STANDARD, "synergy-sweep", 3, "aaco", (3, 5, 8), alpha=1)
    other = shared.policy_unit(STANDARD, "synergy-sweep", 3, "aaco", (8.0, 3.0, 5.0), alpha=1.0)
    assert one == other
    assert one != shared.policy_unit(STANDARD, "synergy-sweep", 3, "aaco", (3, 5), alpha=1)


def test_a_policy_is_seeded_by_the_instance_of_a_sweep_and_by_zero_on_real_data():
    assert shared.policy_unit(STANDARD, "fixed-v", 4, "cae", (8,), fraction=0.9).seed == 4
    assert shared.policy_unit(STANDARD, "ckd", 0, "cae", (2,)).seed == 0


def test_all_instances_of_a_sweep_need_the_same_classifier():
    units = [shared.policy_unit(STANDARD, "fixed-v", i, "synafa", (8,), fraction=0.9) for i in range(5)]
    assert len({unit.needs[0].key for unit in units}) == 1


def test_what_is_trained_per_budget_is_one_unit_a_budget():
    once = Settings("standard", repetition=ONCE)
    assert len(shared.policy_units(once, "ckd", 0, "cae", (2, 4, 7))) == 3
    assert len(shared.policy_units(once, "ckd", 0, "permutation", (2, 4, 7))) == 1


def test_everything_trained_or_drawn_is_repeated():
    def count(dataset, method):
        return len(shared.policy_units(STANDARD, dataset, 0, method, (5,)))

    assert [count("physionet", m) for m in ("synafa", "static-single", "aaco", "random", "cae", "permutation")] == [
        *(1, 1, 10, 10, 3, 3)
    ]
    assert count("ckd", "cae") == 5
    units = shared.policy_units(STANDARD, "physionet", 0, "aaco", (5, 10))
    assert [unit.seed for unit in units] == list(range(10))  # another draw each time
    assert [unit["judges"] for unit in units] == [[seed] for seed in range(10)]  # and another classifier
    assert shared.policy_unit(STANDARD, "physionet", 0, "cae", (5,), 2)["judges"] == list(range(10))
    assert len(shared.policy_unit(STANDARD, "bank", 0, "synafa", (2,))["judges"]) == 5
    sweep = [shared.policy_units(STANDARD, "fixed-v", instance, "aaco", (8,), fraction=0.9) for instance in range(5)]
    assert sum(map(len, sweep)) == 10


def test_the_instances_of_a_real_table_have_classifiers_of_their_own_and_those_of_a_sweep_do_not():
    real = {shared.policy_unit(STANDARD, "ckd", i, "synafa", (2,)).needs[0].key for i in range(5)}
    assert len(real) == 5
    assert shared.classifier_unit(STANDARD, "ckd", 3)["instance"] == 3


def test_experiments_share_their_units():
    names = ("benchmark", "alpha-sweep", "fixed-v", "feasibility", "pair-branch")
    units = {e.name: with_needs(e.units(STANDARD)) for e in load_experiments(names)}
    before = {unit.key for name in names[:3] for unit in units[name]}
    assert {unit["method"] for unit in units["feasibility"] if unit.key not in before} == {"synafa-masked"}
    assert {unit["method"] for unit in units["pair-branch"] if unit.key not in before} == {"synafa-no-pairs"}


def test_a_cut_dataset_keeps_the_first_rows_of_each_part():
    whole = load("synergy-sweep", alpha=0.5, instance=1)
    small = shared.cut(whole)
    assert [len(part) for part in (small.train, small.validation, small.test)] == [360, 120, 120]
    assert np.array_equal(small.X[small.test], whole.X[whole.test[:120]])
    assert np.array_equal(small.y[small.train], whole.y[whole.train[:360]])


@pytest.mark.parametrize("method", ["synafa", "synafa-uncorrected", "random", "static-single", "all-features", "aaco"])
def test_a_policy_unit_keeps_arrays_that_agree_with_its_rows(method, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("SYNAFA_CACHE", str(tmp_path))
    unit = shared.policy_unit(QUICK, "synergy-sweep", 1, method, (3, 8), alpha=1, validation=True)
    done = shared.run_policy_unit(unit)
    dataset = shared.unit_dataset(unit)
    judges = unit["judges"]
    assert len(judges) == (1 if method == "aaco" else 2)
    assert [(row["budget"], row["judge"]) for row in done["rows"]] == [(b, j) for b in (3, 8) for j in judges]
    for row in done["rows"]:
        budget, at = row["budget"], judges.index(row["judge"])
        masked = done["arrays"][f"mask_{budget}"]
        arrays = {name: values[at] if values.ndim == 2 else values for name, values in done["arrays"].items()}
        known = np.unpackbits(masked, axis=1)[:, :24].astype(bool)
        assert arrays[f"correct_{budget}"].mean() == row["accuracy"]
        assert np.array_equal(arrays[f"predicted_{budget}"] == arrays["y"], arrays[f"correct_{budget}"].astype(bool))
        assert np.isclose((known @ dataset.costs).mean(), row["mean_cost"])
        assert method == "all-features" or (known @ dataset.costs <= budget).all()
        assert len(arrays[f"validation_positive_{budget}"]) == len(arrays["validation_y"]) == 120
        own = np.where(arrays["y"] == 1, arrays[f"positive_{budget}"], 1 - arrays[f"positive_{budget}"])
        assert np.allclose(own, arrays[f"true_probability_{budget}"], atol=1e-6)


def test_synafas_own_episodes_are_those_of_the_harness():
    from synafa.evaluation import run_policy

    unit = shared.policy_unit(QUICK, "synergy-sweep", 0, "synafa-masked", (3, 5, 8), alpha=0.75)
    dataset = shared.unit_dataset(unit)
    policy = shared.fit_synafa("synafa-masked", dataset)
    for budget, done in shared.unit_evaluation(unit, dataset, None).runs(unit["method"]).items():
        assert np.array_equal(done.mask, run_policy(policy, dataset, "test", budget).mask)


# --- comparisons


def cube_unit(method, values, training=0):
    """A finished unit on PhysioNet whose `correct` is (judges, n)."""
    unit = shared.policy_unit(STANDARD, "physionet", 0, method, (5,), training)
    return finished(unit, [], {"correct_5": np.asarray(values, dtype=np.uint8)})


def test_a_comparison_is_over_judges_and_trainings():
    rng = np.random.default_rng(1)
    own, other = rng.random((10, 200)) < 0.8, [rng.random((10, 200)) < 0.7 for _ in range(3)]
    results = results_of(
        STANDARD, cube_unit("synafa", own), *(cube_unit("cae", values, t) for t, values in enumerate(other))
    )
    found = shared.compare(results, "synafa", "cae", 5, dataset="physionet")
    gaps = own[:, None].astype(float) - np.stack(other, axis=1)
    expected = hierarchical_bootstrap(gaps)
    assert (found.value, found.low, found.high, found.p) == (
        *(expected.estimate, expected.low, expected.high, expected.pvalue),
    )
    assert found.runs == 30
    single = [gaps[i, i % 3].mean() for i in range(10)]
    assert found.spread == pytest.approx(prediction_interval(single))


def test_draws_of_a_policy_that_asks_the_classifier_are_matched_with_their_judge():
    rng = np.random.default_rng(2)
    own, drawn = rng.random((10, 100)) < 0.8, rng.random((10, 1, 100)) < 0.6
    results = results_of(
        STANDARD, cube_unit("synafa", own), *(cube_unit("aaco", values, t) for t, values in enumerate(drawn))
    )
    seeds, values = shared.values_of(results, "aaco", 5, dataset="physionet")
    assert seeds == tuple(range(10))
    assert values.shape == (10, 1, 100)
    found = shared.compare(results, "synafa", "aaco", 5, dataset="physionet")
    assert found.value == pytest.approx(own.mean() - drawn.mean())
    assert found.runs == 10
    few = results_of(STANDARD, cube_unit("synafa", own), cube_unit("aaco", drawn[3], 3))
    alone = shared.compare(few, "synafa", "aaco", 5, dataset="physionet")
    assert alone.value == pytest.approx(own[3].mean() - drawn[3].mean())  # only under the judge that both have


@pytest.mark.parametrize("measure", shared.MEASURES)
def test_a_difference_by_any_measure_is_the_difference_of_the_measures(measure):
    rng = np.random.default_rng(3)
    y = (rng.random(300) < 0.3).astype(np.uint8)
    done, scores = [], {}
    for method in ("synafa", "cae"):
        positive = rng.random((10, 300)).astype(np.float32) * 0.6 + 0.4 * y * rng.random((10, 300))
        predicted = (positive > 0.5).astype(np.uint8)
        arrays = {"y": y, "validation_y": y, "validation_positive_5": positive, "positive_5": positive}
        arrays |= {"predicted_5": predicted, "correct_5": (predicted == y).astype(np.uint8)}
        arrays["true_probability_5"] = np.where(y == 1, positive, 1 - positive)
        done.append(finished(shared.policy_unit(STANDARD, "physionet", 0, method, (5,)), [], arrays))
        both = np.stack([1 - positive, positive], axis=2)
        if measure == "threshold_matched":
            cuts = [metrics.matched_threshold(row, y.mean()) for row in positive]
            scores[method] = np.mean([((row > t) == y).mean() for row, t in zip(positive, cuts)])
        else:
            scores[method] = np.mean([metrics.prediction_metrics(y, chance)[measure] for chance in both])
    found = shared.compare(results_of(STANDARD, *done), "synafa", "cae", 5, measure=measure, dataset="physionet")
    assert found.value == pytest.approx(scores["synafa"] - scores["cae"], abs=1e-6)
    assert found.low < found.value < found.high


def test_a_comparison_pools_the_rows_of_all_instances():
    rng = np.random.default_rng(0)
    units = [
        shared.policy_unit(STANDARD, "fixed-v", i, m, (8,), fraction=0.9) for m in ("synafa", "cae") for i in (0, 1)
    ]
    flags = [rng.integers(0, 2, 300) for _ in units]
    results = results_of(STANDARD, *map(with_correct, units, flags))
    found = shared.compare(results, "synafa", "cae", 8, (0, 1), dataset="fixed-v", fraction=0.9)
    expected = paired_bootstrap(np.concatenate(flags[:2]), np.concatenate(flags[2:]))
    assert (found.value, found.low, found.p) == (expected.difference, expected.low, expected.pvalue)


def test_a_comparison_with_a_missing_unit_is_none():
    unit = shared.policy_unit(STANDARD, "ckd", 0, "synafa", (2,))
    results = results_of(STANDARD, with_correct(unit, [1, 0, 1]))
    assert shared.compare(results, "synafa", "aaco", 2, dataset="ckd") is None
    assert shared.mean_advantage(results, "synafa", 2, dataset="ckd") is None
    assert shared.accuracy(results, "synafa", 2, dataset="ckd") == pytest.approx(2 / 3)


def sweep_results(settings, sweep, slopes):
    """Results in which baselines are right on half the rows and each policy is `0.1 * slope * level` better."""
    n, done = 400, []
    for level, position in zip(sweep.levels, sweep.positions):
        for instance in sweep.instances:
            for method, slope in {**dict.fromkeys(shared.THREE, 0.0), **slopes}.items():
                right = n // 2 + round(n * (0.1 * slope * position + (0.005 * instance if slope else 0)))
                for unit in shared.policy_units(
                    settings, sweep.dataset, instance, method, sweep.budgets, **{sweep.parameter: level}
                ):
                    done.append(with_correct(unit, np.arange(n) < right))
    return results_of(settings, *done)


def test_an_advantage_that_grows_with_alpha_is_a_correlation_of_one_in_every_instance():
    sweep = sweeps.alpha_sweep(STANDARD)
    results = sweep_results(STANDARD, sweep, {"synafa": 1.0})
    assert sweep.correlation(results, "synafa", 8).value == pytest.approx(1.0)
    assert [one.value for one in sweep.instance_correlations(results, "synafa", 8)] == pytest.approx([1.0] * 5)
    mean = sweep.mean(results, "synafa", 1.0, 8)
    assert mean.value == pytest.approx(0.11)
    assert 0.09 <= mean.low < mean.value < mean.high <= 0.13
    assert shared.mean_advantage(results, "synafa", 8, 2, **sweep.where(1.0)) == pytest.approx(0.11)


def test_headlines_say_what_held_and_what_did_not():
    sweep = sweeps.alpha_sweep(STANDARD)
    as_in_the_paper = sweep_results(STANDARD, sweep, {"synafa": 1.0, "synafa-no-pairs": -1.0, "synafa-masked": 1.0})
    opposite = sweep_results(STANDARD, sweep, {"synafa": -1.0, "synafa-no-pairs": 1.0, "synafa-masked": -1.0})
    for results, held in ((as_in_the_paper, True), (opposite, False)):
        assert alpha_sweep.headline(results)[0].held is held  # grows at budget 8
        assert alpha_sweep.headline(results)[1].held is not held  # falls at 3 and 5: the toy grows or falls everywhere
        assert pair_branch.headline(results)[0].held is held
        assert feasibility.headline(results)[0].held is held
    assert "it does not reverse" in pair_branch.headline(opposite)[0].text


@pytest.mark.parametrize("settings", [STANDARD, QUICK, Settings(datasets=())])
def test_without_results_every_paper_value_is_not_run(settings):
    for experiment in load_experiments(("benchmark", "alpha-sweep", "fixed-v", "feasibility", "pair-branch")):
        results = Results(settings, experiment.units(settings), [])
        tables = experiment.tables(results)
        assert set(experiment.covers) <= {table.label for table in tables}
        assert len({table.label for table in tables}) == len(tables)
        rows = [row for table in tables if isinstance(table, ReportTable) for row in table.rows]
        assert {row.verdict for row in rows} <= {Verdict.NOT_RUN, Verdict.NOT_COMPARABLE, None}
        drawn = [figure.name for figure in experiment.figures(results)]
        assert drawn in ([], ["synafa-overview"])  # a drawing that needs no results
        assert experiment.headline(results) == []


# --- what needs no training, exactly


def test_every_acquisition_rate_of_the_alpha_sweep_is_the_papers():
    sweep = sweeps.alpha_sweep(STANDARD)
    results = results_of(STANDARD, *map(acquisitions, sweep.units(STANDARD, ("synafa",))))
    table = next(table for table in alpha_sweep.tables(results) if table.label == "synergy-acquisition-rates")
    assert len(table.rows) == 45
    assert {row.verdict for row in table.rows} == {Verdict.EXACT}


def test_the_population_decomposition_is_the_papers():
    units = [unit for unit in alpha_sweep.units(STANDARD) if unit.experiment == "alpha-sweep"]
    results = results_of(STANDARD, *(finished(unit, alpha_sweep.run(unit)["rows"]) for unit in units))
    table = next(table for table in alpha_sweep.tables(results) if table.label == "synergy-pid-decomposition")
    assert len(table.rows) == 20
    assert {row.verdict for row in table.rows} == {Verdict.EXACT}


def test_the_fixed_v_calibration_is_the_papers():
    units = [unit for unit in fixed_v.units(STANDARD) if unit.experiment == "fixed-v"]
    results = results_of(STANDARD, *(finished(unit, fixed_v.run(unit)["rows"]) for unit in units))
    table = next(table for table in fixed_v.tables(results) if table.label == "fixed-v-calibration")
    realised = [row for row in table.rows if row.deterministic]
    assert len(realised) == 10
    assert {row.verdict for row in realised} == {Verdict.EXACT}
    for row in table.rows:
        assert row.here == pytest.approx(row.paper.value, abs=3.5e-3)


def test_the_corrected_harness_changes_nine_of_the_fixed_v_runs():
    sweep = sweeps.fixed_v_sweep(STANDARD)
    units = sweep.units(STANDARD, ("synafa", "synafa-uncorrected"))
    assert fixed_v.runs_changed(results_of(STANDARD, *map(acquisitions, units)), sweep) == 9


def test_the_mask_changes_acquisitions_at_budget_8_in_six_cells_only():
    sweep = sweeps.alpha_sweep(STANDARD)
    units = sweep.units(STANDARD, ("synafa", "synafa-masked"))
    done = [acquisitions(unit) for unit in units]
    for result in done:
        result.arrays["correct_8"] = np.ones(6000, dtype=np.uint8)
    changed = feasibility.changes_at_8(results_of(STANDARD, *done), sweep)
    assert [(one.alpha, one.instance) for one in changed] == [(0, 2), (0.25, 1), (0.5, 2), (0.75, 1), (0.75, 2), (1, 2)]
    assert changed[0].share == pytest.approx(0.4867, abs=1e-4)


@pytest.mark.data
@pytest.mark.usefixtures("data_dir")
def test_the_shares_that_reach_the_budget_alone_are_the_papers():
    units = benchmark.real_units(STANDARD, ("synafa",))
    results = results_of(STANDARD, *map(acquisitions, units))
    table = next(table for table in benchmark.tables(results) if table.label == "appendix-harness")
    shares = [row for row in table.rows if row.deterministic]
    assert len(shares) == 4
    assert {row.verdict for row in shares} == {Verdict.EXACT}


@pytest.mark.data
@pytest.mark.usefixtures("data_dir")
def test_sizes_and_majority_shares_are_the_papers():
    units = [unit for unit in benchmark.units(STANDARD) if unit.experiment == "benchmark"]
    results = results_of(STANDARD, *(finished(unit, benchmark.run(unit)["rows"]) for unit in units))
    table = next(table for table in benchmark.tables(results) if table.label == "dataset-overview")
    judged = [row for row in table.rows if row.here is not None]
    assert len(judged) == 15
    assert {row.verdict for row in judged} == {Verdict.EXACT}


def test_all_features_of_a_group_are_paid_once():
    unit = shared.policy_unit(QUICK, "cube-nm", 0, "all-features", (3,))
    dataset = shared.unit_dataset(unit)
    (group,) = dataset.groups
    assert len(group) > 1
    done = shared.unit_evaluation(unit, dataset, None).runs("all-features")[3.0]
    assert done.mask.all()
    assert (done.cost == dataset.n_features - len(group) + 1).all()
    dear = replace(dataset, costs=np.arange(1.0, dataset.n_features + 1))
    expected = dear.costs.sum() - sum(sorted(dear.costs[list(group)])[1:])
    assert (shared.unit_evaluation(unit, dear, None).runs("all-features")[3.0].cost == expected).all()
