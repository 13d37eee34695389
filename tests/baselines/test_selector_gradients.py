"""The gradients that GDFS, DIME and their predictor are trained with are autograd's of the plain formulas.

An episode depends on draws, so the plain formula takes over what was drawn (features, noise, units that dropped out)
and works the rest out by itself; that the draws are drawn as they should be are statements of their own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from synafa.baselines import dime, gdfs
from synafa.baselines.common import (
    Purse,
    Rows,
    masked_input,
    minus_gumbel,
    rows_of,
    sample_losses,
    weighted_loss,
)
from synafa.baselines.dime_kernels import choices
from synafa.baselines.dropped_layers import DroppedLayers
from synafa.baselines.gdfs_kernels import drawn, relaxed
from synafa.baselines.layers import as_one_vector, linear_layers
from synafa.baselines.predictor import Episodes, set_gradients
from synafa.datasets import load
from tests.baselines.baseline_tasks import task

STEPS, BUDGET, DROPOUT = 4, 6.0, 0.3
COSTS = np.array([1.0, 3.0, 2.0, 1.0, 0.5, 4.0, 2.5, 1.5])


def concrete(logits: Tensor, temperature: float) -> Tensor:
    """A relaxed one-hot draw from the Concrete distribution over the last dimension.

    softmax((logits + g) / tau), with Gumbel noise g.
    """
    return torch.softmax((logits - minus_gumbel(logits.shape)) / temperature, dim=-1)


def some_rows(classes: int = 2, costs: str = "equal", groups: bool = False) -> Rows:
    """Rows of eight features and uneven classes; in groups, the first three come together and so do the next two."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(900, 8))
    y = rng.choice(classes, size=900, p=np.arange(1, classes + 1) / np.arange(1, classes + 1).sum())
    data = task(X, y, costs=COSTS if costs == "uneven" else None)
    return rows_of(replace(data, groups=((0, 1, 2), (3, 4))) if groups else data)


CASES = pytest.mark.parametrize(
    "rows",
    [
        pytest.param(some_rows(2), id="2 classes"),
        pytest.param(some_rows(8), id="8 classes"),
        pytest.param(some_rows(2, "uneven"), id="2 classes, costs"),
        pytest.param(some_rows(8, "uneven", True), id="8 classes, costs, groups"),
        pytest.param(some_rows(2, groups=True), id="2 classes, groups"),
    ],
)


def made(module, rows: Rows, dropout: float, faithful: bool = False, n: int = 60):
    """A method's networks with lively weights, what trains them, and a batch."""
    torch.manual_seed(1)
    settings = replace(module.PROFILES["quick"], hidden=(24, 20), dropout=dropout)
    network = module._Networks(settings, rows.n_features, rows.n_classes).eval()
    as_one_vector(network)
    with torch.no_grad():
        for p in network.parameters():
            p.mul_(3.0)
    joint = module._Joint(network, rows, settings, STEPS, BUDGET, faithful)
    learner = module._Learner(joint, n + 5)  # buffers may be larger than the batch
    return network, joint, learner, rows.x[:n], rows.y[:n]


def through(linear: list[nn.Linear], inputs: Tensor, layers: DroppedLayers) -> Tensor:
    """What linear layers give when the units that gave nothing in `layers` drop out and the others are scaled."""
    *inner, last = linear
    for layer, given in zip(inner, layers.kept[1:]):
        inputs = layer(inputs) * (given[: len(inputs)] > 0) / (1.0 - layers.dropout)
    return last(inputs)


def assert_gradients(network: nn.Module, loss: Tensor) -> None:
    """Those set are those of the loss."""
    parameters = dict(network.named_parameters())
    by_torch = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    for (name, p), wanted in zip(parameters.items(), by_torch):
        wanted = torch.zeros_like(p) if wanted is None else wanted
        assert p.grad is not None
        torch.testing.assert_close(p.grad, wanted, rtol=2e-4, atol=2e-5 * float(wanted.abs().max()) + 1e-9, msg=name)


def purse_after(joint, x: Tensor, episodes: Episodes, steps: int) -> Purse:
    """`Purse`'s episodes when the same features are taken; states, and what is left to spend, agree all along."""
    purse = joint.purse(len(x))
    for step in range(steps):
        assert torch.equal(torch.from_numpy(episodes.states[episodes.part(step)]), masked_input(x, purse.shown))
        choice = torch.from_numpy(episodes.choice[step])
        may = purse.scores(torch.zeros_like(x))
        assert torch.equal(choice < 0, torch.isinf(may).all(dim=1)), "something is taken wherever something can be"
        taken = choice.clamp_min(0)
        assert torch.isfinite(may.gather(1, taken[:, None]))[choice >= 0].all(), "nothing that cannot be taken is"
        purse.take(taken, may)
        if purse.remaining is not None:
            np.testing.assert_allclose(episodes.left[step + 1], purse.remaining[:, 0], atol=1e-5)
    return purse


