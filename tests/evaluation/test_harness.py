"""The hard-budget harness: the batched run is the row-by-row run, and the budget's rules hold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError
from synafa.evaluation import ENDINGS, Run, run_policy
from tests.evaluation.naive_harness import naive_episode


def make_dataset(n=40, d=6, costs=None, groups=(), seed=0, budgets=(2.0, 4.0)):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(np.int64)
    rows = np.arange(n)
    return Dataset(
        name="toy",
        instance=0,
        X=X,
        y=y,
        feature_names=tuple(f"f{j}" for j in range(d)),
        costs=np.ones(d) if costs is None else np.asarray(costs, dtype=np.float64),
        budgets=budgets,
        train=rows[: n // 2],
        validation=rows[n // 2 : 3 * n // 4],
        test=rows[3 * n // 4 :],
        source="drawn for a test",
        groups=groups,
    )


class Hashed:
    """Looks at the values, the mask and, if asked to, the remaining budget; sometimes stops."""

    def __init__(self, seed, stop_rate, uses_remaining):
        self.seed, self.stop_rate, self.uses_remaining = seed, stop_rate, uses_remaining

    def propose(self, values, mask, remaining):
        d = mask.shape[1]
        weights = np.random.default_rng(self.seed).normal(size=(d, d))
        state = np.sin(values.astype(np.float64) @ weights + mask @ weights.T)
        if self.uses_remaining:
            state = state + np.cos(remaining)[:, None] * weights[0]
        choice = np.where(mask, -np.inf, state).argmax(axis=1)
        stop = np.abs(np.sin(37 * state.sum(axis=1))) < self.stop_rate
        return np.where(stop, -1, choice)


class InOrder:
    uses_remaining = False
    name = "in-order"

    def __init__(self, order, stop_after=None):
        self.order, self.stop_after = order, stop_after

    def propose(self, values, mask, remaining):
        choice = np.array([next((j for j in self.order if not known[j]), -1) for known in mask])
        return choice if self.stop_after is None else np.where(mask.sum(axis=1) >= self.stop_after, -1, choice)


class KnownShare:
    """A classifier that reports how much it was shown, to see what it was called with."""

    def predict_proba(self, values, mask):
        assert not values[~mask].any()
        share = mask.mean(axis=1) * 0.5 + 0.25 * np.tanh(values.sum(axis=1))
        return np.column_stack([1 - share, share]).astype(np.float32)


@st.composite
def situations(draw):
    d = draw(st.integers(1, 7))
    costs = draw(st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0, 2.0, 5.0]), min_size=d, max_size=d))
    features = draw(st.permutations(range(d)))
    size = draw(st.integers(0, d))
    groups = (tuple(sorted(features[:size])),) if size > 1 else ()
    dataset = make_dataset(n=24, d=d, costs=costs, groups=groups, seed=draw(st.integers(0, 99)))
    policy = Hashed(draw(st.integers(0, 99)), draw(st.sampled_from([0.0, 0.3, 0.8])), draw(st.booleans()))
    return dataset, policy, draw(st.sampled_from([0.0, 0.3, 1.0, 1.5, 3.0, 7.1, 50.0])), draw(st.booleans())


@settings(max_examples=150, deadline=None)
@given(situations(), st.integers(1, 30))
def test_the_batched_run_is_the_row_by_row_run(situation, batch_rows):
    dataset, policy, budget, forced = situation
    rows = np.arange(24)[::-1]
    episodes = run_policy(policy, dataset, rows, budget, KnownShare(), forced=forced, batch_rows=batch_rows)
    for i, row in enumerate(rows):
        features, reasons, costs, known, ending = naive_episode(policy, dataset, row, budget, forced)
        steps = len(features)
        assert episodes.order[i].tolist() == features + [-1] * (episodes.n_steps - steps)
        assert [episodes.branch_names[r] for r in episodes.branch[i, :steps]] == reasons
        assert (episodes.branch[i, steps:] == -1).all()
        assert episodes.step_cost[i, :steps].tolist() == costs
        assert np.nonzero(episodes.mask[i])[0].tolist() == known
        assert ENDINGS[episodes.ending[i]] == ending
        assert episodes.used_fallback[i] == ("fallback" in reasons)
    assert (episodes.cost <= budget + 1e-9).all()
    mask = episodes.mask
    final = KnownShare().predict_proba(np.where(mask, dataset.X[rows], 0), mask)
    assert np.array_equal(episodes.final_probabilities, final)


@settings(max_examples=100, deadline=None)
@given(situations(), st.sampled_from([0.0, 0.3, 1.0, 2.0, 2.9]))
def test_a_prefix_is_the_run_at_the_smaller_budget(situation, smaller):
    dataset, policy, budget, forced = situation
    policy.uses_remaining = False
    large = run_policy(policy, dataset, np.arange(24), budget + smaller, KnownShare(), forced=forced)
    prefix, small = large.at(smaller), run_policy(policy, dataset, np.arange(24), smaller, KnownShare(), forced=forced)
    for name in ("order", "branch", "step_cost", "cost", "ending", "probabilities"):
        assert np.array_equal(getattr(prefix, name), getattr(small, name)), name
    assert np.array_equal(large.at(smaller).mask, small.mask)


def test_a_stop_becomes_the_lowest_hidden_feature_only_in_the_corrected_harness():
    dataset = make_dataset(d=4)
    stops = InOrder([2, 1], stop_after=1)
    forced = run_policy(stops, dataset, "test", 3)
    assert (forced.order == [2, 0, 1]).all()
    assert [forced.branch_names[r] for r in forced.branch[0]] == ["policy", "fallback", "fallback"]
    left = run_policy(stops, dataset, "test", 3, forced=False)
    assert (left.order == [[2]]).all()
    assert (left.ending == ENDINGS.index("stop")).all()


def test_an_unaffordable_choice_ends_the_episode_though_cheaper_features_remain():
    dataset = make_dataset(d=3, costs=[1, 5, 1])
    episodes = run_policy(InOrder([0, 1, 2]), dataset, "test", 3)
    assert (episodes.order == [[0]]).all()
    assert (episodes.ending == ENDINGS.index("unaffordable")).all()


def test_an_unaffordable_fallback_ends_the_episode_too():
    dataset = make_dataset(d=3, costs=[5, 1, 1])
    episodes = run_policy(InOrder([1], stop_after=1), dataset, "test", 3)
    assert (episodes.order == [[1]]).all()


def test_ten_tenths_fit_a_budget_of_one():
    dataset = make_dataset(d=12, costs=[0.1] * 12)
    assert run_policy(InOrder(range(12)), dataset, "test", 1.0).n_steps == 10


def test_a_group_is_revealed_for_the_cost_of_the_one_asked_for():
    dataset = make_dataset(d=5, costs=[1, 2, 3, 1, 1], groups=((0, 2, 4),))
    episodes = run_policy(InOrder([2, 1, 3]), dataset, "test", 3)
    assert (episodes.mask == [True, False, True, False, True]).all()
    assert (episodes.cost == 3).all()


class Returns:
    name = "careless"

    def __init__(self, answer):
        self.answer = answer

    def propose(self, values, mask, remaining):
        return np.full(len(mask), self.answer)


def test_a_known_or_missing_feature_is_an_error_that_names_policy_and_feature():
    dataset = make_dataset(d=3)
    with pytest.raises(SynafaError, match=r"'careless' proposed feature 1 \('f1'\), which is already known"):
        run_policy(Returns(1), dataset, "test", 3)
    for outside in (3, -2):
        with pytest.raises(SynafaError, match=f"'careless' proposed feature {outside}, which does not exist"):
            run_policy(Returns(outside), dataset, "test", 3)
    with pytest.raises(SynafaError, match="one integer per row"):
        run_policy(Returns(0.5), dataset, "test", 3)
    with pytest.raises(SynafaError, match="`budget`"):
        run_policy(Returns(0), dataset, "test", float("nan"))
    with pytest.raises(SynafaError, match="one of train, validation, test"):
        run_policy(Returns(0), dataset, "tset", 1)


class Reasoned(InOrder):
    reason_names = ("single", "pair")

    def propose_with_reason(self, values, mask, remaining):
        choice = self.propose(values, mask, remaining)
        return choice, (choice % 2).astype(np.int8)


def test_a_policys_own_reasons_are_recorded_beside_the_fallback():
    episodes = run_policy(Reasoned([1, 0], stop_after=2), make_dataset(d=4), "test", 3)
    assert episodes.branch_names == ("single", "pair", "fallback")
    assert (episodes.branch == [1, 0, 2]).all()


class Scribbler(InOrder):
    def propose(self, values, mask, remaining):
        choice = super().propose(values, mask, remaining)
        mask[:], values[:], remaining[:] = True, 7, 1e9
        return choice


def test_a_policy_that_scribbles_on_its_input_gains_nothing():
    dataset = make_dataset(d=4)
    honest, cheat = (run_policy(kind(range(4)), dataset, "test", 2, KnownShare()) for kind in (InOrder, Scribbler))
    assert np.array_equal(honest.order, cheat.order)
    assert np.array_equal(honest.probabilities, cheat.probabilities)


def test_a_prefix_is_refused_where_the_policy_looks_at_the_budget():
    episodes = run_policy(Hashed(0, 0, True), make_dataset(), "test", 4)
    with pytest.raises(SynafaError, match="may look at the remaining budget"):
        episodes.at(2)
    with pytest.raises(SynafaError, match="larger budget"):
        episodes.at(5)


def test_the_frame_has_one_line_per_row_and_step_and_adds_up():
    dataset = make_dataset(d=5, costs=[1, 2, 1, 1, 3])
    episodes = run_policy(Hashed(3, 0.3, True), dataset, "test", 4, KnownShare())
    frame = episodes.to_frame()
    taken = (episodes.order >= 0).sum()
    assert len(frame) == episodes.n_rows + taken
    assert frame.filter(pl.col("step") == 0)["feature"].null_count() == episodes.n_rows
    assert frame.filter(pl.col("step") > 0)["feature"].null_count() == 0
    ends = frame.filter("last")
    assert ends["row"].to_list() == dataset.test.tolist()
    assert np.allclose(ends["spent"], episodes.cost)
    assert np.array_equal(ends["p_1"].to_numpy(), episodes.final_probabilities[:, 1])


@pytest.mark.parametrize("classifier", [None, KnownShare()])
def test_episodes_survive_a_file(tmp_path, classifier):
    dataset = make_dataset(d=5, groups=((1, 3),))
    episodes = run_policy(Hashed(3, 0.3, False), dataset, "test", 4, classifier)
    episodes.save(tmp_path / "run.safetensors")
    again = Run.load(tmp_path / "run.safetensors")
    assert again.to_frame().equals(episodes.to_frame())
    assert np.array_equal(again.at(2).mask, episodes.at(2).mask)
    assert (again.groups, again.forced, again.uses_remaining) == (dataset.groups, True, False)


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "run.safetensors").write_bytes(b"no")
    with pytest.raises(SynafaError, match=r"run\.safetensors' is not a synafa file"):
        Run.load(tmp_path / "run.safetensors")


def test_no_rows_and_no_budget_give_empty_episodes():
    dataset = make_dataset()
    assert run_policy(InOrder([0]), dataset, np.array([], dtype=np.int64), 3, KnownShare()).order.shape == (0, 0)
    nothing = run_policy(InOrder([0]), dataset, "test", 0, KnownShare())
    assert nothing.order.shape == (nothing.n_rows, 0)
    assert nothing.probabilities.shape == (nothing.n_rows, 1, 2)
