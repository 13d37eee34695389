"""JAFA takes what decides, adapts to what it sees, plans for a pair, and loses all that on a permuted target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from synafa.baselines.jafa import JAFA, PROFILES
from tests.baselines import acquisition_tasks as tasks

pytestmark = pytest.mark.slow  # every test trains a network

QUICK = PROFILES["quick"]


@pytest.fixture(scope="module")
def branching() -> JAFA:
    return JAFA().fit(tasks.branch(), 2, QUICK, seed=0)


def test_the_deciding_feature_is_taken_first() -> None:
    task = tasks.decisive()
    order, mask = tasks.spend(JAFA().fit(task, 2, QUICK, seed=0), task, 2)
    assert (order[:, 0] == 3).mean() > 0.95
    assert (mask.sum(1) == 2).all(), "a hard budget is spent"


def test_it_beats_every_fixed_pair_by_adapting(branching: JAFA) -> None:
    task = tasks.branch()
    order, mask = tasks.spend(branching, task, 2)
    assert (order[:, 0] == 0).all()
    assert tasks.accuracy(branching, task, mask) > 0.9, "no fixed pair exceeds 0.75"


def test_a_permuted_target_destroys_the_advantage() -> None:
    task = tasks.branch(permuted=True)
    policy = JAFA().fit(task, 2, QUICK, seed=0)
    assert tasks.accuracy(policy, task, tasks.spend(policy, task, 2)[1]) < 0.4


def test_it_finds_an_xor_pair_among_noise() -> None:
    task = tasks.xor()
    policy = JAFA().fit(task, 2, QUICK, seed=0)
    _, mask = tasks.spend(policy, task, 2)
    assert mask[:, [1, 3]].all(1).mean() > 0.9
    assert tasks.accuracy(policy, task, mask) > 0.9


def test_stored_and_loaded_it_proposes_the_same(branching: JAFA) -> None:
    task = tasks.branch()
    again = JAFA.from_state(*branching.state())
    assert np.array_equal(tasks.spend(branching, task, 4)[0], tasks.spend(again, task, 4)[0])


def test_the_seed_decides_everything_and_costs_bind() -> None:
    task = tasks.decisive(costs=[1, 1, 1, 3, 0.5, 0.5])
    short = replace(QUICK, batches=20, pretrain_batches=20)
    one, two = (JAFA().fit(task, 2, short, seed=5) for _ in range(2))
    for name, array in one.state()[0].items():
        assert np.array_equal(array, two.state()[0][name]), name
    _, mask = tasks.spend(one, task, 2)
    assert not mask[:, 3].any(), "it cannot be afforded"
    spent = mask @ task.costs
    assert (spent <= 2).all()
    cheapest_hidden = np.where(mask, np.inf, task.costs).min(1)
    assert (spent + cheapest_hidden > 2).all(), "something affordable was left"
