"""Partial VAE (Ma et al. 2019): a latent Gaussian from any subset of the features, a decoder, and a classifier.

An observed position i with value v enters as h(v * e_i), summed over the observed; e_i is an embedding of norm at most
1 and h an MLP. Since h's last layer is linear, sum_i h(v_i e_i) = W2 (sum_i relu(v_i W1 e_i + b1)) + n b2: the
last layer is applied once to the sum. Loss: squared error of all features + 0.1 KL + weighted cross-entropy.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from synafa.baselines.common import (
    BestState,
    Rows,
    adam,
    batches,
    load_module,
    mlp,
    module_arrays,
    sample_losses,
    training,
)
from synafa.baselines.layers import Layers, as_one_vector, linear_layers
from synafa.baselines.partial_vae_gradient import LossGradient
from synafa.baselines.partial_vae_kernels import gathered, gathered_back, one_more
from synafa.baselines.settings import MethodSettings
from synafa.baselines.training import Progress, State, stored_or_built
from synafa.datasets.dataset import Dataset
from synafa.files import content_hash
from synafa.neural.resume import resumable, resume_folder, resuming

REVISION = 3  # raised when a VAE is trained differently than before
REMEMBERED = 4  # VAEs that stay in memory for the next policy


@dataclass(frozen=True)
class VAESettings(MethodSettings):
    """Published numbers; `max_batches` bounds the early stop, whose checks are `check_every` batches apart."""

    embedding: int = 20
    set_hidden: int = 500
    latent: int = 20
    encoder_hidden: tuple[int, ...] = (20, 500, 200)
    decoder_hidden: tuple[int, ...] = (500, 200)
    classifier_hidden: tuple[int, ...] = (32, 32)
    kl_weight: float = 0.1
    learning_rate: float = 1e-3
    batch_size: int = 128
    hide_high: float = 0.9
    max_batches: int = 50_000
    check_every: int = 100
    first_check: int = 1000
    vae_patience: int = 50
    small_batch: bool = False  # train on the rows that do not fill a batch, too
    partial_check: bool = False  # validate under masks as in training with plain weights; else all features shown


class _Gather(torch.autograd.Function):
    """sum over observed i of relu(v_i directions_i + bias), (n, hidden); the values get no gradient."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Tensor:
        ctx.arrays = [tensor.detach().contiguous().numpy() for tensor in tensors]
        return torch.from_numpy(gathered(*ctx.arrays))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, Tensor, Tensor]:
        directions, bias = gathered_back(*ctx.arrays, gradients[0].contiguous().numpy())
        return None, None, torch.from_numpy(directions), torch.from_numpy(bias)


class PartialVAE(nn.Module):
    """Positions 0..d-1 are the features, d..d+K-1 the one-hot class, which is hidden or shown as a whole."""

    def __init__(self, settings: VAESettings, n_features: int, n_classes: int) -> None:
        super().__init__()
        s = settings
        self.latent = s.latent
        self.embedding = nn.Parameter(torch.randn(n_features + n_classes, s.embedding) / s.embedding**0.5)
        self.first = nn.Linear(s.embedding, s.set_hidden)
        self.second = nn.Linear(s.set_hidden, s.embedding)
        self.encoder = mlp((s.embedding, *s.encoder_hidden, 2 * s.latent))
        self.decoder = mlp((s.latent, *s.decoder_hidden, n_features))
        self.classifier = mlp((s.latent, *s.classifier_hidden, n_classes))
        self.shorten()

    @torch.no_grad()
    def shorten(self) -> None:
        """Bring every embedding back to norm 1 at most."""
        self.embedding.div_(self.embedding.norm(dim=1, keepdim=True).clamp_min(1.0))

    def directions(self) -> Tensor:
        """W1 e_i of every position, (d + K, hidden)."""
        return self.embedding @ self.first.weight.T

    def gather(self, values: Tensor, mask: Tensor) -> Tensor:
        """sum over observed i of relu(v_i W1 e_i + b1), (n, hidden); the class positions may be left off."""
        return _Gather.apply(values, mask, self.directions(), self.first.bias)

    def posterior(self, gathered: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log variance of z from the gathered sum and the number of observed positions."""
        code = self.encoder(F.linear(gathered, self.second.weight) + count[..., None] * self.second.bias)
        mean, log_variance = code.chunk(2, dim=-1)
        return mean, log_variance.clamp(-20.0, 20.0)

    def encode(self, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log variance (n, 20) of z given what is observed."""
        return self.posterior(self.gather(values, mask), mask.sum(1).to(values.dtype))

    def loss(self, x: Tensor, y: Tensor, mask: Tensor, weights: Tensor, kl_weight: float, noise: Tensor) -> Tensor:
        """The mean loss of rows whose `mask` (n, d + K) covers the class positions too."""
        everything = torch.cat([x, F.one_hot(y, len(weights)).to(x.dtype)], dim=1)
        mean, log_variance = self.encode(everything, mask)
        z = mean + noise * torch.exp(0.5 * log_variance)
        error = (self.decoder(z) - x).square().sum(1)
        kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1)
        return (error + kl_weight * kl + sample_losses(self.classifier(z), y, weights)).mean()


