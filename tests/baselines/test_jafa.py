"""JAFA takes what decides, adapts to what it sees, plans for a pair, and loses all that on a permuted target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from synafa.baselines.common import rows_of, sample_losses
from synafa.baselines.jafa import JAFA, PROFILES
from synafa.baselines.jafa import _Learner as Learner
from synafa.baselines.jafa import _Network as Network
from synafa.baselines.layers import as_one_vector
from synafa.baselines.rl import (
    Arena,
    affordable,
    collect,
    double_q_value,
    epsilon_greedy,
    lambda_returns,
    target_copy,
)
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


def test_a_batchs_gradient_is_that_of_autograd() -> None:
    """The same frames, encoded again by themselves, through torch's losses."""
    task = tasks.decisive()
    rows = rows_of(task)
    torch.manual_seed(0)
    network, settings = Network(QUICK, rows.n_features, rows.n_classes), QUICK
    target = target_copy(network.q)
    arena = Arena(rows.x, torch.ones(rows.n_features), 2.0, parallel=32)
    generator, episodes = torch.get_rng_state(), arena.state_dict()

    def choose(arena: Arena) -> torch.Tensor:
        return epsilon_greedy(network.q(network.encoder(arena.values(), arena.mask)), arena.allowed, 0.5)

    with torch.no_grad():
        frames = collect(arena, choose, settings.steps)
    reached, index = frames.after.flatten(0, 1), frames.rows[:-1].flatten()
    losses = sample_losses(network.logits(rows.x[index] * reached, reached), rows.y[index], rows.weights())
    reward = torch.where(frames.done, -losses.detach().view(frames.done.shape), 0.0)
    at, mask = frames.rows.flatten(), frames.mask.flatten(0, 1)
    states = network.encoder(rows.x[at] * mask, mask).detach().view(*frames.rows.shape, -1)
    q = network.q(states)
    following = double_q_value(
        q[1:].detach(), target(states[1:]), affordable(frames.mask[1:], frames.remaining[1:], arena.costs)
    )
    returns = lambda_returns(reward, frames.done, following, settings.trace)
    taken = q[:-1].gather(-1, frames.action[..., None]).squeeze(-1)
    loss = losses.mean() + torch.nn.functional.mse_loss(taken, returns)
    expected = torch.autograd.grad(loss, list(network.parameters()))

    as_one_vector(network)
    torch.set_rng_state(generator)
    arena.load_state_dict(episodes)
    Learner(network, rows, settings.trace).set_gradients(arena, target, settings.steps, 0.5)
    assert frames.done.any()
    assert not frames.done.all()
    for (name, fast), slow in zip(network.named_parameters(), expected):
        assert torch.allclose(fast.grad, slow, rtol=1e-3, atol=1e-4 * float(slow.abs().max())), name
