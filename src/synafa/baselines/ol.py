"""OL, opportunistic learning (Kachuee et al. 2019): a DQN paid for how far each measurement moves the prediction.

A P-network with dropout predicts; a Q-network beside it reads the same input and P's activations. Acquiring a pays
||p(after) - p(before)||_1 / c_a, p being the mean over many dropout passes. Two variants: input [x*m, m] or x*m.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from synafa.baselines.common import Rows, adam, descend, weighted_loss
from synafa.baselines.dropout import dropout
from synafa.baselines.network_policy import NetworkPolicy
from synafa.baselines.rl import (
    Arena,
    Frames,
    Replay,
    affordable,
    collect,
    double_q_value,
    epsilon_greedy,
    lambda_returns,
    soft_update,
    target_copy,
    unit_costs,
)
from synafa.baselines.rl_training import PretrainSettings, greedy_loss, run_batches, supervised_start
from synafa.baselines.training import Progress
from synafa.datasets.dataset import Dataset

BLOCK = 1 << 18  # numbers in the widest buffer of the dropout passes: 1 MiB, which stays in cache


@dataclass(frozen=True)
class Settings(PretrainSettings):
    """Published numbers: P 64-32-16 with dropout 0.5, 1,000 passes, a replay of 100,000 pieces, 512 of them a batch."""

    with_mask: bool = True
    hidden: tuple[int, ...] = (64, 32, 16)
    dropout: float = 0.5
    passes: int = 1000
    replay: int = 100_000
    drawn: int = 512
    for_images: ClassVar[dict[str, Any]] = {"hidden": (512, 512, 128, 64)}


PROFILES = {
    "paper": Settings(),
    "standard": Settings(batches=1500, pretrain_batches=5000, checks=10, passes=100, replay=25_000, drawn=128),
    "quick": Settings(
        batches=250, pretrain_batches=500, pretrain_patience=5, checks=5, passes=32, replay=25_000, drawn=128
    ),
}


def q_widths(hidden: tuple[int, ...]) -> tuple[int, ...]:
    """q_0 = h_0, q_i = floor(h_{i-1} h_i / (h_{i-1} + q_{i-1})): about as many weights as the P-network has."""
    widths = [hidden[0]]
    for before, width in itertools.pairwise(hidden):
        widths.append(max(1, before * width // (before + widths[-1])))
    return tuple(widths)


class PNetwork(nn.Module):
    """The predictor, with dropout before each ReLU while training."""

    def __init__(self, n_inputs: int, hidden: tuple[int, ...], n_classes: int, dropout: float) -> None:
        super().__init__()
        widths = (n_inputs, *hidden, n_classes)
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(widths))
        self.dropout = dropout

    def activations(self, inputs: Tensor, training: bool) -> list[Tensor]:
        """The hidden activations and, last, the logits."""
        result = [inputs]
        for layer in self.layers[:-1]:
            hidden = layer(result[-1])
            result.append(F.relu(dropout(hidden, self.dropout) if training else hidden))
        return [*result[1:], self.layers[-1](result[-1])]

    def forward(self, inputs: Tensor) -> Tensor:
        return self.activations(inputs, self.training)[-1]

    @torch.no_grad()
    def dropout_mean(self, inputs: Tensor, passes: int) -> Tensor:
        """The mean prediction (n, K) over `passes` dropout draws.

        All rows see the same draws, so a pass costs a few random bits per unit instead of per unit and row, and the
        difference of two predictions is not blurred by different draws. The first layer is computed once; the second
        is one product for all rows and passes: (passes, h0) @ (h0, n*h1), since (m * h) W = m (diag(h) W).
        """
        first, second, *middle, last = [layer for layer in self.layers if isinstance(layer, nn.Linear)]
        keep = [self._draw(passes, layer.out_features) for layer in (first, second, *middle)]
        total = torch.zeros(last.out_features, len(inputs))
        rows = min(len(inputs), 64)
        block = max(1, BLOCK // (rows * second.out_features))
        for part in torch.arange(len(inputs)).split(rows):
            hidden = F.relu(first(inputs[part]))
            joined = (hidden.T[:, :, None] * second.weight.T[:, None, :]).flatten(1)
            for at in range(0, passes, block):
                chosen = [k[at : at + block] for k in keep]
                out = (chosen[0] @ joined).view(len(chosen[0]), len(part), -1).add_(second.bias)
                for mask, layer in zip(chosen[1:], middle):
                    out = layer(out.relu_().mul_(mask[:, None, :]))
                out = out.relu_().mul_(chosen[-1][:, None, :]).flatten(0, 1)
                # classes first: a softmax over a few neighbouring numbers is slow
                scores = torch.addmm(last.bias[:, None], last.weight, out.T)
                total[:, part] += torch.softmax(scores, dim=0).view(len(total), -1, len(part)).sum(1)
        return total.T / passes

    def _draw(self, passes: int, width: int) -> Tensor:
        return (torch.rand(passes, width) >= self.dropout).float() / (1 - self.dropout)


class QNetwork(nn.Module):
    """The action values; each layer after the first also reads the P-network's activations, without a gradient."""

    def __init__(self, n_inputs: int, hidden: tuple[int, ...], n_actions: int) -> None:
        super().__init__()
        widths = q_widths(hidden)
        layers = [nn.Linear(n_inputs, widths[0])]
        for i, width in enumerate((*widths[1:], n_actions)):
            layers.append(nn.Linear(widths[i] + hidden[i], width))
        self.layers = nn.ModuleList(layers)

    def forward(self, inputs: Tensor, activations: list[Tensor]) -> Tensor:
        out = self.layers[0](inputs)
        for layer, beside in zip(self.layers[1:], activations):
            out = layer(torch.cat([F.relu(out), beside], dim=-1))
        return out