@CASES
@pytest.mark.parametrize("dropout", [0.0, DROPOUT])
def test_the_predictors_gradient_is_autograds(rows: Rows, dropout: float) -> None:
    torch.manual_seed(0)
    network = gdfs._Networks(replace(gdfs.PROFILES["quick"], hidden=(24, 20)), 8, rows.n_classes).eval()
    as_one_vector(network.predictor)
    layers = DroppedLayers.of(network.predicting, dropout, 70)
    x, y, weights = rows.x[:64], rows.y[:64], rows.weights(normalised=False)
    mask = torch.rand_like(x) < 0.5
    set_gradients(layers, x, mask, y, weights)
    logits = through(network.predicting, masked_input(x, mask), layers)
    assert_gradients(network.predictor, weighted_loss(logits, y, weights))


@CASES
@pytest.mark.parametrize("dropout", [0.0, DROPOUT])
@pytest.mark.parametrize("faithful", [False, True])
def test_dimes_gradient_is_autograds(rows: Rows, dropout: float, faithful: bool) -> None:
    network, joint, learner, x, y = made(dime, rows, dropout, faithful)
    learner.set_gradients(x, y, epsilon=0.5)
    episodes, layers = learner.episodes, learner.layers
    purse_after(joint, x, episodes, STEPS)
    hidden = through([*linear_layers(network.trunk), nn.Identity()], torch.from_numpy(episodes.states), layers)
    scores = network.classes(hidden)
    p = torch.softmax(scores.detach(), dim=1)
    estimate = torch.sigmoid(network.values(hidden)) * -(p * p.log()).sum(dim=1, keepdim=True)
    losses = sample_losses(scores, y.repeat(STEPS + 1), joint.weights).view(STEPS + 1, -1)
    choice = torch.from_numpy(episodes.choice)
    own = estimate.view(STEPS + 1, len(x), -1)[:-1].gather(2, choice.clamp_min(0)[..., None])[..., 0]
    gained = (losses[:-1] - losses[1:]).detach()
    error = ((own - gained) ** 2 * (choice >= 0)).mean(dim=1).sum()
    assert_gradients(network, (error + losses.mean(dim=1).sum()) / (STEPS + 1))


@CASES
def test_dime_without_exploring_takes_the_largest_estimate_per_cost(rows: Rows) -> None:
    network, joint, learner, x, y = made(dime, rows, 0.0)
    learner.set_gradients(x, y, epsilon=0.0)
    purse = joint.purse(len(x))
    for step in range(STEPS):
        with torch.no_grad():
            ratio = purse.scores(network(masked_input(x, purse.shown))[1] / rows.costs)
        chosen = torch.from_numpy(learner.episodes.choice[step])
        live = chosen >= 0
        own = ratio.gather(1, chosen.clamp_min(0)[:, None])[:, 0]
        torch.testing.assert_close(own[live], ratio.max(dim=1).values[live])
        purse.take(chosen.clamp_min(0), ratio)


def test_exploring_takes_any_possible_feature_alike() -> None:
    n, d = 40_000, 5
    torch.manual_seed(0)
    luck = torch.rand(n, 2).numpy()
    outputs = np.zeros((n, 2 + d), np.float32)
    outputs[:, 4] = 3.0  # the best is feature 2
    states = np.zeros((n, 2 * d), np.float32)
    states[:, d] = 1.0  # feature 0 is shown, feature 4 is too dear
    costs, left = np.array([1, 1, 1, 1, 9], np.float32), np.full(n, 3.0, np.float32)
    chosen = choices(outputs, np.ones(n, np.float32), states, left, costs, luck, 0.3)
    share = np.bincount(chosen, minlength=d) / n
    np.testing.assert_allclose(share, [0.0, 0.1, 0.8, 0.1, 0.0], atol=0.01)
    states[:, d:] = 1.0
    assert (choices(outputs, np.ones(n, np.float32), states, left, costs, luck, 0.3) == -1).all()


@CASES
@pytest.mark.parametrize("dropout", [0.0, DROPOUT])
@pytest.mark.parametrize(("temperature", "faithful"), [(1.0, False), (0.2, False), (0.5, True)])
def test_gdfs_gradient_is_autograds(rows: Rows, dropout: float, temperature: float, faithful: bool) -> None:
    """The noise is what remains of the relaxed draw, log w * tau, when the scores are taken off."""
    network, joint, learner, x, y = made(gdfs, rows, dropout, faithful)
    scale = joint.settings.logit_scale
    network.selector[-1].weight.data *= 0.3  # draws that are not all decided
    learner.set_gradients(temperature, x, y)
    episodes, n = learner.episodes, STEPS * len(x)
    purse_after(joint, x, episodes, STEPS - 1)
    states = torch.from_numpy(episodes.states[:n])
    mask, weights = states[:, rows.n_features :], torch.from_numpy(learner.weights)
    logits = through(linear_layers(network.selector), states, learner.selector)
    score = (logits - rows.costs.log()) / scale
    noise = (weights.double().log() * temperature - score.detach()).float()
    dear = (rows.costs > torch.from_numpy(episodes.left[:STEPS].reshape(-1, 1)) + 1e-6) & (mask == 0)
    assert (weights[dear] == 0).all(), "what is too dear has no weight"
    sample = torch.softmax(((score + noise) / temperature).masked_fill(weights == 0, -1e9), dim=1)
    torch.testing.assert_close(sample, weights, rtol=1e-3, atol=1e-6)
    soft = torch.maximum(mask, rows.shown(sample))
    outputs = through(network.predicting, masked_input(x.repeat(STEPS, 1), soft), learner.predictor)
    assert_gradients(network, weighted_loss(outputs, y.repeat(STEPS), joint.weights))