class PosteriorMean:
    """The posterior means of a VAE that is no longer trained, without their variances.

    It reads (n, hidden + 1): the gathered sums and how many positions they are made of. The encoder's first layer
    follows a linear one and is multiplied with it once.
    """

    def __init__(self, vae: PartialVAE) -> None:
        self.directions, self.bias = vae.directions().detach().numpy(), vae.first.bias.detach().numpy()
        first, *others = linear_layers(vae.encoder)
        summed = torch.cat([vae.second.weight, vae.second.bias[:, None]], dim=1)
        layers: list[tuple[Tensor, Tensor]] = [(first.weight @ summed, first.bias)]
        layers += [(layer.weight, layer.bias) for layer in others]
        layers[-1] = layers[-1][0][: vae.latent], layers[-1][1][: vae.latent]
        self.layers = Layers([(weight.detach(), bias.detach()) for weight, bias in layers])

    def start(self, values: Tensor, mask: Tensor) -> Tensor:
        """The sums and numbers of observed positions, (n, hidden + 1)."""
        sums = gathered(values.contiguous().numpy(), mask.contiguous().numpy(), self.directions, self.bias)
        return torch.cat([torch.from_numpy(sums), mask.sum(1, keepdim=True, dtype=values.dtype)], dim=1)

    def extended(self, start: Tensor, feature: Tensor, x: Tensor) -> Tensor:
        """The sums (c * S, hidden + 1) when position feature (c,) is shown with values x (c, S), beside `start`."""
        return torch.from_numpy(
            one_more(start.numpy(), feature.numpy(), x.contiguous().numpy(), self.directions, self.bias)
        )

    def __call__(self, start: Tensor) -> Tensor:
        return self.layers.forward(start)


def _mask(n: int, d: int, n_classes: int, hide: Tensor) -> Tensor:
    """bool (n, d + K): every feature, and the class as a whole, hidden with probability `hide`."""
    shown = torch.rand(n, d + 1) >= hide
    return torch.cat([shown[:, :d], shown[:, d:].expand(-1, n_classes)], dim=1)


@dataclass(frozen=True, eq=False)
class Check:
    """What the validation loss is taken under, drawn once: masks, latent noise, class weights."""

    mask: Tensor
    noise: Tensor
    weights: Tensor

    @classmethod
    def drawn(cls, rows: Rows, settings: VAESettings) -> Check:
        """All features shown and the class hidden, normalised weights; or, `partial_check`, as in training."""
        n, d = rows.x_validation.shape
        hide = settings.hide_high * torch.rand(n, 1)
        mask = _mask(n, d, rows.n_classes, hide)
        if not settings.partial_check:
            mask[:, :d], mask[:, d:] = True, False
        return cls(mask, torch.randn(n, settings.latent), rows.weights(normalised=not settings.partial_check))

    @torch.no_grad()
    def loss(self, vae: PartialVAE, rows: Rows, settings: VAESettings) -> float:
        x, y = rows.x_validation, rows.y_validation
        return float(vae.loss(x, y, self.mask, self.weights, settings.kl_weight, self.noise))


