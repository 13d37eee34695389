"""The layers of small networks without autograd: forth and back in buffers, and all parameters as one vector.

With a batch of a hundred rows autograd spends more on bookkeeping and fresh memory than on the products themselves.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn


class Layers:
    """Linear layers (weight, bias) with ReLU between, forth and back; buffers for the largest batch are used again.

    `gradients` are the tensors that `backward` writes to, made when they are needed unless they are given.
    """

    def __init__(
        self, layers: list[tuple[Tensor, Tensor]], gradients: list[tuple[Tensor, Tensor]] | None = None
    ) -> None:
        self.layers = layers
        self.gradients = gradients
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.flows: list[Tensor] = []

    @classmethod
    def of(cls, network: nn.Module) -> Layers:
        """The layers of an MLP."""
        return cls([(layer.weight.detach(), layer.bias.detach()) for layer in linear_layers(network)])

    @classmethod
    def trained(cls, network: nn.Module) -> Layers:
        """The layers of an MLP whose parameters have gradients, which are written to."""
        own = gradients_of([p for layer in linear_layers(network) for p in (layer.weight, layer.bias)])
        return cls(cls.of(network).layers, list(zip(own[::2], own[1::2])))

    def forward(self, x: Tensor) -> Tensor:
        """The output, a new tensor; what lies between is kept until the next call."""
        n = len(x)
        if len(self.outputs) != len(self.layers) - 1 or any(len(output) < n for output in self.outputs):
            self.outputs = [torch.empty(n, len(bias)) for _, bias in self.layers[:-1]]
        self.inputs = [x]
        for (weight, bias), output in zip(self.layers, self.outputs):
            self.inputs.append(torch.addmm(bias, self.inputs[-1], weight.T, out=output[:n]).relu_())
        weight, bias = self.layers[-1]
        return torch.addmm(bias, self.inputs[-1], weight.T)

    def backward(self, gradient: Tensor) -> Tensor:
        """Set the gradients from the output's; the input's is returned, in a buffer."""
        n = len(gradient)
        if not self.flows or len(self.flows[0]) < n:
            self.flows = [torch.empty(n, weight.shape[1]) for weight, _ in self.layers]
        if self.gradients is None:
            self.gradients = [(torch.empty_like(weight), torch.empty_like(bias)) for weight, bias in self.layers]
        for number in reversed(range(len(self.layers))):
            (weight, _), x = self.layers[number], self.inputs[number]
            by_weight, by_bias = self.gradients[number]
            torch.mm(gradient.T, x, out=by_weight)
            torch.sum(gradient, 0, out=by_bias)
            gradient = torch.mm(gradient, weight, out=self.flows[number][:n])
            if number:
                torch.ops.aten.threshold_backward.grad_input(gradient, x, 0, grad_input=gradient)
        return gradient

    def flat_gradients(self) -> list[Tensor]:
        """The gradients in the order of a network's parameters."""
        return [gradient for pair in self.gradients or [] for gradient in pair]


def linear_layers(network: nn.Module) -> list[nn.Linear]:
    """The linear layers of an MLP, first to last."""
    return [part for part in network.modules() if isinstance(part, nn.Linear)]


def gradients_of(parameters: Iterable[Tensor]) -> list[Tensor]:
    """The gradients of parameters that have them."""
    return [p.grad for p in parameters if p.grad is not None]


def as_one_vector(module: nn.Module) -> nn.Parameter:
    """A vector that holds the module's parameters from now on, as its `grad` holds their gradients."""
    parameters = list(module.parameters())
    whole = nn.Parameter(torch.cat([p.detach().flatten() for p in parameters]))
    whole.grad = torch.zeros_like(whole)
    sizes = [p.numel() for p in parameters]
    for p, values, gradient in zip(parameters, whole.detach().split(sizes), whole.grad.split(sizes)):
        p.data, p.grad = values.view_as(p), gradient.view_as(p)
    return whole
