"""Intervals over rows and seeds: they cover what they promise (by simulation) and are the known ones at the ends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats

from synafa.errors import SynafaError
from synafa.evaluation.metrics import auroc, balanced_accuracy
from synafa.stats import (
    adjusted_stars,
    auroc_values,
    balanced_accuracy_values,
    hierarchical_bootstrap,
    instance_bootstrap,
    jackknife_interval,
    log_loss_values,
    paired_bootstrap,
    prediction_interval,
    pvalue_text,
    t_interval,
)
from synafa.stats.hierarchical import crossed_variance
from synafa.stats.resampling import kept_weights, resample_weights

Maker = Callable[[np.random.Generator], np.ndarray]


def crossed(
    n: int, runs: tuple[int, ...], rows: float, each: tuple[float, ...], rest: float, together: float = 0.0
) -> Maker:
    """Mean 0.3 and known deviations of rows, of each factor of runs, of runs together, and of what is left."""

    def make(rng: np.random.Generator) -> np.ndarray:
        values = 0.3 + rest * rng.normal(size=(*runs, n)) + rows * rng.normal(size=n)
        for axis, (size, deviation) in enumerate(zip(runs, each)):
            shape = [1] * (len(runs) + 1)
            shape[axis] = size
            values = values + deviation * rng.normal(size=size).reshape(shape)
        return values + together * rng.normal(size=(*runs, 1))

    return make


def policies(n: int, seeds: int) -> Maker:
    """Right minus right of two policies under classifiers of several seeds: a threshold that moves with the seed."""

    def make(rng: np.random.Generator) -> np.ndarray:
        margin, own = rng.normal(size=n), rng.normal(size=n)
        shift = 0.15 * rng.normal(size=(2, seeds, 1))
        first = margin + shift[0] + 0.4 * rng.normal(size=(seeds, n)) > -0.5
        second = 0.8 * margin + 0.6 * own + shift[1] + 0.4 * rng.normal(size=(seeds, n)) > -0.5
        return first.astype(float) - second

    return make


def coverage(make: Maker, truth: float, simulations: int = 1500) -> float:
    hits = 0
    for number in range(simulations):
        found = hierarchical_bootstrap(make(np.random.default_rng([11, number])), n_resamples=700, seed=number)
        hits += found.low <= truth <= found.high
    return hits / simulations


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "truth"),
    [
        (crossed(80, (5,), 1.0, (0.11,), 0.5), 0.3),  # rows and five seeds matter alike
        (crossed(80, (5,), 0.3, (1.0,), 0.3), 0.3),  # only the seed matters
        (crossed(80, (5,), 0.5, (0.0,), 1.5), 0.3),  # seeds reorder rows and nothing else
        (crossed(80, (10,), 1.0, (0.2,), 0.5), 0.3),
        (crossed(60, (5, 3), 1.0, (0.11, 0.11), 0.5), 0.3),  # five classifiers, three trainings
        (policies(200, 5), 0.0),
    ],
    ids=["both", "seeds", "interaction", "ten-seeds", "two-factors", "policies"],
)
def test_the_interval_covers_95_in_100_within_one_and_a_half(make: Maker, truth: float) -> None:
    assert 0.935 <= coverage(make, truth) <= 0.965


@pytest.mark.slow
def test_a_training_that_suits_one_classifier_only_gives_wide_intervals_but_finite_ones() -> None:
    """Three trainings and three classifiers that matter only together: few degrees of freedom, never next to none."""
    make = crossed(200, (3, 3), 0.3, (0.0, 0.1), 1.0, together=0.15)
    found = [hierarchical_bootstrap(make(np.random.default_rng([5, i])), n_resamples=700, seed=i) for i in range(600)]
    assert np.mean([one.low <= 0.3 <= one.high for one in found]) >= 0.935
    assert min(one.df for one in found) >= 2.0
    widths = [one.high - one.low for one in found]
    assert max(widths) < 6 * np.median(widths)


def test_resampling_rows_alone_would_not_cover_when_the_seed_matters() -> None:
    """The simulation has teeth: the interval of one seed, as published, covers far less."""
    make, hits = crossed(80, (5,), 1.0, (0.2,), 0.5), 0
    for number in range(400):
        one = make(np.random.default_rng([3, number]))[0]
        found = hierarchical_bootstrap(one, n_resamples=400, seed=number)
        hits += found.low <= 0.3 <= found.high
    assert hits / 400 < 0.80


def test_many_equal_runs_give_the_paired_bootstrap_of_rows() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(600) < 0.75, rng.random(600) < 0.7
    rows = paired_bootstrap(a, b)
    found = hierarchical_bootstrap(np.tile(a.astype(float) - b, (4, 1)))
    assert found.estimate == pytest.approx(rows.difference)
    assert (found.low, found.high) == pytest.approx((rows.low, rows.high), abs=0.003)
    assert found.pvalue == pytest.approx(rows.pvalue, abs=0.03)


def test_when_only_runs_differ_it_is_students_interval_of_their_means() -> None:
    means = np.array([0.02, 0.05, 0.01, 0.06, 0.03])
    values = np.repeat(means[:, None], 50, axis=1)
    found, student = hierarchical_bootstrap(values, n_resamples=100_000), t_interval(means)
    assert found.df == pytest.approx(4.0)
    assert (found.low, found.high) == pytest.approx((student.low, student.high), abs=0.004)


def test_the_variance_is_that_of_the_classical_decomposition() -> None:
    values = np.random.default_rng(4).normal(size=(4, 6))
    whole, by_run, by_row = values.mean(), values.mean(axis=1), values.mean(axis=0)
    runs = 6 * ((by_run - whole) ** 2).sum() / 3
    rows = 4 * ((by_row - whole) ** 2).sum() / 5
    rest = ((values - by_run[:, None] - by_row + whole) ** 2).sum() / 15
    assert crossed_variance(values)[0] == pytest.approx(max((runs + rows - rest) / 24, rest / 24))


def test_a_single_run_is_left_out_and_equal_policies_have_p_one() -> None:
    flags = np.random.default_rng(1).random(100)
    one, plain = hierarchical_bootstrap(flags[None]), hierarchical_bootstrap(flags)
    assert one.runs == (1,)
    assert (one.low, one.high, one.df) == (plain.low, plain.high, plain.df)
    nothing = hierarchical_bootstrap(np.zeros((5, 40)))
    assert (nothing.estimate, nothing.low, nothing.high, nothing.pvalue) == (0.0, 0.0, 0.0, 1.0)


def test_missing_values_are_refused() -> None:
    with pytest.raises(SynafaError, match="finite"):
        hierarchical_bootstrap([[1.0, np.nan]])
    with pytest.raises(SynafaError, match="at least two"):
        t_interval([1.0])


def test_five_instances_are_covered_by_t_and_not_by_the_bootstrap() -> None:
    draws = np.random.default_rng(5).normal(0.1, 1.0, size=(4000, 5))
    mean, error = draws.mean(axis=1), draws.std(axis=1, ddof=1) / np.sqrt(5)
    wide = scipy.stats.t.ppf(0.975, 4) * error
    assert 0.935 <= np.mean(np.abs(mean - 0.1) <= wide) <= 0.965
    found = t_interval(draws[0])
    assert (found.low, found.high) == pytest.approx((mean[0] - wide[0], mean[0] + wide[0]))
    hits = 0
    for row in draws[:600]:
        drawn = instance_bootstrap(row, n_resamples=400)
        hits += drawn.low <= 0.1 <= drawn.high
    assert 0.78 <= hits / 600 <= 0.89  # why the study does not use it for five


def test_one_more_draw_lies_in_the_prediction_interval() -> None:
    draws = np.random.default_rng(6).normal(size=(3000, 6))
    bounds = np.array([prediction_interval(row[:5]) for row in draws])
    inside = (bounds[:, 0] <= draws[:, 5]) & (draws[:, 5] <= bounds[:, 1])
    assert 0.935 <= inside.mean() <= 0.965


def test_the_jackknife_of_a_mean_is_students_interval() -> None:
    values = np.random.default_rng(2).normal(size=5)
    ours, student = jackknife_interval(values, lambda x: float(x.mean())), t_interval(values)
    assert (ours.estimate, ours.low, ours.high) == pytest.approx((student.estimate, student.low, student.high))


def test_row_values_average_to_the_measure_and_spread_as_it_does() -> None:
    rng = np.random.default_rng(8)
    y = (rng.random(400) < 0.2).astype(int)
    score = np.round(rng.normal(size=400) + y, 1)  # rounded: ties
    predicted = (score > 0.5).astype(int)
    both = np.stack([1 - score, score], axis=1)
    assert auroc_values(y, score).mean() == pytest.approx(auroc(y, both))
    assert balanced_accuracy_values(y, predicted).mean() == pytest.approx(balanced_accuracy(y, predicted))
    assert log_loss_values([0.5, 1.0, 0.0])[[0, 1]].tolist() == pytest.approx([np.log(2), 0.0])
    resampled = {"auroc": [], "balanced": []}
    for _ in range(1500):
        rows = rng.integers(0, 400, 400)
        resampled["auroc"].append(auroc(y[rows], both[rows]))
        resampled["balanced"].append(balanced_accuracy(y[rows], predicted[rows]))
    for name, values in (("auroc", auroc_values(y, score)), ("balanced", balanced_accuracy_values(y, predicted))):
        assert values.std() / np.sqrt(400) == pytest.approx(np.std(resampled[name]), rel=0.1)


def test_pvalues_are_printed_no_smaller_than_the_resamples_can_tell() -> None:
    assert pvalue_text(0.0) == "p < 0.0002"
    assert pvalue_text(0.0002) == "p = 0.0002"
    assert pvalue_text(0.04999) == "p = 0.0500"


def test_stars_are_those_of_benjamini_and_hochberg_within_the_table() -> None:
    assert adjusted_stars([0.04]) == ["*"]
    assert adjusted_stars([0.04, 0.9]) == ["", ""]  # one of two tests: 0.08
    assert adjusted_stars([0.04, None]) == ["*", ""]  # not tested, not counted
    assert adjusted_stars([]) == []


def test_weights_drawn_once_for_many_comparisons_are_those_of_drawing_again():
    for n, resamples in ((7, 40), (300, 5000), (300, 5000)):  # the second time they are kept
        kept, anew = np.random.default_rng(5), np.random.default_rng(5)
        ours, theirs = (
            np.concatenate(list(of(rng, n, resamples))) for of, rng in ((kept_weights, kept), (resample_weights, anew))
        )
        np.testing.assert_array_equal(ours, theirs)
        assert kept.random() == anew.random()  # both generators stand at the same place
    one, other = np.random.default_rng(1).normal(size=(2, 3, 400))
    alone = hierarchical_bootstrap(one, n_resamples=500)
    hierarchical_bootstrap(other, n_resamples=500)
    assert hierarchical_bootstrap(one, n_resamples=500) == alone
