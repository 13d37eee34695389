"""CAE: a supervised concrete selector, one static set of features per budget.

Logits L (B x d); per sample, B relaxed one-hot draws from Concrete(L / 0.2, tau), mask = their elementwise maximum,
x*mask -> classes. tau falls from 10 to 0.01; at each, the relaxed validation loss says when to stop and which state
goes on; the set is the distinct argmaxes of L at the best validation loss under hard draws. It is acquired in order of
importance (what the network loses without it), in the study's faithful mode in index order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.cae_kernels import hard, relaxed, relaxed_gradient
from synafa.baselines.common import (
    BestState,
    Plateau,
    Rows,
    Ticker,
    adam,
    mlp,
    most_steps,
    one_epoch,
    uniform,
    weighted_loss,
)
from synafa.baselines.policy import BaselinePolicy
from synafa.baselines.settings import AnnealedSettings
from synafa.baselines.training import Progress
from synafa.datasets.dataset import Dataset
from synafa.neural.resume import resumable

PIECE = 1 << 18  # numbers of a mask (or a layer) made at once in validation: 1 MiB, which stays in cache


@dataclass(frozen=True)
class Settings(AnnealedSettings):
    """`pixel_passes`: passes a temperature over images; None leaves `epochs` and the batch as they are."""

    pixel_passes: int | None = None

    def adapted(self, dataset: Dataset) -> Self:
        """Hundreds of features need the published small batches: a selector that makes few steps never leaves noise."""
        if self.pixel_passes is None or dataset.n_features < 500:
            return super().adapted(dataset)
        return replace(self, epochs=self.pixel_passes, batch=128, lr=1e-3)


PROFILES = {
    "paper": Settings(),
    "standard": Settings(epochs=8, batch=1024, lr=4e-3, patience=3, least_steps=300, pixel_passes=3),
    "quick": Settings(epochs=3, batch=512, lr=5e-3, patience=2, least_steps=60),
}


class CAE(BaselinePolicy):
    """Acquires a fixed set; what does not fit the budget is skipped unless `faithful`."""

    name = "cae"
    profiles = PROFILES
    kept = ("rank", "selected")
    rank_: np.ndarray
    selected_: np.ndarray

    def learn(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        """Learn the set for the budget; the classifier is not used."""
        settings = self.settings_
        size = most_steps(dataset, self.budget_)
        dear = rows.costs > self.budget_ + 1e-6  # can never be bought; the faithful mode selects them all the same
        if self.faithful or uniform(dataset.costs) or bool(dear.all()):
            dear = torch.zeros_like(dear)
        model = _Selector(rows, size, settings, dear)
        _train(model, rows, settings, Ticker(progress, settings.most_epochs, "CAE"))
        chosen = _distinct(model.scores().argmax(dim=1).numpy(), size, dear.numpy())
        self.rank_, self.selected_ = _ranks(model, rows, chosen), np.sort(chosen)

    @property
    def order(self) -> np.ndarray:
        """All features in the order of acquisition."""
        rest = np.setdiff1d(np.arange(len(self.rank_)), self.selected_)
        if self.faithful:
            return np.concatenate([self.selected_, rest])
        return np.argsort(self.rank_, kind="stable")

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        place = np.empty(len(self.rank_))
        place[self.order] = np.arange(len(self.rank_))
        return self.best(-place[None, :], mask, remaining)


def _seed() -> int:
    """A seed for a kernel's noise from torch's generator, whose state is all that an interrupted training must keep."""
    return int(torch.randint(2**62, ()))


class _RelaxedMask(torch.autograd.Function):
    """The elementwise maximum of B Concrete draws per sample, (n, d), and its gradient, both by compiled kernels."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, n: int, temperature: float) -> Tensor:
        found = relaxed(scores.detach().numpy(), _seed(), n, temperature, ctx.needs_input_grad[0])
        ctx.found, ctx.temperature = found, temperature
        return torch.from_numpy(found[0]).t().contiguous()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        total = relaxed_gradient(gradients[0].contiguous().numpy(), *ctx.found, ctx.temperature)
        return torch.from_numpy(total), None, None


