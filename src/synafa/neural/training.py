"""Trains the masked MLP: [x*m, m] -> h -> h -> K, dropout before each ReLU, class-weighted cross-entropy, Adam.

The step is written out by hand on one flat parameter vector, for at this size the bookkeeping of automatic
differentiation costs more than the arithmetic; the tests check gradient and optimiser against torch's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from synafa.datasets.dataset import Dataset
from synafa.errors import MissingExtraError, SynafaError
from synafa.neural.settings import MLPConfig

try:
    import torch
except ImportError as error:  # pragma: no cover - depends on the installation
    raise MissingExtraError("torch", "neural") from error

from synafa.neural.resume import resumable
from synafa.neural.sparse_kernels import adam_step, first_gradient, first_sums, listed

Progress = Callable[[float, str], None]
"""Called with the share of the work done, 0 to 1, and a short text."""
WIDE = 200  # features from which on a mostly hidden table is trained by sums over what is shown
_LARGE = 100_000  # parameters that no longer fit the first cache: one pass over them in place of seven
_LEVELS = 1 << 16  # random bits per entry: 16 give hiding probabilities to 1.5e-5 and cost half of a float32


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: the products are small, and sums then come out the same on every machine size."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def class_weights(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Normalised weights w_k = (1/p_k) / sum(1/p), float32 (K,); an absent class counts as seen once."""
    inverse = len(y) / np.maximum(np.bincount(y, minlength=n_classes), 1)
    return (inverse / inverse.sum()).astype(np.float32)


def initial_parameters(shapes: list[tuple[int, ...]], rng: np.random.Generator) -> np.ndarray:
    """Weights and biases of each layer, uniform in +-1/sqrt(inputs), as one flat float32 vector."""
    parts = []
    for weight, bias in zip(shapes[::2], shapes[1::2]):
        bound = weight[1] ** -0.5
        parts += [rng.uniform(-bound, bound, size=int(np.prod(shape))) for shape in (weight, bias)]
    return np.concatenate(parts).astype(np.float32)


def layer_shapes(n_features: int, hidden: int, n_classes: int) -> list[tuple[int, ...]]:
    """Shapes of W1, b1, W2, b2, W3, b3."""
    return [(hidden, 2 * n_features), (hidden,), (hidden, hidden), (hidden,), (n_classes, hidden), (n_classes,)]


def split_flat(flat: torch.Tensor, shapes: list[tuple[int, ...]]) -> list[torch.Tensor]:
    """Views of the flat vector, one per weight and bias."""
    sizes = [int(np.prod(shape)) for shape in shapes]
    return [part.view(shape) for part, shape in zip(torch.split(flat, sizes), shapes)]


def forward(inputs: torch.Tensor, layers: list[torch.Tensor]) -> torch.Tensor:
    """Logits without dropout, (n, K)."""
    w1, b1, w2, b2, w3, b3 = layers
    h1 = torch.addmm(b1, inputs, w1.T).relu_()
    h2 = torch.addmm(b2, h1, w2.T).relu_()
    return torch.addmm(b3, h2, w3.T)


