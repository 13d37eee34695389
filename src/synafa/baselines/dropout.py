"""Dropout from few random bits: torch's own draws one slow number an entry, which was a third of a training.

Sixteen bits an entry, out of one 64-bit seed that torch's generator gives: a training that is resumed from the
generator's state draws what it would have drawn.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from synafa.baselines.dropout_kernels import LEVELS, keep_mask

_SEEDS = (1 << 63) - 1


def dropout(x: Tensor, p: float) -> Tensor:
    """x with every entry 0 with probability p (in steps of 2^-16), the others divided by 1 - p."""
    if p <= 0.0:
        return x
    seed = int(torch.randint(_SEEDS, ()))
    kept = keep_mask(seed, x.numel(), round(p * LEVELS), 1.0 / (1.0 - p))
    return x * torch.from_numpy(kept).view(x.shape)


class Dropout(nn.Module):
    """`dropout` while training, nothing otherwise."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training else x
