"""The predictor that GDFS and DIME start from, [x*m, m] -> class scores, and what the two share when acting.

It is trained under random masks: each batch draws one p ~ U(lo, hi) and hides every entry independently with
probability p; plain class weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from synafa.baselines.common import (
    Acting,
    Plateau,
    Rows,
    adam,
    allowed,
    batches,
    best_allowed,
    load_module,
    masked_input,
    module_arrays,
    one_thread,
    weighted_loss,
)


class PredictorPolicy(Acting, ABC):
    """A policy with a predictor of its own: asking its networks, storing and loading."""

    settings_class: ClassVar[type]

    model_: Any  # an nn.Module with `n_classes` and `predict([x*m, m])`
    settings_: Any

    @staticmethod
    @abstractmethod
    def build(n_features: int, n_classes: int, settings: Any) -> nn.Module:
        """The untrained networks."""

    @abstractmethod
    def scores(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """(n, D): the larger, the sooner."""

    @torch.no_grad()
    def ask(self, network: Callable[[Tensor], Tensor], values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """What `network` makes of [x*m, m]."""
        with one_thread():
            known = torch.from_numpy(np.ascontiguousarray(mask, dtype=np.float32))
            x = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
            return network(masked_input(x, known)).numpy()

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        return best_allowed(self.scores(values, mask), allowed(mask, self.costs_, remaining, self.faithful))

    def predict_proba(self, values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """The class probabilities of the policy's own predictor."""
        return self.ask(lambda inputs: torch.softmax(self.model_.predict(inputs), dim=1), values, mask)

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        meta = {"n_classes": self.model_.n_classes, "hidden": list(self.settings_.hidden)}
        return {**module_arrays(self.model_, "model."), "costs": self.costs_}, meta

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Self:
        policy = cls()
        policy.costs_ = arrays["costs"]
        policy.settings_ = cls.settings_class(hidden=tuple(meta["hidden"]))
        policy.model_ = cls.build(len(policy.costs_), int(meta["n_classes"]), policy.settings_)
        load_module(policy.model_, arrays, "model.")
        return policy


def pretrain(
    module: nn.Module,
    predict: Callable[[Tensor], Tensor],
    rows: Rows,
    hide: tuple[float, float],
    epochs: int,
    batch: int,
    patience: int,
    lr: float = 1e-3,
    tick: Callable[[], None] | None = None,
) -> None:
    """Train `module` so that `predict([x*m, m])` gives good class scores, at most `epochs`, best state restored.

    The validation masks are drawn once, from the same range, so that epochs are compared on the same task.
    """
    weights = rows.weights(normalised=False)
    optimiser = adam(module.parameters(), lr)
    plateau = Plateau(module, optimiser, patience)
    low, high = hide
    share = low + (high - low) * torch.rand(len(rows.x_validation), 1)
    validation = masked_input(rows.x_validation, (torch.rand_like(rows.x_validation) >= share).float())
    for _ in range(epochs):
        module.train()
        for index in batches(len(rows.x), batch):
            x = rows.x[index]
            p = low + (high - low) * float(torch.rand(()))
            loss = weighted_loss(predict(masked_input(x, (torch.rand_like(x) >= p).float())), rows.y[index], weights)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        module.eval()
        with torch.no_grad():
            stop = plateau.step(float(weighted_loss(predict(validation), rows.y_validation, weights)))
        if tick is not None:
            tick()
        if stop:
            break
    plateau.restore()
