"""JAFA's encoder of a set of observed features: read each (value, index), attend five times, write 16 numbers.

An observed feature i with value x is [x, one-hot(i)]; the reading network's first layer on it is x*w + E_i, so the
one-hot is never built and only observed entries are read: the work grows with what is known, not with the d features.
A pass is compiled, its gradient written out (`Pass`): the network is so narrow that autograd would cost more than it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from synafa.baselines.common import mlp
from synafa.baselines.layers import Layers
from synafa.baselines.set_encoder_kernels import attend, attend_back, entries, entries_back


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
        self.own = tuple(self.parameters())  # looked up once: a pass takes less time than asking all submodules

    def layers(self) -> tuple[Layers, Layers]:
        """The linear layers that read an entry and that write the result; value, index and empty come before them."""
        read, write = self.own[3:7], self.own[11:]
        return Layers(list(zip(read[::2], read[1::2]))), Layers(list(zip(write[::2], write[1::2])))

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        once = Pass(self)
        if torch.is_grad_enabled() and self.empty.requires_grad:
            return _Encode.apply(once, values, mask, *self.own)
        return once.forward(values, mask, keep=False)


class Pass:
    """One pass through an encoder, forth and back, written out."""

    def __init__(self, encoder: SetEncoder) -> None:
        self.encoder = encoder
        self.read, self.write = encoder.layers()

    @torch.no_grad()
    def forward(self, values: Tensor, mask: Tensor, keep: bool) -> Tensor:
        own, cell = self.encoder, self.encoder.process
        given = (tensor.detach().contiguous().numpy() for tensor in (values, mask, own.value_weight, own.index_weight))
        self.start, *self.observed = entries(*given)
        self.nothing = torch.from_numpy(self.start[1:] == self.start[:-1])[:, None]
        if self.start[-1] == 0:
            return own.empty.expand(len(values), -1).clone()
        self.memory = self.read.forward(torch.from_numpy(self.observed[-1])).numpy()
        self.weight = cell.weight_ih.detach().clone()
        self.weight[:, : own.width] += cell.weight_hh
        bias = cell.bias_ih + cell.bias_hh
        out, *self.rounds = attend(self.memory, self.start, self.weight.numpy(), bias.numpy(), own.rounds, keep)
        return torch.where(self.nothing, own.empty, self.write.forward(torch.from_numpy(out)))

    def backward(self, gradient: Tensor) -> list[Tensor]:
        """The gradients of the encoder's parameters, in their order, from its output's."""
        width = self.encoder.width
        by_empty = (gradient * self.nothing).sum(0)
        if self.start[-1] == 0:
            return [by_empty if p is self.encoder.empty else torch.zeros_like(p) for p in self.encoder.own]
        flow = self.write.backward(gradient.masked_fill(self.nothing, 0.0)).numpy()
        back = self.weight.T.contiguous().numpy()
        by_memory, gates = attend_back(self.memory, self.start, back, *self.rounds, flow)
        by_gates, states = torch.from_numpy(gates), torch.from_numpy(self.rounds[0])
        # The first round starts from zeros; in the others the weights met the states of the round before.
        by_weight = torch.bmm(by_gates[1:].flatten(0, 1), states[:-1].flatten(0, 1).transpose(1, 2)).sum(0)
        by_bias = by_gates.sum((0, 1, 3))
        by_first = self.read.backward(torch.from_numpy(by_memory)).numpy()
        by_entries = entries_back(*self.observed, by_first, len(self.encoder.index_weight))
        return [
            *map(torch.from_numpy, by_entries),
            by_empty,
            *self.read.flat_gradients(),
            *(by_weight, by_weight[:, :width], by_bias, by_bias),
            *self.write.flat_gradients(),
        ]


class _Encode(torch.autograd.Function):
    """A pass as autograd sees it: from the encoder's parameters to its output; values and mask get no gradient."""

    @staticmethod
    def forward(ctx: Any, once: Pass, values: Tensor, mask: Tensor, *parameters: Tensor) -> Tensor:
        ctx.once = once
        return once.forward(values, mask, keep=True)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, None, *ctx.once.backward(gradients[0])
