"""The predictor that GDFS and DIME start from: [x*m, m] -> class scores, trained under random masks.

Each batch draws one p ~ U(lo, hi) and hides every entry independently with probability p; plain class weights.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from synafa.baselines.common import Plateau, Rows, adam, batches, masked_input, weighted_loss


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
