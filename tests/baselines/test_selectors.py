"""CAE, GDFS, DIME and permutation importance, and the pieces they share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from synafa.baselines import train
from synafa.baselines.cae import CAE, PROFILES
from synafa.baselines.common import (
    Plateau,
    Purse,
    class_weights,
    hard_draw,
    mlp,
    most_steps,
    rows_of,
    weighted_loss,
)
from synafa.baselines.gdfs import GDFS
from synafa.baselines.permutation import auroc
from synafa.baselines.settings import scaled
from synafa.datasets import load
from tests.baselines.baseline_tasks import one_feature_decides, task

pytestmark = pytest.mark.slow


def test_cae_keeps_index_order_only_in_the_faithful_mode() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    data = task(X, 1.5 * X[:, 1] + 3.0 * X[:, 4] > 0)
    settings = PROFILES["standard"].adapted(data)
    policy = CAE().fit(data, 2, settings, 0)
    assert policy.selected_.tolist() == [1, 4]
    assert policy.order[:2].tolist() == [4, 1]
    assert CAE(faithful=True).fit(data, 2, settings, 0).order.tolist() == [1, 4, 0, 2, 3, 5]


def test_cae_does_not_select_what_the_budget_can_never_buy() -> None:
    data = replace(one_feature_decides(), costs=np.array([1.0, 1, 1, 1, 1, 9, 1, 1]))
    settings = PROFILES["quick"].adapted(data)
    assert 5 not in CAE().fit(data, 2, settings, 0).selected_
    assert 5 in CAE(faithful=True).fit(data, 2, settings, 0).selected_


def test_gdfs_acts_by_the_cost_term_it_was_trained_with() -> None:
    """l - log c, not l / c: with equal logits the cheaper one wins, and negative logits do not turn the order round."""
    data = replace(one_feature_decides(200, d=3, which=0), costs=np.array([1.0, 2.0, 4.0]))
    policy = train("gdfs", data, 4, profile="quick", cache=False)
    with torch.no_grad():
        policy.network_.selector[-1].weight.zero_()
        policy.network_.selector[-1].bias.copy_(torch.tensor([-8.0, -8.0, -8.0]))
    nothing = np.zeros((1, 3), dtype=bool)
    assert policy.propose(nothing.astype(np.float32), nothing, np.array([4.0])).tolist() == [0]
    assert np.allclose(policy.ask(policy.scores, nothing, nothing)[0], -8.0 - np.log([1.0, 2.0, 4.0]))


def test_gdfs_trained_for_a_group_counts_it_as_one_acquisition() -> None:
    data = load("cube-nm", noise=0.1)
    assert most_steps(data, 3.0) == 3
    rows = rows_of(data)
    purse = Purse(rows, 2, 3.0, faithful=False)
    purse.take(torch.tensor([2, 9]), purse.scores(torch.zeros(2, 55)))
    assert purse.shown.sum(dim=1).tolist() == [5.0, 1.0]


def test_training_episodes_never_spend_more_than_the_budget() -> None:
    data = replace(one_feature_decides(100), costs=np.array([1.0, 2, 3, 1, 2, 3, 1, 2]))
    rows = rows_of(data)
    purse = Purse(rows, 50, 4.0, faithful=False)
    torch.manual_seed(0)
    for _ in range(8):
        scores = purse.scores(torch.rand(50, 8))
        purse.take(scores.argmax(dim=1), scores)
    spent = (purse.taken * rows.costs).sum(dim=1)
    assert spent.max() <= 4.0
    assert spent.min() >= 3.0  # with less spent, something of cost 1 would still have fitted
    assert GDFS.version >= 1


def test_dimes_estimates_stay_between_zero_and_the_entropy_of_the_prediction() -> None:
    data = one_feature_decides(300)
    policy = train("dime", data, 2, profile="quick", cache=False)
    X = data.X[data.test]
    mask = np.random.default_rng(0).random(X.shape) < 0.4
    p = policy.predict_proba(X * mask, mask)
    entropy = -(p * np.log(np.maximum(p, 1e-12))).sum(axis=1, keepdims=True)
    estimate = policy.estimates(X * mask, mask)
    assert (estimate >= 0).all()
    assert (estimate <= entropy + 1e-5).all()
    known, unknown = mask[:, 5], ~mask[:, 5]
    assert entropy[known].mean() < 0.5 * entropy[unknown].mean()


def test_auroc_is_the_one_versus_rest_macro_average() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    p = rng.random((300, 3)).round(1) + 0.5 * np.eye(3)[y] + 0.05
    p /= p.sum(axis=1, keepdims=True)
    assert auroc(p, y) == pytest.approx(roc_auc_score(y, p, multi_class="ovr", average="macro"))


def test_class_weights_are_inverse_frequencies() -> None:
    y = torch.tensor([0, 0, 0, 1])
    assert torch.allclose(class_weights(y, 2, normalised=False), torch.tensor([4 / 3, 4.0]))
    assert torch.allclose(class_weights(y, 2), torch.tensor([0.25, 0.75]))


def test_the_loss_is_divided_by_the_number_of_rows_not_by_the_weights() -> None:
    logits = torch.zeros(4, 2)
    y = torch.tensor([0, 0, 0, 1])
    assert float(weighted_loss(logits, y, torch.tensor([0.25, 0.75]))) == pytest.approx(np.log(2) * 1.5 / 4)


def test_dropout_comes_before_the_relu() -> None:
    names = [type(layer).__name__ for layer in mlp([4, 8, 8, 2], 0.3)]
    assert names == ["Linear", "Dropout", "ReLU", "Linear", "Dropout", "ReLU", "Linear"]


def test_the_plateau_rule_lowers_the_rate_stops_and_restores() -> None:
    module = torch.nn.Linear(1, 1)
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-3)
    plateau = Plateau(module, optimiser, patience=2, min_lr=1e-5)
    with torch.no_grad():
        module.weight.fill_(7.0)
    assert not plateau.step(1.0)
    with torch.no_grad():
        module.weight.fill_(9.0)
    rates, stops = [], []
    for _ in range(4):
        stops.append(plateau.step(1.0))
        rates.append(optimiser.param_groups[0]["lr"])
    assert rates == pytest.approx([1e-3, 1e-3, 2e-4, 2e-4])
    assert stops == [False, False, False, True]
    plateau.restore()
    assert module.weight.item() == 7.0


def test_hard_draws_follow_the_softmax() -> None:
    torch.manual_seed(0)
    logits = torch.log(torch.tensor([0.7, 0.2, 0.1]))
    share = torch.bincount(hard_draw(logits.expand(20000, -1)), minlength=3) / 20000
    assert torch.allclose(share, torch.tensor([0.7, 0.2, 0.1]), atol=0.015)


def test_published_settings_are_never_stretched() -> None:
    assert scaled(PROFILES["paper"], 100) == PROFILES["paper"]
    longer = scaled(PROFILES["standard"], 240)
    assert longer.epochs * -(-240 // longer.batch) >= PROFILES["standard"].least_steps
