"""The torch pieces the baselines share: networks, weights, the plateau rule, relaxed samples, index batches.

Everything runs on one thread and from one seed (`training`), so that a result depends neither on the machine's cores
nor on what ran before; at these sizes a second thread costs more than it brings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.dropout import Dropout
from synafa.datasets.dataset import Dataset
from synafa.money.prices import TOLERANCE
from synafa.neural.training import one_thread


@contextmanager
def training(seed: int) -> Iterator[None]:
    """One thread and torch's global generator seeded; both as they were afterwards."""
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


@dataclass(frozen=True)
class Rows:
    """A dataset's training and validation rows as tensors, with what the losses need.

    `reveal` is float32 (D, D), row i = what asking for i shows, or None when each feature shows only itself.
    """

    x: Tensor
    y: Tensor
    x_validation: Tensor
    y_validation: Tensor
    costs: Tensor
    n_classes: int
    reveal: Tensor | None

    @property
    def n_features(self) -> int:
        return int(self.x.shape[1])

    def weights(self, normalised: bool = True) -> Tensor:
        return class_weights(self.y, self.n_classes, normalised)

    def unit_weights(self) -> Tensor:
        """Class weights with a mean of 1 over rows."""
        return unit_weights(self.y, self.n_classes)

    def shown(self, taken: Tensor) -> Tensor:
        """The mask that asking for `taken` (n, D) shows."""
        return taken if self.reveal is None else (taken @ self.reveal).clamp_max(1.0)


def rows_of(dataset: Dataset) -> Rows:
    """The tensors of a dataset."""

    def part(index: np.ndarray) -> tuple[Tensor, Tensor]:
        return torch.from_numpy(dataset.X[index].astype(np.float32)), torch.from_numpy(
            dataset.y[index].astype(np.int64)
        )

    x, y = part(dataset.train)
    x_validation, y_validation = part(dataset.validation)
    return Rows(
        x=x,
        y=y,
        x_validation=x_validation,
        y_validation=y_validation,
        costs=torch.from_numpy(dataset.costs.astype(np.float32)),
        n_classes=dataset.n_classes,
        reveal=torch.from_numpy(dataset.reveals.astype(np.float32)) if dataset.groups else None,
    )


def most_steps(dataset: Dataset, budget: float) -> int:
    """How many acquisitions `budget` can pay at most (cheapest first, a group once); at least 1."""
    costs = np.asarray(dataset.costs, dtype=np.float64).copy()
    for group in dataset.groups:
        members = list(group)
        costs[members[0]] = costs[members].min()
        costs[members[1:]] = np.inf
    total = np.cumsum(np.sort(costs))
    return max(1, int((total <= budget + TOLERANCE).sum()))


def allowed(mask: np.ndarray, costs: np.ndarray, remaining: np.ndarray, faithful: bool = False) -> np.ndarray:
    """bool (n, D): hidden features that may be proposed, affordable at `costs` (D,) or (n, D) unless `faithful`."""
    hidden = ~np.asarray(mask, dtype=bool)
    if faithful:
        return hidden
    return hidden & (np.atleast_2d(costs) <= np.asarray(remaining, dtype=np.float64)[:, None] + TOLERANCE)


def best_allowed(scores: np.ndarray, may: np.ndarray) -> np.ndarray:
    """int64 (n,): the first allowed feature of highest score, -1 where nothing is allowed."""
    choice = np.where(may, scores, -np.inf).argmax(axis=1).astype(np.int64)
    return np.where(may.any(axis=1), choice, np.int64(-1))


def uniform(costs: np.ndarray) -> bool:
    """Whether all features cost the same: then what remains cannot change which one is proposed."""
    return bool(np.all(costs == costs[0]))


