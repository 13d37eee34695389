"""EDDI (Ma et al. 2019): take the feature whose likely values would move the prediction most.

128 latent samples of the partial VAE are decoded; for each hidden i, every decoded x_i stands beside what is observed:
score_i = mean over samples of KL(p(y | observed, x_i) || p(y | observed)) / c_i, with p from the shared classifier or,
in the built-in variant, from the VAE's own. A feature is scored by its own value, also where it belongs to a group.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from synafa.baselines.common import Rows
from synafa.baselines.layers import Layers
from synafa.baselines.network_policy import NetworkPolicy
from synafa.baselines.partial_vae import PartialVAE, PosteriorMean, VAESettings, shared_vae, vae_part
from synafa.baselines.training import Progress, classifier_layers
from synafa.datasets.dataset import Dataset
from synafa.errors import SynafaError

BUFFER = 1 << 18  # numbers in the widest buffer: 1 MiB, which stays in the second-level cache


@dataclass(frozen=True)
class Settings(VAESettings):
    """Published number: 128 samples. The built-in variant runs the whole encoder on each, eight times the work."""

    builtin: bool = False
    samples: int = 128
    builtin_samples: int = 128

    @property
    def drawn(self) -> int:
        return self.builtin_samples if self.builtin else self.samples


PROFILES = {
    "paper": Settings(),
    "standard": Settings(max_batches=10_000, vae_patience=20, partial_check=True, small_batch=True, builtin_samples=32),
    "quick": Settings(
        max_batches=600,
        first_check=200,
        vae_patience=5,
        partial_check=True,
        small_batch=True,
        samples=32,
        builtin_samples=16,
    ),
}


class Reader(ABC):
    """p(y | observed) and p(y | observed, x_i) of one classifier, as log-probabilities."""

    width: int

    @abstractmethod
    def start(self, values: Tensor, mask: Tensor) -> Tensor:
        """What is computed once per row, (n, ...)."""

    @abstractmethod
    def plain(self, start: Tensor) -> Tensor:
        """log p(y | observed), (n, K)."""

    @abstractmethod
    def extended(self, start: Tensor, feature: Tensor, x: Tensor) -> Tensor:
        """log p(y | observed, x_feature = x): start (c, ...), feature (c,), x (c, S) to (c, S, K)."""


class LayersReader(Reader):
    """A masked MLP given by its layers: one more feature adds x*W_i + M_i to the first layer's sums."""

    def __init__(self, layers: tuple[np.ndarray, ...]) -> None:
        tensors = [torch.from_numpy(np.array(layer, dtype=np.float32)) for layer in layers]
        d = tensors[0].shape[1] // 2
        self.value, self.shown, self.bias = (
            tensors[0][:, :d].T.contiguous(),
            tensors[0][:, d:].T.contiguous(),
            tensors[1],
        )
        self.rest = list(zip(tensors[2::2], tensors[3::2]))
        self.width = self.value.shape[1]

    def start(self, values: Tensor, mask: Tensor) -> Tensor:
        return torch.addmm(self.bias, values, self.value).addmm_(mask.to(values.dtype), self.shown)

    def plain(self, start: Tensor) -> Tensor:
        return self._behind(start.clone())

    def extended(self, start: Tensor, feature: Tensor, x: Tensor) -> Tensor:
        sums = (start + self.shown[feature])[:, None]
        return self._behind(torch.addcmul(sums, x[..., None], self.value[feature][:, None]))

    def _behind(self, sums: Tensor) -> Tensor:
        """The layers behind the first one's sums, which are overwritten."""
        for weight, bias in self.rest:
            sums = F.linear(sums.relu_(), weight, bias)
        return torch.log_softmax(sums, dim=-1)


