"""The two training loops of the reinforcement-learning baselines: a supervised start under random masks, then batches
of frames and, outside the paper profile, validation of the greedy policy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from synafa.baselines.common import BestState, Rows, adam, batches, descend, weighted_loss
from synafa.baselines.first_stage import first_stage
from synafa.baselines.rl import LoopSettings, spend
from synafa.baselines.training import Progress
from synafa.datasets.dataset import Dataset
from synafa.neural.resume import resumable

VALIDATION_ROWS = 2000  # enough to tell states apart; PhysioNet has 2,400, bank 9,042


@dataclass(frozen=True)
class PretrainSettings(LoopSettings):
    """Adds the supervised start: at most `pretrain_batches`, the best of the checks every `pretrain_check` batches is
    kept, and `pretrain_patience` checks without a better one end it. Counted in batches, because a set encoder needs
    some hundreds of them whether the table has 240 rows or 27,000.
    """

    pretrain_batches: int = 10_000
    pretrain_check: int = 100
    pretrain_patience: int = 20
    batch_size: int = 128
    hide_low: float = 0.0
    hide_high: float = 0.9
    for_images: ClassVar[dict[str, Any]] = {}

    def adapted(self, dataset: Dataset) -> Self:
        """Images get the wider network (`for_images`) and the sparser masks of the published setting."""
        if dataset.n_features < 500:
            return self
        return replace(self, hide_low=0.75, hide_high=0.99, **self.for_images)


def random_mask(n: int, d: int, low: float, high: float) -> Tensor:
    """bool (n, d): one p ~ U(low, high) for the batch, every entry hidden with probability p."""
    p = low + (high - low) * torch.rand(())
    return torch.rand(n, d) >= p


def supervised_start(
    name: str,
    module: nn.Module,
    logits: Callable[[Tensor, Tensor], Tensor],
    rows: Rows,
    settings: PretrainSettings,
    progress: Callable[[float], None],
) -> None:
    """Train `module`, whose `logits(values, mask)` predict the class, under random masks, once for all budgets."""
    first_stage(name, module, rows, settings, lambda: _under_masks(module, logits, rows, settings, progress))


def _under_masks(module: nn.Module, logits: Any, rows: Rows, settings: PretrainSettings, progress: Any) -> None:
    optimiser = adam(module.parameters(), settings.learning_rate)
    best = BestState(module)
    weights = rows.weights()
    n, d = rows.x.shape
    x_check, y_check = rows.x_validation[:VALIDATION_ROWS], rows.y_validation[:VALIDATION_ROWS]
    hide = settings.hide_low + (settings.hide_high - settings.hide_low) * torch.rand(len(x_check), 1)
    mask_check = torch.rand(len(x_check), d) >= hide  # drawn once, so that all checks see the same masks
    kept: dict[str, Any] = {"indices": [], "bad": 0, "check": mask_check}
    module.train()
    parts = {"module": module, "optimiser": optimiser, "best": best, "kept": kept}
    for batch in resumable("supervised start", settings.pretrain_batches, **parts):
        mask_check = kept["check"]
        kept["indices"] = kept["indices"] or list(batches(n, settings.batch_size))
        index = kept["indices"].pop()
        mask = random_mask(len(index), d, settings.hide_low, settings.hide_high)
        descend(optimiser, weighted_loss(logits(rows.x[index] * mask, mask), rows.y[index], weights))
        if (batch + 1) % settings.pretrain_check == 0 and len(x_check):
            progress((batch + 1) / settings.pretrain_batches)
            module.eval()
            with torch.no_grad():
                loss = float(weighted_loss(logits(x_check * mask_check, mask_check), y_check, weights))
            module.train()
            kept["bad"] = 0 if best.offer(loss) else kept["bad"] + 1
            if kept["bad"] > settings.pretrain_patience:
                break
    best.restore()
    module.eval()


def run_batches(
    module: nn.Module,
    settings: LoopSettings,
    one_batch: Callable[[int], None],
    validation_loss: Callable[[], float],
    progress: Progress,
    start: float,
    text: str,
    **parts: Any,
) -> None:
    """Call `one_batch` for every batch; with checks, keep the second half's best network and stop when it stalls.

    `parts` is what `one_batch` changes besides `module`: optimiser, target, replay, the episodes under way.
    """
    best = BestState(module)
    half = settings.batches // 2
    every = max(1, (settings.batches - half) // settings.checks) if settings.checks else 0
    kept = {"bad": 0}
    for batch in resumable(text, settings.batches, module=module, best=best, kept=kept, **parts):
        one_batch(batch)
        if batch % 50 == 49:
            progress(start + (1 - start) * (batch + 1) / settings.batches, text)
        if every and batch >= half and (batch + 1 - half) % every == 0:
            kept["bad"] = 0 if best.offer(validation_loss()) else kept["bad"] + 1
            if kept["bad"] > settings.check_patience:
                break
    best.restore()


def greedy_loss(network: Any, rows: Rows, costs: Tensor, budget: float) -> float:
    """Weighted validation loss of `network.logits` after acquiring greedily by `network.scores` within the budget."""
    x, y = rows.x_validation[:VALIDATION_ROWS], rows.y_validation[:VALIDATION_ROWS]
    if len(x) == 0:
        return 0.0
    with torch.no_grad():
        mask = spend(network.scores, x, costs, budget, rows.reveal)
        return float(weighted_loss(network.logits(x * mask, mask), y, rows.weights()))