def mlp(widths: Sequence[int], dropout: float = 0.0) -> nn.Sequential:
    """Linear layers of the given widths with ReLU between, dropout before each ReLU."""
    layers: list[nn.Module] = []
    for index, (fan_in, fan_out) in enumerate(pairwise(widths)):
        layers.append(nn.Linear(fan_in, fan_out))
        if index < len(widths) - 2:
            if dropout > 0:
                layers.append(Dropout(dropout))
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def masked_input(x: Tensor, mask: Tensor) -> Tensor:
    """[x*m, m]; the mask may be bool or 0 and 1."""
    return torch.cat([x * mask, mask.to(x.dtype)], dim=1)


def class_weights(y: Tensor, n_classes: int, normalised: bool = True) -> Tensor:
    """w_k = 1/p_k from the frequencies in y (0 for a class without rows), divided by their sum if `normalised`."""
    counts = torch.bincount(y, minlength=n_classes).double()
    weights = torch.where(counts > 0, counts.sum() / counts.clamp_min(1.0), torch.zeros_like(counts))
    return (weights / weights.sum() if normalised else weights).float()


def unit_weights(y: Tensor, n_classes: int) -> Tensor:
    """w_k = 1/(K p_k): a mean of 1 over rows, so that a weighted loss is the loss in nats of balanced classes."""
    weights = class_weights(y, n_classes, normalised=False)
    return weights / (weights > 0).sum()


def sample_losses(logits: Tensor, y: Tensor, weights: Tensor) -> Tensor:
    """w_y * cross-entropy of each row."""
    return nn.functional.cross_entropy(logits, y, weight=weights, reduction="none")


def weighted_loss(logits: Tensor, y: Tensor, weights: Tensor) -> Tensor:
    """Weighted cross-entropy, the sum divided by the number of rows (not by the sum of weights)."""
    return nn.functional.cross_entropy(logits, y, weight=weights, reduction="sum") / len(y)


def adam(parameters: Any, lr: float = 1e-3) -> torch.optim.Adam:
    """Adam with the fused step, which is several times cheaper on small networks."""
    return torch.optim.Adam(parameters, lr=lr, fused=True)


