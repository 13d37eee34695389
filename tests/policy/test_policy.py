"""The decision rule and the policy around it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from synafa import AcquisitionClassifier, SynAFA, SynafaError
from synafa.analysis.objective import local_search, set_objective
from synafa.policy.branches import BRANCHES
from synafa.policy.rule import AFFORDABILITY
from tests import naive
from tests.tables_strategy import coded_tables

COSTS = st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0, 5.0])


@settings(max_examples=150, deadline=None)
@given(coded_tables(max_bins=3, max_classes=3, min_classes=2), st.data())
def test_an_episode_is_that_of_the_rule_written_as_loops(table, data):
    codes, y, bins = table
    n, d = codes.shape
    costs = [data.draw(COSTS) for _ in range(d)]
    weight = data.draw(st.sampled_from([0.0, 0.01, 0.2]))
    budget = data.draw(st.sampled_from([0.0, 1.0, 2.5, 6.0]))
    affordability = data.draw(st.sampled_from(AFFORDABILITY))
    pair_branch, force = data.draw(st.booleans()), data.draw(st.booleans())
    names = [f"x{j}" for j in range(d)]
    known = {j for j in range(d) if data.draw(st.sampled_from([False, False, True]))}
    blocked = {j for j in range(d) if j not in known and data.draw(st.sampled_from([False, False, True]))}
    policy = SynAFA(budget, costs, weight, pair_branch, affordability, n_bins=max(bins, 2)).fit(codes.astype(float), y)
    run = policy.acquire(
        codes.astype(float),
        known=[names[j] for j in known],
        unavailable=[names[j] for j in blocked],
        on_stop="fallback" if force else "stop",
    )
    coded = policy.codes(codes.astype(float))
    for i in range(n):
        steps, spent = naive.episode(
            policy.tables_, coded[i], costs, weight, budget, affordability, force, pair_branch, known, blocked
        )
        found = [(int(j), BRANCHES[b]) for j, b in zip(run.order[i], run.branch[i]) if j >= 0]
        assert found == steps
        assert run.cost[i] == pytest.approx(spent)
        assert set(np.flatnonzero(run.mask[i])) == known | {j for j, _ in steps}


@settings(max_examples=80, deadline=None)
@given(coded_tables(max_bins=3, max_classes=3, min_classes=2), st.data())
def test_one_decision_is_the_same_for_one_row_for_a_batch_and_as_loops(table, data):
    codes, y, bins = table
    n, d = codes.shape
    costs = np.array([data.draw(COSTS) for _ in range(d)])
    affordability = data.draw(st.sampled_from(AFFORDABILITY))
    policy = SynAFA(4, costs, 0.01, affordability=affordability, n_bins=bins).fit(codes.astype(float), y)
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    mask = rng.random((n, d)) < 0.4
    remaining = rng.choice([0.0, 0.5, 1.0, 3.0, 7.0], size=n)
    values = np.where(mask, codes, 0).astype(np.float32)
    coded = policy.codes(codes.astype(float))
    feature, branch = policy.propose_with_reason(values, mask, remaining)
    for i in range(n):
        j, words = naive.decide(
            policy.tables_, coded[i], set(np.flatnonzero(mask[i])), costs, 0.01, remaining[i], affordability
        )
        assert (feature[i], BRANCHES[branch[i]] if feature[i] >= 0 else "stop") == (-1 if j is None else j, words)
        one = policy.rule_.decide(mask[i], coded[i], remaining[i])
        assert (one.feature, one.branch) == (feature[i], branch[i])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(coded_tables(max_bins=3, max_classes=2, min_classes=2), st.data())
def test_local_search_is_the_exhaustive_one(table, data):
    codes, y, bins = table
    policy = SynAFA(n_bins=bins).fit(codes.astype(float), y)
    coded = policy.codes(codes.astype(float))
    mask = np.random.default_rng(data.draw(st.integers(0, 10**6))).random(codes.shape) < 0.5
    found = local_search(policy.tables_, coded, mask)
    totals = set_objective(policy.tables_, coded, mask)
    for i in range(len(codes)):
        members = set(np.flatnonzero(mask[i]))
        assert totals[i] == pytest.approx(naive.objective(policy.tables_, coded[i], members), abs=1e-12)
        swaps, final = naive.local_search(policy.tables_, coded[i], members)
        assert found.delta[found.row == i].sum() == pytest.approx(
            naive.objective(policy.tables_, coded[i], final) - totals[i], abs=1e-9
        )
        assert (found.row == i).sum() == len(swaps)
        assert mask[i].sum() == found.mask[i].sum()


def test_the_uncorrected_search_may_lower_the_objective_and_the_corrected_one_never_does():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, size=(3000, 12))
    y = (X[:, 0] & X[:, 1]) ^ (X[:, 2] | X[:, 3]) ^ (rng.random(3000) < 0.1)
    policy = SynAFA().fit(X.astype(float), y)
    mask = rng.random(X.shape) < 0.4
    codes = policy.codes(X.astype(float))
    assert (local_search(policy.tables_, codes, mask).delta > 0).all()
    loose = local_search(policy.tables_, codes, mask, corrected=False)
    assert (loose.delta < 0).any()


@pytest.mark.parametrize("copies", [2, 3, 7])
def test_m_copies_of_a_feature_score_m_times_what_they_tell(copies):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 500)
    y = z ^ (rng.random(500) < 0.2)
    X = np.repeat(z[:, None], copies, axis=1).astype(float)
    policy = SynAFA().fit(X, y)
    alone = policy.tables_.single[0]
    everything = np.ones((500, copies), bool)
    total = set_objective(policy.tables_, policy.codes(X), everything)
    assert total == pytest.approx(np.full(500, copies * alone))
    assert naive.mutual_information([tuple(row) for row in X], list(y)) == pytest.approx(alone)


def xor_table(seed=0, n=2000, noise=4):
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, size=(n, 2 + noise))
    names = ["left", "right", *(f"noise{i}" for i in range(noise))]
    return pl.DataFrame(bits, schema=names), bits[:, 0] ^ bits[:, 1]


def test_an_xor_pair_is_started_by_the_pair_branch_and_finished_by_conditioning():
    X, y = xor_table()
    run = SynAFA(budget=2).fit(X, y).acquire(X)
    assert {tuple(sorted(row)) for row in run.order.tolist()} == {(0, 1)}
    assert [BRANCHES[b] for b in run.branch[0]] == ["pair", "conditional"]
    without = SynAFA(budget=2, pair_branch=False).fit(X, y).acquire(X)
    assert without.n_acquired.max() == 0, "no single bit is worth anything"


def test_strict_spends_what_deployed_leaves_lying():
    X, y = xor_table()
    costs = {"left": 1, "right": 5}
    deployed = SynAFA(3, costs, affordability="deployed", cost_weight=0).fit(X, y).acquire(X)
    strict = SynAFA(3, costs, affordability="strict", cost_weight=0).fit(X, y).acquire(X)
    assert strict.cost.mean() > deployed.cost.mean()
    assert (strict.cost <= 3).all()
    assert not strict.mask[:, 1].any()


def test_a_recommendation_says_why():
    X, y = xor_table()
    policy = SynAFA(budget=2).fit(X, y, target="the alarm")
    first = policy.next_feature()
    assert first.branch == "pair"
    assert {first.feature, first.partner} == {"left", "right"}
    assert "together with" in first.text
    assert "the alarm" in first.text
    second = policy.next_feature({first.feature: 1})
    assert (second.feature, second.branch, second.given) == (first.partner, "conditional", first.feature)
    assert second.remaining == 1
    last = policy.next_feature({"left": 1, "right": 0})
    assert last.feature is None
    assert last.text.startswith("Stop")
    elsewhere = policy.next_feature(unavailable=["left"])
    assert elsewhere.feature != "left"


def test_known_features_cost_nothing_and_count():
    X, y = xor_table()
    run = SynAFA(budget=1).fit(X, y, known=["left"]).acquire(X)
    assert run.order[:, 0].tolist() == [1] * len(X)
    assert run.mask[:, :2].all()
    assert run.cost.max() == 1


def test_text_and_missing_cells_are_learnt_from_training_rows():
    rng = np.random.default_rng(1)
    n = 600
    colour = rng.choice(["red", "green", "blue"], n)
    y = np.where(colour == "blue", "yes", "no")
    weight = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    frame = pd.DataFrame({"weight": weight, "colour": colour})
    policy = SynAFA(budget=1, n_bins=3).fit(frame, y)
    assert policy.acquire(frame).order[:, 0].tolist() == [1] * n
    other = pd.DataFrame({"colour": ["purple", None, "blue"], "weight": [None, 1.0, 2.0]})
    assert policy.acquire(other).order.shape == (3, 1)
    with pytest.raises(SynafaError, match="'purple' is not a value of 'colour'"):
        policy.next_feature({"colour": "purple"})


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda X, y: SynAFA(budget=-1).fit(X, y), "budget must be"),
        (lambda X, y: SynAFA(budget=float("nan")).fit(X, y), "budget must be"),
        (lambda X, y: SynAFA(cost_weight=-0.1).fit(X, y), "cost_weight must be"),
        (lambda X, y: SynAFA(affordability="cheap").fit(X, y), "affordability must be one of"),
        (lambda X, y: SynAFA(costs={"left": -1}).fit(X, y), "cost of 'left'"),
        (lambda X, y: SynAFA(costs={"left": float("inf")}).fit(X, y), "cost of 'left'"),
        (lambda X, y: SynAFA(costs={"lefft": 1}).fit(X, y), "Unknown feature 'lefft'; did you mean 'left'"),
        (lambda X, y: SynAFA(costs=[1, 2]).fit(X, y), "one cost for each of the 6 features"),
        (lambda X, y: SynAFA().fit(X, y, known=["nobody"]), "Unknown feature 'nobody'"),
        (lambda X, y: SynAFA().fit(X, np.zeros(len(X))), "one class"),
        (lambda X, y: SynAFA().fit(X, [None, *y[1:].tolist()]), "missing label"),
        (lambda X, y: SynAFA().fit(X, y[:-1]), "one class for each"),
        (lambda X, y: SynAFA().fit(X[:0], y[:0]), "no rows|at least 1"),
        (lambda X, y: SynAFA().fit(X, y).acquire(X.drop("right")), "'right' was there at fit time"),
        (lambda X, y: SynAFA().fit(X, y).acquire(X.with_columns(left=pl.lit("a"))), "text 'a'"),
        (lambda X, y: SynAFA().fit(X, y).acquire(X, on_stop="maybe"), "on_stop must be"),
        (lambda X, y: SynAFA().fit(X, y).next_feature({"centre": 1}), "Unknown feature 'centre'"),
        (lambda X, y: SynAFA().fit(X, y).next_feature(remaining=-1), "remaining must be"),
        (lambda X, y: SynAFA().fit(X, y).acquire(X, unavailable=np.zeros((1, 1), bool)), "shape of the rows"),
        (lambda X, y: SynAFA(costs={"left": "cheap"}).fit(X, y), "cost of 'left' .* got: 'cheap'"),
        (lambda X, y: SynAFA(costs=["cheap", *"11111"]).fit(X, y), "cost of 'left' .* got: 'cheap'"),
        (lambda X, y: SynAFA(costs={"left": None}).fit(X, y), "cost of 'left' .* got: None"),
        (lambda X, y: SynAFA(costs=3).fit(X, y), "one cost for each of the 6 features"),
        (lambda X, y: SynAFA(budget="5").fit(X, y), "budget must be .* got: '5'"),
        (lambda X, y: SynAFA().fit(X, np.array(["a", *y[1:]], dtype=object)), "y mixes labels"),
        (lambda X, y: SynAFA().fit(X, y).next_feature(remaining="2"), "remaining must be .* got: '2'"),
        (lambda X, y: SynAFA().fit(X, y).next_feature(remaining=[2]), "remaining must be .* got: \\[2\\]"),
        (lambda X, y: SynAFA().fit(X, y).acquire(X, known=np.zeros(X.shape, int)), "mask must be of bool, got int64"),
        (lambda X, y: SynAFA().fit(X, y).acquire(X, unavailable=np.zeros(X.shape)), "must be of bool, got float64"),
        (lambda X, y: SynAFA().fit(X, y).next_feature(unavailable="lefft"), "Unknown feature 'lefft'"),
        (lambda X, y: SynAFA().propose(np.zeros((1, 6)), np.zeros((1, 6), bool), [1.0]), "SynAFA is not fitted"),
        (lambda X, y: SynAFA().acquire(X), "SynAFA is not fitted"),
        (lambda X, y: SynAFA().next_feature(), "SynAFA is not fitted"),
        (lambda X, y: SynAFA().decision_graph(), "SynAFA is not fitted"),
        (lambda X, y: AcquisitionClassifier().predict(X), "AcquisitionClassifier is not fitted"),
        (lambda X, y: SynAFA().fit(X, y).decision_graph(max_depth=2.5), "max_depth must be a whole number"),
        (lambda X, y: SynAFA().fit(X, y).decision_graph(min_share="half"), "min_share must be"),
    ],
)
def test_bad_input_is_named(action, words):
    with pytest.raises(SynafaError, match=words) as caught:
        action(*xor_table())
    said = str(caught.value)
    assert said.endswith(".")
    assert "\n" not in said, "one sentence"


def test_what_is_not_fitted_is_also_not_fitted_in_scikit_learns_words():
    with pytest.raises(NotFittedError):
        SynAFA().next_feature()


def test_one_name_may_be_given_as_a_plain_string():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 3))
    policy = SynAFA(budget=1).fit(pl.DataFrame(X, schema=["ab", "a", "b"]), X[:, 0])
    assert policy.next_feature().feature == "ab"
    assert policy.next_feature(unavailable="ab").feature is None
    with pytest.raises(SynafaError, match="Unknown feature 'ba'"):
        policy.next_feature(unavailable="ba")  # not b and a
    table = pl.DataFrame(X, schema=["ab", "a", "b"])
    assert not policy.acquire(table, unavailable="ab").mask[:, 0].any()
    assert policy.acquire(table, known="ab").mask[:, 0].all()
    assert policy.fit(table, X[:, 0], known="ab").rule_.known.tolist() == [True, False, False]


def test_text_is_noticed_wherever_it_stands():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (1500, 2)).astype(object)
    y = X[:, 0].astype(int)
    late, early = X.copy(), X.copy()
    late[1400, 1] = early[1, 1] = "unknown"
    assert SynAFA().fit(early, y).rule_.encoder.columns_[1].categories == ("0", "1", "unknown")
    assert SynAFA().fit(late, y).rule_.encoder.columns_[1].categories == ("0", "1", "unknown")
    with pytest.raises(
        SynafaError, match="Column 'x1' held numbers at fit time, but row 1401 holds the text 'unknown'"
    ):
        SynAFA().fit(X, y).acquire(late)


def test_whether_the_budget_matters_is_asked_of_the_fitted_rule():
    X, y = xor_table()
    policy = SynAFA(affordability="deployed").fit(X, y)
    assert not policy.uses_remaining
    policy.set_params(affordability="strict")
    assert not policy.uses_remaining, "decisions are still those of the fitted rule"
    assert policy.fit(X, y).uses_remaining
    assert SynAFA(affordability="pairs").uses_remaining


def test_names_must_be_unique():
    frame = pd.DataFrame(np.eye(4)[:, :2], columns=["a", "a"])
    with pytest.raises(SynafaError, match="Two columns are called 'a'"):
        SynAFA().fit(frame, [0, 1, 0, 1])


THREADS = """
import hashlib, sys
import numba, numpy as np
from synafa import SynAFA
assert numba.get_num_threads() == int(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 40)).astype(np.float32)
y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
policy = SynAFA(budget=6).fit(X, y)
mask = rng.random(X.shape) < 0.2
proposed = policy.propose(np.where(mask, X, 0), mask, np.full(500, 3.0))
run = policy.acquire(X)
assert (run.order >= 0).all(axis=1).any(), "whole episodes are compared"
tables, rule = policy.tables_, policy.rule_
for array in (tables.pair, tables.cond, rule.edges, policy.codes_, run.order, run.cost, proposed):
    print(hashlib.sha256(array.tobytes()).hexdigest())
