"""The demonstration: the planted pair pays, and everything it promises is written."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from synafa.demo.compare import cancer_task, compare, gain, xor_task
from synafa.demo.page import example, gains, report_page, results
from synafa.demo.policies import POLICIES, InOrder, MaskedPredictor, random_masks
from synafa.demo.run import write_results
from synafa.evaluation import run_policy
from synafa.model.storage import load_model


@pytest.fixture(scope="module")
def comparison():
    task = xor_task()
    train, test = task.folds[0]
    return compare(replace(task, folds=((train[:6000], test[:2000]),), budgets=(2.0, 6.0)))


def test_only_the_pair_branch_finds_the_pair_that_counts_together(comparison):
    difference, low, _ = gain(comparison, "no pair branch", 1)
    assert difference > 0.05
    assert low > 0
    assert gain(comparison, "random", 1)[1] > 0
    assert comparison.pairs["synergistic"][0].first == "S1"
    assert comparison.pairs["synergistic"][0].second == "S2"


def test_intervals_hold_the_accuracy(comparison):
    for name in POLICIES:
        low, high = comparison.interval(name)
        assert (low < comparison.accuracy(name)).all()
        assert (comparison.accuracy(name) < high).all()


def test_the_example_explains_the_pair(comparison):
    assert "together with" in example(comparison)[0]
    assert any("better" in line for line in gains(comparison))


def test_the_report_and_its_files_are_complete(comparison, tmp_path):
    files = write_results(tmp_path, [comparison], report_page([comparison]), results([comparison]))
    assert sorted(files) == sorted(str(path) for path in tmp_path.iterdir())
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4  # accuracies, graph, synergistic pairs, redundant pairs
    assert "XOR sweep" in page
    values = json.loads((tmp_path / "results.json").read_text())["XOR sweep"]
    assert values["accuracy"]["SynAFA"]["mean"] == comparison.accuracy("SynAFA").tolist()
    assert load_model(tmp_path / "xor-sweep.synafa").next_feature().branch == "pair"


def test_every_tumour_is_tested_once():
    task = cancer_task()
    tested = np.concatenate([test for _, test in task.folds])
    assert sorted(tested) == list(range(len(task.X)))
    assert all(not set(train) & set(test) for train, test in task.folds)


def test_spending_skips_what_does_not_fit():
    costs = np.array([1.0, 5.0, 2.0])
    whole = xor_task()
    task = replace(whole, X=whole.X[:2, :3], y=whole.y[:2], feature_names=("a", "b", "c"), costs=costs)
    data = task.dataset(np.arange(0), np.arange(2))
    run = run_policy(InOrder(np.array([[0, 1, 2], [2, 1, 0]]), costs), data, "test", 3.0)
    np.testing.assert_array_equal(run.mask, [[True, False, True], [True, False, True]])
    assert run.order.tolist() == [[0, 2], [2, 0]]


def test_masks_have_at_least_one_feature_and_often_few():
    masks = random_masks(5000, 24, np.random.default_rng(0))
    sizes = masks.sum(axis=1)
    assert sizes.min() == 1
    assert sizes.max() == 24
    assert np.mean(sizes <= 4) > 0.4


def test_the_judge_answers_from_a_pair_alone():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (4000, 6)).astype(float)
    y = X[:, 2].astype(int) ^ X[:, 4].astype(int)
    mask = np.zeros(X.shape, bool)
    mask[:, [2, 4]] = True
    assert (MaskedPredictor().fit(X, y).predict_proba(X, mask).argmax(axis=1) == y).mean() > 0.99
