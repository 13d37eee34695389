"""The reference policies: what they rank by, and that random means random for each row."""

from __future__ import annotations

import numpy as np
import pytest

from synafa.errors import SynafaError
from synafa.evaluation import run_policy
from synafa.evaluation.reference import RandomPolicy, StaticPolicy, all_features, static_pair, static_single
from tests.evaluation.test_harness import make_dataset


def test_a_random_order_belongs_to_the_row_whatever_the_batch():
    dataset = make_dataset(n=200, d=6)
    rows = np.arange(200)
    together = run_policy(RandomPolicy(3), dataset, rows, 4)
    apart = run_policy(RandomPolicy(3), dataset, rows, 4, batch_rows=7)
    backwards = run_policy(RandomPolicy(3), dataset, rows[::-1], 4)
    assert np.array_equal(together.order, apart.order)
    assert np.array_equal(together.order, backwards.order[::-1])
    assert not np.array_equal(together.order, run_policy(RandomPolicy(4), dataset, rows, 4).order)


def test_random_orders_are_uniform():
    dataset = make_dataset(n=6000, d=3)
    episodes = run_policy(RandomPolicy(0), dataset, np.arange(6000), 3)
    orders, counts = np.unique(episodes.order, axis=0, return_counts=True)
    assert len(orders) == 6
    # 6,000 rows over 6 orders: chi-square with 5 degrees of freedom, 0.999 quantile
    assert ((counts - 1000) ** 2 / 1000).sum() < 20.5


def test_static_single_ranks_by_information_and_breaks_ties_by_index():
    assert static_single(np.array([0.1, 0.3, 0.1, 0.2])).order.tolist() == [1, 3, 0, 2]
    dear = static_single(np.array([0.1, 0.3, 0.1]), costs=np.array([1, 30, 1]))
    assert dear.order.tolist() == [0, 2, 1]


def test_every_row_acquires_the_same_set_under_a_static_order():
    dataset = make_dataset(d=6)
    episodes = run_policy(StaticPolicy(np.array([4, 2, 0, 1, 3, 5])), dataset, "test", 3)
    assert (episodes.order == [4, 2, 0]).all()
    with pytest.raises(SynafaError, match="every feature index once"):
        StaticPolicy(np.array([0, 0, 1]))


def test_static_pair_finds_a_synergistic_pair_that_static_single_misses():
    # 2 and 3 tell nothing alone and 0.9 bits together; 0 and 1 tell 0.1 bits each
    single = np.array([0.1, 0.1, 0.0, 0.0])
    pair = np.maximum(single[:, None], single[None, :])
    pair[0, 1] = pair[1, 0] = 0.2
    pair[2, 3] = pair[3, 2] = 0.9
    assert static_pair(single, pair).order.tolist() == [2, 3, 0, 1]
    assert static_single(single).order.tolist() == [0, 1, 2, 3]


def test_static_pair_sees_that_a_copy_adds_nothing_but_scores_it_by_its_single_value():
    # the rule takes the maximum of single and conditional score, so a copy keeps its single value
    single = np.array([0.3, 0.3, 0.2])
    pair = np.array([[0.3, 0.3, 0.5], [0.3, 0.3, 0.5], [0.5, 0.5, 0.2]])
    assert static_pair(single, pair).order.tolist() == [0, 1, 2]


def naive_static_pair(single, pair, costs, weight):
    order, d = [], len(single)
    while len(order) < d:
        hidden = [j for j in range(d) if j not in order]
        best, value = None, 0.0
        for j in hidden:
            score = max([single[j]] + [pair[j, k] - single[k] for k in order]) - weight * costs[j]
            if score > value:
                best, value = j, score
        for j in hidden:
            for k in hidden:
                if j < k and pair[j, k] - weight * costs[j] - weight * costs[k] > value:
                    value = pair[j, k] - weight * costs[j] - weight * costs[k]
                    best = j if single[j] >= single[k] else k
        if best is None:
            return order + hidden
        order.append(best)
    return order


@pytest.mark.parametrize("seed", range(40))
def test_static_pair_is_the_rule_written_out(seed):
    rng = np.random.default_rng(seed)
    d = 7
    single = np.round(rng.random(d) * 0.04, 2)
    pair = np.maximum(single[:, None], single) + np.round(np.triu(rng.random((d, d)), 1) * 0.05, 2)
    pair = np.triu(pair, 1) + np.triu(pair, 1).T + np.diag(single)
    costs = rng.integers(1, 4, size=d).astype(float)
    assert static_pair(single, pair, costs, 0.015).order.tolist() == naive_static_pair(single, pair, costs, 0.015)


def test_all_features_acquires_everything():
    episodes = run_policy(all_features(5), make_dataset(d=5), "test", np.inf)
    assert episodes.mask.all()
