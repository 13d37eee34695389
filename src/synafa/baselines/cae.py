"""CAE: a supervised concrete selector, one static set of features per budget.

Logits L (B x d); per sample, B relaxed one-hot draws from Concrete(L / 0.2, tau), mask = their elementwise maximum,
x*mask -> classes. tau falls from 10 to 0.01; the set is the distinct argmaxes of L at the best validation loss under
hard draws. The set is acquired in order of importance (what the network loses without it), in the study's faithful mode
in index order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.common import (
    Acting,
    BestState,
    Plateau,
    Rows,
    Ticker,
    adam,
    allowed,
    batches,
    best_allowed,
    hard_draw,
    minus_gumbel,
    mlp,
    most_steps,
    rows_of,
    scaled,
    training,
    uniform,
    weighted_loss,
)
from synafa.datasets.dataset import Dataset


@dataclass(frozen=True)
class Settings:
    hidden: tuple[int, int] = (128, 128)
    epochs: int = 250  # at most, for each temperature
    batch: int = 128
    lr: float = 1e-3
    min_lr: float = 1e-5
    patience: int = 5
    temperatures: tuple[float, float, int] = (10.0, 0.01, 10)  # first, last, how many
    logit_scale: float = 0.2
    least_steps: int = 0


PROFILES = {
    "paper": Settings(),
    "standard": Settings(epochs=8, batch=1024, lr=4e-3, patience=3, least_steps=300),
    "quick": Settings(epochs=3, batch=512, lr=5e-3, patience=2, least_steps=60),
}


def adapt(settings: Settings, dataset: Dataset) -> Settings:
    """More passes over few rows."""
    return scaled(settings, len(dataset.train))


class CAE(Acting):
    """Acquires a fixed set; what does not fit the budget is skipped unless `faithful`."""

    name = "cae"

    def fit(
        self,
        dataset: Dataset,
        budget: float,
        settings: Settings | None = None,
        seed: int = 0,
        classifier: Any = None,
        progress: Any = None,
    ) -> Self:
        """Learn the set for `budget`; `classifier` is not used."""
        settings = settings or adapt(PROFILES["standard"], dataset)
        rows = rows_of(dataset)
        size = most_steps(dataset, budget)
        dear = rows.costs > budget + 1e-6  # can never be bought; the faithful mode selects them all the same
        if self.faithful or uniform(dataset.costs) or bool(dear.all()):
            dear = torch.zeros_like(dear)
        with training(seed):
            model = _Selector(rows, size, settings, dear)
            _train(model, rows, settings, Ticker(progress, settings.epochs * settings.temperatures[2], "CAE"))
            chosen = _distinct(model.scores().argmax(dim=1).numpy(), size, dear.numpy())
            self.rank_ = _ranks(model, rows, chosen)
        self.selected_ = np.sort(chosen)
        self.costs_ = np.asarray(dataset.costs, dtype=np.float64)
        return self

    @property
    def order(self) -> np.ndarray:
        """All features in the order of acquisition."""
        rest = np.setdiff1d(np.arange(len(self.rank_)), self.selected_)
        if self.faithful:
            return np.concatenate([self.selected_, rest])
        return np.argsort(self.rank_, kind="stable")

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        may = allowed(mask, self.costs_, remaining, self.faithful)
        place = np.empty(len(self.rank_))
        place[self.order] = np.arange(len(self.rank_))
        return best_allowed(np.broadcast_to(-place, may.shape), may)

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        return {"rank": self.rank_, "selected": self.selected_, "costs": self.costs_}, {}

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Self:
        policy = cls()
        policy.rank_, policy.selected_, policy.costs_ = arrays["rank"], arrays["selected"], arrays["costs"]
        return policy


class _RelaxedMask(torch.autograd.Function):
    """The elementwise maximum of B Concrete draws per sample, (n, d); its gradient is written out to save passes."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, n: int, temperature: float) -> Tensor:
        draws = torch.softmax((scores - minus_gumbel((n, *scores.shape))) / temperature, dim=-1)
        mask, winner = draws.max(dim=1)
        ctx.save_for_backward(draws, winner)
        ctx.temperature = temperature
        return mask

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        draws, winner = ctx.saved_tensors
        flow = torch.zeros_like(draws).scatter_(1, winner[:, None], gradients[0][:, None]).mul_(draws)
        centred = flow.sum(dim=0) - torch.einsum("nbd,nb->bd", draws, flow.sum(dim=-1))
        return centred / ctx.temperature, None, None


class _Selector(nn.Module):
    """The logits of B draws and the network behind the mask."""

    def __init__(self, rows: Rows, size: int, settings: Settings, dear: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.randn(size, rows.n_features))
        self.network = mlp([rows.n_features, *settings.hidden, rows.n_classes])
        self.scale = settings.logit_scale
        self.rows = rows
        self.dear = dear

    def scores(self) -> Tensor:
        """The logits with what can never be bought pushed out."""
        return (self.logits / self.scale).masked_fill(self.dear, -1e9).detach()

    def relaxed(self, x: Tensor, temperature: float) -> Tensor:
        scores = (self.logits / self.scale).masked_fill(self.dear, -1e9)
        mask = _RelaxedMask.apply(scores, len(x), temperature)
        return self.network(x * self.rows.shown(mask))

    def hard(self, x: Tensor) -> Tensor:
        picked = hard_draw(self.scores().expand(len(x), -1, -1))
        return self.network(x * self.rows.shown(torch.zeros_like(x).scatter_(1, picked, 1.0)))

    def reset_repeats(self) -> None:
        """A row whose argmax repeats an earlier row's starts again from zeros."""
        top = self.scores().argmax(dim=1)
        repeats = (top[:, None] == top[None, :]).tril(-1).any(dim=1)
        self.logits.data[repeats] = 0.0


def _train(model: _Selector, rows: Rows, settings: Settings, tick: Ticker) -> None:
    weights = rows.weights()
    best = BestState(model)
    first, last, count = settings.temperatures
    for stage, temperature in enumerate(np.geomspace(first, last, count), start=1):
        optimiser = adam(model.parameters(), settings.lr)
        plateau = Plateau(model, optimiser, settings.patience, settings.min_lr)
        for _ in range(settings.epochs):
            for index in batches(len(rows.x), settings.batch):
                loss = weighted_loss(model.relaxed(rows.x[index], float(temperature)), rows.y[index], weights)
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
            model.reset_repeats()
            with torch.no_grad():
                validation = float(weighted_loss(model.hard(rows.x_validation), rows.y_validation, weights))
            best.offer(validation)
            tick()
            if plateau.step(validation):
                break
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
    weights = rows.weights()
    losses = []
    for left_out in chosen:
        mask = torch.zeros(1, rows.n_features)
        mask[0, [int(i) for i in chosen if i != left_out]] = 1.0
        losses.append(
            float(weighted_loss(model.network(rows.x_validation * rows.shown(mask)), rows.y_validation, weights))
        )
    inside = chosen[np.lexsort((chosen, -np.array(losses)))]
    rank = np.empty(rows.n_features, dtype=np.int64)
    rank[np.concatenate([inside, np.setdiff1d(np.arange(rows.n_features), chosen)])] = np.arange(rows.n_features)
    return rank