"""


def test_results_do_not_depend_on_the_number_of_threads():
    """In processes of their own: this one cannot have more threads than the machine has cores."""
    said = []
    for threads in ("1", "4"):
        environment = os.environ | {"NUMBA_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        words = [sys.executable, "-c", THREADS, threads]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1]
    assert len(set(said[0].split())) == 7


def test_the_decision_graph_follows_every_training_row():
    X, y = xor_table()
    policy = SynAFA(budget=2).fit(X, y)
    graph = policy.decision_graph()
    assert graph.cut == ()
    root = graph.nodes[0]
    assert (root.count, root.share) == (len(y), 1.0)
    leaves = [node for node in graph.nodes if node.feature is None]
    assert sum(node.count for node in leaves) == len(y)
    assert all(max(node.class_shares) == 1.0 for node in leaves), "both bits known, the class is certain"
    for node in graph.nodes:
        if node.feature is not None:
            assert sum(edge.count for edge in graph.edges if edge.source == node.id) == node.count
        arriving = [edge.count for edge in graph.edges if edge.target == node.id]
        assert not arriving or sum(arriving) == node.count


def test_a_graph_that_is_cut_says_what_is_missing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 6))
    y = (X.sum(axis=1) > 0).astype(int)
    graph = SynAFA(budget=6, cost_weight=0).fit(X, y).decision_graph(max_depth=2, min_share=0.2)
    assert any("first 2 measurements" in sentence for sentence in graph.cut)
    assert max(node.depth for node in graph.nodes) <= 2
    with pytest.raises(SynafaError, match="max_depth"):
        SynAFA().fit(X, y).decision_graph(max_depth=0)


@pytest.mark.slow
@parametrize_with_checks([SynAFA()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([AcquisitionClassifier()])
def test_scikit_learns_own_checks_of_a_classifier(estimator, check):
    check(estimator)


def test_the_classifier_looks_only_at_what_was_acquired():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8))
    y = (X[:, 2] > 0).astype(int)
    model = AcquisitionClassifier(SynAFA(budget=2)).fit(X, y)
    before = model.predict_proba(X)
    mask = model.acquire(X).mask
    scrambled = np.where(mask, X, rng.normal(size=X.shape) * 100)
    assert (model.acquire(scrambled).mask == mask).all()
    assert (model.predict_proba(scrambled) == before).all()
    assert model.score(X, y) > 0.95


def test_the_classifier_learns_a_pair_that_is_worthless_apart():
    X, y = xor_table(n=4000, noise=10)
    model = AcquisitionClassifier(SynAFA(budget=2)).fit(X[:3000], y[:3000])
    assert model.score(X[3000:], y[3000:]) > 0.95