class AnyReader(Reader):
    """Any classifier with `predict_proba(values, mask)`; nothing is shared between the candidates."""

    def __init__(self, classifier: Any, n_features: int) -> None:
        self.classifier = classifier
        self.width = 2 * n_features

    def start(self, values: Tensor, mask: Tensor) -> Tensor:
        return torch.cat([values, mask.to(values.dtype)], dim=1)

    def plain(self, start: Tensor) -> Tensor:
        values, mask = start.flatten(0, -2).chunk(2, dim=1)
        p = self.classifier.predict_proba(values.numpy(), mask.numpy() > 0.5)
        log = torch.from_numpy(np.array(p, dtype=np.float32)).clamp_min(1e-12).log()
        return log.view(*start.shape[:-1], -1)

    def extended(self, start: Tensor, feature: Tensor, x: Tensor) -> Tensor:
        each = start[:, None].repeat(1, x.shape[1], 1)
        rows = torch.arange(len(feature))
        each[rows, :, feature] = x
        each[rows, :, feature + start.shape[1] // 2] = 1.0
        return self.plain(each)


class VAEReader(Reader):
    """The VAE's classifier at the posterior mean; one more position adds one term to the gathered sum."""

    def __init__(self, vae: PartialVAE) -> None:
        self.mean = PosteriorMean(vae)
        self.classifier = Layers.of(vae.classifier)
        self.width = len(self.mean.bias)

    def start(self, values: Tensor, mask: Tensor) -> Tensor:
        return self.mean.start(values, mask)

    def plain(self, start: Tensor) -> Tensor:
        return torch.log_softmax(self.classifier.forward(self.mean(start)), dim=-1)

    def extended(self, start: Tensor, feature: Tensor, x: Tensor) -> Tensor:
        return self.plain(self.mean.extended(start, feature, x)).view(*x.shape, -1)


class _Network(nn.Module):
    noise: Tensor

    def __init__(self, settings: Settings, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.vae = PartialVAE(settings, n_features, n_classes)
        # The same draws for every row and call: a row's choice does not depend on its neighbours in the batch.
        self.register_buffer("noise", torch.randn(settings.drawn, settings.latent))


class EDDI(NetworkPolicy):
    """Efficient dynamic discovery of high-value information."""

    name = "eddi"
    profiles = PROFILES
    network_class = _Network
    chunk = 256
    network_: _Network

    def train_network(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        self.network_.vae = shared_vae(dataset, rows, vae_part(self.settings_), seed, progress)

    def reader(self) -> Reader:
        if self.settings_.builtin:
            return VAEReader(self.network_.vae)
        if self.classifier is None:
            raise SynafaError("EDDI asks the shared classifier; set `classifier`, or use the variant eddi-builtin.")
        layers = classifier_layers(self.classifier)
        masked = layers is not None and layers[0].shape[1] == 2 * len(self.costs_)
        return LayersReader(layers) if layers is not None and masked else AnyReader(self.classifier, len(self.costs_))

    def propose(self, values: np.ndarray, mask: np.ndarray, remaining: np.ndarray) -> np.ndarray:
        """As every network's, but equal states, such as all first ones, are scored once."""
        seen = np.where(mask, values, 0).astype(np.float32)
        states = np.concatenate([seen, np.asarray(mask, dtype=np.float32)], axis=1)
        _, first, same = np.unique(states, axis=0, return_index=True, return_inverse=True)
        scores = np.empty((len(first), mask.shape[1]))
        for start in range(0, len(first), self.chunk):
            part = first[start : start + self.chunk]
            scores[start : start + self.chunk] = self.ask(self.scores, seen[part], mask[part])
        return self.best(scores[same.ravel()], mask, remaining)

    def decoded(self, values: Tensor, mask: Tensor) -> Tensor:
        """(n, S, D): the decoded features of each row's own latent samples."""
        mean, log_variance = self.network_.vae.encode(values, mask)
        z = mean[:, None] + self.network_.noise * torch.exp(0.5 * log_variance)[:, None]
        return self.network_.vae.decoder(z)

    def scores(self, values: Tensor, mask: Tensor) -> Tensor:
        reader = self.reader()
        imagined = self.decoded(values, mask)
        start = reader.start(values, mask)
        now = reader.plain(start)
        row, feature = (~mask).nonzero(as_tuple=True)
        gain = torch.zeros(len(row))
        size = max(1, BUFFER // (self.settings_.drawn * reader.width))
        for part in torch.arange(len(row)).split(size):
            r, i = row[part], feature[part]
            then = reader.extended(start[r], i, imagined[r, :, i])
            gain[part] = (then.exp() * (then - now[r][:, None])).sum(-1).mean(1)
        result = torch.zeros(mask.shape)
        price = np.broadcast_to(self.weighed(mask.numpy()) / self.costs_.mean(), mask.shape)
        result[row, feature] = gain / torch.from_numpy(price.astype(np.float32))[row, feature]
        return result

    def probabilities(self, values: Tensor, mask: Tensor) -> Tensor:
        reader = VAEReader(self.network_.vae)
        return reader.plain(reader.start(values, mask)).exp()
