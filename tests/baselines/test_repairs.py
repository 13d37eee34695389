"""Each repaired detail of a baseline beside the answer that is known for it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from synafa.baselines import cae, dime, eddi, gdfs, odin, ol
from synafa.baselines.common import BestState, Plateau, batches, rows_of, sample_losses, unit_weights
from synafa.baselines.partial_vae import Check
from synafa.baselines.rl import Replay
from tests.baselines.baseline_tasks import one_feature_decides, task

pytestmark = pytest.mark.slow


def test_the_learning_rate_falls_after_more_than_patience_bad_epochs_and_the_next_one_ends_it() -> None:
    layer = torch.nn.Linear(1, 1)
    optimiser = torch.optim.SGD(layer.parameters(), lr=1.0)
    plateau = Plateau(layer, optimiser, patience=2)
    told = [(plateau.step(loss), optimiser.param_groups[0]["lr"]) for loss in (1.0, 1.0, 1.0, 1.0, 1.0)]
    assert told == [(False, 1.0), (False, 1.0), (False, 1.0), (False, 0.2), (True, 0.2)]


def test_a_handful_of_rows_is_no_batch() -> None:
    torch.manual_seed(0)
    parts = list(batches(130, 64))
    assert [len(part) for part in parts] == [64, 64]
    assert len(set(torch.cat(parts).tolist())) == 128
    assert [len(part) for part in batches(50, 64)] == [50]  # too few rows for one batch are one


def test_unit_weights_average_to_one_over_rows() -> None:
    y = torch.tensor([0] * 90 + [1] * 10)
    weights = unit_weights(y, 2)
    assert float(weights[y].mean()) == pytest.approx(1.0)
    assert float(weights[1] / weights[0]) == pytest.approx(9.0)


@pytest.mark.parametrize(
    ("share", "units", "expected"),
    [
        ((1 / 8,) * 8, True, math.log(8)),  # a feature that tells one of eight classes is worth ln 8 nats
        ((1 / 8,) * 8, False, math.log(8) / 8),  # weights of sum 1 shrink that by the number of classes
        ((0.9, 0.1), True, math.log(2)),  # balanced by the weights: ln 2, whatever the shares
    ],
)
def test_dimes_estimate_is_the_information_in_nats(share: tuple[float, ...], units: bool, expected: float) -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(len(share), size=3000, p=share)
    X = rng.normal(size=(3000, 4))
    X[:, 2] = y - y.mean()  # tells the class; the others tell nothing
    data = task(X, y)
    settings = replace(dime.PROFILES["quick"], unit_weights=units, dropout=0.0, least_steps=600).adapted(data)
    policy = dime.DIME().fit(data, 1, settings, 0)
    estimate = policy.estimates(np.zeros((1, 4), np.float32), np.zeros((1, 4), bool))[0]
    assert estimate[2] == pytest.approx(expected, rel=0.2)
    assert estimate[[0, 1, 3]].max() < 0.5 * expected


def test_dime_is_judged_on_the_empty_state_too() -> None:
    data = one_feature_decides(400)
    rows = rows_of(data)
    torch.manual_seed(0)
    network = dime._Networks(dime.PROFILES["quick"], rows.n_features, 2).eval()
    joint = dime._Joint(network, rows, dime.PROFILES["quick"], 2, 2.0, False)
    x, y = rows.x_validation, rows.y_validation
    with torch.no_grad():
        mask, total = torch.zeros_like(x), 0.0
        for _ in range(3):  # nothing known, one, two
            scores, estimate = network(torch.cat([x * mask, mask], dim=1))
            total += float(sample_losses(scores, y, joint.weights).mean())
            best = estimate.masked_fill(mask > 0, -1).argmax(dim=1)
            mask = mask.scatter(1, best[:, None], 1.0)
    assert joint.greedy_loss(x, y) == pytest.approx(total / 3, rel=1e-5)


@pytest.mark.parametrize("module", [cae, gdfs])
def test_the_plateau_watches_the_relaxed_loss_and_each_temperature_starts_from_the_best(
    module, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = one_feature_decides(400)
    soft, watched, restored, kept = [], [], [], []
    owner = module._Selector if module is cae else module._Joint
    real = owner.soft_loss

    def soft_loss(self, *arguments):
        soft.append(real(self, *arguments))
        return soft[-1]

    class Watching(Plateau):
        def step(self, loss: float) -> bool:
            watched.append(loss)
            return super().step(loss)

        def restore(self) -> None:
            restored.append(self.best.loss)
            super().restore()

    class Keeping(BestState):
        def offer(self, loss: float) -> bool:
            kept.append(loss)
            return super().offer(loss)

    monkeypatch.setattr(owner, "soft_loss", soft_loss)
    monkeypatch.setattr(module, "Plateau", Watching)
    monkeypatch.setattr(module, "BestState", Keeping)
    settings = replace(module.PROFILES["quick"], epochs=3, least_steps=0, temperatures=(10.0, 0.01, 4))
    (module.CAE if module is cae else module.GDFS)().fit(data, 2, settings, 0)
    assert watched == soft
    assert len(restored) == 4
    assert restored[0] == min(soft[:3])
    assert len(kept) == len(soft)
    assert kept != soft  # the state that is kept in the end is judged by hard draws


def test_images_get_small_batches_in_the_standard_profile_and_the_published_ones_are_left() -> None:
    rng = np.random.default_rng(0)
    wide = task(rng.normal(size=(500, 600)), rng.integers(0, 2, 500))
    standard = cae.PROFILES["standard"].adapted(wide)
    assert standard.batch == 128
    assert cae.PROFILES["paper"].adapted(wide) == cae.PROFILES["paper"] == cae.Settings()
    assert cae.PROFILES["standard"].adapted(one_feature_decides()).pixel_passes is not None


def test_on_few_rows_cae_does_not_keep_the_features_it_happened_to_start_with() -> None:
    """A pass over 240 rows is one step; a patience of three passes ended every temperature at its start."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=400)
    X = rng.normal(size=(400, 24))
    X[:, [5, 17]] += 1.5 * (2 * y[:, None] - 1)
    data = task(X, y)
    settings = cae.PROFILES["standard"].adapted(data)
    assert settings.patience * (len(data.train) // settings.batch) >= settings.least_steps // 5
    found = [cae.CAE().fit(data, 2, settings, seed).selected_.tolist() for seed in range(5)]
    hasty = [cae.CAE().fit(data, 2, replace(settings, patience=3), seed).selected_.tolist() for seed in range(5)]
    right = [sum(j in (5, 17) for chosen in sets for j in chosen) for sets in (found, hasty)]
    assert right[0] >= 9
    assert right[1] <= 5


def test_relaxed_masks_in_pieces_are_those_in_one() -> None:
    """The pieces only bound the memory: mask and gradient are sums over rows, whatever the piece."""
    scores = torch.randn(3, 40)
    weight = torch.randn(50, 40)
    found = []
    for piece in (7 * 3 * 40, 1 << 18):  # seven rows at a time and one left over; all at once
        cae.PIECE, before = piece, cae.PIECE
        try:
            torch.manual_seed(2)
            variable = scores.clone().requires_grad_()
            draws = [cae._RelaxedMask.apply(variable, 50, 0.7) for _ in range(400)]
            (torch.stack(draws).mean(dim=0) * weight).sum().backward()
            found.append((torch.stack(draws).mean(dim=0).detach(), variable.grad))
        finally:
            cae.PIECE = before
    assert torch.allclose(found[0][0].mean(dim=0), found[1][0].mean(dim=0), atol=0.01)
    assert torch.allclose(found[0][1], found[1][1], atol=0.2)


def test_opportunistic_learning_keeps_and_draws_as_many_pieces_as_published() -> None:
    paper, standard = ol.PROFILES["paper"], ol.PROFILES["standard"]
    assert (paper.replay, paper.drawn) == (100_000, 512)
    assert (standard.replay, standard.drawn) == (25_000, 128)
    assert len(Replay(paper.replay, paper.steps, 3).rows) == 100_000


def test_opportunistic_learning_draws_what_its_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = Replay.draw

    def draw(self, n: int):
        asked.append((n, len(self.rows)))
        return real(self, n)

    monkeypatch.setattr(Replay, "draw", draw)
    settings = replace(ol.PROFILES["quick"], batches=3, pretrain_batches=5, passes=2, replay=77, drawn=19, checks=0)
    ol.OL().fit(one_feature_decides(300), 2, settings, 0)
    assert asked == [(19, 77)] * 3


@pytest.mark.parametrize("module", [eddi, odin])
def test_the_vae_is_validated_on_whole_rows_with_normalised_weights_as_published(module) -> None:
    data = one_feature_decides(500)
    rows = rows_of(data)
    torch.manual_seed(0)
    published = Check.drawn(rows, module.PROFILES["paper"])
    assert bool(published.mask[:, :8].all())
    assert not bool(published.mask[:, 8:].any())
    assert float(published.weights.sum()) == pytest.approx(1.0)
    ours = Check.drawn(rows, module.PROFILES["standard"])
    shown = float(ours.mask[:, :8].float().mean())
    assert 0.4 < shown < 0.7
    assert float(ours.weights.sum()) > 3.0
