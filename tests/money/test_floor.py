"""A calibrated floor holds as often as it says, under distributions whose truth is known."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import beta, binom

from synafa.errors import SynafaError
from synafa.money import Floor, calibrate_floor, episode_score

ILL, WELL = beta(4, 2), beta(2, 5)  # scores of the class and of the others
SHARE = 0.4


def draw(rng, n):
    is_class = rng.random(n) < SHARE
    return np.where(is_class, ILL.rvs(n, random_state=rng), WELL.rvs(n, random_state=rng)), is_class


def truth(kind, t):
    """The quantity at threshold t, over all cases."""
    ill_below, well_below = SHARE * ILL.cdf(t), (1 - SHARE) * WELL.cdf(t)
    if kind == "sensitivity":
        return 1 - ILL.cdf(t)
    if kind == "npv":
        return well_below / (well_below + ill_below)
    return (SHARE - ill_below) / (SHARE - ill_below + 1 - SHARE - well_below)


@pytest.mark.parametrize(("kind", "floor", "n"), [("sensitivity", 0.9, 300), ("ppv", 0.85, 600), ("npv", 0.9, 600)])
def test_the_floor_holds_in_95_of_100_resampled_calibrations(kind, floor, n):
    rng = np.random.default_rng(12)
    found = [calibrate_floor(kind, *draw(rng, n), floor) for _ in range(200)]
    held = [result.threshold is None or truth(kind, result.threshold) >= floor for result in found]
    assert np.mean(held) >= 0.95
    # and it says something: nearly always a threshold, at which a part of the cases is decided
    thresholds = np.array([result.threshold for result in found if result.reached])
    assert len(thresholds) >= 190
    decided = (ILL.sf if kind == "ppv" else WELL.cdf)(np.median(thresholds))
    assert decided > 0.3


def test_the_share_of_failures_is_the_one_computed():
    """With k misses allowed among n, the threshold fails with probability P(Binomial(n, 1 - floor) <= k), exactly."""
    rng = np.random.default_rng(3)
    n, floor, runs = 120, 0.9, 3000
    k = int((binom.cdf(np.arange(n), n, 1 - floor) <= 0.05).sum()) - 1
    exact = binom.cdf(k, n, 1 - floor)
    is_class = np.ones(n, dtype=bool)
    failed = np.mean(
        [
            truth("sensitivity", calibrate_floor("sensitivity", rng.beta(4, 2, n), is_class, floor).threshold) < floor
            for _ in range(runs)
        ]
    )
    assert 0.02 < exact <= 0.05
    assert abs(failed - exact) < 4 * np.sqrt(exact * (1 - exact) / runs)


def test_taking_the_observed_sensitivity_for_the_true_one_fails_about_half_the_time():
    """What the floor is for: the same simulation without its confidence."""
    rng = np.random.default_rng(12)
    held = []
    for _ in range(200):
        score, is_class = draw(rng, 300)
        held.append(truth("sensitivity", np.quantile(score[is_class], 0.1)) >= 0.9)
    assert np.mean(held) < 0.7


@pytest.mark.parametrize("kind", ["ppv", "npv"])
def test_predictive_values_hold_where_they_turn_back(kind):
    """Not monotone: the most extreme scores are the least reliable, and just below the floor it breaks."""
    rng = np.random.default_rng(5)
    floor = 0.9

    def right(sure):
        return np.where(sure > 0.99, 0.80, np.where(sure > 0.9, 0.93, np.where(sure > 0.8, 0.88, 0.4)))

    grid = np.linspace(0, 1, 20001)[:-1] + 0.5 / 20000
    above = np.cumsum(right(grid)[::-1])[::-1] / np.arange(len(grid), 0, -1)  # true value of "sure >= grid"
    held, reached = [], 0
    for _ in range(200):
        sure = rng.random(20_000)
        is_right = rng.random(20_000) < right(sure)
        score, is_class = (sure, is_right) if kind == "ppv" else (1 - sure, ~is_right)
        result = calibrate_floor(kind, score, is_class, floor)
        reached += result.reached
        strict = result.threshold if kind == "ppv" or result.threshold is None else 1 - result.threshold
        held.append(strict is None or above[np.searchsorted(grid, strict)] >= floor)
    assert np.mean(held) >= 0.95
    assert reached > 100


def test_a_floor_that_stops_along_the_way_holds_for_the_whole_procedure():
    """Ruled out at the first crossing: the smallest probability of an episode is what counts."""

    def episodes(rng, n):
        is_class = rng.random(n) < 0.5
        steps = rng.normal(np.where(is_class, 0.5, -0.5)[:, None], 1.0, size=(n, 6))
        proba = 1 / (1 + np.exp(-np.cumsum(steps, axis=1)))
        return np.column_stack([np.full(n, 0.5), proba]), is_class

    def sensitivity(threshold, proba, is_class):
        """Walk through every episode until the first crossing."""
        out = np.zeros(len(proba), dtype=bool)
        for step in range(proba.shape[1]):
            out |= proba[:, step] < threshold
        return 1 - out[is_class].mean()

    rng = np.random.default_rng(8)
    everyone = episodes(rng, 100_000)
    held, held_by_last = [], []
    for _ in range(200):
        proba, is_class = episodes(rng, 400)
        result = calibrate_floor("sensitivity", episode_score(proba, "sensitivity"), is_class, 0.9)
        held.append(sensitivity(result.threshold, *everyone) >= 0.9)
        last = calibrate_floor("sensitivity", proba[:, -1], is_class, 0.9)
        held_by_last.append(sensitivity(last.threshold, *everyone) >= 0.9)
    assert np.mean(held) >= 0.95
    assert np.mean(held_by_last) < 0.5  # the last probability is the wrong score for a rule that stops on the way


def test_episode_scores_ignore_what_never_happened():
    proba = [[0.5, 0.2, np.nan], [0.5, 0.9, 0.1]]
    assert episode_score(proba, "npv").tolist() == [0.2, 0.1]
    assert episode_score(proba, "ppv").tolist() == [0.5, 0.9]


def test_too_few_rows_are_said_so():
    for n, reached in ((58, False), (59, True)):
        result = calibrate_floor("sensitivity", np.linspace(0.3, 1, n), np.ones(n, bool), 0.95, label="disease")
        assert result.reached is reached
        assert result.needed == 59
    too_few = calibrate_floor("sensitivity", np.full(20, 0.5), np.ones(20, bool), 0.95, label="disease")
    assert too_few.text == (
        "A sensitivity of 95 % for disease cannot be shown with 95 % confidence: it takes at least 59 cases of disease "
        "that were not used for fitting, and there are 20."
    )
    with pytest.raises(SynafaError, match="at least 59 cases of disease"):
        too_few.fires([0.5])
    few = calibrate_floor("ppv", np.full(30, 0.999), np.ones(30, bool), 0.9)
    assert "it takes at least 44 cases ruled in that were not used for fitting, and there are 30." in few.text
    assert calibrate_floor("ppv", np.full(44, 0.999), np.ones(44, bool), 0.9).reached


def test_a_predictor_that_is_wrong_gets_no_threshold():
    rng = np.random.default_rng(0)
    result = calibrate_floor("ppv", rng.uniform(0.9, 1, 500), rng.random(500) < 0.5, 0.9, label="disease")
    assert not result.reached
    assert result.text.startswith("A positive predictive value of 90 % for disease cannot be shown")
    assert "too many of the cases ruled in are wrong" in result.text


def test_what_is_reported_is_what_is_at_the_threshold():
    rng = np.random.default_rng(1)
    score, is_class = draw(rng, 900)
    low = calibrate_floor("npv", score, is_class, 0.9)
    out = score < low.threshold
    assert (low.n, low.errors) == (out.sum(), (out & is_class).sum())
    assert 0.9 <= low.bound < 1 - low.errors / low.n
    assert (low.fires(score) == out).all()
    high = calibrate_floor("ppv", score, is_class, 0.85)
    assert (high.fires(score) == (score >= high.threshold)).all()
    assert high.bound >= 0.85
    ties = calibrate_floor("sensitivity", np.repeat([0.2, 0.6], 100), np.ones(200, bool), 0.9)
    assert (ties.threshold, ties.errors, ties.n) == (0.2, 0, 200)
    assert ties.bound >= 0.9


def test_a_floor_survives_json():
    result = calibrate_floor("sensitivity", np.linspace(0.3, 1, 80), np.ones(80, bool), 0.95, label="disease")
    assert Floor.from_meta(json.loads(json.dumps(result.to_meta()))) == result
    assert result.text == (
        f"disease is ruled out below {result.threshold:.3f}; so its sensitivity is at least 95 % with 95 % confidence, "
        "from 80 cases of disease that were not used for fitting."
    )
    with pytest.raises(SynafaError, match="stored floor"):
        Floor.from_meta({"kind": "ppv"})


@pytest.mark.parametrize(
    ("kind", "score", "is_class", "floor", "sentence"),
    [
        ("recall", [0.5], [True], 0.9, "must be one of sensitivity, ppv, npv, got: 'recall'"),
        ("ppv", [0.5], [True], 95, "floor must be between 0 and 1"),
        ("ppv", [0.5, 0.2], [True], 0.9, "must be of one length"),
        ("ppv", [0.5, np.nan], [True, False], 0.9, "score of row 2 is missing"),
    ],
)
def test_wrong_input_is_a_sentence(kind, score, is_class, floor, sentence):
    with pytest.raises(SynafaError, match=sentence):
        calibrate_floor(kind, score, is_class, floor)
