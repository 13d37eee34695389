"""ODIN, model-based and model-free: what it learns and that acting draws nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from synafa.baselines.common import rows_of
from synafa.baselines.layers import as_one_vector
from synafa.baselines.odin import ODIN, PROFILES, set_gradients, with_synthetic
from synafa.baselines.odin import _Network as Network
from tests.baselines import acquisition_tasks as tasks

pytestmark = pytest.mark.slow  # every test trains a network

QUICK = PROFILES["quick"]


@pytest.fixture(scope="module")
def task() -> Any:
    return tasks.branch()


@pytest.fixture(scope="module", params=[True, False], ids=["model-based", "model-free"])
def policy(task: Any, request: pytest.FixtureRequest) -> ODIN:
    return ODIN().fit(task, 2, replace(QUICK, model_based=request.param), seed=0)


def test_the_deciding_feature_is_taken_first() -> None:
    one = tasks.decisive()
    order, mask = tasks.spend(ODIN().fit(one, 2, replace(QUICK, model_based=False), seed=0), one, 2)
    assert (order[:, 0] == 3).mean() > 0.95
    assert (mask.sum(1) == 2).all()


def test_it_beats_every_fixed_pair_by_adapting(task: Any, policy: ODIN) -> None:
    order, mask = tasks.spend(policy, task, 2)
    assert (order[:, 0] == 0).all()
    assert tasks.accuracy(policy, task, mask) > 0.9


@pytest.mark.parametrize("model_based", [True, False])
def test_a_permuted_target_destroys_the_advantage(model_based: bool) -> None:
    noise = tasks.branch(permuted=True)
    blind = ODIN().fit(noise, 2, replace(QUICK, model_based=model_based), seed=0)
    assert tasks.accuracy(blind, noise, tasks.spend(blind, noise, 2)[1]) < 0.4


def test_it_finds_an_xor_pair_among_noise() -> None:
    pair = tasks.xor()
    planned = ODIN().fit(pair, 2, replace(QUICK, model_based=False), seed=0)
    assert tasks.spend(planned, pair, 2)[1][:, [1, 3]].all(1).mean() > 0.9


def test_acting_is_deterministic_and_survives_storage(task: Any, policy: ODIN) -> None:
    order, _ = tasks.spend(policy, task, 4)
    assert np.array_equal(order, tasks.spend(policy, task, 4)[0])
    assert np.array_equal(order, tasks.spend(ODIN.from_state(*policy.state()), task, 4)[0])


def test_the_model_adds_as_many_rows_as_there_are_with_the_classifiers_labels(task: Any, policy: ODIN) -> None:
    rows = rows_of(task)
    x, y = with_synthetic(policy.network_.vae, rows)
    assert len(x) == len(y) == 2 * len(rows.x)
    assert torch.equal(x[: len(rows.x)], rows.x)
    shown = torch.ones_like(x[len(rows.x) :], dtype=torch.bool)
    read = policy.network_.logits(x[len(rows.x) :], shown).argmax(1)
    assert (read == y[len(rows.x) :]).float().mean() > 0.7, "label and decoded features tell the same class"


def test_the_seed_decides_everything_and_costs_bind(task: Any) -> None:
    priced = tasks.decisive(costs=[1, 1, 1, 3, 0.5, 0.5])
    tiny = replace(QUICK, max_batches=10, batches=10)
    one, two = (ODIN().fit(priced, 2, tiny, seed=5) for _ in range(2))
    assert all(np.array_equal(array, two.state()[0][name]) for name, array in one.state()[0].items())
    _, mask = tasks.spend(one, priced, 2)
    spent = mask @ priced.costs
    assert not mask[:, 3].any()
    assert (spent + np.where(mask, np.inf, priced.costs).min(1) > 2).all()


def test_the_written_out_gradient_is_that_of_autograd() -> None:
    torch.manual_seed(0)
    network, n = Network(QUICK, 7, 2), 200
    heads = nn.ModuleList([network.policy, network.value])
    state, allowed = 2 * torch.randn(n, QUICK.latent), torch.rand(n, 7) < 0.6
    allowed[:, 2] = True
    action = torch.rand(n, 7).masked_fill(~allowed, -1.0).argmax(1)
    old, gain, goal = 0.4 * torch.randn(n) - 1.5, torch.randn(n), 2 * torch.randn(n)
    log_p = network.log_policy(state, allowed)
    ratio = (log_p.gather(1, action[:, None])[:, 0] - old).exp()
    surrogate = torch.min(ratio * gain, ratio.clamp(1 - QUICK.clip, 1 + QUICK.clip) * gain).mean()
    entropy = -(log_p.exp() * log_p).sum(1).mean()
    critic = nn.functional.smooth_l1_loss(network.value(state)[:, 0], goal)
    loss = critic - surrogate - QUICK.entropy * entropy
    expected = torch.autograd.grad(loss, list(heads.parameters()))
    as_one_vector(heads)
    with torch.no_grad():
        set_gradients(network, QUICK, state, allowed, action, old, gain, goal)
    for fast, slow in zip(heads.parameters(), expected):
        assert torch.allclose(fast.grad, slow, rtol=1e-3, atol=1e-6)
