"""Where the reinforcement-learning and partial-VAE baselines spend their time, on one thread.

Ratios are taken within one run: OL's joint dropout passes against passes one by one, JAFA's reading of observed entries
against the [value, one-hot] tensor, EDDI's incremental first layer against asking the classifier in full.
Run: python benchmarks/bench_rl.py [--train]  (with --train also one standard training per method on synthetic rows)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import torch

from synafa.baselines.eddi import AnyReader, LayersReader
from synafa.baselines.ol import PNetwork
from synafa.baselines.registry import find
from synafa.baselines.rl import Arena, collect
from synafa.baselines.set_encoder import SetEncoder
from synafa.datasets import Dataset


def milliseconds(work: Callable[[], object], repeat: int = 5) -> float:
    """The fastest of `repeat` runs in CPU milliseconds."""
    work()
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) * 1e3


def compare(what: str, ours: Callable[[], object], plain: Callable[[], object], scale: float = 1.0) -> None:
    fast, slow = milliseconds(ours), milliseconds(plain, 2) * scale
    print(f"{what}: {fast:.1f} ms, written out {slow:.1f} ms, ratio {slow / fast:.1f}")


@torch.no_grad()
def dropout_passes() -> None:
    network = PNetwork(82, (64, 32, 16), 2, dropout=0.5).train()
    inputs = torch.randn(641, 82)

    def one_by_one() -> None:
        for _ in range(50):
            torch.softmax(network(inputs), dim=1)

    compare("OL, 1,000 passes for 641 states", lambda: network.dropout_mean(inputs, 1000), one_by_one, 1000 / 50)


def attended(encoder: SetEncoder, memory: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    """The encoder's rounds over the memory (L, n, width), with torch's own cell and autograd."""
    n = memory.shape[1]
    bias = torch.zeros(padding.shape).masked_fill(padding & ~padding.all(0), -torch.inf)
    hidden = cell = memory.new_zeros(n, encoder.width)
    summary = memory.new_zeros(n, 2 * encoder.width)
    for _ in range(encoder.rounds):
        hidden, cell = encoder.process(summary, (hidden, cell))
        weight = torch.softmax((memory * hidden).sum(-1) + bias, dim=0)
        summary = torch.cat([hidden, (memory * weight[..., None]).sum(0)], dim=1)
    return summary


def set_encoder() -> None:
    d, known = 41, 5
    encoder = SetEncoder(d)
    mask = torch.rand(512, d).argsort(1) < known
    values = torch.randn(512, d) * mask
    weight = torch.cat([encoder.value_weight[:, None], encoder.index_weight.T], dim=1)

    def written_out() -> None:
        entries = torch.cat([values[..., None], torch.eye(d).expand(512, d, d)], dim=2)
        memory = encoder.read(entries @ weight.T).transpose(0, 1)
        encoder.write(attended(encoder, memory, ~mask.T)).sum().backward()

    compare(
        "JAFA, 512 states of 41 features, forward and back", lambda: encoder(values, mask).sum().backward(), written_out
    )


@torch.no_grad()
def eddi_classifier() -> None:
    d, samples = 23, 128
    rng = np.random.default_rng(0)
    shapes = [(128, 2 * d), (128,), (128, 128), (128,), (2, 128), (2,)]
    layers = tuple(rng.normal(size=shape).astype(np.float32) * 0.1 for shape in shapes)
    tensors = [torch.from_numpy(layer) for layer in layers]

    def predict_proba(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
        out = torch.from_numpy(np.concatenate([values, mask], axis=1, dtype=np.float32))
        for i in (0, 2, 4):
            out = torch.nn.functional.linear(torch.relu(out) if i else out, tensors[i], tensors[i + 1])
        return torch.softmax(out, 1).numpy()

    fast, slow = LayersReader(layers), AnyReader(SimpleNamespace(predict_proba=predict_proba), d)
    values, mask = torch.zeros(d, d), torch.zeros(d, d, dtype=torch.bool)
    feature, x = torch.arange(d), torch.randn(d, samples)
    compare(
        "EDDI, one row's 23 candidates x 128 samples",
        lambda: fast.extended(fast.start(values, mask), feature, x),
        lambda: slow.extended(slow.start(values, mask), feature, x),
    )


def environment() -> None:
    arena = Arena(torch.randn(7200, 41), torch.ones(41), 10)

    def roll() -> None:
        collect(arena, lambda a: torch.rand(a.allowed.shape).masked_fill(~a.allowed, -1).argmax(1), 4)

    print(f"environment, 512 frames of 41 features: {milliseconds(roll, 20):.2f} ms")


def trainings() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 23)).astype(np.float32)
    y = (X[:, 3] + X[:, 5] * X[:, 7] > 0).astype(np.int64)
    rows = np.split(np.arange(2000), [1200, 1600])
    names = tuple(f"x{i}" for i in range(23))
    data = Dataset("bench", 0, X, y, names, np.ones(23), (5.0,), rows[0], rows[1], rows[2], source="generated")
    for name in ("jafa", "ol-with-mask", "ol-without-mask", "odin-model-free", "odin-model-based", "eddi-builtin"):
        entry = find(name)
        settings = entry.settings("standard", data)
        start = time.process_time()
        entry.cls()().fit(data, 5, settings, 0)
        print(f"{name}: standard training {time.process_time() - start:.0f} s")


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    environment()
    dropout_passes()
    set_encoder()
    eddi_classifier()
    if "--train" in sys.argv:
        trainings()


if __name__ == "__main__":
    main()