@CASES
def test_gdfs_relaxed_loss_in_pieces_is_the_plain_formulas(rows: Rows) -> None:
    """Over 58,500 rows, for the two draw each for themselves; the buffers are for 200 rows."""
    network, joint, learner, x, y = made(gdfs, rows, DROPOUT, n=195)
    x, y = x.repeat(300, 1), y.repeat(300)
    found = learner.loss(0.5, x, y)
    purse, total = joint.purse(len(x)), 0.0
    with torch.no_grad():
        for _ in range(STEPS):
            score = joint.merit(x, purse.shown) / joint.settings.logit_scale
            dear = purse.unaffordable()
            sample = rows.shown(concrete(score if dear is None else score.masked_fill(dear, -1e9), 0.5))
            soft = torch.maximum(purse.shown, sample)
            total += float(weighted_loss(network.predict(masked_input(x, soft)), y, joint.weights)) / STEPS
            possible = purse.scores(score)
            purse.take(torch.distributions.Gumbel(possible.nan_to_num(neginf=-1e9), 1.0).sample().argmax(1), possible)
    assert found == pytest.approx(total, rel=0.01)


def test_gdfs_draws_follow_the_softmax_over_what_is_possible() -> None:
    n, scale = 60_000, 0.2
    logits = np.tile(scale * np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32)), (n, 1)).astype(np.float32)
    costs, left = np.array([1, 1, 1, 2], np.float32), np.full(n, 5.0, np.float32)
    states = np.zeros((n, 8), np.float32)
    arguments = (np.log(costs) * scale).astype(np.float32), scale
    share = np.bincount(drawn(logits, *arguments, 7, states, left, costs), minlength=4) / n
    np.testing.assert_allclose(share, np.array([0.4, 0.3, 0.2, 0.05]) / 0.95, atol=0.008)
    states[:, 4] = 1.0
    left[:] = 1.5
    share = np.bincount(drawn(logits, *arguments, 8, states, left, costs), minlength=4) / n
    np.testing.assert_allclose(share, [0.0, 0.6, 0.4, 0.0], atol=0.008)
    weights = relaxed(logits, *arguments, 9, states, left, costs, 0.05)  # what is shown stays in the relaxed draw
    np.testing.assert_allclose(weights.mean(axis=0), np.array([4, 3, 2, 0]) / 9, atol=0.008)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-5)
    left[:] = 0.0
    assert (drawn(logits, *arguments, 8, states, left, costs) == -1).all()


def test_relaxed_draws_are_concrete_ones() -> None:
    """Mean and spread of each entry at three temperatures."""
    n = 60_000
    score = np.array([1.0, 0.0, -1.0, 0.5], np.float32)
    free = np.zeros((n, 8), np.float32), np.full(n, np.inf, np.float32), np.ones(4, np.float32)
    torch.manual_seed(0)
    for temperature in (0.1, 0.5, 2.0):
        ours = relaxed(np.tile(0.2 * score, (n, 1)), np.zeros(4, np.float32), 0.2, 3, *free, temperature)
        theirs = concrete(torch.from_numpy(score).expand(n, -1), temperature).numpy()
        np.testing.assert_allclose(ours.mean(axis=0), theirs.mean(axis=0), atol=0.008)
        np.testing.assert_allclose(ours.std(axis=0), theirs.std(axis=0), atol=0.008)


def test_a_share_of_the_units_drops_out_while_training_only() -> None:
    layer = nn.Linear(3, 500)
    layer.weight.data.zero_()
    layer.bias.data.fill_(2.0)
    last = nn.Linear(500, 1)
    as_one_vector(nn.Sequential(layer, last))
    layers = DroppedLayers.of([layer, last], DROPOUT, 100)
    layers.kept[0].zero_()
    layers.forward(0, 100)
    values, counts = layers.kept[1].unique(return_counts=True)
    torch.testing.assert_close(values, torch.tensor([0.0, 2.0 / (1.0 - DROPOUT)]))
    assert float(counts[0]) / 50_000 == pytest.approx(DROPOUT, abs=0.01)
    layers.forward(0, 100, training=False)
    assert (layers.kept[1] == 2.0).all()


def test_a_group_is_shown_and_paid_once() -> None:
    data = load("cube-nm", noise=0.1)
    rows = rows_of(data)
    settings = dime.PROFILES["quick"]
    joint = dime._Joint(dime._Networks(settings, 55, rows.n_classes), rows, settings, 1, 3.0, False)
    states = torch.empty(4, 110)
    Episodes(joint, rows.x[:2], states).take(0, np.array([2, 9]))
    assert states[2:, 55:].sum(dim=1).tolist() == [5.0, 1.0]
