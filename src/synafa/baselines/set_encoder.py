"""JAFA's encoder of a set of observed features: read each (value, index), attend five times, write 16 numbers.

An observed feature i with value x is [x, one-hot(i)]; the reading network's first layer on it is x*w + E_i, so the
one-hot is never built and only observed entries are read: the work grows with what is known, not with the d features.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from synafa.baselines.common import mlp


def start_lively(module: nn.Module) -> None:
    """He initialisation of all linear layers: torch's default shrinks the signal in each, and this network is deep."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
            nn.init.zeros_(part.bias)


class SetEncoder(nn.Module):
    """(values, mask) (n, D) to (n, width), the same for every order of the features."""

    def __init__(self, n_features: int, hidden: tuple[int, int] = (32, 32), width: int = 16, rounds: int = 5) -> None:
        super().__init__()
        self.width = width
        self.rounds = rounds
        # One layer on [value, one-hot(index)] kept as its two blocks; only two of its inputs are ever non-zero.
        self.value_weight = nn.Parameter(torch.randn(hidden[0]))
        self.index_weight = nn.Parameter(torch.randn(n_features, hidden[0]))
        self.read = nn.Sequential(nn.ReLU(), mlp((hidden[0], hidden[1], width)))
        self.process = nn.LSTMCell(2 * width, width)
        self.write = mlp((2 * width, *hidden, width))
        start_lively(self)
        self.empty = nn.Parameter(torch.randn(width) * 0.1)

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        n = len(values)
        row, feature = mask.nonzero(as_tuple=True)
        if len(row) == 0:
            return self.empty.expand(n, -1)
        count = mask.sum(1)
        longest = int(count.max())
        place = mask.cumsum(1)[row, feature] - 1
        first = values[row, feature][:, None] * self.value_weight + self.index_weight[feature]
        memory = values.new_zeros(longest * n, self.width).index_copy(0, place * n + row, self.read(first))
        summary = self._attend(memory.view(longest, n, self.width), torch.arange(longest)[:, None] >= count)
        return torch.where(count[:, None] > 0, self.write(summary), self.empty)

    def _attend(self, memory: Tensor, padding: Tensor) -> Tensor:
        """`rounds` steps of an LSTM that queries the memory (L, n, width) and reads its attended mean."""
        n = memory.shape[1]
        # An empty row attends to zeros only; its summary is finite and then replaced by the learned vector.
        bias = torch.zeros(padding.shape).masked_fill(padding & ~padding.all(0), -torch.inf)
        hidden = cell = memory.new_zeros(n, self.width)
        summary = memory.new_zeros(n, 2 * self.width)
        for _ in range(self.rounds):
            hidden, cell = self.process(summary, (hidden, cell))
            # Products and sums, not batched matrix products: n products of 16 numbers each are slower as matrices.
            weight = torch.softmax((memory * hidden).sum(-1) + bias, dim=0)
            summary = torch.cat([hidden, (memory * weight[..., None]).sum(0)], dim=1)
        return summary