class _Network(nn.Module):
    def __init__(self, settings: Settings, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.with_mask = settings.with_mask
        n_inputs = 2 * n_features if settings.with_mask else n_features
        self.p = PNetwork(n_inputs, settings.hidden, n_classes, settings.dropout)
        self.q = QNetwork(n_inputs, settings.hidden, n_features)

    def inputs(self, values: Tensor, mask: Tensor) -> Tensor:
        return torch.cat([values, mask.to(values.dtype)], dim=-1) if self.with_mask else values

    def logits(self, values: Tensor, mask: Tensor) -> Tensor:
        return self.p(self.inputs(values, mask))

    def beside(self, inputs: Tensor) -> list[Tensor]:
        """What the Q-network reads of P: its activations without dropout, whatever P is doing otherwise."""
        with torch.no_grad():
            return self.p.activations(inputs, training=False)[:-1]

    def scores(self, values: Tensor, mask: Tensor) -> Tensor:
        inputs = self.inputs(values, mask)
        return self.q(inputs, self.beside(inputs))


class OL(NetworkPolicy):
    """Opportunistic learning."""

    name = "ol"
    profiles = PROFILES
    network_class = _Network
    network_: _Network

    def train_network(self, dataset: Dataset, rows: Rows, seed: int, progress: Progress) -> None:
        settings, network = self.settings_, self.network_
        arena = Arena.of(self, rows, settings.parallel)
        supervised_start(
            "ol", network.p, network.logits, rows, settings, lambda share: progress(0.1 * share, "ol: predictor")
        )
        target = target_copy(network.q)
        optimiser = adam(network.parameters(), settings.learning_rate)
        replay = Replay(settings.replay, settings.steps, rows.n_features)
        weights, price = rows.weights(), unit_costs(self.costs_)

        def rewards(frames: Frames) -> Tensor:
            """L1 change of the dropout mean / cost, (T, N); an episode's next state is its step's outcome, once."""
            states = torch.cat([frames.mask[:1], frames.after])
            values = rows.x[torch.cat([frames.rows[:1], frames.rows[:-1]])] * states
            inputs = network.inputs(values, states).flatten(0, 1)
            nothing = torch.zeros(1, inputs.shape[1])
            seen = network.p.dropout_mean(torch.cat([inputs, nothing]), settings.passes)
            outcome = seen[:-1].view(*states.shape[:2], -1)
            restarted = torch.cat([torch.zeros_like(frames.done[:1]), frames.done[:-1]])
            before = torch.where(restarted[..., None], seen[-1], outcome[:-1])
            return (outcome[1:] - before).abs().sum(-1) / price[frames.action]

        def one_batch(batch: int) -> None:
            epsilon = settings.epsilon(batch)
            network.eval()
            with torch.no_grad():
                frames = collect(
                    arena,
                    lambda a: epsilon_greedy(network.scores(a.values(), a.mask), a.allowed, epsilon),
                    settings.steps,
                )
                replay.add(frames, rewards(frames))
            old, reward = replay.draw(settings.drawn)
            inputs = network.inputs(rows.x[old.rows] * old.mask, old.mask)
            beside = network.beside(inputs)
            q = network.q(inputs, beside)
            with torch.no_grad():
                may = affordable(old.mask[1:], old.remaining[1:], arena.costs)
                following = double_q_value(q[1:], target(inputs[1:], [h[1:] for h in beside]), may)
                returns = lambda_returns(reward, old.done, following, settings.trace)
            taken = q[:-1].gather(-1, old.action[..., None]).squeeze(-1)
            network.train()
            reached, index = frames.after.flatten(0, 1), frames.rows[:-1].flatten()
            prediction = weighted_loss(network.logits(rows.x[index] * reached, reached), rows.y[index], weights)
            descend(optimiser, prediction + F.mse_loss(taken, returns))
            soft_update(target, network.q, settings.target_rate)

        parts = {"target": target, "optimiser": optimiser, "arena": arena, "replay": replay}

        def validation_loss() -> float:
            network.eval()
            return greedy_loss(network, rows, arena.costs, self.budget_)

        run_batches(network, settings, one_batch, validation_loss, progress, 0.1, "ol: policy", **parts)