def set_lr(optimiser: torch.optim.Optimizer, lr: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = lr


def batches(n: int, size: int) -> Iterator[Tensor]:
    """Shuffled full index batches of 0..n-1 (torch's global generator); what does not fill one is left to other passes.

    A handful of rows would move the network as far as a whole batch. Fewer rows than `size` are one batch.
    """
    parts = torch.randperm(n).split(size)
    yield from (part for part in parts if len(part) == size or len(parts) == 1)


def descend(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    """One optimiser step down the gradient of `loss`."""
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()


def one_epoch(
    rows: Rows, size: int, optimiser: torch.optim.Optimizer, loss: Callable[[Tensor, Tensor], Tensor]
) -> None:
    """One pass over the training rows in shuffled batches, each one step down `loss(x, y)`."""
    for index in batches(len(rows.x), size):
        descend(optimiser, loss(rows.x[index], rows.y[index]))


def minus_gumbel(shape: Sequence[int]) -> Tensor:
    """log(-log U): minus Gumbel noise (torch's own exponential generator is several times slower on a CPU)."""
    return torch.rand(tuple(shape)).log_().neg_().log_()


def hard_draw(logits: Tensor) -> Tensor:
    """The Concrete distribution's limit at temperature 0: int64 indices drawn from softmax(logits), no gradient."""
    with torch.no_grad():
        return (logits - minus_gumbel(logits.shape)).argmax(dim=-1)


class BestState:
    """Remembers a module's parameters at the lowest loss offered."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.loss = float("inf")
        self._state: dict[str, Tensor] | None = None

    def offer(self, loss: float) -> bool:
        if loss < self.loss:
            self.loss = loss
            self._state = {key: value.detach().clone() for key, value in self.module.state_dict().items()}
            return True
        return False

    def restore(self) -> None:
        if self._state is not None:
            self.module.load_state_dict(self._state)

    def state_dict(self) -> dict[str, Any]:
        return {"loss": self.loss, "state": self._state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.loss, self._state = state["loss"], state["state"]


class Plateau:
    """Learning rate x 0.2 once more than `patience` epochs bring no relative improvement of 1e-4; one more ends it.

    `step(loss)` takes an epoch's validation loss and says whether to stop; `restore()` brings the best state back.
    """

    def __init__(
        self,
        module: nn.Module,
        optimiser: torch.optim.Optimizer,
        patience: int,
        min_lr: float = 0.0,
        factor: float = 0.2,
        threshold: float = 1e-4,
    ) -> None:
        self.best = BestState(module)
        self.optimiser = optimiser
        self.patience = patience
        self.min_lr = min_lr
        self.factor = factor
        self.threshold = threshold
        self.bad_epochs = 0
        self._reference = float("inf")

    def step(self, loss: float) -> bool:
        self.best.offer(loss)
        if loss < self._reference - self.threshold * abs(self._reference) or self._reference == float("inf"):
            self._reference = loss
            self.bad_epochs = 0
        else:
            self.bad_epochs += 1
        if self.bad_epochs == self.patience + 1:
            for group in self.optimiser.param_groups:
                group["lr"] = max(group["lr"] * self.factor, self.min_lr)
        return self.bad_epochs > self.patience + 1

    def restore(self) -> None:
        self.best.restore()

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best.state_dict(), "bad_epochs": self.bad_epochs, "reference": self._reference}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best.load_state_dict(state["best"])
        self.bad_epochs, self._reference = state["bad_epochs"], state["reference"]


def module_arrays(module: nn.Module, prefix: str = "") -> dict[str, np.ndarray]:
    """A module's parameters as NumPy arrays, names prefixed."""
    return {prefix + key: value.detach().cpu().numpy().copy() for key, value in module.state_dict().items()}


def load_module(module: nn.Module, arrays: dict[str, np.ndarray], prefix: str = "") -> None:
    """Put arrays written by `module_arrays` back and set the module to evaluation mode."""
    state = {
        key[len(prefix) :]: torch.from_numpy(np.array(value)) for key, value in arrays.items() if key.startswith(prefix)
    }
    module.load_state_dict(state)
    module.eval()


class Ticker:
    """Counts epochs towards a known most and reports the share done."""

    def __init__(self, progress: Callable[[float, str], None], most: int, text: str) -> None:
        self.progress = progress
        self.most = max(1, most)
        self.text = text
        self.done = 0

    def __call__(self) -> None:
        self.reach(self.done + 1)

    def reach(self, epochs: int) -> None:
        """Count up to `epochs`, also those that early stopping saved."""
        self.done = min(self.most, max(self.done, epochs))
        self.progress(self.done / self.most, self.text)


class Purse:
    """What training episodes may still buy: (n, D) blocked features, kept up to date as features are taken.

    In the faithful mode, or when all costs are equal, only what is already shown is blocked.
    """

    def __init__(self, rows: Rows, n: int, budget: float, faithful: bool) -> None:
        self.rows = rows
        self.taken = torch.zeros(n, rows.n_features)
        self.shown = self.taken
        self.track = not faithful and not uniform(rows.costs.numpy())
        self.remaining = torch.full((n, 1), float(budget)) if self.track else None

    def unaffordable(self) -> Tensor | None:
        """bool (n, D): hidden features that cost more than is left; None when costs do not matter."""
        if self.remaining is None:
            return None
        return (self.rows.costs[None, :] > self.remaining + 1e-6) & (self.shown == 0)

    def scores(self, scores: Tensor) -> Tensor:
        """The scores with everything that cannot be taken at -inf."""
        blocked = self.shown > 0
        dear = self.unaffordable()
        return scores.masked_fill(blocked if dear is None else blocked | dear, -torch.inf)

    def take(self, choice: Tensor, scores: Tensor) -> None:
        """Take `choice` (n,) wherever its entry of `scores` is finite."""
        picked = torch.zeros_like(self.taken).scatter_(1, choice[:, None], 1.0)
        picked = picked * torch.isfinite(scores.gather(1, choice[:, None]))
        if self.remaining is not None:
            self.remaining = self.remaining - (picked * self.rows.costs).sum(1, keepdim=True)
        self.taken = self.taken + picked
        self.shown = self.rows.shown(self.taken)
