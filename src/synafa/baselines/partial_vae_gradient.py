"""The gradient of the partial VAE's loss on a batch, written out: autograd's numbers, in buffers that are kept.

The three MLPs go through `Layers`, the sum over observed positions through the kernels beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from synafa.baselines.layers import Layers, gradients_of
from synafa.baselines.partial_vae_kernels import gathered, gathered_back

if TYPE_CHECKING:
    from synafa.baselines.partial_vae import PartialVAE


class LossGradient:
    """Sets the gradients of a VAE's parameters, which must exist, to those of its mean loss on a batch."""

    def __init__(self, vae: PartialVAE, weights: Tensor, kl_weight: float) -> None:
        self.vae, self.weights, self.kl_weight = vae, weights, kl_weight
        self.encoder, self.decoder, self.classifier = (
            Layers.trained(network) for network in (vae.encoder, vae.decoder, vae.classifier)
        )

    @torch.no_grad()
    def __call__(self, everything: Tensor, y: Tensor, mask: Tensor, noise: Tensor) -> None:
        """`everything` and `mask` are (n, d + K): the features and the one-hot class, and what of it is shown."""
        vae = self.vae
        read = [tensor.detach().numpy() for tensor in (everything, mask, vae.directions(), vae.first.bias)]
        total = torch.from_numpy(gathered(*read))
        count = mask.sum(1, dtype=total.dtype)
        code = self.encoder.forward(torch.addmm(count[:, None] * vae.second.bias, total, vae.second.weight.T))
        flow = self.encoder.backward(self._by_code(code, everything, y, noise))
        torch.mm(flow.T, total, out=vae.second.weight.grad)
        torch.mv(flow.T, count, out=vae.second.bias.grad)
        directions, bias = map(torch.from_numpy, gathered_back(*read, (flow @ vae.second.weight).numpy()))
        torch.mm(directions.T, vae.embedding, out=vae.first.weight.grad)
        torch.mm(directions, vae.first.weight, out=vae.embedding.grad)
        torch._foreach_copy_(gradients_of([vae.first.bias]), [bias])

    def _by_code(self, code: Tensor, everything: Tensor, y: Tensor, noise: Tensor) -> Tensor:
        """The gradient of the encoder's output: the posterior's mean and log variance, side by side."""
        n, kl_weight = len(y), self.kl_weight / len(y)
        mean, raw = code.chunk(2, dim=1)
        log_variance = raw.clamp(-20.0, 20.0)
        spread = noise * torch.exp(0.5 * log_variance)
        z = mean + spread
        error = self.decoder.forward(z) - everything[:, : -len(self.weights)]
        wrong = torch.softmax(self.classifier.forward(z), dim=1)
        wrong[torch.arange(n), y] -= 1.0
        wrong *= (self.weights[y] / n)[:, None]
        by_z = self.decoder.backward(error.mul_(2 / n)) + self.classifier.backward(wrong)
        by_variance = 0.5 * (by_z * spread + kl_weight * (log_variance.exp() - 1))
        return torch.cat([by_z + kl_weight * mean, by_variance * (raw == log_variance)], dim=1)
