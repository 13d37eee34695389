"""OL, both variants: what it learns, what its dropout passes compute, and that acting uses no dropout."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from synafa.baselines.ol import OL, PROFILES, PNetwork, q_widths
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


def test_the_joint_dropout_passes_equal_passes_one_by_one() -> None:
    torch.manual_seed(0)
    network = PNetwork(7, (6, 5, 4), 3, dropout=0.5)
    inputs = torch.randn(70, 7)
    draws: list[torch.Tensor] = []
    draw = network._draw
    network._draw = lambda passes, width: draws.append(draw(passes, width)) or draws[-1]  # type: ignore[method-assign]
    fast = network.dropout_mean(inputs, 50)
    slow = torch.zeros(70, 3)
    with torch.no_grad():
        for i in range(50):
            out = inputs
            for layer, keep in zip(network.layers[:-1], draws):
                out = torch.relu(layer(out) * keep[i])
            slow += torch.softmax(network.layers[-1](out), dim=1) / 50
    assert torch.allclose(fast, slow, atol=1e-5)


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
