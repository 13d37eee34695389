"""OL, both variants: what it learns, what its dropout passes compute, and that acting uses no dropout."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from synafa.baselines.common import Rows, weighted_loss
from synafa.baselines.layers import as_one_vector
from synafa.baselines.ol import OL, PROFILES, PNetwork, Written, _Learner, _Network, q_widths
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

pytestmark = pytest.mark.slow

QUICK = PROFILES["quick"]
VARIANTS = pytest.mark.parametrize("with_mask", [True, False])


@pytest.fixture(scope="module", params=[True, False], ids=["with mask", "without mask"])
def branching(request: pytest.FixtureRequest) -> OL:
    return OL().fit(tasks.branch(), 2, replace(QUICK, with_mask=request.param), seed=0)


@pytest.mark.slow
@VARIANTS
def test_the_deciding_feature_is_taken_first(with_mask: bool) -> None:
    task = tasks.decisive()
    order, mask = tasks.spend(OL().fit(task, 2, replace(QUICK, with_mask=with_mask), seed=0), task, 2)
    assert (order[:, 0] == 3).mean() > 0.95
    assert (mask.sum(1) == 2).all()


@pytest.mark.slow
def test_it_beats_every_fixed_pair_by_adapting(branching: OL) -> None:
    task = tasks.branch()
    order, mask = tasks.spend(branching, task, 2)
    assert (order[:, 0] == 0).all()
    assert tasks.accuracy(branching, task, mask) > 0.9, "no fixed pair exceeds 0.75"


@pytest.mark.slow
@VARIANTS
def test_a_permuted_target_destroys_the_advantage(with_mask: bool) -> None:
    task = tasks.branch(permuted=True)
    policy = OL().fit(task, 2, replace(QUICK, with_mask=with_mask), seed=0)
    assert tasks.accuracy(policy, task, tasks.spend(policy, task, 2)[1]) < 0.4


@pytest.mark.slow
@VARIANTS
def test_it_finds_an_xor_pair_among_noise(with_mask: bool) -> None:
    task = tasks.xor()
    policy = OL().fit(task, 2, replace(QUICK, with_mask=with_mask), seed=0)
    assert tasks.spend(policy, task, 2)[1][:, [1, 3]].all(1).mean() > 0.9


@pytest.mark.slow
def test_acting_uses_no_dropout(branching: OL) -> None:
    task = tasks.branch()
    X = task.X[task.test]
    mask = np.random.default_rng(0).random(X.shape) < 0.4
    values, known = torch.from_numpy(X) * torch.from_numpy(mask), torch.from_numpy(mask)
    branching.network_.train()  # even so: the Q-network never reads a dropped activation
    first, second = branching.scores(values, known), branching.scores(values, known)
    branching.network_.eval()
    assert torch.equal(first, second)
    assert torch.equal(first, branching.scores(values, known))


@pytest.mark.slow
def test_of_two_copies_the_cheaper_is_taken_first() -> None:
    task = tasks.decisive(costs=[1, 1, 1, 4, 1, 1])
    task.X[:, 0] = task.X[:, 3]
    order, _ = tasks.spend(OL().fit(task, 6, QUICK, seed=0), task, 6)
    assert (order[:, 0] == 0).mean() > 0.95


@pytest.mark.parametrize(
    ("hidden", "n", "dropped"),
    [
        pytest.param((6, 5, 4), 70, 0.5, id="small"),
        pytest.param((19, 9, 8, 5), 900, 0.5, id="four layers, more rows than a block"),
        pytest.param((6, 5, 4), 1, 0.9, id="passes that keep nothing"),
        pytest.param((6, 5), 70, 0.0, id="no dropout"),
    ],
)
def test_the_joint_dropout_passes_equal_passes_one_by_one(hidden: tuple[int, ...], n: int, dropped: float) -> None:
    torch.manual_seed(0)
    network = PNetwork(7, hidden, 3, dropout=dropped)
    inputs = torch.randn(n, 7)
    draws: list[torch.Tensor] = []
    draw = network._draw
    network._draw = lambda passes, width: draws.append(draw(passes, width)) or draws[-1]  # type: ignore[method-assign]
    fast = network.dropout_mean(inputs, 50)
    slow = torch.zeros(n, 3)
    with torch.no_grad():
        for i in range(50):
            out = inputs
            for layer, keep in zip(network.layers[:-1], draws):
                out = torch.relu(layer(out) * keep[i])
            slow += torch.softmax(network.layers[-1](out), dim=1) / 50
    assert torch.allclose(fast, slow, atol=1e-5)


def a_network(with_mask: bool, hidden: tuple[int, ...] = (9, 7, 5)) -> _Network:
    """A network of six features and three classes, its parameters two vectors with gradients."""
    torch.manual_seed(1)
    network = _Network(replace(QUICK, with_mask=with_mask, hidden=hidden), 6, 3)
    as_one_vector(network.p)
    as_one_vector(network.q)
    return network


def by_autograd(network: torch.nn.Module, loss: torch.Tensor) -> list[torch.Tensor]:
    return list(torch.autograd.grad(loss, list(network.parameters())))


def assert_gradients(network: torch.nn.Module, expected: list[torch.Tensor]) -> None:
    assert any(gradient.abs().max() > 1e-4 for gradient in expected)
    for parameter, gradient in zip(network.parameters(), expected, strict=True):
        assert parameter.grad is not None
        assert torch.allclose(parameter.grad, gradient, rtol=1e-4, atol=1e-6)


@VARIANTS
@pytest.mark.parametrize("hidden", [(9, 7, 5), (9, 8, 7, 5)])
def test_the_predictors_gradient_is_that_of_autograd(with_mask: bool, hidden: tuple[int, ...]) -> None:
    network = a_network(with_mask, hidden).train()
    mask = torch.rand(50, 6) < 0.5
    values, y, weights = torch.randn(50, 6) * mask, torch.randint(3, (50,)), torch.tensor([0.2, 0.5, 0.3])
    torch.manual_seed(2)
    expected = by_autograd(network.p, weighted_loss(network.logits(values, mask), y, weights))
    torch.manual_seed(2)  # the same units are dropped
    with torch.no_grad():
        Written(network).set_p(network.inputs(values, mask), y, weights)
    assert_gradients(network.p, expected)


@VARIANTS
@pytest.mark.parametrize("groups", [False, True])
def test_the_action_values_gradient_is_that_of_autograd(with_mask: bool, groups: bool) -> None:
    network, x = a_network(with_mask).eval(), torch.randn(40, 6)
    reveal = torch.block_diag(torch.ones(2, 2), torch.eye(4)) if groups else None
    rows = Rows(x, torch.randint(3, (40,)), x, torch.zeros(40, dtype=torch.int64), torch.ones(6), 3, reveal)
    arena = Arena(x, torch.tensor([1.0, 1.0, 2.0, 1.0, 1.0, 3.0]), 4.0, reveal, parallel=20)
    old = collect(arena, lambda a: epsilon_greedy(network.scores(a.values(), a.mask), a.allowed, 0.5), 4)
    assert old.done.any()
    reward, target = torch.rand(4, 20), target_copy(a_network(with_mask).q)
    torch._foreach_add_(list(target.parameters()), 0.1)

    inputs = network.inputs(x[old.rows] * old.mask, old.mask)
    beside = network.beside(inputs)
    q = network.q(inputs, beside)
    may = affordable(old.mask[1:], old.remaining[1:], arena.costs)
    following = double_q_value(q[1:].detach(), target(inputs[1:], [h[1:] for h in beside]), may)
    returns = lambda_returns(reward, old.done, following, QUICK.trace)
    taken = q[:-1].gather(-1, old.action[..., None]).squeeze(-1)
    expected = by_autograd(network.q, torch.nn.functional.mse_loss(taken, returns))

    learner = _Learner(network, rows, replace(QUICK, with_mask=with_mask), torch.ones(6))
    with torch.no_grad():
        learner._value(old, reward, arena.costs, target)
        values, _ = learner.written.values(inputs.flatten(0, 1))
    assert torch.allclose(values, q.flatten(0, 1), atol=1e-6)
    assert_gradients(network.q, expected)


def test_the_dropout_mean_agrees_with_the_training_mode() -> None:
    torch.manual_seed(0)
    network = PNetwork(7, (16, 8, 4), 3, dropout=0.5).train()
    inputs = torch.randn(1, 7)
    with torch.no_grad():
        naive = torch.softmax(network(inputs.expand(20_000, 7)), dim=1).mean(0)
    assert torch.allclose(network.dropout_mean(inputs, 20_000)[0], naive, atol=0.01)


def test_q_widths_follow_the_published_rule() -> None:
    assert q_widths((64, 32, 16)) == (64, 16, 10)


@pytest.mark.slow
def test_stored_and_loaded_it_proposes_the_same(branching: OL) -> None:
    task = tasks.branch()
    again = OL.from_state(*branching.state())
    assert again.settings_ == branching.settings_
    assert np.array_equal(tasks.spend(branching, task, 4)[0], tasks.spend(again, task, 4)[0])


def test_the_seed_decides_everything() -> None:
    task = tasks.decisive()
    short = replace(QUICK, batches=20, pretrain_batches=20)
    one, two = (OL().fit(task, 2, short, seed=5).state()[0] for _ in range(2))
    for name, array in one.items():
        assert np.array_equal(array, two[name]), name