def fit_vae(rows: Rows, settings: VAESettings, progress: Progress) -> PartialVAE:
    """Train on the training rows, one p ~ U(0, 0.9) a batch; the best validation loss is kept."""
    vae = PartialVAE(settings, rows.n_features, rows.n_classes)
    optimiser = adam([as_one_vector(vae)], settings.learning_rate)
    best = BestState(vae)
    (n, d), size = rows.x.shape, settings.batch_size
    set_gradients = LossGradient(vae, rows.weights(normalised=False), settings.kl_weight)
    everything = torch.cat([rows.x, F.one_hot(rows.y, rows.n_classes).to(rows.x.dtype)], dim=1)
    check = Check.drawn(rows, settings)
    kept: dict[str, Any] = {"indices": [], "bad": 0}
    parts = {"vae": vae, "optimiser": optimiser, "best": best, "kept": kept}
    for number in resumable("partial VAE", settings.max_batches, **parts):
        batch = number + 1
        if not kept["indices"]:
            kept["indices"] = list(torch.randperm(n).split(size) if settings.small_batch else batches(n, size))
        index = kept["indices"].pop()
        mask = _mask(len(index), d, rows.n_classes, settings.hide_high * torch.rand(()))
        noise = torch.randn(len(index), settings.latent)
        set_gradients(everything[index], rows.y[index], mask, noise)
        optimiser.step()
        vae.shorten()
        if batch % settings.check_every == 0:
            progress(batch / settings.max_batches, "partial VAE")
            if batch >= settings.first_check and len(rows.x_validation):
                kept["bad"] = 0 if best.offer(check.loss(vae, rows, settings)) else kept["bad"] + 1
                if kept["bad"] >= settings.vae_patience:
                    break
    best.restore()
    return vae.eval().requires_grad_(False)


_FITTED: OrderedDict[tuple[str, VAESettings, int], PartialVAE] = OrderedDict()


def shared_vae(dataset: Dataset, rows: Rows, settings: VAESettings, seed: int, progress: Progress) -> PartialVAE:
    """The VAE of a dataset's content, settings and seed: trained once for all policies that ask soon enough."""
    key = (dataset.fingerprint(), settings, seed)
    if key not in _FITTED:
        _FITTED[key] = _stored_or_fitted(key, rows, settings, seed, progress)
        while len(_FITTED) > REMEMBERED:
            _FITTED.popitem(last=False)
    _FITTED.move_to_end(key)
    return _FITTED[key]


def _stored_or_fitted(
    key: tuple[str, VAESettings, int], rows: Rows, settings: VAESettings, seed: int, progress: Progress
) -> PartialVAE:
    """The VAE from the folder of trained models, if training has one; each policy and budget of a table asks for it."""
    folder = resume_folder()
    if folder is None:
        with training(seed):
            return fit_vae(rows, settings, progress)
    name = content_hash({"revision": REVISION, "data": key[0], "settings": asdict(settings), "seed": seed})
    path = folder / f"partial-vae-{name}.safetensors"

    def build() -> State:
        with training(seed), resuming(path.with_suffix(".unfinished")):
            return module_arrays(fit_vae(rows, settings, progress)), {}

    arrays, _ = stored_or_built(path, build)
    with training(seed):
        vae = PartialVAE(settings, rows.n_features, rows.n_classes)
    load_module(vae, arrays)
    return vae.eval().requires_grad_(False)


def vae_part(settings: VAESettings) -> VAESettings:
    """The VAE's own settings out of a policy's, so that policies with the same ones share it."""
    return VAESettings(**{field.name: getattr(settings, field.name) for field in fields(VAESettings)})