class _Selector(nn.Module):
    """The logits of B draws and the network behind the mask."""

    def __init__(self, rows: Rows, size: int, settings: Settings, dear: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.randn(size, rows.n_features))
        self.network = mlp([rows.n_features, *settings.hidden, rows.n_classes])
        self.widest = max(rows.n_features, *settings.hidden)
        self.scale = settings.logit_scale
        self.rows = rows
        self.dear = dear
        self.weights = rows.weights()

    def scores(self) -> Tensor:
        """The logits with what can never be bought pushed out."""
        return (self.logits / self.scale).masked_fill(self.dear, -1e9).detach()

    def loss(self, x: Tensor, y: Tensor, taken: Tensor) -> Tensor:
        """The loss of the network behind what `taken` shows."""
        return weighted_loss(self.network(x * self.rows.shown(taken)), y, self.weights)

    def relaxed_loss(self, temperature: float, x: Tensor, y: Tensor) -> Tensor:
        scores = (self.logits / self.scale).masked_fill(self.dear, -1e9)
        return self.loss(x, y, _RelaxedMask.apply(scores, len(x), temperature))

    @torch.no_grad()
    def soft_loss(self, temperature: float, x: Tensor, y: Tensor) -> float:
        """The loss under relaxed draws at the temperature that is trained: what the plateau watches."""
        return self._in_pieces(x, y, lambda part, of: self.relaxed_loss(temperature, part, of))

    @torch.no_grad()
    def hard_loss(self, x: Tensor, y: Tensor) -> float:
        """The loss under hard draws: which state of the whole training is kept."""
        scores = self.scores().numpy()

        def loss(part: Tensor, of: Tensor) -> Tensor:
            return self.loss(part, of, torch.from_numpy(hard(scores, _seed(), len(part))))

        return self._in_pieces(x, y, loss)

    def _in_pieces(self, x: Tensor, y: Tensor, loss: Callable[[Tensor, Tensor], Tensor]) -> float:
        """The mean of `loss` over rows, a few rows at a time."""
        size = max(1, PIECE // self.widest)
        total = sum(float(loss(part, of)) * len(part) for part, of in zip(x.split(size), y.split(size)))
        return total / max(len(x), 1)

    def reset_repeats(self) -> None:
        """A row whose argmax repeats an earlier row's starts again from zeros."""
        top = self.scores().argmax(dim=1)
        repeats = (top[:, None] == top[None, :]).tril(-1).any(dim=1)
        self.logits.data[repeats] = 0.0


def _train(model: _Selector, rows: Rows, settings: Settings, tick: Ticker) -> None:
    best = BestState(model)
    for stage, temperature in settings.stages():
        optimiser = adam(model.parameters(), settings.lr)
        plateau = Plateau(model, optimiser, settings.patience, settings.min_lr)
        parts = {"model": model, "optimiser": optimiser, "plateau": plateau, "best": best}
        for _ in resumable(f"CAE {stage}", settings.epochs, **parts):
            one_epoch(rows, settings.batch, optimiser, partial(model.relaxed_loss, temperature))
            model.reset_repeats()
            best.offer(model.hard_loss(rows.x_validation, rows.y_validation))
            tick()
            if plateau.step(model.soft_loss(temperature, rows.x_validation, rows.y_validation)):
                break
        plateau.restore()
        tick.reach(stage * settings.epochs)
    best.restore()


def _distinct(tops: np.ndarray, size: int, dear: np.ndarray) -> np.ndarray:
    """The distinct argmaxes, filled up to `size` with the lowest unused indices that can be bought."""
    chosen = list(dict.fromkeys(int(i) for i in tops))
    spare = [i for i in range(len(dear)) if i not in set(chosen) and not dear[i]]
    return np.array((chosen + spare)[:size], dtype=np.int64)


@torch.no_grad()
def _ranks(model: _Selector, rows: Rows, chosen: np.ndarray) -> np.ndarray:
    """0 for the feature of the set the network misses most per cost, and so on; features outside follow by index."""
    losses = []
    for left_out in chosen:
        mask = torch.zeros(1, rows.n_features)
        mask[0, [int(i) for i in chosen if i != left_out]] = 1.0
        losses.append(float(model.loss(rows.x_validation, rows.y_validation, mask)))
    inside = chosen[np.lexsort((chosen, -np.array(losses)))]
    rank = np.empty(rows.n_features, dtype=np.int64)
    rank[np.concatenate([inside, np.setdiff1d(np.arange(rows.n_features), chosen)])] = np.arange(rows.n_features)
    return rank
