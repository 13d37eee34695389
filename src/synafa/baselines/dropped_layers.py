"""An MLP with dropout before each ReLU, forth for some rows at a time and back for all of them at once, no autograd.

An episode's states follow from one another, so that they go forth one after the other; what each layer gave is kept
side by side, and their gradient is one pass of large products. A unit passes exactly if it gave more than 0, and its
gradient is divided by 1 - p as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from synafa.baselines.dropout_kernels import LEVELS
from synafa.baselines.layers import gradients_of
from synafa.baselines.selector_kernels import dropped_relu

SEEDS = (1 << 63) - 1

Pairs = list[tuple[Tensor, Tensor]]


def seed() -> int:
    """A seed for a kernel's own numbers, out of torch's generator."""
    return int(torch.randint(SEEDS, ()))


class DroppedLayers:
    """Linear layers (weight, bias) for at most `most` rows; `backward` writes to `gradients`, shaped alike.

    `kept[0]` takes the input, `kept[-1]` gives the output; `flows[-1]` takes the output's gradient, `flows[0]` gives
    the input's.
    """

    def __init__(self, layers: Pairs, gradients: Pairs, dropout: float, most: int) -> None:
        self.layers, self.gradients, self.dropout = layers, gradients, dropout
        widths = [layers[0][0].shape[1], *(len(bias) for _, bias in layers)]
        self.kept = [torch.empty(most, width) for width in widths]
        self.flows = [torch.empty(most, width) for width in widths]

    @classmethod
    def of(cls, linear: Sequence[nn.Linear], dropout: float, most: int) -> DroppedLayers:
        """Layers whose parameters have gradients, which are written to."""
        return cls(*pairs(linear), dropout, most)

    def forward(self, start: int, stop: int, training: bool = True) -> Tensor:
        """The output of the rows from `start` to `stop`, a view; dropout only while training."""
        x, *hidden, output = (kept[start:stop] for kept in self.kept)
        *inner, (weight, bias) = self.layers
        drops = training and self.dropout > 0
        seeds = torch.randint(SEEDS, (len(inner),)).tolist() if drops else [0] * len(inner)
        for one_seed, (inner_weight, inner_bias), given in zip(seeds, inner, hidden):
            x = torch.addmm(inner_bias, x, inner_weight.T, out=given)
            if drops:
                dropped_relu(x.numpy(), one_seed, round(self.dropout * LEVELS), 1.0 / (1.0 - self.dropout))
            else:
                x.relu_()
        return torch.addmm(bias, x, weight.T, out=output)

    def backward(self, n: int, to_input: bool = False) -> None:
        """Set the gradients from those of the first n rows' outputs, while training; the input's if it is wanted."""
        flow = self.flows[-1][:n]
        for number in reversed(range(len(self.layers))):
            x, (by_weight, by_bias) = self.kept[number][:n], self.gradients[number]
            torch.mm(flow.T, x, out=by_weight)
            torch.sum(flow, 0, out=by_bias)
            if number or to_input:
                before, scale = self.flows[number][:n], 1.0 / (1.0 - self.dropout) if number else 1.0
                flow = torch.addmm(before, flow, self.layers[number][0], beta=0, alpha=scale, out=before)
            if number:
                torch.ops.aten.threshold_backward.grad_input(flow, x, 0, grad_input=flow)


def pairs(linear: Sequence[nn.Linear]) -> tuple[Pairs, Pairs]:
    """The (weight, bias) of layers whose parameters have gradients, and the gradients in the same shape."""
    own = gradients_of([p for layer in linear for p in (layer.weight, layer.bias)])
    return [(layer.weight.detach(), layer.bias.detach()) for layer in linear], list(zip(own[::2], own[1::2]))