class Dense:
    """The first layer as products with [x*m, m]; weights (h, 2d)."""

    def __init__(self, X: np.ndarray, batch: int) -> None:
        self.X = torch.from_numpy(X)
        self.buffer = torch.empty((min(batch, len(X)), 2 * X.shape[1]))

    def show(self, rows: np.ndarray, shown: np.ndarray) -> None:
        """Take these rows with these entries shown, bool (b, d)."""
        d, mask = shown.shape[1], torch.from_numpy(shown)
        self.inputs = self.buffer[: len(rows)]
        self.inputs[:, d:] = mask
        torch.mul(self.X[torch.from_numpy(rows)], mask, out=self.inputs[:, :d])

    def sums(self, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.addmm(bias, self.inputs, weight.T)

    def gradient(self, flow: torch.Tensor, out: torch.Tensor) -> None:
        torch.mm(flow.T, self.inputs, out=out)


class Sparse:
    """The same as sums over what is shown; weights by input, (2d, h). For many features of which most are hidden."""

    def __init__(self, X: np.ndarray) -> None:
        self.X = X

    def show(self, rows: np.ndarray, shown: np.ndarray) -> None:
        self.batch = (self.X, rows, *listed(shown))

    def sums(self, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(first_sums(*self.batch, weight.numpy(), bias.numpy()))

    def gradient(self, flow: torch.Tensor, out: torch.Tensor) -> None:
        first_gradient(*self.batch, flow.numpy(), out.numpy())


def mostly_hidden(n_features: int, config: MLPConfig) -> bool:
    """Whether sums over what is shown are cheaper than products with [x*m, m]."""
    return n_features >= WIDE and config.lo >= 0.5


def backward(
    first: Dense | Sparse,
    target: torch.Tensor,
    weight: torch.Tensor,
    kept: tuple[torch.Tensor, torch.Tensor],
    scale: float,
    layers: list[torch.Tensor],
    gradient: list[torch.Tensor],
) -> None:
    """Write the gradient of sum(weight * cross-entropy) into `gradient`.

    first : the first layer, showing this batch; target : one-hot (b, K); weight : (b, 1), class weight / batch size;
    kept : 0/1 dropout masks of the hidden layers; scale : 1 / (1 - dropout)
    """
    w1, b1, w2, b2, w3, b3 = layers
    g1, c1, g2, c2, g3, c3 = gradient
    h1 = first.sums(w1, b1).mul_(kept[0]).mul_(scale).relu_()
    h2 = torch.addmm(b2, h1, w2.T).mul_(kept[1]).mul_(scale).relu_()
    d3 = torch.softmax(torch.addmm(b3, h2, w3.T), dim=1).sub_(target).mul_(weight)
    torch.mm(d3.T, h2, out=g3)
    torch.sum(d3, 0, out=c3)
    # a unit that passes both dropout and ReLU is exactly one that is positive
    d2 = torch.mm(d3, w3).mul_(h2 > 0).mul_(scale)
    torch.mm(d2.T, h1, out=g2)
    torch.sum(d2, 0, out=c2)
    d1 = torch.mm(d2, w2).mul_(h1 > 0).mul_(scale)
    first.gradient(d1, g1)
    torch.sum(d1, 0, out=c1)


class Adam:
    """Adam (0.9, 0.999, 1e-8, no decay) on one flat vector; write into `gradient`, then call `step`."""

    def __init__(self, flat: torch.Tensor, learning_rate: float) -> None:
        self.flat, self.learning_rate, self.steps = flat, learning_rate, 0
        self.gradient, self._mean, self._square = (torch.zeros_like(flat) for _ in range(3))
        self._scratch = torch.empty_like(flat)

    def state_dict(self) -> dict[str, Any]:
        return {"flat": self.flat, "mean": self._mean, "square": self._square, "steps": self.steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, tensor in (("flat", self.flat), ("mean", self._mean), ("square", self._square)):
            tensor.copy_(state[name])
        self.steps = state["steps"]

    def step(self) -> None:
        self.steps += 1
        if self.flat.numel() > _LARGE:
            rate, root = self.learning_rate / (1 - 0.9**self.steps), (1 - 0.999**self.steps) ** 0.5
            adam_step(*(part.numpy() for part in (self.flat, self.gradient, self._mean, self._square)), rate, root)
            return
        self._mean.lerp_(self.gradient, 0.1)
        self._square.mul_(0.999).addcmul_(self.gradient, self.gradient, value=0.001)
        torch.sqrt(self._square, out=self._scratch)
        self._scratch.div_((1 - 0.999**self.steps) ** 0.5).add_(1e-8)
        self.flat.addcdiv_(self._mean, self._scratch, value=-self.learning_rate / (1 - 0.9**self.steps))


def train(
    dataset: Dataset,
    config: MLPConfig,
    seed: int = 0,
    progress: Progress | None = None,
    mask_bank: np.ndarray | None = None,
) -> tuple[list[np.ndarray], list[float]]:
    """Weights and biases of the epoch with the lowest validation loss, and the validation loss of every epoch.

    mask_bank : bool (m, D); rows of it are drawn in place of random hiding, in training and for the validation loss
    """
    if mask_bank is not None and (mask_bank.shape[1:] != (dataset.n_features,) or not len(mask_bank)):
        raise SynafaError(f"mask_bank must hold masks of {dataset.n_features} features, got: {mask_bank.shape}.")
    if not len(dataset.train) or not len(dataset.validation):
        raise SynafaError(f"{dataset.key} needs training and validation rows to train the shared classifier.")
    with one_thread(), torch.no_grad():
        return _train(dataset, config, seed, progress, mask_bank)


def _train(
    dataset: Dataset, config: MLPConfig, seed: int, progress: Progress | None, mask_bank: np.ndarray | None
) -> tuple[list[np.ndarray], list[float]]:
    rng = np.random.Generator(np.random.SFC64(seed))  # the fastest of NumPy's; bits are most of what a step draws
    d, k, h = dataset.n_features, dataset.n_classes, config.hidden
    X = np.ascontiguousarray(dataset.X[dataset.train], dtype=np.float32)
    y = dataset.y[dataset.train]
    n = len(y)
    weights = class_weights(y, k)
    target = torch.from_numpy(np.eye(k, dtype=np.float32)[y])
    weight = torch.from_numpy(weights[y])[:, None]
    check = _Validation(dataset, config, weights, seed, mask_bank)

    shapes = layer_shapes(d, h, k)
    start = initial_parameters(shapes, rng)
    by_input = mostly_hidden(d, config)
    first = Sparse(X) if by_input else Dense(X, config.batch)
    if by_input:
        shapes = [shapes[0][::-1], *shapes[1:]]
        start[: 2 * d * h] = start[: 2 * d * h].reshape(h, 2 * d).T.ravel()
    flat = torch.from_numpy(start)
    adam = Adam(flat, config.learning_rate)
    layers, gradient = split_flat(flat, shapes), split_flat(adam.gradient, shapes)
    scale = 1.0 / (1.0 - config.dropout)
    dropped = round(config.dropout * _LEVELS)

    losses: list[float] = []
    best = flat.clone()
    so_far: dict[str, Any] = {"losses": losses, "best": best}
    for epoch in resumable("classifier", config.epochs, adam=adam, rng=rng, so_far=so_far):
        losses, best = so_far["losses"], so_far["best"]  # those of an earlier run, if it was interrupted
        order = rng.permutation(n)
        hidden_share = rng.uniform(config.lo, config.hi, size=-(-n // config.batch))
        for step, at in enumerate(range(0, n, config.batch)):
            rows = order[at : at + config.batch]
            size = len(rows)
            bits = np.frombuffer(rng.bytes(2 * size * (d + 2 * h)), dtype=np.uint16)
            shown = bits[: size * d].reshape(size, d) >= round(hidden_share[step] * _LEVELS)
            if mask_bank is not None:
                shown = mask_bank[rng.integers(0, len(mask_bank), size)]
            kept = torch.from_numpy((bits[size * d :] >= dropped).reshape(2, size, h))
            first.show(rows, shown)
            backward(first, target[rows], weight[rows] / size, (kept[0], kept[1]), scale, layers, gradient)
            adam.step()
        losses.append(check.loss(_by_output(layers, by_input)))
        if losses[-1] == min(losses) and losses.index(losses[-1]) == epoch:  # a tie keeps the earlier epoch
            best.copy_(flat)
        if progress is not None:
            progress((epoch + 1) / config.epochs, f"classifier: epoch {epoch + 1} of {config.epochs}")
    found = _by_output(split_flat(so_far["best"], shapes), by_input)
    return [np.array(part.numpy(), order="C") for part in found], list(so_far["losses"])


def _by_output(layers: list[torch.Tensor], by_input: bool) -> list[torch.Tensor]:
    """The layers with the first one's weights as (h, 2d), also where they are trained by input."""
    return [layers[0].T, *layers[1:]] if by_input else layers


class _Validation:
    """The class-weighted loss on the validation rows at hiding probability lo or under the bank, masks drawn once."""

    def __init__(
        self, dataset: Dataset, config: MLPConfig, weights: np.ndarray, seed: int, mask_bank: np.ndarray | None
    ) -> None:
        values = np.ascontiguousarray(dataset.X[dataset.validation], dtype=np.float32)
        y = dataset.y[dataset.validation]
        rng = np.random.default_rng([seed, 1])
        if mask_bank is None:
            shown = rng.random(values.shape) >= config.lo
        else:
            shown = mask_bank[rng.integers(0, len(mask_bank), len(values))]
        self._inputs = torch.from_numpy(np.hstack([values * shown, shown]).astype(np.float32))
        self._y = torch.from_numpy(np.asarray(y, dtype=np.int64))
        self._weight = torch.from_numpy(weights[y])

    def loss(self, layers: list[torch.Tensor]) -> float:
        each = torch.nn.functional.cross_entropy(forward(self._inputs, layers), self._y, reduction="none")
        return float((each * self._weight).sum() / len(self._y))
