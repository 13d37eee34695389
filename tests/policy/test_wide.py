"""A policy of a very wide table decides as one that holds all pairs, to the last bit, and says what it cannot."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa import AcquisitionClassifier, InformationTables, SynAFA, SynafaError, load_model
from synafa.arrays import read_any, write_file
from synafa.information import wide
from synafa.information.wide import PackedRows
from synafa.model.storage import load_bedside, load_rule
from synafa.policy import reach
from synafa.policy.reach_kernels import keep_best
from synafa.policy.rule import AFFORDABILITY
from synafa.policy.wide_rule import WideRule
from tests.tables_strategy import coded_tables

pytestmark = pytest.mark.slow

COSTS = [0.0, 0.5, 1.0, 1.0, 2.0, 2.5, 5.0]


@contextmanager
def narrow_limits(spare=reach.SPARE, block=wide._BLOCK_BYTES):
    """Every table is wide inside; `spare` features may be out beside those that the budget buys."""
    before = wide.DENSE_LIMIT, reach.SPARE, wide._BLOCK_BYTES
    wide.DENSE_LIMIT, reach.SPARE, wide._BLOCK_BYTES = -1, spare, block
    try:
        yield
    finally:
        wide.DENSE_LIMIT, reach.SPARE, wide._BLOCK_BYTES = before


def both(settings, X, y, spare, **names):
    """The policy with all pairs, and the one with what decisions can reach."""
    dense = SynAFA(**settings).fit(X, y, **names)
    with narrow_limits(spare, block=1):
        found = SynAFA(**settings).fit(X, y, **names)
    assert isinstance(found.rule_, WideRule)
    assert not isinstance(dense.rule_, WideRule)
    return dense, found


def random_case(seed, d=None):
    """Settings, a table with copies, ties and interactions, and names of known and unavailable features."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 90)), d or int(rng.integers(2, 24))
    X = rng.integers(0, rng.choice([2, 3, 50]), size=(n, d)).astype(rng.choice([np.float32, np.float64]))
    for _ in range(d // 3):
        a, b = rng.integers(0, d, 2)
        X[:, a] = X[:, b] if rng.random() < 0.5 else -X[:, b]
    y = rng.integers(0, rng.choice([2, 2, 3]), n)
    if rng.random() < 0.7:
        y = (X[:, rng.integers(0, d)] > 0).astype(int) ^ (X[:, rng.integers(0, d)] > 1) ^ (rng.random(n) < 0.2)
    y[:2] = 0, 1
    if rng.random() < 0.2:
        X[rng.random(X.shape) < 0.1] = np.nan
    prices = [rng.choice(COSTS, d), np.ones(d), np.round(rng.exponential(2, d), 1), rng.random(d)]
    chosen = {
        "budget": float(rng.choice([0.0, 1.0, 2.5, 6.0, 20.0])),
        "costs": prices[int(rng.integers(0, 4))],
        "cost_weight": float(rng.choice([0.0, 0.0, 0.01, 0.1])),
        "pair_branch": bool(rng.random() < 0.85),
        "affordability": str(rng.choice(AFFORDABILITY)),
        "n_bins": int(rng.choice([2, 2, 2, 3, 5])),
    }
    names = {
        "known": [f"x{j}" for j in range(d) if rng.random() < 0.08],
        "unavailable": [f"x{j}" for j in range(d) if rng.random() < 0.08],
    }
    return rng, X, y, chosen, names


@pytest.mark.parametrize("seed", range(60))
def test_episodes_proposals_and_reasons_are_those_of_all_pairs(seed):
    rng, X, y, chosen, names = random_case(seed)
    n, d = X.shape
    dense, found = both(chosen, X, y, spare=int(rng.choice([0, 1, 3, 32])), **names)
    masks = {"known": rng.random((n, d)) < 0.1, "unavailable": rng.random((n, d)) < rng.choice([0.05, 0.6])}
    for options in ({}, masks, {"budget": 9.0, **masks}, {"on_stop": "fallback"}, {"on_stop": "fallback", **masks}):
        expected, run = dense.acquire(X, **options), found.acquire(X, **options)
        for part in ("order", "branch", "mask", "cost"):
            assert getattr(run, part).tobytes() == getattr(expected, part).tobytes(), (options, part)
    mask = rng.random((n, d)) < rng.choice([0.1, 0.5])
    remaining = rng.choice([0.0, 0.5, 1.0, 3.0, 30.0], n)
    for one, other in zip(dense.propose_with_reason(X, mask, remaining), found.propose_with_reason(X, mask, remaining)):
        assert one.tobytes() == other.tobytes()
    codes = dense.codes(X)
    for i in range(0, n, 7):
        blocked = rng.random(d) < 0.2
        state = (mask[i], codes[i], float(remaining[i]), blocked & ~mask[i])
        assert found.rule_.decide(*state) == dense.rule_.decide(*state)
        assert found.rule_.recommend(*state) == dense.rule_.recommend(*state)


@settings(max_examples=60, deadline=None)
@given(coded_tables(max_bins=3, max_classes=3, min_classes=2), st.data())
def test_tables_of_copies_constants_and_complements_are_decided_alike(table, data):
    codes, y, bins = table
    costs = [data.draw(st.sampled_from(COSTS)) for _ in range(codes.shape[1])]
    chosen = {
        "budget": data.draw(st.sampled_from([1.0, 2.5, 6.0])),
        "costs": costs,
        "cost_weight": data.draw(st.sampled_from([0.0, 0.01, 0.2])),
        "affordability": data.draw(st.sampled_from(AFFORDABILITY)),
        "n_bins": bins,
    }
    dense, found = both(chosen, codes.astype(float), y, spare=data.draw(st.sampled_from([0, 1, 32])))
    expected, run = dense.acquire(codes.astype(float)), found.acquire(codes.astype(float))
    assert (run.order.tobytes(), run.branch.tobytes()) == (expected.order.tobytes(), expected.branch.tobytes())


@pytest.mark.parametrize("seed", range(6))
def test_the_decision_graph_is_the_same(seed):
    _, X, y, chosen, names = random_case(seed, d=9)
    dense, found = both(chosen | {"budget": 4.0}, X, y, spare=0, **names)
    assert found.decision_graph(4, 0.0) == dense.decision_graph(4, 0.0)


@pytest.mark.parametrize(("bins", "classes"), [(2, 2), (2, 3), (3, 2), (5, 4)])
def test_rows_counted_from_planes_are_rows_of_the_tables(bins, classes):
    rng = np.random.default_rng(bins)
    codes, y = rng.integers(0, bins, size=(700, 41)).astype(np.uint8), rng.integers(0, classes, 700)
    tables, rows = InformationTables.from_codes(codes, y, bins), PackedRows.from_codes(codes, y, classes, bins)
    assert rows.single().tobytes() == tables.single.tobytes()
    for first, pair, cond in rows.blocks():
        part = slice(first, first + len(pair))
        assert pair.tobytes() == tables.pair[part].tobytes()
        assert cond.tobytes() == np.ascontiguousarray(tables.cond[:, part].transpose(1, 2, 0)).tobytes()
    assert rows.pair_row(17).tobytes() == tables.pair[17].tobytes()
    assert rows.cond_row(17, 1).tobytes() == np.ascontiguousarray(tables.cond[:, 17, 1]).tobytes()


@pytest.mark.parametrize("seed", range(8))
def test_an_entry_is_kept_when_few_better_ones_cost_no_more(seed):
    rng = np.random.default_rng(seed)
    d, most = 30, int(rng.integers(1, 6))
    bits, costs = rng.integers(0, 9, size=(5, d)) / 8, rng.choice([0.0, 1.0, 2.0], d)
    least, own, skip = rng.integers(0, 3, d) / 8, rng.random(5), rng.integers(0, d, 5)
    order, ends = reach._by_price(costs)
    kept, tail = np.zeros((5, d), bool), np.zeros(5)
    keep_best(bits, least, costs, own, 0.05, order, ends, most, skip, kept, tail)
    for i in range(5):
        net = bits[i] - 0.05 * (costs + own[i])
        there = [k for k in range(d) if k != skip[i] and net[k] > 0 and bits[i, k] > least[k]]
        ranked = sorted(there, key=lambda k: (-net[k], k))
        expected = {k for at, k in enumerate(ranked) if sum(costs[x] <= costs[k] for x in ranked[:at]) < most}
        assert set(np.flatnonzero(kept[i]).tolist()) == expected
        assert tail[i] == (net[ranked[most - 1]] if len(ranked) >= most else 0.0)


def wide_policy(n=600, d=300, spare=3, budget=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = ((X[:, 3] > 0) ^ (X[:, 7] > 0) ^ (rng.random(n) < 0.1)).astype(int)
    dense, found = both({"budget": budget, "cost_weight": 0.001}, X, y, spare)
    return X, y, dense, found


def test_a_saved_model_decides_as_the_fitted_one_and_holds_a_fraction_of_it(tmp_path):
    X, _, dense, found = wide_policy()
    dense.save(tmp_path / "dense")
    found.save(tmp_path / "wide")
    assert (tmp_path / "wide").stat().st_size < (tmp_path / "dense").stat().st_size / 15
    loaded = load_model(tmp_path / "wide")
    expected, run = dense.acquire(X), loaded.acquire(X)
    assert run.order.tobytes() == expected.order.tobytes()
    assert run.branch.tobytes() == expected.branch.tobytes()
    assert loaded.decision_graph() == dense.decision_graph()
    observed = {"x3": 1.5, "x8": -0.2}
    answer = loaded.next_feature(observed)
    assert replace(answer, note="") == dense.next_feature(observed)
    assert load_rule(tmp_path / "wide").next_feature(observed) == answer
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "wide").read_bytes()


def test_what_is_kept_is_said_in_the_file_in_answers_and_when_it_does_not_suffice(tmp_path):
    X, _, dense, found = wide_policy()
    found.save(tmp_path / "wide")
    kind, _, meta = read_any(tmp_path / "wide")
    sentence = "keeps those that decisions can reach while at most 7 features are known or cannot be had."
    assert (kind, meta["reach"]) == ("wide-policy", 7)
    assert meta["kept"].endswith(sentence)
    assert load_bedside(tmp_path / "wide").next_feature().text.endswith(sentence)
    many = {f"x{j}": 0.0 for j in range(8)}
    loaded = load_model(tmp_path / "wide")
    with pytest.raises(SynafaError, match=r"at most 7 features are known .* Here it is 8; ask the fitted policy"):
        loaded.next_feature(many, remaining=2)
    with pytest.raises(SynafaError, match="Here it is 300"):
        loaded.acquire(X[:3], known=np.ones((3, 300), bool))
    assert found.next_feature(many, remaining=2) == dense.next_feature(many, remaining=2)
    with pytest.raises(SynafaError, match="pair of all pairs is not kept"):
        _ = found.tables_.pair
    with pytest.raises(SynafaError, match="the atoms of all pairs"):
        found.tables_.pid()
    with pytest.raises(SynafaError, match="fit the policy again"):
        loaded.rule_.with_cost_weight(0.5)


def test_another_cost_weight_is_another_choice(tmp_path):
    X, y, _, found = wide_policy()
    with narrow_limits():
        again = SynAFA(4, cost_weight=0.02).fit(X, y)
    found.rule_ = found.rule_.with_cost_weight(0.02)
    assert found.acquire(X).order.tobytes() == again.acquire(X).order.tobytes()


def test_a_classifier_around_a_wide_policy_is_saved_and_read_back(tmp_path):
    X, y, _, _ = wide_policy(n=200, d=12)
    with narrow_limits():
        model = AcquisitionClassifier(SynAFA(budget=3)).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert isinstance(loaded.policy_.rule_, WideRule)
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert (
        load_bedside(tmp_path / "model").next_feature().recommendation.feature
        == model.next_feature().recommendation.feature
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda arrays, meta: arrays.update(pair_first=arrays["pair_second"]), "are not pairs of features"),
        (lambda arrays, meta: arrays.update(pair_second=arrays["pair_second"] + 300), "are not pairs of features"),
        (lambda arrays, meta: arrays.update(pair_bits=arrays["pair_bits"][::-1].copy()), "order of their scores"),
        (lambda arrays, meta: arrays.update(pair_bits=arrays["pair_bits"] * 0), "order of their scores"),
        (lambda arrays, meta: arrays.update(cond_start=arrays["cond_start"][:-1]), "'cond_start' does not fit"),
        (lambda arrays, meta: arrays.update(cond_start=arrays["cond_start"] + 1), "'cond_start' does not ascend"),
        (lambda arrays, meta: arrays.update(cond_feature=arrays["cond_feature"] * 0), "ascending order"),
        (lambda arrays, meta: arrays.update(cond_feature=arrays["cond_feature"] + 300), "ascending order"),
        (lambda arrays, meta: arrays.update(cond_bits=arrays["cond_bits"] * np.nan), "not a finite number"),
        (lambda arrays, meta: arrays.pop("cond_bits"), "lacks 'cond_bits'"),
        (lambda arrays, meta: arrays.update(pair=np.zeros((300, 300))), "'pair' is no part"),
        (lambda arrays, meta: meta.update(reach=301), "'reach' exceeds"),
        (lambda arrays, meta: meta.update(reach=-1), "'reach' must be from 0"),
        (lambda arrays, meta: meta.pop("kept"), "lacks 'kept'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_a_sentence(tmp_path, change, said):
    found = wide_policy(n=200)[3]
    arrays, meta = found.to_arrays()
    change(arrays, meta)
    write_file(tmp_path / "wrong", "wide-policy", arrays, meta)
    for load in (load_model, load_bedside, load_rule):
        with pytest.raises(SynafaError, match=said) as raised:
            load(tmp_path / "wrong")
        assert "fit and save the model again" in str(raised.value)


def test_fewer_entries_than_wanted_shorten_the_reach_and_decide_the_same(monkeypatch):
    X, y, dense, found = wide_policy()
    monkeypatch.setattr(reach, "MOST_ENTRIES", 2_000)
    with narrow_limits():
        small = SynAFA(4, cost_weight=0.001).fit(X, y)
    assert small.rule_.kept.reach < found.rule_.kept.reach
    assert small.acquire(X[:40]).order.tobytes() == dense.acquire(X[:40]).order.tobytes()


def test_costs_that_leave_too_much_to_keep_are_refused_in_a_sentence(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2_000)
    X = (y[:, None] ^ (rng.random((2_000, 60)) < np.linspace(0.45, 0.1, 60))).astype(float)  # the dearer, the better
    monkeypatch.setattr(reach, "MOST_ENTRIES", 300)
    with narrow_limits(), pytest.raises(SynafaError, match="too many different costs"):
        SynAFA(4, costs=np.arange(1.0, 61.0), cost_weight=0.0).fit(X, y)
    with narrow_limits():
        SynAFA(4, costs=np.ones(60), cost_weight=0.0).fit(X, y)


def test_a_table_is_wide_where_all_pairs_would_take_more_than_a_gibibyte():
    assert not wide.is_wide(3_000, 2, 2)
    assert wide.is_wide(5_000, 2, 2)
    assert wide.is_wide(1_500, 5, 4)


def test_progress_is_told_while_pairs_are_counted():
    X, y, _, _ = wide_policy(n=100, d=40)
    told = []
    with narrow_limits(block=1):
        SynAFA().fit(X, y, progress=lambda share, text: told.append((share, text)))
    assert told[-1] == (1.0, "pairs of 40 features")
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    assert len(told) == 5
